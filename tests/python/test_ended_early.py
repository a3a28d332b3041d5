"""An experiment ends once its target takes no load at all any more, with what was measured kept."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from fathom.errors import TargetError
from fathom.experiments._target_trouble import no_further_load
from fathom.experiments.axes import parse_axes
from fathom.experiments.scale import scaling
from fathom.experiments.session import Observation, Step, answered
from fathom.experiments.sweep.experiment import resume_sweep, sweep
from fathom.experiments.sweep.plan import plan_sweep
from fathom.experiments.tune.experiment import resume_tune, tune
from fathom.experiments.tune.plan import plan_tune
from fathom.store import Store
from simulated_device import SHAPES, SimulatedDevice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fathom.runners import RunOutcome

_FULL = {"kind": "no_space", "code": "ENOSPC", "message": "No space left on device"}


def of_failures(*failures: dict[str, Any]) -> Any:  # noqa: ANN401 - What stands for a result.
    return SimpleNamespace(raw={"failures": failures})


@dataclass
class FillingDevice(SimulatedDevice):
    """A device that has room for so many runs, and none from then on."""

    room: int = 0
    failure: dict[str, Any] = field(default_factory=lambda: _FULL)

    def run(self, arguments: Sequence[str], **given: Any) -> RunOutcome:  # noqa: ANN401 - The same.
        """Run as the engine would, where there is room."""
        found = super().run(arguments, **given)
        if len(self.loads) <= self.room:
            return found
        words = self.failure["message"]
        return replace(found, figures=None, failure=words, result=of_failures(self.failure))


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def _planned() -> Any:  # noqa: ANN401 - The plan alone.
    axes = parse_axes({"block": "4K,64K", "depth": "1..16"})
    plan, _ = plan_sweep(["-w100", "x.dat"], axes, tolerance=0.0)
    return plan


def test_a_sweep_on_a_full_file_system_stops_and_keeps_what_it_has(kept: Store) -> None:
    device = FillingDevice(SHAPES["saturation"], room=3)
    found = sweep(kept, device, _planned())
    assert len(device.loads) == 4
    counts = [found.count(one) for one in ("measured", "failed", "pending", "interpolated")]
    assert counts == [3, 1, 6, 0]
    assert found.ended_by == "there is no room left to write; make room where the target lies"
    (told,) = [one.text for one in found.claims if one.key == "ended"]
    assert told == (
        "The sweep ended early, as there is no room left to write, and 6 cells were not tried. "
        "What was measured is saved: make room where the target lies, then go on with fathom sweep "
        "--resume e1."
    )
    assert kept.experiments.get(found.experiment_id).state == "failed"


def test_a_sweep_goes_on_once_there_is_room(kept: Store) -> None:
    ended = sweep(kept, FillingDevice(SHAPES["saturation"], room=3), _planned())
    device = SimulatedDevice(SHAPES["saturation"])
    found = resume_sweep(kept, ended.experiment_id, device)
    # The simulated device saves no runs, so that all are made again.
    assert (found.count("measured"), found.ended_by) == (10, None)
    assert kept.experiments.get(found.experiment_id).state == "complete"


def test_a_sweep_that_meets_no_room_at_first_measures_nothing_else(kept: Store) -> None:
    device = FillingDevice(SHAPES["saturation"])
    with pytest.raises(TargetError, match="No space left on device; no other load was tried"):
        sweep(kept, device, _planned())
    assert len(device.loads) == 1


@pytest.mark.parametrize("room", [1, 4, 12])
def test_a_tuning_on_a_full_file_system_stops_and_names_no_best(kept: Store, room: int) -> None:
    device = FillingDevice(SHAPES["saturation"], room=room)
    plan = plan_tune(["-w100", "-b4K", "x.dat"], "1", "1..64")
    found = tune(kept, device, plan)
    assert len(device.loads) == room + 1
    assert (found.threads, found.confirmation, found.reasons) == (None, None, [])
    assert found.claims[0].text == (
        "Which load is the best is not known. The tuning ended early, as there is no room left to "
        "write. What was measured is saved: make room where the target lies, then go on with "
        "fathom tune --resume e1."
    )
    assert kept.experiments.get(found.experiment_id).state == "failed"
    again = resume_tune(kept, found.experiment_id, SimulatedDevice(SHAPES["saturation"]))
    assert again.threads is not None


def test_more_hosts_find_no_more_room() -> None:
    asked = []

    def answer(step: Step) -> Observation:
        asked.append(step.label)
        return Observation(failure="full", ends="no room; make some")

    points = answered(scaling([1, 2, 4], ["-w100"], lambda _hosts: None), answer)
    assert (len(points), asked) == (1, ["1 host"])


@pytest.mark.parametrize(
    ("kind", "code", "words"),
    [
        ("no_space", "ENOSPC", "there is no room left"),
        ("no_space", "EDQUOT", "there is no room left"),
        ("read_only", "EROFS", "takes no writes any more"),
        ("gone", "ENODEV", "is gone"),
        ("gone", None, "is gone"),
        ("not_found", None, "is not there any more"),
        ("unreachable", None, "is not reached any more"),
    ],
)
def test_what_no_other_load_would_change_ends_an_experiment(
    kind: str, code: str | None, words: str
) -> None:
    failure = {"kind": kind, "code": code, "message": "no"}
    assert words in (no_further_load(["x.dat"], of_failures(failure)) or "")


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        # A file that is too large for the room, and a load that writes where nothing can be.
        ("no_space", None),
        ("read_only", None),
        ("medium", "EIO"),
        ("invalid", None),
        ("limit", "ENOMEM"),
        ("busy", "EBUSY"),
    ],
)
def test_what_is_of_one_load_alone_leaves_the_others(kind: str, code: str | None) -> None:
    assert no_further_load(["x.dat"], of_failures({"kind": kind, "code": code})) is None
    assert no_further_load(["x.dat"], None) is None
