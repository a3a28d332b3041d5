//! Completes at once and touches nothing: what is left is the cost of the tool itself.

use fathom_sys::buffers::Buffers;

use super::{Backend, BackendError, Completion, Transfer, Wait};
use crate::measure::BackendDescription;

/// Completes every I/O in full at the next reap.
pub struct NullBackend {
    buffers: Buffers,
    queued: Vec<Completion>,
}

impl NullBackend {
    /// A backend with these buffers.
    #[must_use]
    pub fn new(buffers: Buffers) -> Self {
        let queued = Vec::with_capacity(buffers.len());
        Self { buffers, queued }
    }
}

impl Backend for NullBackend {
    const MAX_IN_FLIGHT: usize = usize::MAX;

    #[inline]
    fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        self.buffers.slot_mut(slot)
    }

    #[inline]
    fn submit(&mut self, transfer: &Transfer) {
        self.queued.push(Completion { slot: transfer.slot, result: transfer.bytes.cast_signed() });
    }

    #[inline]
    fn reap(&mut self, _wait: Wait, done: &mut Vec<Completion>) -> Result<(), BackendError> {
        done.append(&mut self.queued);
        Ok(())
    }

    fn describe(&self) -> BackendDescription {
        BackendDescription {
            name: crate::plan::EngineKind::Null.name().to_owned(),
            ..BackendDescription::default()
        }
    }
}
