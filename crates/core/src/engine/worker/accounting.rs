//! The accounting of a worker's slots: what was in flight at both ends of the measured time, and how long
//! slots were free.
//!
//! It is kept with the statistics, so that it also closes for a worker that never comes back.

use std::ops::Range;

use super::statistics::{IDLE, Slot, ThreadStatistics};
use super::{Backend, Clock, Worker};
use crate::engine::pace::{Overdue, Pacer};
use crate::measure::{IdleSlots, Operation, Slots};

/// What is kept of one stream.
#[derive(Debug, Clone)]
pub(super) struct StreamAccounting {
    idle: IdleSlots,
    slots: u64,
    /// Its schedule from the beginning of the load on.
    pacer: Pacer,
    write_percent: u32,
}

/// The accounting of a worker's slots.
#[derive(Debug, Clone, Default)]
pub(super) struct Accounting {
    streams: Vec<StreamAccounting>,
    idle: IdleSlots,
    slots: u64,
    is_open: bool,
    is_closed: bool,
}

impl<B: Backend, C: Clock> Worker<'_, B, C> {
    /// Nothing is in flight yet.
    pub(super) fn begin_accounting(&self, statistics: &mut ThreadStatistics) {
        let start_ns = self.schedule.start_ns;
        let shares = self.shared.is_some();
        let streams = self.setup.streams.iter().map(|stream| {
            let slots = if shares { 0 } else { stream.free.len() as u64 };
            let (idle, pacer) = (IdleSlots::new(slots, start_ns), stream.pacer.clone());
            StreamAccounting { idle, slots, pacer, write_percent: stream.write_percent }
        });
        // Where only one I/O may be in flight at once, the others wait for their turn.
        let slots = self.setup.slots.min(B::MAX_IN_FLIGHT) as u64;
        statistics.accounting = Accounting {
            streams: streams.collect(),
            idle: IdleSlots::new(slots, start_ns),
            slots,
            ..Accounting::default()
        };
    }

    /// Follows which slots are free; called when all that may be issued has been.
    #[inline]
    pub(super) fn follow_idle(&self, statistics: &mut ThreadStatistics, now_ns: u64) {
        let accounting = &mut statistics.accounting;
        let free = accounting.slots - self.in_flight as u64;
        let streams = self.setup.streams.len();
        // Nearly always: then no stream's count has changed either.
        let tells_all = streams == 1 || (free == 0 && self.setup.slots <= B::MAX_IN_FLIGHT);
        if tells_all && accounting.idle.free() == free {
            return;
        }
        let window = self.window();
        accounting.idle.follow(free, now_ns, &window);
        if self.shared.is_none() {
            for (kept, stream) in accounting.streams.iter_mut().zip(&self.setup.streams) {
                kept.idle.follow(stream.free.len() as u64, now_ns, &window);
            }
        }
    }

    /// Looks at what is in flight at both ends of the measured time; called before what completed is entered.
    #[inline]
    pub(super) fn follow_accounting(&self, statistics: &mut ThreadStatistics, now_ns: u64) {
        if !statistics.accounting.is_open && now_ns >= self.schedule.measure_from_ns {
            statistics.open_accounting(self.schedule.measure_from_ns);
        }
        if !statistics.accounting.is_closed && now_ns >= self.schedule.measure_until_ns {
            self.close_accounting(statistics, self.schedule.measure_until_ns);
        }
    }

    /// The worker ends, at the end of the measured time or before.
    pub(super) fn end_accounting(&self, statistics: &mut ThreadStatistics, now_ns: u64) {
        if !statistics.accounting.is_closed && now_ns >= self.schedule.measure_from_ns {
            self.close_accounting(statistics, now_ns.min(self.schedule.measure_until_ns));
        }
        let window = self.window();
        let accounting = &mut statistics.accounting;
        accounting.idle.follow(accounting.slots, now_ns, &window);
        for stream in &mut accounting.streams {
            stream.idle.follow(stream.slots, now_ns, &window);
        }
    }

    #[cold]
    fn close_accounting(&self, statistics: &mut ThreadStatistics, until_ns: u64) {
        statistics.enter_in_flight(until_ns);
        for (index, stream) in self.setup.streams.iter().enumerate() {
            // What may not be issued any more is not late.
            if self.shared.is_none() && stream.granted > 0 {
                statistics.enter_not_issued(index, stream.pacer.overdue(until_ns), until_ns);
            }
        }
        statistics.accounting.is_closed = true;
    }

    fn window(&self) -> Range<u64> {
        self.schedule.measure_from_ns..self.schedule.measure_until_ns
    }
}

