"""An empty word is mostly a variable that is not set: it names no store, no file and no run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import command
from fathom.cli.exit_codes import EXIT_INVALID
from fathom.cli.verbs import VERBS, load
from fathom.store import Store, StoreError, move_store
from store_worker import RESULT

_WORDS = "is empty, as a variable is that is not set"


@pytest.fixture
def mine() -> Path:
    """Return the store in use, with a run."""
    path = Path(os.environ["FATHOM_STORE"])
    with Store(path) as store:
        store.runs.save(RESULT, ["-b8K", "x.dat"])
    return path


def test_an_empty_name_moved_the_store_in_use_away(mine: Path, tmp_path: Path) -> None:
    before = mine.read_bytes()
    for verb in ("move", "copy"):
        done = command("store", verb, "", tmp_path / "new.sqlite")
        assert (done.returncode, _WORDS in done.stderr) == (EXIT_INVALID, True), done.stderr
    assert not (tmp_path / "new.sqlite").exists()
    # Nor is it the place to copy to.
    shutil.copy(mine, tmp_path / "other.sqlite")
    done = command("store", "copy", tmp_path / "other.sqlite", "")
    assert (done.returncode, _WORDS in done.stderr) == (EXIT_INVALID, True), done.stderr
    for source, target in (("", tmp_path / "new.sqlite"), (mine, "")):
        with pytest.raises(StoreError, match="the name of the store is empty"):
            move_store(source, target)
    assert mine.read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [
        ["list", "--store", ""],
        ["list", "--store="],
        ["report", "1", "-o", ""],
        ["export", "--output="],
        ["export", ""],
        ["trend", "--metric", ""],
        ["baseline", "set", "", "1"],
        ["baseline", "set", "best", ""],
        ["show", ""],
        ["compare", "", "1"],
        ["delete", "--yes", ""],
        ["run", ""],
        ["run", "-w0", ""],
        ["run", "--", ""],
        ["sweep", "--depth", "1,2", "--dry-run", ""],
        ["assess", "--dry-run", ""],
        ["prepare", "look", ""],
        ["serve", "--folder", ""],
        ["import", ""],
    ],
    ids=" ".join,
)
def test_an_empty_word_stood_for_whatever_was_usual(words: list[str]) -> None:
    done = command(*words)
    assert (done.returncode, _WORDS in done.stderr) == (EXIT_INVALID, True), done.stderr
    assert not done.stdout


def test_an_empty_variable_of_the_environment_is_one_that_is_not_set(tmp_path: Path) -> None:
    unset = {"FATHOM_STORE": "", "XDG_DATA_HOME": str(tmp_path)}
    done = command("list", environment=unset)
    assert (done.returncode, str(tmp_path) in done.stdout) == (0, True), done.stderr


def test_words_to_find_things_by_and_one_side_of_a_comparison_may_be_none(tmp_path: Path) -> None:
    assert command("list", "--label", "").returncode == 0
    words = ["compare", "--dry-run", "--run", "", "-w50", "-c1M", f"{tmp_path}/x.dat"]
    assert command(*words).returncode == 0


def test_no_option_of_a_verb_has_an_empty_default() -> None:
    """It would be refused as if it had been typed."""
    waiting: list[Any] = [load(name) for name in VERBS]
    while waiting:
        verb = waiting.pop()
        waiting += getattr(verb, "commands", {}).values()
        assert [one.name for one in verb.params if one.default in ("", [""], ("",))] == []


@pytest.mark.usefixtures("mine")
def test_a_name_that_no_baseline_can_have_was_a_failure_of_the_store() -> None:
    for name in ("12", "e3", b"\xff".decode(errors="surrogateescape")):
        done = command("baseline", "set", name, "1")
        assert done.returncode == EXIT_INVALID
        assert "cannot be a baseline's name" in done.stderr
