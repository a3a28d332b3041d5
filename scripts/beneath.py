#!/usr/bin/env python3
"""Measure what a result says of file systems, layers, caches, and data that this kernel has.

    scripts/beneath.py [--diskspd FILE] [--page docs/beneath.md] [--only WORD] [--loops ONE,OTHER]

Each place is made in a scratch folder (as root), used, and taken away. Of each run stand in the
page: what was asked, what the lowest device saw meanwhile, and which warnings the result has. A
cell is wrong if its figure is not the device's and nothing is said: the exit code is then 1, and
the cell is named. A place that this kernel does not have is left out, with the reason. With
``--only`` the other places of the page stay as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuse_folder import served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MIB = 1 << 20
FILE_BYTES = 48 * MIB
IMAGE_BYTES = 800 * MIB
EDGE_BYTES = 10 * 16 << 10
"""What may be in flight at the edges of a load."""
DEVICES = ["/dev/loop11", "/dev/loop12"]
CACHING = {
    "past the cache": "-Su",
    "past it, through": "-Sh",
    "page cache": "-Sb",
    "mapped": "-Sm",
}
DATA = ("random", "zero", "constant", "compressible", "sparse")
LOADS = ("reads", "writes")
WRITTEN = {
    "random": "-Zr",
    "zero": "-Z",
    "constant": "",
    "compressible": "--compress=75",
    "sparse": "-Zr",
}
"""How what is written gets each kind of data; into what is sparse, random data."""
MORE_WRITES = {"past the cache", "page cache"}
"""The ways in which data that are not random are written, too."""
ORIGINS = {"not_the_device", "device_unseen", "server_answered", "page_cache"}
THIN = {
    "all_zero_data",
    "constant_data",
    "compressible_data",
    "unwritten_extents",
    "allocating_writes",
    "extents_changed",
}


class LeftOutError(Exception):
    """Why a place is not in the page."""


@dataclass(frozen=True)
class Run:
    """What is asked."""

    place: str
    caching: str
    data: str
    load: str


@dataclass(frozen=True)
class Cell:
    """One run, and what its result says."""

    run: Run
    asked: str
    seen: str
    answered_by: str
    said: tuple[str, ...]
    is_device: bool
    """Each layer saw at least nine tenths of the bytes."""
    sentence: str = ""
    untrue: str = ""
    """What the sentence says that the counters do not."""

    @property
    def is_wrong(self) -> bool:
        """A figure that is not the device's, and no word; or a sentence that is not so."""
        is_silent = not self.is_device and not self.said
        return bool(self.untrue) or is_silent or "no word" in "".join(self.said)


def main() -> int:
    """Measure all cells, and write the page."""
    options = _options()
    DEVICES[:] = options.loops.split(",")
    cells: list[Cell] = []
    left_out: dict[str, str] = {}
    for name, place in PLACES.items():
        if options.only and options.only.lower() not in name.lower():
            continue
        try:
            with ExitStack() as stack:
                target = place(stack)
                cells += _cells(name, target, options)
        except (LeftOutError, subprocess.SubprocessError, OSError) as reason:
            left_out[name] = str(reason)
        print(f"{name}: {left_out.get(name, 'measured')}", file=sys.stderr, flush=True)
    wrong = [cell for cell in cells if cell.is_wrong]
    for cell in wrong:
        print(f"wrong: {cell}", file=sys.stderr)
    page = _page(cells, left_out)
    if options.page:
        options.page.write_text(_merged(options.page, page) if options.only else page)
    else:
        print(page)
    return int(bool(wrong))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure what results say of what lies beneath.")
    parser.add_argument("--diskspd", type=Path, default=Path("target/release/diskspd"))
    parser.add_argument("--page", type=Path)
    parser.add_argument("--only", help="only places with this word in their name")
    parser.add_argument("--loops", default=",".join(DEVICES), help="two loop devices that are free")
    options = parser.parse_args()
    if not os.access(options.diskspd, os.X_OK):
        parser.error(f"there is no {options.diskspd}: make build")
    return options


