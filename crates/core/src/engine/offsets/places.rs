//! Where random I/O goes: uniformly over the whole range, or over parts that have shares of their own.

use super::skew;
use crate::engine::random::Random;
use crate::plan::OffsetPlan;

/// Positions at equal distances from each other.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    pub first_bytes: u64,
    pub step_bytes: u64,
    pub positions: u64,
}

impl Grid {
    /// All positions before `until_bytes`, from `from_bytes` on and aligned relative to the base,
    /// where a block fits the target; at least one, because the plan has made sure of that.
    pub fn new(plan: &OffsetPlan, from_bytes: u64, until_bytes: u64) -> Self {
        let step_bytes = plan.align_bytes.max(1);
        let ahead = from_bytes.saturating_sub(plan.base_bytes).next_multiple_of(step_bytes);
        let last_bytes = plan.end_bytes.saturating_sub(plan.block_bytes);
        let first_bytes = (plan.base_bytes + ahead).min(last_bytes);
        // A part of the target says where blocks begin, as in DiskSpd; only the target's end cuts them.
        let last_bytes = last_bytes.min(until_bytes.saturating_sub(1));
        let room = last_bytes.saturating_sub(first_bytes);
        Self { first_bytes, step_bytes, positions: room / step_bytes + 1 }
    }

    #[inline]
    pub fn pick(&self, random: &mut Random) -> u64 {
        self.first_bytes + random.below(self.positions) * self.step_bytes
    }
}

/// Parts of the target with their shares, as an alias table: one draw names a part, a second one decides
/// between it and its alias, however many parts there are (A. Walker, 1977; M. Vose, 1991).
#[derive(Debug, Clone, Copy)]
struct Part {
    grid: Grid,
    /// The part itself is taken below this, its alias otherwise.
    keep_below: u64,
    alias: u32,
}

/// The places of random I/O.
#[derive(Debug, Clone)]
pub struct Places {
    whole: Grid,
    parts: Vec<Part>,
}

impl Places {
    /// The places of a plan.
    pub fn new(plan: &OffsetPlan) -> Self {
        let whole = Grid::new(plan, plan.base_bytes, plan.end_bytes);
        let shares: Vec<(f64, Grid)> = if let Some(skew) = plan.skew {
            skew::parts(skew, whole.positions).map(part_of(whole)).collect()
        } else {
            let ranges = plan.ranges.iter().filter(|range| range.io_percent > 0.0);
            let grid = |start_bytes, end_bytes| Grid::new(plan, start_bytes, end_bytes);
            ranges.map(|part| (part.io_percent, grid(part.start_bytes, part.end_bytes))).collect()
        };
        Self { whole, parts: alias_table(&shares) }
    }

    /// The place of the next random I/O.
    #[inline]
    pub fn pick(&self, random: &mut Random) -> u64 {
        if self.parts.is_empty() {
            return self.whole.pick(random);
        }
        let (index, fraction) = random.index_and_fraction(self.parts.len());
        let part = &self.parts[index];
        // A branch here would be guessed wrong half of the time, so the choice is made by a mask.
        let keep = usize::from(fraction < part.keep_below).wrapping_neg();
        let part = &self.parts[(index & keep) | (part.alias as usize & !keep)];
        part.grid.pick(random)
    }
}

/// A stretch of positions and its share, as a grid.
fn part_of(whole: Grid) -> impl Fn(skew::Part) -> (f64, Grid) {
    move |part| {
        let first_bytes = whole.first_bytes + part.first_position * whole.step_bytes;
        (part.share, Grid { first_bytes, positions: part.positions, ..whole })
    }
}

fn alias_table(shares: &[(f64, Grid)]) -> Vec<Part> {
    let mean = shares.iter().map(|(share, _)| share).sum::<f64>() / shares.len().max(1) as f64;
    let mut rest: Vec<f64> = shares.iter().map(|(share, _)| share / mean).collect();
    let (mut poor, mut rich): (Vec<usize>, Vec<usize>) =
        (0..rest.len()).partition(|&part| rest[part] < 1.0);
    let whole = |(_, grid): &(f64, Grid)| Part { grid: *grid, keep_below: u64::MAX, alias: 0 };
    let mut parts: Vec<Part> = shares.iter().map(whole).collect();
    while let (Some(&giver), Some(taker)) = (rich.last(), poor.pop()) {
        parts[taker].keep_below = scale(rest[taker]);
        parts[taker].alias = u32::try_from(giver).unwrap_or(u32::MAX);
        rest[giver] -= 1.0 - rest[taker];
        if rest[giver] < 1.0 {
            rich.pop();
            poor.push(giver);
        }
    }
    parts
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
