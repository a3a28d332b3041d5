"""Where what is written goes: a file, into a folder, the standard output, or nowhere."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from pathlib import Path, PosixPath

import typer

from fathom import report as reports
from fathom.cli.common import fail
from fathom.cli.exit_codes import EXIT_INVALID

__all__ = [
    "check",
    "is_file",
    "is_nowhere",
    "is_output",
    "is_plain",
    "named",
    "place_of",
    "put",
    "suffix_of",
    "usual_name",
]

# Names of the standard output, which is written to as it stands.
_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


class _Folder(PosixPath):
    """A place that was named with a slash at its end: a folder, whether there is one or not."""


def named(text: str) -> Path:
    """Return the place that follows ``-o``; a path forgets the slash at its end."""
    return _Folder(text) if text.endswith("/") else Path(text)


def usual_name(what: str, references: list[str], rest: str, suffix: str) -> str:
    """Return how a file is called that no name was given for: ``fathom-report-e1.html``."""
    words = re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(references)).strip("-.")[:60]
    name = f"fathom-{what}-{words or rest}"
    return f"{name}.{suffix}" if suffix else name


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
    if output is None or is_output(output) or _is_folder(output):
        return ""
    return output.suffix.lower().removeprefix(".")


def place_of(output: Path | None, name: str) -> Path:
    """Return where a file goes: into a folder, by its own name."""
    if output is None or (_is_folder(output) and not is_output(output)):
        return Path(output or "") / name
    return output


def _is_folder(output: Path) -> bool:
    return isinstance(output, _Folder) or output.is_dir()


def is_plain(output: Path) -> bool:
    """Whether a name is that of a file, which should say its form."""
    return not (is_output(output) or is_nowhere(output) or _is_folder(output))


def is_file(place: Path, *, is_text: bool) -> bool:
    """Whether a place is that of a file; no form but text goes to a terminal."""
    if is_output(place) and not is_text and sys.stdout.isatty():
        fail(
            "the standard output is a terminal, and this form is no text: name a file with -o, "
            "or send it to a program or a file",
            EXIT_INVALID,
        )
    return not is_output(place) and not is_nowhere(place)


def check(place: Path, *, is_text: bool, force: bool) -> None:
    """Refuse a place that nothing can be written to, before anything is drawn for it.

    Raises
    ------
    ReportError
        If it is the place of something else.

    """
    if is_file(place, is_text=is_text):
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
