//! Which writes of a block may be found when it is read, in one word.
//!
//! The writes of a block are numbered from 1; the number is the *generation*. While no write is in flight
//! exactly one generation is right. A write that is in flight may already have reached the target or not.
//! Writes of one block that were in flight together may have reached it in any order, whichever completed
//! first; so when the last of such a *busy period* has completed, each generation of the period is right.
//!
//! A window holds the newest generation (24 bits, and 40 in older journals; after the last
//! one they begin again), the writes in flight (12 bits), the length of the busy
//! period (6 bits), and how many generations before it were right when it began, beyond one (6 bits). A
//! length that does not fit means that any older generation is right, until the block is written alone again.
//!
//! A write that failed stays in flight, as nobody knows whether its data will be there. Where more writes of
//! a block have failed than can be counted, any of its generations is right from then on.

/// As many writes of one block can be in flight.
pub const IN_FLIGHT_MAX: u64 = (1 << 12) - 1;
/// The generations of a window; the one after the last is `AGAIN`.
pub const GENERATION_LAST: u64 = (1 << 24) - 1;
/// Generations below this are only given to the first writes of a block, so that a window that began again
/// is not taken for that of a block that nobody has written.
const AGAIN: u64 = 256;
const LENGTH_MAX: u64 = (1 << 6) - 1;
const IN_FLIGHT_AT: u32 = 12;
const PERIOD_AT: u32 = 6;
const GENERATION_AT: u32 = 24;

/// The word of one block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window(pub u64);

impl Legal {
    /// Whether this generation may be found. Where generations may have begun again since the oldest one,
    /// those before that are right, too.
    #[inline]
    #[must_use]
    pub fn holds(&self, generation: u64) -> bool {
        (self.oldest..=self.newest).contains(&generation) || self.began_again(generation)
    }

    #[inline]
    fn began_again(&self, generation: u64) -> bool {
        let may_have = self.oldest < AGAIN && self.newest >= AGAIN;
        let is_long = self.newest - self.oldest.min(self.newest) > 2 * LENGTH_MAX;
        let back = if is_long { GENERATION_LAST / 2 } else { AGAIN };
        may_have && generation > GENERATION_LAST - back && generation <= GENERATION_LAST
    }
}

/// What may be found; generation 0 stands for what was there before the first write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Legal {
    /// The oldest of them.
    pub oldest: u64,
    /// The newest of them.
    pub newest: u64,
    /// Exactly one generation is right, and no write was in flight. Otherwise a sector may be made of
    /// pieces of several: neither the page cache nor a mapping keeps a read from seeing a part of a write.
    pub is_settled: bool,
}

impl Window {
    fn new(newest: u64, in_flight: u64, period: u64, before: u64) -> Self {
        Self(newest << GENERATION_AT | in_flight << IN_FLIGHT_AT | period << PERIOD_AT | before)
    }

    /// What stands where a word is not what was written there.
    pub const DAMAGED: Self = Self(u64::MAX);

    /// The generation of the last write that was issued; 0 if there was none.
    #[inline]
    #[must_use]
    pub fn newest(self) -> u64 {
        self.0 >> GENERATION_AT
    }

    /// Writes in flight.
    #[inline]
    #[must_use]
    pub fn in_flight(self) -> u64 {
        self.0 >> IN_FLIGHT_AT & IN_FLIGHT_MAX
    }

    #[inline]
    fn period(self) -> u64 {
        self.0 >> PERIOD_AT & LENGTH_MAX
    }

    #[inline]
    fn before(self) -> u64 {
        self.0 & LENGTH_MAX
    }

    /// The oldest generation that is right now.
    #[inline]
    #[must_use]
    pub fn oldest(self) -> u64 {
        let (period, before) = (self.period(), self.before());
        if period == LENGTH_MAX || before == LENGTH_MAX {
            // Once a write has completed, what was there before the first one is gone.
            return u64::from(self.in_flight() == 0);
        }
        self.newest().saturating_sub(period + before)
    }

    /// What may be found by a read that was issued at this state and completed at the other.
    #[inline]
    #[must_use]
    pub fn legal_until(self, after: Self) -> Legal {
        let (oldest, newest) = (self.oldest(), after.newest());
        Legal { oldest, newest, is_settled: oldest == newest && after.in_flight() == 0 }
    }

    /// More writes failed than can be counted. A period that has begun is never empty otherwise.
    #[inline]
    fn is_uncounted(self) -> bool {
        self.in_flight() == IN_FLIGHT_MAX && self.period() == 0
    }

    /// One more write is in flight; its generation is the newest. The plan keeps the writes that are really
    /// in flight below [`IN_FLIGHT_MAX`], so that only those that failed can exceed it.
    #[inline]
    #[must_use]
    pub fn begin(self) -> Self {
        let newest = if self.newest() >= GENERATION_LAST { AGAIN } else { self.newest() + 1 };
        if self.in_flight() == IN_FLIGHT_MAX {
            return Self::new(newest, IN_FLIGHT_MAX, 0, LENGTH_MAX);
        }
        let period = (self.period() + 1).min(LENGTH_MAX);
        Self::new(newest, self.in_flight() + 1, period, self.before())
    }

