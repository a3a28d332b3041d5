"""Where a report or a picture goes: a file, into a folder, the standard output, or nowhere."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

import typer

from fathom import report as reports
from fathom.cli.common import fail
from fathom.cli.exit_codes import EXIT_INVALID

__all__ = ["check", "is_nowhere", "is_output", "place_of", "put", "suffix_of"]

# Names of the standard output, which is written to as it stands.
_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def is_output(place: Path) -> bool:
    """Whether a place is the standard output."""
    return str(place) in _OUTPUT


def is_nowhere(place: Path) -> bool:
    """Whether what is written to a place is dropped."""
    with suppress(OSError):
        return os.path.samestat(place.stat(), os.stat(os.devnull))  # noqa: PTH116 - It is no path.
    return False


def suffix_of(output: Path | None) -> str:
    """Return the form that the name of a file says, without a dot; no other place says any."""
    if output is None or is_output(output) or output.is_dir():
        return ""
    return output.suffix.lower().removeprefix(".")


def place_of(output: Path | None, name: str) -> Path:
    """Return where a file goes: into a folder that exists, by its own name."""
    if output is None or (output.is_dir() and not is_output(output)):
        return (output or Path()) / name
    return output


def check(place: Path, *, is_text: bool, force: bool) -> None:
    """Refuse a place that nothing can be written to, before anything is drawn for it.

    Raises
    ------
    ReportError
        If it is the place of something else.

    """
    if is_output(place):
        if not is_text and sys.stdout.isatty():
            fail(
                "the standard output is a terminal, and this form is no text: name a file with -o, "
                "or send it to a program or a file",
                EXIT_INVALID,
            )
    elif not is_nowhere(place):
        reports.check_place(place, force=force)


def put(place: Path, content: bytes, *, force: bool) -> bool:
    """Write to a place; whether there is a file then.

    Raises
    ------
    ReportError
        If it cannot be written.

    """
    if is_output(place):
        typer.get_binary_stream("stdout").write(content)
        return False
    if is_nowhere(place):
        return False
    reports.write(place, content, force=force)
    return True
