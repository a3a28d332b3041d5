"""Files that other programs move, copy, cut and stretch, and file systems of all kinds.

Nobody's byte is lost there, and no file of ours that nobody else wrote to is refused.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import diskspd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KIB = 1 << 10
MIB = 1 << 20
LOOP = Path("/dev/loop12")
_WORDS = b"Dear Ada, the engine weaves patterns just as the loom weaves flowers.\n"
# At an odd place: neither a sector nor a page begins there.
_AT = 300 * KIB + 77
_LOADS = {
    "created": "-w0",
    "pattern": "-w100 -b4K -r",
    "random": "-w100 -b4K -Zr -r",
    "buffer": "-w100 -b8K -Z64K",
    "reduced": "-w100 -b4K --compress=50 --dedupe=20",
    "mapped": "-w100 -b4K -Sm",
}


def _tool(*words: str | Path) -> None:
    if shutil.which(words[0]) is None:
        pytest.skip(f"there is no {words[0]}")
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [diskspd(), "-d1", "-W0", "--stop-ios=40", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _made(path: Path, load: str = "-w100 -b4K -Zr -r") -> Path:
    done = _run("-c1M", *load.split(), path)
    assert done.returncode == 0, done.stderr
    return path


def _must_pass(path: Path, *words: str) -> None:
    done = _run("-w100", "-b512", *words, path)
    assert done.returncode == 0, done.stderr


def _put_words(path: Path, at: int = _AT) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(_WORDS)


def _must_be_refused(path: Path, *more: str) -> None:
    before = path.read_bytes()
    for words in more or ("-w100 -b512", "-c64K -w0"):
        done = _run(*words.split(), path)
        assert done.returncode == 2, (words, done.stderr)
        assert path.read_bytes() == before


def _tar(path: Path, to: Path) -> None:
    archive = to.with_suffix(".tar")
    _tool("tar", "--xattrs", "-C", path.parent, "-cf", archive, path.name)
    folder = to.with_suffix(".folder")
    folder.mkdir()
    _tool("tar", "--xattrs", "-C", folder, "-xf", archive)
    (folder / path.name).rename(to)


def _over_ours(*words: str) -> Callable[[Path, Path], None]:
    """Return a copy that goes over another file of ours."""

    def step(path: Path, to: Path) -> None:
        _made(to, "-w0")
        _tool(*words, path, to)

    return step


def _dd_over_ours(path: Path, to: Path) -> None:
    _made(to, "-w0")
    _tool("dd", "conv=notrunc", "bs=64K", f"if={path}", f"of={to}")


def _after(*words: str) -> Callable[[Path, Path], None]:
    """Return a rename behind a command."""

    def step(path: Path, to: Path) -> None:
        _tool(*words, path)
        path.rename(to)

    return step


# Ways to move a file of ours to another name.
_MOVES: dict[str, Callable[[Path, Path], None]] = {
    "cp": lambda path, to: _tool("cp", path, to),
    "cp -a": lambda path, to: _tool("cp", "-a", path, to),
    "cp --reflink": lambda path, to: _tool("cp", "--reflink=auto", "-a", path, to),
    "cp --sparse=always": lambda path, to: _tool("cp", "--sparse=always", path, to),
    "cp --sparse=never": lambda path, to: _tool("cp", "--sparse=never", path, to),
    "cp over ours": _over_ours("cp"),
    "mv": lambda path, to: _tool("mv", path, to),
    "mv over ours": _over_ours("mv"),
    "ln": lambda path, to: _tool("ln", path, to),
    "ln -s": lambda path, to: _tool("ln", "-s", path, to),
    "rsync -a": lambda path, to: _tool("rsync", "-aX", path, to),
    "rsync --inplace": _over_ours("rsync", "-a", "--inplace", "--no-whole-file", "--ignore-times"),
    "tar": _tar,
    "dd conv=notrunc": lambda path, to: _tool("dd", "conv=notrunc", f"if={path}", f"of={to}"),
    "dd over ours": _dd_over_ours,
    "touch": _after("touch"),
    "chmod": _after("chmod", "600"),
}


@pytest.mark.parametrize(
    ("move", "load"),
    [
        *((move, "random") for move in _MOVES),
        *(("cp", load) for load in _LOADS if load != "random"),
    ],
)
def test_a_file_of_ours_stays_ours_and_somebodys_somebodys(
    move: str, load: str, tmp_path: Path
) -> None:
    path = _made(tmp_path / "a", _LOADS[load])
    _MOVES[move](path, tmp_path / "b")
    _must_pass(tmp_path / "b")
    theirs = _made(tmp_path / "c", _LOADS[load])
    _put_words(theirs)
    _MOVES[move](theirs, tmp_path / "d")
    _must_be_refused(tmp_path / "d")


# What changes the length or the holes of a file in place: our bytes, or none, are left.
_CHANGES: dict[str, tuple[str, ...]] = {
    "stretched": ("truncate", "-s", "1500K"),
    "cut": ("truncate", "-s", "512K"),
    "cut off any place": ("truncate", "-s", "700001"),
    "emptied": ("truncate", "-s", "0"),
    "reserved behind its end": ("fallocate", "-l", "2M"),
    "reserved, with its length kept": ("fallocate", "-n", "-l", "2M"),
    "punched": ("fallocate", "-p", "-o", "64K", "-l", "128K"),
    "punched at any place": ("fallocate", "-p", "-o", "5000", "-l", "100001"),
    "zeroed": ("fallocate", "-z", "-o", "64K", "-l", "128K"),
    "dug": ("fallocate", "-d"),
    "a range taken out": ("fallocate", "-c", "-o", "64K", "-l", "64K"),
    "a range put in": ("fallocate", "-i", "-o", "64K", "-l", "64K"),
}


@pytest.mark.parametrize("change", _CHANGES)
def test_a_file_of_ours_that_was_cut_or_stretched_is_still_ours(
    change: str, tmp_path: Path
) -> None:
    path = _made(tmp_path / "a")
    done = subprocess.run([*_CHANGES[change], path], capture_output=True, text=True, check=False)
    if "not supported" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    _must_pass(path, "-c1M")
    theirs = _made(tmp_path / "c")
    _put_words(theirs)
    subprocess.run([*_CHANGES[change], theirs], check=True)
    if _WORDS in theirs.read_bytes():
        _must_be_refused(theirs)


def _mounted(stack: ExitStack, folder: Path, *words: str | Path) -> Path | None:
    """Mount by a command; give back the place, or nothing if that is not possible here."""
    place = folder / "mounted"
    place.mkdir()
    if shutil.which(words[0]) is None:
        return None
    command = [place if word == "PLACE" else word for word in words]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        return None
    stack.callback(_tool, "umount", place)
    return place


def _image(folder: Path, *words: str | Path, bytes_: int = 48 * MIB) -> Path | None:
    """Return a file with a file system; nothing if there is no program that makes it."""
    image = folder / "image"
    image.touch()
    os.truncate(image, bytes_)
    if shutil.which(words[0]) is None:
        return None
    done = subprocess.run([*words, image], check=False, capture_output=True)
    return None if done.returncode else image


def _on_loop(
    stack: ExitStack,
    folder: Path,
    *words: str,
    bytes_: int = 48 * MIB,
    mount: tuple[str, ...] = ("mount",),
) -> Path | None:
    image = _image(folder, *words, bytes_=bytes_)
    if image is None:
        return None
    losetup = shutil.which("losetup") or "losetup"
    if subprocess.run([losetup, LOOP, image], check=False, capture_output=True).returncode:
        return None
    stack.callback(_tool, "losetup", "-d", LOOP)
    return _mounted(stack, folder, *mount, LOOP, "PLACE")


def _by_fuse(stack: ExitStack, folder: Path, make: tuple[str, ...], *mount: str) -> Path | None:
    image = _image(folder, *make)
    if image is None:
        return None
    words = [str(image) if word == "IMAGE" else word for word in mount]
    return _mounted(stack, folder, *words)


def _overlay(stack: ExitStack, folder: Path) -> Path | None:
    for name in ("lower", "upper", "work"):
        (folder / name).mkdir()
    layers = ",".join(f"{name}dir={folder / name}" for name in ("lower", "upper", "work"))
    return _mounted(stack, folder, "mount", "-t", "overlay", "overlay", "-o", layers, "PLACE")


_FILE_SYSTEMS: dict[str, Callable[[ExitStack, Path], Path | None]] = {
    "tmpfs": lambda stack, folder: _mounted(
        stack, folder, "mount", "-t", "tmpfs", "-o", "size=32M", "tmpfs", "PLACE"
    ),
    "xfs": lambda stack, folder: _on_loop(stack, folder, "mkfs.xfs", "-q", bytes_=400 * MIB),
    "btrfs": lambda stack, folder: _on_loop(stack, folder, "mkfs.btrfs", "-q", bytes_=200 * MIB),
    "ext2": lambda stack, folder: _on_loop(stack, folder, "mkfs.ext2", "-q"),
    "vfat": lambda stack, folder: _on_loop(stack, folder, "mkfs.vfat"),
    "exfat": lambda stack, folder: _on_loop(
        stack, folder, "mkfs.exfat", mount=("mount.exfat-fuse",)
    ),
    "ntfs": lambda stack, folder: _by_fuse(
        stack, folder, ("mkfs.ntfs", "-F", "-Q"), "ntfs-3g", "IMAGE", "PLACE"
    ),
    "overlay": _overlay,
    "bind": lambda stack, folder: _mounted(stack, folder, "mount", "--bind", folder, "PLACE"),
}


@pytest.fixture(params=_FILE_SYSTEMS)
def mounted(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Return a folder on a file system of this kind."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fathom-fs-")))
        place = _FILE_SYSTEMS[request.param](stack, folder)
        if place is None:
            pytest.skip(f"{request.param} cannot be mounted here")
        yield place


def test_files_on_each_file_system_stay_ours_and_somebodys(mounted: Path) -> None:
    for number, load in enumerate(_LOADS.values()):
        path = _made(mounted / f"a{number}", load)
        _must_pass(path)
        _must_pass(path, "-Zr")
        moved = path.rename(mounted / f"b{number}")
        _must_pass(moved)
        _put_words(moved)
        _must_be_refused(moved)


def test_a_file_below_an_overlay_is_copied_up_if_ours_and_left_if_somebodys(
    tmp_path: Path,
) -> None:
    with ExitStack() as stack:
        place = _overlay(stack, tmp_path)
        if place is None:
            pytest.skip("no overlay can be mounted here")
        lower, upper = tmp_path / "lower", tmp_path / "upper"
        for name in ("ours", "theirs"):
            _made(lower / name)
        _put_words(lower / "theirs")
        before = (lower / "ours").read_bytes()
        _must_pass(place / "ours")
        _must_pass(place / "ours")
        assert (lower / "ours").read_bytes() == before
        assert (upper / "ours").read_bytes() != before
        _must_be_refused(place / "theirs")
        assert not (upper / "theirs").exists()
        # A result there, too.
        assert _run("-w0", f"--json={lower / 'r.json'}", place / "ours").returncode == 0
        done = _run("-w0", f"--json={place / 'r.json'}", place / "ours")
        assert (done.returncode, [*upper.glob("*.json")]) == (0, [upper / "r.json"]), done.stderr
        # Through the layer itself, too.
        _must_pass(upper / "ours")
        _put_words(place / "ours")
        _must_be_refused(upper / "ours")


def _waiting(path: Path) -> subprocess.Popen[bytes]:
    """Start a run that has looked at its target and waits for its event."""
    before = os.getxattr(path, "user.fathom.made")
    load = ["-d1", "-W0", "-b4K", "-w100", "--stop-ios=40", f"-yr{path.name}"]
    command: list[str | Path] = [diskspd(), *load, path]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while os.getxattr(path, "user.fathom.made") == before and time.monotonic() < end:
        time.sleep(0.01)
    return run


def _is_refused_behind_its_event(run: subprocess.Popen[bytes], path: Path) -> None:
    subprocess.run([diskspd(), f"-ye{path.name}"], check=True)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 1, said
    assert _WORDS in path.read_bytes()


@pytest.mark.parametrize("is_held", [False, True], ids=["closed", "held in the layer"])
def test_a_file_on_an_overlay_was_written_over_behind_the_look(
    tmp_path: Path, *, is_held: bool
) -> None:
    """Nobody notes who writes there, and who writes to a layer shows at the layer alone."""
    with ExitStack() as stack:
        place = _overlay(stack, tmp_path)
        if place is None:
            pytest.skip("no overlay can be mounted here")
        path = _made(place / f"t{os.getpid()}-{is_held}")
        time.sleep(0.05)
        run = _waiting(path)
        written = tmp_path / "upper" / path.name if is_held else path
        with written.open("r+b") as file:
            file.seek(_AT)
            file.write(_WORDS)
            file.flush()
            if not is_held:
                file.close()
            _is_refused_behind_its_event(run, path)
        # What nobody has touched passes, also behind time spans of this run.
        other = _made(place / f"u{os.getpid()}-{is_held}")
        run = _waiting(other)
        subprocess.run([diskspd(), f"-ye{other.name}"], check=True)
        assert b"REFUSED" not in run.communicate(timeout=60)[1]
        assert run.returncode == 0


def test_a_snapshot_of_a_file_system_has_files_of_ours_and_of_somebody(tmp_path: Path) -> None:
    with ExitStack() as stack:
        place = _on_loop(stack, tmp_path, "mkfs.btrfs", "-q", bytes_=200 * MIB)
        if place is None:
            pytest.skip("no btrfs can be mounted here")
        _tool("btrfs", "subvolume", "create", place / "live")
        for name in ("ours", "theirs", "later"):
            _made(place / "live" / name)
        _put_words(place / "live/theirs")
        _tool("btrfs", "subvolume", "snapshot", place / "live", place / "kept")
        _put_words(place / "live/later")
        _must_pass(place / "kept/ours")
        _must_pass(place / "live/ours")
        _must_pass(place / "kept/later")
        for name in ("kept/theirs", "live/theirs", "live/later"):
            _must_be_refused(place / name)
