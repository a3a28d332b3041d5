//! What was seen: histograms, counters, intervals and CPU use, kept per thread and merged afterwards.

mod cpus;
mod edges;
mod event;
mod faults;
mod interval_latency;
mod latency;
mod recorder;
mod series;
pub mod stationarity;
mod stop;
mod stretches;

pub use fathom_sys::transfer::Operation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::Failure;

pub use cpus::{Away, AwayCpu, CpuTimes, Migrated, cpu_difference};
pub use edges::{Edges, IdleSlots, InFlight, Slots};
pub use event::{Event, EventSink, Phase, RunEvent, TargetSecond};
pub use faults::{FaultBook, FaultCount, FaultKind, FaultRecord};
pub use interval_latency::{IntervalFields, IntervalLatency};
pub use latency::LatencyHistogram;
pub use recorder::{Alike, Completed, DirectionRecord, Recorder, TargetRecord};
pub use series::{IntervalCell, IntervalSeries, interval_length_ns};
pub use stop::{
    Awaited, AwaitedKind, ConfidenceEvidence, EndedBy, SteadyEvidence, StopCause, StopReport,
};
pub use stretches::{STRETCH_NS_MIN, Stretches, keep_longest};

/// How a time span ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The whole measured time passed, or a rule ended it.
    Complete,
    /// Somebody ended it early; what was measured until then is kept.
    Interrupted,
    /// It failed before or while measuring.
    Failed(Failure),
}

/// All that one time span measured.
#[derive(Debug, Clone)]
pub struct SpanMeasurements {
    /// How it ended.
    pub ending: Ending,
    /// When the load began, in nanoseconds since 1970-01-01T00:00:00Z; absent if it did not, or was
    /// simulated.
    pub began_unix_ns: Option<u64>,
    /// Length of the measured time that did pass.
    pub measured_ns: u64,
    /// Why the measured time ended; absent without rules about it.
    pub stop: Option<StopReport>,
    /// CPU use during the measured time, one entry per CPU that was online when it began and when it ended.
    pub cpus: Vec<CpuTimes>,
    /// CPUs that were not online during the whole measured time.
    pub away_cpus: Vec<AwayCpu>,
    /// How much of the measured time nothing of this process ran.
    pub suspended: Suspended,
    /// Kernel events of the measured time, if they were requested.
    pub kernel_events: Option<fathom_sys::trace::Counted>,
    /// I/Os that never came back, and without which the time span ended.
    pub outstanding: Vec<OutstandingIo>,
    /// The shortest round trip to each target before the load; absent for what this host has, and where it
    /// could not be measured.
    pub round_trips: Vec<Option<crate::network::RoundTrip>>,
    /// What lies beneath the targets, and what its counters said; absent if nobody looked.
    pub beneath: Option<crate::beneath::Observation>,
    /// What each thread saw.
    pub threads: Vec<ThreadMeasurements>,
}

impl SpanMeasurements {
    /// A time span that ended so, and measured nothing.
    #[must_use]
    pub fn nothing(ending: Ending) -> Self {
        Self {
            ending,
            began_unix_ns: None,
            measured_ns: 0,
            stop: None,
            cpus: Vec::new(),
            away_cpus: Vec::new(),
            suspended: Suspended::default(),
            kernel_events: None,
            outstanding: Vec::new(),
            round_trips: Vec::new(),
            beneath: None,
            threads: Vec::new(),
        }
    }
}

/// An I/O that had not come back when its time span was ended without it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutstandingIo {
    /// Position of its thread in the time span, from 0.
    pub thread: u32,
    /// Position of its target in the time span, from 0.
    pub target: u32,
    /// `read`, `write`, `fsync`, `fdatasync` or `trim`.
    pub operation: String,
    /// Its offset.
    pub offset_bytes: u64,
    /// Its length.
    pub bytes: u32,
    /// When it was submitted, in nanoseconds since the load began.
    pub submitted_ns: u64,
    /// How long it had been outstanding when the time span was given up.
    pub waited_ns: u64,
}

/// What one thread saw.
#[derive(Debug, Clone)]
pub struct ThreadMeasurements {
    /// Position in the time span, from 0.
    pub index: usize,
    /// One entry per assignment of the thread's plan, in the same order.
    pub targets: Vec<TargetRecord>,
    /// Its slots, over all of its targets.
    pub slots: Slots,
    /// How it waited.
    pub waits: WaitCounters,
    /// The backend that served it.
    pub backend: BackendDescription,
    /// CPU time that the thread itself used during the measured time, in nanoseconds.
    pub cpu_ns: u64,
    /// The part of it outside the kernel, in nanoseconds.
    pub user_cpu_ns: u64,
    /// How long it was ready to run and had no CPU, in nanoseconds; absent if the kernel does not tell.
    pub cpu_waited_ns: Option<u64>,
    /// Where it could run at its end, unless that was where it had been pinned to.
    pub migrated: Option<Migrated>,
}

/// Times at which nothing of this process ran, since it or the machine was stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Suspended {
    /// All of them together, in nanoseconds.
    pub total_ns: u64,
    /// The longest of them, in nanoseconds.
    pub longest_ns: u64,
}

impl ThreadMeasurements {
    /// Leaves out the intervals that a measured time of this length never reached.
    pub fn cut_series(&mut self, measured_ns: u64, interval_ns: u64) {
        let reached = measured_ns.div_ceil(interval_ns.max(1));
        let reached = usize::try_from(reached).unwrap_or(usize::MAX);
        for target in &mut self.targets {
            target.read.series.cells.truncate(reached);
            target.write.series.cells.truncate(reached);
        }
    }
}

/// How a thread waited for completions and for its pace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaitCounters {
    /// Waits for a completion with nothing else to do.
    pub completion_waits: u64,
    /// Waits for a completion while the pace forbade another submission.
    pub throttle_waits: u64,
    /// Sleeps because the pace forbade another submission and nothing was outstanding.
    pub throttle_sleeps: u64,
    /// Looks for completions without waiting.
    pub lookasides: u64,
    /// How many of these looks found 0, 1, ... 6, 7 or more completions.
    pub lookaside_completions: [u64; 8],
}

/// A way to the kernel that was tried with reads before the load began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriedWay {
    /// The way, in words.
    pub way: String,
    /// Reads per second of all threads that tried it together.
    pub iops: u64,
}

/// What served a thread's I/O.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BackendDescription {
    /// Name, as in [`crate::plan::EngineKind::name`], or `sim`.
    pub name: String,
    /// Features in use, such as `registered files`.
    pub features: Vec<String>,
    /// Why a better backend was not used, in words.
    pub fallback: Option<String>,
    /// What was tried before it was chosen, with the rates of all threads that tried together.
    pub tried: Vec<TriedWay>,
    /// The connections of targets over the network.
    pub connections: Vec<crate::network::ConnectionUse>,
    /// How often I/Os were handed over, from the first to the last of the whole run; absent if that
    /// was not counted.
    pub submissions: Option<u64>,
}
