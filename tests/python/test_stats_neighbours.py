"""The mean of runs that resemble their neighbours: said when they do, and covered all the same."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from fathom.cli import main
from fathom.runners import measure as _measure
from fathom.stats import independent_mean, neighbours
from fathom.store import Store
from simulated import autoregressive, troubled
from test_repeat import Device, result_with

if TYPE_CHECKING:
    from pathlib import Path

EXPERIMENTS = 1_000


def covers(estimate: object) -> bool:
    """Whether the interval holds the true mean."""
    return bool(estimate.low <= 1000 <= estimate.high)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("coefficient", "runs"), [(0.5, 20), (0.7, 30), (0.7, 60)])
def test_the_corrected_interval_covers_where_the_independent_one_is_too_narrow(
    coefficient: float, runs: int
) -> None:
    random = np.random.default_rng([31, runs, int(10 * coefficient)])
    series = 1000 * (1 + 0.02 * autoregressive(random, coefficient, (EXPERIMENTS, runs)))
    found = [neighbours(one) for one in series]
    told = [one for one in found if one is not None]
    assert len(told) == EXPERIMENTS
    corrected = np.mean([covers(one.estimate) for one in told])
    naive = np.mean([covers(independent_mean(one)) for one in series])
    assert naive < 0.85
    assert 0.93 <= corrected <= 0.97
    assert np.mean([one.is_alike for one in told]) > 0.5
    # Where it is said, the interval beside it is the one to trust.
    said = [covers(one.estimate) for one in told if one.is_alike]
    assert np.mean(said) >= 0.93


@pytest.mark.parametrize("runs", [10, 20, 60])
def test_independent_runs_are_seldom_said_to_resemble_each_other(runs: int) -> None:
    random = np.random.default_rng([32, runs])
    series = troubled(random, 0.0, (EXPERIMENTS, runs), 0.02)
    found = [neighbours(one) for one in series]
    assert np.mean([one is not None and one.is_alike for one in found]) <= 0.06
    assert neighbours(series[0][:7]) is None


def test_the_command_gives_no_interval_where_runs_remember(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target = tmp_path / "x.dat"
    target.write_bytes(bytes(1 << 20))
    device = Device(0.002)
    wave = 1 + 0.05 * np.sin(np.linspace(0.5, 0.5 + 2 * np.pi, 20))

    def run(*_args: object, **_more: object) -> object:
        device.runs += 1
        return result_with(float(wave[device.runs - 1]))

    def shown(engine: object) -> str:
        monkeypatch.setattr(_measure, "run_kept", engine)
        argv = ["fathom", "repeat", "--pilot", "20", "--most", "20", "-b4K", "-L", str(target)]
        monkeypatch.setattr(sys, "argv", argv)
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        return " ".join(capsys.readouterr().out.split())

    words = shown(run)
    assert "iops: cannot tell the mean from so few runs, as" in words
    with Store(os.environ["FATHOM_STORE"]) as store:
        outcome = store.experiments.get(1).outcome
    assert outcome is not None
    iops = outcome["metrics"]["iops"]
    assert iops["estimate"]["low"] is None
    assert iops["estimate"]["noise"]
    assert iops["neighbours"]["is_alike"]
    assert any("cannot tell" in one for one in outcome["sentences"])
    assert "iops: cannot tell" not in shown(Device(0.01).run)
