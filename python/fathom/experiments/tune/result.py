"""What tuning found."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal, NotRequired, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom._claims import Claim, Doubt
    from fathom.experiments.tune._confirm import Confirmation
    from fathom.experiments.tune.knee_search import Estimate, Goal, Load
    from fathom.runners import Figures
    from fathom.stats import ScalabilityLaw

__all__ = [
    "KneeRange",
    "KneeRangeOutcome",
    "PointOutcome",
    "TunedLoad",
    "TunedPoint",
    "Tuning",
    "TuningOutcome",
]


class PointOutcome(TypedDict):
    """A ``TunedPoint`` as the store keeps it."""

    threads: int
    depth: int
    role: str
    figures: Mapping[str, float | None] | None
    run_id: NotRequired[int | None]
    failure: NotRequired[str | None]
    findings: NotRequired[list[str]]


class ConfirmationOutcome(TypedDict):
    """A ``Confirmation`` as the store keeps it."""

    threads: int
    depth: int
    rounds: int
    is_supported: bool
    evidence: list[str]
    iops: NotRequired[float | None]
    noise: NotRequired[float | None]


class GoalOutcome(TypedDict):
    """A ``Goal`` as the store keeps it."""

    metric: str
    share: NotRequired[float]


class KneeRangeOutcome(TypedDict):
    """A ``KneeRange`` as the store keeps it."""

    low_threads: int
    low_depth: int
    high_threads: int
    high_depth: int


class TuningOutcome(TypedDict):
    """A ``Tuning`` as the store keeps it."""

    experiment_id: NotRequired[int]
    goal: NotRequired[GoalOutcome]
    threads: NotRequired[int | None]
    depth: NotRequired[int | None]
    iops: NotRequired[float | None]
    latency_ns: NotRequired[float | None]
    confirmation: NotRequired[ConfirmationOutcome | None]
    knee_range: NotRequired[KneeRangeOutcome | None]
    reasons: NotRequired[list[str]]
    reason_loads: NotRequired[Sequence[Sequence[Sequence[int]]]]
    points: NotRequired[list[PointOutcome]]
    ended_by: NotRequired[str | None]


@dataclass(frozen=True)
class TunedPoint:
    """One run; ``figures`` is None if it failed.

    ``role`` is ``search``, ``confirm`` (of the best load) or ``compare`` (of the fastest one, in
    turns with those that confirm). ``findings`` are the rules that speak against its figures.
    """

    threads: int
    depth: int
    role: str
    figures: Figures | None
    run_id: int | None
    failure: str | None
    findings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class TunedLoad:
    """One load of the grid; ``estimate`` is what the surfaces through all runs say of it."""

    threads: int
    depth: int
    source: Literal["measured", "estimated", "failed", "unknown"]
    estimate: Estimate | None


@dataclass(frozen=True)
class KneeRange:
    """Between which loads the knee lies, as exactly as the noise lets one tell."""

    low_threads: int
    low_depth: int
    high_threads: int
    high_depth: int


@dataclass(frozen=True)
class Tuning:
    """What tuning found.

    Attributes
    ----------
    experiment_id
        In the store.
    goal
        What was looked for.
    threads, depth
        The best; None if no load will do.
    iops, latency_ns
        What was measured at it, by the confirming runs where they are of it; the latency is the one
        that the goal names.
    confirmation
        What the last confirming runs say; None if there was nothing to confirm.
    knee_range
        Where the knee may lie if the runs are too noisy to tell it by the share; else None.
    reasons
        Why it is the best, in sentences.
    law
        The Universal Scalability Law in what is outstanding; None with fewer than 4 loads.
    points
        All runs in their order.
    loads
        All loads that there were to choose from.
    elapsed_s
        How long this session took, in seconds.
    claims
        What it says, the headline first; each with the runs that it rests on.
    doubts
        What the marks of its rows mean: of each rule the surest finding, with its sentence.
    ended_by
        Why it ended before the best was known, and what to do; None if it did not.
    reason_loads
        Of each reason the loads besides the best on whose runs it rests.

    """

    experiment_id: int
    goal: Goal
    threads: int | None
    depth: int | None
    iops: float | None
    latency_ns: float | None
    confirmation: Confirmation | None
    knee_range: KneeRange | None
    reasons: list[str]
    law: ScalabilityLaw | None
    points: list[TunedPoint]
    loads: list[TunedLoad]
    elapsed_s: float
    claims: list[Claim] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    ended_by: str | None = None
    reason_loads: list[tuple[Load, ...]] = field(default_factory=list)

    @property
    def is_confirmed(self) -> bool:
        """Whether the confirming runs support the best load."""
        found = self.confirmation
        return found is not None and found.is_supported

    def as_dict(self) -> dict[str, object]:
        """Return all of it for JSON, with what follows from it."""
        found = asdict(self) | {"is_confirmed": self.is_confirmed}
        if self.law is not None:
            law = self.law
            limits = {"peak_low": law.peak_low, "peak_high": law.peak_high}
            found["law"] |= {
                "is_fitting": law.is_fitting,
                # A peak that the points do not show is none, however exactly the law has it.
                "peak_load": law.best_load if law.has_peak else None,
                **{name: None if math.isinf(one) else one for name, one in limits.items()},
            }
        return found
