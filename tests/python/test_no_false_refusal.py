"""No command that people publish, and none of our pages, needs permission to write what it made."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from published import documents, lines_in, lines_of_a_page, runnable, short, targets
from reported import called
from support import diskspd

_ROOT = Path(__file__).parents[2]
_SOURCES = _ROOT.parent / "shared" / "sources"
_PAGES = [_ROOT / "README.md", *sorted((_ROOT / "docs").rglob("*.md"))]
_LINES = {page: [*filter(runnable, lines_of_a_page(page))] for page in _PAGES}
_MARK = "user.fathom.made"
_MIB = 1 << 20
# Nothing completed in the measured time: a loaded machine.
_FINISHED = (0, 5)
_REFUSED = 2
_LONGEST_S = 60


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _run(arguments: list[str]) -> tuple[int, str]:
    command = [str(diskspd()), *arguments]
    done = subprocess.run(command, capture_output=True, timeout=_LONGEST_S, check=False)
    return done.returncode, done.stderr.decode()


def _must_run(arguments: list[str]) -> None:
    code, told = _run(arguments)
    assert code in _FINISHED, f"{code}: {' '.join(arguments)}\n{told}"


def _made(arguments: list[str]) -> None:
    """Make what a command takes for granted, as people do it: with the command itself."""
    for name in targets(arguments):
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() and not any(word.startswith("-c") for word in arguments):
            _must_run([f"-c{2 * _MIB}", "-d1", "-W0", "--stop-ios=1", name])


def _killed(arguments: list[str]) -> None:
    """Run a command for long, and kill it once it has written."""
    path = Path(targets(arguments)[0])
    before = path.stat().st_mtime_ns
    long = [word for word in arguments if not word.startswith(("--stop-ios", "-d"))]
    command = [str(diskspd()), "-d60", *long]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        end = time.monotonic() + _LONGEST_S
        while path.stat().st_mtime_ns == before and time.monotonic() < end:
            time.sleep(0.02)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert path.stat().st_mtime_ns != before


def _meanwhile(arguments: list[str], number: int, *, marks: bool) -> None:
    """Do to the files what happens to them between two runs of a person."""
    writes = any(word in arguments for word in ("-w100", "-w50"))
    if writes:
        _killed(arguments)
    for name in targets(arguments):
        if number % 3 == 1:
            Path(name).touch()
        if not marks and _MARK in os.listxattr(name):
            os.removexattr(name, _MARK)


@pytest.mark.parametrize("marks", [True, False], ids=["marks", "no-marks"])
@pytest.mark.parametrize("title", documents())
def test_published_commands_need_no_override(title: str, *, marks: bool) -> None:
    lines = documents()[title] if marks else dict.fromkeys(documents()[title])
    commands = [arguments for line in lines for arguments in short(line)]
    assert commands
    for number, arguments in enumerate(commands):
        _made(arguments)
        _must_run(arguments)
        _meanwhile(arguments, number, marks=marks)
    # Each of these files may be written, too, whatever the command before it did.
    names = {name for arguments in commands for name in targets(arguments)}
    for name in names:
        _must_run(["-w100", "-b4K", "-d1", "-W0", "--stop-ios=40", name])
    _must_be_refused_with_bytes_of_others(min(names))


def _must_be_refused_with_bytes_of_others(name: str) -> None:
    theirs = random.Random(1).randbytes(100)  # noqa: S311 - No secret.
    with Path(name).open("r+b") as file:
        file.seek(70_000)
        file.write(theirs)
    code, told = _run(["-w100", "-b4K", "-d1", "-W0", "--stop-ios=40", name])
    assert code == _REFUSED, told
    assert Path(name).read_bytes()[70_000:70_100] == theirs


def test_the_published_commands_are_all_that_their_documents_have() -> None:
    found = documents()
    lines = [line for of_one in found.values() for line in of_one]
    assert len(found) == 5
    assert len(lines) > 30
    assert sum(len([*short(line)]) for line in lines) >= len(lines) + 4
    if not _SOURCES.is_dir():
        pytest.skip("the documents themselves are not part of the repository")
    texts = [path.read_text(errors="replace") for path in sorted(_SOURCES.glob("*.txt"))]
    assert [lines_in(text) for text in texts] == [*found.values()]


@pytest.mark.parametrize("page", [page for page in _PAGES if _LINES[page]], ids=lambda p: p.stem)
@pytest.mark.filterwarnings("ignore::UserWarning")  # What a run warns of.
def test_commands_of_a_page_need_no_override(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = [(line, arguments) for line in _LINES[page] for arguments in short(line)]
    for number, (line, arguments) in enumerate(commands):
        _made(arguments)
        if line.startswith("fathom"):
            assert called(monkeypatch, "run", *arguments) in _FINISHED, line
        else:
            _must_run(arguments)
        for name in targets(arguments):
            if number % 2:
                Path(name).touch()
            _must_run(["-w100", "-b4K", "-d1", "-W0", "--stop-ios=40", name])


def test_pages_with_commands_are_found() -> None:
    lines = [line for page in _PAGES for line in _LINES[page]]
    assert len(lines) > 15
    assert {"README", "tutorial", "lab"} <= {page.stem for page in _PAGES if _LINES[page]}


@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.1, 0.3])
def test_a_file_whose_making_was_killed_is_made_and_written_again(seconds: float) -> None:
    path, load = Path("test.dat"), ["-w50", "-b8K", "-r", "-W0"]
    command = [str(diskspd()), f"-c{256 * _MIB}", *load, "-d60", str(path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        end = time.monotonic() + _LONGEST_S
        while not path.exists() and time.monotonic() < end:
            time.sleep(0.001)
        time.sleep(seconds)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    if path.stat().st_size:  # An empty file has no room for a block.
        _must_run([*load, "-d30", "--stop-ios=40", str(path)])
    _must_run([f"-c{16 * _MIB}", *load, "-d30", "--stop-ios=40", str(path)])
