//! How operations are mixed on a target, where a share of writes does not say it all.

use super::OffsetPlan;
pub use crate::request::SyncCadence;

/// The mix of one target's operations.
#[derive(Debug, Clone, PartialEq)]
pub struct MixPlan {
    /// Shares are kept exactly instead of being drawn.
    pub exact: bool,
    /// Share of trims among all I/Os, 0 to 100; the target's share of writes is one of the others.
    pub trim_percent: u32,
    /// A sync behind so many writes of a thread; none if absent.
    pub sync: Option<SyncCadence>,
    /// Reads and writes have offsets of their own; otherwise all take the next one of `read`'s order.
    pub separate: bool,
    /// Reads.
    pub read: StreamPlan,
    /// Writes and trims.
    pub write: StreamPlan,
}

/// The offsets and sizes of one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamPlan {
    /// The order and the range, with the block size and alignment of the greatest I/O.
    pub offsets: OffsetPlan,
    /// The sizes; at least one.
    pub sizes: Vec<SizePlan>,
}

/// One size of I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizePlan {
    /// Bytes per I/O.
    pub block_bytes: u32,
    /// Share of the I/Os, relative to those of the other sizes.
    pub share: u32,
    /// Alignment of random offsets, or stride of sequential ones, in bytes.
    pub align_bytes: u64,
}

impl StreamPlan {
    /// The offsets of I/Os of one size.
    #[must_use]
    pub fn offsets_of(&self, size: SizePlan) -> OffsetPlan {
        OffsetPlan {
            block_bytes: u64::from(size.block_bytes),
            align_bytes: size.align_bytes,
            ..self.offsets.clone()
        }
    }
}
