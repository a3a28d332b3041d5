//! One I/O at a time: `pread`/`pwrite`, or copies from and to a shared mapping.

use fathom_sys::file::TargetFile;
use fathom_sys::mapping::Mapping;
use fathom_sys::transfer::Resources;

use super::{Backend, BackendError, Completion, Operation, Transfer, Wait};
use crate::measure::BackendDescription;
use crate::plan::EngineKind;
use crate::request::FlushMode;

/// What a synchronous backend reads from and writes to.
pub trait SyncTarget {
    /// Name of the backend over this kind of target.
    const ENGINE: EngineKind;
    /// Reads at an offset; bytes, or a negative error number.
    fn read_at(&self, bytes: &mut [u8], offset_bytes: u64) -> i32;
    /// Writes at an offset; bytes, or a negative error number.
    fn write_at(&self, bytes: &[u8], offset_bytes: u64) -> i32;
    /// What is special about how it is used, for the result.
    fn features(&self) -> Vec<String> {
        Vec::new()
    }
    /// The open target, for what is not reading and writing.
    fn file(&self) -> &TargetFile;
}

/// A mapped target and how its writes are flushed.
#[derive(Debug)]
pub struct MappedTarget {
    /// The open target. A sync of it covers what was written through the mapping.
    pub file: TargetFile,
    /// The mapping.
    pub mapping: Mapping,
    /// How writes are flushed; not at all if absent.
    pub flush: Option<FlushMode>,
}

impl SyncTarget for TargetFile {
    const ENGINE: EngineKind = EngineKind::Sync;

    #[inline]
    fn read_at(&self, bytes: &mut [u8], offset_bytes: u64) -> i32 {
        to_result(TargetFile::read_at(self, bytes, offset_bytes))
    }

    #[inline]
    fn write_at(&self, bytes: &[u8], offset_bytes: u64) -> i32 {
        to_result(TargetFile::write_at(self, bytes, offset_bytes))
    }

    fn file(&self) -> &TargetFile {
        self
    }
}

impl SyncTarget for MappedTarget {
    const ENGINE: EngineKind = EngineKind::Mapped;

    fn read_at(&self, bytes: &mut [u8], offset_bytes: u64) -> i32 {
        let outcome = self.mapping.read_at(bytes, offset_bytes);
        to_result(outcome.or_else(|_| self.file.why_unmapped(offset_bytes, bytes.len(), false)))
    }

    fn write_at(&self, bytes: &[u8], offset_bytes: u64) -> i32 {
        let outcome = self.mapping.write_at(bytes, offset_bytes).and_then(|written| {
            match self.flush {
                None => {}
                Some(FlushMode::NonVolatileMemoryNoDrain) => {
                    self.file.start_write_back(offset_bytes, written as u64)?;
                }
                Some(FlushMode::ViewOfFile | FlushMode::NonVolatileMemory) => {
                    self.mapping.flush(offset_bytes, written)?;
                }
            }
            Ok(written)
        });
        to_result(outcome.or_else(|error| match error.raw_os_error() {
            Some(EIO) => self.file.why_unmapped(offset_bytes, bytes.len(), true),
            _ => Err(error),
        }))
    }

    fn features(&self) -> Vec<String> {
        let streams = self.mapping.has_non_temporal_stores();
        streams.then(|| "non-temporal stores".to_owned()).into_iter().collect()
    }

    fn file(&self) -> &TargetFile {
        &self.file
    }
}

/// The same on every architecture of Linux (asm-generic/errno-base.h).
const EIO: i32 = 5;

fn to_result(outcome: std::io::Result<usize>) -> i32 {
    match outcome {
        Ok(bytes) => i32::try_from(bytes).unwrap_or(i32::MAX),
        Err(error) => -error.raw_os_error().unwrap_or(EIO),
    }
}

/// What stands for the last I/O before the first one.
const NOTHING: Transfer = Transfer {
    slot: 0,
    file: 0,
    operation: Operation::Read,
    offset_bytes: 0,
    bytes: 0,
    source_offset: None,
};

/// Syncs and trims, by plain calls.
#[cold]
fn manage(file: &TargetFile, operation: Operation, transfer: &Transfer) -> i32 {
    let outcome = match operation {
        Operation::Trim => file.trim(transfer.offset_bytes, u64::from(transfer.bytes)),
        _ => file.sync(operation == Operation::Fdatasync),
    };
    to_result(outcome.map(|()| 0))
}

/// One I/O at a time over any kind of target.
pub struct SyncBackend<T> {
    targets: Vec<T>,
    resources: Resources,
    /// The last I/O that was handed in, and whether it is still to be done. It is done where it lies: to move
    /// it out costs more than to choose it.
    last: Transfer,
    is_queued: bool,
}

impl<T: SyncTarget> SyncBackend<T> {
    /// A backend over open targets; `resources` holds the buffers and sources, its files are not used.
    #[must_use]
    pub fn new(targets: Vec<T>, resources: Resources) -> Self {
        Self { targets, resources, last: NOTHING, is_queued: false }
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "once per I/O; by itself left as a call of its own (callgrind)"
    )]
    fn perform(targets: &[T], resources: &mut Resources, transfer: &Transfer) -> i32 {
        let target = &targets[transfer.file as usize];
        let length = transfer.bytes as usize;
        let slot = transfer.slot as usize;
        match transfer.operation {
            Operation::Read => {
                let buffer = &mut resources.buffers.slot_mut(slot)[..length];
                return target.read_at(buffer, transfer.offset_bytes);
            }
            Operation::Write => {}
            other => return manage(target.file(), other, transfer),
        }
        let source = resources.sources[transfer.file as usize].as_ref();
        let bytes = match (transfer.source_offset, source) {
            (Some(offset), Some(source)) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                &source.slot(0)[start..start + length]
            }
            _ => &resources.buffers.slot(slot)[..length],
        };
        target.write_at(bytes, transfer.offset_bytes)
    }
}

impl<T: SyncTarget> Backend for SyncBackend<T> {
    const MAX_IN_FLIGHT: usize = 1;

    #[inline]
    fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        self.resources.buffers.slot_mut(slot)
    }

    #[inline]
    fn submit(&mut self, transfer: &Transfer) {
        self.last = *transfer;
        self.is_queued = true;
    }

    #[inline]
    fn reap(&mut self, _wait: Wait, done: &mut Vec<Completion>) -> Result<(), BackendError> {
        if std::mem::take(&mut self.is_queued) {
            let result = Self::perform(&self.targets, &mut self.resources, &self.last);
            done.push(Completion { slot: self.last.slot, result });
        }
        Ok(())
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "once per I/O; by itself left as a call of its own (callgrind)"
    )]
    fn call(&mut self, transfer: &Transfer) -> Result<i32, BackendError> {
        Ok(Self::perform(&self.targets, &mut self.resources, transfer))
    }

    fn describe(&self) -> BackendDescription {
        let mut features: Vec<String> = self.targets.iter().flat_map(T::features).collect();
        features.dedup();
        let name = T::ENGINE.name().to_owned();
        BackendDescription { name, features, ..BackendDescription::default() }
    }
}
