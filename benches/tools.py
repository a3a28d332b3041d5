"""The tools that are compared, and how each is told the same load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from legs import Tool, read_bare, read_diskspd, read_fio

if TYPE_CHECKING:
    from pathlib import Path

BLOCK_BYTES = 4096


@dataclass(frozen=True)
class Load:
    """Reads, random ones of 4 KiB unless it says otherwise; each tool gets it in its own words."""

    targets: tuple[str, ...]
    depth: int
    seconds: int
    cpus: tuple[int, ...] = (0,)
    """One thread on each; empty: one thread per target, not pinned."""
    direct: bool = True
    rate_iops: int = 0
    """0: as fast as possible."""
    size_bytes: int = 0
    """Size of the range that is read; 0: all of the target."""
    block_bytes: int = BLOCK_BYTES
    sequential: bool = False


def diskspd(binary: Path, load: Load, *more: str, name: str = "diskspd") -> Tool:
    """Our own tool, with latency on."""
    pinned = ",".join(str(cpu) for cpu in load.cpus)
    command = [str(binary), f"-b{load.block_bytes}", "-s" if load.sequential else "-r"]
    command += [f"-o{load.depth}", f"-d{load.seconds}", "-W0", "-L"]
    command += [f"-a{pinned}" if pinned else "-n", "-Sh" if load.direct else "-Sb", "-Rjson"]
    if len(load.cpus) > 1:
        command.append(f"-t{len(load.cpus)}")
    if load.size_bytes:
        command.append(f"-f{load.size_bytes}")
    if load.rate_iops:
        command.append(f"-g{load.rate_iops}i")
    return Tool(name, (*command, *more, *load.targets), read_diskspd)


def confined(tool: Tool, cpu: int) -> Tool:
    """Keep a tool, with all that the kernel does for it, to one core."""
    return Tool(f"{tool.name} on one core", ("taskset", "-c", str(cpu), *tool.command), tool.read)


def fio(binary: str, load: Load, name: str, *more: str) -> Tool:
    """Fio, with the latency of each I/O on; `more` sets the engine and its options."""
    command = [binary, "--name=bench", "--rw=randread", "--bs=4k", "--time_based", "--norandommap"]
    command += ["--random_generator=tausworthe", "--group_reporting", "--output-format=json"]
    command.append(f"--filename={':'.join(load.targets)}")
    command += [f"--runtime={load.seconds}", f"--direct={int(load.direct)}"]
    command += [f"--iodepth={load.depth}", f"--numjobs={max(1, len(load.cpus))}"]
    if load.size_bytes:
        command.append(f"--size={load.size_bytes}")
    if load.cpus:
        pinned = ",".join(str(cpu) for cpu in load.cpus)
        command += [f"--cpus_allowed={pinned}", "--cpus_allowed_policy=split"]
    return Tool(f"fio {name}", (*command, *more), read_fio)


def fio_variants(binary: str, load: Load) -> list[Tool]:
    """Fio in each way that may be its best one for this load.

    Latency stays on in all of them, and the one that reads the clock least measures completion
    latency only. What needs a second core (sqthread_poll) is left out, as it is for diskspd.
    """
    variants = [*fio_at_depth(binary, load), *fio_in_batches(binary, load)]
    if load.depth == 1 or load.targets[0].startswith("/dev/zram"):
        # A device that completes within the call loses nothing by one I/O at a time.
        variants.append(fio(binary, load, "psync clat only", "--ioengine=psync", *_FIO_LESS))
    return variants


_FIO_RING = ("--ioengine=io_uring", "--registerfiles=1", "--fixedbufs=1", "--nonvectored=1")
_FIO_LESS = ("--disable_slat=1", "--disable_lat=1", "--thread")


def fio_at_depth(binary: str, load: Load) -> list[Tool]:
    """Fio in the ways that hand over the next I/O as soon as one is back, as diskspd does."""
    return [
        fio(binary, load, "io_uring", "--ioengine=io_uring"),
        fio(binary, load, "io_uring registered", *_FIO_RING),
        fio(binary, load, "io_uring registered, clat only", *_FIO_RING, *_FIO_LESS),
        fio(binary, load, "libaio", "--ioengine=libaio"),
    ]


def fio_in_batches(binary: str, load: Load) -> list[Tool]:
    """Fio in the ways that gather what is back, so that fewer I/Os are outstanding meanwhile."""
    batch = min(32, load.depth)
    batches = (f"--iodepth_batch_submit={batch}", f"--iodepth_batch_complete_max={batch}")
    whole = (*batches, f"--iodepth_batch_complete_min={batch}")
    ring, whole_ring = "io_uring registered, batches", "io_uring registered, whole batches"
    return [
        fio(binary, load, ring, *_FIO_RING, *batches),
        fio(binary, load, whole_ring, *_FIO_RING, *whole),
        fio(binary, load, f"{whole_ring}, clat only", *_FIO_RING, *whole, *_FIO_LESS),
        fio(
            binary, load, "libaio whole batches, clat only", "--ioengine=libaio", *whole, *_FIO_LESS
        ),
    ]


def fio_null_variants(binary: str, load: Load) -> list[Tool]:
    """Fio's engine that does nothing."""
    whole = (f"--iodepth_batch={load.depth}", f"--iodepth_batch_complete_min={load.depth}")
    less = ("--disable_slat=1", "--disable_lat=1", "--thread")
    null = "--ioengine=null"
    return [
        fio(binary, load, "null", null),
        fio(binary, load, "null whole batches", null, *whole),
        fio(binary, load, "null whole batches, clat only", null, *whole, *less),
    ]


