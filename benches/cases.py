"""The cases: what is compared with what, by which figure, and which ratio is requested."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import tools
from places import MANY_FILES, MissingError, Places, fio_binary, memory_file, zram
from tools import Load

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from legs import Leg, Tool

MIB = 1 << 20
RATE_IOPS = 200_000
DEPTHS = (1, 2, 8, 32, 128)


@dataclass(frozen=True)
class Setting:
    """What a case is given: our binary, fio, the places, and the length of a leg."""

    diskspd: Path
    fio: str
    places: Places
    seconds: int
    stack: ExitStack

    def zram(self, depth: int, cpus: tuple[int, ...] = (0,), rate_iops: int = 0) -> Load:
        """Give the load on zram, which is put back when the stack ends."""
        device = self.stack.enter_context(zram())
        return Load((device,), depth, self.seconds, cpus, rate_iops=rate_iops)

    def memory_file(self) -> str:
        """Give a file on tmpfs, which is removed when the stack ends."""
        return self.stack.enter_context(memory_file())


@dataclass(frozen=True)
class Figure:
    """The figure of a leg that is compared."""

    unit: str
    of: Callable[[Leg], float]
    best: Callable[[list[float]], float]
    """Which of several peers' figures is the best one."""


IOPS = Figure("IOPS", lambda leg: leg.iops, max)
NS_PER_IO = Figure("ns per I/O", lambda leg: 1e9 / leg.iops, min)
CPU_PER_IO = Figure("CPU ns per I/O", lambda leg: leg.cpu_ns_per_io, min)


@dataclass(frozen=True)
class Duel:
    """Our tool, and its peers, of which the best one counts; without any the figure is judged."""

    ours: Tool
    peers: list[Tool]


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    name: str
    title: str
    figure: Figure
    limit: float
    at_most: bool
    """The limit is a ceiling; otherwise it is a floor."""
    duel: Callable[[Setting], Duel]
    difference: bool = False
    """What is judged is the difference of the figures, not their ratio."""

    def holds(self, value: float) -> bool:
        """Tell whether the limit is kept."""
        return value <= self.limit if self.at_most else value >= self.limit


def _zram_against_fio(depth: int) -> Case:
    def duel(setting: Setting) -> Duel:
        load, fio = setting.zram(depth), fio_binary(setting.fio)
        return Duel(tools.diskspd(setting.diskspd, load), tools.fio_variants(fio, load))

    title = f"4 KiB random read, zram, O_DIRECT, queue depth {depth}, one thread, against fio"
    return Case(f"zram-{depth}-fio", title, IOPS, 1.0, at_most=False, duel=duel)


def _zram_against_bare(depth: int) -> Case:
    def duel(setting: Setting) -> Duel:
        load, bare = setting.zram(depth), setting.places.bare()
        return Duel(tools.diskspd(setting.diskspd, load), tools.bare_variants(bare, load))

    title = f"the same, queue depth {depth}, against the best bare loop (ring, libaio, pread)"
    return Case(f"zram-{depth}-bare", title, IOPS, 0.97, at_most=False, duel=duel)


def _against_less(place: str, depth: int, less: int) -> Case:
    """Hold our own figure at a depth against that at a smaller one."""

    def duel(setting: Setting) -> Duel:
        def at(depth: int) -> Load:
            if place == "zram":
                return setting.zram(depth)
            return Load((setting.memory_file(),), depth, setting.seconds)

        peer = tools.diskspd(setting.diskspd, at(less), name=f"depth {less}")
        return Duel(tools.diskspd(setting.diskspd, at(depth)), [peer])

    title = f"4 KiB random read, {place}, queue depth {depth} against {less}"
    return Case(f"{place}-{depth}-less", title, IOPS, 0.9, at_most=False, duel=duel)


def _own_cost(setting: Setting) -> Duel:
    load = setting.zram(1)
    bare = tools.bare_pread(setting.places.bare(), load)
    return Duel(tools.diskspd(setting.diskspd, load), [bare])


def _clock_cost(setting: Setting) -> Duel:
    load, bare = setting.zram(1), setting.places.bare()
    return Duel(tools.bare_clock(bare, load), [tools.bare_pread(bare, load)])


