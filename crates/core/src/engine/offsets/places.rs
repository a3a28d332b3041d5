//! Where random I/O goes: uniformly over the whole range, or over parts that have shares of their own.

use super::skew;
use crate::engine::alias;
use crate::engine::random::Random;
use crate::plan::OffsetPlan;

/// Positions at equal distances from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// A part of the target, with its entry in the alias table of their shares.
#[derive(Debug, Clone, Copy)]
struct Part {
    grid: Grid,
    cell: alias::Cell,
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
        let whole = whole(plan);
        let parts = if is_uniform(plan) { Vec::new() } else { alias_table(&shares(plan)) };
        Self { whole, parts }
    }

    /// The place of the next random I/O.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "once per I/O; left as a call of its own by each kind of worker, it saves and restores the \
                  registers of the hot loop (callgrind)"
    )]
    pub fn pick(&self, random: &mut Random) -> u64 {
        if self.parts.is_empty() { self.whole.pick(random) } else { self.pick_part(random) }
    }

    fn pick_part(&self, random: &mut Random) -> u64 {
        let (index, fraction) = random.index_and_fraction(self.parts.len());
        let part = &self.parts[self.parts[index].cell.choose(index, fraction)];
        part.grid.pick(random)
    }
}

fn whole(plan: &OffsetPlan) -> Grid {
    Grid::new(plan, plan.base_bytes, plan.end_bytes)
}

fn is_uniform(plan: &OffsetPlan) -> bool {
    plan.skew.is_none() && plan.ranges.iter().all(|range| range.io_percent <= 0.0)
}

/// The places of random I/O, with shares that are relative to those of the others.
pub fn shares(plan: &OffsetPlan) -> Vec<(f64, Grid)> {
    let whole = whole(plan);
    if let Some(skew) = plan.skew {
        return skew::parts(skew, whole.positions).map(part_of(whole)).collect();
    }
    if is_uniform(plan) {
        return vec![(1.0, whole)];
    }
    let ranges = plan.ranges.iter().filter(|range| range.io_percent > 0.0);
    let grid = |start_bytes, end_bytes| Grid::new(plan, start_bytes, end_bytes);
    ranges.map(|part| (part.io_percent, grid(part.start_bytes, part.end_bytes))).collect()
}

/// A stretch of positions and its share, as a grid.
fn part_of(whole: Grid) -> impl Fn(skew::Part) -> (f64, Grid) {
    move |part| {
        let first_bytes = whole.first_bytes + part.first_position * whole.step_bytes;
        (part.share, Grid { first_bytes, positions: part.positions, ..whole })
    }
}

fn alias_table(shares: &[(f64, Grid)]) -> Vec<Part> {
    let weights: Vec<f64> = shares.iter().map(|(share, _)| *share).collect();
    let parts = alias::cells(&weights).into_iter().zip(shares);
    parts.map(|(cell, (_, grid))| Part { grid: *grid, cell }).collect()
}
