//! When nothing comes back to a stream while others of its thread go on, or while its schedule keeps the
//! thread awake. Of any other thread the coordinator sees that it does not come back.

use super::statistics::{IDLE, Slot, ThreadStatistics};
use super::{Backend, Clock, Worker};
use crate::measure::Stretches;

impl<B: Backend, C: Clock> Worker<'_, B, C> {
    pub(super) fn begin_stretches(&self, statistics: &mut ThreadStatistics) {
        let streams = &self.setup.streams;
        let is_seen = matches!(streams.as_slice(), [only] if only.pacer.is_unlimited());
        let followed = if is_seen { 0 } else { streams.len() };
        statistics.stretches = (0..followed).map(|_| Stretches::default()).collect();
    }
}

impl ThreadStatistics {
    /// What was in this slot comes back; called before the slot is freed.
    #[inline]
    pub(super) fn follow_stretch(&mut self, slot: u32, now_ns: u64) {
        if self.stretches.is_empty() {
            return;
        }
        let stream = self.slots[slot as usize].stream as usize;
        if let Some(since_ns) = self.stretches[stream].came_back(now_ns) {
            self.enter_stretch(stream, since_ns, now_ns);
        }
    }

    /// The load ends: what is in flight has not come back until now.
    pub(super) fn end_stretches(&mut self, now_ns: u64) {
        for stream in 0..self.stretches.len() {
            let since_ns = self.stretches[stream].last_ns();
            self.enter_stretch(stream, since_ns, now_ns);
            self.stretches[stream].came_back(now_ns);
        }
    }

    /// Nothing came back to a stream since some instant: it waits from then on, or since the oldest of what
    /// is in flight was submitted.
    #[cold]
    fn enter_stretch(&mut self, stream: usize, since_ns: u64, now_ns: u64) {
        let is_busy = |slot: &&Slot| slot.stream as usize == stream && slot.submitted_ns != IDLE;
        let oldest_ns = self.slots.iter().filter(is_busy).map(|slot| slot.submitted_ns).min();
        if let Some(oldest_ns) = oldest_ns {
            self.stretches[stream].enter(since_ns.max(oldest_ns)..now_ns);
        }
    }
}
