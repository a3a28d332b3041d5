"""Importing one file, and what is to be told of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import fathom
import fathom.store as stores
from fathom import imported, tools
from fathom._files import SQLITE_HEADER, check_regular
from fathom._own_stores import BESIDE_STORES, is_own_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.cli.common import LaterStore
    from fathom.imported import ImportedResult, OwnRun, Reading, UnparsedLine

__all__ = ["STDIN", "Imported", "import_one"]

STDIN = "-"


@dataclass(frozen=True)
class Imported:
    """What became of one file.

    Attributes
    ----------
    file
        Its name.
    runs, before
        The runs that are new, and those that were imported before.
    unparsed
        The lines that no rule knows.
    error, skipped
        Why it was not imported; ``skipped`` of a file in a folder, which nobody named.
    titles
        Of the new runs.
    configurations
        Loads that stand in it without results, as DiskSpd's arguments.
    experiments
        Those that another store had, and that are new.

    """

    file: str
    runs: list[int] = field(default_factory=list)
    before: list[int] = field(default_factory=list)
    unparsed: list[UnparsedLine] = field(default_factory=list)
    error: str | None = None
    skipped: str | None = None
    titles: list[str] = field(default_factory=list)
    configurations: dict[str, Sequence[str]] = field(default_factory=dict)
    experiments: list[int] = field(default_factory=list)


def import_one(  # noqa: PLR0913 - All but the first two are the command's options.
    later: LaterStore,
    name: str,
    form: str | None,
    label: str | None,
    *,
    again: bool,
    is_named: bool,
) -> Imported:
    """Import one file.

    Of a folder, what is of no known format is left out with the reason (``skipped``); of a file
    that ``is_named`` by the user it is an ``error``.
    """
    try:
        if name != STDIN and _is_store(name):
            return _copied(later, name)
        content = _content(name)
        known = None if again else later.known()
        if known is not None and (before := known.imports.run_ids(content)):
            return Imported(name, before=[*before])
        reading = tools.read_source(content, form, name)
        return _saved(later, name, reading, content, label, again=again)
    except imported.UnknownFormatError as error:
        return Imported(name, error=f"{error}") if is_named else Imported(name, skipped=f"{error}")
    except OSError as error:
        return Imported(name, error=f"it cannot be read: {error.strerror or error}")
    except fathom.FathomError as error:
        return Imported(name, error=f"{error}")


def _is_store(name: str) -> bool:
    """Whether a file is a database of SQLite, such as an export of experiments.

    Stores of ours are not opened for that: whoever closes one, or what SQLite keeps beside it,
    takes the locks from this process.
    """
    path = Path(name)
    if not path.is_file():
        return False
    if is_own_store(path):
        if name.endswith(BESIDE_STORES):
            raise imported.UnknownFormatError(
                "it belongs to a store of results, and holds no result of its own"
            )
        return True
    with path.open("rb") as file:
        return file.read(len(SQLITE_HEADER)) == SQLITE_HEADER


def _copied(later: LaterStore, name: str) -> Imported:
    """Copy all that another store has."""
    with stores.Store(name) as source:
        store = later.made()
        done = stores.copy_store(source, store)
        labels = {one.id: one.label for one in store.runs.list()}
    return Imported(
        name,
        runs=[*done.new_runs],
        before=[run_id for run_id in done.runs.values() if run_id not in done.new_runs],
        titles=[f"Fathom: {labels[run_id]}" for run_id in done.new_runs],
        experiments=[*done.new_experiments],
    )


def _saved(  # noqa: PLR0913 - All but the first four are the command's options.
    later: LaterStore,
    name: str,
    reading: Reading,
    content: bytes,
    label: str | None,
    *,
    again: bool,
) -> Imported:
    if not (reading.own or reading.results):
        return _without_results(name, reading)
    imports = later.made().imports
    if reading.own:
        saved = imports.save_own(reading.own, content, name, label=label, again=again)
    else:
        found = imports.save(reading.results, content, name, label=label, again=again)
        # Another process may have imported it since it was looked for.
        there = [] if found else imports.run_ids(content)
        saved = [*((run_id, True) for run_id in found), *((run_id, False) for run_id in there)]
    told: tuple[ImportedResult | OwnRun, ...] = (*reading.own, *reading.results)
    return Imported(
        name,
        runs=[run_id for run_id, is_new in saved if is_new],
        before=[run_id for run_id, is_new in saved if not is_new],
        titles=[_title(one) for one, (_id, is_new) in zip(told, saved, strict=False) if is_new],
        unparsed=[*reading.unparsed],
        configurations=dict(reading.configurations),
    )


def _without_results(name: str, reading: Reading) -> Imported:
    return Imported(
        name,
        unparsed=[*reading.unparsed],
        configurations=dict(reading.configurations),
        error=None if reading.configurations else "it holds no result; nothing was imported",
    )


def _title(one: ImportedResult | imported.OwnRun) -> str:
    """Return the tool, and what tells the result from others: name, command, target or place."""
    if isinstance(one, imported.OwnRun):
        return f"Fathom: {one.label or one.command_line}"
    words = f"{one.tool} {one.tool_version}".strip()
    place = f"lines {one.lines[0]} to {one.lines[1]}" if one.lines else ""
    paths = ", ".join(target.path for target in one.targets)
    return f"{words}: {one.title or one.command_line or paths or place or 'one result'}"


def _content(name: str) -> bytes:
    """Return a file, but not more of it than can be imported: its refusal tells its size."""
    if name == STDIN:
        return sys.stdin.buffer.read(tools.MAX_BYTES + 1)
    path = Path(name)
    size = check_regular(path)
    if size > tools.MAX_BYTES:
        raise imported.ImportFormatError(
            f"it has {size >> 20:,} MiB, more than the {tools.MAX_BYTES >> 20} MiB that an import "
            "reads: split it"
        )
    with path.open("rb") as file:
        return file.read(tools.MAX_BYTES + 1)
