"""Noisy neighbour: somebody else took the CPU or the device in the meantime."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings._weights import weighed
from fathom.findings.causes import CORE_AT_ITS_LIMIT, EXPLAINED, NOTHING
from fathom.findings.finding import Noticed, Rule
from fathom.findings.observed import CHANGED
from fathom.findings.rules.burst_credits import step_of
from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]

# What such runs say of themselves is why they are slower than others; nobody else was busy.
# A core at its limit is so in both.
_EXPLAINED = EXPLAINED - CORE_AT_ITS_LIMIT


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Tell stolen CPU time, and runs of the same load that do not agree."""
    yield from weighed(evidence, "certain", "cpu_stolen")
    for alike in evidence.without(_EXPLAINED).alike():
        # A step down within a run is a finding of its own, which explains its rate.
        family = [one for one in alike if step_of(one) is None]
        if len(family) < 2:  # noqa: PLR2004 - A pair.
            continue
        rates = [one.iops for one in family]
        if max(rates) >= CHANGED * min(rates):
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
    # Stolen time it takes from the engine; the runs that it compares have no cause.
    explained_by=NOTHING,
    fires_when=(
        "The hypervisor took CPU time, or the same load gave rates 25 % apart and nothing "
        "else explains it."
    ),
    place=180,
)
