"""The parts of a request, as the engine has them; generated, never edited."""

# The sentences are the engine's, and a part may stand behind the one that has it.
# ruff: noqa: D205, D404, PLW0108

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

__all__ = [
    "GREATEST",
    "Access",
    "AccessHints",
    "Arrivals",
    "BlockShare",
    "BufferSeparation",
    "ByteRange",
    "Caching",
    "ConfidenceRule",
    "CpuId",
    "CpuOrder",
    "Distribution",
    "DistributionAbsolute",
    "DistributionPercent",
    "DistributionRange",
    "EfficiencyOrder",
    "EngineChoice",
    "Extensions",
    "FaultPolicy",
    "FlushMode",
    "NamedEvents",
    "OnError",
    "OnErrorCount",
    "Pattern",
    "PatternOrder",
    "Precreate",
    "Priority",
    "Profile",
    "Rate",
    "RateBytesPerMs",
    "RateIops",
    "Ratio",
    "ResultFormat",
    "RingBatch",
    "RingBatchIos",
    "RingBatchPercent",
    "RingUse",
    "RunOptions",
    "Skew",
    "SkewNormal",
    "SkewPareto",
    "SkewZipf",
    "SteadyRule",
    "StopRules",
    "SubmissionThread",
    "SyncCadence",
    "Target",
    "ThreadTarget",
    "TimeSpan",
    "Tracing",
    "Tuning",
    "WriteData",
    "WriteSource",
    "WriteSourceBuffer",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """Order of offsets."""

    align_bytes: int = 65536
    """Alignment of random offsets, or stride of sequential ones, in bytes."""

    interlocked: bool = False
    """Sequential threads share one offset."""

    random_percent: int = 0
    """Share of random I/Os, 0 to 100: 0 is sequential, between is runs of sequential I/O."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AccessHints:
    """Access hints given when a file is opened."""

    random: bool = False
    """Offsets will be random."""

    sequential: bool = False
    """Offsets will ascend."""

    temporary: bool = False
    """The data will not be needed for long."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BlockShare:
    """A size of I/Os and its share."""

    block_bytes: int
    """Bytes per I/O."""

    io_percent: int
    """Share of the I/Os, in percent; those of a mix add up to 100."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ByteRange:
    """A range of a target."""

    base_bytes: int
    """First byte, from the start of the target."""

    length_bytes: int
    """Length in bytes; 0 means up to the end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfidenceRule:
    """When the mean of a rate counts as known: it lies within a share of itself with some
    confidence.
    """

    level_milli: int
    """The confidence, in thousandths of a percent."""

    precision_milli: int
    """Half of the interval that holds the true mean, in thousandths of a percent of the mean."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CpuId:
    """A CPU by processor group (NUMA node on Linux) and index within the group, or a whole
    group.
    """

    group: int
    """Processor group."""

    index: int | None = None
    """Index within the group; absent for all CPUs of the group."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CpuOrder:
    """The order in which CPUs are given to threads."""

    core_first: bool = False
    """One CPU of each physical core comes before the second of any."""

    efficiency: EfficiencyOrder | None = None
    """What the kinds of cores mean for the order; fast ones first if absent."""

    span_groups: bool = False
    """Groups take turns instead of being filled one after the other."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DistributionPercent:
    """Ranges as percentages of the target."""

    percent: tuple[DistributionRange, ...]
    """"""


@dataclass(frozen=True, kw_only=True, slots=True)
class DistributionAbsolute:
    """Ranges in bytes; a length of 0 in the last range means up to the end."""

    absolute: tuple[DistributionRange, ...]
    """"""


@dataclass(frozen=True, kw_only=True, slots=True)
class DistributionRange:
    """One range of a distribution."""

    io_percent: int
    """Share of the I/Os, 0 to 100."""

    length: int
    """Length: percent of the target, or bytes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Extensions:
    """What a target's load has beyond ``DiskSpd``."""

    block_mix: tuple[BlockShare, ...] = ()
    """Sizes of reads and writes with their shares; empty if all have the block size."""

    compress_percent: int | None = None
    """Share of the data that a compressor saves, 0 to 100."""

    dedupe_percent: int | None = None
    """Share of the writes whose data repeat an earlier write's, 0 to 100."""

    ratio: Ratio | None = None
    """How the shares of writes and trims are kept; absent: exactly if a direction has a pattern
    of its own, and drawn otherwise, as in ``DiskSpd``.
    """

    read_block_mix: tuple[BlockShare, ...] = ()
    """Sizes of reads; empty if they have none of their own."""

    read_pattern: Pattern | None = None
    """Where reads go, in an order of their own."""

    sync: SyncCadence | None = None
    """Writes are brought to stable storage again and again."""

    trim_percent: int | None = None
    """Share of I/Os that give their block back instead of reading or writing it, 0 to 100."""

    write_block_mix: tuple[BlockShare, ...] = ()
    """Sizes of writes and trims; empty if they have none of their own."""

    write_pattern: Pattern | None = None
    """Where writes and trims go, in an order of their own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultPolicy:
    """What a time span does about I/Os that fail; what is not given takes its default."""

    io_timeout_s: int | None = None
    """After how many seconds without a completion a thread counts as stuck, and the time span is
    ended without it; 0 sets no limit. If absent it is 120, or more where connections are made
    again for longer.
    """

    on_error: OnError | None = None
    """What an I/O that fails does to the time span; it ends it if absent, as in ``DiskSpd``."""

    reconnect_s: int | None = None
    """For how many seconds a lost connection to a target over the network is made again, while
    what was in flight waits; never if absent.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedEvents:
    """Named events shared between processes of this machine."""

    finish: str | None = None
    """Signalled when the run has finished."""

    start: str | None = None
    """Signalled when the run starts."""

    stop: str | None = None
    """Ends the run when somebody signals it."""

    wait: str | None = None
    """Waited for before the run starts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OnErrorCount:
    """Each is counted, and the one with this number, over all threads and targets, ends it."""

    count: int
    """"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pattern:
    """The order of one direction's offsets."""

    align_bytes: int | None = None
    """Alignment of random offsets, or stride of sequential ones, in bytes."""

    block_bytes: int | None = None
    """Bytes per I/O; the target's if absent."""

    order: PatternOrder
    """The order."""

    range: ByteRange | None = None
    """The part of the target that is used; the target's own range if absent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """The load of a request: one or more time spans that run one after the other."""

    events: NamedEvents = field(default_factory=lambda: NamedEvents())
    """Named events that tie this run to other processes."""

    experiment_flags: int = 0
    """Bit mask of experiments; 0 is none."""

    format: ResultFormat = "text"
    """The form in which the result goes to standard output."""

    precreate: Precreate = "none"
    """Whether target files are created before the first time span."""

    progress_every_ios: int = 0
    """A progress mark is shown each time a thread has completed this many I/Os; 0 shows none."""

    time_spans: tuple[TimeSpan, ...] = field(default_factory=lambda: (TimeSpan(),))
    """The time spans, at least one, in the order in which they run."""

    tracing: Tracing | None = None
    """Kernel events to count during the measured time; none if absent."""

    verbose: bool = False
    """Messages about each step of the run are shown."""

    wait_statistics: bool = False
    """Statistics of how threads waited are kept and shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RateBytesPerMs:
    """Bytes per millisecond."""

    bytes_per_ms: int
    """"""


@dataclass(frozen=True, kw_only=True, slots=True)
class RateIops:
    """I/Os per second."""

    iops: int
    """"""


@dataclass(frozen=True, kw_only=True, slots=True)
class RingBatchIos:
    """This many."""

    ios: int
    """"""


@dataclass(frozen=True, kw_only=True, slots=True)
class RingBatchPercent:
    """This share of the thread's outstanding I/Os, in percent, rounded up."""

    percent: int
    """"""


@dataclass(frozen=True, kw_only=True, slots=True)
class RingUse:
    """The use of a ring."""

    batch: RingBatch = field(default_factory=lambda: RingBatchPercent(percent=25))
    """I/Os that are handed over together."""

    registered_buffers: bool = True
    """The kernel pins the buffers once, before the run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOptions:
    """Settings of a run beside its load."""

    arrivals: Arrivals = "constant"
    """How the I/Os of a rate are spread over the time."""

    connections: int | None = None
    """Connections of each thread to each of its targets over the network; one if absent."""

    engine: EngineChoice | None = None
    """The engine to use; chosen by the plan if absent."""

    interval_latency: bool = False
    """I/Os of each interval are counted by their latency."""

    polled: bool = False
    """Completions are looked for at the device instead of being announced by an interrupt."""

    remove_created: bool = False
    """Files that the run makes are removed at its end."""

    skew: Skew | None = None
    """How random I/O is skewed; uniform, or as the profile says, if absent."""

    submission_thread: SubmissionThread | None = None
    """A thread of the kernel takes what is queued; absent if the thread itself hands it over."""

    total_iops: int | None = None
    """I/Os per second of all threads together; no limit if absent."""

    verify: bool = False
    """Writes are stamped, and reads are checked."""

    verify_journal: str | None = None
    """The file that keeps which writes may stand where; named after the JSON result or the first
    target if absent.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class SkewZipf:
    """The k-th place has a share in proportion to k^-theta."""

    VARIANT: ClassVar[str] = "zipf"

    theta_milli: int
    """Theta in thousandths."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SkewPareto:
    """The first fraction h of the target has the share 1 - h, and so on within it."""

    VARIANT: ClassVar[str] = "pareto"

    h_milli: int
    """The fraction h in thousandths, between 0 and 500."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SkewNormal:
    """A bell around the middle of the target."""

    VARIANT: ClassVar[str] = "normal"

    deviation_milli: int
    """Standard deviation in thousandths of a percent of the target."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SteadyRule:
    """When a rate counts as steady: in a window of the last intervals it spreads and rises or
    falls little.
    """

    intervals: int
    """Intervals in the window, at least 3."""

    range_milli: int
    """Greatest minus least rate, in thousandths of a percent of the mean, at most."""

    slope_milli: int
    """Rise or fall of the line of least squares over the window, in thousandths of a percent of
    the mean, at most.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class StopRules:
    """Rules that end the measured time; the first that is met does. The duration is the longest
    time.
    """

    bytes: int | None = None
    """After this many bytes, of all threads and targets together."""

    confidence: ConfidenceRule | None = None
    """Once the mean of the rate is known well enough."""

    interval_ms: int | None = None
    """Length of the intervals by which rates are judged, in milliseconds; chosen if absent."""

    ios: int | None = None
    """After this many I/Os, of all threads and targets together."""

    pass_: bool = False
    """After one pass of sequential I/O over the range of each target."""

    steady: SteadyRule | None = None
    """Once the rate is steady."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SubmissionThread:
    """A thread of the kernel that takes what is queued."""

    cpu: int | None = None
    """The only CPU that it runs on, by the kernel's number; any if absent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncCadence:
    """How often writes are brought to stable storage."""

    data_only: bool
    """``fdatasync`` instead of ``fsync``."""

    every_writes: int
    """One sync behind this many writes of a thread to the target."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """One file or device, and what is done to it."""

    access: Access = field(default_factory=lambda: Access())
    """Order of offsets."""

    base_bytes: int = 0
    """First byte that may be touched."""

    block_bytes: int = 65536
    """Bytes per I/O."""

    burst_ios: int | None = None
    """I/Os in a burst; given together with ``think_ms``."""

    caching: Caching = "cached"
    """Which caches are bypassed."""

    create_bytes: int | None = None
    """The file is created with this size, in bytes."""

    distribution: Distribution | None = None
    """Random offsets follow this distribution; uniform if absent."""

    extensions: Extensions = field(default_factory=lambda: Extensions())
    """What ``DiskSpd`` has no word for."""

    flush: FlushMode | None = None
    """How mapped writes are flushed."""

    hints: AccessHints = field(default_factory=lambda: AccessHints())
    """Access hints given when the file is opened."""

    large_pages: bool = False
    """Buffers lie on large pages."""

    limit_bytes: int = 0
    """End of the range that may be touched, exclusive, from the start of the target; 0 is its
    end.
    """

    memory_mapped: bool = False
    """I/O goes through a shared mapping."""

    outstanding: int = 2
    """I/Os outstanding per thread."""

    parallel_same_offset: bool = False
    """All outstanding I/Os of a thread go to the same offset."""

    path: str = ""
    """Path or device name as it was given."""

    priority: Priority = "normal"
    """I/O priority."""

    rate: Rate | None = None
    """Limit of the rate, per thread."""

    think_ms: int | None = None
    """Idle time between bursts, in milliseconds."""

    thread_stride_bytes: int = 0
    """Distance between the first offsets of two threads, in bytes; 0 is none."""

    thread_targets: tuple[ThreadTarget, ...] = ()
    """Threads that use this target, when threads are shared; empty means all."""

    threads: int = 1
    """Threads of this target; meaningless when threads are shared."""

    weight: int = 1
    """Share of a thread's I/Os, relative to its other targets."""

    write_data: WriteData = field(default_factory=lambda: WriteData())
    """What is written."""

    write_percent: int = 0
    """Share of writes, 0 to 100."""

    write_through: bool = False
    """A write ends only when the data are on stable storage."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ThreadTarget:
    """One shared thread's use of a target."""

    thread: int
    """Index of the thread."""

    weight: int
    """Share of this thread's I/Os; 0 means the target's own weight."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeSpan:
    """One stretch of load with one set of targets."""

    alternate_completion: bool = False
    """The system's other asynchronous completion path is used."""

    cool_down_s: int = 0
    """Load after the measured time, in seconds."""

    cpu_order: CpuOrder = field(default_factory=lambda: CpuOrder())
    """The order in which CPUs are given to threads."""

    cpus: tuple[CpuId, ...] = ()
    """CPUs to pin threads to, round robin; empty means all of them."""

    disable_affinity: bool = False
    """Threads stay where the scheduler puts them."""

    duration_s: int = 10
    """Measured time in seconds."""

    faults: FaultPolicy = field(default_factory=lambda: FaultPolicy())
    """What is done about I/Os that fail."""

    interval_ms: int = 1000
    """Length of an interval of the time series, in milliseconds."""

    interval_series: bool = False
    """I/Os per interval are kept, for the time series and its standard deviation."""

    measure_latency: bool = False
    """Each I/O's latency is kept."""

    random_seed: int = 0
    """Seed of every random choice."""

    request_count: int = 0
    """I/Os outstanding per thread over all targets; 0 means per target."""

    stop: StopRules = field(default_factory=lambda: StopRules())
    """What ends the measured time before its duration."""

    targets: tuple[Target, ...] = ()
    """The targets, at least one."""

    thread_count: int = 0
    """Threads that share all targets; 0 means that each target has threads of its own."""

    tuning: Tuning = field(default_factory=lambda: Tuning())
    """How I/O is handed over and taken back, and where its buffers lie."""

    warm_up_s: int = 5
    """Load before the measured time, in seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tracing:
    """Kernel events that are counted during the measured time, and the clock of the trace."""

    clock_coarse: bool = False
    """Trace time stamps come from the coarse system clock."""

    clock_cycles: bool = False
    """Trace time stamps come from the cycle counter."""

    clock_monotonic: bool = False
    """Trace time stamps come from the monotonic clock."""

    disk_io: bool = False
    """Block device I/O."""

    image_load: bool = False
    """Mapping of an executable image."""

    memory_hard_faults: bool = False
    """Page faults that needed I/O."""

    memory_page_faults: bool = False
    """All page faults."""

    network: bool = False
    """Network traffic."""

    paged_memory: bool = False
    """Trace buffers may be paged out."""

    process: bool = False
    """Process start and end."""

    registry: bool = False
    """Windows registry calls."""

    thread: bool = False
    """Thread start and end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuning:
    """How a time span's I/O is handed over and taken back, and where its buffers lie."""

    buffer_separation: BufferSeparation | None = None
    """How the buffers of different threads are kept apart; the default if absent."""

    completion_depth: int | None = None
    """Completions that are taken at a time, at most; all that are there if absent."""

    ring: RingUse | None = None
    """Through a ring with these settings; the plan chooses if absent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteData:
    """What is written."""

    fresh_random: bool = False
    """Each I/O gets new random data."""

    source: WriteSource = "counting_pattern"
    """Where the bytes come from."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteSourceBuffer:
    """A buffer from which each I/O takes a piece."""

    VARIANT: ClassVar[str] = "buffer"

    bytes: int
    """Size of the buffer."""

    file: str | None = None
    """File that fills it; random data if absent."""


Arrivals = Literal["constant", "poisson"]
BufferSeparation = Literal["system_default", "page_directory_line"]
Caching = Literal["cached", "unbuffered", "remote_unbuffered"]
Distribution = DistributionPercent | DistributionAbsolute
EfficiencyOrder = Literal["unordered", "fast_first", "slow_first", "fill_fast", "fill_slow"]
EngineChoice = Literal["uring", "aio", "sync", "mmap", "null"]
FlushMode = Literal["view_of_file", "non_volatile_memory", "non_volatile_memory_no_drain"]
OnError = Literal["stop", "continue"] | OnErrorCount
PatternOrder = Literal["random", "sequential", "interlocked"]
Precreate = Literal["none", "use_max_size", "only_constant_sizes", "only_constant_or_zero_sizes"]
Priority = Literal["very_low", "low", "normal"]
Rate = RateBytesPerMs | RateIops
Ratio = Literal["drawn", "exact"]
ResultFormat = Literal["text", "xml", "json"]
RingBatch = RingBatchIos | RingBatchPercent
Skew = SkewZipf | SkewPareto | SkewNormal
WriteSource = Literal["counting_pattern", "zero"] | WriteSourceBuffer

GREATEST = {
    "Access.align_bytes": 2**64 - 1,
    "ByteRange.base_bytes": 2**64 - 1,
    "ByteRange.length_bytes": 2**64 - 1,
    "CpuId.group": 2**16 - 1,
    "CpuId.index": 2**8 - 1,
    "DistributionRange.length": 2**64 - 1,
    "Pattern.align_bytes": 2**64 - 1,
    "RunOptions.total_iops": 2**64 - 1,
    "StopRules.bytes": 2**64 - 1,
    "StopRules.ios": 2**64 - 1,
    "Target.base_bytes": 2**64 - 1,
    "Target.create_bytes": 2**64 - 1,
    "Target.limit_bytes": 2**64 - 1,
    "Target.thread_stride_bytes": 2**64 - 1,
    "WriteSourceBuffer.bytes": 2**64 - 1,
}
"""The greatest number of each field that has more or less than 32 bits."""
