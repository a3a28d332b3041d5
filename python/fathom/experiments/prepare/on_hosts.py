"""Filling a file on each host of a fleet: their engines make it, or keep it if it is complete."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, TypedDict, cast

from fathom.errors import FathomError, InvalidRequestError, RunInterrupted
from fathom.experiments.prepare.served import made_by_load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fathom.experiments.prepare.filling import Asked
    from fathom.fleet.runner import FleetRunner
    from fathom.store import Store

__all__ = ["FleetFill", "HostFile", "fill_on_hosts", "load_on_hosts"]


class _File(TypedDict):
    path: str
    size_bytes: int
    write_bytes: int
    fate: str


class _Target(TypedDict):
    path: str
    identity: str


class _Told(TypedDict):
    """What a host says of a run, as far as it is read here."""

    targets: list[_Target]
    files: list[_File]


# A fleet has no counts; all its hosts read for so long.
_LEAST_LOAD = ("-d1",)


@dataclass(frozen=True)
class HostFile:
    """A file of a fleet.

    Attributes
    ----------
    hosts
        Those that have it; several if they share it.
    path
        What they call it.
    size_bytes, written_bytes
        Its size, and how much of it was written now.
    fate
        ``made``, ``replaced`` (made again), or ``kept``, as it was there and complete.

    """

    hosts: tuple[str, ...]
    path: str
    size_bytes: int
    written_bytes: int
    fate: str


@dataclass(frozen=True)
class FleetFill:
    """What filling did on all hosts.

    Attributes
    ----------
    experiment_id
        In the store.
    files
        What became of each file.
    elapsed_s
        How long it took, of which a second is for reading.
    failure
        Why it ended before its end, if it did.

    """

    experiment_id: int
    files: list[HostFile]
    elapsed_s: float
    failure: str | None


def load_on_hosts(target: str, asked: Asked) -> list[str]:
    """Return the arguments of the load by which each host makes a file.

    Raises
    ------
    InvalidRequestError
        If no size is given, or only parts are to be filled.

    """
    return made_by_load(target, asked, _LEAST_LOAD, f"{target} lies on the hosts of a fleet")


def fill_on_hosts(store: Store, runner: FleetRunner, target: str, asked: Asked) -> FleetFill:
    """Make a file of this size with real data on each host; one that is complete is kept.

    ``{host}`` and ``{index}`` in its name give each host its own. What hosts share is made once.

    Raises
    ------
    InvalidRequestError
        If no size is given, only parts are to be filled, or it is a device.
    RefusedError
        If a host refuses, such as a file with data of others; then none has written anything.
    FathomError
        If a host cannot be used, or its file cannot be made.

    """
    load = load_on_hosts(target, asked)
    files = _files(cast("Mapping[str, _Told]", runner.explain(load)))
    plan = {"kind": "hosts", "target": target, "size_bytes": asked.size_bytes}
    plan |= {"runner": runner.fleet.runner_name()}
    experiment_id = store.experiments.begin("prepare", f"fill {target}", plan)
    began_s = runner.clock()
    try:
        done = runner.run(load, experiment_id=experiment_id)
    except (RunInterrupted, KeyboardInterrupt):
        store.experiments.finish(experiment_id, "interrupted")
        raise
    except FathomError as error:
        store.experiments.finish(experiment_id, "failed", failure=str(error))
        raise
    found = FleetFill(experiment_id, files, runner.clock() - began_s, done.failure)
    store.experiments.finish(
        experiment_id,
        "complete" if done.failure is None else "failed",
        outcome=asdict(found),
        failure=done.failure,
    )
    return found


def _files(explained: Mapping[str, _Told]) -> list[HostFile]:
    """Return each file once, with the hosts that mean it."""
    users: dict[str, list[str]] = {}
    told: dict[str, _File] = {}
    for host, said in explained.items():
        (target,) = said["targets"]
        if not said["files"]:
            raise InvalidRequestError(
                f"host '{host}': {target['path']} is no file that could be made: prepare a device "
                "on its host, by fathom prepare fill there"
            )
        users.setdefault(target["identity"], []).append(host)
        told.setdefault(target["identity"], said["files"][0])
    return [
        HostFile(
            hosts=tuple(users[name]),
            path=file["path"],
            size_bytes=file["size_bytes"],
            written_bytes=file["write_bytes"],
            fate=file["fate"],
        )
        for name, file in told.items()
    ]
