//! A worker's part in a measured time that ends after so many I/Os, so many bytes, or one pass.
//!
//! Each stream may issue what it has been granted. Before and after the measured time, and where no rule
//! counts, that is without limit.

use super::{Backend, Clock, ThreadStatistics, Worker};
use crate::engine::stop::Finish;
use crate::engine::stop::pool::Portions;

/// Where a worker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quota {
    /// The measured time has not begun.
    Before,
    /// What is issued is taken from what may be counted.
    Counting,
    /// All that this worker may count has completed.
    Spent,
    /// The measured time has ended.
    After,
}

impl<B: Backend, C: Clock> Worker<'_, B, C> {
    /// Begins and ends the counting; called before a batch is entered and the next one issued.
    pub(super) fn follow_quota(&mut self, statistics: &ThreadStatistics, now_ns: u64) {
        match self.quota {
            Some(Quota::Before) if now_ns >= self.schedule.measure_from_ns => {
                self.begin_counting(statistics, now_ns);
            }
            Some(Quota::Counting | Quota::Spent) if now_ns >= self.schedule.measure_until_ns => {
                self.quota = Some(Quota::After);
                self.grant_all(u64::MAX);
            }
            _ => {}
        }
    }

    /// Tells once that all this worker may count has completed; called after a batch is issued, so that
    /// nothing in flight means that nothing is left.
    pub(super) fn tell_if_spent(&mut self, now_ns: u64) {
        if self.quota == Some(Quota::Counting) && self.in_flight == 0 && self.is_dry() {
            self.quota = Some(Quota::Spent);
            self.setup.finish.spent(now_ns);
            self.schedule.end_measured_at(self.setup.finish.until_ns());
            // The end may have come with it.
            self.steady_until_ns = 0;
        }
    }

    /// Whether no stream may issue anything more.
    pub(super) fn is_dry(&self) -> bool {
        self.setup.streams.iter().all(|stream| stream.granted == 0 && stream.portions.is_dry)
    }

    /// Puts a slot back that all streams share and that none may use.
    pub(super) fn give_back(&mut self, slot: u32) {
        if let Some(shared) = &mut self.shared {
            shared.free.push(slot);
        }
    }

    /// What is in flight completes in the measured time, and so counts as it does without a rule. Only
    /// where that would exceed what may be counted, or where a pass begins again, it does not.
    fn begin_counting(&mut self, statistics: &ThreadStatistics, now_ns: u64) {
        self.quota = Some(Quota::Counting);
        let finish = self.setup.finish;
        let (ios, bytes) = self.under_way(statistics);
        if finish.is_pass() || !finish.pool().take_all(ios, bytes) {
            self.counted_from_ns = now_ns;
        }
        for stream in &mut self.setup.streams {
            stream.portions = Portions::default();
            if finish.is_pass() {
                stream.portions.pass_left = stream.offsets.begin_pass();
            }
        }
        self.grant_all(0);
    }

    fn grant_all(&mut self, ios: u64) {
        for stream in &mut self.setup.streams {
            stream.granted = ios;
        }
    }

    /// I/Os in flight, and their bytes.
    fn under_way(&self, statistics: &ThreadStatistics) -> (u64, u64) {
        let mut is_free = vec![false; statistics.slots.len()];
        let streams = self.setup.streams.iter().flat_map(|stream| &stream.free);
        let free = self.shared.as_ref().map(|shared| &shared.free);
        // Where the streams share their slots, their own lists do not tell which are free.
        match free {
            Some(free) => free.iter().for_each(|&slot| is_free[slot as usize] = true),
            None => streams.for_each(|&slot| is_free[slot as usize] = true),
        }
        let busy = statistics.slots.iter().zip(is_free).filter(|(_, is_free)| !is_free);
        let ios = busy.map(|(slot, _)| slot).filter(|slot| slot.operation.moves_bytes());
        ios.fold((0, 0), |(ios, bytes), slot| (ios + 1, bytes + u64::from(slot.bytes)))
    }

    /// Takes the next portion for a stream that has none left; false if there is none.
    #[cold]
    pub(super) fn take_portion(&mut self, stream: usize, now_ns: u64) -> bool {
        let finish: &Finish = self.setup.finish;
        let stream = &mut self.setup.streams[stream];
        if stream.portions.is_dry || !matches!(self.quota, Some(Quota::Counting)) {
            return false;
        }
        let mut wanted = stream.portions.next_size(now_ns).min(stream.portions.pass_left);
        if finish.is_pass() {
            wanted = finish.take_of_pass(stream.target, wanted);
        }
        let taken = finish.pool().take(wanted, u64::from(stream.block_bytes));
        stream.portions.pass_left -= taken;
        stream.portions.is_dry = taken == 0;
        stream.granted = taken;
        taken > 0
    }
}
