"""Text of others - labels, names, models, imported lines - gives no commands to what shows it."""

from __future__ import annotations

import csv
import json
import os
import pty
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from commands import COMMAND, command
from fathom._export import write_file
from fathom.cli.views.plain import plain
from fathom.store import Store
from hypothesis import given
from hypothesis import strategies as st
from store_worker import RESULT

# It clears the screen, sets the window's title, writes from right to left, and is a formula, a tag
# and a path.
EVIL = (
    "=cmd|' /c calc'!A1 \x1b[2J\x1b]0;owned\x07 \u202eevil <script>alert(1)</script> ../../x\x9b2J"
)
SHOWN = "=cmd|' /c calc'!A1 \\x1b[2J\\x1b]0;owned\\x07 \\u202eevil <script>alert(1)</script>"


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """Return a folder, and a store with a run and an experiment that have such names."""
    with Store(os.environ["FATHOM_STORE"]) as store:
        experiment = store.experiments.begin("repeat", EVIL, {"arguments": [EVIL]}, [(EVIL, {})])
        store.runs.save(RESULT, [EVIL], label=EVIL, failures=[EVIL], experiment_id=experiment)
        store.experiments.finish(experiment, "failed", failure=EVIL)
    with closing(sqlite3.connect(os.environ["FATHOM_STORE"])) as raw, raw:
        for column in ("path", "device_model", "device_serial", "file_system"):
            raw.execute(f"UPDATE run_targets SET {column} = ?", [EVIL])  # noqa: S608
    return tmp_path


VIEWS = (
    ["list"],
    ["list", "--experiments"],
    ["show", "1"],
    ["show", "e1"],
    ["compare", "1", "1", "--any-load"],
    ["report", "1", "--terminal"],
    ["workloads", EVIL],
    ["baseline", "set", EVIL, "1"],
    ["show", EVIL],
    ["import", EVIL],
    ["run", EVIL, "-d1"],
)


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: " ".join(view[:2])[:12])
def test_nothing_that_is_shown_is_a_command_to_the_terminal(evil: Path, view: list[str]) -> None:
    done = command(*view, cwd=evil)
    told = done.stdout + done.stderr
    assert "Traceback" not in told
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(told)
    if view[0] in ("list", "show") and EVIL not in view:
        assert SHOWN in told


def test_a_terminal_gets_colours_of_ours_and_no_commands_of_others(evil: Path) -> None:
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "show", "1"],
        stdout=follower,
        stderr=follower,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "200"},
        cwd=evil,
    )
    os.close(follower)
    told = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        told += piece
    os.close(leader)
    assert process.wait() == 0
    assert b"\x1b[" in told
    assert b"\x1b[2J" not in told
    assert b"\x1b]0;" not in told
    assert b"\\x1b[2J" in told


def test_break_8_imported_lines_are_shown_as_plain_text(tmp_path: Path) -> None:
    source = tmp_path / "old.txt"
    lines = ["Command Line: diskspd \x1b[2J", "Results for timespan 1:", "\x1b[2J \x07"]
    source.write_text("\n".join(lines))
    done = command("import", "--all-lines", str(source))
    told = done.stdout + done.stderr
    assert "\\x07" in told
    assert not {"\x1b", "\x07"} & set(told)


def test_a_page_takes_no_tags_of_others(evil: Path) -> None:
    done = command("report", "1", "-o", "r.html", cwd=evil)
    assert done.returncode == 0, done.stderr
    page = (evil / "r.html").read_text()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    # The names of files come from nobody's label.
    assert [one.name for one in evil.iterdir()] == ["r.html"]
    done = command("report", "1", "--format", "svg", "-o", "pictures", cwd=evil)
    names = {one.name for one in evil.rglob("*")}
    assert all(name.replace("-", "").replace(".", "").isalnum() for name in names)


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_of_an_export_is_a_formula(tmp_path: Path, begin: str) -> None:
    import openpyxl  # noqa: PLC0415 - Slow to import.

    rows = [{"label": f"{begin}1+1", "iops": -5.5, "ios": -3, "plain": "a=b", "none": None}]
    write_file(rows, "csv", tmp_path / "x.csv")
    text = (tmp_path / "x.csv").read_bytes().decode().replace("\r", "<return>")
    (row,) = csv.DictReader(text.splitlines())
    begin = begin.replace("\r", "<return>")
    assert row["label"] == f"'{begin}1+1"
    # Numbers and other texts stay as they are.
    assert (row["iops"], row["ios"], row["plain"], row["none"]) == ("-5.5", "-3", "a=b", "")
    write_file(rows, "xlsx", tmp_path / "x.xlsx")
    book = openpyxl.load_workbook(tmp_path / "x.xlsx")
    assert book["fathom"]["A2"].data_type == "s"


