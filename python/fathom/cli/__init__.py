"""The command ``fathom``: one file per verb in ``commands``, and ``verbs`` that knows which."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated

import typer

import fathom
from fathom._signals import ending_in_good_order
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_INVALID
from fathom.cli.verbs import VerbGroup
from fathom.cli.views.plain import plain_streams
from fathom.cli.views.table_format import chosen_tables

__all__ = ["app", "main"]

app = typer.Typer(
    cls=VerbGroup,
    add_completion=False,
    help="The lab for measuring storage.",
    epilog="Exit codes: 0 complete; 1 failed; 2 refused, to protect data; 3 wrong arguments; "
    "4 verification found faults; 5 compare --fail-if; 6 measured, but not saved: see the "
    "file that is named; 130 interrupted, with the partial result.",
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
    with plain_streams():
        code = _code()
    sys.exit(code)


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
        # Raised behind what a verb expects, such as a report's place that holds something else.
        from fathom.cli.common import exit_code  # noqa: PLC0415 - Slow to import.

        typer.echo(f"error: {error}", err=True)
        code = exit_code(error)
    except BrokenPipeError:
        # Who read the output has seen enough, as `head` does; nothing more can be told there.
        _write_no_more()
        typer.echo("error: the output was closed before all of it was written", err=True)
        code = EXIT_FAILED
    except OSError as error:
        # Such as an output on a disk that is full.
        typer.echo(f"error: {error}", err=True)
        code = EXIT_FAILED
    return code


def _flush() -> None:
    """Write what is still kept, while there is somebody to tell that it cannot be written."""
    if sys.stdout is not None:
        sys.stdout.flush()


def _write_no_more() -> None:
    """Let what is still kept for the standard output go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _show_warning(message: Warning | str, *_place: object, **_more: object) -> None:
    typer.echo(f"warning: {message}", err=True)
