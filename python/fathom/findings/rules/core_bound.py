"""Core-bound: a core was at its limit, so the host and not the device may have been measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.causes import CORE_AT_ITS_LIMIT, EXPLAINED, OTHERS_ANSWERED
from fathom.findings.finding import Noticed, Rule
from fathom.units import counted, rate_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import Observed, TargetEvidence

__all__ = ["RULE"]

_IDLE_PERCENT = 50.0
_HELPED = 1.10
_FASTER = "Use larger blocks (-b), a faster host, or stop what is busy on it and serves no target."


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Take the engine's word for it, and add whether cores idled and more threads help."""
    bound = [one for one in evidence.observed if _warning(one) is not None]
    if not bound:
        return
    # Best is a run of which others tell what more threads gave.
    worst = max(bound, key=lambda one: (bool(_more(evidence, one)), _idle(one), one.iops))
    warning = _warning(worst)
    if warning is None:
        return
    told, remedy = _threads(worst, _more(evidence, worst), warning[1])
    load = worst.load
    yield Noticed(
        f"{load.words()}, {load.threads} x {load.depth} outstanding: {warning[0]}"
        f"{_idle_words(worst)}{told and f' {told}'}",
        remedy,
        "likely",
        bound,
    )


def _warning(one: Observed) -> tuple[str, str] | None:
    found = [warning for warning in one.result.warnings if warning.kind == "core_saturated"]
    return (found[0].evidence, found[0].remedy) if found else None


def _cpus(one: Observed) -> list[float]:
    return [float(cpu["idle_percent"]) for cpu in one.result.raw["time_spans"][0]["cpu"]]


def _idle_words(one: Observed) -> str:
    """Return how many cores idled; nothing of a fleet, whose cores the result does not tell."""
    cores = len(_cpus(one))
    return f" {_idle(one)} of {cores} cores were at least half idle." if cores else ""


def _idle(one: Observed) -> int:
    return sum(idle >= _IDLE_PERCENT for idle in _cpus(one))


def _idle_cores(one: Observed) -> float:
    """Return how many whole cores could have taken more: the parts of all cores that idled."""
    return sum(_cpus(one)) / 100


def _together_words(one: Observed) -> str:
    """Say how much cores idled together, where none idled for half of the time."""
    return "" if _idle(one) else f"Together they were idle like {_idle_cores(one):.1f} whole ones. "


def _more(evidence: TargetEvidence, worst: Observed) -> list[Observed]:
    """Return the runs with more threads at the same depth of each, or with it divided among more.

    Nothing else tells what threads gave: with another depth, the depth may have given it, and with
    a rate of each thread, the rate.
    """
    load = worst.load
    if load.is_paced:
        return []
    return [
        one
        for family in evidence.families("threads", "depth")
        if worst in family
        for one in family
        if one.load.threads > load.threads
        and (one.load.depth == load.depth or one.load.outstanding == load.outstanding)
    ]


def _threads(worst: Observed, more: list[Observed], remedy: str) -> tuple[str, str]:
    """Return whether more threads help: measured, or else what idle cores suggest.

    ``remedy`` is the engine's own.
    """
    if more:
        return _measured(worst, max(more, key=lambda one: one.iops))
    return _by_idle_cores(worst, remedy) if _cpus(worst) else ("", remedy)


def _measured(worst: Observed, best: Observed) -> tuple[str, str]:
    gain = best.iops / worst.iops
    words = (
        f"{counted(best.load.threads, 'thread')} with {best.load.depth} outstanding each gave "
        f"{gain:.2f} times its {rate_words(worst.iops)} IOPS"
    )
    if gain >= _HELPED:
        use = f"Use {best.load.threads} threads ({best.threads_flag}{best.load.threads})."
        return f"{words}: more threads help.", use
    return (
        f"{words}: more threads do not help.",
        "More threads do not help: use larger blocks (-b), or a faster host.",
    )


def _by_idle_cores(worst: Observed, remedy: str) -> tuple[str, str]:
    threads = worst.load.threads
    if not _idle(worst) and _idle_cores(worst) < 1:
        return (
            "All together were idle for less than one core, so that more threads will hardly help.",
            _FASTER,
        )
    if threads >= len(_cpus(worst)):
        # It is not for want of threads that a core idles.
        return (
            "There is a thread for each core, so that more threads bring in no idle ones.",
            remedy,
        )
    more = f"Measure with more threads ({worst.threads_flag}{2 * threads})"
    unknown = "No run with more threads tells whether they help; idle cores suggest that they do."
    return f"{_together_words(worst)}{unknown}", f"{more}, so that idle cores take part."


RULE = Rule(
    "core-bound",
    "A core was the limit, not the device",
    "Microsoft, DiskSpd, read the CPU table first; the engine's warning core_saturated",
    _look,
    # It is about a core: who answers does not matter, and a core at its limit makes pauses.
    explained_by=EXPLAINED - CORE_AT_ITS_LIMIT - OTHERS_ANSWERED - {"idle_between_ios"},
    fires_when=(
        "The engine saw a core at its limit; runs with more threads, or else idle cores, tell "
        "whether more threads help."
    ),
    place=150,
)
