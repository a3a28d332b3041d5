//! What will be done: a profile resolved against the facts of one host, numbers only.
//!
//! The engine accepts nothing but a [`SpanPlan`]. Everything that a person can get wrong has
//! been said before a plan exists.

pub mod facts;
pub mod limits;
pub mod mix;
mod reduction;
pub mod resolve;
pub mod tracing;
mod tuning;
pub mod verify;

use std::path::{Path, PathBuf};

use crate::storage::Location;

pub use crate::request::{Arrivals, FaultPolicy, Skew, StopRules};
pub use reduction::Reduction;
pub use tuning::{IoTuning, SubmissionThread};
pub use verify::{VerifyPlan, VerifyTarget};

/// All time spans of a run, and the files to make beforehand.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// Files to make before the first time span.
    pub precreate: Vec<FilePlan>,
    /// The time spans in the order in which they run.
    pub spans: Vec<SpanPlan>,
    /// The verification of the run, if its data are verified.
    pub verify: Option<VerifyPlan>,
    /// CPUs that threads may run on; 0 if nobody knows.
    pub usable_cpu_count: usize,
}

impl Plan {
    /// All files to make, in the order in which they are made.
    pub fn files(&self) -> impl Iterator<Item = &FilePlan> + Clone {
        self.precreate.iter().chain(self.spans.iter().flat_map(|span| &span.create))
    }
}

/// A file to make, filled with data that do not compress unless it is requested.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilePlan {
    /// Where.
    pub location: Location,
    /// Size in bytes.
    pub size_bytes: u64,
    /// How far its data compress and repeat.
    pub reduction: Reduction,
}

impl FilePlan {
    /// The path, or the address.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.location.path()
    }
}

/// One time span, ready to run.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanPlan {
    /// Position in the run, from 0.
    pub index: usize,
    /// Files to make before this time span.
    pub create: Vec<FilePlan>,
    /// Load before the measured time.
    pub warm_up_ns: u64,
    /// Measured time; the longest, where rules end it.
    pub measured_ns: u64,
    /// What ends the measured time earlier.
    pub stop: StopRules,
    /// What is done about I/Os that fail.
    pub faults: FaultPolicy,
    /// Load after the measured time.
    pub cool_down_ns: u64,
    /// Length of an interval of the time series; 0 keeps no series.
    pub interval_ns: u64,
    /// Each I/O's latency goes into a histogram.
    pub measure_latency: bool,
    /// I/Os of each interval are counted by their latency.
    pub interval_latency: bool,
    /// A progress event is sent each time a thread has completed this many I/Os; 0 sends none.
    pub progress_every_ios: u64,
    /// I/Os outstanding per thread over all its targets; 0 means per target.
    pub shared_outstanding: u32,
    /// The targets.
    pub targets: Vec<TargetPlan>,
    /// The threads.
    pub threads: Vec<ThreadPlan>,
}

impl SpanPlan {
    /// Threads that use a target.
    #[must_use]
    pub fn threads_of(&self, target: usize) -> usize {
        let uses = |thread: &&ThreadPlan| {
            thread.assignments.iter().any(|assignment| assignment.target == target)
        };
        self.threads.iter().filter(uses).count()
    }
}

/// How I/O reaches the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// `io_uring`.
    Uring,
    /// Linux native asynchronous I/O.
    Aio,
    /// One `pread` or `pwrite` at a time.
    Sync,
    /// Copies from and to a shared mapping.
    Mapped,
    /// Completes at once and touches nothing: the cost of the tool itself.
    Null,
    /// A client of the target's own protocol, over the network.
    Net,
}

impl EngineKind {
    /// The name in results and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Uring => "io_uring",
            Self::Aio => "libaio",
            Self::Sync => "sync",
            Self::Mapped => "mmap",
            Self::Null => "null",
            Self::Net => "net",
        }
    }
}