def _run(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - Ours.
    if done.returncode:
        raise LeftOutError(f"`{' '.join(command[:3])}`: {done.stderr.strip().splitlines()[-1:]}")


@dataclass(frozen=True)
class Place:
    """Where the files of a place lie, or its device."""

    folder: Path | None = None
    device: Path | None = None
    more: str = ""
    """Further options of the load."""
    data: tuple[str, ...] = DATA
    loads: tuple[str, ...] = LOADS
    source: Path | None = None
    """Where the files are filled, if not in the folder."""
    is_filled: bool = field(default=True)


@contextmanager
def _mounted(*arguments: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        _run("mount", *arguments, folder)
        try:
            yield Path(folder)
        finally:
            _run("umount", folder)


@contextmanager
def _loop(image: Path, *, direct: bool, device: str = "") -> Iterator[Path]:
    device = device or DEVICES[0]
    _run("losetup", f"--direct-io={'on' if direct else 'off'}", device, str(image))
    try:
        yield Path(device)
    finally:
        _run("losetup", "-d", device)


def _disk_folder(stack: ExitStack) -> Path:
    return Path(stack.enter_context(tempfile.TemporaryDirectory(dir="target")))


def _image(stack: ExitStack, size: int = IMAGE_BYTES) -> Path:
    image = _disk_folder(stack) / "image"
    with image.open("wb") as file:
        file.truncate(size)
    return image


def _on_disk(stack: ExitStack) -> Place:
    return Place(_disk_folder(stack))


def _in_memory(kind: str) -> Callable[[ExitStack], Place]:
    def place(stack: ExitStack) -> Place:
        return Place(stack.enter_context(_mounted("-t", kind, kind)))

    return place


def _file_system(
    kind: str, options: str = "noatime", *, direct: bool = True
) -> Callable[[ExitStack], Place]:
    def place(stack: ExitStack) -> Place:
        if shutil.which(f"mkfs.{kind}") is None:
            raise LeftOutError(f"there is no mkfs.{kind}")
        device = stack.enter_context(_loop(_image(stack), direct=direct))
        _run(f"mkfs.{kind}", "-F" if kind.startswith("ext") else "-f", "-q", str(device))
        return Place(stack.enter_context(_mounted("-t", kind, "-o", options, str(device))))

    return place


def _over_fuse(kind: str, driver: str) -> Callable[[ExitStack], Place]:
    """Return a file system over a device of this host that a process serves."""

    def place(stack: ExitStack) -> Place:
        for program in (f"mkfs.{kind}", driver):
            if shutil.which(program) is None:
                raise LeftOutError(f"there is no {program}")
        device = stack.enter_context(_loop(_image(stack), direct=True))
        _run(f"mkfs.{kind}", *(("-F", "-Q") if kind == "ntfs" else ()), str(device))
        folder = _disk_folder(stack)
        _run(driver, str(device), str(folder))
        stack.callback(_run, "umount", str(folder))
        return Place(folder)

    return place


def _overlay(lower: str) -> Callable[[ExitStack], Place]:
    def place(stack: ExitStack) -> Place:
        base = _disk_folder(stack) if lower == "disk" else _in_memory("tmpfs")(stack).folder
        base = Path(base or "").resolve()
        for name in ("lower", "upper", "work"):
            (base / name).mkdir()
        options = f"lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work"
        return Place(stack.enter_context(_mounted("-t", "overlay", "overlay", "-o", options)))

    return place


def _loop_device(*, direct: bool, in_memory: bool = False) -> Callable[[ExitStack], Place]:
    def place(stack: ExitStack) -> Place:
        if in_memory:
            image = (_in_memory("tmpfs")(stack).folder or Path()) / "image"
            with image.open("wb") as file:
                file.truncate(FILE_BYTES)
        else:
            image = _image(stack, FILE_BYTES)
        device = stack.enter_context(_loop(image, direct=direct))
        return Place(device=device, more=f"--allow-write={device}:{FILE_BYTES}")

    return place


def _two_loops(stack: ExitStack) -> Place:
    below = stack.enter_context(_loop(_image(stack, FILE_BYTES), direct=True, device=DEVICES[1]))
    device = stack.enter_context(_loop(below, direct=True))
    return Place(device=device, more=f"--allow-write={device}:{FILE_BYTES}")


def _served(stack: ExitStack) -> Place:
    if not Path("/dev/fuse").exists():
        raise LeftOutError("there is no FUSE")
    below, folder = _disk_folder(stack), _disk_folder(stack)
    stack.enter_context(served(below, folder))
    return Place(folder, source=below)


def _null(stack: ExitStack) -> Place:
    return Place(_disk_folder(stack), more="--engine=null")


def _zram(stack: ExitStack) -> Place:
    control = Path("/sys/class/zram-control")
    if not control.exists():
        raise LeftOutError("this kernel has no zram")
    number = (control / "hot_add").read_text().strip()
    stack.callback((control / "hot_remove").write_text, number)
    Path(f"/sys/block/zram{number}/disksize").write_text(str(2 * FILE_BYTES))
    device = Path(f"/dev/zram{number}")
    more = f"-f{FILE_BYTES} --allow-write={device}:{2 * FILE_BYTES}"
    return Place(device=device, more=more)


def _image_of(make: str, kind: str, *more: str) -> Callable[[ExitStack], Place]:
    """Return a place that is a file system for reading alone, made of a folder."""

    def place(stack: ExitStack) -> Place:
        if shutil.which(make) is None:
            raise LeftOutError(f"there is no {make}")
        files = Place(_disk_folder(stack))
        for data in DATA:
            _prepare(files, data)
        image = _disk_folder(stack) / "image"
        paths = (files.folder, image) if make == "mksquashfs" else (image, files.folder)
        _run(make, *map(str, paths), *more)
        device = stack.enter_context(_loop(image, direct=True))
        folder = stack.enter_context(_mounted("-t", kind, "-o", "ro", str(device)))
        return Place(folder, loads=("reads",), is_filled=False)

    return place


def _whole_disk(stack: ExitStack) -> Place:
    del stack
    number = Path("target").stat().st_dev
    found = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not found.exists():
        raise LeftOutError("this checkout lies on no disk")
    device, more = Path("/dev") / found.resolve().name, f"-f{FILE_BYTES}"
    return Place(device=device, more=more, data=("as it is",), loads=("reads",), is_filled=False)


def _kernel_has(word: str, file: str, name: str) -> Callable[[ExitStack], Place]:
    """Return a place that this script cannot make, with the reason."""

    def place(stack: ExitStack) -> Place:
        del stack
        has = word in Path(file).read_text().split()
        raise LeftOutError(f"not measured by this script: {name}" if has else f"there is no {name}")

    return place


PLACES: dict[str, Callable[[ExitStack], Place]] = {
    "file system of this checkout": _on_disk,
    "ext4 on a loop device": _file_system("ext4"),
    "ext3 on a loop device": _file_system("ext3"),
    "ext2 on a loop device": _file_system("ext2"),
    "xfs on a loop device": _file_system("xfs"),
    "btrfs on a loop device": _file_system("btrfs"),
    "btrfs with compression": _file_system("btrfs", "compress-force=zstd"),
    "btrfs without copy on write": _file_system("btrfs", "nodatacow"),
    "ext4 on a cached loop device": _file_system("ext4", direct=False),
    "overlay over a disk": _overlay("disk"),
    "overlay over tmpfs": _overlay("tmpfs"),
    "loop device past the cache": _loop_device(direct=True),
    "loop device through the cache": _loop_device(direct=False),
    "loop device over a loop device": _two_loops,
    "loop device over a file in tmpfs": _loop_device(direct=False, in_memory=True),
    "tmpfs": _in_memory("tmpfs"),
    "ramfs": _in_memory("ramfs"),
    "squashfs": _image_of("mksquashfs", "squashfs", "-quiet", "-no-progress"),
    "erofs": _image_of("mkfs.erofs", "erofs"),
    "erofs with compression": _image_of("mkfs.erofs", "erofs", "-zlz4"),
    "folder served over FUSE": _served,
    "NTFS over FUSE (NTFS-3G) on a loop device": _over_fuse("ntfs", "ntfs-3g"),
    "exFAT over FUSE on a loop device": _over_fuse("exfat", "mount.exfat-fuse"),
    "zram": _zram,
    "disk with its partitions": _whole_disk,
    "null engine": _null,
    "device mapper": _kernel_has("device-mapper", "/proc/misc", "device mapper in this kernel"),
    "md": _kernel_has("md", "/proc/devices", "md in this kernel"),
    "NFS": _kernel_has("nfs", "/proc/filesystems", "NFS in this kernel"),
    "SMB": _kernel_has("cifs", "/proc/filesystems", "SMB in this kernel"),
}


def _cells(name: str, place: Place, options: argparse.Namespace) -> Iterator[Cell]:
    for data in place.data:
        target = _prepare(place, data)
        # Reads first: what is written is no longer sparse.
        for load in place.loads:
            for caching in CACHING:
                is_more = load == "writes" and data != "random"
                if not is_more or caching in MORE_WRITES:
                    yield _measure(Run(name, caching, data, load), place, target, options.diskspd)


def _prepare(place: Place, data: str) -> Path:
    """Make the file, or fill the device, with data of a kind, past the page cache."""
    folder = place.folder or Path()
    target = place.device or folder / f"{data}.dat"
    if not place.is_filled:
        return target
    source = place.device or (place.source or folder) / target.name
    with source.open("r+b" if place.device else "wb") as file:
        if place.device is None:
            file.truncate(FILE_BYTES)
        if data != "sparse":
            for index in range(FILE_BYTES // MIB):
                file.write(_mib(data, index))
        elif place.device is not None:
            _run("blkdiscard", str(place.device))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return target


def _mib(data: str, index: int) -> bytes:
    if data == "random":
        return os.urandom(MIB)
    if data == "compressible":
        # A quarter of each block is random: no rule of thumb takes it for constant.
        return b"".join(os.urandom(1024) + b"x" * 3072 for _ in range(MIB // 4096))
    return bytes(MIB) if data == "zero" else bytes([index % 7 + 1]) * MIB


def _seen(beneath: dict[str, Any], direction: str) -> tuple[int | None, int]:
    """Give what the lowest devices saw of everybody, and the least that any layer saw."""
    name = f"{direction}_bytes"
    counted = [layer for layer in beneath["layers"] if layer["seen"] is not None]
    disks = [layer["seen"][name] for layer in counted if layer["kind"] == "disk"]
    if not disks:
        return None, 0
    least = [layer["seen"][name] for layer in counted]
    # Others may use the disk, too; what this process fetched is known.
    process = beneath["process"]
    own = [process["read_bytes"]] if process and direction == "read" else []
    return sum(disks), min(least + own)


def _measure(run: Run, place: Place, target: Path, diskspd: Path) -> Cell:
    load = f"-w100 --overwrite {WRITTEN[run.data]}" if run.load == "writes" else "-w0"
    words = [CACHING[run.caching], *load.split(), *place.more.split()]
    command = [str(diskspd), "-W0", "-d1", "-b16K", "-r", "-o4", "-Rjson", *words, str(target)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - Ours.
    if done.returncode:
        return Cell(run, "-", "-", "refused", (_refusal(done, target),), is_device=False)
    result = json.loads(done.stdout)
    beneath = result["time_spans"][0]["beneath"]
    origin = beneath["targets"][0]
    direction = run.load.removesuffix("s")
    asked = origin["asked"][f"{direction}_bytes"]
    seen, least = _seen(beneath, direction)
    kinds = dict.fromkeys(one["kind"] for one in result["warnings"])
    return Cell(
        run,
        f"{asked / MIB:,.0f} MiB",
        "-" if seen is None else f"{seen / MIB:,.0f} MiB",
        origin["answered_by"],
        tuple(kind for kind in kinds if kind in ORIGINS | THIN),
        is_device=least >= 0.9 * asked and asked > 0,
        sentence=re.sub(r"/\S+/image", "image", origin["sentence"].replace(str(target), "it")),
        untrue=_untrue(beneath, direction),
    )


def _refusal(done: subprocess.CompletedProcess[str], target: Path) -> str:
    """Return the first sentence of a refusal, without the name of the file."""
    told = [line for line in done.stderr.splitlines() if line.strip()]
    if not told and done.stdout:
        result = json.loads(done.stdout)
        told = [str(one["message"]) for one in result.get("failures", ())]
    if not told and done.stdout:
        told = [str(one["outcome"]) for one in json.loads(done.stdout)["time_spans"]]
    words = told[0] if told else f"exit code {done.returncode}, no word"
    return f"refused: {words.replace(str(target), '...').replace('|', '/').split(';')[0][:150]}"


def _untrue(beneath: dict[str, Any], direction: str) -> str:
    """Compute what a sentence says from the counters again; what differs."""
    origin, name = beneath["targets"][0], f"{direction}_bytes"
    sentence, asked = origin["sentence"], origin["asked"]
    found = re.match(r"(?:all )?of ([\d,]+) (?:reads|writes)", sentence)
    if found and int(found[1].replace(",", "")) != asked[f"{direction}_ios"]:
        return f"{found[0]}, but {asked[f'{direction}_ios']} were requested"
    counted = [layer["seen"][name] for layer in beneath["layers"] if layer["seen"] is not None]
    own = beneath["process"][name] if beneath["process"] and direction == "read" else None
    if "came from any device" in sentence:
        told = re.search(r"\), (.+?) came from", sentence)
        return "" if told and told[1] == _size(own or 0) else f"{sentence}, but it was {own}"
    if told := re.search(r"([\d,]+) fetch(?:es)? of (.+?) from", sentence):
        return _untrue_fetches(sentence, beneath, int(told[1].replace(",", "")), told[2])
    reached = r"(?:\), |cannot be told: )(?:at most )?(?:[\d,]+ \()?([\d.]+ \w+)\)? reached"
    if told := re.search(reached, sentence):
        sizes = {_size(one) for one in counted}
        return "" if told[1] in sizes else f"{sentence}, but the layers saw {sizes}"
    known = [*counted, *([] if own is None else [own])]
    if sentence.startswith("all of") and min(known) + EDGE_BYTES < 0.85 * asked[name]:
        return f"{sentence}, but a layer saw {min(known)}"
    return ""


def _untrue_fetches(sentence: str, beneath: dict[str, Any], fetches: int, size: str) -> str:
    seen = [layer["seen"] for layer in beneath["layers"] if layer["seen"] is not None]
    known = {(one["read_ios"] + one["reads_merged"], _size(one["read_bytes"])) for one in seen}
    return "" if (fetches, size) in known else f"{sentence}, but the layers saw {known}"


def _size(count: int) -> str:
    """Spell a size as the engine does."""
    for unit, name in ((1 << 30, "GiB"), (MIB, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count // unit} {name}" if count % unit == 0 else f"{count / unit:.1f} {name}"
    return f"{count} bytes"


def _page(cells: list[Cell], left_out: dict[str, str]) -> str:
    lines = [*PREFACE.format(kernel=platform.release()).splitlines(), ""]
    for name in dict.fromkeys(cell.run.place for cell in cells):
        lines += [f"## {name[:1].upper()}{name[1:]}", "", HEAD, "|---|---|---|---:|---:|---|---|"]
        for cell in cells:
            if cell.run.place == name:
                said = ", ".join(f"`{word}`" if " " not in word else word for word in cell.said)
                run = cell.run
                row = (run.data, run.load, run.caching, cell.asked, cell.seen, cell.answered_by)
                told = "; ".join(part for part in (cell.sentence, said) if part)
                lines.append(f"| {' | '.join(row)} | {told} |")
        lines.append("")
    if left_out:
        lines += ["## Left out", ""]
        lines += [f"- {name}: {reason}" for name, reason in left_out.items()]
        lines.append("")
    return "\n".join(lines)


def _merged(before: Path, page: str) -> str:
    """Return the page as it was, with the places that were measured now in place of their own."""
    old, new = (_sections(text) for text in (before.read_text(), page))
    end = old.pop("## Left out", "")
    new.pop("## Left out", None)
    # What the page says of itself stays, too.
    new.pop(next(iter(new)))
    parts = [part.rstrip("\n") for part in {**old, **new, "": end}.values()]
    return "\n\n".join(part for part in parts if part) + "\n"


def _sections(page: str) -> dict[str, str]:
    """Return the parts of a page, each with its head, by their heads."""
    parts = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    return {part.partition("\n")[0]: part for part in parts}


HEAD = "| data | load | through | asked | seen at the device | answered by | the result says |"
PREFACE = """# What lies beneath

For each place that a target can lie in, each way through the caches, and each kind of data: how
much was asked in a second, what the lowest device saw of everybody meanwhile, and what the result
says. `scripts/beneath.py --page docs/beneath.md` measures all of it again (as root, with loop
devices 11 and 12 free) and fails if a figure is not the device's and no word says so. This page was
made on Linux {kernel}.

`answered_by` and the sentence in the last column are fields of each target in the JSON result
(`beneath`); the kinds of its warnings stand behind. The script computes the numbers of each
sentence again from the counters of the layers, and fails if one is not so. Loads are 16 KiB at
random places of {size} MiB, four at a time, for a second. Where the disk saw more than was asked,
others used it, or more was read than requested; what lies in the data (`all_zero_data`,
`constant_data`, `compressible_data`, `unwritten_extents`) is reported of reads. Data that are not
random are written past the page cache and through it; into what is sparse, random data are."""
PREFACE = PREFACE.replace("{size}", str(FILE_BYTES // MIB))


if __name__ == "__main__":
    sys.exit(main())
