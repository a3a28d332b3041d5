//! Read, write or trim: drawn, or in exact shares.

use crate::engine::backend::Operation;
use crate::engine::random::Random;

/// Which kind of operation comes next.
#[derive(Debug, Clone, Copy)]
pub struct Kinds {
    trims: Share,
    /// Among those that are no trims.
    writes: Share,
}

/// A share of 0 to 100 percent.
#[derive(Debug, Clone, Copy)]
enum Share {
    Drawn {
        percent: u32,
    },
    /// The remainder is carried from one I/O to the next, so that after any number of them the count is
    /// right to one (J. Bresenham's line, 1965).
    Exact {
        percent: u32,
        carried: u32,
    },
}

impl Kinds {
    /// Shares of trims among all, and of writes among the others. Exact shares begin at a random place
    /// of their cycle, so that threads do not all write at the same moment.
    pub fn new(exact: bool, trim_percent: u32, write_percent: u32, random: &mut Random) -> Self {
        let mut share = |percent| {
            if !exact {
                return Share::Drawn { percent };
            }
            let carried = u32::try_from(random.below(100)).unwrap_or(0);
            Share::Exact { percent, carried }
        };
        Self { trims: share(trim_percent), writes: share(write_percent) }
    }

    #[inline]
    pub fn next(&mut self, random: &mut Random) -> Operation {
        if self.trims.take(random) {
            Operation::Trim
        } else if self.writes.take(random) {
            Operation::Write
        } else {
            Operation::Read
        }
    }
}

impl Share {
    #[inline]
    fn take(&mut self, random: &mut Random) -> bool {
        match self {
            Self::Drawn { percent: 0 } => false,
            Self::Drawn { percent } => random.percent(*percent),
            Self::Exact { percent, carried } => {
                *carried += *percent;
                let taken = *carried >= 100;
                *carried -= if taken { 100 } else { 0 };
                taken
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_shares_are_right_after_any_number_of_ios() {
        for (trims, writes) in [(0, 30), (0, 1), (10, 50), (7, 33), (100, 0), (0, 100), (50, 99)] {
            for seed in 0..20 {
                let mut random = Random::new(seed);
                let mut kinds = Kinds::new(true, trims, writes, &mut random);
                let mut counts = [0_u32; 2];
                for ios in 1..=1_000_u32 {
                    match kinds.next(&mut random) {
                        Operation::Trim => counts[0] += 1,
                        Operation::Write => counts[1] += 1,
                        _ => {}
                    }
                    let trim_share = f64::from(ios * trims) / 100.0;
                    let rest = f64::from(ios - counts[0]);
                    let write_share = rest * f64::from(writes) / 100.0;
                    assert!((f64::from(counts[0]) - trim_share).abs() < 1.0);
                    assert!((f64::from(counts[1]) - write_share).abs() < 1.0);
                }
            }
        }
    }

    #[test]
    fn drawn_shares_vary_as_chance_does() {
        let mut random = Random::new(5);
        let mut kinds = Kinds::new(false, 20, 50, &mut random);
        let mut counts = [0_u32; 3];
        for _ in 0..100_000 {
            counts[match kinds.next(&mut random) {
                Operation::Trim => 0,
                Operation::Write => 1,
                _ => 2,
            }] += 1;
        }
        assert!(counts[0].abs_diff(20_000) < 800 && counts[0] != 20_000, "{counts:?}");
        assert!(counts[1].abs_diff(40_000) < 1_000 && counts[2].abs_diff(40_000) < 1_000);
    }
}