/// What kind of object a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// A regular file.
    File,
    /// A block device.
    BlockDevice,
    /// What another host serves.
    Network,
    /// Nothing real: the null and simulated backends.
    Virtual,
}

impl TargetKind {
    /// Whether a path of this host leads to it.
    #[must_use]
    pub fn is_local(self) -> bool {
        matches!(self, Self::File | Self::BlockDevice)
    }
}

/// One target, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetPlan {
    /// Where it lies.
    pub location: Location,
    /// The name as it was given, for results.
    pub name: String,
    /// What it is.
    pub kind: TargetKind,
    /// Its size in bytes (after creation).
    pub size_bytes: u64,
    /// Its logical sector: I/O past the page cache is made of whole ones.
    pub sector_bytes: u32,
    /// How it is opened.
    pub open: OpenPlan,
    /// Bytes per I/O, of the greatest one if sizes are mixed.
    pub block_bytes: u32,
    /// Which offsets, in which order, unless operations are mixed.
    pub offsets: OffsetPlan,
    /// Share of writes, 0 to 100.
    pub write_percent: u32,
    /// How operations are mixed beyond that; nothing more if absent.
    pub mix: Option<mix::MixPlan>,
    /// What is written.
    pub payload: PayloadPlan,
    /// Buffers lie on huge pages.
    pub huge_pages: bool,
    /// I/O priority in the kernel's terms (class and level), or the default.
    pub priority: crate::request::Priority,
}

impl TargetPlan {
    /// Which offsets its reads go to: those of all I/Os, unless reads have an order or a range of their own.
    #[must_use]
    pub fn read_offsets(&self) -> &OffsetPlan {
        self.mix.as_ref().map_or(&self.offsets, |mix| &mix.read.offsets)
    }

    /// The same of its writes and trims.
    #[must_use]
    pub fn write_offsets(&self) -> &OffsetPlan {
        self.mix.as_ref().map_or(&self.offsets, |mix| &mix.write.offsets)
    }

    /// The path that is opened, or the address.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.location.path()
    }
}

/// How a target is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenPlan {
    /// For writing as well as for reading.
    pub write: bool,
    /// Past the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Each write is on stable storage when it ends (`O_DSYNC`).
    pub write_through: bool,
    /// Through a shared mapping.
    pub mapped: bool,
    /// How mapped writes are flushed.
    pub flush: Option<crate::request::FlushMode>,
    /// Access hints for the page cache.
    pub hints: crate::request::AccessHints,
}

/// Which offsets a target's I/Os go to, and in which order.
#[derive(Debug, Clone, PartialEq)]
pub struct OffsetPlan {
    /// First byte of the range.
    pub base_bytes: u64,
    /// End of the range, exclusive: no I/O reaches beyond it.
    pub end_bytes: u64,
    /// Bytes per I/O.
    pub block_bytes: u64,
    /// Alignment of random offsets relative to the base, or stride of sequential ones.
    pub align_bytes: u64,
    /// The order.
    pub order: Order,
    /// Where random offsets fall, in ascending order and without holes in the shares; empty means uniform.
    pub ranges: Vec<EffectiveRange>,
    /// Random offsets are skewed in this way; the ranges are empty then.
    pub skew: Option<Skew>,
}

/// The order of offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Each thread walks on from its own start.
    Sequential,
    /// All threads of the target take the next offset from one shared counter.
    Interlocked,
    /// Each outstanding I/O of a thread walks the same sequence on its own.
    SameOffset,
    /// Random offsets.
    Random,
    /// Runs of sequential I/O of geometric length, starting at random offsets.
    Mixed {
        /// Chance, in percent, that an I/O starts a new run.
        random_percent: u32,
    },
}

/// A range of the target and the share of random I/Os that fall into it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EffectiveRange {
    /// Share of the I/Os in percent; the shares of a target add up to 100.
    pub io_percent: f64,
    /// First byte, from the start of the target.
    pub start_bytes: u64,
    /// End, exclusive.
    pub end_bytes: u64,
}

