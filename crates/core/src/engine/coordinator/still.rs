//! Times at which nothing of this process ran: it was stopped by a signal or frozen, or the machine was
//! paused. I/Os in flight seem to take as long as that, and a thread in the kernel seems not to come back.

use std::ops::Range;

use fathom_sys::clock::process_cpu_ns;

use super::super::clock::{Clock, RealClock};
use super::watchdog::{STALL_NS_MIN, told_from_ns};
use crate::measure::Suspended;

/// A coordinator that wakes up later than this was kept from running: a busy host alone does not do that.
const LATE_NS: u64 = STALL_NS_MIN;

/// Sleeps, and notices when that took far longer than it should.
#[derive(Debug, Default)]
pub(super) struct Sleeper {
    /// When nothing of the process ran.
    still: Vec<Range<u64>>,
}

impl Sleeper {
    /// Sleeps until an instant; whether it overslept, so that what others did meanwhile tells nothing.
    pub(super) fn sleep_until_ns(&mut self, deadline_ns: u64) -> bool {
        let cpu_before_ns = process_cpu_ns();
        RealClock.sleep_until_ns(deadline_ns);
        let used_ns = process_cpu_ns() - cpu_before_ns;
        self.woke(deadline_ns, RealClock.now_ns(), used_ns)
    }

    /// A coordinator can be late alone, where its own threads of load take all CPUs by their
    /// priority: then the process has used them.
    fn woke(&mut self, deadline_ns: u64, now_ns: u64, used_ns: u64) -> bool {
        let late_ns = now_ns.saturating_sub(deadline_ns);
        if late_ns < LATE_NS {
            return false;
        }
        if used_ns < late_ns / 10 {
            self.still.push(deadline_ns..now_ns);
        }
        true
    }

    /// The longest part of a stretch in which the process was not suspended.
    pub(super) fn awake(&self, stretch: &Range<u64>) -> Range<u64> {
        let mut longest = stretch.start..stretch.start;
        let mut from_ns = stretch.start;
        for still in self.still.iter().chain([&(stretch.end..stretch.end)]) {
            let part = from_ns..still.start.min(stretch.end).max(from_ns);
            if part.end - part.start > longest.end - longest.start {
                longest = part;
            }
            from_ns = from_ns.max(still.end);
        }
        longest
    }

    /// How much of the measured time the process was suspended.
    pub(super) fn of(&self, measured: &Range<u64>) -> Suspended {
        let least_ns = told_from_ns(measured.end.saturating_sub(measured.start));
        let parts = self.still.iter().map(|still| {
            still.end.min(measured.end).saturating_sub(still.start.max(measured.start))
        });
        parts.filter(|part_ns| *part_ns >= least_ns).fold(Suspended::default(), |sum, part_ns| {
            Suspended { total_ns: sum.total_ns + part_ns, longest_ns: sum.longest_ns.max(part_ns) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn only_what_lies_in_the_measured_time_counts() {
        let mut sleeper = Sleeper::default();
        for (from, until) in [(1, 4), (6, 8), (9, 12)] {
            assert!(sleeper.woke(from * SECOND_NS, until * SECOND_NS, 1_000));
        }
        let measured = 3 * SECOND_NS..10 * SECOND_NS;
        let expected = Suspended { total_ns: 4 * SECOND_NS, longest_ns: 2 * SECOND_NS };
        assert_eq!(sleeper.of(&measured), expected);
        assert_eq!(sleeper.of(&(20 * SECOND_NS..30 * SECOND_NS)), Suspended::default());
    }

    /// A process that was stopped for 0.3 s of 2 s lost 15 % of its I/Os, and nobody said it.
    #[test]
    fn a_tenth_of_a_short_measured_time_is_told_and_of_a_long_one_is_not() {
        let mut sleeper = Sleeper::default();
        assert!(sleeper.woke(SECOND_NS, SECOND_NS * 13 / 10, 1_000));
        assert_eq!(sleeper.of(&(0..2 * SECOND_NS)).total_ns, SECOND_NS * 3 / 10);
        assert_eq!(sleeper.of(&(0..60 * SECOND_NS)), Suspended::default());
    }

    /// A process that was stopped seemed to have targets that stalled meanwhile.
    #[test]
    fn of_a_stretch_only_what_the_process_was_awake_counts() {
        let mut sleeper = Sleeper::default();
        for (from, until) in [(2, 3), (5, 9)] {
            sleeper.woke(from * SECOND_NS, until * SECOND_NS, 1_000);
        }
        let awake = |from: u64, until: u64| {
            let part = sleeper.awake(&(from * SECOND_NS..until * SECOND_NS));
            (part.start / SECOND_NS, part.end / SECOND_NS)
        };
        assert_eq!(awake(0, 6), (0, 2));
        assert_eq!(awake(2, 8), (3, 5));
        assert_eq!(awake(6, 12), (9, 12));
        assert_eq!(awake(10, 11), (10, 11));
        assert_eq!(awake(6, 8), (6, 6));
    }

    #[test]
    fn a_conductor_that_is_late_while_others_run_stood_not_still() {
        let mut sleeper = Sleeper::default();
        assert!(!sleeper.woke(SECOND_NS, SECOND_NS + LATE_NS - 1, 0), "a busy host");
        assert!(sleeper.woke(SECOND_NS, 3 * SECOND_NS, 2 * SECOND_NS), "it overslept");
        assert_eq!(sleeper.of(&(0..9 * SECOND_NS)), Suspended::default());
    }
}
