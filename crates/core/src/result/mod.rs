//! What a run means: versioned, mergeable, with provenance and warnings.
//!
//! Every field carries its unit in its name. The JSON form of [`RunResult`] is the schema that is
//! committed under `schema/`.

pub mod assemble;
mod at_end;
mod beneath;
mod faults;
mod kernel_events;
pub mod merge;
mod network;
pub mod stop;
mod system;
pub mod totals;
mod verification;
mod warning;
pub mod warnings;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::Failure;
pub use crate::measure::{EndedBy, FaultCount};
use crate::request::{Profile, Request};
pub use beneath::{
    AnsweredBy, Asked, Beneath, CpuShares, GroupUse, IoLimitUse, LayerUse, OtherProcess,
    TargetOrigin,
};
pub use faults::TargetFault;
pub use kernel_events::{KernelEvent, KernelEventCount, KernelEvents, TraceClock};
pub use network::NetworkUse;
pub use system::{Cache, SystemReport};
pub use verification::{Verification, VerificationFault, VerifiedTarget};
pub use warning::{Warning, WarningKind, sentence};

/// Version of the result format. It grows with each change that an older reader would misread.
pub const SCHEMA_VERSION: u32 = 1;

/// One run: what was asked, on which host, and what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// Version of this format.
    pub schema_version: u32,
    /// The tool that measured.
    pub tool: Tool,
    /// The command line, as it was typed, without the program's path.
    pub command_line: String,
    /// Start of the run, in seconds since 1970-01-01T00:00:00Z.
    pub started_at_unix_s: i64,
    /// The host.
    pub host: Host,
    /// What was requested, whole: it can be run again.
    pub request: Request,
    /// The load of the request once more, where results had it before they had a request.
    pub profile: Profile,
    /// One entry per time span that was begun.
    pub time_spans: Vec<TimeSpanResult>,
    /// What verification found; absent if nothing was verified.
    #[serde(default)]
    pub verification: Option<Verification>,
    /// Who ended the run before its end; absent if nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<EndedBy>,
    /// What a reader must know before believing the numbers.
    pub warnings: Vec<Warning>,
    /// What failed, each with its kind; empty in results of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// The results that this one was merged of; empty if it was measured in one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<merge::Part>,
    /// The hosts of the fleet that measured together, also those that were lost; empty if no fleet did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<FleetHost>,
}

/// A host of a fleet: what is known of it beside what it measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetHost {
    /// Its name in the fleet, which its part of the result has, too.
    pub name: String,
    /// Its place among the hosts of the run, from 0.
    pub index: u32,
    /// The version of its tool.
    pub version: String,
    /// Operating system and kernel release.
    pub kernel: String,
    /// How far its clock was ahead of the clock of the process that drove the fleet, in nanoseconds.
    /// Instants of its part are by that one clock.
    pub clock_offset_ns: i64,
    /// How far `clock_offset_ns` may be off, in nanoseconds: half of the shortest round trip.
    pub clock_uncertainty_ns: u64,
    /// How far its clock moved against that one during the run, in nanoseconds.
    #[serde(default)]
    pub clock_moved_ns: i64,
    /// How much later than the first host its load began, by one clock, in nanoseconds; absent if it did not.
    #[serde(default)]
    pub start_skew_ns: Option<u64>,
    /// For how long it measured while not all hosts did, in nanoseconds: what it measured then is in the sum.
    /// Of several time spans it is the most; absent if it is not known.
    #[serde(default)]
    pub outside_overlap_ns: Option<u64>,
    /// Why it was lost; absent if it was not.
    #[serde(default)]
    pub lost: Option<String>,
}

/// The tool that measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Tool {
    /// This tool.
    #[must_use]
    pub fn this() -> Self {
        Self { name: "Fathom diskspd".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// The host that was measured on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Operating system and kernel release.
    pub kernel: String,
    /// Model of the processor.
    pub cpu_model: String,
    /// The frequency governor of the first CPU; empty if it has none.
    pub power_scheme: String,
    /// Its CPUs.
    pub cpus: Vec<Cpu>,
}

/// One logical CPU and its place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// The kernel's number.
    pub os_id: u32,
    /// Processor group (NUMA node), and the index within it.
    pub group: u16,
    /// Index within the group.
    pub index: u8,
    /// NUMA node.
    pub node: u32,
    /// Socket.
    pub socket: u32,
    /// Physical core, numbered over the whole host.
    pub core: u32,
    /// Efficiency class: 0 unless the host has cores of different kinds, greater is faster.
    pub efficiency_class: u8,
}

