//! Sums over a result, for every report: computed here once, shown there.

use super::{DirectionResult, ThreadTargetResult, TimeSpanResult};
use crate::measure::{Edges, IntervalSeries, LatencyHistogram, Slots};
use crate::units::{mib_per_second, per_second};

/// Which I/Os are summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Reads and writes.
    Total,
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Syncs, which are part of no total.
    Sync,
    /// Trims, which are part of no total.
    Trim,
}

/// A sum of I/Os.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sum {
    /// I/Os completed in the measured time.
    pub ios: u64,
    /// Bytes that these transferred.
    pub bytes: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// I/Os that moved fewer bytes than were requested.
    pub short_ios: u64,
    /// Service times; empty if latency was not measured.
    pub latency: LatencyHistogram,
    /// Response times; empty if none were measured.
    pub response: LatencyHistogram,
    /// Service times of the I/Os that have a response time: where other targets have no schedule, not all.
    pub scheduled: LatencyHistogram,
    /// I/Os per interval; empty if no series was kept.
    pub series: IntervalSeries,
    /// What was in flight at both ends of the measured time.
    pub edges: Edges,
}

impl Sum {
    /// Adds the operations of one thread on one target that are of this kind.
    pub fn add(&mut self, target: &ThreadTargetResult, kind: Kind) {
        let (read, write) = (Some(&target.read), Some(&target.write));
        let parts = match kind {
            Kind::Total => [read, write],
            Kind::Read => [read, None],
            Kind::Write => [None, write],
            Kind::Sync => [target.sync.as_deref(), None],
            Kind::Trim => [target.trim.as_deref(), None],
        };
        for part in parts.into_iter().flatten() {
            self.add_direction(part);
        }
    }

    fn add_direction(&mut self, direction: &DirectionResult) {
        self.ios += direction.ios;
        self.bytes += direction.bytes;
        self.errors += direction.errors;
        self.short_ios += direction.short_ios;
        if let Some(latency) = &direction.latency {
            self.latency.merge(latency);
        }
        if let Some(response) = &direction.response {
            self.response.merge(response);
            if let Some(latency) = &direction.latency {
                self.scheduled.merge(latency);
            }
        }
        self.series.merge(&direction.series);
        self.edges.merge(&direction.edges);
    }

    /// I/Os per second.
    #[must_use]
    pub fn iops(&self, measured_ns: u64) -> f64 {
        per_second(self.ios, measured_ns)
    }

    /// MiB per second.
    #[must_use]
    pub fn mib_per_s(&self, measured_ns: u64) -> f64 {
        mib_per_second(self.bytes, measured_ns)
    }

    /// Standard deviation, over the whole population of intervals, of the I/Os per second of each interval
    /// of `interval_ns`; 0 without a series. `DiskSpd` takes it over rates too (runs 02 and 09). A last
    /// interval that the end of the measured time cuts off has the rate of its own length, and a weight
    /// by it.
    #[must_use]
    pub fn iops_stddev(&self, interval_ns: u64, measured_ns: u64) -> f64 {
        let lengths = || self.series.lengths_ns(interval_ns, measured_ns);
        let weight = |length_ns: u64| length_ns as f64 / interval_ns as f64;
        let count: f64 = lengths().map(weight).sum();
        if self.series.cells.is_empty() || interval_ns == 0 {
            return 0.0;
        }
        let cells = || self.series.cells.iter().zip(lengths());
        let rates = || cells().map(|(cell, ns)| (cell.iops(ns), weight(ns)));
        let mean = rates().map(|(rate, weight)| rate * weight).sum::<f64>() / count;
        let squares = rates().map(|(rate, weight)| (rate - mean).powi(2) * weight);
        (squares.sum::<f64>() / count).sqrt()
    }
}

/// The sum of one thread on one target.
#[must_use]
pub fn of_target(target: &ThreadTargetResult, kind: Kind) -> Sum {
    let mut sum = Sum::default();
    sum.add(target, kind);
    sum
}

/// The sum of a whole time span.
#[must_use]
pub fn of_span(span: &TimeSpanResult, kind: Kind) -> Sum {
    of_some(span, kind, |_| true)
}

