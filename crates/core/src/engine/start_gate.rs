//! When the load of a run begins: at once, or at an instant on which several hosts have agreed.

use std::sync::atomic::{AtomicU64, Ordering};

use super::clock::{Clock, RealClock};

/// Nobody has said yet.
const CLOSED: u64 = u64::MAX;

/// The instant at which the load begins, once it is known.
#[derive(Debug)]
pub struct StartGate(AtomicU64);

impl Default for StartGate {
    fn default() -> Self {
        Self(AtomicU64::new(CLOSED))
    }
}

impl StartGate {
    /// Says when the load begins, in nanoseconds since 1970-01-01T00:00:00Z; the first instant counts.
    pub fn open(&self, at_unix_ns: u64) {
        let at_ns = at_unix_ns.min(CLOSED - 1);
        let _first = self.0.compare_exchange(CLOSED, at_ns, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The instant, in nanoseconds since 1970-01-01T00:00:00Z, if it was said.
    #[must_use]
    pub fn at_unix_ns(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|at_ns| *at_ns != CLOSED)
    }
}

/// Now, in nanoseconds since 1970-01-01T00:00:00Z.
pub(crate) fn unix_now_ns() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(0)
}

/// How far the clock of the wall is ahead of the monotonic one, now. This thread may lose its CPU between
/// looking at the one and at the other; so of a few looks the quickest counts.
pub(crate) fn unix_ahead_ns() -> u64 {
    const LOOKS: usize = 3;
    let look = |_| {
        let (before_ns, unix_ns) = (RealClock.now_ns(), unix_now_ns());
        let took_ns = RealClock.now_ns() - before_ns;
        (took_ns, unix_ns.saturating_sub(before_ns + took_ns / 2))
    };
    (0..LOOKS).map(look).min().map_or(0, |(_, ahead_ns)| ahead_ns)
}

/// When the first thread of a time span began.
#[derive(Debug)]
pub struct FirstBegan(AtomicU64);

impl Default for FirstBegan {
    fn default() -> Self {
        Self(AtomicU64::new(u64::MAX))
    }
}

impl FirstBegan {
    /// A thread begins now, on the monotonic clock.
    pub fn at(&self, now_ns: u64) {
        self.0.fetch_min(now_ns, Ordering::Relaxed);
    }

    /// How much later than planned the first thread began; 0 if none has.
    pub fn late_ns(&self, planned_ns: u64) -> u64 {
        match self.0.load(Ordering::Relaxed) {
            u64::MAX => 0,
            began_ns => began_ns.saturating_sub(planned_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_thread_counts_and_nobody_is_not_late() {
        let began = FirstBegan::default();
        assert_eq!(began.late_ns(5), 0);
        began.at(9);
        began.at(7);
        began.at(8);
        assert_eq!((began.late_ns(5), began.late_ns(7), began.late_ns(8)), (2, 0, 0));
    }

    #[test]
    fn the_two_clocks_are_as_far_apart_as_they_are() {
        let apart_ns = unix_now_ns() - RealClock.now_ns();
        assert!(unix_ahead_ns().abs_diff(apart_ns) < 1_000_000_000);
    }

    #[test]
    fn the_first_instant_counts() {
        let gate = StartGate::default();
        assert_eq!(gate.at_unix_ns(), None);
        gate.open(7);
        gate.open(8);
        assert_eq!(gate.at_unix_ns(), Some(7));
    }
}
