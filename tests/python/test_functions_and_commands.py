"""A function of the lab and the command of the same name begin the same experiment."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from commands import command
from fathom import api
from fathom.experiments.compare import interleaved

if TYPE_CHECKING:
    from pathlib import Path

LOAD = ["-c16M", "-b4K", "-r", "-L", "--engine=null"]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Return a load; a function that would measure it returns its plan, as JSON has it."""

    def planned(_store: object, _runner: object, plan: Any, **_more: object) -> Any:  # noqa: ANN401
        return json.loads(json.dumps(asdict(plan)))

    monkeypatch.setenv("FATHOM_STORE", str(tmp_path / "s.sqlite"))
    monkeypatch.setattr(api, "sweep_planned", planned)
    monkeypatch.setattr(api, "tune_planned", planned)
    monkeypatch.setattr(interleaved, "compare_interleaved", planned)
    return [*LOAD, str(tmp_path / "x.dat")]


def _foreseen(*words: str) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(command(*words, "--dry-run", "--json").stdout)["plan"]
    return plan


def test_a_tuning_from_python_never_widened_its_range(load: list[str]) -> None:
    """The command does where the best lies at the end, so that both named another best."""
    ranges: dict[str, Any] = {"threads": "1..2", "depths": "1..4"}
    words = ["tune", "--threads", "1..2", "--depth", "1..4", *load]
    usual: Any = fathom.tune(load, **ranges)
    assert usual == _foreseen(*words)
    kept: Any = fathom.tune(load, grow=False, **ranges)
    assert kept == _foreseen(*words, "--no-grow")
    with pytest.raises(fathom.InvalidRequestError, match="grow is True or False"):
        fathom.tune(load, grow="no")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ([], {}),
        (["--duration", "1"], {"duration_s": 1}),
        (["--warm-up", "1"], {"warm_up_s": 1}),
        (["--tolerance", "0", "--seed", "7"], {"tolerance": 0.0, "seed": 7}),
    ],
)
def test_a_sweep_from_python_is_planned_as_the_command_plans_it(
    load: list[str], words: list[str], more: dict[str, Any]
) -> None:
    found: Any = fathom.sweep(load, {"depth": "1..4"}, **more)
    assert found == _foreseen("sweep", "--depth", "1..4", *words, *load)


def test_an_interleaved_comparison_from_python_is_planned_as_by_the_command(
    load: list[str],
) -> None:
    a, b = " ".join([*load[:-1], "-d1", "-W0", load[-1]]), " ".join([*load[:-1], "-d1", load[-1]])
    found: Any = fathom.compare_interleaved(a, b)
    foreseen = _foreseen("compare", "--run", a, b)
    assert found | {"seed": 0} == foreseen | {"seed": 0}
