"""What comparing two sets of runs found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.metrics import higher_is_better

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom._claims import Claim, Doubt
    from fathom.experiments.compare.gate import Verdict
    from fathom.stats import Comparison, DistributionComparison

__all__ = ["EQUAL_MARGIN", "OF_LOADS", "RunComparison"]

EQUAL_MARGIN = 0.03
"""Figures that differ by less than this are equal for most who ask."""

OF_LOADS = ("The load differs", "The runs of one side differ in their load")
"""How the sentences about loads begin, among those about what differs."""


@dataclass(frozen=True)
class RunComparison:
    """What comparing two sets of runs found.

    Attributes
    ----------
    metrics
        For each figure that both have, the change from A to B.
    missing
        For each figure that cannot be compared, why.
    latency
        The whole distributions of latency; None if one side did not measure it.
    differences
        What differs besides: load, machine, device. Each is a sentence.
    verdicts
        For each condition whether it is met.
    notes
        What is to be said of the figures: percentiles that are not those of all I/Os.
    claims
        What it says, the headline first; each with the runs that it rests on.

    """

    metrics: Mapping[str, Comparison]
    missing: Mapping[str, str]
    latency: DistributionComparison | None
    differences: Sequence[str]
    verdicts: Sequence[Verdict] = ()
    notes: Sequence[str] = ()
    claims: Sequence[Claim] = ()
    doubts: Sequence[Doubt] = ()

    @property
    def rules(self) -> list[str]:
        """The findings that speak against the runs: what the figures are marked with."""
        found = (rule for one in self.claims for rule in (*one.forbidden_by, *one.weakened_by))
        return [*dict.fromkeys(found)]

    @property
    def is_of_one_load(self) -> bool:
        """Whether no difference of the loads stands among ``differences``."""
        # A machine, or a device, may have the word in its name.
        return not any(one.startswith(OF_LOADS) for one in self.differences)

    def word(self, metric: str, margin: float = EQUAL_MARGIN) -> str:
        """Return ``better``, ``worse``, ``equal`` (within the margin) or ``cannot tell``."""
        one = self.metrics[metric]
        if not one.can_tell:
            return "cannot tell"
        if one.is_different:
            return "worse" if metric in self.worse() else "better"
        return "equal" if one.is_equal(margin) else "cannot tell"

    def worse(self) -> list[str]:
        """Return the figures that got worse, chance being no explanation."""
        return [
            metric
            for metric, one in self.metrics.items()
            if one.is_different and (one.change < 0) == higher_is_better(metric)
        ]
