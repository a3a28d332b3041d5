//! What is verified, in numbers.

use std::path::{Path, PathBuf};

use crate::storage::Location;

/// The verification of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyPlan {
    /// The file that keeps which writes may stand where.
    pub journal: PathBuf,
    /// The targets, each path once.
    pub targets: Vec<VerifyTarget>,
}

/// A target whose blocks are verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyTarget {
    /// Where it lies.
    pub location: Location,
    /// The name as it was given, for results.
    pub name: String,
    /// Bytes of a block: every I/O consists of whole blocks. A multiple of 512.
    pub block_bytes: u32,
    /// The first block that I/Os go to, from the start of the target; a multiple of the block.
    pub start_bytes: u64,
    /// End of the last one.
    pub end_bytes: u64,
}

impl VerifyTarget {
    /// The path that is opened, or the address.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.location.path()
    }

    /// Number of blocks.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        (self.end_bytes - self.start_bytes) / u64::from(self.block_bytes.max(1))
    }
}
