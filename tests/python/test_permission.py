"""Permission to destroy data is typed by a person, for one run, and comes through no other door."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from commands import command
from fathom import RefusedError, _fathom
from fathom._permission import Permission, typed
from fathom.engine import run_kept
from fathom.experiments.axes import parse_axes
from fathom.experiments.repeat import RepeatPolicy, begin_repeat
from fathom.experiments.sweep.experiment import sweep
from fathom.experiments.sweep.plan import plan_sweep
from fathom.runners import NativeRunner
from fathom.runners.measure import measure
from fathom.store import Store
from fathom.store._once_allowed import permissions_in, without_permissions_in
from fathom.workloads import WorkloadRefusedError, read_workload
from our_data import our_data

if TYPE_CHECKING:
    from pathlib import Path

SHORT = ["-w100", "-b4K", "-d1", "-W0"]
TOML = """
title = "A load that somebody sent"
reason = "Because."
sources = ["A web page"]
size = "1M"
"""
CARRIERS = [
    'arguments = ["-w100", "-d1", "-W0", "{0}"]',
    'arguments = ["-d1", "-W0"]\n[[steps]]\nlabel = "a"\narguments = ["-w100", "{0}"]',
    'arguments = ["-d1", "-W0"]\n[matrix]\nblock = [["-b4K", "{0}"], ["-b8K"]]',
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FATHOM_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.setenv("FATHOM_WORKLOADS", str(tmp_path / "workloads"))
    (tmp_path / "workloads").mkdir()
    return tmp_path


@pytest.fixture
def theirs(here: Path) -> Path:
    """Return the database of another program."""
    path = here / "theirs.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE wages (name TEXT, amount INTEGER)")
    connection.executemany("INSERT INTO wages VALUES (?, ?)", [("x" * 99, 1)] * 999)
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("option", ["--overwrite", "--allow-write=S1", "--allow-write"])
def test_break_2_a_workload_file_cannot_carry_the_override(
    here: Path, theirs: Path, carrier: str, option: str
) -> None:
    before = theirs.read_bytes()
    path = here / "workloads" / "sent.toml"
    path.write_text(TOML + carrier.format(option))
    with pytest.raises(WorkloadRefusedError, match="only a person may allow"):
        read_workload(path)
    if option != "--overwrite":
        return
    done = command("run", "sent", str(theirs))
    assert done.returncode == 2
    assert all(words in done.stderr for words in (str(path), option, "take it out there"))
    assert theirs.read_bytes() == before
    with Store() as store:
        assert not store.runs.list()


def test_a_person_types_it_behind_a_workload_and_it_holds(here: Path, theirs: Path) -> None:
    (here / "workloads" / "mine.toml").write_text(
        TOML + 'arguments = ["-w100", "-d1", "-W0", "-b4K"]'
    )
    before = theirs.read_bytes()
    refused = command("run", "mine", str(theirs))
    assert (refused.returncode, theirs.read_bytes() == before) == (2, True)
    done = command("run", "mine", "--overwrite", str(theirs))
    assert done.returncode == 0, done.stderr
    assert theirs.read_bytes() != before
    with Store() as store:
        kept = store.runs.get(1)
    # Who repeats it is asked again.
    assert not any(_fathom.is_permission(word) for word in kept.arguments)


def test_the_engine_takes_no_permission_among_arguments(theirs: Path) -> None:
    before = theirs.read_bytes()
    for option in ("--overwrite", "--allow-write=S1", "--overwrite=yes", "--allow-write"):
        arguments = [*SHORT, option, str(theirs)]
        with pytest.raises(RefusedError, match="typed by a person"):
            run_kept(arguments)
        with pytest.raises(RefusedError, match="typed by a person"):
            measure(None, arguments)
        with pytest.raises(RefusedError, match="typed by a person"):
            NativeRunner(None).run(arguments)
    assert theirs.read_bytes() == before
    # An argument of the call itself is typed by whoever calls.
    assert fathom.explain([*SHORT, "--overwrite", str(theirs)])["would_run"]
    assert not fathom.explain([*SHORT, str(theirs)])["would_run"]
    fathom.run([*SHORT, "--overwrite", str(theirs)])
    assert theirs.read_bytes() != before


def test_what_is_typed_stands_apart_from_the_arguments() -> None:
    assert typed(["-w1", "--overwrite", "x"]) == (["-w1", "x"], Permission(overwrite=True))
    both = ["--allow-write=a", "--allow-write=b=c", "x"]
    assert typed(both) == (["x"], Permission(allow_write=("a", "b=c")))
    # What is wrongly written is reported by the engine.
    for wrong in ("--overwrite=1", "--allow-write=", "--allow-write"):
        assert typed([wrong, "x"]) == ([wrong, "x"], Permission())
    assert not _fathom.is_permission("overwrite")
    assert not _fathom.is_permission("--protect=x")


def test_a_target_s_name_behind_the_end_of_options_allows_nothing(here: Path, theirs: Path) -> None:
    """A file called ``--overwrite`` carried the permission for the one beside it."""
    (here / "--overwrite").write_bytes(our_data(1 << 16))
    names = ["--", "--overwrite", str(theirs)]
    assert typed([*SHORT, *names]) == ([*SHORT, *names], Permission())
    before = theirs.read_bytes()
    for ask in (fathom.run, fathom.repeat):
        with pytest.raises(RefusedError, match="--overwrite"):
            ask([*SHORT, *names])
    with pytest.raises(RefusedError, match="--overwrite"):
        fathom.sweep(["-w100", *names], {"depth": "1,2"})
    assert theirs.read_bytes() == before
    kept = {"arguments": [*SHORT, *names]}
    assert list(permissions_in(kept)) == []
    assert without_permissions_in(kept) == kept


def test_no_plan_of_an_experiment_keeps_a_permission(here: Path, theirs: Path) -> None:
    del here
    arguments = [*SHORT, "--overwrite", str(theirs)]
    with Store() as store:
        with pytest.raises(RefusedError, match="the plan of an experiment"):
            begin_repeat(store, arguments, RepeatPolicy())
        for vary in (["--allow-write=S1,S2"], ["-b=4K,8K"]):
            own = ["-w100", *(arguments[-2:] if "-b" in vary[0] else arguments[-1:])]
            plan, _ = plan_sweep(own, parse_axes({}, vary), mode="fixed", duration_s=1)
            with pytest.raises(RefusedError, match="the plan of an experiment"):
                sweep(store, NativeRunner(store), plan)
        assert store.experiments.list() == []


def planned(arguments: list[str]) -> dict[str, dict[str, Any]]:
    """Return plans as an earlier version, or somebody who shares the store, may have written."""
    policy = {
        "metric": "iops",
        "relative_half_width": 0.5,
        "confidence": 0.9,
        "pilot": 2,
        "most": 2,
    }
    axis = {"name": "block", "option": "-b", "values": ["4K", "8K"], "positions": None}
    own = [one for one in arguments if one != "-b4K"]
    return {
        "repeat": {"arguments": arguments, "label": "", "precondition": "none", **policy},
        "sweep": {"arguments": own, "axes": [axis], "mode": "fixed", "duration_s": 1},
        "tune": {"arguments": own, "threads": [1], "depths": [1, 2], "goal": {"figure": "mean"}},
        "prepare": {"kind": "wdpc", "loads": [["", arguments]], "metrics": ["iops"]},
    }


@pytest.mark.parametrize("verb", ["repeat", "sweep", "tune", "prepare"])
def test_a_plan_in_a_store_cannot_carry_the_override(here: Path, theirs: Path, verb: str) -> None:
    before = theirs.read_bytes()
    arguments = ["-w100", "-b4K", "--overwrite", str(theirs)]
    if verb in ("repeat", "prepare"):
        arguments = [*SHORT, *arguments[2:]]
    with Store() as store:
        steps = {"sweep": [("a", {"cell": 0}), ("b", {"cell": 1})]}
        steps["prepare"] = [("round 1", {"round": 1, "load": 0})]
        number = store.experiments.begin(verb, verb, {}, steps.get(verb, []))
    with closing(sqlite3.connect(here / "store.sqlite")) as connection, connection:
        plan = json.dumps(planned(arguments)[verb])
        connection.execute("UPDATE experiments SET plan_json = ?", [plan])
    connection.close()
    words = ["prepare", "condition"] if verb == "prepare" else [verb]
    done = command(*words, "--resume", f"e{number}")
    assert done.returncode == 2, done.stderr
    assert "was begun with --overwrite" in done.stderr
    assert f"--resume e{number} --overwrite" in done.stderr
    assert theirs.read_bytes() == before


def test_a_plan_of_filling_cannot_carry_the_override(here: Path, theirs: Path) -> None:
    before = theirs.read_bytes()
    with Store() as store:
        found = theirs.stat()
        target = {"path": str(theirs), "kind": "file", "size_bytes": found.st_size}
        leave = {"overwrite": True, "allow_write": None}
        piece = {"offset": 0, "bytes": 4096, "block_bytes": 4096}
        plan = {"kind": "fill", "target": target, "leave": leave}
        number = store.experiments.begin("prepare", "fill", {}, [("one", piece)])
    with closing(sqlite3.connect(here / "store.sqlite")) as connection, connection:
        connection.execute("UPDATE experiments SET plan_json = ?", [json.dumps(plan)])
    connection.close()
    done = command("prepare", "fill", "--resume", f"e{number}")
    assert (done.returncode, "--overwrite" in done.stderr) == (2, True)
    assert theirs.read_bytes() == before


def test_a_profile_cannot_carry_the_override(here: Path, theirs: Path) -> None:
    before = theirs.read_bytes()
    shown = command("translate", "--to", "xml", *SHORT, str(theirs))
    assert shown.returncode == 0
    for place in ("<Profile>", "<TimeSpan>", "<Target>"):
        for element in ("Overwrite", "AllowWrite", "overwrite"):
            carrying = shown.stdout.replace(place, f"{place}<{element}>true</{element}>", 1)
            (here / "sent.xml").write_text(carrying)
            # Either is refused: an element that nobody knows, or writing to the database.
            with pytest.raises((RefusedError, fathom.InvalidRequestError)):
                fathom.run([f"-X{here / 'sent.xml'}"])
            assert theirs.read_bytes() == before


def test_the_environment_cannot_carry_the_override(here: Path, theirs: Path) -> None:
    before = theirs.read_bytes()
    (here / "response").write_text("--overwrite\n")
    names = [
        f"{program}{verb}{option}"
        for program in ("FATHOM", "DISKSPD")
        for verb in ("_", "_RUN_", "_PREPARE_FILL_", "_ASSESS_")
        for option in ("OVERWRITE", "ARGS", "OPTIONS", "ARGUMENTS", "ALLOW_WRITE")
    ]
    for value in ("--overwrite", "1"):
        environment = dict.fromkeys(names, value)
        assert command("run", *SHORT, str(theirs), environment=environment).returncode == 2
    assert command("run", f"@{here / 'response'}", *SHORT, str(theirs)).returncode == 3
    assert command("prepare", "fill", str(theirs), environment=environment).returncode == 2
    assert theirs.read_bytes() == before


def test_neither_a_translation_nor_an_export_has_the_override(here: Path, theirs: Path) -> None:
    done = command("translate", "--to", "diskspd", *SHORT, "--overwrite", str(theirs))
    assert "--overwrite" not in done.stdout
    assert "type it behind the command" in done.stderr
    assert command("run", *SHORT, "--overwrite", str(here / "new"), "-c1M").returncode == 3
    assert command("run", "-c1M", *SHORT, "--overwrite", str(here / "new")).returncode == 0
    for form in ("diskspd", "fio", "xml"):
        exported = command("export", "1", "--format", form)
        assert exported.returncode == 0
        assert "--overwrite" not in exported.stdout


def test_one_side_of_a_comparison_cannot_allow_the_other(here: Path, theirs: Path) -> None:
    before = theirs.read_bytes()
    mine = f"-c1M -w100 --overwrite {here / 'mine.dat'}"
    done = command("compare", "--run", mine, f"-w100 {theirs}", "-d1", "-W0", "-b4K")
    assert (done.returncode, theirs.read_bytes() == before) == (2, True)
    assert "it holds for both sides" in done.stderr
