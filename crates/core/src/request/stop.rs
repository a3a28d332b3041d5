//! Rules that end the measured time before its duration has passed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rules that end the measured time; the first that is met does. The duration is the longest time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StopRules {
    /// After this many bytes, of all threads and targets together.
    pub bytes: Option<u64>,
    /// After this many I/Os, of all threads and targets together.
    pub ios: Option<u64>,
    /// After one pass of sequential I/O over the range of each target.
    pub pass: bool,
    /// Once the rate is steady.
    pub steady: Option<SteadyRule>,
    /// Once the mean of the rate is known well enough.
    pub confidence: Option<ConfidenceRule>,
    /// Length of the intervals by which rates are judged, in milliseconds; chosen if absent.
    pub interval_ms: Option<u32>,
}

/// When a rate counts as steady: in a window of the last intervals it spreads and rises or falls little.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SteadyRule {
    /// Intervals in the window, at least 3.
    pub intervals: u32,
    /// Greatest minus least rate, in thousandths of a percent of the mean, at most.
    pub range_milli: u32,
    /// Rise or fall of the line of least squares over the window, in thousandths of a percent of the
    /// mean, at most.
    pub slope_milli: u32,
}

/// When the mean of a rate counts as known: it lies within a share of itself with some confidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfidenceRule {
    /// The confidence, in thousandths of a percent.
    pub level_milli: u32,
    /// Half of the interval that holds the true mean, in thousandths of a percent of the mean.
    pub precision_milli: u32,
}

/// Intervals of a rule about steadiness; a shorter one mistakes noise for change.
const STEADY_INTERVAL_MS: u32 = 1_000;
/// Intervals of a rule about confidence alone, which needs many more of them.
const CONFIDENCE_INTERVAL_MS: u32 = 100;

impl Default for SteadyRule {
    /// Range and slope of the SNIA's specification (PTS 2.0.2, 2.1.24), over half a minute.
    fn default() -> Self {
        Self { intervals: 30, range_milli: 20_000, slope_milli: 10_000 }
    }
}

impl SteadyRule {
    /// Intervals in a window, at least: through two of them there is always a straight line.
    pub const INTERVALS_MIN: u32 = 3;
    /// Range and slope, at most.
    pub const SHARE_MILLI_MAX: u32 = 1_000_000;
}

impl ConfidenceRule {
    /// The precision where none is given: two percent.
    pub const PRECISION_MILLI: u32 = 2_000;
    /// The level, at most: nothing is known for sure.
    pub const LEVEL_MILLI_MAX: u32 = 99_999;
    /// The precision, at most.
    pub const PRECISION_MILLI_MAX: u32 = 100_000;
}

impl StopRules {
    /// Whether any rule is given.
    #[must_use]
    pub fn any(&self) -> bool {
        self.counts() || self.judges()
    }

    /// Whether a rule counts I/Os.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.bytes.is_some() || self.ios.is_some() || self.pass
    }

    /// Whether a rule judges the rate.
    #[must_use]
    pub fn judges(&self) -> bool {
        self.steady.is_some() || self.confidence.is_some()
    }

    /// Length of the intervals by which rates are judged, in milliseconds.
    #[must_use]
    pub fn interval_ms(&self) -> u32 {
        let chosen =
            if self.steady.is_some() { STEADY_INTERVAL_MS } else { CONFIDENCE_INTERVAL_MS };
        self.interval_ms.unwrap_or(chosen)
    }

    /// Takes over each rule that the other ones give.
    pub fn override_with(&mut self, other: &Self) {
        self.bytes = other.bytes.or(self.bytes);
        self.ios = other.ios.or(self.ios);
        self.pass |= other.pass;
        self.steady = other.steady.or(self.steady);
        self.confidence = other.confidence.or(self.confidence);
        self.interval_ms = other.interval_ms.or(self.interval_ms);
    }
}
