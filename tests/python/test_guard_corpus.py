"""Files that real programs made, of all kinds, times all ways to write: none is written."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import fathom
import pytest
from commands import command
from fathom import RefusedError
from fathom.experiments.assess import EFFORTS, assess
from fathom.experiments.prepare import Asked, plan_fill
from fathom.runners import NativeRunner
from fathom.store import Store
from other_programs import FORMATS, CannotMakeError, make
from support import diskspd

if TYPE_CHECKING:
    from collections.abc import Iterator

MIB = 1 << 20
# What the issue asks for, beyond the formats of test_guard_kinds.py.
FORMATS_MIN = 60
# Blocks of one byte: the shortest file has no room for larger ones.
SHORT = ("-b1", "-d1", "-W0")
GROWN_BYTES = 2 * MIB


class State(NamedTuple):
    """All that a write would change; what the file system calls a hole may change by itself."""

    size: int
    mtime_ns: int
    ctime_ns: int
    digest: bytes


def state(path: Path) -> State:
    status = path.stat()
    return State(status.st_size, status.st_mtime_ns, status.st_ctime_ns, _digest(path))


def _digest(path: Path) -> bytes:
    """Return a digest of all blocks that are not zeros, and of where they stand."""
    found = hashlib.blake2b()
    with path.open("rb") as file:
        for start, end in _data(file.fileno(), os.fstat(file.fileno()).st_size):
            for at in range(start, end, MIB):
                block = os.pread(file.fileno(), min(MIB, end - at), at)
                if block != bytes(len(block)):
                    found.update(at.to_bytes(8, "little") + block)
    return found.digest()


def _data(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Return what is no hole, in whole blocks of 1 MiB."""
    at = 0
    while at < size:
        try:
            begin = os.lseek(descriptor, at, os.SEEK_DATA)
        except OSError:  # Only a hole is left.
            return
        at = min(size, -(-os.lseek(descriptor, begin, os.SEEK_HOLE) // MIB) * MIB)
        yield begin // MIB * MIB, at


class Corpus:
    """One file for each format, made when it is requested."""

    def __init__(self, folder: Path) -> None:
        """Make them in this folder."""
        self._folder = folder
        self.made = cache(self._made)

    def _made(self, name: str) -> tuple[Path, State] | str:
        """Return the file and how it was made, or why it could not be made."""
        try:
            path = make(name, self._folder / name)
        except CannotMakeError as error:
            return str(error)
        return path, state(path)

    def all_made(self) -> dict[Path, State]:
        """Return the files that could be made, and how they were made."""
        found = [self.made(name) for name in FORMATS]
        return dict(one for one in found if not isinstance(one, str))


@pytest.fixture(scope="module")
def corpus() -> Iterator[Corpus]:
    with TemporaryDirectory(prefix="fathom-corpus-") as folder:
        # One server makes its files as a user of its own.
        Path(folder).chmod(0o711)
        yield Corpus(Path(folder))


@pytest.fixture
def all_made(corpus: Corpus) -> Iterator[dict[Path, State]]:
    """Return all files, and look afterwards whether they are what they were."""
    yield from _unchanged(corpus.all_made())


@pytest.fixture(scope="module")
def grown(corpus: Corpus) -> dict[Path, State]:
    """Return all files, the short ones with a hole behind: some verbs need room."""
    found = {}
    for path, before in corpus.all_made().items():
        if before.size >= GROWN_BYTES:
            found[path] = before
            continue
        longer = path.with_name("grown")
        shutil.copyfile(path, longer)
        os.truncate(longer, GROWN_BYTES)
        found[longer] = state(longer)
    return found


@pytest.fixture
def all_grown(grown: dict[Path, State]) -> Iterator[dict[Path, State]]:
    yield from _unchanged(grown)


def _unchanged(found: dict[Path, State]) -> Iterator[dict[Path, State]]:
    yield found
    changed = [path.parent.name for path, before in found.items() if state(path) != before]
    assert changed == []


def _assert_each_is_named(message: str, paths: dict[Path, State]) -> None:
    assert [path.parent.name for path in paths if f"{path}: the file " not in message] == []


def _command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_of_another_program_is_neither_written_nor_shortened(
    name: str, corpus: Corpus
) -> None:
    found = corpus.made(name)
    if isinstance(found, str):
        pytest.skip(found)
    path, before = found
    smaller, equal = max(1, before.size // 2), before.size
    for way in ("-w100", f"-c{smaller}b", f"-c{equal}b"):
        with pytest.raises(RefusedError):
            fathom.run([way, *SHORT, str(path)])
    assert state(path) == before


def test_at_least_sixty_formats_are_made(corpus: Corpus) -> None:
    wanting = {name: why for name in FORMATS if isinstance(why := corpus.made(name), str)}
    made = len(FORMATS) - len(wanting)
    if made < FORMATS_MIN and any(why.startswith("there is no") for why in wanting.values()):
        pytest.skip(f"programs are missing: {wanting}")
    assert made >= FORMATS_MIN, wanting


@pytest.mark.parametrize(
    "way",
    [
        "-w100",
        "-w1",
        "-c1b",
        "-c1M",
        "-w50 --trim=20",
        "--trim=100",
        "-w100 -Sm",
        "-c1M -b512 -w100 -Sh",
        "-c1M -b512 -w100 --verify",
        "-w100 -r -t2 -o4 -Zr",
    ],
)
def test_no_way_to_write_reaches_one_of_all_at_once(way: str, all_made: dict[Path, State]) -> None:
    with pytest.raises(RefusedError) as refused:
        fathom.run([*SHORT, *way.split(), *map(str, all_made)])
    _assert_each_is_named(str(refused.value), all_made)


def test_the_engines_command_refuses_all(all_made: dict[Path, State]) -> None:
    done = _command(diskspd(), "-w100", *SHORT, *all_made)
    assert done.returncode == 2
    _assert_each_is_named(done.stderr, all_made)


def test_a_profile_writes_none(all_made: dict[Path, State], tmp_path: Path) -> None:
    shown = command("translate", "--to", "xml", "-w100", *SHORT, *all_made)
    assert shown.returncode == 0, shown.stderr
    (tmp_path / "sent.xml").write_text(shown.stdout)
    done = _command(diskspd(), f"-X{tmp_path / 'sent.xml'}")
    assert done.returncode == 2
    _assert_each_is_named(done.stderr, all_made)


# Where each file is looked at by a command of its own: the look is one for all verbs, and others
# meet all formats.
SOME = slice(None, None, 6)


def test_prepare_fills_none(all_grown: dict[Path, State], tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as store:
        for path in list(all_grown)[SOME]:
            with pytest.raises(RefusedError):
                plan_fill(store, path, Asked())


def test_assess_writes_none(all_grown: dict[Path, State], tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as store:
        runner = NativeRunner(store)
        for path in list(all_grown)[SOME]:
            with pytest.raises(RefusedError):
                assess(store, runner, [str(path)], EFFORTS["quick"], writes=True)


@pytest.mark.parametrize(
    "words",
    [
        ["run", *SHORT],
        ["repeat", "-b1"],
        ["sweep", "--depth", "1,2", "--duration", "1", "-b1"],
        ["sweep", "--write", "30,100", "--duration", "1", "-b1"],
    ],
    ids=["run", "repeat", "sweep", "sweep of writes"],
)
def test_no_verb_writes_one(words: list[str], all_made: dict[Path, State]) -> None:
    given = () if "--write" in words else ("-w100",)
    done = command(*words, *given, *all_made)
    assert done.returncode == 2, done.stderr
    _assert_each_is_named(done.stderr, all_made)


def _tool(*words: str | Path) -> None:
    if shutil.which(words[0]) is None:
        pytest.skip(f"there is no {words[0]}")
    subprocess.run(words, check=True, capture_output=True)


def _ours(path: Path) -> Path:
    fathom.run(["-c16M", "-d1", "-W0", "--stop-ios=100", str(path)])
    return path


def test_break_1_a_qcow2_in_a_file_of_ours_is_not_filled(tmp_path: Path) -> None:
    path = _ours(tmp_path / "d.img")
    _tool("qemu-img", "create", "-q", "-f", "qcow2", tmp_path / "q", "64M")
    with path.open("r+b") as file:
        file.write((tmp_path / "q").read_bytes())
    os.truncate(path, 16 * MIB)
    before = state(path)
    done = command("prepare", "fill", path)
    assert (done.returncode, str(path) in done.stderr) == (2, True), done.stderr
    assert state(path) == before


def test_break_1_files_stored_in_an_ext4_made_over_a_file_of_ours_are_kept(tmp_path: Path) -> None:
    path, stored = _ours(tmp_path / "d.img"), tmp_path / "stored"
    stored.mkdir()
    (stored / "diary").write_bytes(b"Dear diary, nobody reads this.\n" * 20_000)
    _tool("mkfs.ext4", "-qF", "-d", stored, path)
    before = state(path)
    for way in ("-w100", "-w1", "-c16M", "-c8M", "-w50 --trim=20", "-w100 -Sm"):
        with pytest.raises(RefusedError):
            fathom.run([*way.split(), *SHORT, str(path)])
    assert command("prepare", "fill", path).returncode == 2
    assert state(path) == before
    _tool("debugfs", "-R", f"dump diary {tmp_path / 'diary'}", path)
    assert (tmp_path / "diary").read_bytes() == (stored / "diary").read_bytes()
