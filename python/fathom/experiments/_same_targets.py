"""Whether the targets of an experiment that goes on are those that it measured before."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from fathom._files import size_of
from fathom._hanging import LOOK_S, HangingError, within
from fathom.errors import FathomError, InvalidRequestError
from fathom.store.damage import run_damage_told

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.store import RunSummary, Store, StoredRun

__all__ = ["refuse_other_targets"]

_OF_THIS_HOST = ("file", "block_device")


def refuse_other_targets(store: Store, runs: Sequence[RunSummary]) -> None:
    """Refuse to go on with targets that have another size than the last complete run of each found.

    What each run makes, what had several sizes before, what other hosts have or serve, and what is
    gone is not asked. ``runs`` are all that the experiment has, the newest first.

    Raises
    ------
    InvalidRequestError
        If a target has another size.

    """
    for run in _last_of_each(runs):
        for path, then_bytes in _measured(store, run).items():
            now_bytes = _now_bytes(path)
            if now_bytes not in (None, then_bytes):
                raise InvalidRequestError(
                    f"{path} had {then_bytes:,} bytes when e{run.experiment_id} measured it, and "
                    f"has {now_bytes:,} now: what both show does not belong together. Put it back, "
                    "or begin another experiment"
                )


def _last_of_each(runs: Sequence[RunSummary]) -> list[RunSummary]:
    """Return the newest complete run of each target that had one size in all runs of this host."""
    here = platform.node()
    found: dict[object, RunSummary] = {}
    sizes: dict[object, set[object]] = {}
    for run in (one for one in runs if one.columns["host_name"] == here):
        path = run.columns["target_path"]
        sizes.setdefault(path, set()).add(run.columns["target_size_bytes"])
        if run.outcome == "complete":
            found.setdefault(path, run)
    return [run for path, run in found.items() if len(sizes[path]) == 1]


def _measured(store: Store, run: RunSummary) -> Mapping[str, int]:
    """Return the targets of this host that were there before a run, with their sizes in bytes."""
    try:
        stored = store.runs.get(run.id)
        with run_damage_told(run.id):
            return _not_made(stored)
    except FathomError:
        # What cannot be read any more is reported where the run itself is shown.
        return {}


def _not_made(run: StoredRun) -> Mapping[str, int]:
    if run.imported is not None or run.result.raw.get("hosts"):
        return {}
    spans = run.result.raw["request"]["profile"]["time_spans"]
    asked = [target for span in spans for target in span["targets"]]
    made = {one["path"] for one in asked if one["create_bytes"] is not None}
    return {
        str(one["path"]): int(one["size_bytes"])
        for one in run.targets
        if one["kind"] in _OF_THIS_HOST and one["path"] not in made
    }


def _now_bytes(path: str) -> int | None:
    """Return the size of a target; None of what is gone, hangs, or cannot be opened."""
    try:
        return within(LOOK_S, f"look at '{path}'", lambda: size_of(path))
    except (OSError, ValueError, HangingError):
        return None
