//! Why a measured time ended, with the evidence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What ended a measured time for which there were rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// The longest time passed before any rule was met.
    Duration,
    /// Somebody, or an I/O that failed, ended it.
    Interruption,
    /// The number of bytes was reached.
    Bytes,
    /// The number of I/Os was reached.
    Ios,
    /// Every block of the range was moved once.
    Pass,
    /// The rate was steady.
    Steady,
    /// The mean of the rate was known well enough.
    Confidence,
}

/// Who ended a run before its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// A signal, such as that of Ctrl-C.
    Signal,
    /// Its lease: whoever was to renew it did not.
    Lease {
        /// How long a renewal lasts, in nanoseconds.
        lease_ns: u64,
    },
    /// Whoever held its handle.
    Holder {
        /// Why, in words; empty if none were given.
        reason: String,
    },
}

/// Why a measured time ended, with what its rules had found by then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StopReport {
    /// What ended it.
    pub cause: StopCause,
    /// Length of the intervals by which the rate was judged, in nanoseconds; 0 if no rule did.
    pub interval_ns: u64,
    /// Intervals that were judged.
    pub intervals: u64,
    /// The last window; absent without a rule about steadiness, or before the first window was full.
    pub steady: Option<SteadyEvidence>,
    /// What is known of the mean; absent without a rule about confidence, or if there were too few
    /// intervals or the transient did not end.
    pub confidence: Option<ConfidenceEvidence>,
    /// What the rule about confidence still waited for; absent where it was met, or was not asked.
    #[serde(default)]
    pub awaited: Option<Awaited>,
}

/// What has to be seen before the mean of a rate can be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AwaitedKind {
    /// The end of the transient.
    Transient,
    /// A longer time.
    Seconds,
    /// More stalls or bursts like those that were seen; fewer do not tell how often they come.
    Episodes,
    /// Four of the slowest periods, in seconds.
    Periods,
    /// A level that stays: it changed within the series.
    Level,
    /// More independent intervals, for values that are as skewed as these or resemble their neighbours.
    Values,
    /// A narrower interval.
    Precision,
}

/// What a rule waited for, how much of it was seen, and how much would do.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Awaited {
    /// What it waited for.
    pub kind: AwaitedKind,
    /// What was seen: seconds, episodes, independent intervals, or percent of the mean.
    pub seen: f64,
    /// What would do, in the same unit.
    pub needed: f64,
}

impl Awaited {
    /// What is waited for, what was seen of it, and what would do.
    #[must_use]
    pub fn new(kind: AwaitedKind, seen: f64, needed: f64) -> Self {
        Self { kind, seen, needed }
    }
}

/// The window of intervals that was judged last.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SteadyEvidence {
    /// Intervals in the window.
    pub window_intervals: u32,
    /// Mean of the I/Os per second in it.
    pub iops_mean: f64,
    /// Greatest minus least rate, in percent of the mean.
    pub range_percent: f64,
    /// The range that counts as steady.
    pub range_percent_limit: f64,
    /// Rise or fall of the line of least squares over the window, in percent of the mean.
    pub slope_percent: f64,
    /// The slope that counts as steady.
    pub slope_percent_limit: f64,
}

impl SteadyEvidence {
    /// Whether both figures are within their limits.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.range_percent <= self.range_percent_limit
            && self.slope_percent <= self.slope_percent_limit
    }
}

/// What is known of the mean of the rate in steady state.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfidenceEvidence {
    /// The level of confidence, in percent.
    pub level_percent: f64,
    /// Mean of the I/Os per second.
    pub iops_mean: f64,
    /// With that confidence the true mean is at least this ...
    pub iops_low: f64,
    /// ... and at most this.
    pub iops_high: f64,
    /// Half of that interval, in percent of the mean.
    pub precision_percent: f64,
    /// The precision that was requested, in percent of the mean.
    pub precision_percent_limit: f64,
    /// So many independent intervals would know the mean as well.
    pub effective_samples: f64,
    /// Intervals at the front that were left out as the transient.
    pub transient_intervals: u64,
    /// Length of the transient, in nanoseconds; it begins with the measured time.
    pub transient_ns: u64,
    /// Mean of the I/Os per second within the transient; 0 if there was none.
    #[serde(default)]
    pub transient_iops: f64,
}

impl ConfidenceEvidence {
    /// Whether the mean is known as well as was requested.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.iops_mean > 0.0 && self.precision_percent <= self.precision_percent_limit
    }
}