/// How a time span ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The whole measured time passed, or a rule ended it.
    Complete,
    /// Somebody ended it early; what was measured until then is here.
    Interrupted,
    /// The measured time passed, and no I/O completed in it.
    NoIo,
    /// It failed before anything was measured; the reason is in words.
    Failed(String),
}

/// What one time span measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeSpanResult {
    /// How it ended.
    pub outcome: Outcome,
    /// When the load began, in nanoseconds since 1970-01-01T00:00:00Z; absent if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_unix_ns: Option<u64>,
    /// Length of the measured time, in nanoseconds.
    pub measured_ns: u64,
    /// Why the measured time ended; absent without rules about it.
    #[serde(default)]
    pub stop: Option<crate::measure::StopReport>,
    /// Threads.
    pub thread_count: u32,
    /// I/Os outstanding per thread over all targets; 0 means per target.
    pub request_count: u32,
    /// Length of an interval of the series, in nanoseconds; 0 if none was kept.
    pub interval_ns: u64,
    /// Length of the last interval of the series, in nanoseconds: it ends with the measured time, and is
    /// shorter where that is no whole number of intervals. 0 if none was kept, and in results of versions
    /// that did not tell.
    #[serde(default)]
    pub last_interval_ns: u64,
    /// Use of each CPU during the measured time.
    pub cpu: Vec<CpuUse>,
    /// What an I/O cost the threads in CPU time; absent if there was none.
    #[serde(default)]
    pub cost: Option<IoCost>,
    /// Kernel events of the whole system during the measured time; absent if none were requested.
    #[serde(default)]
    pub kernel_events: Option<KernelEvents>,
    /// I/Os that never came back, and without which the time span was ended.
    #[serde(default)]
    pub outstanding: Vec<crate::measure::OutstandingIo>,
    /// What the layers beneath the targets saw of it; absent if the load was not watched.
    #[serde(default)]
    pub beneath: Option<Beneath>,
    /// How each target over the network was reached, and what the way there took; empty without such targets.
    /// A merged result has an entry for each of its parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<NetworkUse>,
    /// The targets, as they were found.
    pub targets: Vec<TargetFacts>,
    /// What each thread measured.
    pub threads: Vec<ThreadResult>,
}

/// Use of one CPU during the measured time. Usage, idle and steal add up to 100.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// The kernel's number.
    pub os_id: u32,
    /// In user mode, in percent.
    pub user_percent: f64,
    /// In the kernel, interrupts included, in percent.
    pub kernel_percent: f64,
    /// Idle, in percent.
    pub idle_percent: f64,
    /// Taken by the hypervisor, in percent.
    pub steal_percent: f64,
}

/// CPU time of the threads per I/O during the measured time. Time that the kernel spends in threads of
/// its own, or in interrupts of other CPUs, is not part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoCost {
    /// Outside the kernel, in nanoseconds: the cost of the tool itself.
    pub own_ns_per_io: f64,
    /// In the kernel, in nanoseconds: what the path of an I/O takes from its submission to its completion.
    pub kernel_ns_per_io: f64,
}

/// A target as it was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetFacts {
    /// Name as it was given.
    pub path: String,
    /// `file`, `block_device`, `network` or `virtual`.
    pub kind: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Bytes per I/O.
    pub block_bytes: u32,
    /// Where random I/Os fell, if not uniformly.
    pub distribution: Vec<EffectiveShare>,
    /// How many bytes of it the load can touch, each once, by its range, stride, alignment, order and starts;
    /// absent if it is not known, as in results of versions that did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_set_bytes: Option<u64>,
}

/// A range of a target and the share of random I/Os in it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EffectiveShare {
    /// Share of the I/Os, in percent; 0 for a hole.
    pub io_percent: f64,
    /// First byte.
    pub start_bytes: u64,
    /// End, exclusive.
    pub end_bytes: u64,
}

