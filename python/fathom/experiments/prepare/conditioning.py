"""Preconditioning of SSDs: what it takes, and the workload independent one.

SNIA SSS PTS 2.0.2 (2020): a fresh drive is faster than it will ever be again, so a test begins with
a purge, writes twice the user capacity in sequential writes of 128 KiB (WIPC), and then runs the
load itself until it is steady (WDPC). The purge (secure erase, format) is left to the user.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fathom._permission import NOTHING, Permission
from fathom.engine import load_of
from fathom.errors import InvalidRequestError
from fathom.experiments.prepare._guard import refuse_foreign
from fathom.experiments.prepare._pieces import cut, piece_bytes
from fathom.experiments.prepare.looking import target_layout
from fathom.experiments.prepare.settling import ROUND_LIMIT, WINDOW_ROUNDS
from fathom.experiments.prepare.target import described_error, refuse_address, target_facts
from fathom.experiments.prepare.write import Meter, WritePlan, begin, taken_up, write
from fathom.units import MIB

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from fathom.experiments.prepare.target import TargetFacts
    from fathom.experiments.prepare.write import Written
    from fathom.runners import Runner
    from fathom.store import Store

__all__ = [
    "Estimate",
    "estimate_settling",
    "estimate_writing",
    "known_rate",
    "plan_precondition",
    "precondition",
]

PASSES = 2
_BLOCK_BYTES = 128 << 10
_DEPTH = 32
_BYTES_PER_TB = 10**12
_SEQUENTIAL_LEAST_BYTES = 64 << 10
_LOOKED_AT = 200


@dataclass(frozen=True)
class Estimate:
    """What preconditioning takes; what nobody knows is None.

    Attributes
    ----------
    least_bytes, most_bytes
        That the host writes; what the drive makes of it inside comes on top.
    least_s, most_s
        Time.
    mib_per_s, rate_source
        The rate behind it, and where it comes from.
    capacity_bytes
        Of the target.
    drive_writes
        ``most_bytes`` over the capacity of the drives beneath it.
    endurance_share
        ``most_bytes`` over the rated endurance (TBW), if the user gave that.

    """

    least_bytes: int | None
    most_bytes: int | None
    least_s: float | None
    most_s: float | None
    mib_per_s: float | None
    rate_source: str | None
    capacity_bytes: int
    drive_writes: float | None
    endurance_share: float | None

    @property
    def exceeds_capacity(self) -> bool:
        """Whether more than the target holds is written, or nobody knows that it is not."""
        return self.most_bytes is None or self.most_bytes > self.capacity_bytes


def known_rate(store: Store, path: str) -> tuple[float, str] | None:
    """Return the rate in MiB/s of the last saved run that wrote a target in sequence, and its name.

    Small blocks and random writes tell nothing of it.
    """
    for run in store.runs.list(device=path, limit=_LOOKED_AT):
        columns = run.columns
        is_sequential = columns["write_percent"] == 100 and columns["random_percent"] == 0  # noqa: PLR2004
        fits = columns["target_path"] == path and columns["block_bytes"] >= _SEQUENTIAL_LEAST_BYTES
        if run.outcome == "complete" and is_sequential and fits and columns["total_mib_per_s"]:
            return float(columns["total_mib_per_s"]), f"run {run.id}"
    return None


def estimate_writing(
    targets: Sequence[TargetFacts],
    rate: tuple[float, str] | None,
    tbw: float | None = None,
    *,
    passes: int = PASSES,
) -> Estimate:
    """Return what writing targets so many times over takes; ``tbw`` are terabytes of 10^12 bytes.

    Raises
    ------
    InvalidRequestError
        If the rate or the endurance is not greater than 0.

    """
    capacity = sum(target.size_bytes for target in targets)
    total = passes * capacity
    seconds = None if rate is None else total / MIB / _positive(rate[0], "a rate")
    return _estimate(targets, (total, total), (seconds, seconds), rate, tbw)


def estimate_settling(
    targets: Sequence[TargetFacts],
    loads: Sequence[Sequence[str]],
    rate: tuple[float, str] | None,
    tbw: float | None = None,
) -> Estimate:
    """Return what rounds of loads take: 5 of them at least, 25 at most.

    The rate is that of reads and writes together.
    """
    round_s = writing_s = 0.0
    for load in loads:
        for span in load_of(load).profile.time_spans:
            seconds = span.duration_s + span.warm_up_s + span.cool_down_s
            shares = [target.write_percent / 100 for target in span.targets]
            round_s += seconds
            writing_s += seconds * sum(shares) / max(len(shares), 1)
    sizes = None
    if rate is not None:
        a_round = writing_s * _positive(rate[0], "a rate") * MIB
        sizes = (round(WINDOW_ROUNDS * a_round), round(ROUND_LIMIT * a_round))
    elif not writing_s:
        sizes = (0, 0)
    times = (WINDOW_ROUNDS * round_s, ROUND_LIMIT * round_s)
    return _estimate(targets, sizes, times, rate, tbw)


def _estimate(
    targets: Sequence[TargetFacts],
    sizes: tuple[int, int] | None,
    times: tuple[float | None, float | None],
    rate: tuple[float, str] | None,
    tbw: float | None,
) -> Estimate:
    least, most = sizes if sizes is not None else (None, None)
    # Several files may lie on one drive, and then wear it together.
    beneath = {target.path: target.device_bytes for target in targets}
    device_bytes = min((size for size in beneath.values() if size), default=None)
    endurance = None if tbw is None else _positive(tbw, "an endurance (TBW)") * _BYTES_PER_TB
    return Estimate(
        least_bytes=least,
        most_bytes=most,
        least_s=times[0],
        most_s=times[1],
        mib_per_s=None if rate is None else rate[0],
        rate_source=None if rate is None else rate[1],
        capacity_bytes=sum(target.size_bytes for target in targets),
        drive_writes=most / device_bytes if most is not None and device_bytes else None,
        endurance_share=most / endurance if most is not None and endurance else None,
    )


def _positive(value: float, what: str) -> float:
    if not value > 0:
        raise InvalidRequestError(f"{what} is greater than 0, not {value:g}")
    return value


def plan_precondition(
    store: Store,
    path: str | os.PathLike[str],
    permission: Permission = NOTHING,
    *,
    for_experiment: int | None = None,
) -> int:
    """Plan to write a target twice over, and return the experiment; nothing is written yet.

    ``permission`` is for this look alone: what writes gets its own from its runner.

    Raises
    ------
    InvalidRequestError
        If there is no such target.
    RefusedError
        If it is a file with data that Fathom has not made.

    """
    refuse_address(path)
    target = target_facts(Path(path))
    try:
        has_data = bool(target_layout(target).written)
    except OSError as error:
        raise described_error(target.path, "it cannot be read", error) from error
    if has_data:
        refuse_foreign(target, permission)
    size = piece_bytes(target.size_bytes)
    spans = [(0, target.size_bytes)]
    pieces = [
        piece for number in range(1, PASSES + 1) for piece in cut(spans, _BLOCK_BYTES, size, number)
    ]
    plan = WritePlan("wipc", target, depth=_DEPTH, for_experiment=for_experiment)
    return begin(store, plan, pieces)


def precondition(store: Store, runner: Runner, experiment_id: int, meter: Meter) -> Written:
    """Write as planned, or go on with it; see ``prepare._write.write`` for what it raises."""
    taken_up(store, experiment_id)
    done = write(store, runner, experiment_id, meter)
    if done.failure is None:
        outcome = {**asdict(done), "mib_per_s": done.mib_per_s}
        del outcome["pieces"]
        store.experiments.finish(experiment_id, "complete", outcome=outcome)
    return done
