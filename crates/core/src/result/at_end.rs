//! I/Os that were in flight at the end of the measured time, as latencies: each takes at least as long as it
//! had taken then.
//!
//! Such an age is a lower bound. It enters where it tells something that the completed I/Os do not: where an
//! I/O had already taken longer than each that completed; or where all that had taken longer than the mean
//! together weigh more than [`WEIGHT`] of all latencies. What is younger is left out, because its latency is
//! as likely as any to be one of those that were seen, and its age would only be too small.

use super::DirectionResult;
use crate::measure::{DirectionRecord, LatencyHistogram, TargetRecord, ThreadMeasurements};

/// One part in so many of all latencies is weight enough.
const WEIGHT: u128 = 100;

/// From which age on I/Os count, for each kind of operation.
pub(super) struct Decisions {
    pub(super) read: Decision,
    pub(super) write: Decision,
    pub(super) sync: Decision,
    pub(super) trim: Decision,
}

/// For one kind of operation: an I/O that is older than this counts; none does where it is absent.
#[derive(Default)]
pub(super) struct Decision {
    age_above_ns: Option<u64>,
    lateness_above_ns: Option<u64>,
}

impl Decisions {
    pub(super) fn new(threads: &[ThreadMeasurements]) -> Self {
        Self {
            read: Decision::new(threads, |target| &target.read),
            write: Decision::new(threads, |target| &target.write),
            sync: Decision::new(threads, |target| &target.sync),
            trim: Decision::new(threads, |target| &target.trim),
        }
    }
}

impl Decision {
    fn new(threads: &[ThreadMeasurements], of: fn(&TargetRecord) -> &DirectionRecord) -> Self {
        let (mut latency, mut response) = (Both::default(), Both::default());
        for record in threads.iter().flat_map(|thread| &thread.targets).map(of) {
            latency.add(record.latency.as_ref(), record.ages.as_deref());
            response.add(record.response.as_deref(), record.lateness.as_deref());
        }
        Self { age_above_ns: latency.above_ns(), lateness_above_ns: response.above_ns() }
    }

    /// The result of a record with the I/Os that count.
    pub(super) fn applied(
        &self,
        record: &DirectionRecord,
        mut result: DirectionResult,
    ) -> DirectionResult {
        (result.edges.at_least, result.edges.at_least_ns) =
            enter(result.latency.as_mut(), record.ages.as_deref(), self.age_above_ns);
        (result.edges.response_at_least, _) = enter(
            result.response.as_deref_mut(),
            record.lateness.as_deref(),
            self.lateness_above_ns,
        );
        if result.edges.at_least > 0
            && let Some(last) = result.series.cells.last_mut()
            && let Some(ages) = &record.ages
        {
            last.latency_ns_max = last.latency_ns_max.max(ages.max_ns());
        }
        result
    }
}

/// Adds the ages above a bound to the latencies; how many that are, and their sum.
fn enter(
    latency: Option<&mut LatencyHistogram>,
    ages: Option<&LatencyHistogram>,
    above_ns: Option<u64>,
) -> (u64, u64) {
    let (Some(latency), Some(ages), Some(above_ns)) = (latency, ages, above_ns) else {
        return (0, 0);
    };
    let old = ages.above(above_ns);
    latency.merge(&old);
    (old.count(), u64::try_from(old.sum_ns()).unwrap_or(u64::MAX))
}

/// Completed I/Os, and those in flight at the end.
#[derive(Default)]
struct Both {
    done: LatencyHistogram,
    ages: LatencyHistogram,
}

impl Both {
    fn add(&mut self, done: Option<&LatencyHistogram>, ages: Option<&LatencyHistogram>) {
        if let Some(done) = done {
            self.done.merge(done);
        }
        if let Some(ages) = ages.filter(|_| done.is_some()) {
            self.ages.merge(ages);
        }
    }

    /// From which age on I/Os count.
    fn above_ns(&self) -> Option<u64> {
        let mean_ns = self.done.mean_ns().ceil();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a latency")]
        let mean_ns = mean_ns as u64;
        let old = self.ages.above(mean_ns);
        if old.sum_ns() * WEIGHT > self.done.sum_ns() {
            return Some(mean_ns);
        }
        (self.ages.max_ns() > self.done.max_ns()).then(|| self.done.max_ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values_ns: &[u64]) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        for value_ns in values_ns {
            histogram.record(*value_ns);
        }
        histogram
    }

    fn counted(done_ns: &[u64], ages_ns: &[u64]) -> Vec<u64> {
        let both = Both { done: histogram(done_ns), ages: histogram(ages_ns) };
        let mut latency = histogram(&[]);
        enter(Some(&mut latency), Some(&both.ages), both.above_ns());
        latency
            .buckets()
            .flat_map(|(lower, _, count)| {
                std::iter::repeat_n(lower, usize::try_from(count).unwrap())
            })
            .collect()
    }

    #[test]
    fn what_is_in_flight_as_usual_does_not_count() {
        assert_eq!(counted(&[100; 1_000], &[0, 50, 100]), Vec::<u64>::new());
        let spread: Vec<u64> = (0..2_000).collect();
        assert_eq!(counted(&spread, &[10, 1_500]), Vec::<u64>::new());
    }

    #[test]
    fn an_io_that_is_older_than_all_that_completed_counts() {
        assert_eq!(counted(&vec![100; 100_000], &[50, 101]), [101]);
    }

    #[test]
    fn where_nothing_completed_all_count() {
        assert_eq!(counted(&[], &[10, 20]), [10, 20]);
    }

    #[test]
    fn a_stall_of_many_counts_although_one_had_taken_longer_before() {
        let mut done_ns = vec![10; 1_000];
        done_ns.push(2_000);
        assert_eq!(counted(&done_ns, &[5, 1_000, 1_000]), [1_000, 1_000]);
    }
}
