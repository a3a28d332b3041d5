"""``fathom import``: results of other tools, and of this one, into the store."""

from __future__ import annotations

import glob
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fathom
from fathom.cli._common import JsonOption, StoreOption, fail, opened_store
from fathom.cli._exit_codes import EXIT_FAILED, EXIT_INVALID

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.importers import Reading
    from fathom.store import Store

__all__ = ["import_"]

_STDIN = "-"


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

    All results of a file are taken. Lines that are not understood are shown with their numbers.
    """
    from fathom.importers import FORMATS  # noqa: PLC0415 - Only needed to import.

    if form == "?" or (form is not None and form not in FORMATS):
        fail(f"the formats are {', '.join(FORMATS)}", EXIT_INVALID)
    told: list[dict[str, Any]] = []
    with opened_store(store) as opened:
        for name in _names(files):
            told.append(_one(opened, name, form, label, again=again))
            if not as_json:
                _tell(told[-1], all_lines=all_lines)
    if as_json:
        typer.echo(json.dumps(told, indent=2))
    failed = [one for one in told if one["error"]]
    if failed:
        fail(f"{len(failed)} of {len(told)} files were not imported", EXIT_FAILED)


def _names(asked: list[str]) -> Iterator[str]:
    """Return files: those of a folder in order, and what a pattern stands for."""
    for name in asked:
        path = Path(name)
        if name == _STDIN or path.is_file():
            yield name
        elif path.is_dir():
            yield from sorted(str(one) for one in path.rglob("*") if one.is_file())
        else:
            # Path.glob takes no absolute patterns before Python 3.13.
            yield from sorted(glob.glob(name, recursive=True)) or [name]  # noqa: PTH207


def _one(
    store: Store, name: str, form: str | None, label: str | None, *, again: bool
) -> dict[str, Any]:
    """Import one file, and return what is to be told of it."""
    told: dict[str, Any] = {"file": name, "runs": [], "before": [], "unparsed": [], "error": None}
    from fathom.importers import read_source  # noqa: PLC0415 - Only needed to import.

    try:
        content = _content(name)
        if not again and (before := store.imports.run_ids(content)):
            return told | {"before": before}
        reading = read_source(content, form, name)
        runs = store.imports.save(reading.results, content, name, label=label, again=again)
    except (OSError, fathom.FathomError) as error:
        return told | {"error": f"{error}"}
    found: dict[str, Any] = {
        "runs": runs,
        "unparsed": [asdict(line) for line in reading.unparsed],
        "configurations": dict(reading.configurations),
    }
    if not reading.results and not reading.configurations:
        found["error"] = "it holds no result"
    return told | found | {"titles": [_title(reading, index) for index in range(len(runs))]}


def _title(reading: Reading, index: int) -> str:
    one = reading.results[index]
    words = f"{one.tool} {one.tool_version}".strip()
    return f"{words}: {one.title or one.command_line or one.origin}"


def _content(name: str) -> bytes:
    """Return a file, but not more of it than can be imported: its refusal tells its size."""
    from fathom._files import check_regular  # noqa: PLC0415 - Only needed to import.
    from fathom.importers import MAX_BYTES, ImportFormatError  # noqa: PLC0415 - The same.

    if name == _STDIN:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    path = Path(name)
    size = check_regular(path)
    if size > MAX_BYTES:
        raise ImportFormatError(
            f"it has {size >> 20:,} MiB, more than the {MAX_BYTES >> 20} MiB that an import reads: "
            "split it"
        )
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _tell(told: dict[str, Any], *, all_lines: bool) -> None:
    name = told["file"]
    if told["before"]:
        runs = ", ".join(map(str, told["before"]))
        typer.echo(f"{name}: imported before, as run {runs}; --again saves it once more")
    for run_id, title in zip(told["runs"], told.get("titles", ()), strict=False):
        typer.echo(f"{name}: run {run_id}: {title}")
    for load, arguments in told.get("configurations", {}).items():
        words = " ".join(arguments) or "several lines, which no single load of DiskSpd says"
        typer.echo(f"{name}: {load}: {words}")
    outside = [line for line in told["unparsed"] if not line["is_within"]]
    for line in told["unparsed"]:
        if line["is_within"] or all_lines:
            typer.echo(f"{name}:{line['number']}: not understood: {line['text'].strip()}", err=True)
    if outside and not all_lines:
        typer.echo(
            f"{name}: {len(outside)} lines outside of results ({_ranges(outside)}); "
            "--all-lines shows them",
            err=True,
        )
    if told["error"]:
        typer.echo(f"{name}: {told['error']}", err=True)


def _ranges(lines: list[dict[str, Any]]) -> str:
    """Return line numbers as ``1-4, 7``."""
    numbers = sorted({line["number"] for line in lines})
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    words = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    return ", ".join(words)
