"""Whether the targets of an experiment that goes on are those that it measured before."""

from __future__ import annotations

import platform
import shlex
import stat
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom._files import size_of
from fathom._hanging import LOOK_S, HangingError, within
from fathom._processes import current_folder
from fathom._provenance import target_provenance
from fathom.engine import explain
from fathom.errors import FathomError, InvalidRequestError
from fathom.fleet.address import FLEET_PREFIX, FleetAddress
from fathom.store.damage import run_damage_told

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fathom.store import Experiment, RunSummary, Store, StoredRun

__all__ = ["hosts_of", "refuse_other_folder", "refuse_other_targets"]

_SERVED = "network"
_MEASURED_HERE = ("file", "block_device", _SERVED)
# An answer that comes later is that of nobody any more.
_SERVED_S = 4
_IDENTITY = {
    "file_system": "the file system",
    "device_model": "a disk of the model",
    "device_serial": "the disk with the serial number",
}
"""The columns that tell a target from others of its size, and how a sentence names them."""
# The keys of plans whose words may be targets.
_NAMING = ("arguments", "a", "b", "loads", "target", "targets")


def refuse_other_folder(experiment: Experiment, runs: Sequence[RunSummary]) -> None:
    """Refuse to go on in another folder with targets that have relative names.

    Raises
    ------
    InvalidRequestError
        If such a name would mean another target here than where the experiment began.

    """
    began = experiment.begun_in
    if began is None or began == current_folder() or _is_of_other_hosts(experiment):
        return
    measured = [str(run.columns["target_path"]) for run in runs if _is_of_this_host(run)]
    planned = [word for key in _NAMING for word in _words(experiment.plan.get(key))]
    named = next((one for one in (*measured, *planned) if _is_in(began, one)), None)
    if named is not None:
        raise InvalidRequestError(
            f"e{experiment.id} was begun in {began}, and its target '{named}' is there: go on in "
            f"that folder (cd {shlex.quote(began)})"
        )


def _is_of_other_hosts(experiment: Experiment) -> bool:
    runner = str(experiment.plan.get("runner"))
    return runner.startswith(FLEET_PREFIX) and FleetAddress.from_runner(runner).local_hosts == 0


def _words(part: object) -> Iterator[str]:
    """Yield the words of a part of a plan, of a target its path."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        yield from _words(part.get("path"))
    elif isinstance(part, list | tuple):
        yield from (word for one in part for word in _words(one))


def _is_in(folder: str, word: str) -> bool:
    """Tell whether a word is a relative name of what can be a target in a folder."""
    if not word or "\0" in word or Path(word).is_absolute():
        return False
    try:
        mode = within(LOOK_S, f"look at '{word}'", lambda: (Path(folder) / word).stat().st_mode)
    except (OSError, HangingError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISBLK(mode) or stat.S_ISDIR(mode)


def hosts_of(store: Store, runs: Sequence[RunSummary]) -> list[str]:
    """Return the hosts of the first complete run, lost ones as well; none if no fleet measured it.

    ``runs`` are the newest first. Where none is complete, it is the first of several hosts: what
    could not be merged is saved by each host alone.
    """
    complete = [one for one in reversed(runs) if one.outcome == "complete"]
    for run in complete[:1] or reversed(runs):
        with run_damage_told(run.id):
            hosts = store.runs.get(run.id).result.raw.get("hosts", ())
            names = [str(one["name"]) for one in hosts]
        if complete or len(names) > 1:
            return names
    return []


def _is_of_this_host(run: RunSummary) -> bool:
    return bool(run.columns["host_name"] == platform.node())


def refuse_other_targets(store: Store, runs: Sequence[RunSummary]) -> None:
    """Refuse to go on with targets that are others than the last complete run of each found.

    Others have another size, file system, or model or serial number of their disks; of what other
    hosts serve the size alone is known. What each run makes, what had several sizes before, what
    the hosts of a fleet have, and what is gone is not asked. ``runs`` are all that the experiment
    has, the newest first.

    Raises
    ------
    InvalidRequestError
        If a target is another one.

    """
    for run in _last_of_each(runs):
        for then in _measured(store, run):
            now = _served(then["path"]) if then["kind"] == _SERVED else _now(then["path"])
            change = None if now is None else _change(then, now)
            if change is not None:
                before, after = change
                raise InvalidRequestError(
                    f"{then['path']} {before} when e{run.experiment_id} measured it, and {after} "
                    "now: what both show does not belong together. Put it back, or begin another "
                    "experiment"
                )


def _last_of_each(runs: Sequence[RunSummary]) -> list[RunSummary]:
    """Return the newest complete run of each target that had one size in all runs of this host."""
    found: dict[object, RunSummary] = {}
    sizes: dict[object, set[object]] = {}
    for run in filter(_is_of_this_host, runs):
        path = run.columns["target_path"]
        sizes.setdefault(path, set()).add(run.columns["target_size_bytes"])
        if run.outcome == "complete":
            found.setdefault(path, run)
    return [run for path, run in found.items() if len(sizes[path]) == 1]


def _measured(store: Store, run: RunSummary) -> Sequence[Mapping[str, Any]]:
    """Return the targets that were there before a run of this host, as the store has them."""
    try:
        stored = store.runs.get(run.id)
        with run_damage_told(run.id):
            return _not_made(stored)
    except FathomError:
        # What cannot be read any more is reported where the run itself is shown.
        return []


def _not_made(run: StoredRun) -> Sequence[Mapping[str, Any]]:
    if run.imported is not None or run.result.raw.get("hosts"):
        return []
    spans = run.result.raw["request"]["profile"]["time_spans"]
    asked = [target for span in spans for target in span["targets"]]
    made = {one["path"] for one in asked if one["create_bytes"] is not None}
    return [one for one in run.targets if one["kind"] in _MEASURED_HERE and one["path"] not in made]


def _now(path: str) -> Mapping[str, Any] | None:
    """Return the facts of a target; None of what is gone, hangs, or cannot be opened."""

    def look() -> Mapping[str, Any]:
        return {"size_bytes": size_of(path), **asdict(target_provenance(path))}

    try:
        return within(LOOK_S, f"look at '{path}'", look)
    except (OSError, ValueError, HangingError):
        return None


def _served(address: str) -> Mapping[str, Any] | None:
    """Return the size of what another host serves; None if it does not answer, or refuses us."""

    def look() -> Mapping[str, Any]:
        (told,) = explain([f"--io-timeout={_SERVED_S}", "-w0", address])["targets"]
        return {"size_bytes": told["size_bytes"], **dict.fromkeys(_IDENTITY)}

    try:
        return within(LOOK_S, f"look at '{address}'", look)
    except (FathomError, OSError, ValueError, HangingError):
        return None


def _change(then: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return as clauses what a target was and what it is; None if it may be the same one."""
    sizes = then["size_bytes"], now["size_bytes"]
    if sizes[0] != sizes[1]:
        return f"had {sizes[0]:,} bytes", f"has {sizes[1]:,}"
    for name, words in _IDENTITY.items():
        before, after = then[name], now[name]
        # One of several disks that was replaced leaves the target what it is.
        if before and after and not {*before.split(", ")} & {*after.split(", ")}:
            return f"was on {words} {before}", f"is on {after}"
    return None
