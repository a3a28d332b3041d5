//! What all threads of a target share of its mix: sizes and places, which are only read, and the counters
//! of interlocked orders.

use crate::engine::alias::AliasTable;
use crate::engine::offsets::SharedOffsets;
use crate::engine::random::Random;
use crate::plan::mix::{MixPlan, StreamPlan};

/// Both directions.
#[derive(Debug)]
pub struct SharedMix {
    pub(super) read: SharedStream,
    pub(super) write: SharedStream,
}

/// One direction.
#[derive(Debug)]
pub struct SharedStream {
    table: AliasTable,
    sizes: Vec<SharedSize>,
}

/// I/Os of one size.
#[derive(Debug)]
pub struct SharedSize {
    /// Bytes per I/O.
    pub bytes: u32,
    /// Distance between two sequential I/Os, in bytes.
    pub step_bytes: u64,
    /// The same in a run of sequential I/O between random places: the next aligned place behind an I/O.
    pub run_step_bytes: u64,
    /// Where they go.
    pub offsets: SharedOffsets,
}

impl SharedMix {
    /// The shared part of a plan.
    #[must_use]
    pub fn new(plan: &MixPlan) -> Self {
        Self { read: SharedStream::new(&plan.read), write: SharedStream::new(&plan.write) }
    }
}

impl SharedStream {
    fn new(plan: &StreamPlan) -> Self {
        let shares: Vec<f64> = plan.sizes.iter().map(|size| f64::from(size.share)).collect();
        let size = |size: &crate::plan::mix::SizePlan| SharedSize {
            bytes: size.block_bytes,
            step_bytes: size.align_bytes.max(1),
            run_step_bytes: u64::from(size.block_bytes).next_multiple_of(size.align_bytes.max(1)),
            offsets: SharedOffsets::new(&plan.offsets_of(*size)),
        };
        Self { table: AliasTable::new(&shares), sizes: plan.sizes.iter().map(size).collect() }
    }

    /// The size of the next I/O.
    #[inline]
    pub(super) fn pick(&self, random: &mut Random) -> &SharedSize {
        &self.sizes[self.table.pick(random)]
    }

    /// The size that is the only one, if so.
    pub(super) fn only(&self) -> Option<&SharedSize> {
        if self.sizes.len() == 1 { self.sizes.first() } else { None }
    }
}
