"""What gates found: each limit with its decision and the numbers that it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fathom.limits import Decision

__all__ = ["Check", "JudgedGate", "worst"]


@dataclass(frozen=True)
class Check:
    """A limit, and what the runs say of it.

    Attributes
    ----------
    limit
        As it was written.
    decision
        ``kept``, ``broken``, or ``cannot tell``.
    words
        What was measured, in a sentence without its full stop.
    metric
        The figure.
    measured, low, high
        In ns, IOPS or MiB/s, with the interval of the mean of the runs; None where there is none.
    change, change_low, change_high
        Against the baseline, as a share: 0.03 is 3 % more. None of a limit on the figure itself.
    outcome
        Of a change: ``better``, ``worse``, ``equal`` or ``cannot tell``.
    mean
        What ``measured`` is of several runs, such as ``mean of 10 runs``, and of several loads,
        such as ``worst of 2 loads``; empty of one run.

    """

    limit: str
    decision: Decision
    words: str
    metric: str
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    change: float | None = None
    change_low: float | None = None
    change_high: float | None = None
    outcome: str | None = None
    mean: str = ""


@dataclass(frozen=True)
class JudgedGate:
    """A gate with its checks.

    Attributes
    ----------
    name
        Of the gate.
    runs, baseline_runs
        The numbers of the runs that were judged, and of those that they were compared with.
    baseline
        As it was named.
    checks
        One for each limit, in their order.
    notes
        What else is to be known: findings that speak against the runs, and what differs.

    """

    name: str
    runs: tuple[int, ...]
    baseline: str | None
    baseline_runs: tuple[int, ...]
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    @property
    def decision(self) -> Decision:
        """That of the worst check."""
        return worst(one.decision for one in self.checks)


def worst(decisions: Iterable[Decision]) -> Decision:
    """Return ``broken`` if one is, else ``cannot tell`` if one is, else ``kept``."""
    found = {*decisions}
    if "broken" in found:
        return "broken"
    return "cannot tell" if "cannot tell" in found else "kept"
