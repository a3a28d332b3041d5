//! The short way round the loop, for a load whose I/Os differ in their offsets only, with several in flight.
//!
//! It does what the loop does, in the same order, and looks for nothing that cannot be there: one stream
//! issues again whatever came back, into the same slot, so that no slot is ever free. Whatever else comes,
//! such as the end of a phase or an I/O that fails, is left to the loop with its completions.

use fathom_sys::hand_off::Owner;

use super::{Backend, BackendError, Clock, ThreadStatistics, Wait, Worker};
use crate::engine::backend::Transfer;
use crate::measure::Alike;

impl<B: Backend, C: Clock> Worker<'_, B, C> {
    /// Enters what completed and issues as many again, as long as all of them are I/Os that count; returns
    /// when the last of them completed, which are still to be entered.
    #[inline]
    pub(super) fn go_on_alike(
        &mut self,
        statistics: &mut Owner<ThreadStatistics>,
        mut now_ns: u64,
    ) -> Result<u64, BackendError> {
        let Some(mut transfer) = self.alike() else { return Ok(now_ns) };
        while self.are_whole(transfer.bytes) && self.is_as_it_was(now_ns) {
            self.enter_alike(statistics, &transfer, now_ns);
            self.issue_again(statistics, &mut transfer, now_ns);
            self.enter(statistics, Wait::ForOne)?;
            statistics.waits.completion_waits += 1;
            now_ns = self.setup.clock.now_ns();
        }
        Ok(now_ns)
    }

    /// What each I/O is but for its slot and offset, where all slots were in flight and nothing but such I/Os
    /// is to come.
    #[inline]
    fn alike(&self) -> Option<Transfer> {
        let is_full = self.in_flight == self.setup.slots;
        if !(self.is_plain && self.is_measured && is_full) {
            return None;
        }
        let stream = &self.setup.streams[0];
        stream.repeated(stream.first_slot)
    }

    /// Whether something completed, and each moved all of its bytes.
    #[inline]
    fn are_whole(&self, bytes: u32) -> bool {
        let result = bytes.cast_signed();
        !self.done.is_empty() && self.done.iter().all(|completion| completion.result == result)
    }

    #[inline]
    fn enter_alike(&mut self, statistics: &mut ThreadStatistics, transfer: &Transfer, now_ns: u64) {
        let ThreadStatistics { recorder, slots, .. } = statistics;
        let latency_ns = |slot: u32| now_ns - slots[slot as usize].submitted_ns;
        let alike = Alike {
            bytes: u64::from(transfer.bytes),
            since_start_ns: now_ns - self.schedule.measure_from_ns,
        };
        let latencies_ns = self.done.iter().map(|completion| latency_ns(completion.slot));
        recorder.record_alike(0, transfer.operation, alike, latencies_ns);
        if let Some(live) = &mut self.setup.live {
            for completion in &self.done {
                live.record(0, completion.result, latency_ns(completion.slot));
            }
            live.tick(now_ns, self.in_flight);
        }
    }

    /// Issues into each slot that came back.
    #[inline]
    fn issue_again(
        &mut self,
        statistics: &mut ThreadStatistics,
        transfer: &mut Transfer,
        now_ns: u64,
    ) {
        let setup = &mut self.setup;
        let stream = &mut setup.streams[0];
        for completion in self.done.drain(..) {
            transfer.slot = completion.slot;
            transfer.offset_bytes = stream.next_offset(completion.slot, &mut setup.random);
            statistics.slots[completion.slot as usize].issue_again(transfer.offset_bytes, now_ns);
            setup.backend.again(transfer);
        }
    }
}
