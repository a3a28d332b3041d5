"""What the claims of a tuning rest on: the runs of all loads that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from fathom._claims import Claim, Doubt, ToldRun, ToldRuns
from fathom.experiments.tune.claims import confirming_points, tune_claims

if TYPE_CHECKING:
    from fathom.experiments.tune.result import PointOutcome, TuningOutcome

SUSPENDED = Doubt("suspended", "The process was suspended", "certain")
REASON = "Past the peak: with 1 thread and depth 32, throughput changes by -47 %."
# The search, a confirmation of depth 8 that was contradicted, and that of depth 16.
RUNS = [
    *((depth, "search") for depth in (8, 16, 32)),
    *((depth, role) for _ in range(3) for depth, role in ((8, "confirm"), (32, "compare"))),
    *((16, "confirm"), (64, "compare"), (64, "compare"), (16, "confirm")),
]


def _point(run_id: int, depth: int, role: str) -> PointOutcome:
    figures = {"iops": 1000.0 * depth, "latency_mean_ns": 1e6}
    return {"threads": 1, "depth": depth, "role": role, "run_id": run_id, "figures": figures}


def tuned(**more: object) -> TuningOutcome:
    """Return a tuning whose best is of depth 16, and which the next one is past the peak of."""
    found = {
        "threads": 1,
        "depth": 16,
        "iops": 16e3,
        "latency_ns": 1e6,
        "goal": {"metric": "mean"},
        "points": [_point(number, *run) for number, run in enumerate(RUNS, 1)],
        "reasons": [REASON],
        "reason_loads": [[[1, 32]]],
        "confirmation": {
            "threads": 1,
            "depth": 16,
            "rounds": 2,
            "iops": 16e3,
            "is_supported": True,
            "evidence": ["it was found again"],
        },
    }
    return cast("TuningOutcome", found | more)


def claimed(outcome: TuningOutcome, *suspended: int) -> dict[str, Claim]:
    """Return the claims, where these runs were suspended."""
    runs = {
        number: ToldRun(1, depth, "unbuffered", (SUSPENDED,) if number in suspended else ())
        for number, (depth, _) in enumerate(RUNS, 1)
    }
    return {one.key: one for one in tune_claims(outcome, ToldRuns(runs))}


def ids_of(claim: Claim) -> set[int | None]:
    """Return the runs that a claim rests on."""
    return {one.run_id for one in claim.evidence}


def test_a_reason_rested_on_the_best_load_s_runs_alone() -> None:
    """A next step that was suspended was past the peak, and neither its runs nor that was told."""
    found = claimed(tuned(), 3)
    assert ids_of(found["reason"]) == {3, 5, 7, 9, 10, 13}
    assert found["reason"].weakened_by == ("suspended",)
    assert found["reason"].text == (
        f"{REASON[:-1]}; but among these runs: the process was suspended (certain)."
    )
    assert (found["headline"].weakened_by, found["confirmation"].weakened_by) == ((), ())
    assert claimed(tuned())["reason"].text == REASON


def test_what_the_headline_has_is_not_repeated_in_a_reason() -> None:
    found = claimed(tuned(), 3, 10)
    assert "the process was suspended (certain)" in found["headline"].text
    assert found["reason"].text == REASON
    assert found["reason"].weakened_by == ("suspended",)


def test_a_confirmation_rested_on_the_best_load_s_runs_alone() -> None:
    """What it was compared with may have been suspended, of which the claim had nothing."""
    found = claimed(tuned(), 11)
    assert ids_of(found["confirmation"]) == {10, 11, 12, 13}
    assert found["confirmation"].weakened_by == ("suspended",)
    assert found["headline"].weakened_by == ()


def test_a_confirmation_of_another_load_rests_on_the_runs_of_that_one() -> None:
    other = {"threads": 1, "depth": 8, "rounds": 3, "is_supported": False, "evidence": ["x"]}
    points = tuned()["points"][:9]
    found = confirming_points(tuned(confirmation=other, points=points))
    assert [one["run_id"] for one in found] == [4, 5, 6, 7, 8, 9]
    assert confirming_points(tuned(confirmation=None)) == []


def test_the_range_of_the_knee_rested_on_the_best_load_s_runs_alone() -> None:
    """Its ends, and what its noise was found from, may have been disturbed."""
    where = {"low_threads": 1, "low_depth": 8, "high_threads": 1, "high_depth": 16}
    confirmation = {**tuned()["confirmation"], "noise": 0.05}  # type: ignore[dict-item]
    more = {"knee_range": where, "confirmation": confirmation}
    outcome = tuned(**more, goal={"metric": "mean", "share": 0.03})
    found = claimed(outcome, 1)["knee-range"]
    # Those that confirmed depth 16, what it was compared with, and all at depth 8.
    assert ids_of(found) == {1, 4, 6, 8, 10, 11, 12, 13}
    assert found.weakened_by == ("suspended",)
    assert found.text.endswith("Among the runs behind this: the process was suspended (certain).")
    assert "Among the runs" not in claimed(outcome)["knee-range"].text


def test_reasons_of_older_versions_rest_on_the_best_load_s_runs() -> None:
    found = claimed(tuned(reason_loads=[]))
    assert ids_of(found["reason"]) == {10, 13}
