//! Verification in one thread's stream of I/Os to one target: writes are stamped when they are issued, and
//! what reads found is checked when they complete.

use std::sync::Arc;

use fathom_sys::buffers::Buffers;
use fathom_sys::transfer::{Operation, Transfer};

use super::check::{ReadBlock, check};
use super::stamp::{SECTOR_BYTES, Stamp, erase};
use super::table::TargetTable;
use super::tally::Tally;
use super::window::Window;

/// An I/O that has completed.
#[derive(Debug, Clone, Copy)]
pub struct DoneIo {
    /// The slot that it used.
    pub slot: u32,
    /// What it did.
    pub operation: Operation,
    /// Where, from the start of the target.
    pub offset_bytes: u64,
    /// Bytes that it transferred, or a negative error number.
    pub result: i32,
    /// When it was found complete.
    pub at_ns: u64,
}

/// The verification of one stream.
#[derive(Debug)]
pub struct StreamVerifier<'a> {
    table: TargetTable<'a>,
    source: Option<Arc<Buffers>>,
    first_slot: u32,
    blocks_per_io: usize,
    /// The window of each block of each slot when its read was issued.
    issued: Vec<Window>,
    tally: Tally,
}

impl<'a> StreamVerifier<'a> {
    /// For a stream of `slots` slots from `first_slot` on, each of `io_bytes`, whose writes may take their
    /// data from `source`.
    #[must_use]
    pub fn new(
        table: TargetTable<'a>,
        source: Option<Arc<Buffers>>,
        (first_slot, slots): (u32, u32),
        io_bytes: u32,
    ) -> Self {
        let blocks_per_io = (io_bytes as usize).div_ceil(table.block_bytes());
        let issued = vec![Window::default(); blocks_per_io * slots as usize];
        Self { table, source, first_slot, blocks_per_io, issued, tally: Tally::default() }
    }

    /// Prepares an I/O that is about to be issued; `slot` is the buffer of its slot. A write is stamped, and
    /// comes from the slot from now on.
    #[inline]
    pub fn issue(&mut self, transfer: &mut Transfer, slot: &mut [u8]) {
        let bytes = &mut slot[..transfer.bytes as usize];
        match transfer.operation {
            Operation::Write => self.stamp(transfer, bytes),
            Operation::Read => self.await_read(transfer, bytes),
            Operation::Fsync | Operation::Fdatasync | Operation::Trim => {}
        }
    }

    fn stamp(&self, transfer: &mut Transfer, bytes: &mut [u8]) {
        if let (Some(offset), Some(source)) = (transfer.source_offset.take(), &self.source) {
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            bytes.copy_from_slice(&source.slot(0)[start..start + bytes.len()]);
        }
        let owner = self.table.owner();
        let block_bytes = self.table.block_bytes();
        let mut offset_bytes = transfer.offset_bytes;
        for block in bytes.chunks_exact_mut(block_bytes) {
            let generation = self.table.begin_write(offset_bytes);
            for sector in block.chunks_exact_mut(SECTOR_BYTES) {
                Stamp {
                    target: owner.target,
                    offset_bytes,
                    generation,
                    seed: owner.seed,
                    block_bytes: u32::try_from(block_bytes).unwrap_or(u32::MAX),
                }
                .write(sector);
                offset_bytes += SECTOR_BYTES as u64;
            }
        }
    }

    fn await_read(&mut self, transfer: &Transfer, bytes: &mut [u8]) {
        bytes.chunks_exact_mut(SECTOR_BYTES).for_each(erase);
        let block_bytes = self.table.block_bytes();
        let blocks = bytes.len() / block_bytes;
        let offsets = (transfer.offset_bytes..).step_by(block_bytes);
        let first = (transfer.slot - self.first_slot) as usize * self.blocks_per_io;
        for (issued, offset_bytes) in self.issued[first..first + blocks].iter_mut().zip(offsets) {
            *issued = self.table.window(offset_bytes);
        }
    }

    /// Enters an I/O that has completed; `slot` is the buffer of its slot. Blocks that it did not transfer
    /// whole are not checked, and if it was a write they may hold either data from now on.
    #[inline]
    pub fn complete(&mut self, io: DoneIo, slot: &[u8]) {
        let bytes = &slot[..usize::try_from(io.result).unwrap_or(0).min(slot.len())];
        let block_bytes = self.table.block_bytes();
        let offsets = (io.offset_bytes..).step_by(block_bytes);
        let first = (io.slot - self.first_slot) as usize * self.blocks_per_io;
        for (index, (bytes, offset_bytes)) in
            bytes.chunks_exact(block_bytes).zip(offsets).enumerate()
        {
            if io.operation == Operation::Write {
                self.table.end_write(offset_bytes);
                continue;
            }
            let (issued, now) = (self.issued[first + index], self.table.window(offset_bytes));
            if issued == Window::DAMAGED || now == Window::DAMAGED {
                self.tally.add_damaged();
                continue;
            }
            let legal = issued.legal_until(now);
            let block = ReadBlock { bytes, offset_bytes, legal };
            self.tally.add(check(&block, self.table.owner()), &block, io.at_ns);
        }
    }
}

/// What a stream has found goes to its target when the stream ends, however it ends.
impl Drop for StreamVerifier<'_> {
    fn drop(&mut self) {
        self.table.hand_over(&self.tally);
    }
}