def fio_start_variants(binary: str, load: Load) -> list[Tool]:
    """Fio in the ways that differ in how long it takes to start and to end."""
    return [
        fio(binary, load, "psync", "--ioengine=psync"),
        fio(binary, load, "psync thread", "--ioengine=psync", "--thread"),
        fio(binary, load, "io_uring thread", "--ioengine=io_uring", "--thread"),
    ]


def bare_ring_variants(binary: Path, load: Load) -> list[Tool]:
    """Give the ring loop without statistics, by the size of its batches."""
    batches = sorted({min(batch, load.depth) for batch in (16, 32, load.depth)})
    return [
        _bare(binary, "ring", load, f"batches of {batch}", f"depth={load.depth}", f"batch={batch}")
        for batch in batches
    ]


def bare_aio_variants(binary: Path, load: Load) -> list[Tool]:
    """Give the loop of libaio without statistics, by the size of its batches."""
    batches = sorted({1, min(32, load.depth), load.depth})
    return [
        _bare(binary, "aio", load, f"batches of {batch}", f"depth={load.depth}", f"batch={batch}")
        for batch in batches
    ]


def bare_variants(binary: Path, load: Load) -> list[Tool]:
    """Give each bare loop that may be the best for a device which completes within the call."""
    ring, aio = bare_ring_variants(binary, load), bare_aio_variants(binary, load)
    return [*ring, *aio, bare_pread(binary, load)]


def bare_pread(binary: Path, load: Load) -> Tool:
    """Give the loop of pread without statistics."""
    return _bare(binary, "pread", load, "loop")


def bare_clock(binary: Path, load: Load) -> Tool:
    """Give the loop of pread that reads the clock after each I/O, and sums up what they took."""
    return _bare(binary, "pread", load, "loop with a clock", "clock=1")


def _bare(binary: Path, loop: str, load: Load, name: str, *more: str) -> Tool:
    (target,), (cpu,) = load.targets, load.cpus
    command = (str(binary), loop, target, f"cpu={cpu}", f"seconds={load.seconds}")
    direct = f"direct={int(load.direct)}"
    return Tool(f"bare {loop} {name}", (*command, f"block={BLOCK_BYTES}", direct, *more), read_bare)
