//! Which offset comes next. Once per I/O, so nothing here divides, allocates or locks; only the
//! interlocked order shares anything, and that is one counter.

mod places;
mod reach;
mod skew;

use std::sync::atomic::{AtomicU64, Ordering};

use self::places::{Grid, Places};
pub use self::reach::Reach;
use super::random::Random;
use crate::plan::{OffsetPlan, Order};

/// What all threads of a target share: the counter of the interlocked order, on a cache line of its own,
/// and the places of random I/O, which are only read.
#[derive(Debug)]
pub struct SharedOffsets {
    next_position: Counter,
    /// The same for a pass that is measured, which begins again.
    next_of_pass: Counter,
    places: Places,
}

#[derive(Debug)]
#[repr(align(128))]
struct Counter(AtomicU64);

impl SharedOffsets {
    /// The counter at the first position of the plan's range, and the places of the plan.
    #[must_use]
    pub fn new(plan: &OffsetPlan) -> Self {
        Self {
            next_position: Counter(AtomicU64::new(0)),
            next_of_pass: Counter(AtomicU64::new(0)),
            places: Places::new(plan),
        }
    }

    /// A random offset.
    #[inline]
    pub fn pick(&self, random: &mut Random) -> u64 {
        self.places.pick(random)
    }
}

/// The offsets of one thread on one target.
#[derive(Debug)]
pub struct Offsets<'a> {
    order: Order,
    shared: &'a SharedOffsets,
    counter: &'a AtomicU64,
    base_bytes: u64,
    start_bytes: u64,
    /// Where a walk begins again: the first position of this thread's own grid.
    wrap_bytes: u64,
    /// The greatest offset at which a whole block fits.
    last_bytes: u64,
    step_bytes: u64,
    /// Positions of one interlocked pass.
    positions: u64,
    /// The next sequential offset: one in all, or one per slot.
    next_bytes: Vec<u64>,
    continues: bool,
}

/// Positions at which a walk over the whole range stands.
#[must_use]
pub fn positions(plan: &OffsetPlan) -> u64 {
    Grid::new(plan, plan.base_bytes, plan.end_bytes).positions
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
        Self {
            order: plan.order,
            shared,
            counter: &shared.next_position.0,
            base_bytes: plan.base_bytes,
            start_bytes,
            wrap_bytes: plan.base_bytes + start_bytes.saturating_sub(plan.base_bytes) % align_bytes,
            last_bytes: plan.end_bytes.saturating_sub(plan.block_bytes),
            step_bytes,
            positions: positions(plan),
            next_bytes: vec![start_bytes; walks],
            continues: false,
        }
    }

    /// The next offset, in bytes from the start of the target, for the I/O in `slot`.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "once per I/O; left as a call of its own by each kind of worker, it saves and restores the \
                  registers of the hot loop (callgrind)"
    )]
    pub fn next(&mut self, slot: usize, random: &mut Random) -> u64 {
        match self.order {
            Order::Random => self.shared.places.pick(random),
            Order::Sequential => self.walk(0),
            Order::SameOffset => self.walk(slot),
            Order::Interlocked => self.take_shared(),
            Order::Mixed { random_percent } => self.mixed(random_percent, random),
        }
    }

    /// Begins a pass again. Returns the positions that this thread's own walk makes of it, without limit
    /// where the threads make it together or where there is no walk.
    pub fn begin_pass(&mut self) -> u64 {
        self.counter = &self.shared.next_of_pass.0;
        self.next_bytes.fill(self.start_bytes);
        match self.order {
            Order::Sequential => {
                self.last_bytes.saturating_sub(self.wrap_bytes) / self.step_bytes + 1
            }
            _ => u64::MAX,
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
        let position = self.counter.fetch_add(1, Ordering::Relaxed);
        self.base_bytes + position % self.positions * self.step_bytes
    }

    #[inline(never)]
    fn mixed(&mut self, random_percent: u32, random: &mut Random) -> u64 {
        let next_bytes = self.next_bytes[0];
        // A run that has reached the end goes on at a random place.
        let ended = next_bytes > self.last_bytes;
        self.continues = !random.percent(random_percent) && !ended;
        let offset = if self.continues { next_bytes } else { self.shared.places.pick(random) };
        self.next_bytes[0] = offset.saturating_add(self.step_bytes);
        offset
    }
}
