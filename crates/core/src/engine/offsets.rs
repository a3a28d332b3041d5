//! Which offset comes next. Once per I/O, so nothing here divides, allocates or locks; only the
//! interlocked order shares anything, and that is one counter.

use std::sync::atomic::{AtomicU64, Ordering};

use super::random::Random;
use crate::plan::{OffsetPlan, Order};

/// What all threads of a target share: the counter of the interlocked order, on a cache line of its own.
#[derive(Debug)]
#[repr(align(128))]
pub struct SharedOffsets {
    next_position: AtomicU64,
}

impl SharedOffsets {
    /// A counter at the first position of the plan's range.
    #[must_use]
    pub fn new(_plan: &OffsetPlan) -> Self {
        Self { next_position: AtomicU64::new(0) }
    }
}

/// Positions at equal distances from each other.
#[derive(Debug, Clone, Copy)]
struct Grid {
    first_bytes: u64,
    step_bytes: u64,
    positions: u64,
}

impl Grid {
    /// All positions before `until_bytes`, from `from_bytes` on and aligned relative to the base,
    /// where a block fits the target; at least one, because the plan has made sure of that.
    fn new(plan: &OffsetPlan, from_bytes: u64, until_bytes: u64) -> Self {
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
    fn pick(&self, random: &mut Random) -> u64 {
        self.first_bytes + random.below(self.positions) * self.step_bytes
    }
}

/// A part of the target and the chance that a random I/O falls before its end.
#[derive(Debug, Clone, Copy)]
struct Share {
    /// Cumulative share, scaled to 2^64 - 1.
    until: u64,
    grid: Grid,
}

/// Random offsets over the whole range, or over shares of it.
#[derive(Debug, Clone)]
struct RandomOffsets {
    whole: Grid,
    shares: Vec<Share>,
}

impl RandomOffsets {
    fn new(plan: &OffsetPlan) -> Self {
        let mut sum_percent = 0.0;
        let mut shares: Vec<Share> = Vec::new();
        for range in plan.ranges.iter().filter(|range| range.io_percent > 0.0) {
            sum_percent += range.io_percent;
            let grid = Grid::new(plan, range.start_bytes, range.end_bytes);
            shares.push(Share { until: scale(sum_percent), grid });
        }
        if let Some(last) = shares.last_mut() {
            last.until = u64::MAX;
        }
        Self { whole: Grid::new(plan, plan.base_bytes, plan.end_bytes), shares }
    }

    #[inline]
    fn pick(&self, random: &mut Random) -> u64 {
        if self.shares.is_empty() {
            return self.whole.pick(random);
        }
        let draw = random.bits();
        let share = self.shares.partition_point(|share| share.until < draw);
        self.shares[share].grid.pick(random)
    }
}

/// A percentage as a fraction of 2^64.
fn scale(percent: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a conversion from float saturates, and the share is not negative"
    )]
    let scaled = (percent / 100.0 * 2.0_f64.powi(64)) as u64;
    scaled
}

/// The offsets of one thread on one target.
#[derive(Debug)]
pub struct Offsets<'a> {
    order: Order,
    shared: &'a SharedOffsets,
    base_bytes: u64,
    /// Where a walk begins again: the first position of this thread's own grid.
    wrap_bytes: u64,
    /// The greatest offset at which a whole block fits.
    last_bytes: u64,
    step_bytes: u64,
    /// Positions of one interlocked pass.
    positions: u64,
    /// The next sequential offset: one in all, or one per slot.
    next_bytes: Vec<u64>,
    random: RandomOffsets,
    continues: bool,
}

impl<'a> Offsets<'a> {
    /// The offsets of a thread whose sequential walk starts at `start_bytes`, for `slots` outstanding I/Os.
    #[must_use]
    pub fn new(
        plan: &OffsetPlan,
        start_bytes: u64,
        slots: usize,
        shared: &'a SharedOffsets,
    ) -> Self {
        let align_bytes = plan.align_bytes.max(1);
        let step_bytes = match plan.order {
            // A run goes on behind the block before it, at the next aligned place.
            Order::Mixed { .. } => plan.block_bytes.next_multiple_of(align_bytes),
            _ => align_bytes,
        };
        let walks = if plan.order == Order::SameOffset { slots.max(1) } else { 1 };
        let whole = Grid::new(plan, plan.base_bytes, plan.end_bytes);
        Self {
            order: plan.order,
            shared,
            base_bytes: plan.base_bytes,
            wrap_bytes: plan.base_bytes + start_bytes.saturating_sub(plan.base_bytes) % align_bytes,
            last_bytes: plan.end_bytes.saturating_sub(plan.block_bytes),
            step_bytes,
            positions: whole.positions,
            next_bytes: vec![start_bytes; walks],
            random: RandomOffsets::new(plan),
            continues: false,
        }
    }

    /// The next offset, in bytes from the start of the target, for the I/O in `slot`.
    #[inline]
    pub fn next(&mut self, slot: usize, random: &mut Random) -> u64 {
        match self.order {
            Order::Random => self.random.pick(random),
            Order::Sequential => self.walk(0),
            Order::SameOffset => self.walk(slot),
            Order::Interlocked => self.take_shared(),
            Order::Mixed { random_percent } => self.mixed(random_percent, random),
        }
    }

    /// Whether the I/O whose offset was just given goes on with a run, and so keeps its direction.
    #[inline]
    #[must_use]
    pub fn continues_run(&self) -> bool {
        self.continues
    }

    /// The next step of a walk, which begins again when no whole block is left: at the base, or as far
    /// behind it as the thread's start is off the stride.
    #[inline]
    fn walk(&mut self, walk: usize) -> u64 {
        let next_bytes = &mut self.next_bytes[walk];
        let offset = if *next_bytes > self.last_bytes { self.wrap_bytes } else { *next_bytes };
        *next_bytes = offset.saturating_add(self.step_bytes);
        offset
    }

    #[inline]
    fn take_shared(&self) -> u64 {
        let position = self.shared.next_position.fetch_add(1, Ordering::Relaxed);
        self.base_bytes + position % self.positions * self.step_bytes
    }

    #[inline]
    fn mixed(&mut self, random_percent: u32, random: &mut Random) -> u64 {
        let next_bytes = self.next_bytes[0];
        // A run that has reached the end goes on at a random place.
        let ended = next_bytes > self.last_bytes;
        self.continues = !random.percent(random_percent) && !ended;
        let offset = if self.continues { next_bytes } else { self.random.pick(random) };
        self.next_bytes[0] = offset.saturating_add(self.step_bytes);
        offset
    }
}
