"""One load from more and more hosts: what each further one brings."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

from fathom._asked import asked_load
from fathom.errors import InvalidRequestError
from fathom.experiments.session import (
    Forecast,
    Observation,
    Session,
    Step,
    Strategy,
    failed_words,
)
from fathom.findings.causes import OF_EACH_HOST, OTHERS_ANSWERED, cause_words, disturbance_of
from fathom.hosts import host_figures, is_shared_limit
from fathom.store.damage import damage_told
from fathom.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fathom.experiments.progress import Progress
    from fathom.fleet.runner import FleetRunner
    from fathom.result import Result
    from fathom.runners.runner import RunOutcome
    from fathom.store import Store

__all__ = [
    "ScalePoint",
    "Scaling",
    "counts_up_to",
    "resume_scale",
    "scale",
    "scaling",
    "sentences",
]

_EACH_UP_TO = 8
_FELL = 0.95
_LOST = "a host was lost"
_PACED = "the load keeps to a schedule of its own"
# What a host has for itself, and yet lets through to what they share.
_LIMITING = OF_EACH_HOST - OTHERS_ANSWERED


@dataclass(frozen=True)
class ScalePoint:
    """What so many hosts did together.

    ``linear_share`` is the IOPS as a share of those of one host times the hosts; figures are None
    if the run failed. ``disturbed`` is what came between the load and what the hosts share, in
    words; None if nothing did. ``answered`` is what answered each host instead of that, ``limited``
    what limited each on its way there.
    """

    hosts: int
    run_id: int | None
    iops: float | None
    mib_per_s: float | None
    latency_p99_ns: float | None
    linear_share: float | None
    failure: str | None
    disturbed: str | None = None
    answered: str | None = None
    limited: str | None = None


@dataclass(frozen=True)
class Scaling:
    """What was found for each number of hosts, and the experiment in the store."""

    experiment_id: int
    points: tuple[ScalePoint, ...]
    failure: str | None


def counts_up_to(most: int) -> list[int]:
    """Return how many hosts measure in each run: each number up to 8, then doubled, then all."""
    counts = list(range(1, min(most, _EACH_UP_TO) + 1))
    while counts[-1] * 2 < most:
        counts.append(counts[-1] * 2)
    return counts if counts[-1] == most else [*counts, most]


def scaling(
    counts: Sequence[int],
    arguments: Sequence[str],
    use: Callable[[int], None],
    known: Mapping[int, Observation] = MappingProxyType({}),
    step_ids: Mapping[int, int] = MappingProxyType({}),
) -> Strategy[list[ScalePoint]]:
    """Ask for the load from so many hosts at a time; ``use`` gets how many, before each run.

    What is ``known``, by hosts, was measured by an earlier session; ``step_ids`` are those that it
    began.
    """
    points: list[ScalePoint] = []
    for hosts in counts:
        use(hosts)
        words = counted(hosts, "host")
        step = Step(words, arguments, {"hosts": hosts}, step_ids.get(hosts))
        seen = known.get(hosts) or (yield step)
        found = seen.figures
        one = points[0].iops if points else (found.iops if found else None)
        share = found.iops / (hosts * one) if found is not None and one else None
        points.append(
            ScalePoint(
                hosts,
                seen.run_id,
                None if found is None else found.iops,
                None if found is None else found.mib_per_s,
                None if found is None else found.latency_p99_ns,
                share,
                seen.failure,
                None if seen.result is None else _disturbed(seen.result),
                None if seen.result is None else cause_words(seen.result, OTHERS_ANSWERED),
                None if seen.result is None else _limited(seen.result),
            )
        )
        if seen.ends is not None:
            break
    return points


class _Growing:
    """A fleet of which as many hosts measure as it was told last."""

    def __init__(self, fleet: FleetRunner) -> None:
        self._fleet = fleet
        self._hosts = 1

    def use(self, hosts: int) -> None:
        self._hosts = hosts

    def clock(self) -> float:
        return time.monotonic()

    def run(
        self,
        arguments: Sequence[str],
        *,
        label: str = "",
        experiment_id: int | None = None,
        step_id: int | None = None,
    ) -> RunOutcome:
        runner = self._fleet.of_first(self._hosts)
        return runner.run(arguments, label=label, experiment_id=experiment_id, step_id=step_id)


def scale(
    store: Store,
    fleet: FleetRunner,
    arguments: Sequence[str],
    *,
    label: str = "",
    on_progress: Callable[[Progress], None] = lambda _progress: None,
) -> Scaling:
    """Run the load from 1, 2, ... hosts up to all of the fleet; each run is saved as it ends.

    Raises
    ------
    InvalidRequestError
        If the fleet has one host alone, or the arguments are wrong.
    RefusedError
        If the first run is refused.
    FathomError
        If the fleet cannot be used.
    RunInterrupted
        If Ctrl-C ended it; what was measured is saved.

    """
    counts = counts_up_to(fleet.host_count())
    if len(counts) == 1:
        raise InvalidRequestError("the fleet has one host: there is nothing to scale to")
    plan = {
        "arguments": [*arguments],
        "counts": counts,
        "runner": fleet.fleet.runner_name(),
        "hosts": fleet.host_names(),
    }
    experiment_id = store.experiments.begin("scale", label or "scale", plan)
    runner = _Growing(fleet)
    session = Session(store, experiment_id, runner, on_progress=on_progress)
    return _scaled(session, scaling(counts, arguments, runner.use), len(counts))


def resume_scale(
    store: Store,
    experiment_id: int,
    fleet: FleetRunner,
    *,
    on_progress: Callable[[Progress], None] = lambda _progress: None,
) -> Scaling:
    """Go on with one that was ended; what failed is measured again.

    Raises
    ------
    InvalidRequestError
        If it is none, has nothing left to do, or the fleet has another number of hosts now.
    NotFoundError
        If the store has no such experiment.
    RefusedError, FathomError, RunInterrupted
        As ``scale``.

    """
    runner = _Growing(fleet)
    session = Session(store, experiment_id, runner, on_progress=on_progress)
    plan = store.experiments.get(experiment_id).plan
    with damage_told(experiment_id):
        counts = [int(one) for one in plan.get("counts", ())]
        arguments = [str(one) for one in plan.get("arguments", ())]
        names = [str(one) for one in plan.get("hosts", ())]
    if names:
        fleet.keep_hosts(names)
    if counts and fleet.host_count() != counts[-1]:
        raise InvalidRequestError(
            f"experiment e{experiment_id} was begun with {counted(counts[-1], 'host')}, and "
            "the fleet has "
            f"{fleet.host_count()} now: name those of then (--hosts), or scale again"
        )
    found = session.resume(
        "scale",
        "is a {}, and no scale",
        "is complete, and nothing of it failed",
        redo=lambda step: step.state == "failed",
    )
    saved = session.saved()
    with damage_told(experiment_id):
        steps = {int(str(step.parameters["hosts"])): step for step in found.steps}
    known = {
        hosts: _with_result(store, saved[step.id])
        for hosts, step in steps.items()
        if step.id in saved and step.state == "done"
    }
    session.measured = len(known)
    step_ids = {hosts: step.id for hosts, step in steps.items()}
    strategy = scaling(counts, arguments, runner.use, known, step_ids)
    return _scaled(session, strategy, len(counts))


def _with_result(store: Store, known: Observation) -> Observation:
    if known.run_id is None:
        return known
    return replace(known, result=store.runs.get(known.run_id).result)


def _scaled(session: Session, strategy: Strategy[list[ScalePoint]], expected: int) -> Scaling:
    points = session.run(strategy, _foreseen(session, expected))
    failure = session.ended_by or failed_words(session.failed, "run")
    outcome = {"points": [asdict(one) for one in points]}
    is_failed = session.ended_by is not None or session.measured == 0
    session.finish(outcome, failure, is_failed=is_failed)
    return Scaling(session.experiment_id, tuple(points), failure)


def _foreseen(session: Session, expected: int) -> Callable[[float], Forecast]:
    # The time is of this session, and so are the runs that took it.
    before = session.measured

    def forecast(elapsed_s: float) -> Forecast:
        done = session.measured + session.failed
        left_s = elapsed_s / max(done - before, 1) * (expected - done)
        return Forecast(done, expected, session.failed, left_s)

    return forecast


def _limited(result: Result) -> str | None:
    """Return what limited each host on its way to what they share, in words; None if nothing did.

    A load with a rate or bursts asks for no more.
    """
    is_paced = asked_load(result.raw["request"]).is_paced
    return cause_words(result, _LIMITING) or (_PACED if is_paced else None)


def _disturbed(result: Result) -> str | None:
    """Return what came between the load and what the hosts share, in words; None if nothing did."""
    if any(host.lost is not None for host in host_figures(result)):
        return _LOST
    return disturbance_of(result)


def sentences(found: Scaling) -> Iterator[str]:
    """Say what the hosts bring, and where they bring no more.

    No limit is concluded from a run that was disturbed or did nothing, and it is said to be
    measured again.
    """
    measured = [one for one in found.points if one.iops is not None]
    sound = [one for one in measured if one.disturbed is None and one.iops]
    full = next((pair for pair in pairwise(sound) if _is_at_limit(*pair, sound)), None)
    if full is not None:
        yield _limit_words(*full)
    elif len(measured) > 1:
        yield from _share_words(measured)
    for one in measured:
        if one.disturbed is not None:
            hosts = counted(one.hosts, "host")
            yield f"The run with {hosts} was disturbed ({one.disturbed}): measure it again."
        elif not one.iops:
            yield f"The run with {counted(one.hosts, 'host')} did nothing: measure it again."


def _share_words(measured: Sequence[ScalePoint]) -> Iterator[str]:
    """Say how much of linear the most hosts do that were all there to the end."""
    first, last = measured[0], [one for one in measured if one.iops and one.disturbed != _LOST][-1:]
    if first.hosts != 1:
        yield "Without a run with 1 host, no share of linear can be given."
    elif first.disturbed is None and first.iops and last and last[0] is not first:
        share = 100 * (last[0].linear_share or 0)
        said = f"{last[0].hosts} hosts do {share:.0f} % of linear"
        # What limits each host shows at least that what they share has room for the sum.
        yield f"{said}{_nothing_of_shared(first.answered, last[0].answered)}."


def _is_at_limit(before: ScalePoint, after: ScalePoint, sound: Sequence[ScalePoint]) -> bool:
    """Tell whether these hosts bring nothing more, and no greater number of them does."""
    few = (before.hosts, before.iops or 0)
    later = [one for one in sound if one.hosts >= after.hosts]
    return all(is_shared_limit(few, (one.hosts, one.iops or 0)) for one in later)


def _limit_words(before: ScalePoint, after: ScalePoint) -> str:
    share = (after.iops or 0) / (before.iops or 1)
    what = "stays" if share > _FELL else f"falls to {100 * share:.0f} %"
    found = f"From {before.hosts} to {counted(after.hosts, 'host')} the sum {what}"
    causes = (before.answered, after.answered, before.limited, after.limited)
    return f"{found}{_nothing_of_shared(*causes) or ': what they share is at its limit'}."


def _nothing_of_shared(*causes: str | None) -> str:
    """Return what goes on behind a sum, by the first cause that each host has for itself."""
    cause = next((one for one in causes if one is not None), None)
    return "" if cause is None else f", which says nothing of what they share: {cause}"