impl ThreadStatistics {
    #[cold]
    fn open_accounting(&mut self, from_ns: u64) {
        self.accounting.is_open = true;
        for slot in busy(&self.slots, from_ns) {
            let (stream, age_ns) = (slot.stream as usize, from_ns - slot.submitted_ns);
            self.recorder.record_at_start(stream, slot.operation, age_ns);
        }
    }

    fn enter_in_flight(&mut self, until_ns: u64) {
        for slot in busy(&self.slots, until_ns) {
            let late_ns = until_ns.saturating_sub(slot.intended_ns);
            let (stream, age_ns) = (slot.stream as usize, until_ns - slot.submitted_ns);
            self.recorder.record_at_end(stream, slot.operation, age_ns, late_ns);
        }
    }

    /// What a mixed load would have issued is entered by its shares.
    fn enter_not_issued(
        &mut self,
        stream: usize,
        overdue: impl Iterator<Item = Overdue>,
        until_ns: u64,
    ) {
        let percent = u64::from(self.accounting.streams[stream].write_percent);
        let mut entered = 0;
        for Overdue { due_ns, ios } in overdue {
            let writes = (entered + ios) * percent / 100 - entered * percent / 100;
            entered += ios;
            for (operation, ios) in [(Operation::Write, writes), (Operation::Read, ios - writes)] {
                self.recorder.record_not_issued(stream, operation, ios, until_ns - due_ns);
            }
        }
    }

    /// Closes the accounting of a worker that is not there to do so, and tells the slots.
    pub(super) fn settle(&mut self, window: &Range<u64>) -> (Slots, Vec<Slots>) {
        if !self.accounting.is_open {
            self.open_accounting(window.start);
        }
        if !self.accounting.is_closed {
            self.accounting.is_closed = true;
            self.enter_in_flight(window.end);
            for stream in 0..self.accounting.streams.len() {
                self.enter_rest(stream, window.end);
            }
        }
        let accounting = &self.accounting;
        let streams =
            accounting.streams.iter().map(|stream| stream.idle.until_end(stream.slots, window));
        (accounting.idle.until_end(accounting.slots, window), streams.collect())
    }

    /// What a stream's schedule has left behind the last I/O that was issued.
    fn enter_rest(&mut self, stream: usize, until_ns: u64) {
        let of_stream = |slot: &&Slot| slot.stream as usize == stream;
        let used = self.slots.iter().filter(|slot| slot.bytes > 0);
        let last_ns = used.filter(of_stream).map(|slot| slot.intended_ns).max();
        let schedule = self.accounting.streams[stream].pacer.clone();
        let left = schedule.overdue(until_ns);
        let left = left.filter(move |one| last_ns.is_none_or(|last_ns| one.due_ns > last_ns));
        self.enter_not_issued(stream, left, until_ns);
    }
}

/// Slots whose I/O was submitted before an instant and has not been entered.
fn busy(slots: &[Slot], before_ns: u64) -> Vec<Slot> {
    let is_busy = |slot: &&Slot| slot.submitted_ns != IDLE && slot.submitted_ns < before_ns;
    slots.iter().filter(is_busy).copied().collect()
}
