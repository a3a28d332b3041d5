"""The same thing in the words of DiskSpd, fio and Iometer."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["TERMS", "Term", "terms_table"]


@dataclass(frozen=True)
class Term:
    """One thing, and what each tool calls it; ``""`` where a tool has no word for it.

    ``remark`` says what is not quite the same.
    """

    meaning: str
    diskspd: str
    fio: str
    iometer: str
    remark: str = ""


TERMS = (
    Term("file or device", "the last arguments", "filename=", "Disk Targets"),
    Term("bytes of each I/O", "-b8K", "bs=8k", "Transfer Request Size"),
    Term("I/Os that are under way, per thread and target", "-o32", "iodepth=32",
         "# of Outstanding I/Os", "fio's counts all files of a job together"),
    Term("threads per target", "-t4", "thread, numjobs=4", "Workers (several per target)"),
    Term("threads for all targets", "-F4", "numjobs=4, filename=a:b", "Workers"),
    Term("I/Os under way per thread over all targets", "-O16", "iodepth=16, filename=a:b", ""),
    Term("random reads", "-r", "rw=randread, norandommap", "Percent Random 100 %",
         "without norandommap fio visits each block once before any again"),
    Term("random writes", "-r -w100", "rw=randwrite, norandommap", "Percent Random, Write 100 %"),
    Term("share of writes", "-w30", "rw=randrw, rwmixwrite=30", "Percent Write 30 %",
         "a sequential mix is one walk in DiskSpd, and two in fio"),
    Term("share of random I/O", "-rs70", "percentage_random=70", "Percent Random 70 %"),
    Term("alignment of random I/O", "-r4K", "blockalign=4k", "Align I/Os on 4 KiB"),
    Term("sequential", "-s", "rw=read or rw=write", "Percent Random 0 %"),
    Term("distance between sequential I/Os", "-s16K -b8K", "rw=read:8k, bs=8k", "",
         "fio says the gap, DiskSpd the distance from start to start"),
    Term("one walk for all threads", "-si", "", "",
         "in fio one thread keeps all I/Os of the walk"),
    Term("distance between the threads' first offsets", "-T1M", "offset_increment=1m", ""),
    Term("first offset", "-B1M", "offset=1m", "Starting Disk Sector"),
    Term("length of the range", "-B0:1G", "size=1g", "Maximum Disk Size (sectors)"),
    Term("size of a file that is made", "-c1G", "filesize=1g", "iobw.tst, Maximum Disk Size",
         "DiskSpd here fills the file before the run, with data that do not compress"),
    Term("hot places", "-rdpct90/10:10/90", "random_distribution=zoned:90/10:10/90", ""),
    Term("skewed places", "--skew=zipf:1.1", "random_distribution=zipf:1.1", ""),
    Term("several block sizes", "--block-mix=4K:60,8K:40", "bssplit=4k/60:8k/40",
         "several lines of an Access Specification"),
    Term("past the page cache", "-Su", "direct=1", "always",
         "Iometer opens its targets without buffering"),
    Term("past the cache, and each write on stable storage", "-Sh", "direct=1, sync=dsync", ""),
    Term("each write on stable storage", "-Sw", "sync=dsync", ""),
    Term("through the page cache", "-Sb", "direct=0, invalidate=0", ""),
    Term("through a mapping", "-Sm", "ioengine=mmap", ""),
    Term("engine", "--engine=uring", "ioengine=io_uring", ""),
    Term("engine (Linux AIO)", "-x or --engine=aio", "ioengine=libaio", ""),
    Term("one I/O at a time", "-o1", "ioengine=psync", "# of Outstanding I/Os 1"),
    Term("sync behind so many writes", "--fsync=32", "fsync=32", ""),
    Term("sync of data alone", "--fdatasync=32", "fdatasync=32", ""),
    Term("I/Os per second and thread", "-g1000i", "rate_iops=1000", "",
         "fio limits reads and writes apart: rate_iops=700,300"),
    Term("bytes per millisecond and thread", "-g100", "rate=100000", ""),
    Term("I/Os per second of all threads", "--rate=4000", "rate_iops= divided by the threads", ""),
    Term("random arrivals", "--arrivals=poisson", "rate_process=poisson", ""),
    Term("bursts", "-i10 -j5", "thinktime=5ms, thinktime_blocks=10",
         "Burst Length 10, Transfer Delay 5 ms"),
    Term("measured time", "-d60", "runtime=60, time_based", "Run Time"),
    Term("warm-up", "-W10", "ramp_time=10", "Ramp Up Time"),
    Term("cool-down", "-C5", "", ""),
    Term("end behind so many I/Os", "--stop-ios=1000000", "number_ios=1000000", "",
         "fio counts per thread"),
    Term("end behind so many bytes", "--stop-bytes=16G", "io_size=16g", "",
         "fio counts per thread"),
    Term("end when steady", "--stop-steady", "steadystate=iops_slope:10%", "",
         "DiskSpd here asks for range and slope, fio for one of them"),
    Term("end when the mean is known", "--stop-confidence=95:2", "", ""),
    Term("latencies", "-L", "always; lat_percentiles=1", "always (mean and greatest)",
         "lat is from submission to completion as DiskSpd's, clat without the submission"),
    Term("figures of each interval", "-D500", "write_iops_log=, log_avg_msec=500", ""),
    Term("seed", "-z7", "randseed=7", "", "the same seed gives other offsets"),
    Term("CPUs", "-a0,1", "cpus_allowed=0,1, cpus_allowed_policy=split", ""),
    Term("write zeros", "-Z", "zero_buffers", "Repeating Bytes"),
    Term("new random data for each write", "-Zr", "refill_buffers", "Full Random"),
    Term("random data from a buffer", "-Z1M", "scramble_buffers=1", "Pseudo Random"),
    Term("data that compress", "--compress=50",
         "refill_buffers, buffer_compress_percentage=50", ""),
    Term("data that repeat", "--dedupe=20", "refill_buffers, dedupe_percentage=20", ""),
    Term("checked data", "--verify", "verify=crc32c", "",
         "fio checks what the same job wrote"),
    Term("large pages", "-l", "iomem=shmhuge", ""),
    Term("priority of I/O", "-I1", "prioclass=3", ""),
    Term("hint of random access", "-fr", "fadvise_hint=random", ""),
    Term("batches", "-u8", "iodepth_batch_submit=8", ""),
    Term("completions at a time", "-oc4", "iodepth_batch_complete_max=4", ""),
    Term("polled completion", "--polled", "hipri=1", ""),
    Term("submission by the kernel", "--sqpoll", "sqthread_poll=1", ""),
)  # fmt: skip
"""All terms, in the order in which a load is described."""


def terms_table() -> str:
    """Return the terms as a table in Markdown."""
    rows = ["| | DiskSpd | fio | Iometer | not quite the same |", "|---|---|---|---|---|"]
    for term in TERMS:
        words = [_code(term.diskspd), _code(term.fio), term.iometer]
        rows.append(f"| {' | '.join([term.meaning, *words, term.remark])} |")
    return "\n".join(rows) + "\n"


def _code(text: str) -> str:
    return f"`{text}`" if "-" in text[:1] or "=" in text else text