def _one_core(depth: int) -> Case:
    """Forbid the kernel to serve the ring by workers on other cores."""

    def duel(setting: Setting) -> Duel:
        load, fio = setting.zram(depth), fio_binary(setting.fio)
        peers = tools.fio_variants(fio, load) + tools.bare_variants(setting.places.bare(), load)
        return Duel(tools.confined(tools.diskspd(setting.diskspd, load), 0), peers)

    title = (
        f"zram, queue depth {depth}, all on one core, against the best of fio and the bare loops"
    )
    return Case(f"zram-{depth}-one-core", title, IOPS, 0.97, at_most=False, duel=duel)


def _pinned_way(engine: str, depth: int) -> Case:
    """Hold a way that this CPU may not choose against the loop of the same way.

    Not io_uring: where a call does the whole I/O, its workers only cost, on whichever CPU.
    """

    def duel(setting: Setting) -> Duel:
        load, bare = setting.zram(depth), setting.places.bare()
        loops = {
            "sync": lambda: [tools.bare_pread(bare, load)],
            "aio": lambda: tools.bare_aio_variants(bare, load),
        }
        ours = tools.diskspd(setting.diskspd, load, f"--engine={engine}")
        peers = [tools.confined(loop, 0) for loop in loops[engine]()]
        return Duel(tools.confined(ours, 0), peers)

    title = f"zram, queue depth {depth}, --engine={engine}, all on one core, against its bare loop"
    return Case(f"zram-{depth}-{engine}", title, IOPS, 0.97, at_most=False, duel=duel)


def _two_threads(depth: int) -> Case:
    def duel(setting: Setting) -> Duel:
        cpus = usable_cpus()
        if len(cpus) < 2:  # noqa: PLR2004 - Two is two.
            raise MissingError("two CPUs are needed")
        # Kept to its core with the kernel's workers, which would else use the second one already.
        one = tools.diskspd(setting.diskspd, setting.zram(depth, cpus[:1]), name="one thread")
        one = tools.confined(one, cpus[0])
        two = tools.diskspd(setting.diskspd, setting.zram(depth, cpus[:2]), name="two threads")
        return Duel(two, [one])

    title = f"zram, queue depth {depth}: two threads on two cores, against one on one"
    return Case(f"zram-{depth}-two-threads", title, IOPS, 1.9, at_most=False, duel=duel)


def usable_cpus() -> tuple[int, ...]:
    """Give the CPUs that this process may use."""
    told = Path("/proc/self/status").read_text().split("Cpus_allowed_list:")[1].split()[0]
    cpus: list[int] = []
    for part in told.split(","):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return tuple(cpus)


def _null(setting: Setting) -> Duel:
    load = Load(("null",), 128, setting.seconds, size_bytes=1 << 30)
    fio = fio_binary(setting.fio)
    ours = tools.diskspd(setting.diskspd, load, "--engine=null")
    return Duel(ours, tools.fio_null_variants(fio, load))


def _page_cache(setting: Setting) -> Duel:
    load = Load((setting.places.cached_file(),), 1, setting.seconds, direct=False)
    bare = tools.bare_pread(setting.places.bare(), load)
    return Duel(tools.diskspd(setting.diskspd, load), [bare])


def _disk_cpu(setting: Setting) -> Duel:
    """Hold like against like: a device that queues has less to do for a tool that lets it idle."""
    load = Load((setting.places.file(),), 32, setting.seconds)
    variants = tools.fio_at_depth(fio_binary(setting.fio), load)
    return Duel(tools.diskspd(setting.diskspd, load), variants)


def _disk_cpu_batches(setting: Setting) -> Duel:
    load = Load((setting.places.file(),), 32, setting.seconds)
    variants = tools.fio_in_batches(fio_binary(setting.fio), load)
    return Duel(tools.diskspd(setting.diskspd, load, "-u16"), variants)


def _start(setting: Setting) -> Duel:
    load = Load((setting.places.file(),), 1, 1)
    variants = tools.fio_start_variants(fio_binary(setting.fio), load)
    return Duel(tools.diskspd(setting.diskspd, load), variants)


def _memory(setting: Setting) -> Duel:
    load = Load(setting.places.many_files(), 8, setting.seconds, cpus=())
    return Duel(tools.diskspd(setting.diskspd, load), [])


