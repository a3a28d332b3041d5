"""Whatever the streams, the locale and the terminal are, each verb ends with words and its code."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import IO, TYPE_CHECKING

import commands
import pytest
from commands import command
from fabricated import fabricated
from fathom.cli.verbs import VERBS
from fathom.store import Store
from reported import saved_sweep
from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "測定 ß \udcff.dat"
# Each verb, with arguments that need no time; one that is not named here has none.
CALLS: dict[str, list[list[str]]] = {
    **{name: [[]] for name in VERBS},
    "run": [["-b4K", "-d1", "missing.dat"]],
    "repeat": [["-b4K", "-d1", "--pilot", "2", "--most", "1", "missing.dat"]],
    "sweep": [["--dry-run", "--depth", "1,2", "-c1M", NAME]],
    "tune": [["--dry-run", "-c1M", NAME]],
    "assess": [["--time", "1s", "."]],
    "prepare": [["look", NAME], ["look", "missing"]],
    "compare": [["1,2", "3,4"], ["1", "99"]],
    "gate": [
        ["1", "--require", "iops>1"],
        ["1", "--require", "max<1ns", "--format", "csv"],
        ["1", "--require", "iops>1", "--junit", "-"],
        ["--file", "missing"],
    ],
    "trend": [[], ["1"], ["1", "--metric", "p99", "--format", "markdown"], ["--alert"]],
    "schedule": [
        ["add", "測", "--print", "--", "run", NAME],
        ["add", "n", "--cron", "--", "run", "測定.dat"],
        ["list", "--folder", "."],
        ["remove", "測", "--folder", "."],
    ],
    "translate": [["--to", "fio", "-b8K", "-r", NAME], []],
    "workloads": [[], ["sql-oltp-70"]],
    "list": [[], ["--experiments"], ["--format", "csv"], ["--json"]],
    "show": [["1"], ["e1"], ["e9"]],
    "audit": [[]],
    "import": [["-"], ["missing"]],
    "export": [[], ["--format", "json"]],
    "report": [["e1", "-o", "-", "--format", "markdown"]],
    "plot": [["load-curve", "e1", "-o", "/nonexistent/x.svg"]],
    "delete": [["99", "--yes"]],
    "store": [["copy", "missing.sqlite", "to.sqlite"]],
    "density": [["--databases", "0", "."]],
    "resources": [["missing.xml"], []],
    "lun": [["list", "--on", "lio"], ["setup", "--explain"]],
    "fleet": [["show", "127.0.0.1:1", "--tls", "missing"], ["certificates"]],
    "scale": [["--fleet", "local:1", "-c1M", NAME], ["-b4K", NAME]],
    "serve": [["--listen", "0.0.0.0:0"], ["user", "list"]],
    "doctor": [[]],
    "baseline": [["list"], ["remove", "none"]],
}
PLAIN: dict[str, str] = {}
# A terminal of so many columns is the standard output; the other streams stay.
ON_A_TERMINAL = """
import fcntl, pty, struct, termios
# They would be believed before the terminal.
os.environ.pop("COLUMNS", None), os.environ.pop("LINES", None)
kept = os.dup(0), os.dup(2)
child, ours = pty.fork()
if child:
    try:
        while some := os.read(ours, 1 << 16):
            os.write(1, some)
    except OSError:  # Nobody has the terminal any more.
        pass
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
os.dup2(kept[0], 0), os.dup2(kept[1], 2)
fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("4H", 24, %d, 0, 0))
"""
_COLOUR = re.compile(r"\x1b\[[\d;]*(?:3|4|9|10)\d[;m]")
_COMMAND = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
SITUATIONS: dict[str, tuple[str, dict[str, str]]] = {
    "no input": ("import sys; sys.stdin = None", PLAIN),
    "no output": ("import sys; sys.stdout = None", PLAIN),
    "no error output": ("import sys; sys.stderr = None", PLAIN),
    "no stream": ("import sys; sys.stdin = sys.stdout = sys.stderr = None", PLAIN),
    "broken pipe": ("r, w = os.pipe(); os.close(r); os.dup2(w, 1); os.close(w)", PLAIN),
    "full disk": ("os.dup2(os.open('/dev/full', os.O_WRONLY), 1)", PLAIN),
    **{
        f"encoding {one}": (
            f"import sys; [x.reconfigure(encoding={one!r}) for x in (sys.stdout, sys.stderr)]",
            PLAIN,
        )
        for one in ("ascii", "latin-1", "cp437", "gb18030", "iso2022_jp")
    },
    **{
        f"locale {one}": ("", {"LC_ALL": one, "LANG": one})
        for one in ("de_DE.UTF-8", "tr_TR.UTF-8", "ja_JP.UTF-8")
    },
    "40 columns": (ON_A_TERMINAL % 40, {"TERM": "xterm-256color"}),
    "60 columns": (ON_A_TERMINAL % 60, {"TERM": "xterm-256color"}),
    "dumb": (ON_A_TERMINAL % 80, {"TERM": "dumb"}),
    "no colour": (ON_A_TERMINAL % 80, {"TERM": "xterm-256color", "NO_COLOR": "1"}),
    "no root": ("os.setgroups([]); os.setgid(65534); os.setuid(65534)", {"HOME": "/nonexistent"}),
}
# Closed for good: what they say cannot be read here.
UNREAD = ("no error output", "no stream")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a store whose names no single terminal can show."""
    folder = tmp_path_factory.mktemp("streams")
    with Store(folder / "store.sqlite") as store:
        saved_sweep(store, {"depth": "1,2"})
        for at in range(4):
            result = fabricated(rates=1000.0 + at % 2, latency_ns=100.0, path=NAME, depth=8)
            store.runs.save(result, ["-o8", "x"], label="測定 Ω")
    (folder / os.fsencode(NAME).decode("utf-8", "surrogateescape")).write_bytes(b"\1" * 65536)
    # Who has no rights reads it, too.
    for one in (folder, *folder.parents):
        if one.stat().st_uid == os.getuid() and str(one).count("/") > 1:
            one.chmod(one.stat().st_mode | 0o055)
    (folder / "store.sqlite").chmod(0o644)
    return folder


