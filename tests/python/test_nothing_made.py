"""A target that cannot be used leaves nothing behind, whatever was to measure it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import fathom
import pytest
from commands import command
from fathom._permission import Permission
from fathom.cli.commands import assess
from fathom.cli.verbs import VERBS
from fathom.experiments.assess import EFFORTS
from fathom.fleet.address import FleetAddress

if TYPE_CHECKING:
    from collections.abc import Callable

MISSING, FOREIGN = "none/x.dat", "letters.txt"
# What is typed with a target that does not exist, and with one whose data are somebody's. A run of
# this host is none of them: that of a target that is not there is saved as one that failed. A verb
# that is not named here takes a load alone.
TYPED: dict[str, tuple[list[str], ...]] = {
    **{
        name: (["-d1", MISSING], ["-d1", "-w100", FOREIGN])
        for name, verb in VERBS.items()
        if verb.experiments
    },
    "run": (["-dx", MISSING], ["--fleet", "local:2", "-d1", MISSING], ["-d1", "-w100", FOREIGN]),
    "repeat": (
        ["-d1", MISSING],
        ["sql-log-small", MISSING],
        ["-dx", MISSING],
        ["--precondition", "wipc", "--yes", "-d1", MISSING],
        ["--precondition", "wdpc", "--yes", "-d1", MISSING],
        ["-d1", "-w100", FOREIGN],
    ),
    "sweep": (["--threads", "1,2", MISSING], ["--threads", "1,2", "-w100", FOREIGN]),
    "tune": ([MISSING], ["-w100", FOREIGN]),
    "assess": ([MISSING], ["--write", FOREIGN]),
    "prepare": (
        ["look", MISSING],
        ["fill", MISSING],
        ["fill", "--size", "1M", MISSING],
        ["fill", FOREIGN],
        ["condition", "--wipc", "--yes", MISSING],
        ["condition", "--wdpc", "--yes", "-d1", MISSING],
        ["condition", "--wipc", "--yes", FOREIGN],
    ),
    "density": (["--synthetic", "sql-log", FOREIGN],),
    "compare": (["--run", f"-d1 {MISSING}", f"-d1 -b8K {MISSING}"],),
    "scale": (["--fleet", "local:2", MISSING],),
}
CASES = [(verb, words) for verb, several in TYPED.items() for words in several]


def made(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*"))


@pytest.mark.parametrize(("verb", "words"), CASES, ids=lambda one: "_".join(one[:3])[:40])
def test_a_bad_target_left_an_empty_store(verb: str, words: list[str], tmp_path: Path) -> None:
    (tmp_path / FOREIGN).write_text("Somebody's own words.\n" * 4096)
    before = made(tmp_path)
    done = command(verb, *words, cwd=tmp_path, environment={"FATHOM_STORE": "new/store.db"})
    assert "error: " in done.stderr or "note: " in done.stderr
    wanted = 2 if FOREIGN in words and verb != "density" else 3
    assert done.returncode == wanted, done.stderr
    assert made(tmp_path) == before


@pytest.mark.parametrize(
    "call",
    [
        lambda **more: fathom.assess(MISSING, effort="quick", **more),
        lambda **more: fathom.assess(FOREIGN, effort="quick", writes=True, **more),
        lambda **more: fathom.prepare(MISSING, **more),
        lambda **more: fathom.prepare(FOREIGN, **more),
        lambda **more: fathom.repeat(f"-d1 {MISSING}", **more),
        lambda **more: fathom.sweep(f"-w100 -r {FOREIGN}", {"threads": "1,2"}, **more),
        lambda **more: fathom.tune(MISSING, **more),
        lambda **more: fathom.compare_interleaved(f"-d1 {MISSING}", f"-d1 {MISSING}", **more),
    ],
)
def test_a_function_left_an_empty_store_for_a_bad_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., object]
) -> None:
    """The guard refused a writing assessment only once that had been begun and saved."""
    monkeypatch.chdir(tmp_path)
    Path(FOREIGN).write_text("Somebody's own words.\n" * 4096)
    with pytest.raises((fathom.RefusedError, fathom.InvalidRequestError)):
        call(store="new/store.db")
    assert made(tmp_path) == [FOREIGN]
    with fathom.Store("old.db") as store:
        with pytest.raises((fathom.RefusedError, fathom.InvalidRequestError)):
            call(store=store)
        assert store.experiments.list() == []


@pytest.mark.parametrize(
    "call",
    [
        lambda load, **more: fathom.repeat(f"-d1 {load}", **more),
        lambda load, **more: fathom.sweep(load, {"depth": "1,2"}, **more),
        fathom.tune,
        lambda load, **more: fathom.compare_interleaved(f"-d1 {load}", f"-d1 {load}", **more),
        lambda load, **more: fathom.assess(load.split()[-1], **more),
    ],
)
def test_what_was_cancelled_before_it_began_left_an_empty_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., object]
) -> None:
    monkeypatch.chdir(tmp_path)
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(fathom.ExperimentInterrupted):
        call("-c1M -b4K -r x.dat", store="new/store.db", cancel=cancel)
    assert made(tmp_path) == []


def test_what_only_the_hosts_of_a_fleet_have_was_looked_for_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there was no store yet, a target that this host lacks was refused."""
    fleet = FleetAddress("local:2")
    wish = assess.Wish(
        [MISSING], EFFORTS["quick"], Permission(), writes=False, steady=0, label="", as_json=True
    )
    monkeypatch.setattr(assess, "chosen_fleet", lambda: fleet)
    shown: list[object] = []
    monkeypatch.setattr(assess, "_shown", lambda _store, _run, its, **_told: shown.append(its))
    assess.begun(wish, str(tmp_path / "new.sqlite"))
    assert shown == [fleet]


def test_each_verb_that_measures_is_tried() -> None:
    assert {name for name, verb in VERBS.items() if verb.experiments} == {*TYPED}


def test_a_run_of_another_tool_that_cannot_begin_made_a_store(tmp_path: Path) -> None:
    store = {"FATHOM_STORE": "new/store.db"}
    done = command("run", "--runner", "fio", "-d1", MISSING, cwd=tmp_path, environment=store)
    assert done.returncode, done.stderr
    assert "error: " in done.stderr
    assert made(tmp_path) == []


def test_a_first_run_warns_once(tmp_path: Path) -> None:
    """Where there is no store yet, its load is looked at before; the run looks again."""
    options = ("-c1M", "-d1", "-t2", "-W0", "--stop-ios=100")
    store = {"FATHOM_STORE": "store.db"}
    first, second = (
        command("run", *options, "x.dat", cwd=tmp_path, environment=store) for _ in range(2)
    )
    assert first.returncode == second.returncode == 0, first.stderr
    assert first.stderr.count("warning: ") == second.stderr.count("warning: ") == 1


def test_a_served_file_needs_no_store(tmp_path: Path) -> None:
    store = tmp_path / "new/store.db"
    done = command(
        "prepare", "fill", "--size", "1M", "nfs://127.0.0.1:1/export/x.dat",
        environment={"FATHOM_STORE": str(store)},
    )  # fmt: skip
    assert done.returncode, done.stderr
    assert not store.parent.exists()
