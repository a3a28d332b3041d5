//! Rates that `DiskSpd` lacks: one for all threads together, and how I/Os are spread over the time.

use super::Resolver;
use crate::plan::{Pace, ThreadPlan};
use crate::request::{Arrivals, TimeSpan};
use crate::units::NANOS_PER_SEC;

impl Resolver<'_> {
    /// Gives each use of a target its part of the total rate, and every rate its arrivals.
    pub(super) fn apply_rates(&mut self, span: &TimeSpan, threads: &mut [ThreadPlan]) {
        self.check_rates(span);
        self.check_skew(span);
        let uses = || threads.iter().flat_map(|thread| &thread.assignments).count() as u64;
        let shares = self.options.total_iops.map(|iops| (iops, uses()));
        let assignments = threads.iter_mut().flat_map(|thread| &mut thread.assignments);
        for (turn, assignment) in (0_u64..).zip(assignments) {
            if let Some((iops, uses)) = shares {
                assignment.pace = Some(share(iops, uses, turn));
            }
            if let Some(pace) = &mut assignment.pace {
                pace.arrivals = self.options.arrivals;
            }
        }
    }

    /// A skew is of random I/O, and the only one.
    fn check_skew(&mut self, span: &TimeSpan) {
        if self.options.skew.is_none() {
            return;
        }
        if span.targets.iter().any(|target| !target.has_random_io()) {
            let message = "a skew (--skew) is given for sequential I/O";
            self.findings.request(message, "add -r or -rs");
        }
        if span.targets.iter().any(|target| target.distribution.is_some()) {
            let message = "a skew (--skew) and a distribution (-rd) are both given";
            self.findings.request(message, "give one of them");
        }
    }

    fn check_rates(&mut self, span: &TimeSpan) {
        let has_rates = span.targets.iter().any(|target| target.rate.is_some());
        let total = self.options.total_iops.is_some();
        if total && has_rates {
            let message =
                "a rate of all threads (--rate) and a rate per thread (-g) are both given";
            self.findings.request(message, "give one of them");
        }
        if total && span.thread_count > 0 && span.request_count > 0 {
            let message =
                "a rate (--rate) cannot be used with outstanding requests per thread (-O)";
            self.findings.request(message, "use -o, the outstanding I/Os per target and thread");
        }
        if self.options.arrivals == Arrivals::Poisson && !total && !has_rates {
            let message = "arrivals (--arrivals) are given without a rate";
            self.findings.request(message, "give a rate too, with --rate or -g");
        }
    }
}

/// One use's part of a rate that `uses` of them share: each has every `uses`-th instant.
fn share(iops: u64, uses: u64, turn: u64) -> Pace {
    let instant = u128::from(turn) * u128::from(NANOS_PER_SEC) / u128::from(iops.max(1));
    Pace {
        phase_ns: u64::try_from(instant).unwrap_or(u64::MAX),
        ..Pace::constant(iops, NANOS_PER_SEC.saturating_mul(uses))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_share_a_rate_take_turns() {
        let parts: Vec<Pace> = (0..4).map(|turn| share(1_000, 4, turn)).collect();
        let phases: Vec<u64> = parts.iter().map(|part| part.phase_ns).collect();
        assert_eq!(phases, [0, 1_000_000, 2_000_000, 3_000_000]);
        assert!(parts.iter().all(|part| (part.ios, part.per_ns) == (1_000, 4 * NANOS_PER_SEC)));
    }
}
