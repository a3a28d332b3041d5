//! A worker's I/Os that went wrong, and what comes back after the end.

use std::sync::atomic::Ordering;

use super::ledger::{IDLE, Slot};
use super::{Backend, BackendError, Clock, IoFault, Wait, Worker};

impl<B: Backend, C: Clock> Worker<'_, B, C> {
    pub(super) fn record_outside(&mut self, slot: &Slot, result: i32) {
        let recorder = &mut self.setup.ledger.recorder;
        recorder.record_outside(slot.lane as usize, slot.operation, slot.bytes, result);
    }

    /// An I/O failed while the load was under way: it ends the worker, unless it is to go on.
    #[cold]
    pub(super) fn fail(&mut self, slot: &Slot, errno: i32) {
        if self.setup.tolerance.tolerates_another() {
            return;
        }
        self.setup.stop.store(true, Ordering::Relaxed);
        self.setup.ledger.fault.get_or_insert(IoFault {
            lane: slot.lane as usize,
            operation: slot.operation,
            offset_bytes: slot.offset_bytes,
            bytes: slot.bytes,
            errno,
        });
    }

    /// Waits for what is in flight after the last phase; none of it is counted, but all of it is verified.
    pub(super) fn drain(&mut self) -> Result<(), BackendError> {
        while self.in_flight > 0 {
            self.enter(Wait::ForOne)?;
            self.in_flight -= self.done.len();
            let now_ns = self.setup.clock.now_ns();
            for completion in std::mem::take(&mut self.done) {
                let slot = self.setup.ledger.slots[completion.slot as usize];
                self.setup.ledger.slots[completion.slot as usize].submitted_ns = IDLE;
                self.record_outside(&slot, completion.result);
                self.verify(&slot, completion, now_ns);
            }
        }
        Ok(())
    }
}
