//! Transfers between buffers and targets, and who owns a buffer while the kernel uses it.
//!
//! Buffers are owned by slot: a slot that is lent to the kernel cannot be touched, lent again or
//! freed until its completion has been reaped. That is what makes submitting safe.

use std::sync::Arc;

use super::buffers::Buffers;
use super::file::TargetFile;

/// What an I/O does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Operation {
    /// From the target into memory.
    #[default]
    Read,
    /// From memory to the target.
    Write,
    /// Brings what was written, and the target's metadata, to stable storage (`fsync(2)`).
    Fsync,
    /// Brings what was written to stable storage, with no more metadata than reading it back needs
    /// (`fdatasync(2)`).
    Fdatasync,
    /// Tells the device, or the file system, that the bytes are not needed any more; what is there
    /// afterwards is lost.
    Trim,
}

impl Operation {
    /// Whether bytes move between memory and the target.
    #[inline]
    #[must_use]
    pub fn moves_bytes(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }

    /// The name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Fsync => "fsync",
            Self::Fdatasync => "fdatasync",
            Self::Trim => "trim",
        }
    }
}

/// One I/O to submit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// The slot whose buffer is used, and which names the completion.
    pub slot: u32,
    /// Index of the target among those the backend was made with.
    pub file: u32,
    /// What it does.
    pub operation: Operation,
    /// Offset from the start of the target; 0 for a sync, which is about all of it.
    pub offset_bytes: u64,
    /// Length; 0 for a sync.
    pub bytes: u32,
    /// Write from this offset of the target's source buffer instead of from the slot.
    pub source_offset: Option<u64>,
}

/// One I/O that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The slot that is free again.
    pub slot: u32,
    /// Bytes transferred, 0 for a sync or trim that succeeded, or a negative error number.
    pub result: i32,
}

/// What a backend serves: open targets, buffers by slot, and one source buffer per target or none.
#[derive(Debug)]
pub struct Resources {
    /// The open targets.
    pub files: Vec<TargetFile>,
    /// One buffer per slot.
    pub buffers: Buffers,
    /// For each target, the buffer that its writes may take pieces of.
    pub sources: Vec<Option<Arc<Buffers>>>,
}

/// Buffers and the record of which are lent to the kernel.
#[derive(Debug)]
pub(crate) struct Lending {
    pub(crate) resources: Resources,
    lent: Vec<bool>,
    lent_count: usize,
}

impl Lending {
    pub(crate) fn new(resources: Resources) -> Self {
        let lent = vec![false; resources.buffers.len()];
        Self { resources, lent, lent_count: 0 }
    }

    /// Slots lent to the kernel.
    #[inline]
    pub(crate) fn lent_count(&self) -> usize {
        self.lent_count
    }

    /// A slot's bytes, which must not be lent.
    #[inline]
    pub(crate) fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        assert!(!self.lent[slot], "slot {slot} is in flight");
        self.resources.buffers.slot_mut(slot)
    }

    /// Marks the slot as lent and gives the address that the kernel may use until it is returned.
    /// The range is within the slot's buffer, or, for a write, within the target's source buffer; an
    /// operation that moves no bytes gets a null pointer.
    #[inline]
    pub(crate) fn lend(&mut self, transfer: &Transfer) -> *mut u8 {
        let slot = transfer.slot as usize;
        assert!(!self.lent[slot], "slot {slot} is in flight");
        let address = self.address(transfer);
        self.lent[slot] = true;
        self.lent_count += 1;
        address
    }

    /// Marks a slot as lent again, under the address that was given before: no buffer moves.
    #[inline]
    pub(crate) fn lend_again(&mut self, slot: u32) {
        let lent = &mut self.lent[slot as usize];
        assert!(!*lent, "slot {slot} is in flight");
        *lent = true;
        self.lent_count += 1;
    }

    #[inline]
    fn address(&self, transfer: &Transfer) -> *mut u8 {
        if !transfer.operation.moves_bytes() {
            return std::ptr::null_mut();
        }
        let length = transfer.bytes as usize;
        let Some(offset) = transfer.source_offset else {
            let (address, bytes) = self.resources.buffers.raw_slot(transfer.slot as usize);
            assert!(length <= bytes, "the transfer is longer than its slot");
            return address;
        };
        assert!(transfer.operation == Operation::Write, "a source buffer is only read from");
        let source = self.resources.sources[transfer.file as usize].as_ref();
        let source = source.expect("the target was given a source buffer");
        let piece = usize::try_from(offset).ok().and_then(|start| source.slot(0).get(start..));
        let piece = piece.and_then(|rest| rest.get(..length));
        piece.expect("the piece lies within the source buffer").as_ptr().cast_mut()
    }

    /// Takes a slot back after its completion was reaped.
    #[inline]
    pub(crate) fn take_back(&mut self, slot: u32) {
        let slot = slot as usize;
        debug_assert!(self.lent[slot], "slot {slot} completed without being in flight");
        self.lent[slot] = false;
        self.lent_count -= 1;
    }
}
