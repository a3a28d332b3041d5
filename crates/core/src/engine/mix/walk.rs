//! The way of one thread through the offsets of one direction, or of both.

use super::shared::{SharedSize, SharedStream};
use crate::engine::offsets::Offsets;
use crate::engine::random::Random;
use crate::plan::Order;
use crate::plan::mix::StreamPlan;

/// A way through offsets.
#[derive(Debug)]
pub enum Walk<'a> {
    /// Orders that take one size only.
    OneSize(Offsets<'a>),
    /// I/Os of any size.
    AnySize(AnySize),
}

/// A way whose steps are as long as its I/Os.
#[derive(Debug)]
pub struct AnySize {
    order: Order,
    next_bytes: u64,
    wrap_bytes: u64,
    end_bytes: u64,
}

impl<'a> Walk<'a> {
    /// A walk that starts `ahead_bytes` behind the base, for `slots` outstanding I/Os.
    pub fn new(
        plan: &StreamPlan,
        shared: &'a SharedStream,
        ahead_bytes: u64,
        slots: usize,
    ) -> Self {
        let start_bytes = plan.offsets.base_bytes.saturating_add(ahead_bytes);
        if let (Order::SameOffset | Order::Interlocked, Some(size), Some(planned)) =
            (plan.offsets.order, shared.only(), plan.sizes.first())
        {
            let offsets = plan.offsets_of(*planned);
            return Self::OneSize(Offsets::new(&offsets, start_bytes, slots, &size.offsets));
        }
        let step_bytes = plan.sizes.iter().map(|size| size.align_bytes.max(1)).max().unwrap_or(1);
        Self::AnySize(AnySize {
            order: plan.offsets.order,
            next_bytes: match plan.offsets.order {
                // No run is under way yet.
                Order::Mixed { .. } => u64::MAX,
                _ => start_bytes,
            },
            wrap_bytes: plan.offsets.base_bytes + ahead_bytes % step_bytes,
            end_bytes: plan.offsets.end_bytes,
        })
    }

    /// Whether the run under way goes on; drawn, so it must be asked once per I/O.
    #[inline]
    pub fn goes_on(&mut self, random: &mut Random) -> bool {
        match self {
            Self::AnySize(walk) => walk.goes_on(random),
            Self::OneSize(_) => false,
        }
    }

    /// The offset of the next I/O.
    #[inline]
    pub fn next(
        &mut self,
        slot: usize,
        size: &SharedSize,
        goes_on: bool,
        random: &mut Random,
    ) -> u64 {
        match self {
            Self::OneSize(offsets) => offsets.next(slot, random),
            Self::AnySize(walk) => walk.next(size, goes_on, random),
        }
    }
}

impl AnySize {
    #[inline]
    fn goes_on(&self, random: &mut Random) -> bool {
        let Order::Mixed { random_percent } = self.order else { return false };
        !random.percent(random_percent) && self.next_bytes < self.end_bytes
    }

    #[inline]
    fn next(&mut self, size: &SharedSize, goes_on: bool, random: &mut Random) -> u64 {
        let fits = self.end_bytes.saturating_sub(u64::from(size.bytes)) >= self.next_bytes;
        let offset_bytes = match self.order {
            Order::Random => return size.offsets.pick(random),
            // A run that has reached the end goes on at a random place.
            Order::Mixed { .. } if goes_on && fits => self.next_bytes,
            Order::Mixed { .. } => size.offsets.pick(random),
            _ if fits => self.next_bytes,
            _ => self.wrap_bytes,
        };
        self.next_bytes = offset_bytes.saturating_add(match self.order {
            Order::Mixed { .. } => size.run_step_bytes,
            _ => size.step_bytes,
        });
        offset_bytes
    }
}
