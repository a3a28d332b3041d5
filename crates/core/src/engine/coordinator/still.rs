//! Times at which nothing of this process ran: it was stopped by a signal or frozen, or the machine was
//! paused. I/Os in flight seem to take as long as that, and a thread in the kernel seems not to come back.

use std::ops::Range;

use fathom_sys::clock::process_cpu_ns;

use super::super::clock::{Clock, RealClock};
use super::super::run_queue::RunQueue;
use super::watchdog::{STALL_NS_MIN, told_from_ns};
use crate::measure::Suspended;

/// A coordinator that wakes up later than this was kept from running: a busy host alone does not do that.
const LATE_NS: u64 = STALL_NS_MIN;

/// Sleeps, and notices when that took far longer than it should.
#[derive(Debug, Default)]
pub(super) struct Sleeper {
    queue: RunQueue,
    /// When nothing of the process ran.
    still: Vec<Still>,
}

#[derive(Debug)]
struct Still {
    when: Range<u64>,
    /// How much of it the process was not to run, rather than ready and without a CPU, which others had.
    suspended_ns: u64,
}

/// What a coordinator that slept had of the CPUs meanwhile, in nanoseconds.
struct Meanwhile {
    /// What all threads of the process used.
    used_ns: u64,
    /// How long it was ready itself and had none.
    waited_ns: u64,
}

impl Sleeper {
    /// Sleeps until an instant; whether it overslept, so that what others did meanwhile tells nothing.
    pub(super) fn sleep_until_ns(&mut self, deadline_ns: u64) -> bool {
        let look = || (process_cpu_ns(), self.queue.waited_ns().unwrap_or(0));
        let before = look();
        RealClock.sleep_until_ns(deadline_ns);
        let after = look();
        let meanwhile =
            Meanwhile { used_ns: after.0 - before.0, waited_ns: after.1.saturating_sub(before.1) };
        self.woke(deadline_ns, RealClock.now_ns(), &meanwhile)
    }

    /// A coordinator can be late alone, where its own threads of load take all CPUs by their
    /// priority: then the process has used them. It can be late with all of them, where others are more
    /// urgent: then it waited in the kernel's queue.
    fn woke(&mut self, deadline_ns: u64, now_ns: u64, meanwhile: &Meanwhile) -> bool {
        let late_ns = now_ns.saturating_sub(deadline_ns);
        if late_ns < LATE_NS {
            return false;
        }
        if meanwhile.used_ns < late_ns / 10 {
            let suspended_ns = late_ns.saturating_sub(meanwhile.waited_ns);
            self.still.push(Still { when: deadline_ns..now_ns, suspended_ns });
        }
        true
    }

    /// The longest part of a stretch in which the process ran.
    pub(super) fn awake(&self, stretch: &Range<u64>) -> Range<u64> {
        let mut longest = stretch.start..stretch.start;
        let mut from_ns = stretch.start;
        let all = self.still.iter().map(|still| &still.when);
        for still in all.chain([&(stretch.end..stretch.end)]) {
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
        let parts = self.still.iter().map(|Still { when, suspended_ns }| {
            let part_ns = when.end.min(measured.end).saturating_sub(when.start.max(measured.start));
            part_ns.min(*suspended_ns)
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
    const STOPPED: Meanwhile = Meanwhile { used_ns: 1_000, waited_ns: 0 };

    #[test]
    fn only_what_lies_in_the_measured_time_counts() {
        let mut sleeper = Sleeper::default();
        for (from, until) in [(1, 4), (6, 8), (9, 12)] {
            assert!(sleeper.woke(from * SECOND_NS, until * SECOND_NS, &STOPPED));
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
        assert!(sleeper.woke(SECOND_NS, SECOND_NS * 13 / 10, &STOPPED));
        assert_eq!(sleeper.of(&(0..2 * SECOND_NS)).total_ns, SECOND_NS * 3 / 10);
        assert_eq!(sleeper.of(&(0..60 * SECOND_NS)), Suspended::default());
    }

    /// A process that was stopped seemed to have targets that stalled meanwhile.
    #[test]
    fn of_a_stretch_only_what_the_process_was_awake_counts() {
        let mut sleeper = Sleeper::default();
        for (from, until) in [(2, 3), (5, 9)] {
            sleeper.woke(from * SECOND_NS, until * SECOND_NS, &STOPPED);
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
        assert!(!sleeper.woke(SECOND_NS, SECOND_NS + LATE_NS - 1, &STOPPED), "a busy host");
        let ran = Meanwhile { used_ns: 2 * SECOND_NS, waited_ns: 0 };
        assert!(sleeper.woke(SECOND_NS, 3 * SECOND_NS, &ran), "it overslept");
        assert_eq!(sleeper.of(&(0..9 * SECOND_NS)), Suspended::default());
    }

    /// A process that a more urgent one kept off its CPU for 0.9 s was "suspended (Ctrl-Z, SIGSTOP)".
    #[test]
    fn a_process_without_a_cpu_was_not_suspended_and_ran_no_more() {
        let mut sleeper = Sleeper::default();
        let starved = Meanwhile { used_ns: 0, waited_ns: SECOND_NS * 9 / 10 };
        assert!(sleeper.woke(2 * SECOND_NS, 3 * SECOND_NS, &starved));
        assert_eq!(sleeper.of(&(0..9 * SECOND_NS)), Suspended::default());
        assert_eq!(sleeper.awake(&(0..9 * SECOND_NS)), 3 * SECOND_NS..9 * SECOND_NS);
    }
    /// A stop of 0.9 s and 0.7 s without a CPU behind it were 1.6 s of SIGSTOP, and the other way round none.
    #[test]
    fn of_a_stop_and_a_wait_for_a_cpu_in_one_stretch_the_stop_alone_is_told() {
        for (waited, stopped) in [(7, 9), (9, 7)] {
            let mut sleeper = Sleeper::default();
            let both = Meanwhile { used_ns: 0, waited_ns: SECOND_NS / 10 * waited };
            assert!(sleeper.woke(0, SECOND_NS / 10 * (waited + stopped), &both));
            assert_eq!(sleeper.of(&(0..3 * SECOND_NS)).total_ns, SECOND_NS / 10 * stopped);
        }
    }
}
