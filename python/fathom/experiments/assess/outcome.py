"""The outcome of an assessment as the store keeps it: all that a report needs.

::

    {
      "version": 1,
      "state": "complete" | "failed" | "interrupted",
      "partial": null | why not all was measured, in a sentence,
      "effort": {"seconds": 120, "size_bytes": ..., "precision_percent": 2, ...},
      "targets": [{
        "name": as the user wrote it, "path": ..., "size_bytes": ...,
        "kind": "scratch" | "file" | "device" | "network", "writes": bool, "is_direct": bool,
        "hosts": how many of a fleet measured together, 0 if none did,
        "lost": null | why it could not be measured on,
        "verdict": {"target", "headline", "sentences": [...], "left_out": [labels], "partial",
                    "claims": [{"key": "headline" and others, "text",
                      "evidence": [{"run_id", "name", "value", "unit": "ns" | "IOPS" | "MiB/s",
                                    "threads", "depth", "caching"}],
                      "weakened_by": [rules], "forbidden_by": [rules]}]},
        "key_figures": [five of {"name", "label", "unit": "ns" | "ios_per_s" | "mib_per_s",
                        "value": null | number, "text", "cell_key", "run_id",
                        "higher_is_better"}],
        "findings": [{"rule", "title", "target", "evidence", "remedy", "confidence", "source",
                      "cases": [{"evidence", "run_ids"}], the worst first,
                      "run_count", "judged_count", "left_out_count",
                      "shown": "" | "worst" | "surest"}], one of each rule,
        "knees": {"random": depth, "sequential": depth},
        "steady": null | {"rounds", "first_round": that counts, "is_steady": by the window rule,
                   "is_exhausted",
                   "lacks": null | what the preconditioning lacks, "points": {
                   "4k" | "64k" | "1m": {"label", "iops": [one per round],
                   "range_share", "fit_share", "average",
                   "steadiness": {"verdict", "kind", "reason", "needed"}}}},
        "cells": [{
          "key", "role", "part", "label",
          "state": "done" | "failed" | "skipped" | "left_out" | "pending",
          "reason": null | why, "run_id": null | id, "arguments": [...],
          "parameters": {"block_bytes", "random_percent", "write_percent", "threads", "depth",
                         "limit_bytes": 0 for all, "caching": "unbuffered" | "cached",
                         "write_through": bool} | null,
          "findings": [rules of the findings that this run has a part in],
          "forbidden_by": [rules by which nothing is concluded of it: it is no device's number],
          "figures": null | {"iops", "mib_per_s", "relative_half_width", "measured_s",
                     "latency_mean_ns", "latency_p50_ns", ... "latency_p999_ns", "cpu_percent",
                     "busiest_cpu_percent"}
        }]
      }],
      "comparison": null | {"targets", "headline", "sentences", "notes", "doubts",
                    "refused": why they are not compared, or "", "figures": [
                    {"name", "label", "unit", "values", "texts", "best": [places],
                     "factors", "factor_intervals": null where nobody knows,
                     "cell_keys", "run_ids", "without_interval": why no factor has one, or ""}]},
      "verdicts", "findings": those of all targets, in one list each,
      "failures": {"target: cell": why}
    }

Roles are ``baseline``, ``saturation``, ``thread_scaling``, ``mix``, ``cache_step``, ``workload``,
``preconditioning``, ``steady_round`` and ``baseline_again``. Cells stand in the order of their
parts; ``saturation`` has keys ``random-DEPTH`` and ``sequential-DEPTH`` (and ``random-write``,
``sequential-write`` at the knee), ``thread_scaling`` ``threads-COUNT``, ``mix`` ``mix-PERCENT``,
``cache_step`` ``set-MIB`` and ``cached``, ``workload`` ``oltp``, ``log`` and ``backup``,
``steady_round`` ``steady-ROUND-POINT``. The random saturation begins with the baseline ``read-1``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

from fathom.experiments.assess._steady import rounds_counted, rounds_of, steady_state
from fathom.experiments.assess._steady_claims import lacking_preconditioning
from fathom.experiments.assess.claim_maker import ClaimMaker, parameters_of, rules_of
from fathom.experiments.assess.key_figure import key_figures
from fathom.stats import find_steadiness

if TYPE_CHECKING:
    from fathom.experiments.assess.cell import Effort
    from fathom.experiments.assess.session import AssessedCell, TargetCells
    from fathom.experiments.assess.side_by_side import SideBySide
    from fathom.experiments.assess.verdict import Verdict
    from fathom.findings import Finding

__all__ = ["VERSION", "Assessment", "State", "TargetAssessment", "outcome_of"]

VERSION = 1


State = Literal["complete", "failed", "interrupted"]


@dataclass(frozen=True)
class TargetAssessment:
    """What was measured of one target, and what it says."""

    plan: TargetCells
    verdict: Verdict
    findings: list[Finding]


@dataclass(frozen=True)
class Assessment:
    """What an assessment found.

    Attributes
    ----------
    experiment_id
        In the store, whose outcome has all of this (``fathom.experiments.assess.outcome_of``).
    effort
        How much was to be measured.
    state
        ``failed`` if a cell failed or a target was lost, ``interrupted`` after Ctrl-C.
    targets
        In the order in which the user named them.
    comparison
        None of a single target.

    """

    experiment_id: int
    effort: Effort
    state: State
    targets: list[TargetAssessment] = field(default_factory=list)
    comparison: SideBySide | None = None

    @property
    def verdicts(self) -> list[Verdict]:
        """Those of the targets."""
        return [one.verdict for one in self.targets]

    @property
    def findings(self) -> list[Finding]:
        """Those of all targets."""
        return [finding for one in self.targets for finding in one.findings]

    @property
    def failures(self) -> dict[str, str]:
        """Why cells failed, by target and cell."""
        return {
            f"{one.plan.target.name}: {cell.cell.label}": cell.reason or ""
            for one in self.targets
            for cell in one.plan.cells
            if cell.state == "failed"
        }

    @property
    def partial(self) -> str | None:
        """Why not all was measured, in a sentence; None if all was."""
        return next((one.partial for one in self.verdicts if one.partial), None)


def outcome_of(found: Assessment) -> dict[str, object]:
    """Return the outcome, made of what JSON has."""
    return {
        "version": VERSION,
        "state": found.state,
        "partial": found.partial,
        "effort": asdict(found.effort),
        "targets": [_target(one) for one in found.targets],
        "comparison": None if found.comparison is None else asdict(found.comparison),
        "verdicts": [asdict(one) for one in found.verdicts],
        "findings": [asdict(one) for one in found.findings],
        "failures": found.failures,
    }


def _target(assessed: TargetAssessment) -> dict[str, object]:
    plan, target = assessed.plan, assessed.plan.target
    made = ClaimMaker(plan, assessed.findings)
    return {
        "name": target.name,
        "path": str(target.path),
        "size_bytes": target.size_bytes,
        "kind": target.kind,
        "writes": target.writes,
        "is_direct": target.is_direct,
        "hosts": target.hosts,
        "lost": plan.lost,
        "verdict": asdict(assessed.verdict),
        "key_figures": [
            asdict(one) | {"higher_is_better": one.higher_is_better} for one in key_figures(plan)
        ],
        "findings": [asdict(one) for one in assessed.findings],
        "knees": {family: plan.knee(family) for family in ("random", "sequential")},
        "steady": _steady(plan),
        "cells": [
            _cell(one) | {"forbidden_by": [*made.forbidden_by(one.cell.key)]} for one in plan.cells
        ],
    }


def _cell(one: AssessedCell) -> dict[str, object]:
    return {
        "key": one.cell.key,
        "role": one.cell.role,
        "part": one.cell.part,
        "label": one.cell.label,
        "state": one.state,
        "reason": one.reason,
        "run_id": one.run_id,
        "arguments": [*one.arguments],
        "parameters": parameters_of(one),
        "findings": [*rules_of(one)],
        "figures": None if one.figures is None else asdict(one.figures),
    }


def _steady(plan: TargetCells) -> dict[str, object] | None:
    rounds = [one for one in plan.cells if one.cell.role == "steady_round"]
    if not rounds:
        return None
    series = rounds_of({key: one.iops for key, one in plan.figures().items()})
    found = steady_state(series)
    labels = {one.cell.key: one.cell.label.partition(": ")[2] for one in rounds}
    points: dict[str, dict[str, object]] = {
        point: {"label": labels.get(f"steady-1-{point}", point), "iops": iops}
        for point, iops in series.items()
    }
    for point, check in ({} if found is None else found.checks).items():
        points[point] |= {
            "range_share": check.range_share,
            "fit_share": check.fit_share,
            "average": check.average,
            "steadiness": asdict(find_steadiness(series[point])),
        }
    return {
        "rounds": min(len(one) for one in series.values()),
        "first_round": rounds_counted(plan.figures()).start,
        "is_steady": found is not None and found.is_steady,
        "is_exhausted": found is not None and found.is_exhausted,
        "lacks": lacking_preconditioning(plan),
        "points": points,
    }
