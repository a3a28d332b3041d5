"""Where the command ``fathom`` begins, as ``python -m fathom`` does: Ctrl-C may come at once."""

from __future__ import annotations

import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Load the command and run it; who interrupts the loading gets the same end as later."""
    try:
        # All of a command takes 0.15 s to load, in which nobody else looks after Ctrl-C.
        from fathom.cli import main as command  # noqa: PLC0415

        try:
            command()
        finally:
            # All is written: what comes while Python ends, ends it without Python's own words.
            if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
                signal.signal(signal.SIGINT, signal.SIG_DFL)
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("error: ended by the user", file=sys.stderr)  # noqa: T201 - All that is loaded.
        sys.exit(130)


if __name__ == "__main__":
    main()
