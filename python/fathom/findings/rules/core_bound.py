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


def _more(evidence: TargetEvidence, worst: Observed) -> list[Observed]:
    """Return the runs with more threads at the same depth of each, or with it divided among more.

    Nothing else tells what threads gave: with another depth, the depth may have given it.
    """
    load = worst.load
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
        best = max(more, key=lambda one: one.iops)
        gain = best.iops / worst.iops
        words = (
            f"{counted(best.load.threads, 'thread')} with {best.load.depth} outstanding each "
            f"gave {gain:.2f} "
            f"times its {rate_words(worst.iops)} IOPS"
        )
        if gain >= _HELPED:
            return (
                f"{words}: more threads help.",
                f"Use {best.load.threads} threads (-t{best.load.threads}).",
            )
        return (
            f"{words}: more threads do not help.",
            "More threads do not help: use larger blocks (-b), or a faster host.",
        )
    threads = worst.load.threads
    if not _cpus(worst):
        return ("", remedy)
    if _idle(worst) and threads < len(_cpus(worst)):
        return (
            "No run with more threads tells whether they help; idle cores suggest that they do.",
            f"Measure with more threads (-t{2 * threads}), so that idle cores take part.",
        )
    if _idle(worst):
        # It is not for want of threads that a core idles.
        return (
            "There is a thread for each core, so that more threads bring in no idle ones.",
            remedy,
        )
    return (
        "No core was half idle, so that more threads will not help.",
        "Use larger blocks (-b), a faster host, or stop what is busy on it and serves no target.",
    )


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
