"""The command ``fathom``: one file per verb in ``commands``, and ``verbs`` that knows which."""

from __future__ import annotations

import io
import os
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

import fathom
from fathom._events_file import note_end
from fathom._signals import ending_in_good_order
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_INVALID
from fathom.cli.verbs import VerbGroup
from fathom.cli.views.plain import plain_streams, unfailing
from fathom.cli.views.table_format import chosen_tables

__all__ = ["app", "main"]

app = typer.Typer(
    cls=VerbGroup,
    add_completion=False,
    help="The lab for measuring storage.",
    epilog="Exit codes: 0 complete; 1 failed; 2 refused, to protect data; 3 wrong arguments; "
    "4 verification found faults; 5 beyond a limit (gate, run --require, compare "
    "--fail-if), or worse (compare --verdict, trend --alert); 6 measured, but not saved: see the "
    "file that is named; 7 a limit or a verdict that cannot be told; 8 better (compare --verdict); "
    "130 interrupted, with the partial result.",
)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - Typer calls it so.
    if wanted:
        typer.echo(f"fathom {fathom.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    del version
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(EXIT_INVALID)


def main() -> None:
    """Run the command; the exit codes are those of ``diskspd``."""
    warnings.showwarning = _show_warning
    # NumPy's own threads cost time on small matrices, and disturb what is measured beside them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _open_streams()
    code: int | str | None = EXIT_FAILED
    try:
        with plain_streams():
            code = _code()
    except SystemExit as ended:
        code = ended.code
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
        raise
    finally:
        note_end(code)
    sys.exit(code)


def _open_streams() -> None:
    r"""Open what was closed before the start, and let no character be one too many for a terminal.

    What the terminal's encoding lacks is written as an escape, as `\u6e2c`. An error output that
    takes nothing ends nothing.
    """
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - Until the end.
    is_closed = sys.stdout is None
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            stream = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - Until the end.
            setattr(sys, name, stream)
        if isinstance(stream, io.TextIOWrapper):
            # A stream that cannot be asked for its place stays as it is.
            with suppress(OSError):
                stream.reconfigure(errors="backslashreplace")
    sys.stderr = unfailing(sys.stderr)
    if is_closed:
        typer.echo("note: the standard output is closed: what is shown goes nowhere", err=True)


def _code() -> int | str | None:
    """Run the command, and return its exit code."""
    try:
        with ending_in_good_order(), chosen_tables():
            code: int | str | None = app(standalone_mode=False)
        _flush()
    except typer.TyperException as error:
        # Typer's own code for wrong arguments is 2, which means "refused, to protect data" here.
        typer.echo(f"error: {error.format_message()}", err=True)
        code = EXIT_INVALID
    except typer.Abort:
        # The user said no to a question, or pressed Ctrl-C where no run was under way.
        typer.echo("error: ended by the user", err=True)
        code = EXIT_INTERRUPTED
    except fathom.FathomError as error:
        # 20 ms more for each `fathom --help`, as it knows the store's errors.
        from fathom.cli.common import exit_code  # noqa: PLC0415

        # Raised behind what a verb expects, such as a report's place that holds something else.

        typer.echo(f"error: {error}", err=True)
        code = exit_code(error)
    except BrokenPipeError:
        code = _broken_off()
    except SystemExit as ended:
        # So Typer ends where the output was closed; it says nothing.
        if not isinstance(ended.__context__, BrokenPipeError):
            raise
        code = _broken_off()
    except (TypeError, UnicodeError) as error:
        # The engine takes names that are UTF-8; others are a fault of ours, and shown as one.
        if "surrogates not allowed" not in str(error):
            raise
        typer.echo("error: a name is not UTF-8 text: rename the file, or link to it", err=True)
        code = EXIT_INVALID
    except OSError as error:
        # Such as an output on a disk that is full.
        place = f"{error.filename}: " if error.filename else ""
        typer.echo(f"error: {place}{error.strerror or error}", err=True)
        _give_up_output()
        code = EXIT_FAILED
    return code


def _flush() -> None:
    """Write what is still kept, while there is somebody to tell that it cannot be written."""
    if sys.stdout is not None:
        sys.stdout.flush()


def _broken_off() -> int:
    """Say that who read the output has seen enough, as `head` does; the rest of it goes nowhere."""
    _write_no_more()
    typer.echo("error: the output was closed before all of it was written", err=True)
    return EXIT_FAILED


def _give_up_output() -> None:
    """Let go of what cannot be written: else Python fails at its end, with its own code 120."""
    try:
        _flush()
    except OSError:
        _write_no_more()


def _write_no_more() -> None:
    """Let what is still kept for the standard output go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _show_warning(message: Warning | str, *_place: object, **_more: object) -> None:
    typer.echo(f"warning: {message}", err=True)
