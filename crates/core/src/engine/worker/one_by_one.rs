//! The short way round the loop, for a load that is one I/O after the other.
//!
//! It does what the loop does, in the same order, and looks for nothing that cannot be there: one I/O is in
//! flight at a time, one stream issues it at once, and nobody counts, checks or mixes. Whatever else comes,
//! such as the end of a phase or an I/O that fails, is left to the loop with its completion.

use fathom_sys::hand_off::Owner;

use super::{Backend, BackendError, Clock, Completion, ThreadStatistics, Worker};
use crate::engine::backend::Transfer;

impl<B: Backend, C: Clock> Worker<'_, B, C> {
    /// Enters what completed and performs the next I/O, again and again, as long as each is one that counts;
    /// returns when the last one completed, which is still to be entered.
    #[inline]
    pub(super) fn go_on_one_by_one(
        &mut self,
        statistics: &mut Owner<ThreadStatistics>,
        now_ns: u64,
    ) -> Result<u64, BackendError> {
        let Some(last) = self.last_alone() else { return Ok(now_ns) };
        match self.setup.streams[0].repeated(last.slot) {
            Some(transfer) => self.repeat(statistics, transfer, last, now_ns),
            None => self.vary(statistics, last, now_ns),
        }
    }

    /// I/Os that differ in their offsets only. What an I/O needs stays in registers: written to memory and
    /// read again as a whole, it would wait for the processor's stores.
    #[inline]
    fn repeat(
        &mut self,
        statistics: &mut Owner<ThreadStatistics>,
        mut transfer: Transfer,
        Completion { slot, mut result }: Completion,
        mut now_ns: u64,
    ) -> Result<u64, BackendError> {
        let bytes = transfer.bytes;
        statistics.recorder.repeat(transfer.operation, u64::from(bytes));
        let mut submitted_ns = statistics.slots[slot as usize].submitted_ns;
        while result == bytes.cast_signed() && self.is_as_it_was(now_ns) {
            let latency_ns = now_ns - submitted_ns;
            let since_start_ns = now_ns - self.schedule.measure_from_ns;
            statistics.recorder.record_repeated(latency_ns, since_start_ns);
            self.tell_live(result, latency_ns, now_ns);
            submitted_ns = now_ns;
            let setup = &mut self.setup;
            transfer.offset_bytes = setup.streams[0].next_offset(slot, &mut setup.random);
            statistics.slots[slot as usize].issue_again(transfer.offset_bytes, now_ns);
            result = statistics.away(|| self.setup.backend.call(&transfer))?;
            now_ns = self.is_back(statistics);
        }
        self.done[0].result = result;
        Ok(now_ns)
    }

    /// I/Os of which each may be a read or a write, or has data of its own.
    #[inline]
    fn vary(
        &mut self,
        statistics: &mut Owner<ThreadStatistics>,
        Completion { slot, mut result }: Completion,
        mut now_ns: u64,
    ) -> Result<u64, BackendError> {
        while result == statistics.slots[slot as usize].bytes.cast_signed()
            && self.is_as_it_was(now_ns)
        {
            let completed = statistics.slots[slot as usize];
            self.record(statistics, &completed, now_ns);
            self.tell_live(result, now_ns - completed.submitted_ns, now_ns);
            let transfer = self.next(statistics, 0, slot, now_ns, now_ns);
            result = statistics.away(|| self.setup.backend.call(&transfer))?;
            now_ns = self.is_back(statistics);
        }
        self.done[0].result = result;
        Ok(now_ns)
    }

    /// Counts an I/O that came back; returns when. The call stands where it is used: as a function of both
    /// ways round it is one of its own, whose result is read from memory before the processor has stored it.
    #[inline]
    fn is_back(&self, statistics: &mut Owner<ThreadStatistics>) -> u64 {
        statistics.waits.completion_waits += 1;
        self.setup.clock.now_ns()
    }

    #[inline]
    fn tell_live(&mut self, result: i32, latency_ns: u64, now_ns: u64) {
        if let Some(live) = &mut self.setup.live {
            live.record(0, result, latency_ns);
            live.tick(now_ns, 1);
        }
    }

    /// What completed, if it is the only one of a load that takes the short way.
    #[inline]
    fn last_alone(&self) -> Option<Completion> {
        match self.done.as_slice() {
            [last] if self.is_plain && self.is_measured => Some(*last),
            _ => None,
        }
    }
}
