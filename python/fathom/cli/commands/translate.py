"""``fathom translate``: one tool's terms in another's."""

from __future__ import annotations

import re
import shlex
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import fathom
from fathom import tools
from fathom._files import read_bytes
from fathom._finite import json_words
from fathom._text import decoded
from fathom.cli.commands._workload_argument import single_step
from fathom.cli.common import JsonOption, exit_code, fail
from fathom.cli.exit_codes import EXIT_INVALID
from fathom.cli.views.runs import console, text_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.tools import FioJob, Load, Note

__all__ = ["FormChoice", "loads_of_text", "show_notes", "translate", "written"]

_MOST_MIB = 16
# What an editor may have put before the first word.
_BEFORE_TEXT = "\ufeff \t\r\n"
# The first "<" of UTF-8 or UTF-16, with a mark or without.
_IS_XML = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?(?:[ \t\r\n]\0?|\0[ \t\r\n])*+\0?<")


class FormChoice(StrEnum):
    """What a load is written as."""

    FIO = "fio"
    DISKSPD = "diskspd"
    XML = "xml"
    IOMETER = "iometer-terms"


def translate(
    context: typer.Context,
    *,
    to: Annotated[
        FormChoice | None,
        typer.Option(
            "--to",
            help="A fio job file, a diskspd command line, DiskSpd's XML profile, or the terms of "
            "Iometer; otherwise fio, and diskspd for what comes from fio or Iometer.",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with exit code 3 if the load is not the same.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a load in the terms of another tool; nothing is run.

    The load is DiskSpd's arguments, a workload and a target, fio's arguments (fio --rw=randread
    ...), or a file: a fio job file, a DiskSpd profile or an Iometer configuration (.icf). Without
    one, the terms of all tools are listed. What the other tool cannot say is reported on standard
    error, and in the file.
    """
    arguments = list(context.args)
    try:
        if not arguments:
            _show_terms(as_json=as_json)
            return
        loads, notes, from_fio = _read(arguments)
        chosen = to or (FormChoice.DISKSPD if from_fio else FormChoice.FIO)
        pieces = []
        for load in loads:
            text, more = written(load, chosen)
            pieces.append(text)
            notes += [note for note in more if note not in notes]
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    _show("\n".join(pieces), notes, as_json=as_json)
    if strict and any(note.changes_load for note in notes):
        fail("the load is not the same: see the notes", EXIT_INVALID)


def written(load: Load, form: FormChoice) -> tuple[str, list[Note]]:
    """Return a load in one form, with a line break at its end, and what the form cannot say.

    Raises
    ------
    InvalidRequestError
        If the form cannot hold it at all.

    """
    if form is FormChoice.FIO:
        jobs, notes = tools.to_fio(load)
        return tools.job_file(jobs, notes), notes
    if form is FormChoice.IOMETER:
        return tools.iometer_terms(load)
    if form is FormChoice.XML:
        return tools.to_xml(load)
    lines, notes = tools.to_arguments(load)
    return "".join(f"{shlex.join(['diskspd', *line])}\n" for line in lines), notes


def _read(arguments: list[str]) -> tuple[list[Load], list[Note], bool]:
    """Return the loads, notes on how they were read, and whether they are fio's."""
    first, rest = Path(arguments[0]), arguments[1:]
    tool = "" if first.is_file() and not rest else first.name.removesuffix(".exe")
    if tool == "fio" and len(rest) == 1 and not rest[0].startswith("-"):
        return _of_jobs(tools.read_job_file(_text(Path(rest[0]))))
    if tool == "fio" or any(one.startswith(("--rw=", "--readwrite=")) for one in arguments):
        return _of_jobs(tools.read_fio_arguments(rest if tool == "fio" else arguments))
    if not rest and first.is_file():
        return _of_file(first)
    return [tools.read_load(_of_diskspd(arguments, tool))], [], False


def _of_diskspd(arguments: list[str], tool: str) -> list[str]:
    return arguments[1:] if tool == "diskspd" else single_step(arguments)[0]


def _of_jobs(jobs: Sequence[FioJob]) -> tuple[list[Load], list[Note], bool]:
    found = tools.from_fio(jobs)
    loads = [tools.read_load(line) for line in found.command_lines]
    return loads, [*found.notes], True


def _of_file(path: Path) -> tuple[list[Load], list[Note], bool]:
    """Read a file by its content: DiskSpd's XML, Iometer's configuration, or fio's sections."""
    content = _content(path)
    if _IS_XML.match(content):
        # The engine knows the encodings that a profile may have.
        return [tools.read_load([f"-X{path}"])], [], False
    found = loads_of_text(_decoded(path, content))
    if found is None:
        raise fathom.InvalidRequestError(
            f"{path} is neither a fio job file nor a DiskSpd profile or an Iometer configuration; "
            "to translate arguments for this target, write one of them, too, such as "
            f"-b4K {path}"
        )
    return found


def loads_of_text(text: str) -> tuple[list[Load], list[Note], bool] | None:
    """Return the loads of a configuration of Iometer or a job file of fio; None if it is neither.

    Raises
    ------
    InvalidRequestError
        If it is one that is damaged, or asks for what DiskSpd cannot do at all.

    """
    text = text.lstrip(_BEFORE_TEXT)
    if tools.looks_like_icf(text):
        told = tools.from_iometer(text)
        return [tools.read_load(line) for line in told.command_lines], [*told.notes], True
    lines = (line.strip() for line in text.splitlines())
    if any(line.startswith("[") and line.endswith("]") for line in lines):
        return _of_jobs(tools.read_job_file(text))
    return None


def _text(path: Path) -> str:
    return _decoded(path, _content(path))


def _content(path: Path) -> bytes:
    try:
        return read_bytes(path, most_mib=_MOST_MIB)
    except OSError as error:
        raise fathom.InvalidRequestError(f"{path}: {error.strerror or error}") from error


def _decoded(path: Path, content: bytes) -> str:
    """Return a text of UTF-8, or of UTF-16 with its mark, as Windows PowerShell redirects it."""
    try:
        return decoded(content)
    except UnicodeDecodeError:
        raise fathom.InvalidRequestError(
            f"{path} is no text: write an argument such as -b4K before a target"
        ) from None


def _show(text: str, notes: Sequence[Note], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json_words({"text": text, "notes": [asdict(one) for one in notes]}))
        return
    typer.echo(text, nl=False)
    show_notes(notes)


def show_notes(notes: Sequence[Note]) -> None:
    """Tell on standard error what is not the same."""
    for note in notes:
        typer.echo(f"{'not the same' if note.changes_load else 'note'}: {note}", err=True)


def _show_terms(*, as_json: bool) -> None:
    if as_json:
        typer.echo(json_words([asdict(one) for one in tools.TERMS]))
        return
    columns = ("", "DiskSpd", "fio", "Iometer", "")
    rows = [[*asdict(one).values()] for one in tools.TERMS]
    console().print(text_table("", columns, rows))
