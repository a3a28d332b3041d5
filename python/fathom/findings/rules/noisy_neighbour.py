"""Noisy neighbour: somebody else took the CPU or the device in the meantime."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.finding import STALLED_AT_END, Noticed, Rule
from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]

_CHANGED = 1.25
# What such runs say of themselves is why they are slower than others; nobody else was busy.
_EXPLAINED = STALLED_AT_END | {
    "stalled",
    "no_io_completed",
    "io_limited",
    "cpu_throttled",
    "suspended",
}


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Tell stolen CPU time, and runs of the same load that do not agree."""
    yield from evidence.warned("certain", "cpu_stolen", unit="%")
    for family in evidence.without(_EXPLAINED).families():
        rates = [one.iops for one in family]
        if max(rates) >= _CHANGED * min(rates):
            yield Noticed(
                f"{family[0].load.words()}, {family[0].load.outstanding} outstanding: the same "
                f"load gave {rate_words(min(rates))} and {rate_words(max(rates))} IOPS.",
                "Look for other load on this device or host, or a device that slows down when "
                "warm or full; measure again when it is quiet.",
                "possible",
                family,
                max(rates) / min(rates),
            )


RULE = Rule(
    "noisy-neighbour",
    "Somebody else was busy",
    "Linux, proc_stat(5): steal; Microsoft, VM Fleet: repeat the first load at the end",
    _look,
    fires_when=(
        "The hypervisor took CPU time, or the same load gave rates 25 % apart and no stall or "
        "limit explains it."
    ),
    place=180,
)