def test_names_that_are_no_text_are_told_and_labels_are_kept(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/x-\xff.dat"
    good = tmp_path / "x.dat"
    for path in (Path(os.fsdecode(name)), good):
        path.write_bytes(os.urandom(1 << 20))
    load = ["-b4K", "-d1", "-W0", "--stop-ios=100"]
    run = [os.fsencode(one) for one in (*COMMAND, "run", *load, "--label")]
    refused = subprocess.run([*run, b"night", name], capture_output=True, check=False)
    assert refused.returncode == 3
    assert b"x-\\udcff.dat' is no UTF-8" in refused.stderr
    done = subprocess.run([*run, b"night \xff", good], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "night \\udcff" in command("list").stdout


@pytest.mark.parametrize("number", ["9" * 19, "9" * 40])
def test_numbers_beyond_those_of_a_store_are_told(number: str) -> None:
    for reference in (number, f"e{number}"):
        done = command("show", reference)
        assert (done.returncode, done.stdout) == (3, "")
        assert "Traceback" not in done.stderr


def test_a_load_is_exported_as_a_whole_or_not_at_all(evil: Path) -> None:
    with Store(os.environ["FATHOM_STORE"]) as store:
        run = store.runs.save(RESULT, ["-b4K", "-r", "x.dat"])
    out, before = evil / "x.fio", evil / "before"
    out.write_text("mine\n")
    os.link(out, before)
    export = ["export", str(run), "--format", "fio", "-o", str(out)]
    assert command(*export).returncode == 1
    assert out.read_text() == "mine\n"
    assert command(*export, "--overwrite").returncode == 0
    assert "bs=4" in out.read_text()
    # The old file was not written to: another name of it still has its content.
    assert before.read_text() == "mine\n"


@given(st.text())
def test_plain_text_has_no_commands_and_can_be_printed(text: str) -> None:
    shown = plain(text)
    assert shown.encode().decode() == shown
    assert all(one in "\t\n" or one.isprintable() for one in shown if one.isascii())
    assert not any("\x7f" <= one <= "\x9f" for one in shown)
    assert plain(shown) == shown
    if text.isascii() and text.isprintable():
        assert shown == text


def test_a_name_of_a_target_began_a_line_of_its_own(tmp_path: Path) -> None:
    """So it could forge an answer beside the question of ``prepare adopt``."""
    path = tmp_path / "a\nSAFE: yes.dat"
    path.write_bytes(b"my diary\n" * 9999)
    for words in (
        ["prepare", "look"],
        ["prepare", "adopt", "--lose", "x"],
        ["prepare", "fill", "--size", "1M"],
        ["run", "-w100", "-d1", "-W0"],
        ["assess"],
    ):
        done = command(*words, str(path), environment={"FATHOM_STORE": str(tmp_path / "s.sqlite")})
        lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        assert [one for one in lines if one.startswith("SAFE")] == [], words
        assert any("a\\nSAFE: yes.dat" in one for one in lines), words


def test_a_folder_whose_name_is_no_text_hides_nothing(tmp_path: Path) -> None:
    """Results, store and journal of a run in such a folder are whole, and name its target."""
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff\xfe"))
    folder.mkdir()
    load = ["-c1M", "-b4K", "-d1", "-W0", "-w50", "--stop-ios=200", "--verify"]
    done = command("run", "--json", *load, "--verify-journal=j.bin", "x.dat", cwd=folder)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["time_spans"][0]["targets"][0]["path"] == "x.dat"
    assert result["verification"]["journal"] == "j.bin"
    listed = command("list", "--json", cwd=folder)
    assert [one["target_path"] for one in json.loads(listed.stdout)] == ["x.dat"]
    # Only the journal is left: what a killed run leaves has another name.
    assert sorted(one.name for one in folder.iterdir()) == ["j.bin", "x.dat"]
