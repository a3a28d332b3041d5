//! Drawing by given shares at the cost of one draw, however many there are: an alias table.
//!
//! Source: A. Walker, "An efficient method for generating discrete random variables with general
//! distributions", 1977, built as by M. Vose, 1991.

use super::random::Random;

/// One entry: it is taken below the limit, its alias otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The limit, as a fraction of 2^64.
    pub keep_below: u64,
    /// Index of the entry that takes the rest.
    pub alias: u32,
}

impl Cell {
    /// The entry that a draw of this one's index and a fraction gives. A branch here would be guessed
    /// wrong half of the time, so the choice is made by a mask.
    #[inline]
    #[must_use]
    pub fn choose(self, index: usize, fraction: u64) -> usize {
        let keep = usize::from(fraction < self.keep_below).wrapping_neg();
        (index & keep) | (self.alias as usize & !keep)
    }
}

/// The table of these shares, which need not add up to anything.
#[must_use]
pub fn cells(shares: &[f64]) -> Vec<Cell> {
    let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
    let mut rest: Vec<f64> = shares.iter().map(|share| share / mean).collect();
    let (mut poor, mut rich): (Vec<usize>, Vec<usize>) =
        (0..rest.len()).partition(|&entry| rest[entry] < 1.0);
    let mut cells = vec![Cell { keep_below: u64::MAX, alias: 0 }; shares.len()];
    while let (Some(&giver), Some(taker)) = (rich.last(), poor.pop()) {
        cells[taker] =
            Cell { keep_below: scale(rest[taker]), alias: u32::try_from(giver).unwrap_or(0) };
        rest[giver] -= 1.0 - rest[taker];
        if rest[giver] < 1.0 {
            rich.pop();
            poor.push(giver);
        }
    }
    cells
}

/// A chance as a fraction of 2^64.
fn scale(chance: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a conversion from float saturates, and the chance is not negative"
    )]
    let scaled = (chance * 2.0_f64.powi(64)) as u64;
    scaled
}

/// An alias table of indices.
#[derive(Debug, Clone)]
pub struct AliasTable {
    cells: Vec<Cell>,
}

impl AliasTable {
    /// A table of at least one share.
    #[must_use]
    pub fn new(shares: &[f64]) -> Self {
        Self { cells: cells(shares) }
    }

    /// An index, each by its share; without a draw if there is only one.
    #[inline]
    pub fn pick(&self, random: &mut Random) -> usize {
        if self.cells.len() == 1 {
            return 0;
        }
        let (index, fraction) = random.index_and_fraction(self.cells.len());
        self.cells[index].choose(index, fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_kept_and_empty_ones_never_drawn() {
        let shares = [60.0, 0.0, 30.0, 10.0];
        let table = AliasTable::new(&shares);
        let mut random = Random::new(11);
        let mut counts = [0_u32; 4];
        for _ in 0..1_000_000 {
            counts[table.pick(&mut random)] += 1;
        }
        for (count, share) in counts.iter().zip(shares) {
            let found = f64::from(*count) / 1e4;
            assert!((found - share).abs() < 0.2, "{found} instead of {share}");
        }
        assert_eq!(counts[1], 0);
    }

    #[test]
    fn one_share_needs_no_draw() {
        let mut random = Random::new(1);
        let mut untouched = random.clone();
        assert_eq!(AliasTable::new(&[100.0]).pick(&mut random), 0);
        assert_eq!(random.bits(), untouched.bits());
    }
}
