//! How many I/Os go to the kernel in one call.
//!
//! The kernel keeps a long list back until it has read all of it, and tells the device once. A device whose
//! work takes a CPU's time, such as the disk of a virtual machine, then begins late and completes all of
//! them together: at queue depth 32 it stands idle while the next list is made. Short lists keep both busy,
//! and cost a call each. Where the kernel serves I/O within the call, only the call is left.

/// The longest list, from measurements: one as short as 2 gives no more, one of 16 loses half of the gain.
const MOST: usize = 4;

/// What to hand over at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Portion {
    most: usize,
    is_known: bool,
}

impl Default for Portion {
    fn default() -> Self {
        Self { most: MOST, is_known: false }
    }
}

impl Portion {
    /// Everything that is queued.
    pub(super) const ALL: Self = Self { most: usize::MAX, is_known: true };

    #[inline]
    pub(super) fn most(self) -> usize {
        self.most
    }

    /// Looks once, behind the first call, whether its I/Os were served within it.
    #[inline]
    pub(super) fn handed_over(&mut self, completions: impl FnOnce() -> usize) {
        if self.is_known {
            return;
        }
        *self =
            if completions() >= self.most { Self::ALL } else { Self { is_known: true, ..*self } };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_queues_gets_short_lists() {
        let mut portion = Portion::default();
        portion.handed_over(|| MOST - 1);
        portion.handed_over(|| MOST);
        assert_eq!(portion.most(), MOST);
    }

    #[test]
    fn what_is_served_within_the_call_goes_over_at_once() {
        let mut portion = Portion::default();
        portion.handed_over(|| MOST);
        assert_eq!(portion, Portion::ALL);
    }
}
