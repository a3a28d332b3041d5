//! The short way round the loop, for a load that is one I/O after the other.
//!
//! It does what the loop does, in the same order, and looks for nothing that cannot be there: one I/O is in
//! flight at a time, one stream issues it at once, and nobody counts, checks or mixes. Whatever else comes,
//! such as the end of a phase or an I/O that fails, is left to the loop with its completion.

use std::sync::atomic::Ordering;

use fathom_sys::hand_off::Owner;

use super::{Backend, BackendError, Clock, ThreadStatistics, Wait, Worker};

impl<B: Backend, C: Clock> Worker<'_, B, C> {
    /// Whether nothing happens but that an I/O follows the one before it.
    pub(super) fn is_one_by_one(&self) -> bool {
        let setup = &self.setup;
        let [stream] = setup.streams.as_slice() else { return false };
        B::MAX_IN_FLIGHT == 1
            && self.shared.is_none()
            && self.quota.is_none()
            && self.intervals.is_none()
            && setup.progress_every_ios == 0
            && stream.is_plain()
    }

    /// Enters what completed and performs the next I/O, again and again, as long as each is one that counts;
    /// returns when the last one completed, which is still to be entered.
    #[inline]
    pub(super) fn go_on(
        &mut self,
        statistics: &mut Owner<ThreadStatistics>,
        mut now_ns: u64,
    ) -> Result<u64, BackendError> {
        while self.counts_plainly(statistics, now_ns) {
            let slot = self.done[0].slot;
            self.done.clear();
            let completed = statistics.slots[slot as usize];
            self.record(statistics, &completed, now_ns);
            if let Some(live) = &mut self.setup.live {
                live.record(0, completed.bytes.cast_signed(), now_ns - completed.submitted_ns);
                live.tick(now_ns, self.in_flight);
            }
            self.in_flight = 0;
            self.issue(statistics, 0, slot, now_ns, now_ns);
            // Written here, as the loop's own call is made from several places and so not inlined.
            let (backend, done) = (&mut self.setup.backend, &mut self.done);
            statistics.away(|| backend.reap(Wait::ForOne, done))?;
            statistics.waits.completion_waits += 1;
            now_ns = self.setup.clock.now_ns();
        }
        Ok(now_ns)
    }

    /// Whether an I/O completed that counts, and all else is as it was.
    #[inline]
    fn counts_plainly(&self, statistics: &ThreadStatistics, now_ns: u64) -> bool {
        if B::MAX_IN_FLIGHT > 1 || !self.is_measured || now_ns >= self.steady_until_ns {
            return false;
        }
        let [completion] = self.done.as_slice() else { return false };
        let slot = &statistics.slots[completion.slot as usize];
        self.is_one_by_one
            && completion.result == slot.bytes.cast_signed()
            && self.setup.finish.until_ns() == self.schedule.measure_until_ns
            && !self.setup.stop.load(Ordering::Relaxed)
    }
}
