//! How I/O is handed over and taken back, where its buffers lie, and in which order CPUs are used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a time span's I/O is handed over and taken back, and where its buffers lie.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tuning {
    /// Through a ring with these settings; the plan chooses if absent.
    pub ring: Option<RingUse>,
    /// Completions that are taken at a time, at most; all that are there if absent.
    pub completion_depth: Option<u32>,
    /// How the buffers of different threads are kept apart; the default if absent.
    pub buffer_separation: Option<BufferSeparation>,
}

/// The use of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RingUse {
    /// I/Os that are handed over together.
    pub batch: RingBatch,
    /// The kernel pins the buffers once, before the run.
    pub registered_buffers: bool,
}

impl Default for RingUse {
    fn default() -> Self {
        Self { batch: RingBatch::Percent(25), registered_buffers: true }
    }
}

/// How many I/Os a thread hands over together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RingBatch {
    /// This many.
    Ios(u32),
    /// This share of the thread's outstanding I/Os, in percent, rounded up.
    Percent(u32),
}

impl RingBatch {
    /// I/Os in a batch, at most.
    pub const IOS_MAX: u32 = 65_536;
    /// Share of the outstanding I/Os, at most.
    pub const PERCENT_MAX: u32 = 100;
}

impl Tuning {
    /// Completions that `DiskSpd` takes at a time, at most.
    pub const COMPLETION_DEPTH_MAX: u32 = 16;
}

/// How the buffers of different threads are kept apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BufferSeparation {
    /// Not at all: the kernel places them.
    SystemDefault,
    /// The processor finds them through different cache lines of its page directory.
    #[default]
    PageDirectoryLine,
}

/// The order in which CPUs are given to threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CpuOrder {
    /// One CPU of each physical core comes before the second of any.
    pub core_first: bool,
    /// Groups take turns instead of being filled one after the other.
    pub span_groups: bool,
    /// What the kinds of cores mean for the order; fast ones first if absent.
    pub efficiency: Option<EfficiencyOrder>,
}

impl CpuOrder {
    /// Whether any order was requested.
    #[must_use]
    pub fn is_given(self) -> bool {
        self != Self::default()
    }
}

/// What the kinds of cores mean for the order of CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EfficiencyOrder {
    /// Nothing.
    Unordered,
    /// Fast cores come first in each pass over the cores.
    FastFirst,
    /// Slow cores come first in each pass over the cores.
    SlowFirst,
    /// All CPUs of fast cores come before any of a slow one.
    FillFast,
    /// All CPUs of slow cores come before any of a fast one.
    FillSlow,
}
