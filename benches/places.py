"""What the cases read from: files that are made here, and zram if it is free to use."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ZRAM = "zram0"
ZRAM_BYTES = 1 << 30
FILE_BYTES = 512 << 20
MEMORY_FILE_BYTES = 256 << 20
MANY_FILES = 1000
MANY_BYTES = 64 << 10


class MissingError(Exception):
    """Why a case cannot run here."""


class Places:
    """The scratch folder, with everything made on first use."""

    def __init__(self, folder: Path) -> None:
        """Use this folder, which must be on a file system with O_DIRECT."""
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def bare(self) -> Path:
        """Return the bare loops, compiled.

        Raises:
            MissingError: without a C compiler.

        """
        source, binary = Path(__file__).with_name("bare.c"), self.folder / "bare"
        compiler = shutil.which(os.environ.get("CC", "cc"))
        if compiler is None:
            raise MissingError("no C compiler for the bare loops")
        if not binary.exists() or binary.stat().st_mtime < source.stat().st_mtime:
            command = [compiler, "-std=gnu11", "-O2", "-o", str(binary), str(source)]
            subprocess.run(command, check=True)  # noqa: S603 - Our own source.
        return binary

    def file(self) -> str:
        """Return a file of random bytes, written to its disk."""
        return self._fill(self.folder / "one.dat", FILE_BYTES)

    def cached_file(self) -> str:
        """Return the same file, read into the page cache."""
        path = self.file()
        with Path(path).open("rb") as file:
            while file.read(4 << 20):
                pass
        return path

    def many_files(self) -> tuple[str, ...]:
        """Return a thousand small files."""
        folder = self.folder / "many"
        folder.mkdir(exist_ok=True)
        return tuple(
            self._fill(folder / f"{number}.dat", MANY_BYTES) for number in range(MANY_FILES)
        )

    def _fill(self, path: Path, size: int) -> str:
        if not path.exists() or path.stat().st_size != size:
            with path.open("wb") as file:
                file.writelines(os.urandom(MANY_BYTES) for _ in range(0, size, MANY_BYTES))
                os.fsync(file.fileno())
        return str(path)


def fio_binary(name: str) -> str:
    """Return the path of fio.

    Raises:
        MissingError: if it is not installed.

    """
    found = shutil.which(name)
    if found is None:
        raise MissingError("fio is not installed")
    return found


@contextmanager
def memory_file() -> Iterator[str]:
    """Give a file of random bytes on tmpfs, which is removed afterwards.

    Raises:
        MissingError: where there is no tmpfs.

    """
    folder = Path("/dev/shm")  # noqa: S108 - It is tmpfs that is measured.
    if not folder.is_dir():
        raise MissingError("there is no tmpfs at /dev/shm")
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.writelines(os.urandom(4 << 20) for _ in range(0, MEMORY_FILE_BYTES, 4 << 20))
        file.flush()
        yield file.name


def zram_state() -> str:
    """Say what is on zram: it is measured as it is found."""
    folder = Path("/sys/block") / ZRAM
    size = int((folder / "disksize").read_text())
    stored = int((folder / "mm_stat").read_text().split()[0])
    return f"{size >> 20} MiB, {stored >> 20} MiB of them written"


@contextmanager
def zram() -> Iterator[str]:
    """Give `/dev/zram0` for reading; set up and filled if nobody has, and put back afterwards.

    Raises:
        MissingError: if there is none, or it is in use, or only root could set it up.

    """
    folder, device = Path("/sys/block") / ZRAM, f"/dev/{ZRAM}"
    if not Path(device).exists():
        raise MissingError(f"there is no {device} (modprobe zram)")
    used = any(
        line.startswith(device)
        for table in ("/proc/swaps", "/proc/mounts")
        for line in Path(table).read_text().splitlines()
    )
    if used:
        raise MissingError(f"{device} is in use")
    mine = int((folder / "disksize").read_text()) == 0
    if mine and not os.access(folder / "disksize", os.W_OK):
        raise MissingError(f"{device} has no size, and only root can give it one")
    if mine:
        (folder / "disksize").write_text(str(ZRAM_BYTES))
    try:
        if mine:
            _fill_device(device)
        if not os.access(device, os.R_OK):
            raise MissingError(f"{device} cannot be read by this user")
        yield device
    finally:
        if mine:
            reset(folder / "reset")


def reset(file: Path) -> None:
    """Give its memory back; who just looks at all devices may have it open for a moment."""
    for _ in range(40):
        with suppress(OSError):
            file.write_text("1")
            return
        time.sleep(0.25)
    sys.stderr.write(f"{file}: it is in use and keeps its memory\n")


def _fill_device(device: str) -> None:
    """Write random bytes, which zram keeps as they are: a read is then one copy of a page."""
    with Path(device).open("wb") as file:
        file.writelines(os.urandom(4 << 20) for _ in range(0, ZRAM_BYTES, 4 << 20))
        os.fsync(file.fileno())
