"""A file is ours, empty or theirs: the breaks found from outside, and other programs' data."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import marshal
import mmap
import os
import pickle
import random
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import fathom
import numpy as np
import pytest
from fathom import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1 << 20
_WORDS = b"Dear Ada, the engine weaves patterns just as the loom weaves flowers.\n" * 100


def _made(path: Path) -> Path:
    fathom.run(["-c16M", "-d1", "-W0", "--stop-ios=100", str(path)])
    return path


def _must_be_refused(path: Path, *ways: str) -> None:
    """Nothing of the file changes, whichever way it would be written."""
    before = (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ctime_ns)
    for way in ways or ("-w100", "-w1", "-c16M", "-c8M", "-w50 --trim=20", "-w100 -Sm"):
        with pytest.raises(RefusedError):
            fathom.run([*way.split(), "-b512", "-d1", "-W0", str(path)])
    status = path.stat()
    assert (path.read_bytes(), status.st_mtime_ns, status.st_ctime_ns) == before


def _tool(*command: str) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]}")
    subprocess.run(command, check=True, capture_output=True)


def test_break_1_a_file_system_that_was_made_in_a_file_of_ours_is_theirs(tmp_path: Path) -> None:
    path = _made(tmp_path / "d.img")
    _tool("mkfs.ext4", "-qF", str(path))
    _must_be_refused(path)


def test_break_1_a_swap_area_in_a_file_of_ours_is_theirs(tmp_path: Path) -> None:
    path = _made(tmp_path / "d.img")
    _tool("mkswap", str(path))
    _must_be_refused(path)


def test_break_1_a_database_in_a_copy_that_carries_the_mark_is_theirs(tmp_path: Path) -> None:
    path, copy = _made(tmp_path / "d.img"), tmp_path / "copy"
    _tool("cp", "-a", str(path), str(copy))
    with closing(sqlite3.connect(tmp_path / "db")) as database, database:
        database.execute("create table people(name text)")
    with copy.open("r+b") as file:
        file.write((tmp_path / "db").read_bytes())
    os.utime(copy, ns=(path.stat().st_mtime_ns, path.stat().st_mtime_ns))
    _must_be_refused(copy)


def test_a_few_bytes_of_somebody_with_the_old_time_are_seen(tmp_path: Path) -> None:
    path = _made(tmp_path / "d.img")
    status = path.stat()
    with path.open("r+b") as file:
        file.seek(5 * MIB + 7)
        file.write(_WORDS[:24])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    _must_be_refused(path)


def test_a_file_of_ours_stays_ours_when_it_is_touched_renamed_linked_and_copied(
    tmp_path: Path,
) -> None:
    path = _made(tmp_path / "d.img")
    for number, load in enumerate(("-Zr", "-Z1M", "--compress=50 --dedupe=20", "-Z", "")):
        moved = path.rename(tmp_path / f"{number}.img")
        moved.touch()
        (tmp_path / f"link{number}").hardlink_to(moved)
        shutil.copyfile(moved, path)
        words = ["-w60", "-r", "-b8K", *load.split(), "-d1", "-W0", "--stop-ios=200"]
        fathom.run([*words, str(moved)])
        fathom.run([*words, str(path)])


def _of_others() -> dict[str, bytes]:
    generator = random.Random(1)  # noqa: S311 - No secret.
    tar, zipped, npy, npz = io.BytesIO(), io.BytesIO(), io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        member = tarfile.TarInfo("a")
        member.size = len(_WORDS)
        archive.addfile(member, io.BytesIO(_WORDS))
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("a", _WORDS)
    np.save(npy, np.arange(9000))
    np.savez(npz, a=np.arange(9000))
    noise = generator.randbytes(64 << 10)
    return {
        "tar": tar.getvalue(),
        "zip": zipped.getvalue(),
        "npy": npy.getvalue(),
        "npz": npz.getvalue(),
        "gzip": gzip.compress(noise),
        "bzip2": bz2.compress(noise),
        "xz": lzma.compress(noise),
        "lzma": lzma.compress(noise, format=lzma.FORMAT_ALONE),
        "pickle": pickle.dumps(list(range(9000))),
        "marshal": marshal.dumps(list(range(9000))),
        "json": json.dumps(list(range(9000))).encode(),
        "random": noise,
        "base64": base64.b64encode(noise),
        "utf-8": _WORDS,
        "utf-16": _WORDS.decode().encode("utf-16"),
        "utf-32": _WORDS.decode().encode("utf-32"),
        "ok": b"ok\n" + bytes(4093),
        "one byte": b"x" + bytes(4095),
        "one byte again and again": b"x" * 4096,
        "small numbers": np.arange(9000, dtype=">u2").tobytes(),
        "flags": bytes(generator.randrange(2) for _ in range(9000)),
        "der": bytes.fromhex("30820122300d06092a864886f70d01010105000382010f00") + noise[:4000],
        "random behind zeros": bytes(MIB) + noise,
        "qcow2": b"QFI\xfb\0\0\0\x03" + bytes(MIB),
    }


@pytest.mark.parametrize("name", sorted(_of_others()))
def test_break_5_data_of_other_programs_are_refused_in_every_way_to_write(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "theirs"
    path.write_bytes(_of_others()[name])
    size = path.stat().st_size
    _must_be_refused(path, "-w100", "-w1", f"-c{size}b", "-c4K", "-w50 --trim=20", "-w100 -Sm")


def test_an_adopted_file_is_written_until_somebody_changes_it(tmp_path: Path) -> None:
    from fathom.experiments.prepare import adopt  # noqa: PLC0415 - Loads NumPy.

    path = tmp_path / "theirs"
    path.write_bytes(random.Random(1).randbytes(MIB))  # noqa: S311 - No secret.
    with pytest.raises(RefusedError, match="was not given"):
        adopt(path, lose="other")
    adopt(path, lose="theirs")
    for _ in range(2):
        fathom.run(["-w100", "-d1", "-W0", "--stop-ios=3", str(path)])
    with path.open("r+b") as file:
        file.write(_WORDS)
    _must_be_refused(path, "-w100", "-c1M")


def _splitmix(words: int, seed: int = 42) -> bytes:
    """Return what the generator gives of which others know the constants, too."""
    with np.errstate(over="ignore"):
        state = np.arange(1, words + 1, dtype=np.uint64) * np.uint64(0x9E37_79B9_7F4A_7C15)
        state += np.uint64(seed)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
        return (state ^ (state >> np.uint64(31))).tobytes()


@pytest.mark.parametrize(
    "data",
    [
        b"y\n" * 256,
        b"SECRETS!" * 64,
        b"\xff" * 512,
        _splitmix(8192),
        _splitmix(512),
        _splitmix(4),
        b"ABCDEFGHIJKLMNOP",
        bytes(range(256)),
    ],
    ids=["yes", "word", "ones", "splitmix", "block", "seed", "alphabet", "table"],
)
def test_data_with_a_rule_of_somebody_else_are_theirs(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "f"
    path.write_bytes(data)
    for way in ("-w100 -b1", "-w1 -b1"):
        with pytest.raises(RefusedError):
            fathom.run([*way.split(), "-d1", "-W0", str(path)])
    assert path.read_bytes() == data


def test_a_file_that_fed_its_own_writes_does_not_prove_itself(tmp_path: Path) -> None:
    path, other, data = tmp_path / "s", tmp_path / "o", random.Random(3).randbytes(4096)  # noqa: S311
    fathom.run(["-c64K", "-w0", "-d1", "-W0", "--stop-ios=1", str(path)])
    for one, feed in ((path, path), (other, path)):
        fathom.run(["-c64K", "-w100", "-d1", "-W0", "--stop-ios=1", f"-Z64K,{feed}", str(one)])
    for one in (path, other):
        with one.open("r+b") as file:
            file.write(data)
    for one in (path, other):
        with pytest.raises(RefusedError):
            fathom.run(["-w100", "-b4K", "-d1", "-W0", str(one)])
        assert one.read_bytes()[:4096] == data


def _fed(folder: Path, feed: bytes, *more: str) -> Path:
    """Return a file, all of which a file of these bytes has fed."""
    (folder / "feed").write_bytes(feed)
    path = folder / "t.dat"
    load = [*more, "-w100", "-W0", "-d1", f"-Z64K,{folder / 'feed'}"]
    fathom.run(["-c64K", "-s", "-o1", "--stop-ios=64", *load, str(path)])
    assert len(path.read_bytes()) == 64 << 10
    return path


def _lines(count: int) -> list[bytes]:
    drawn = random.Random(8)  # noqa: S311
    return [
        b"%08d,%016x,ok\n" % (drawn.randrange(10**8), drawn.getrandbits(64)) for _ in range(count)
    ]


def _sorted_lines(data: bytes) -> bytes:
    start, end = data.index(b"\n", 8192) + 1, data.index(b"\n", 10_000) + 1
    lines = sorted(data[start:end].splitlines(keepends=True))
    return data[:start] + b"".join(lines) + data[end:]


@pytest.mark.parametrize("way", [["-b4K"], ["-b4K", "-Su"], ["-b1000"]], ids=" ".join)
@pytest.mark.parametrize(
    "change",
    [
        _sorted_lines,
        lambda data: data[:9000] + b"\0" * 5 + data[9005:],
        lambda data: data[:9000] + b"\0" * 40 + data[9040:],
        lambda data: data[:9000] + data[20_007:20_027] + data[9020:],
    ],
    ids=["sorted", "a few zeros", "zeros", "copied"],
)
def test_lines_of_what_fed_the_writes_were_sorted_in_place(
    tmp_path: Path, change: Callable[[bytes], bytes], way: list[str]
) -> None:
    """Each is of the feed by itself, but no I/O has written them so."""
    path = _fed(tmp_path, b"".join(_lines(2600)), *way)
    data = change(path.read_bytes())
    assert data != path.read_bytes()
    with path.open("r+b") as file:
        file.write(data)
    with pytest.raises(RefusedError):
        fathom.run(["-w100", "-b4K", "-d1", "-W0", str(path)])
    assert path.read_bytes() == data


@pytest.mark.parametrize("way", [["-b4K"], ["-b1000"], ["-b48"]], ids=" ".join)
@pytest.mark.parametrize(
    "feed",
    [
        b"\0" * 30_000 + b"".join(_lines(300)) + b"\0" * 3000 + b"end",
        b"the same line\n" * 2000 + b"".join(_lines(100)) + b"the same line\n" * 900,
        b"ab",
        b"".join(line + bytes(50) for line in _lines(900)),
    ],
    ids=["zeros", "repeated lines", "two bytes", "zeros between"],
)
def test_what_many_places_of_a_feed_look_like_is_still_ours(
    tmp_path: Path, feed: bytes, way: list[str]
) -> None:
    path = _fed(tmp_path, feed, *way)
    path.touch()
    fathom.run(["-w100", "-b4K", "-d1", "-W0", "--stop-ios=1", str(path)])


def test_a_mapped_write_in_memory_leaves_no_time_and_is_seen() -> None:
    folder = Path("/dev/shm")  # noqa: S108 - The file system is what matters.
    if not folder.is_dir():
        pytest.skip("there is no file system in memory")
    with tempfile.TemporaryDirectory(dir=folder) as home:
        path = Path(home) / "t.dat"
        fathom.run(["-c4M", "-w100", "-d1", "-W0", "--stop-ios=9", str(path)])
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
            assert len(memory[2 * MIB : 2 * MIB + 8]) == 8
            before = path.stat().st_ctime_ns
            memory[2 * MIB : 2 * MIB + 8] = b"my only "
        assert path.stat().st_ctime_ns == before
        with pytest.raises(RefusedError):
            fathom.run(["-w100", "-b4K", "-d1", "-W0", str(path)])
