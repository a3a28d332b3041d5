//! I/Os and latency per interval of the measured time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::per_second;

/// One interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalCell {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Least latency; 0 without I/Os.
    pub latency_ns_min: u64,
    /// Greatest latency.
    pub latency_ns_max: u64,
    /// Sum of latencies.
    pub latency_ns_sum: u64,
    /// Sum of squares of latencies.
    pub latency_ns_sum_squares: f64,
}

impl IntervalCell {
    /// Adds one completion.
    #[inline]
    pub fn add(&mut self, bytes: u64, latency_ns: u64) {
        self.latency_ns_min =
            if self.ios == 0 { latency_ns } else { self.latency_ns_min.min(latency_ns) };
        self.ios += 1;
        self.bytes += bytes;
        self.latency_ns_max = self.latency_ns_max.max(latency_ns);
        self.latency_ns_sum += latency_ns;
        self.latency_ns_sum_squares += latency_ns as f64 * latency_ns as f64;
    }

    /// I/Os per second, where the interval lasts `interval_ns`; 0 for an interval without length.
    #[must_use]
    pub fn iops(&self, interval_ns: u64) -> f64 {
        per_second(self.ios, interval_ns)
    }

    /// Adds all of another cell.
    pub fn merge(&mut self, other: &Self) {
        self.latency_ns_min = match (self.ios, other.ios) {
            (_, 0) => self.latency_ns_min,
            (0, _) => other.latency_ns_min,
            _ => self.latency_ns_min.min(other.latency_ns_min),
        };
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.latency_ns_max = self.latency_ns_max.max(other.latency_ns_max);
        self.latency_ns_sum += other.latency_ns_sum;
        self.latency_ns_sum_squares += other.latency_ns_sum_squares;
    }
}

/// How long an interval lasts, in nanoseconds: the last one may be cut off by the end of the measured time.
/// One that would begin behind it is as long as all others.
#[must_use]
pub fn interval_length_ns(index: u64, interval_ns: u64, measured_ns: u64) -> u64 {
    match measured_ns.saturating_sub(index.saturating_mul(interval_ns)) {
        0 => interval_ns,
        left_ns => left_ns.min(interval_ns),
    }
}

/// All intervals of one direction of one target of one thread; empty when no series is kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalSeries {
    /// The cells in the order of time; each is one interval long, the last may be shorter.
    pub cells: Vec<IntervalCell>,
}

impl IntervalSeries {
    /// A series of `count` empty intervals.
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self { cells: vec![IntervalCell::default(); count] }
    }

    /// The intervals that began within the first `passed_ns`.
    #[must_use]
    pub fn until(&self, passed_ns: u64, interval_ns: u64) -> Self {
        let begun = if interval_ns == 0 { 0 } else { passed_ns.div_ceil(interval_ns) };
        let begun = usize::try_from(begun).unwrap_or(usize::MAX).min(self.cells.len());
        Self { cells: self.cells[..begun].to_vec() }
    }

    /// The lengths of the intervals: each lasts `interval_ns`, but for the last one, which ends with the
    /// measured time.
    pub fn lengths_ns(
        &self,
        interval_ns: u64,
        measured_ns: u64,
    ) -> impl Iterator<Item = u64> + use<> {
        let count = self.cells.len() as u64;
        (0..count).map(move |index| interval_length_ns(index, interval_ns, measured_ns))
    }

    /// Adds another series, interval by interval.
    pub fn merge(&mut self, other: &Self) {
        if self.cells.len() < other.cells.len() {
            self.cells.resize(other.cells.len(), IntervalCell::default());
        }
        for (mine, theirs) in self.cells.iter_mut().zip(&other.cells) {
            mine.merge(theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(latencies_ns: &[u64]) -> IntervalCell {
        let mut cell = IntervalCell::default();
        for &latency_ns in latencies_ns {
            cell.add(4096, latency_ns);
        }
        cell
    }

    #[test]
    fn merging_with_an_empty_interval_changes_nothing() {
        let filled = cell(&[5, 3, 9]);
        let mut merged = filled;
        merged.merge(&IntervalCell::default());
        assert_eq!(merged, filled);
        let mut empty = IntervalCell::default();
        empty.merge(&filled);
        assert_eq!(empty, filled);
        assert_eq!((filled.latency_ns_min, filled.latency_ns_max, filled.ios), (3, 9, 3));
    }

    #[test]
    fn merging_is_adding_all() {
        let mut merged = cell(&[5, 3]);
        merged.merge(&cell(&[2, 8]));
        assert_eq!(merged, cell(&[5, 3, 2, 8]));
    }
}