    /// One write has completed.
    #[inline]
    #[must_use]
    pub fn end(self) -> Self {
        if self.is_uncounted() {
            return self;
        }
        let in_flight = self.in_flight().saturating_sub(1);
        if in_flight > 0 {
            return Self::new(self.newest(), in_flight, self.period(), self.before());
        }
        // A period that was too long to count leaves a window that is.
        let period = self.period();
        let before = if period == LENGTH_MAX { LENGTH_MAX } else { period.saturating_sub(1) };
        Self::new(self.newest(), 0, 0, before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn legal(window: Window) -> (u64, u64) {
        (window.oldest(), window.newest())
    }

    #[test]
    fn a_lone_write_may_be_there_or_not_until_it_completes() {
        let window = Window::default();
        assert_eq!(legal(window), (0, 0));
        let window = window.begin();
        assert_eq!((legal(window), window.in_flight()), ((0, 1), 1));
        let window = window.end();
        assert_eq!((legal(window), window.in_flight()), ((1, 1), 0));
        assert_eq!(legal(window.begin()), (1, 2));
        assert_eq!(legal(window.begin().end()), (2, 2));
    }

    #[test]
    fn writes_that_were_in_flight_together_may_have_arrived_in_any_order() {
        let one = Window::default().begin().end();
        let both = one.begin().begin();
        assert_eq!(legal(both), (1, 3));
        assert_eq!(legal(both.end()), (1, 3));
        let after = both.end().end();
        assert_eq!(legal(after), (2, 3));
        assert_eq!(legal(after.begin()), (2, 4));
        assert_eq!(legal(after.begin().end()), (4, 4));
    }

    #[test]
    fn a_period_that_is_too_long_to_count_allows_all_that_is_older_until_a_lone_write() {
        let mut window = Window::default().begin();
        for _ in 0..200 {
            window = window.begin().end();
        }
        assert_eq!(legal(window), (0, 201));
        let window = window.end();
        assert_eq!(legal(window), (1, 201));
        assert_eq!(legal(window.begin()), (0, 202));
        assert_eq!(legal(window.begin().end()), (202, 202));
    }

    #[test]
    fn generations_that_begin_again_leave_no_write_out() {
        let near = Window::new(GENERATION_LAST - 2, 0, 0, 0);
        let mut window = near;
        for step in 0..400_u64 {
            let before = window.newest();
            window = window.begin();
            // One write in flight: it may be there, or the one before it.
            let legal = window.legal_until(window);
            assert!(legal.holds(window.newest()) && legal.holds(before), "{step}: {legal:?}");
            window = window.begin().end().end();
            let legal = window.legal_until(window);
            assert!(legal.holds(window.newest()) && legal.oldest > 0, "{step}: {legal:?}");
            assert!(!legal.holds(window.newest() + 1), "{step}");
        }
        assert!(near.begin().begin().begin().newest() == AGAIN);
    }

    #[test]
    fn as_many_writes_as_the_plan_allows_can_be_in_flight() {
        let mut window = Window::default();
        for _ in 0..IN_FLIGHT_MAX {
            window = window.begin();
        }
        assert_eq!(window.in_flight(), IN_FLIGHT_MAX);
        for _ in 0..IN_FLIGHT_MAX {
            window = window.end();
        }
        assert_eq!((window.in_flight(), window.newest()), (0, IN_FLIGHT_MAX));
    }

    #[test]
    fn writes_of_a_block_that_failed_more_often_than_can_be_counted_ended_the_run_by_a_panic() {
        let mut window = Window::default();
        for _ in 0..3 * IN_FLIGHT_MAX {
            window = window.begin();
        }
        assert_eq!((window.in_flight(), window.newest()), (IN_FLIGHT_MAX, 3 * IN_FLIGHT_MAX));
        // However many others complete, none of those that failed is forgotten.
        for _ in 0..2 * IN_FLIGHT_MAX {
            window = window.begin().end();
            assert_eq!((window.in_flight(), window.oldest()), (IN_FLIGHT_MAX, 0));
        }
        assert!(!window.legal_until(window).is_settled);
    }

    proptest! {
        /// Against a model that keeps every write: what may be found is what no write that began after its
        /// completion has overwritten, and the window must hold at least that.
        #[test]
        fn the_window_holds_all_that_may_be_found(steps in proptest::collection::vec(0_usize..3, 1..80)) {
            let mut window = Window::default();
            let mut flying: Vec<u64> = Vec::new();
            // Generations that may stand in the block when nothing is in flight any more.
            let mut standing = vec![0_u64];
            let mut period = Vec::new();
            for step in steps {
                if step > 0 || flying.is_empty() {
                    window = window.begin();
                    flying.push(window.newest());
                    period.push(window.newest());
                } else {
                    flying.remove(step % flying.len());
                    window = window.end();
                    if flying.is_empty() {
                        standing = std::mem::take(&mut period);
                    }
                }
                let possible = standing.iter().chain(&period);
                for &generation in possible {
                    prop_assert!((window.oldest()..=window.newest()).contains(&generation));
                }
                prop_assert_eq!(window.in_flight(), flying.len() as u64);
                if flying.is_empty() && standing.len() == 1 {
                    prop_assert_eq!(window.oldest(), window.newest());
                }
            }
        }
    }
}