/// What one thread measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadResult {
    /// Position in the time span, from 0.
    pub index: u32,
    /// The kernel's number of the CPU it was pinned to, if any.
    pub pinned_os_cpu: Option<u32>,
    /// How its I/O reached the kernel.
    pub backend: Backend,
    /// CPU time that it used during the measured time, in nanoseconds.
    pub cpu_ns: u64,
    /// The part of it outside the kernel, in nanoseconds; 0 in results of versions that did not tell.
    #[serde(default)]
    pub user_cpu_ns: u64,
    /// How long it was ready to run and had no CPU, for its warnings; no part of the written result.
    #[serde(skip)]
    pub cpu_waited_ns: Option<u64>,
    /// How often it handed I/Os over, warm-up and cool-down included; absent if that was not counted.
    #[serde(default)]
    pub submissions: Option<u64>,
    /// Its slots, over all of its targets.
    #[serde(default)]
    pub slots: crate::measure::Slots,
    /// How it waited.
    pub waits: Waits,
    /// What it measured on each of its targets.
    pub targets: Vec<ThreadTargetResult>,
}

/// What served a thread's I/O.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Backend {
    /// Name: `io_uring`, `libaio`, `sync`, `mmap`, `net`, `null` or `sim`.
    pub name: String,
    /// Features in use.
    pub features: Vec<String>,
    /// Why a better one was not used; absent if none would be better.
    pub fallback: Option<String>,
    /// The ways to the kernel that were tried with reads before the load, of which it is the fastest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<crate::measure::TriedWay>,
}

/// How a thread waited, in numbers of waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// For a completion with nothing else to do.
    pub completion_waits: u64,
    /// For a completion while the pace forbade another submission.
    pub throttle_waits: u64,
    /// Sleeps because of the pace with nothing outstanding.
    pub throttle_sleeps: u64,
    /// Looks for completions without waiting.
    pub lookasides: u64,
    /// How many of these looks found 0, 1, ... 6, 7 or more completions.
    pub lookaside_completions: [u64; 8],
}

/// What one thread measured on one target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadTargetResult {
    /// Index into [`TimeSpanResult::targets`].
    pub target: u32,
    /// Reads.
    pub read: DirectionResult,
    /// Writes.
    pub write: DirectionResult,
    /// Syncs (`--fsync`, `--fdatasync`), which move no bytes; absent if none was requested.
    #[serde(default)]
    pub sync: Option<Box<DirectionResult>>,
    /// Trims (`--trim`), whose bytes are those that were given back; absent if none was requested.
    #[serde(default)]
    pub trim: Option<Box<DirectionResult>>,
    /// I/Os that failed or were cut short, by operation and kind.
    #[serde(default)]
    pub faults: Vec<FaultCount>,
    /// The thread's slots for this target.
    #[serde(default)]
    pub slots: crate::measure::Slots,
}

/// One kind of operation of one thread on one target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionResult {
    /// I/Os completed in the measured time.
    pub ios: u64,
    /// Bytes that were moved, also those of short I/Os.
    pub bytes: u64,
    /// I/Os that moved fewer bytes than requested; not part of `ios`.
    pub short_ios: u64,
    /// I/Os that failed; not part of `ios`.
    pub errors: u64,
    /// Service times, whole; absent if latency was not measured. An I/O in flight at the end that has taken
    /// longer than those that completed is in it with its age (`edges.at_least`).
    pub latency: Option<crate::measure::LatencyHistogram>,
    /// Response times, whole, from the intended start of each I/O; absent if latency was not measured
    /// or if I/Os were issued without a schedule.
    #[serde(default)]
    pub response: Option<Box<crate::measure::LatencyHistogram>>,
    /// What was in flight at both ends of the measured time.
    #[serde(default)]
    pub edges: crate::measure::Edges,
    /// I/Os per interval; empty if no series was kept. The greatest latency of the last one is also that of
    /// I/Os in flight at the end.
    pub series: crate::measure::IntervalSeries,
    /// I/Os of each interval by their latency (`--interval-latency`); empty if that was not requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interval_latency: Vec<crate::measure::IntervalLatency>,
}
