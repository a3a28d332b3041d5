//! Linux native asynchronous I/O.

use fathom_sys::aio::Aio;

use super::portion::Portion;
use super::{Backend, BackendError, Completion, Transfer, Wait};
use crate::measure::BackendDescription;

/// One context.
pub struct AioBackend {
    aio: Aio,
    portion: Portion,
}

impl AioBackend {
    /// A backend over a context.
    #[must_use]
    pub fn new(aio: Aio) -> Self {
        Self { aio, portion: Portion::default() }
    }

    /// Hands over what is queued if it is a portion.
    #[inline]
    fn make_room(&mut self) {
        if self.aio.queued() >= self.portion.most() {
            self.aio.submit();
            self.portion.handed_over(|| self.aio.completions());
        }
    }
}

impl Backend for AioBackend {
    const MAX_IN_FLIGHT: usize = usize::MAX;

    #[inline]
    fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        self.aio.slot_mut(slot)
    }

    #[inline]
    fn submit(&mut self, transfer: &Transfer) {
        self.make_room();
        self.aio.push(transfer);
    }

    #[inline]
    fn again(&mut self, transfer: &Transfer) {
        self.make_room();
        self.aio.push_again(transfer.slot, transfer.offset_bytes);
    }

    #[inline]
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), BackendError> {
        let (least, timeout_ns) = match wait {
            Wait::No => (0, None),
            Wait::ForOne => (1, None),
            Wait::ForOneOrNs(nanos) => (1, Some(nanos)),
        };
        let entered = self.aio.enter(least, timeout_ns, done);
        entered.map_err(|source| BackendError {
            backend: "libaio",
            doing: "waiting for completions",
            source,
        })
    }

    fn describe(&self) -> BackendDescription {
        BackendDescription {
            name: crate::plan::EngineKind::Aio.name().to_owned(),
            ..BackendDescription::default()
        }
    }
}
