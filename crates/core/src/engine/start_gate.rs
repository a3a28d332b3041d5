//! When the load of a run begins: at once, or at an instant on which several hosts have agreed.

use std::sync::atomic::{AtomicU64, Ordering};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_instant_counts() {
        let gate = StartGate::default();
        assert_eq!(gate.at_unix_ns(), None);
        gate.open(7);
        gate.open(8);
        assert_eq!(gate.at_unix_ns(), Some(7));
    }
}
