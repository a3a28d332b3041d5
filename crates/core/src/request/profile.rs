//! The load: time spans and their targets, before the machine is looked at.
//!
//! A [`Profile`] holds every setting with its default filled in, but nothing that only the
//! machine knows: no file size, no CPU number that was checked, no open file. It can be
//! written, read back and compared on any host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CpuOrder, Extensions, FaultPolicy, StopRules, Tuning};
use crate::storage;

/// The load of a request: one or more time spans that run one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Profile {
    /// A progress mark is shown each time a thread has completed this many I/Os; 0 shows none.
    pub progress_every_ios: u32,
    /// The form in which the result goes to standard output.
    pub format: ResultFormat,
    /// Messages about each step of the run are shown.
    pub verbose: bool,
    /// Statistics of how threads waited are kept and shown.
    pub wait_statistics: bool,
    /// Whether target files are created before the first time span.
    pub precreate: Precreate,
    /// Kernel events to count during the measured time; none if absent.
    pub tracing: Option<Tracing>,
    /// Named events that tie this run to other processes.
    pub events: NamedEvents,
    /// Bit mask of experiments; 0 is none.
    pub experiment_flags: u32,
    /// The time spans, at least one, in the order in which they run.
    pub time_spans: Vec<TimeSpan>,
}

/// The form of a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultFormat {
    /// Tables for people, and for scripts that split them by line and `|`.
    #[default]
    Text,
    /// `DiskSpd`'s XML result.
    Xml,
    /// Everything that was measured, by a committed schema.
    Json,
}

/// Which target files are created before the first time span.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Precreate {
    /// None: each time span creates its own files.
    #[default]
    None,
    /// Each file once, at the greatest size that any time span asks for.
    UseMaxSize,
    /// Only files whose size is the same wherever it is given.
    OnlyConstantSizes,
    /// Only files whose size is the same, or not given, in every time span.
    OnlyConstantOrZeroSizes,
}

/// Kernel events that are counted during the measured time, and the clock of the trace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tracing {
    /// Process start and end.
    pub process: bool,
    /// Thread start and end.
    pub thread: bool,
    /// Mapping of an executable image.
    pub image_load: bool,
    /// Block device I/O.
    pub disk_io: bool,
    /// All page faults.
    pub memory_page_faults: bool,
    /// Page faults that needed I/O.
    pub memory_hard_faults: bool,
    /// Network traffic.
    pub network: bool,
    /// Windows registry calls.
    pub registry: bool,
    /// Trace buffers may be paged out.
    pub paged_memory: bool,
    /// Trace time stamps come from the monotonic clock.
    pub clock_monotonic: bool,
    /// Trace time stamps come from the coarse system clock.
    pub clock_coarse: bool,
    /// Trace time stamps come from the cycle counter.
    pub clock_cycles: bool,
}

/// Named events shared between processes of this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NamedEvents {
    /// Signalled when the run starts.
    pub start: Option<String>,
    /// Signalled when the run has finished.
    pub finish: Option<String>,
    /// Waited for before the run starts.
    pub wait: Option<String>,
    /// Ends the run when somebody signals it.
    pub stop: Option<String>,
}

/// One stretch of load with one set of targets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TimeSpan {
    /// The system's other asynchronous completion path is used.
    pub alternate_completion: bool,
    /// Each I/O's latency is kept.
    pub measure_latency: bool,
    /// I/Os per interval are kept, for the time series and its standard deviation.
    pub interval_series: bool,
    /// Threads stay where the scheduler puts them.
    pub disable_affinity: bool,
    /// CPUs to pin threads to, round robin; empty means all of them.
    pub cpus: Vec<CpuId>,
    /// The order in which CPUs are given to threads.
    #[serde(default)]
    pub cpu_order: CpuOrder,
    /// How I/O is handed over and taken back, and where its buffers lie.
    #[serde(default)]
    pub tuning: Tuning,
    /// Measured time in seconds.
    pub duration_s: u32,
    /// Load before the measured time, in seconds.
    pub warm_up_s: u32,
    /// Load after the measured time, in seconds.
    pub cool_down_s: u32,
    /// Threads that share all targets; 0 means that each target has threads of its own.
    pub thread_count: u32,
    /// I/Os outstanding per thread over all targets; 0 means per target.
    pub request_count: u32,
    /// Length of an interval of the time series, in milliseconds.
    pub interval_ms: u32,
    /// Seed of every random choice.
    pub random_seed: u32,
    /// What ends the measured time before its duration.
    #[serde(default)]
    pub stop: StopRules,
    /// What is done about I/Os that fail.
    #[serde(default)]
    pub faults: FaultPolicy,
    /// The targets, at least one.
    pub targets: Vec<Target>,
}

/// A CPU by processor group (NUMA node on Linux) and index within the group, or a whole group.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct CpuId {
    /// Processor group.
    pub group: u16,
    /// Index within the group; absent for all CPUs of the group.
    pub index: Option<u8>,
}

