"""What would be run is judged by the guard before anything begins, whatever the verb."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from commands import command
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INVALID, EXIT_REFUSED
from fathom.store import Store

# More than 1 MiB, which an assessment needs.
TEXT = "These lines are somebody's own.\n" * 40_000

WRITING = [
    ["run", "-w100"],
    ["repeat", "-w100"],
    ["sweep", "--depth", "1,2", "-w100"],
    # The cells that write are not the first ones.
    ["sweep", "--writes", "0,50"],
    ["tune", "-w1"],
    ["compare", "--run", "-o1", "-w10"],
    ["repeat", "--precondition", "wipc", "--yes", "-d1", "-W0"],
    ["prepare", "condition", "--wipc"],
    ["assess", "--quick", "--write"],
]


@pytest.mark.parametrize("words", WRITING, ids=" ".join)
def test_a_dry_run_of_what_the_guard_would_refuse_is_refused(
    words: list[str], tmp_path: Path
) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text(TEXT)
    for more in ([], ["--json"]):
        told = command(*words, "--dry-run", *more, mine)
        assert told.returncode == EXIT_REFUSED, told.stderr
        assert "refused: the file looks like text" in told.stdout + told.stderr or more
    allowed = command(*words, "--dry-run", "--overwrite", mine)
    assert allowed.returncode == 0, allowed.stderr
    assert mine.read_text() == TEXT


@pytest.mark.parametrize("words", WRITING, ids=" ".join)
def test_what_a_dry_run_refuses_was_measured_in_part(words: list[str], tmp_path: Path) -> None:
    """The run has the same look before anything is measured, kept or written."""
    mine = tmp_path / "mine.txt"
    mine.write_text(TEXT)
    done = command(*words, mine)
    assert done.returncode == EXIT_REFUSED, done.stderr
    assert "the file looks like text" in done.stderr
    assert mine.read_text() == TEXT
    if Path(os.environ["FATHOM_STORE"]).exists():
        with Store(os.environ["FATHOM_STORE"]) as store:
            assert not store.runs.count()
            assert not store.experiments.list()


def test_what_no_run_can_measure_was_no_fault_of_a_dry_run(tmp_path: Path) -> None:
    target = tmp_path / "target.dat"
    target.write_bytes(bytes(8 << 20))
    # Some cells can be measured: it ends as the sweep will.
    for more in ([], ["--json"]):
        told = command("sweep", "--dry-run", *more, "--block", "4M,16M", target)
        assert told.returncode == EXIT_FAILED
        assert "not all of it can be measured: The file is too small" in told.stderr
    begun = command("sweep", "--duration", "1s", "--warm-up", "0s", "--block", "4M,16M", target)
    assert begun.returncode == EXIT_FAILED
    assert begun.stderr.index("The file is too small") < begun.stderr.index("1 of about 2 cells")
    # None can.
    told = command("sweep", "--dry-run", "--block", "16M,32M", target)
    assert (told.returncode, "The file is too small" in told.stderr) == (EXIT_INVALID, True)
    for more in ([], ["--dry-run"]):
        told = command("sweep", *more, "--vary=--json=ja,jb", "--duration", "1s", target)
        assert told.returncode == EXIT_INVALID
        assert "--json=FILE belongs to the command diskspd" in told.stderr
    told = command("tune", "--dry-run", "--threads", "1..99999999", target)
    assert "at most 65536 threads" in told.stderr


CANNOT_RUN = [
    ["repeat", "-w0", "-d1", "-W0"],
    ["sweep", "--depth", "1,2", "-r", "-b4K"],
    ["tune", "--depth", "1,2", "-r", "-b4K"],
    ["compare", "--run", "-o1", "-o2", "-d1", "-W0"],
]


@pytest.mark.parametrize("words", CANNOT_RUN, ids=" ".join)
def test_what_a_dry_run_refused_began_and_failed_for_real(words: list[str], tmp_path: Path) -> None:
    """Both refuse alike a target that no load can use, before they foretell or keep anything."""
    (tmp_path / "small.dat").write_bytes(bytes(512))
    for name in ("missing.img", "small.dat"):
        dry = command(*words, "--dry-run", tmp_path / name)
        real = command(*words, tmp_path / name)
        assert (dry.returncode, dry.stdout) == (EXIT_INVALID, ""), dry.stderr
        assert (real.returncode, real.stdout, real.stderr) == (EXIT_INVALID, "", dry.stderr)
        assert dry.stderr.startswith("error: ")
        assert dry.stderr.count("\n") == 1
    with Store(os.environ["FATHOM_STORE"]) as store:
        assert not store.runs.count()
        assert not store.experiments.list()


def test_a_link_that_leads_to_nothing_was_a_misspelling_of_itself(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("gone.dat")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("link", "loop"):
        for more in ([], ["--dry-run"]):
            done = command("sweep", *more, "--depth", "1,2", tmp_path / name)
            assert done.returncode == EXIT_INVALID
            assert f"{name} is a link that leads to nothing" in done.stderr
            assert "did you mean" not in done.stderr


def test_a_dry_run_says_what_preconditioning_takes(tmp_path: Path) -> None:
    target = tmp_path / "target.dat"
    target.write_bytes(bytes(8 << 20))
    words = ["repeat", "--dry-run", "--precondition", "wipc", "-d1", "-W0"]
    assert "WIPC: 16 MiB are written." in command(*words, target).stdout
    told = json.loads(command(*words, "--json", target).stdout)["precondition"]
    assert (told["kind"], told["most_bytes"]) == ("wipc", 16 << 20)
    refused = command("repeat", "--dry-run", "--precondition", "wipc", "-c1M", tmp_path / "new")
    assert (refused.returncode, "leave out -c" in refused.stderr) == (EXIT_INVALID, True)


def test_a_scratch_file_was_made_smaller_than_requested_without_a_word(tmp_path: Path) -> None:
    words = ["assess", "--dry-run", "--size"]
    told = command(*words, "100T", tmp_path)
    assert told.returncode == 0
    assert "not 100 TiB: as much room as it takes has to stay free" in told.stderr
    assert "note:" not in command(*words, "64M", tmp_path).stderr
