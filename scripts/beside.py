"""Run two commands at the same time: the first one's output follows once both have ended.

Usage: beside.py COMMAND COMMAND. Fails if either does.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile


def main(held_back: str, shown: str) -> int:
    """Run both in a shell of their own, and return the exit code of the first that failed."""
    # Not by a shell, in which what runs in the background ignores Ctrl-C.
    with tempfile.TemporaryFile() as output:
        first = subprocess.Popen(  # noqa: S603
            ["/bin/bash", "-c", held_back], stdout=output, stderr=subprocess.STDOUT
        )
        try:
            second = subprocess.run(["/bin/bash", "-c", shown], check=False).returncode  # noqa: S603
        finally:
            code = first.wait()
            output.seek(0)
            shutil.copyfileobj(output, sys.stdout.buffer)
    return code or second


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
