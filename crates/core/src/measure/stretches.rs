//! Stretches in which I/Os of one thread on one target were in flight and none of them came back.

use std::ops::Range;

use crate::units::NANOS_PER_SEC;

/// A shorter stretch is not entered.
pub const STRETCH_NS_MIN: u64 = NANOS_PER_SEC / 5;
/// More of them are only counted: the longest are kept.
const KEPT: usize = 16;

/// The stretches of one thread on one target; instants are those of its clock.
#[derive(Debug, Clone)]
pub struct Stretches {
    last_ns: u64,
    count: u64,
    longest: Vec<Range<u64>>,
}

impl Default for Stretches {
    fn default() -> Self {
        // One more than is kept, so that nothing is allocated while I/Os complete.
        Self { last_ns: 0, count: 0, longest: Vec::with_capacity(KEPT + 1) }
    }
}

impl Stretches {
    /// Enters that an I/O has come back; returns since when none had, if that is long ago. It may be that
    /// none was in flight.
    #[inline]
    pub fn came_back(&mut self, now_ns: u64) -> Option<u64> {
        let since_ns = std::mem::replace(&mut self.last_ns, now_ns);
        (now_ns.saturating_sub(since_ns) >= STRETCH_NS_MIN).then_some(since_ns)
    }

    /// When the last I/O came back.
    #[must_use]
    pub fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// Enters a stretch, if it is long.
    #[cold]
    pub fn enter(&mut self, stretch: Range<u64>) {
        let length_ns = |one: &Range<u64>| one.end.saturating_sub(one.start);
        if length_ns(&stretch) < STRETCH_NS_MIN {
            return;
        }
        self.count += 1;
        keep_longest(&mut self.longest, stretch, KEPT, length_ns);
    }

    /// How many there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest of them, in their order.
    #[must_use]
    pub fn longest(&self) -> &[Range<u64>] {
        &self.longest
    }
}

/// Keeps one among the longest, in the order in which they came.
pub fn keep_longest<T>(kept: &mut Vec<T>, one: T, most: usize, length_ns: impl Fn(&T) -> u64) {
    kept.push(one);
    if kept.len() > most {
        let shortest = (0..kept.len()).min_by_key(|&index| length_ns(&kept[index]));
        shortest.map(|index| kept.remove(index));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_are_kept_in_their_order_and_all_are_counted() {
        let mut stretches = Stretches::default();
        let at = |second: u64| second * NANOS_PER_SEC..(second + 1) * NANOS_PER_SEC + second;
        (0..20).for_each(|second| stretches.enter(at(second)));
        stretches.enter(5..STRETCH_NS_MIN);
        assert_eq!(stretches.count(), 20);
        assert_eq!(stretches.longest(), (4..20).map(at).collect::<Vec<_>>());
    }
}