/// What is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PayloadPlan {
    /// 0, 1, ... 255, repeated.
    CountingPattern,
    /// Zeros.
    Zero,
    /// Pieces of a buffer at sector-aligned places.
    Buffer {
        /// Size of the buffer.
        bytes: u64,
        /// File that fills it; random data if absent.
        file: Option<PathBuf>,
    },
    /// New random data for each I/O.
    FreshRandom,
    /// Data of a given compressibility, of which a given share repeats; different in each run.
    Reduced(Reduction),
}

/// One thread of load.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadPlan {
    /// Position in the time span, from 0.
    pub index: usize,
    /// Where it runs; anywhere if absent.
    pub cpu: Option<CpuPin>,
    /// Where the kernel's own workers serve its I/O if a target has to be waited for; empty leaves
    /// that to the kernel.
    pub worker_cpus: Vec<usize>,
    /// How its I/O reaches the kernel.
    pub engine: EngineKind,
    /// Whether other ways to the kernel are tried where a target cannot be asked without waiting: nobody
    /// chose the engine, and each way can do what the thread is to do.
    pub tries_ways: bool,
    /// Whether a ring registers its buffers: else another thread could lack the memory that may be locked.
    pub registers_buffers: bool,
    /// Why a better engine is not used, in words; absent if none would be better.
    pub engine_fallback: Option<String>,
    /// How its I/O is handed over and taken back.
    pub tuning: IoTuning,
    /// Seed of its random choices.
    pub seed: u64,
    /// Its targets.
    pub assignments: Vec<Assignment>,
}

impl ThreadPlan {
    /// Whether I/Os on a target may have to wait for their turn: for their schedule, for a slot that another
    /// target of the thread has, or for a call to another target to end.
    #[must_use]
    pub fn takes_turns(&self, assignment: &Assignment, shared_outstanding: u32) -> bool {
        let is_called = matches!(self.engine, EngineKind::Sync | EngineKind::Mapped);
        let has_others = self.assignments.len() > 1 && (is_called || shared_outstanding > 0);
        has_others || assignment.pace.is_some() || assignment.burst.is_some()
    }
}

/// The CPU that a thread is pinned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuPin {
    /// The kernel's number.
    pub os_id: usize,
    /// Processor group (NUMA node).
    pub group: u16,
    /// Index within the group.
    pub index: u8,
}

/// One thread's use of one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Index into [`SpanPlan::targets`].
    pub target: usize,
    /// Position among the threads of this target, from 0; where threads share the targets, the
    /// thread's own position.
    pub relative_thread: u32,
    /// I/Os outstanding; ignored when [`SpanPlan::shared_outstanding`] is not 0.
    pub outstanding: u32,
    /// Share of this thread's I/Os, relative to its other targets.
    pub weight: u32,
    /// First offset of a sequential walk, in bytes from the start of the target.
    pub start_bytes: u64,
    /// Limit of the rate.
    pub pace: Option<Pace>,
    /// Bursts with idle time between them.
    pub burst: Option<Burst>,
}

/// A rate as a ratio, so that no rate is rounded: the k-th I/O is due `k * per_ns / ios` after the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// This many I/Os ...
    pub ios: u64,
    /// ... in each stretch of this length.
    pub per_ns: u64,
    /// The first I/O is due this long after the start, so that threads that share a rate take turns.
    pub phase_ns: u64,
    /// How the I/Os are spread over the time.
    pub arrivals: Arrivals,
}

impl Pace {
    /// I/Os at equal distances, the first at the start.
    #[must_use]
    pub const fn constant(ios: u64, per_ns: u64) -> Self {
        Self { ios, per_ns, phase_ns: 0, arrivals: Arrivals::Constant }
    }
}

/// Bursts with idle time between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// I/Os in a burst.
    pub ios: u32,
    /// Idle time after a burst.
    pub gap_ns: u64,
}
