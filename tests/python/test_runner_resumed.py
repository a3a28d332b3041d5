"""What a store names is data: no program that stands in it is started without the user's word."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from fathom.cli.verbs import VERBS
from fathom.experiments.compare.interleaved import TurnsPlan, compare_interleaved
from fathom.experiments.repeat import RepeatPolicy, begin_repeat
from fathom.experiments.tune.experiment import plan_tune, tune
from fathom.store import Store
from reported import called, saved_sweep
from simulated_device import SHAPES, SimulatedDevice

if TYPE_CHECKING:
    from pathlib import Path

TAKEN_UP = sorted(name for name, one in VERBS.items() if one.takes_up)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return a program that leaves a trace when it is started."""
    program = tmp_path / "their tools" / "diskspd"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/started'\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def shared(tmp_path: Path, program: Path) -> Path:
    """Return a store in which the plan of each unfinished experiment names the program."""
    path = tmp_path / "store.sqlite"
    device = SimulatedDevice(SHAPES["saturation"], seed=3)
    with Store(path) as store:
        saved_sweep(store, {"depth": "1,2"})
        tune(store, device, plan_tune(["-b4K", "-r", "x.dat"], "1", "1,2"))
        begin_repeat(store, ["-b4K", "x.dat"], RepeatPolicy())
        sides = TurnsPlan(("-d1", "-o1", "x.dat"), ("-d1", "-o2", "x.dat"), pilot=4, most=4)
        device.fails = lambda _load: True
        compare_interleaved(store, device, sides)
    with closing(sqlite3.connect(path)) as database, database:
        for number, text in database.execute("SELECT id, plan_json FROM experiments").fetchall():
            plan = {**json.loads(text), "runner": str(program)}
            values = (json.dumps(plan), number)
            database.execute(
                "UPDATE experiments SET plan_json = ?, state = 'interrupted' WHERE id = ?", values
            )
    database.close()
    return path


Called = pytest.MonkeyPatch
Printed = pytest.CaptureFixture[str]


@pytest.mark.parametrize("verb", TAKEN_UP)
def test_a_program_that_a_plan_names_is_not_started(
    verb: str, shared: Path, program: Path, monkeypatch: Called, capsys: Printed
) -> None:
    assert called(monkeypatch, verb, "--resume", "last", "--store", str(shared)) == 3
    assert f"add --runner '{program}'" in capsys.readouterr().err
    assert not (program.parents[1] / "started").exists()


@pytest.mark.parametrize("verb", TAKEN_UP)
def test_a_program_that_the_user_names_too_is_started(
    verb: str, shared: Path, program: Path, monkeypatch: Called
) -> None:
    named = ("--resume", "last", "--runner", str(program), "--store", str(shared))
    assert called(monkeypatch, verb, *named) != 0
    assert (program.parents[1] / "started").exists()


@pytest.mark.parametrize("verb", TAKEN_UP)
def test_an_experiment_does_not_change_its_tool(
    verb: str, shared: Path, monkeypatch: Called, capsys: Printed
) -> None:
    named = ("--resume", "last", "--runner", "fio", "--store", str(shared))
    assert called(monkeypatch, verb, *named) == 3
    assert "leave out --runner" in capsys.readouterr().err
