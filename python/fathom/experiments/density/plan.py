"""What is to be measured: how many databases, of which kind, under which load, and where."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fathom import engine
from fathom._addresses import is_address
from fathom.databases.account import account_for
from fathom.databases.pgbench import LOADS
from fathom.databases.postgresql import Settings, find_binaries, needed_bytes
from fathom.errors import InvalidRequestError
from fathom.experiments._run_times import asked_run_s
from fathom.units import size_words
from fathom.workloads import WorkloadError, find_workload, run_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["POSTGRESQL", "DensityPlan", "plan_density"]

POSTGRESQL = "postgresql"
_MOST_DATABASES = 1_000
_MOST_CLIENTS = 1_000
# What makes and starts a cluster takes, as measured; it is a forecast alone.
_LONGEST_WARM_UP_S = 10
_MAKE_S, _SCALE_S, _START_S = 1.5, 0.25, 0.7


@dataclass(frozen=True)
class DensityPlan:
    """How databases are counted.

    Attributes
    ----------
    folder
        In which all is made.
    counts
        How many databases are loaded at once, step by step, rising.
    seconds
        Of each step.
    kind
        ``postgresql``, or ``files`` for a workload by name on files.
    scale, clients, load
        Of pgbench.
    workload, size
        By name, and of each file; the workload's own size if there is none.
    account
        Under which databases run; None if that is found out.

    """

    folder: str
    counts: tuple[int, ...]
    seconds: int
    kind: str = POSTGRESQL
    scale: int = 10
    clients: int = 4
    load: str = LOADS[0]
    workload: str | None = None
    size: str | None = None
    account: str | None = None
    version: str = ""

    @property
    def unit(self) -> str:
        """What is counted each second."""
        return "TPS" if self.kind == POSTGRESQL else "IOPS"

    @property
    def noun(self) -> str:
        """What is loaded, in words."""
        return "database" if self.kind == POSTGRESQL else "file"

    @property
    def settings(self) -> Settings:
        """How each database is made and loaded."""
        return Settings(self.scale, self.clients, self.load)

    def as_dict(self) -> dict[str, object]:
        """Return the plan as JSON has it, without what says nothing."""
        return {name: one for name, one in asdict(self).items() if one not in (None, "")}

    @property
    def step_s(self) -> float:
        """How long a step loads, in seconds: files warm up first, which databases do not."""
        if self.kind == POSTGRESQL:
            return float(self.seconds)
        return asked_run_s(self.file_arguments(["x"]))

    def foreseen_s(self) -> float:
        """Return about how long it takes."""
        steps = len(self.counts) * self.step_s
        if self.kind != POSTGRESQL:
            return steps
        return steps + _MAKE_S + self.scale * _SCALE_S + self.counts[-1] * _START_S

    def file_arguments(self, names: Sequence[str], *, is_making: bool = False) -> list[str]:
        """Return the arguments that load files of these names, or that only make them.

        Raises
        ------
        InvalidRequestError
            If the workload is unknown, has several runs, or its size makes no sense.

        """
        try:
            found = find_workload(self.workload or "")
        except WorkloadError as error:
            raise InvalidRequestError(str(error)) from error
        if len(found.steps) > 1:
            raise InvalidRequestError(f"{found.name} has {len(found.steps)} runs: name one load")
        size = self.size or found.size
        warm_up_s = min(self.seconds, _LONGEST_WARM_UP_S)
        lasting = [f"-d{self.seconds}", f"-W{warm_up_s}"]
        lasting = ["-d1", "-W0", "--stop-ios=1"] if is_making else lasting
        wishes = [f"-c{size}", "-L", *lasting]
        return run_arguments(found, found.steps[0], wishes, names)


def plan_density(plan: DensityPlan) -> DensityPlan:
    """Return a plan with what is found out of it; nothing is made or started.

    Raises
    ------
    InvalidRequestError
        If it cannot be done here, with the reason and what to do.

    """
    _refuse_numbers(plan)
    if is_address(plan.folder):
        raise InvalidRequestError(
            f"{plan.folder} is an address, and databases and files are made in a folder: mount it, "
            "and name the folder"
        )
    folder = Path(plan.folder).absolute()
    if folder.exists() and not folder.is_dir():
        raise InvalidRequestError(f"{plan.folder} is not a folder: name one, or a new one")
    if plan.kind == POSTGRESQL:
        account, binaries = account_for(plan.account), find_binaries()
        needed = needed_bytes(plan.counts[-1], plan.settings, plan.seconds)
        more = {"account": account.name, "version": binaries.version}
    else:
        request = engine.load_of(plan.file_arguments(["x"]))
        made = request["time_spans"][0]["targets"][0]["create_bytes"] or 0
        needed, more = int(made) * plan.counts[-1], {}
    _refuse_room(folder, needed, plan)
    return DensityPlan(**{**vars(plan), "folder": str(folder), **more})


def _refuse_numbers(plan: DensityPlan) -> None:
    limits = (
        ("--databases", plan.counts[-1], _MOST_DATABASES),
        ("--clients", plan.clients, _MOST_CLIENTS),
        ("--scale", plan.scale, 100_000),
    )
    for name, value, most in limits:
        if not 1 <= value <= most:
            raise InvalidRequestError(f"{name} is from 1 to {most:,}, not {value:,}")
    if plan.seconds < 1:
        raise InvalidRequestError("--time is at least 1s")
    if plan.load not in LOADS:
        raise InvalidRequestError(f"--load is {', '.join(LOADS[:-1])} or {LOADS[-1]}")
    if plan.kind == POSTGRESQL and plan.load != "select-only" and plan.clients > plan.scale:
        # pgbench's own advice: clients would wait for each other's rows in pgbench_branches.
        raise InvalidRequestError(
            f"{plan.load} updates one row of each unit of scale: {plan.clients} clients wait for "
            f"each other at --scale {plan.scale}; make it at least {plan.clients}"
        )


def _refuse_room(folder: Path, needed: int, plan: DensityPlan) -> None:
    place = next(one for one in (folder, *folder.parents) if one.is_dir())
    free = shutil.disk_usage(place).free
    if needed > free:
        most = plan.counts[-1]
        raise InvalidRequestError(
            f"{most} {plan.noun}{'s take' if most > 1 else ' takes'} about "
            f"{size_words(needed)}, and {place} has {size_words(free)} free: name another folder, "
            "or fewer or smaller ones"
        )
