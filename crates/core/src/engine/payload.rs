//! What is written.

use std::io;
use std::path::Path;

use super::random::Random;
use crate::plan::PayloadPlan;

/// Where the bytes of one write are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// In the slot's own buffer.
    Slot,
    /// In the target's source buffer.
    Source {
        /// Distance from the start of the source buffer, in bytes.
        offset: u64,
    },
}

/// The writes of one thread to one target.
#[derive(Debug, Clone)]
pub struct Payload {
    fresh: bool,
    block_bytes: usize,
    step_bytes: u64,
    positions: u64,
}

impl Payload {
    /// Writes of `block_bytes` out of a source of `source_bytes`, at multiples of `sector_bytes`.
    #[must_use]
    pub fn new(plan: &PayloadPlan, block_bytes: u32, sector_bytes: u32, source_bytes: u64) -> Self {
        let step_bytes = u64::from(sector_bytes.max(1));
        let room = source_bytes.saturating_sub(u64::from(block_bytes));
        Self {
            fresh: *plan == PayloadPlan::FreshRandom,
            block_bytes: block_bytes as usize,
            step_bytes,
            positions: room / step_bytes + 1,
        }
    }

    /// The piece for the next write; new random data go into the slot first, if the plan says so.
    #[inline]
    pub fn next(&mut self, slot: &mut [u8], random: &mut Random) -> Piece {
        if self.fresh {
            random.fill(&mut slot[..self.block_bytes]);
            return Piece::Slot;
        }
        Piece::Source { offset: random.below(self.positions) * self.step_bytes }
    }
}

/// Fills a source buffer as the plan says; a file that is shorter than the buffer is repeated.
///
/// # Errors
/// Those of `read_file`, and an error if the file is empty.
pub fn fill_source(
    plan: &PayloadPlan,
    buffer: &mut [u8],
    read_file: impl FnOnce(&Path) -> io::Result<Vec<u8>>,
    random: &mut Random,
) -> io::Result<()> {
    match plan {
        PayloadPlan::Zero => buffer.fill(0),
        PayloadPlan::CountingPattern => repeat(buffer, &std::array::from_fn::<u8, 256, _>(count)),
        PayloadPlan::FreshRandom
        | PayloadPlan::Reduced(_)
        | PayloadPlan::Buffer { file: None, .. } => random.fill(buffer),
        PayloadPlan::Buffer { file: Some(path), .. } => {
            let contents = read_file(path)?;
            if contents.is_empty() {
                let message = format!("'{}' is empty; give a file with data", path.display());
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            repeat(buffer, &contents);
        }
    }
    Ok(())
}

fn count(index: usize) -> u8 {
    u8::try_from(index).unwrap_or(u8::MAX)
}

fn repeat(buffer: &mut [u8], contents: &[u8]) {
    for chunk in buffer.chunks_mut(contents.len()) {
        chunk.copy_from_slice(&contents[..chunk.len()]);
    }
}
