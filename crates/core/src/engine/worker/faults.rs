//! A worker's I/Os that went wrong, and what comes back after the end.

use std::sync::atomic::Ordering;

use fathom_sys::hand_off::Owner;

use super::super::fault::Failure;
use super::statistics::{IDLE, Slot, ThreadStatistics};
use super::{Backend, BackendError, Clock, IoFault, Wait, Worker};

impl<B: Backend, C: Clock> Worker<'_, B, C> {
    /// An I/O failed, or moved less than it was asked to, while the load was under way: it ends the worker,
    /// unless it is to go on.
    #[cold]
    pub(super) fn fail(
        &self,
        statistics: &mut ThreadStatistics,
        slot: &Slot,
        failure: Failure,
        now_ns: u64,
    ) {
        if self.setup.tolerance.tolerates_another() {
            return;
        }
        self.setup.stop.store(true, Ordering::Relaxed);
        statistics.fault.get_or_insert(IoFault {
            stream: slot.stream as usize,
            operation: slot.operation,
            offset_bytes: slot.offset_bytes,
            bytes: slot.bytes,
            failure,
            after_ns: now_ns.saturating_sub(self.schedule.start_ns),
        });
    }

    /// Waits for what is in flight after the last phase; none of it is counted, but all of it is
    /// verified. What cannot come back stays in its slots, and is reported as outstanding.
    pub(super) fn drain(
        &mut self,
        statistics: &mut Owner<ThreadStatistics>,
    ) -> Result<(), BackendError> {
        while self.in_flight > 0 {
            self.enter(statistics, Wait::ForOne)?;
            if self.done.is_empty() && self.setup.backend.leaves_all_behind() {
                return Ok(());
            }
            self.in_flight -= self.done.len();
            let now_ns = self.setup.clock.now_ns();
            for completion in std::mem::take(&mut self.done) {
                let slot = statistics.slots[completion.slot as usize];
                statistics.slots[completion.slot as usize].submitted_ns = IDLE;
                statistics.record_outside(&slot, completion.result);
                self.verify(&slot, completion, now_ns);
            }
        }
        Ok(())
    }
}
