"""Strategies: what they ask for and conclude, without a store, a device or a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fabricated import fabricated
from fathom.errors import InvalidRequestError
from fathom.experiments.session import Forecast, Observation, Session, Step, Strategy, answered
from fathom.store import NotFoundError, Store
from simulated_device import SHAPES, Load, SimulatedDevice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fathom.experiments.progress import Progress

LOADS = ("-b4K", "-r", "-d5", "-W1")


def least_depth(rate: float, arguments: Sequence[str], most: int = 256) -> Strategy[int | None]:
    """Find the least depth that reaches a rate, by halves: a new experiment, whole."""
    low, high = 1, most + 1
    while low < high:
        depth = (low + high) // 2
        seen = yield Step(f"depth {depth}", (*arguments, f"-o{depth}"), {"depth": depth})
        if seen.figures is None:
            return None
        low, high = (low, depth) if seen.figures.iops >= rate else (depth + 1, high)
    return low if low <= most else None


def depth_of(step: Step) -> int:
    return int(step.arguments[-1].removeprefix("-o"))


def of_the_shape(step: Step) -> Observation:
    """Answer as a device without noise would."""
    load = Load(block_bytes=4096, depth=depth_of(step))
    return Observation(SimulatedDevice(SHAPES["saturation"]).true_figures(load))


def test_a_new_experiment_is_tried_without_store_device_or_terminal() -> None:
    rate = SHAPES["saturation"](Load(block_bytes=4096, depth=6)) * 0.999
    assert answered(least_depth(rate, LOADS), of_the_shape) == 6
    assert answered(least_depth(1e9, LOADS), of_the_shape) is None
    failing = answered(least_depth(1.0, LOADS), lambda _step: Observation(failure="no"))
    assert failing is None


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def of_nine(_elapsed_s: float) -> Forecast:
    return Forecast(0, 9.0, 0, 1.0)


def session_of(store: Store, device: SimulatedDevice, told: list[Progress]) -> Session:
    experiment_id = store.experiments.begin("sweep", "least depth", {})
    return Session(store, experiment_id, device, on_progress=told.append, refuses_targets=True)


def test_a_session_runs_a_strategy_saves_its_steps_and_tells_of_each(kept: Store) -> None:
    told: list[Progress] = []
    session = session_of(kept, SimulatedDevice(SHAPES["saturation"], run_noise=0.0), told)
    found = session.run(least_depth(1.0, (*LOADS, "x.dat"), most=4), of_nine)
    assert found == 1
    steps = kept.experiments.get(session.experiment_id).steps
    assert [(one.state, one.parameters) for one in steps] == [
        ("done", {"depth": 3}),
        ("done", {"depth": 2}),
        ("done", {"depth": 1}),
    ]
    assert [one.label for one in told] == ["depth 3", "depth 2", "depth 1"]
    assert session.elapsed_s == pytest.approx(told[-1].elapsed_s)


def test_a_step_that_fails_is_noted_and_observed(kept: Store, tmp_path: Path) -> None:
    target = tmp_path / "x.dat"
    target.write_bytes(bytes(4096))
    told: list[Progress] = []
    device = SimulatedDevice(SHAPES["saturation"], fails=lambda load: load.depth == 2)
    session = session_of(kept, device, told)
    assert session.run(least_depth(1.0, (*LOADS, str(target)), most=4), of_nine) is None
    steps = kept.experiments.get(session.experiment_id).steps
    assert [one.state for one in steps] == ["done", "failed"]
    assert [one.failure for one in told] == [None, "the device said no"]


def test_what_is_refused_at_first_ends_the_session_and_is_noted(kept: Store) -> None:
    class Refusing(SimulatedDevice):
        def run(self, *_given: object, **_more: object) -> None:  # type: ignore[override]
            raise InvalidRequestError("no such option")

    session = session_of(kept, Refusing(SHAPES["saturation"]), [])
    with pytest.raises(InvalidRequestError, match="no such option"):
        session.run(least_depth(1.0, LOADS))
    assert kept.experiments.get(session.experiment_id).state == "failed"


def test_a_run_that_was_deleted_while_its_experiment_goes_on_was_a_key_error(kept: Store) -> None:
    session = session_of(kept, SimulatedDevice(SHAPES["saturation"]), [])
    result = fabricated(rates=1000.0)
    runs = [
        kept.runs.save(result, LOADS, experiment_id=session.experiment_id) for _number in range(2)
    ]
    kept.runs.delete(runs[1:])
    assert session.value(runs[0], "iops") == pytest.approx(1000)
    with pytest.raises(NotFoundError, match=r"run 2 of experiment e1 was deleted .* --resume e1"):
        session.value(runs[1], "iops")