/// The sum of all threads on one path, under whatever settings.
#[must_use]
pub fn of_path(span: &TimeSpanResult, path: &str, kind: Kind) -> Sum {
    of_some(span, kind, |target| span.path_of(target) == path)
}

fn of_some(span: &TimeSpanResult, kind: Kind, wanted: impl Fn(&ThreadTargetResult) -> bool) -> Sum {
    let mut sum = Sum::default();
    let targets = span.threads.iter().flat_map(|thread| &thread.targets);
    targets.filter(|target| wanted(target)).for_each(|target| sum.add(target, kind));
    sum
}

impl TimeSpanResult {
    /// The slots of all threads.
    #[must_use]
    pub fn slots(&self) -> Slots {
        self.threads.iter().fold(Slots::default(), |sum, thread| Slots {
            count: sum.count + thread.slots.count,
            idle_ns: sum.idle_ns.saturating_add(thread.slots.idle_ns),
        })
    }

    /// Share of the time of all slots in which no I/O was in flight; nothing where slots were not told.
    #[must_use]
    pub fn idle_share(&self) -> Option<f64> {
        let slots = self.slots();
        let whole = slots.count as f64 * self.measured_ns as f64;
        (whole > 0.0).then(|| slots.idle_ns as f64 / whole)
    }

    /// Path of the target that a thread's row is about; empty if the result names none.
    #[must_use]
    pub fn path_of(&self, target: &ThreadTargetResult) -> &str {
        self.targets.get(target.target as usize).map_or("", |facts| facts.path.as_str())
    }

    /// The distinct paths in the order of the targets.
    #[must_use]
    pub fn paths(&self) -> Vec<&str> {
        let mut paths: Vec<&str> = Vec::new();
        for target in &self.targets {
            if !paths.contains(&target.path.as_str()) {
                paths.push(&target.path);
            }
        }
        paths
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::IntervalCell;

    fn deviation(counts: &[u64], interval_ms: u64) -> f64 {
        let cell = |&ios| IntervalCell { ios, ..IntervalCell::default() };
        let series = IntervalSeries { cells: counts.iter().map(cell).collect() };
        let measured_ns = counts.len() as u64 * interval_ms * 1_000_000;
        Sum { series, ..Sum::default() }.iops_stddev(interval_ms * 1_000_000, measured_ns)
    }

    /// `-d1 -D300` on a steady disk: cells of 12385, 12000, 12705 and 3984 I/Os, the last one of 100 ms. The
    /// deviation was 12123, 30 % of the mean.
    #[test]
    fn an_interval_that_the_end_cuts_off_has_the_rate_of_its_own_length() {
        let cell = |ios| IntervalCell { ios, ..IntervalCell::default() };
        let series = IntervalSeries { cells: [12_385, 12_000, 12_705, 3_984].map(cell).to_vec() };
        let found = Sum { series, ..Sum::default() }.iops_stddev(300_000_000, 1_000_000_000);
        let rates = [(12_385.0, 0.3), (12_000.0, 0.3), (12_705.0, 0.3), (3_984.0, 0.1_f64)];
        let squares = rates.map(|(ios, length)| (ios / length - 41_074.0_f64).powi(2) * length);
        assert!((found - squares.iter().sum::<f64>().sqrt()).abs() < 0.001, "{found}");
        assert!(found < 1_100.0, "{found}");
    }

    /// The digits are those of the real tool for the same counts (run 02 with intervals of 1 s, run 09 with
    /// intervals of 500 ms).
    #[test]
    fn the_standard_deviation_is_that_of_diskspd() {
        assert!((deviation(&[24_665, 26_209], 1000) - 772.0).abs() < 0.0005);
        assert!((deviation(&[1_981, 1_649, 1_772, 1_491], 500) - 358.141).abs() < 0.0005);
        assert!((deviation(&[1_937, 1_726, 1_711, 1_519], 500) - 295.913).abs() < 0.0005);
        assert!(deviation(&[], 1000).abs() < f64::EPSILON);
        assert!(deviation(&[7], 1000).abs() < f64::EPSILON);
    }
}