def _memory_few_threads(setting: Setting) -> Duel:
    load = Load(setting.places.many_files(), 8, setting.seconds, cpus=())
    return Duel(tools.diskspd(setting.diskspd, load, "-F4"), [])


def _rate(setting: Setting) -> Duel:
    load = setting.zram(32, rate_iops=RATE_IOPS)
    return Duel(tools.diskspd(setting.diskspd, load), [])


def _rate_cpu(setting: Setting) -> Duel:
    full = tools.diskspd(setting.diskspd, setting.zram(32), name="diskspd at full speed")
    paced = tools.diskspd(setting.diskspd, setting.zram(32, rate_iops=RATE_IOPS))
    return Duel(paced, [full])


def _beyond_buffers(threads: int) -> Figure:
    buffers = MANY_FILES * 8 * tools.BLOCK_BYTES * threads
    return Figure("MiB", lambda leg: (leg.peak_bytes - buffers) / MIB, min)


OFF_RATE = Figure("% off", lambda leg: abs(leg.iops / RATE_IOPS - 1) * 100, min)
BEYOND_A_SECOND = Figure("s", lambda leg: leg.wall_s - 1, min)
CPU = Figure("CPU s", lambda leg: leg.cpu_s, min)

CASES = [
    *(_zram_against_fio(depth) for depth in DEPTHS),
    *(_zram_against_bare(depth) for depth in DEPTHS),
    *(_one_core(depth) for depth in DEPTHS),
    *(_pinned_way("sync", depth) for depth in DEPTHS[:3]),
    *(_pinned_way("aio", depth) for depth in DEPTHS),
    *(_against_less("zram", depth, less) for less, depth in pairwise(DEPTHS)),
    *(_against_less("tmpfs", depth, 1) for depth in (2, 8, 32)),
    Case(
        "own-cost",
        "own time per I/O, zram, queue depth 1, latency on, beyond the bare pread loop",
        NS_PER_IO,
        60,
        at_most=True,
        duel=_own_cost,
        difference=True,
    ),
    Case(
        "clock-cost",
        "of it, what any loop pays that knows latencies: a bare pread loop that reads the clock",
        NS_PER_IO,
        60,
        at_most=True,
        duel=_clock_cost,
        difference=True,
    ),
    _two_threads(32),
    _two_threads(128),
    Case(
        "null",
        "engine that does nothing, queue depth 128, latency on, against fio's",
        IOPS,
        2.0,
        at_most=False,
        duel=_null,
    ),
    Case(
        "page-cache",
        "4 KiB from the page cache, queue depth 1, against a bare pread loop",
        IOPS,
        0.95,
        at_most=False,
        duel=_page_cache,
    ),
    Case(
        "disk-cpu",
        "CPU time per I/O, file on disk, O_DIRECT, queue depth 32, against fio at that depth",
        CPU_PER_IO,
        0.7,
        at_most=True,
        duel=_disk_cpu,
    ),
    Case(
        "disk-cpu-batches",
        "the same in batches (-u16), against fio in batches",
        CPU_PER_IO,
        0.77,
        at_most=True,
        duel=_disk_cpu_batches,
    ),
    Case(
        "start",
        "start to finish of a run of 1 s, beyond the second itself, against fio",
        BEYOND_A_SECOND,
        0.25,
        at_most=True,
        duel=_start,
    ),
    Case(
        "memory",
        "1,000 files, a thread and queue depth 8 each, latency on: memory beyond the I/O buffers",
        _beyond_buffers(1),
        256,
        at_most=True,
        duel=_memory,
    ),
    Case(
        "memory-few-threads",
        "the same with 4 threads for all files",
        _beyond_buffers(4),
        256,
        at_most=True,
        duel=_memory_few_threads,
    ),
    Case(
        "rate",
        "-g at 200,000 IOPS on zram: deviation of the delivered rate in percent",
        OFF_RATE,
        0.1,
        at_most=True,
        duel=_rate,
    ),
    Case(
        "rate-cpu",
        "the same: CPU time against full speed",
        CPU,
        1.0,
        at_most=True,
        duel=_rate_cpu,
    ),
]
