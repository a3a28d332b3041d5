"""Saving a run; what the store does not take is kept in a file of its own.

A measurement may have taken a night. Whatever has happened to the store meanwhile, its result is
not lost: it is written where there is room, in the form of ``diskspd --json``, which ``fathom
import`` reads.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from fathom._events_file import note
from fathom._files import nothing, replacing
from fathom.errors import FathomError
from fathom.store.errors import NotSavedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fathom.result import Result
    from fathom.store import Store

__all__ = ["save_run"]

_NO_NAME = re.compile(r"[^A-Za-z0-9]+")
_NAME_CHARACTERS = 40


def save_run(  # noqa: PLR0913 - All but the first three have names.
    store: Store,
    result: Result,
    arguments: Sequence[str],
    *,
    label: str = "",
    failures: Sequence[str] = (),
    experiment_id: int | None = None,
    step_id: int | None = None,
) -> int:
    """Save a run and return its id.

    Raises
    ------
    NotSavedError
        If the store does not take it, for whatever reason; the message says where the result is.

    """
    try:
        run_id = store.runs.save(
            result,
            arguments,
            label=label,
            failures=failures,
            experiment_id=experiment_id,
            step_id=step_id,
        )
    # Also what nobody has foreseen must not cost the result.
    except Exception as error:
        why = str(error) if isinstance(error, FathomError) else f"{type(error).__name__}: {error}"
        raise _kept(result, label, why) from error
    note("saved", {"run_id": run_id, "experiment_id": experiment_id})
    return run_id


def _kept(result: Result, label: str, why: str) -> NotSavedError:
    """Write the result to the first place that takes it, and say so."""
    text = json.dumps(dict(result.raw), indent=2) + "\n"
    refused = []
    for folder in _places():
        try:
            path = _written(folder, label, text)
        except OSError as error:
            refused.append(f"{folder} ({error.strerror or error})")
            continue
        named = f" --label={shlex.quote(label)}" if label else ""
        return NotSavedError(
            f"{why}\nThe result of this run is kept in {path}: put the store right, then "
            f"fathom import {path}{named}",
            path,
        )
    return NotSavedError(f"{why}\nNor can the result be kept in {', '.join(refused)}: it is lost")


def _places() -> Iterator[Path]:
    """Return folders: where the user is, for temporary files, the user's own, and memory."""
    seen = set()
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home raises where there is none.
    # Two for temporary files: one may be on the disk that is full.
    for name in (".", tempfile.gettempdir(), "/var/tmp", home, "/dev/shm"):  # noqa: S108 - The same.
        folder = Path(name).absolute()
        if folder.is_dir() and folder not in seen:
            seen.add(folder)
            yield folder


def _written(folder: Path, label: str, text: str) -> Path:
    """Write a new file, whole and flushed, and return it.

    Raises
    ------
    OSError
        If it cannot be written there.

    """
    stamp = time.strftime("%Y%m%d-%H%M%S")
    about = _NO_NAME.sub("-", label).strip("-")[:_NAME_CHARACTERS]
    words = "-".join(filter(None, ("fathom-rescued", stamp, str(os.getpid()), about)))
    for number in count():
        path = folder / (f"{words}-{number}.json" if number else f"{words}.json")
        try:
            with replacing(path, may_go=nothing) as unfinished:
                unfinished.write_text(text, encoding="utf-8")
        except FileExistsError:
            continue
        break
    return path
