"""What runs that fail do to a tuning: they are made again, named, and throw nothing away."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from fathom import InvalidRequestError
from fathom._claims import ToldRuns
from fathom.experiments.session import Observation, Step, answered
from fathom.experiments.tune.claims import confirming_points, tune_claims
from fathom.experiments.tune.experiment import Tuner, resume_tune, tune
from fathom.experiments.tune.plan import TunePlan, plan_tune
from fathom.runners import Figures
from fathom.store import Store
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fathom.experiments.tune.result import Tuning

    # Whether a run fails: its load, its role, and how often that load had been run in that role.
    Fails = Callable[[tuple[int, int], str, int], bool]

KNEE = (4, 8)


def figures(iops: float, mean_ms: float) -> Figures:
    """Return what a run found; each percentile is the mean."""
    ns = 1e6 * mean_ms
    return Figures(iops, iops / 256, 0.01, 2.0, ns, ns, ns, ns, ns, None, None)


def saturated(load: tuple[int, int]) -> Figures:
    """Return what a device with 32 places for I/Os of 0.1 ms does under a load."""
    outstanding = load[0] * load[1]
    return figures(1e4 * min(outstanding, 32), max(outstanding, 32) / 320)


def tuned(fails: Fails, threads: tuple[int, ...] = (4,)) -> Tuning:
    """Tune a device that saturates at 32 outstanding, and of which some runs fail."""
    seen: Counter[tuple[tuple[int, int], str]] = Counter()

    def answer(step: Step) -> Observation:
        asked: Any = step.parameters
        load, role = (asked["threads"], asked["depth"]), str(asked["role"])
        seen[load, role] += 1
        if fails(load, role, seen[load, role] - 1):
            return Observation(failure="EIO", took_s=2.0)
        return Observation(saturated(load), seen.total(), None, 2.0)

    plan = TunePlan(("x",), threads, (1, 2, 4, 8, 16, 32, 64))
    return answered(Tuner(plan).strategy(), answer)


def said(found: Tuning) -> dict[str, str]:
    """Return what a tuning says, by keys; its reasons in one."""
    claims = tune_claims(found.as_dict(), ToldRuns())  # type: ignore[arg-type]
    words = {one.key: one.text for one in claims}
    return words | {"reason": " ".join(one.text for one in claims if one.key == "reason")}


def test_one_failed_run_threw_away_a_knee_that_nine_runs_had_found() -> None:
    """Twice the depth was the best, with twice the latency, and nothing named the knee."""
    found = tuned(lambda load, role, before: (load, role, before) == (KNEE, "confirm", 2))
    assert sum(one.figures is None for one in found.points) == 1
    assert (found.threads, found.depth, found.is_confirmed) == (*KNEE, True)
    assert found.confirmation is not None
    assert found.confirmation.rounds == 3
    measured = sum((one.threads, one.depth) == KNEE for one in found.points)
    assert f"Of {measured} runs at 4 threads, depth 8, 1 failed." in said(found)["reason"]


def test_a_confirming_run_that_fails_twice_leaves_the_best_and_tells_nothing() -> None:
    found = tuned(lambda load, role, before: (load, role) == (KNEE, "confirm") and before >= 2)
    assert (found.threads, found.depth, found.is_confirmed) == (*KNEE, False)
    assert found.confirmation is not None
    assert not found.confirmation.is_contradicted
    assert said(found)["confirmation"] == (
        "NOT confirmed: 2 confirming runs at 4 threads, depth 8 failed."
    )
    (source,) = [one.source for one in found.loads if (one.threads, one.depth) == KNEE]
    assert source == "measured"


def test_a_compared_run_that_fails_once_is_made_again() -> None:
    found = tuned(lambda load, role, before: (role, before) == ("compare", 1) and load != KNEE)
    assert (found.threads, found.depth, found.is_confirmed) == (*KNEE, True)
    assert "failed" not in " ".join(said(found).values())


def test_what_fails_when_it_is_first_compared_with_is_left_out_and_the_rest_confirmed() -> None:
    """Whatever only the confirmation runs, and cannot be run at all, has said nothing."""
    never: set[tuple[int, int]] = set()

    def fails(load: tuple[int, int], role: str, _before: int) -> bool:
        if role == "search":
            searched.add(load)
        elif load not in searched:
            never.add(load)
        return load in never

    searched: set[tuple[int, int]] = set()
    found = tuned(fails, (1, 2, 4, 8, 16))
    assert found.is_confirmed
    assert (found.threads or 0) * (found.depth or 0) == 32
    assert never
    assert all(f"depth {depth}" in said(found)["reason"] for _, depth in never)


def test_a_load_that_was_left_out_was_not_named() -> None:
    """The knee's only run failed: what was best instead did not say so."""
    found = tuned(lambda load, _role, _before: load == KNEE)
    assert (found.threads, found.depth) == (4, 16)
    assert "Left out, as its run failed: 4 threads, depth 8." in said(found)["reason"]
    found = tuned(lambda load, _role, _before: load[1] > 4, (1, 2, 4, 8, 16, 32, 64))
    assert (found.depth or 0) <= 4
    reason = said(found)["reason"]
    assert "Left out, as their runs failed: 1 thread, depth 8; " in reason
    assert "more loads." in reason


def test_a_confirmation_whose_first_run_failed_rests_on_its_whole_first_round() -> None:
    found = tuned(lambda load, role, before: (load, role, before) == (KNEE, "confirm", 0))
    assert found.is_confirmed
    outcome = found.as_dict()
    rests = confirming_points(outcome)  # type: ignore[arg-type]
    loads = Counter((one["threads"], one["depth"]) for one in rests)
    assert set(loads.values()) == {3}
    assert KNEE in loads


def test_a_run_that_was_made_again_is_not_left_to_be_resumed_again(tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as store:
        plan = plan_tune(["-b4K", "-r", "-t1", "x"], "1", "1..8", grow=False)
        truths = {"": Truth(servers=4, read_us=100.0, noise=0.001)}
        found = tune(store, SimulatedStorage(store, truths, fails_at=6), plan)
        failed = [one for one in found.points if one.failure]
        assert [one.role for one in failed] == ["compare"]
        again = resume_tune(store, found.experiment_id, SimulatedStorage(store, truths))
        assert (again.threads, again.depth) == (found.threads, found.depth)
        assert len(again.points) == len(found.points) - 1
        with pytest.raises(InvalidRequestError, match="complete"):
            resume_tune(store, found.experiment_id, SimulatedStorage(store, truths))
