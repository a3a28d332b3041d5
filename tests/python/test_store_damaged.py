"""Whatever an experiment's rows hold, commands end with a result or with words."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from fathom.experiments.compare.interleaved import TurnsPlan, compare_interleaved
from fathom.experiments.prepare import plan_settling
from fathom.experiments.repeat import RepeatPolicy, begin_repeat
from fathom.experiments.tune.experiment import plan_tune, tune
from fathom.runners import measure as _measure
from fathom.store import Store
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reported import called, saved_assessment, saved_repetition, saved_sweep
from simulated_device import SHAPES, SimulatedDevice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.just([]),
    st.just({}),
    st.just([[]]),
    st.just("\x1b[2J"),
)
SELECT = "SELECT id, {} FROM experiments WHERE id = ?"
EXAMPLES = int(os.environ.get("FATHOM_EXAMPLES", "12"))
COLUMNS = ("plan_json", "outcome_json", "parameters_json")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with an experiment of each verb."""
    path = tmp_path_factory.mktemp("whole") / "store.sqlite"
    device = SimulatedDevice(SHAPES["saturation"], seed=3)
    with Store(path) as store:
        saved_assessment(store)
        saved_sweep(store, {"depth": "1..8", "write": "0,100"})
        saved_repetition(store, [9e3, 9.1e3, 9e3])
        begin_repeat(store, ["-b4K", "x.dat"], RepeatPolicy())
        tune(store, device, plan_tune(["-b4K", "-r", "x.dat"], "1,2", "1..8"))
        turns = TurnsPlan(("-o1", "x.dat"), ("-o2", "x.dat"), pilot=4, most=4)
        with pytest.raises(fathom.FathomError):
            compare_interleaved(store, Refusing(), turns)
        plan_settling(store, [("", ["-b4K", "x.dat"])])
    return path


class Refusing:
    """Measures nothing."""

    def clock(self) -> float:  # noqa: D102 - As a runner has it.
        return 0.0

    def run(self, *_given: object, **_more: object) -> Any:  # noqa: ANN401, D102 - The same.
        raise fathom.FathomError("nothing is measured here")


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401
    """Return the paths to all parts of JSON data."""
    yield path
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from places(value, (*path, key))


def spoilt(draw: Callable[[Any], Any], text: str) -> str:
    """Return damaged JSON: cut off, or with a part taken out, or another in its place."""
    if draw(st.integers(0, 9)) == 0:
        return text[: draw(st.integers(0, len(text) - 1))]
    data = json.loads(text)
    path = draw(st.sampled_from(list(places(data))))
    if not path:
        return json.dumps(draw(LEAVES))
    within = data
    for key in path[:-1]:
        within = within[key]
    if draw(st.booleans()):
        within[path[-1]] = draw(LEAVES)
    else:
        del within[path[-1]]
    return json.dumps(data)


def damage(path: Path, experiment: int, draw: Callable[[Any], Any]) -> None:
    """Spoil a column of an experiment, or of one of its steps."""
    with closing(sqlite3.connect(path)) as store, store:
        found = [
            ("experiments", column, row)
            for column in COLUMNS[:2]
            for row in store.execute(SELECT.format(column), [experiment])
        ]
        query = "SELECT id, parameters_json FROM steps WHERE experiment_id = ? LIMIT 3"
        found += [("steps", COLUMNS[2], row) for row in store.execute(query, [experiment])]
        table, column, (row_id, text) = draw(st.sampled_from([one for one in found if one[2][1]]))
        values = [spoilt(draw, text), row_id]
        store.execute(f"UPDATE {table} SET {column} = ? WHERE id = ?", values)  # noqa: S608
        # What can be taken up is taken up.
        state = draw(st.sampled_from(["running", "failed", "complete"]))
        store.execute("UPDATE experiments SET state = ? WHERE id = ?", [state, experiment])


# All that read an experiment; NAME stands for it.
COMMANDS = (
    ["list", "--experiments"],
    ["list", "--experiments", "--json"],
    ["show", "NAME"],
    ["show", "NAME", "--json"],
    ["compare", "NAME", "NAME", "--any-load"],
    ["compare", "NAME"],
    ["sweep", "--resume", "NAME"],
    ["tune", "--resume", "NAME"],
    ["repeat", "--resume", "NAME"],
    ["repeat", "--resume", "last"],
    ["compare", "--resume", "NAME"],
    ["prepare", "condition", "--resume", "NAME"],
    ["prepare", "fill", "--resume", "NAME"],
    ["prepare", "fill", "--resume", "last"],
    ["report", "NAME", "--json", "-o", "-"],
    ["report", "NAME", "--terminal"],
    ["report", "NAME", "--format", "html", "-o", "r.html", "--force"],
    ["export", "NAME", "--format", "json"],
    ["delete", "NAME", "--yes"],
)


@pytest.mark.parametrize("experiment", range(1, 8))
def test_damaged_experiments_are_told_and_never_a_traceback(
    whole: Path, experiment: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_given: object, **_more: object) -> None:
        raise fathom.FathomError("nothing is measured here")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_measure, "run_kept", refuse)
    monkeypatch.setattr("fathom.tools.choose.foreign_runner", lambda *_given: None)
    seen: Counter[int] = Counter()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.data(), st.sampled_from(COMMANDS))
    def one(data: st.DataObject, command: list[str]) -> None:
        path = tmp_path / "store.sqlite"
        for left in tmp_path.glob("store.sqlite*"):
            left.unlink(missing_ok=True)
        shutil.copy(whole, path)
        damage(path, experiment, data.draw)
        arguments = [f"e{experiment}" if one == "NAME" else one for one in command]
        seen[called(monkeypatch, *arguments, "--store", str(path))] += 1

    one()
    # Some commands read what is whole, some refuse; none is interrupted or finds a verdict.
    assert seen[0] > 0
    assert seen[1] + seen[3] > 0
    assert sum(seen.values()) == seen[0] + seen[1] + seen[3]
