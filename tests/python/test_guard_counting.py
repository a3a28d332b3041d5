"""Bytes that count upwards are ours only where an I/O of ours can have left them."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import fathom
import pytest
from fathom import RefusedError

if TYPE_CHECKING:
    from pathlib import Path

_ALPHABET = bytes(range(ord("A"), ord("Z") + 1))
_PRINTABLE = bytes(range(32, 127))
_TABLE = bytes(range(256))
_SIZE = "256K"
_UNTOLD = "nothing proves any more whose they are"


def _written(path: Path, *words: str) -> None:
    fathom.run(["-w100", "-d1", "-W0", f"-c{_SIZE}", *words, "--stop-ios=30", str(path)])


@pytest.mark.parametrize("blocks", [["-b4K", "-r"], ["-b1000", "-r1000"]], ids=["4 KiB", "1000"])
@pytest.mark.parametrize("at", [0, 5002])
@pytest.mark.parametrize(
    "theirs", [_ALPHABET, _PRINTABLE, _TABLE[1:]], ids=["alphabet", "printable", "table"]
)
def test_tables_of_characters_are_not_taken_for_the_counting_pattern(
    tmp_path: Path, blocks: list[str], at: int, theirs: bytes
) -> None:
    path = tmp_path / "t.dat"
    _written(path, *blocks)
    with path.open("r+b") as file:
        file.seek(at)
        file.write(theirs)
    after = path.read_bytes()
    with pytest.raises(RefusedError, match="neither diskspd nor fathom made"):
        _written(path, *blocks)
    assert path.read_bytes() == after


@pytest.mark.parametrize(
    "blocks",
    [
        ["-b4K", "-r"],
        ["-b512", "-r512"],
        ["-b1000", "-r1000"],
        ["-b48", "-r16"],
        ["-b4K", "-r16"],
        ["-b4K", "-B333"],
        ["-b4K", "-t2", "-T1000"],
        ["-b512", "-s4K"],
    ],
    ids=" ".join,
)
def test_what_our_own_runs_count_is_ours_without_its_state(
    tmp_path: Path, blocks: list[str]
) -> None:
    path = tmp_path / "t.dat"
    _written(path, *blocks)
    path.touch()
    _written(path, *blocks)
    _written(path, "-b8K", "-r")
    path.touch()
    _written(path, *blocks)


@pytest.mark.parametrize(
    "table", [_ALPHABET, bytes(range(128)), bytes(range(128, 256)), _TABLE], ids=len
)
def test_a_table_is_somebodys_where_no_run_of_ours_counted(tmp_path: Path, table: bytes) -> None:
    path = tmp_path / "t.dat"
    for words in (["-b48", "-r16", "-Z"], ["-b4K", "-r16", "-Z", "--trim=20"]):
        _written(path, *words)
    with path.open("r+b") as file:
        file.seek(8208)
        file.write(table)
    with pytest.raises(RefusedError, match="neither diskspd nor fathom made"):
        _written(path, "-b4K")


def test_an_alphabet_in_a_copy_that_our_runs_went_on_with_is_somebodys(tmp_path: Path) -> None:
    path = tmp_path / "t.dat"
    _written(tmp_path / "first.dat", "-b4K", "-Zr")
    shutil.copyfile(tmp_path / "first.dat", path)
    _written(path, "-b4K", "-Zr")
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(_ALPHABET)
    with pytest.raises(RefusedError, match="neither diskspd nor fathom made"):
        _written(path, "-b4K")


def _within_an_io(held: bytes, theirs: bytes) -> int:
    """Return a multiple of 16 where other bytes count, before the place and behind it, too."""
    length = len(theirs)
    for at in range(4096, len(held) - 2 * length, 16):
        around = held[at - 16 : at + length + 16]
        wanted = bytes((around[0] + index) % 256 for index in range(len(around)))
        # Neither begins nor ends an I/O of 4096 or 1040 bytes there, by what its bytes are.
        if around == wanted and not {held[at], held[at + length]} & {0, 16, theirs[0]}:
            return at
    message = "no I/O is so long"
    raise AssertionError(message)


@pytest.mark.parametrize(
    "blocks", [[["-b4K", "-r16"]], [["-b4K", "-r16"], ["-b1040", "-r16"]]], ids=["one", "two"]
)
@pytest.mark.parametrize(
    "theirs", [bytes(range(32, 128)), _TABLE, _TABLE[64:96], bytes(range(128))], ids=len
)
def test_a_table_that_begins_and_ends_at_multiples_within_an_io_is_somebodys(
    tmp_path: Path, blocks: list[list[str]], theirs: bytes
) -> None:
    path = tmp_path / "t.dat"
    for words in blocks:
        _written(path, *words)
    at = _within_an_io(path.read_bytes(), theirs)
    with path.open("r+b") as file:
        file.seek(at)
        file.write(theirs)
    after = path.read_bytes()
    with pytest.raises(RefusedError, match=_UNTOLD):
        _written(path, "-b4K", "-r16")
    assert path.read_bytes() == after


def _put(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


@pytest.mark.parametrize("length", [48, 128, 256])
def test_a_table_that_is_byte_for_byte_an_io_is_not_lost(tmp_path: Path, length: int) -> None:
    path = tmp_path / "t.dat"
    _written(path, f"-b{length}", "-r16")
    held, table = path.read_bytes(), _TABLE[:length]
    at = next(at for at in range(0, len(held), 16) if held[at:][:length] != table)
    _put(path, at, table)
    after = path.read_bytes()
    with pytest.raises(RefusedError, match=_UNTOLD):
        _written(path, f"-b{length}", "-r16")
    assert path.read_bytes() == after


def test_a_table_that_is_a_part_of_an_io_and_meets_it_at_both_ends_is_not_lost(
    tmp_path: Path,
) -> None:
    path, length = tmp_path / "t.dat", 128
    _written(path, "-b4K", "-r16")
    before = path.read_bytes()
    _written(path, f"-b{length}", "-r16", "-Zr")
    held = path.read_bytes()

    def is_within(at: int) -> bool:
        end = at + length
        around = before[at - 16 : end + 16]
        is_beside = held[at - 16 : at] == around[:16] and held[end : end + 16] == around[-16:]
        counts = bytes((around[0] + index) % 256 for index in range(len(around))) == around
        return counts and is_beside and held[at:end] != before[at:end]

    at = next(filter(is_within, range(16, len(held) - length - 16)))
    _put(path, at, before[at : at + length])
    after = path.read_bytes()
    with pytest.raises(RefusedError, match=_UNTOLD):
        _written(path, "-b4K", "-r16")
    assert path.read_bytes() == after


def test_a_table_over_a_stamp_does_not_make_the_sector_one_that_merely_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The journal is kept where one works.
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "t.dat"
    _written(path, "-b4K")
    _written(path, "-b8K", "--verify")
    at = next(at for at in range(0, path.stat().st_size, 512) if _stamp(path, at) == b"FathomS1")
    for table in (_TABLE[:144], bytes(range(128, 256)) + _TABLE[:16]):
        _put(path, at, table)
        after = path.read_bytes()
        with pytest.raises(RefusedError):
            _written(path, "-b4K")
        assert path.read_bytes() == after


def _stamp(path: Path, at: int) -> bytes:
    return path.read_bytes()[at + 8 : at + 16]


@pytest.mark.parametrize("blocks", [["-b4K", "-r16"], ["-b8", "-r8"]], ids=" ".join)
def test_a_sum_shows_that_nobody_changed_what_content_does_not_prove(
    tmp_path: Path, blocks: list[str]
) -> None:
    path, copy = tmp_path / "t.dat", tmp_path / "copy"
    _written(path, *blocks)
    subprocess.run([shutil.which("cp") or "cp", "-a", path, copy], check=True)
    path.chmod(0o600)
    path.touch()
    shutil.copyfile(copy, tmp_path / "bare")
    for one in (path, copy):
        _written(one, *blocks)
    path.touch()
    _put(path, 5000, bytes([path.read_bytes()[5000] ^ 1]))
    for one in (path, tmp_path / "bare"):
        with pytest.raises(RefusedError):
            _written(one, *blocks)
