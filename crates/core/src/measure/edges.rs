//! What was in flight when the measured time began and ended, and slots in which nothing was: with them the
//! account of a time span closes, where latency is measured. Of each thread and target,
//!
//! `slots x time = latencies - ages among them - ages at the start + ages at the end + uncounted + idle`.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// I/Os at one end of the measured time, and how old they were then.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InFlight {
    /// How many there were.
    pub ios: u64,
    /// Sum of their ages, in nanoseconds.
    pub age_ns_sum: u64,
    /// Age of the oldest, in nanoseconds.
    pub age_ns_max: u64,
    /// Age of the youngest, in nanoseconds: since then none of these slots was free. 0 if there is none, and
    /// in results of versions that did not tell.
    #[serde(default)]
    pub age_ns_min: u64,
}

impl InFlight {
    /// Enters an I/O of this age.
    pub fn add(&mut self, age_ns: u64) {
        self.add_several(1, age_ns);
    }

    /// Enters several of the same age.
    pub fn add_several(&mut self, ios: u64, age_ns: u64) {
        let age_ns_sum = age_ns.saturating_mul(ios);
        self.merge(&Self { ios, age_ns_sum, age_ns_max: age_ns, age_ns_min: age_ns });
    }

    /// Adds others.
    pub fn merge(&mut self, other: &Self) {
        self.age_ns_min = match (self.ios, other.ios) {
            (_, 0) => self.age_ns_min,
            (0, _) => other.age_ns_min,
            _ => self.age_ns_min.min(other.age_ns_min),
        };
        self.ios += other.ios;
        self.age_ns_sum = self.age_ns_sum.saturating_add(other.age_ns_sum);
        self.age_ns_max = self.age_ns_max.max(other.age_ns_max);
    }
}

/// Both ends of the measured time for one kind of operation of one thread on one target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edges {
    /// In flight when the measured time began: they completed within it, or are in flight at its end, too.
    pub at_start: InFlight,
    /// In flight when it ended.
    pub at_end: InFlight,
    /// Due by their schedule, and not issued when it ended; their age counts from when they were due.
    pub not_issued: InFlight,
    /// Time in I/Os that completed within it and whose latency is not in the result: they failed, were short,
    /// or had been issued before the I/Os that count. In nanoseconds.
    pub uncounted_ns: u64,
    /// How many of the values in `latency` are ages of I/Os that were in flight at the end: these take at
    /// least so long.
    pub at_least: u64,
    /// Sum of these values, in nanoseconds: so much of `latency` is also part of `at_end`.
    #[serde(default)]
    pub at_least_ns: u64,
    /// How many of the values in `response` are such ages, with those that were due and not issued.
    pub response_at_least: u64,
}

impl Edges {
    /// Adds others.
    pub fn merge(&mut self, other: &Self) {
        self.at_start.merge(&other.at_start);
        self.at_end.merge(&other.at_end);
        self.not_issued.merge(&other.not_issued);
        self.uncounted_ns = self.uncounted_ns.saturating_add(other.uncounted_ns);
        self.at_least += other.at_least;
        self.at_least_ns = self.at_least_ns.saturating_add(other.at_least_ns);
        self.response_at_least += other.response_at_least;
    }
}

/// The slots of a thread, or of a thread on one target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Slots {
    /// I/Os that could be in flight at once; 0 on a target if all targets of the thread share its slots.
    pub count: u64,
    /// Time of all of them together in which no I/O was in flight, in nanoseconds.
    pub idle_ns: u64,
}

/// Adds up the time of slots that are free.
#[derive(Debug, Clone, Copy, Default)]
pub struct IdleSlots {
    free: u64,
    since_ns: u64,
    idle_ns: u64,
}

impl IdleSlots {
    /// So many have been free since an instant.
    #[must_use]
    pub fn new(free: u64, since_ns: u64) -> Self {
        Self { free, since_ns, idle_ns: 0 }
    }

    /// How many are free.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.free
    }

    /// From now on so many are free; what lies in the window counts.
    #[inline]
    pub fn follow(&mut self, free: u64, now_ns: u64, window: &Range<u64>) {
        if self.free == free {
            return;
        }
        self.change(free, now_ns, window);
    }

    fn change(&mut self, free: u64, now_ns: u64, window: &Range<u64>) {
        let passed_ns = now_ns.min(window.end).saturating_sub(self.since_ns.max(window.start));
        self.idle_ns = self.idle_ns.saturating_add(self.free.saturating_mul(passed_ns));
        self.free = free;
        self.since_ns = now_ns;
    }

    /// The sum until the end of the window.
    #[must_use]
    pub fn until_end(mut self, count: u64, window: &Range<u64>) -> Slots {
        self.follow(0, window.end.max(self.since_ns), window);
        Slots { count, idle_ns: self.idle_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_free_slots_within_the_window_are_idle() {
        let window = 100..200;
        let mut idle = IdleSlots::new(4, 0);
        idle.follow(1, 110, &window);
        idle.follow(0, 120, &window);
        idle.follow(0, 150, &window);
        idle.follow(2, 190, &window);
        idle.follow(0, 230, &window);
        assert_eq!(idle.until_end(4, &window), Slots { count: 4, idle_ns: 40 + 10 + 20 });
    }

    #[test]
    fn slots_that_stay_free_are_idle_until_the_end() {
        let window = 100..200;
        let idle = IdleSlots::new(3, 0);
        assert_eq!(idle.until_end(3, &window), Slots { count: 3, idle_ns: 300 });
        let mut hung = IdleSlots::new(2, 100);
        hung.follow(1, 110, &window);
        assert_eq!(hung.until_end(2, &window), Slots { count: 2, idle_ns: 20 + 90 });
    }
}