def test_each_verb_is_called() -> None:
    assert {*CALLS} == {*VERBS}


@pytest.fixture(autouse=True)
def _any_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read what is written in whatever encoding."""

    def text(stream: IO[bytes]) -> str:
        stream.seek(0)
        return stream.read().decode(errors="replace")

    monkeypatch.setattr(commands, "_text", text)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_each_verb_ends_with_words_and_its_code(situation: str, place: Path) -> None:
    before, more = SITUATIONS[situation]
    if situation == "no root" and os.getuid() != 0:
        pytest.skip("these tests run without root already")
    environment = {"FATHOM_STORE": str(place / "store.sqlite"), **more}
    for verb, calls in CALLS.items():
        for words in calls:
            done = command(
                verb, *words, cwd=place, before=f"import os; {before}", environment=environment
            )
            told = (situation, verb, words, done.returncode, done.stderr[-2000:])
            assert done.returncode in (0, 1, 2, 3, 5, 6, 7), told
            assert "Traceback" not in done.stderr, told
            assert "Errno" not in done.stderr.replace("[Errno 28]", ""), told
            if done.returncode and situation not in UNREAD:
                # What a verb found may be said where its figures are.
                assert done.stderr.strip() or verb == "gate", told
            if "pty" in before:
                _check_drawn(done.stdout, environment, told)


def _check_drawn(text: str, environment: Mapping[str, str], told: tuple[object, ...]) -> None:
    """Tables fit the terminal, and nothing is drawn with what it does not have."""
    if environment["TERM"] == "dumb":
        assert "\x1b" not in text, told
    if "NO_COLOR" in environment:
        assert not _COLOUR.search(text), told
    width = {"40": 40, "60": 60}.get(str(told[0])[:2], 80)
    lines = _COMMAND.sub("", text).splitlines()
    drawn = [line for line in lines if any(one in line for one in "│┃━─")]
    assert all(cell_len(line) <= width for line in drawn), (told, drawn)


@pytest.mark.parametrize(
    "before",
    [
        "r, w = os.pipe(); os.close(r); os.dup2(w, 2)",
        "os.dup2(os.open('/dev/full', os.O_WRONLY), 2)",
        "os.dup2(os.open('/dev/null', os.O_RDONLY), 2)",
    ],
    ids=["its reader has gone", "it is on a full disk", "it cannot be written"],
)
def test_an_error_output_that_takes_nothing_ends_no_measurement_and_changes_no_code(
    before: str, place: Path, tmp_path: Path
) -> None:
    small = ["-c64K", "-b4K", "-d1", "-W0", "--stop-ios=5", str(tmp_path / "x.dat")]
    calls = {
        ("repeat", "--pilot", "2", "--most", "2", *small): 0,
        ("prepare", "fill", "--size", "1M", str(tmp_path / "new.dat")): 0,
        ("sweep", "--write", "0,50", "--dry-run", "-c1M", "x.dat"): 0,
        ("gate", "1", "--require", "iops"): 3,
        ("run", "--dry-run", "-w100", str(Path(__file__))): 2,
        ("lst",): 3,
    }
    environment = {"FATHOM_STORE": str(tmp_path / "own.sqlite")}
    for words, code in calls.items():
        store = {"FATHOM_STORE": str(place / "store.sqlite")} if words[0] == "gate" else environment
        done = command(*words, cwd=tmp_path, before=f"import os; {before}", environment=store)
        assert done.returncode == code, words
    with Store(tmp_path / "own.sqlite") as kept:
        assert [one.state for one in kept.experiments.list()] == ["complete", "complete"]


def test_numbers_for_machines_have_a_point_in_every_locale(place: Path) -> None:
    environment = {"FATHOM_STORE": str(place / "store.sqlite")}
    plain = command("list", "--format", "csv", cwd=place, environment=environment).stdout
    for locale in ("de_DE.UTF-8", "tr_TR.UTF-8", "ja_JP.UTF-8"):
        more = {**environment, "LC_ALL": locale}
        assert command("list", "--format", "csv", cwd=place, environment=more).stdout == plain
