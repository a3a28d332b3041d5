//! Which of two pieces side by side was written later.
//!
//! I/Os were written one after another, so that of two pieces that touch one was written later. The later one
//! is whole up to there: it begins there or ends there as an I/O does. Somebody's bytes that look like the
//! middle of an I/O are known by that: the piece before them does not end there, and they do not begin there.

use super::counted::{CHANCE_BYTES, Count, Writes};

/// Zeros that somebody wrote over our data, or that a cut has left, are mostly whole pages.
const PAGE_BYTES: u64 = 4096;

/// What a piece tells of its order.
#[derive(Debug)]
pub(super) enum Side {
    Counting(Count),
    /// What the file was created with: before all I/Os.
    Created,
    Zeros {
        start: u64,
        length: u64,
    },
    /// I/Os that do not show where they began and ended.
    Other {
        start: u64,
        length: u64,
    },
}

/// Which of two pieces that touch may have been written later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    left: bool,
    right: bool,
}

impl Order {
    /// Not known.
    pub(super) const ANY: Self = Self { left: true, right: true };

    /// The order of two pieces, of which the left one stands in this order to the one before it; nothing if
    /// neither of them can be the later one.
    pub(super) fn behind(self, left: &Side, right: &Side, writes: Writes) -> Option<Self> {
        use Side::{Counting, Created, Other, Zeros};
        // Later than what stands on both sides is only a whole I/O.
        let may_be_later = self.left || left.has_whole(writes);
        match (left, right) {
            (Counting(_), _) | (_, Counting(_)) => {
                let is_left = may_be_later && left.ends(writes);
                Self { left: is_left, right: right.begins(writes) }.known()
            }
            (Zeros { .. } | Other { .. }, Created) => {
                Self { left: may_be_later, right: false }.known()
            }
            (Created, Zeros { start, .. }) if may_be_of_others(*start) || !writes.may_blank() => {
                Some(Self::ANY)
            }
            (Created, Zeros { .. } | Other { .. }) => Some(Self { left: false, right: true }),
            // Both may be one I/O, or zeros that were there before.
            _ => Some(Self::ANY),
        }
    }

    fn known(self) -> Option<Self> {
        (self.left || self.right).then_some(self)
    }
}

impl Side {
    fn ends(&self, writes: Writes) -> bool {
        match self {
            Self::Counting(count) => count.ends(writes),
            Self::Created => false,
            Self::Zeros { start, length } => writes.may_blank() || may_be_of_others(start + length),
            Self::Other { .. } => true,
        }
    }

    fn begins(&self, writes: Writes) -> bool {
        match self {
            Self::Counting(count) => count.begins(),
            Self::Created => false,
            Self::Zeros { start, .. } => writes.may_blank() || may_be_of_others(*start),
            Self::Other { .. } => true,
        }
    }

    /// Whether an I/O may be whole within.
    fn has_whole(&self, writes: Writes) -> bool {
        match self {
            Self::Counting(count) => count.have_whole(writes),
            Self::Created => false,
            Self::Zeros { start, length } => {
                let is_whole = is_enough(*start, *length, writes.zeros, writes);
                is_whole || may_be_of_others(start + length)
            }
            Self::Other { start, length } => is_enough(*start, *length, writes.others, writes),
        }
    }
}

/// Whether so many bytes may hold a whole I/O, or one that was cut short as the process was killed.
fn is_enough(start: u64, length: u64, least: Option<u64>, writes: Writes) -> bool {
    // Some may be by chance a part of what stands beside them.
    let at_most = length + 2 * CHANCE_BYTES;
    at_most >= least.unwrap_or(1) || writes.is_torn_within(start, start + at_most)
}

/// Whether zeros may begin or end here that no run of ours wrote.
fn may_be_of_others(place: u64) -> bool {
    place % PAGE_BYTES <= CHANCE_BYTES
}
