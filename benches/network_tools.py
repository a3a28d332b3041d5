"""The tools that speak the protocols of the network themselves, for comparison."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from legs import LegError, Tool
from network import FILE_BYTES
from places import MissingError, fio_binary
from tools import fio

if TYPE_CHECKING:
    from tools import Load

SECTOR_BYTES = 512
# So much a `get` of smbclient reads at once; three of them were seen outstanding at the server.
SMBCLIENT_BLOCK_BYTES, SMBCLIENT_DEPTH = 8 << 20, 4
_COPIES_A_SECOND = 2


def program(name: str, package: str) -> str:
    """Return the path of a program.

    Raises:
        MissingError: if it is not installed.

    """
    found = shutil.which(name)
    if found is None:
        raise MissingError(f"{name} is not installed (Debian: {package})")
    return found


def fio_nbd(binary: str, load: Load) -> Tool:
    """Fio's engine for NBD, which takes its export by address."""
    (target,) = load.targets
    sized = replace(load, targets=("nbd",), size_bytes=FILE_BYTES, direct=False)
    return fio(fio_binary(binary), sized, "nbd", "--ioengine=nbd", f"--uri={target}")


def nbdcopy(load: Load) -> Tool:
    """Nbdcopy of the whole export to nowhere, over one connection by one thread."""
    command = [program("nbdcopy", "libnbd-bin"), "--no-extents", "--connections=1", "--threads=1"]
    command += [f"--requests={load.depth}", f"--request-size={load.block_bytes}", *load.targets]
    timed = f"TIMEFORMAT=%R; {{ time {' '.join(command)} null: ; }} 2>&1"

    def read(output: str) -> tuple[int, float]:
        ios = FILE_BYTES // load.block_bytes
        return ios, ios / float(output.replace(",", "."))

    return Tool("nbdcopy", ("bash", "-c", timed), read)


def iscsi_perf(load: Load) -> Tool:
    """Random reads by iscsi-perf, which tells whole seconds and whole IOPS."""
    command = [program("iscsi-perf", "libiscsi-bin"), "-r", "-m", str(load.depth)]
    command += ["-b", str(load.block_bytes // SECTOR_BYTES), "-t", str(load.seconds)]

    def read(output: str) -> tuple[int, float]:
        iops = float(re.findall(r"iops average (\d+)", output)[-1])
        return int(iops * load.seconds), iops

    return Tool("iscsi-perf", (*command, *load.targets), read)


def qemu_img(load: Load, reads: int) -> Tool:
    """So many sequential reads by qemu-img."""
    command = [program("qemu-img", "qemu-utils, qemu-block-extra"), "bench", "-f", "raw"]
    command += ["-c", str(reads), "-d", str(load.depth), "-s", str(load.block_bytes)]

    def read(output: str) -> tuple[int, float]:
        return reads, reads / float(output.split("completed in")[1].split(maxsplit=1)[0])

    return Tool("qemu-img bench", (*command, *load.targets), read)


def smbclient(server: str, share: str, port: int, name: str, seconds: int) -> Tool:
    """Whole copies of a file to nowhere, some each second."""
    copies = max(1, _COPIES_A_SECOND * seconds)
    command = [program("smbclient", "smbclient"), "--no-pass", f"--port={port}"]
    command += [f"//{server}/{share}", "-c", "; ".join([f"get {name} /dev/null"] * copies)]
    # Its notes are on the standard error stream.
    words = (*("sh", "-c", '"$@" 2>&1', "sh"), *command)

    def read(output: str) -> tuple[int, float]:
        told = re.findall(r"average ([\d.]+) KiloBytes/sec", output)
        if len(told) != copies:
            raise LegError(f"smbclient copied {len(told)} times of {copies}: {output[-200:]}")
        blocks = FILE_BYTES // SMBCLIENT_BLOCK_BYTES * copies
        return blocks, float(told[-1]) * 1024 / SMBCLIENT_BLOCK_BYTES

    return Tool("smbclient", words, read)