/// One file or device, and what is done to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Target {
    /// Path or device name as it was given.
    #[schemars(with = "String")]
    pub path: storage::Target,
    /// Bytes per I/O.
    pub block_bytes: u32,
    /// First byte that may be touched.
    pub base_bytes: u64,
    /// End of the range that may be touched, exclusive, from the start of the target; 0 is its end.
    pub limit_bytes: u64,
    /// The file is created with this size, in bytes.
    pub create_bytes: Option<u64>,
    /// Access hints given when the file is opened.
    pub hints: AccessHints,
    /// Which caches are bypassed.
    pub caching: Caching,
    /// A write ends only when the data are on stable storage.
    pub write_through: bool,
    /// I/O goes through a shared mapping.
    pub memory_mapped: bool,
    /// How mapped writes are flushed.
    pub flush: Option<FlushMode>,
    /// Buffers lie on large pages.
    pub large_pages: bool,
    /// What is written.
    pub write_data: WriteData,
    /// All outstanding I/Os of a thread go to the same offset.
    pub parallel_same_offset: bool,
    /// I/Os in a burst; given together with `think_ms`.
    pub burst_ios: Option<u32>,
    /// Idle time between bursts, in milliseconds.
    pub think_ms: Option<u32>,
    /// Order of offsets.
    pub access: Access,
    /// Random offsets follow this distribution; uniform if absent.
    pub distribution: Option<Distribution>,
    /// Distance between the first offsets of two threads, in bytes; 0 is none.
    pub thread_stride_bytes: u64,
    /// I/Os outstanding per thread.
    pub outstanding: u32,
    /// Share of writes, 0 to 100.
    pub write_percent: u32,
    /// Limit of the rate, per thread.
    pub rate: Option<Rate>,
    /// Threads of this target; meaningless when threads are shared.
    pub threads: u32,
    /// I/O priority.
    pub priority: Priority,
    /// Share of a thread's I/Os, relative to its other targets.
    pub weight: u32,
    /// Threads that use this target, when threads are shared; empty means all.
    pub thread_targets: Vec<ThreadTarget>,
    /// What `DiskSpd` has no word for.
    #[serde(default)]
    pub extensions: Extensions,
}

/// Access hints given when a file is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AccessHints {
    /// Offsets will ascend.
    pub sequential: bool,
    /// Offsets will be random.
    pub random: bool,
    /// The data will not be needed for long.
    pub temporary: bool,
}

/// Which caches are bypassed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Caching {
    /// None: the page cache serves reads and takes writes.
    #[default]
    Cached,
    /// The page cache is bypassed.
    Unbuffered,
    /// The client's cache of a remote file system is bypassed.
    RemoteUnbuffered,
}

/// How mapped writes are flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlushMode {
    /// Through the file system.
    ViewOfFile,
    /// From the CPU's caches to persistent memory, waiting for it.
    NonVolatileMemory,
    /// From the CPU's caches, without waiting.
    NonVolatileMemoryNoDrain,
}

/// What is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WriteData {
    /// Where the bytes come from.
    pub source: WriteSource,
    /// Each I/O gets new random data.
    pub fresh_random: bool,
}

/// Where the bytes that are written come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteSource {
    /// 0, 1, ... 255, repeated.
    #[default]
    CountingPattern,
    /// Zeros.
    Zero,
    /// A buffer from which each I/O takes a piece.
    Buffer {
        /// Size of the buffer.
        bytes: u64,
        /// File that fills it; random data if absent.
        file: Option<String>,
    },
}

/// Order of offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Access {
    /// Share of random I/Os, 0 to 100: 0 is sequential, between is runs of sequential I/O.
    pub random_percent: u32,
    /// Alignment of random offsets, or stride of sequential ones, in bytes.
    pub align_bytes: u64,
    /// Sequential threads share one offset.
    pub interlocked: bool,
}

/// How random offsets are spread over the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Ranges as percentages of the target.
    Percent(Vec<DistributionRange>),
    /// Ranges in bytes; a length of 0 in the last range means up to the end.
    Absolute(Vec<DistributionRange>),
}

/// One range of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DistributionRange {
    /// Share of the I/Os, 0 to 100.
    pub io_percent: u32,
    /// Length: percent of the target, or bytes.
    pub length: u64,
}

/// A limit of the rate, per thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// Bytes per millisecond.
    BytesPerMs(u32),
    /// I/Os per second.
    Iops(u32),
}

/// I/O priority.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// After all others.
    VeryLow,
    /// Below normal.
    Low,
    /// The default.
    #[default]
    Normal,
}

/// One shared thread's use of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadTarget {
    /// Index of the thread.
    pub thread: u32,
    /// Share of this thread's I/Os; 0 means the target's own weight.
    pub weight: u32,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            progress_every_ios: 0,
            format: ResultFormat::Text,
            verbose: false,
            wait_statistics: false,
            precreate: Precreate::None,
            tracing: None,
            events: NamedEvents::default(),
            experiment_flags: 0,
            time_spans: vec![TimeSpan::default()],
        }
    }
}

impl Default for TimeSpan {
    fn default() -> Self {
        Self {
            alternate_completion: false,
            measure_latency: false,
            interval_series: false,
            disable_affinity: false,
            cpus: Vec::new(),
            cpu_order: CpuOrder::default(),
            tuning: Tuning::default(),
            duration_s: 10,
            warm_up_s: 5,
            cool_down_s: 0,
            thread_count: 0,
            request_count: 0,
            interval_ms: 1000,
            random_seed: 0,
            stop: StopRules::default(),
            faults: FaultPolicy::default(),
            targets: Vec::new(),
        }
    }
}

impl Default for Target {
    fn default() -> Self {
        Self {
            path: storage::Target::default(),
            block_bytes: 64 << 10,
            base_bytes: 0,
            limit_bytes: 0,
            create_bytes: None,
            hints: AccessHints::default(),
            caching: Caching::Cached,
            write_through: false,
            memory_mapped: false,
            flush: None,
            large_pages: false,
            write_data: WriteData::default(),
            parallel_same_offset: false,
            burst_ios: None,
            think_ms: None,
            access: Access::default(),
            distribution: None,
            thread_stride_bytes: 0,
            outstanding: 2,
            write_percent: 0,
            rate: None,
            threads: 1,
            priority: Priority::Normal,
            weight: 1,
            thread_targets: Vec::new(),
            extensions: Extensions::default(),
        }
    }
}

impl Default for Access {
    fn default() -> Self {
        Self { random_percent: 0, align_bytes: 64 << 10, interlocked: false }
    }
}
