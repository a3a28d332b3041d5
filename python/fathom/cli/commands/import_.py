"""``fathom import``: results of other tools, and of this one, into the store."""

from __future__ import annotations

import glob
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom import tools
from fathom._finite import json_words
from fathom.cli.commands._import_one import STDIN, Imported, import_one
from fathom.cli.common import JsonOption, LaterStore, StoreOption, fail
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INVALID
from fathom.cli.views.plain import one_line

if TYPE_CHECKING:
    from fathom.imported import UnparsedLine

__all__ = ["import_"]


def import_(  # noqa: PLR0913 - Each is an option of the command.
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Files, folders, patterns such as 'old/*.txt', or - for stdin."
        ),
    ],
    *,
    form: Annotated[
        str | None,
        typer.Option(
            "--format", help="The format; by default each file's content shows it. ? lists them."
        ),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="A word to find the runs by; by default their own titles.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Save what was imported before once more.")
    ] = False,
    all_lines: Annotated[
        bool, typer.Option("--all-lines", help="Show also each line outside of results.")
    ] = False,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Import results of DiskSpd, fio, Iometer or CrystalDiskMark.

    Those of Fathom on another machine are imported whole. All results of a file are taken. Lines
    that are not understood are shown with their numbers.
    """
    if form == "?":
        typer.echo("\n".join(tools.FORMATS))
        return
    if form is not None and form not in tools.FORMATS:
        fail(
            f"there is no format {form!r}: the formats are {', '.join(tools.FORMATS)}", EXIT_INVALID
        )
    names = _names(files)
    told: list[Imported] = []
    with LaterStore(store) as later:
        for name, is_named in names:
            told.append(import_one(later, name, form, label, again=again, is_named=is_named))
            if not as_json:
                _tell(told[-1], all_lines=all_lines)
    if as_json:
        typer.echo(json_words([asdict(one) for one in told]))
    _end(told, " ".join(files))


def _names(asked: list[str]) -> list[tuple[str, bool]]:
    """Return the files, each with whether it is named itself; a missing one ends the command.

    Those of a folder come in order, and so does what a pattern stands for.
    """
    found: list[tuple[str, bool]] = []
    missing: list[str] = []
    for name in asked:
        path = Path(name)
        if name == STDIN or (path.exists() and not path.is_dir()):
            found.append((name, True))
        elif path.is_dir():
            found += [(str(one), False) for one in sorted(path.rglob("*")) if one.is_file()]
        # Path.glob takes no absolute patterns before Python 3.13.
        # A link to nothing would match itself, and is no file.
        elif not path.is_symlink() and (
            several := sorted(glob.glob(name, recursive=True))  # noqa: PTH207
        ):
            found += [(one, False) for one in several if Path(one).is_file()]
        else:
            missing.append(name)
    if missing:
        words = one_line(", ".join(missing))
        fail(
            f"there is no file, folder or match of {words}; nothing was imported: check the name "
            f"(from {Path.cwd()})",
            EXIT_INVALID,
        )
    return found


def _end(told: list[Imported], asked: str) -> None:
    """End with the exit code that stands for what became of all files."""
    failed = [one for one in told if one.error]
    good = [one for one in told if one.runs or one.before or one.configurations]
    if failed:
        # Some were imported: the command has failed in part. None were: what was given is wrong.
        words = f"{len(failed)} of {len(told)} files were not imported"
        fail(words, EXIT_FAILED if good else EXIT_INVALID)
    if not good:
        fail(f"there is no result in {asked}; nothing was imported", EXIT_INVALID)


def _tell(told: Imported, *, all_lines: bool) -> None:
    name = one_line(told.file)
    if told.before:
        runs = ", ".join(map(str, told.before))
        typer.echo(f"{name}: imported before, as run {runs}; --again saves it once more")
    for run_id, title in zip(told.runs, told.titles, strict=False):
        typer.echo(f"{name}: run {run_id}: {one_line(title)}")
    for number in told.experiments:
        typer.echo(f"{name}: experiment e{number}")
    for load, arguments in told.configurations.items():
        words = " ".join(arguments) or "several lines, which no single load of DiskSpd says"
        typer.echo(one_line(f"{name}: {load}: {words}"))
    outside = [line for line in told.unparsed if not line.is_within]
    for line in told.unparsed:
        if line.is_within or all_lines:
            typer.echo(
                f"{name}:{line.number}: not understood: {one_line(line.text.strip())}",
                err=True,
            )
    if outside and not all_lines:
        typer.echo(
            f"{name}: {len(outside)} lines outside of results ({_ranges(outside)}); "
            "--all-lines shows them",
            err=True,
        )
    if why := told.error:
        typer.echo(one_line(f"{name}: {why}"), err=True)
    if why := told.skipped:
        typer.echo(one_line(f"{name}: left out: {why}"), err=True)


def _ranges(lines: list[UnparsedLine]) -> str:
    """Return line numbers as ``1-4, 7``."""
    numbers = sorted({line.number for line in lines})
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    words = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    return ", ".join(words)
