//! The account of a worker's slots: what was in flight at both ends of the measured time, and how long
//! slots were free.
//!
//! It is kept in the ledger, so that it also closes for a worker that never comes back.

use std::ops::Range;

use super::ledger::{IDLE, Ledger, Slot};
use super::{Backend, Clock, Worker};
use crate::engine::pace::Pacer;
use crate::measure::{IdleSlots, Operation, Slots};

/// What the ledger knows of one lane.
#[derive(Debug, Clone)]
pub(super) struct LaneAccount {
    idle: IdleSlots,
    slots: u64,
    /// Its schedule from the beginning of the load on.
    pacer: Pacer,
    write_percent: u32,
}

/// The account of a worker's slots.
#[derive(Debug, Clone, Default)]
pub(super) struct Account {
    lanes: Vec<LaneAccount>,
    idle: IdleSlots,
    slots: u64,
    is_open: bool,
    is_closed: bool,
}

impl<B: Backend, C: Clock> Worker<'_, B, C> {
    /// Nothing is in flight yet.
    pub(super) fn begin_account(&self, ledger: &mut Ledger) {
        let start_ns = self.schedule.start_ns;
        let shares = self.shared.is_some();
        let lanes = self.setup.lanes.iter().map(|lane| {
            let slots = if shares { 0 } else { lane.free.len() as u64 };
            let (idle, pacer) = (IdleSlots::new(slots, start_ns), lane.pacer.clone());
            LaneAccount { idle, slots, pacer, write_percent: lane.write_percent }
        });
        // Where only one I/O may be in flight at once, the others wait for their turn.
        let slots = self.setup.slots.min(B::MAX_IN_FLIGHT) as u64;
        ledger.account = Account {
            lanes: lanes.collect(),
            idle: IdleSlots::new(slots, start_ns),
            slots,
            ..Account::default()
        };
    }

    /// Follows which slots are free; called when all that may be issued has been.
    #[inline]
    pub(super) fn follow_idle(&self, ledger: &mut Ledger, now_ns: u64) {
        let window = self.window();
        let account = &mut ledger.account;
        account.idle.follow(account.slots - self.in_flight as u64, now_ns, &window);
        if self.shared.is_none() {
            for (lane, stream) in account.lanes.iter_mut().zip(&self.setup.lanes) {
                lane.idle.follow(stream.free.len() as u64, now_ns, &window);
            }
        }
    }

    /// Looks at what is in flight at both ends of the measured time; called before what completed is entered.
    #[inline]
    pub(super) fn follow_account(&self, ledger: &mut Ledger, now_ns: u64) {
        if !ledger.account.is_open && now_ns >= self.schedule.measure_from_ns {
            ledger.open_account(self.schedule.measure_from_ns);
        }
        if !ledger.account.is_closed && now_ns >= self.schedule.measure_until_ns {
            self.close_account(ledger, self.schedule.measure_until_ns);
        }
    }

    /// The worker ends, at the end of the measured time or before.
    pub(super) fn end_account(&self, ledger: &mut Ledger, now_ns: u64) {
        if !ledger.account.is_closed && now_ns >= self.schedule.measure_from_ns {
            self.close_account(ledger, now_ns.min(self.schedule.measure_until_ns));
        }
        let window = self.window();
        let account = &mut ledger.account;
        account.idle.follow(account.slots, now_ns, &window);
        for lane in &mut account.lanes {
            lane.idle.follow(lane.slots, now_ns, &window);
        }
    }

    #[cold]
    fn close_account(&self, ledger: &mut Ledger, until_ns: u64) {
        ledger.enter_in_flight(until_ns);
        for (index, lane) in self.setup.lanes.iter().enumerate() {
            // What may not be issued any more is not late.
            if self.shared.is_none() && lane.granted > 0 {
                ledger.enter_not_issued(index, lane.pacer.overdue(until_ns), until_ns);
            }
        }
        ledger.account.is_closed = true;
    }

    fn window(&self) -> Range<u64> {
        self.schedule.measure_from_ns..self.schedule.measure_until_ns
    }
}

impl Ledger {
    #[cold]
    fn open_account(&mut self, from_ns: u64) {
        self.account.is_open = true;
        for slot in busy(&self.slots, from_ns) {
            let (lane, age_ns) = (slot.lane as usize, from_ns - slot.submitted_ns);
            self.recorder.record_at_start(lane, slot.operation, age_ns);
        }
    }

    fn enter_in_flight(&mut self, until_ns: u64) {
        for slot in busy(&self.slots, until_ns) {
            let late_ns = until_ns.saturating_sub(slot.intended_ns);
            let (lane, age_ns) = (slot.lane as usize, until_ns - slot.submitted_ns);
            self.recorder.record_at_end(lane, slot.operation, age_ns, late_ns);
        }
    }

    /// What a mixed load would have issued is entered by its shares.
    fn enter_not_issued(&mut self, lane: usize, due_ns: impl Iterator<Item = u64>, until_ns: u64) {
        let percent = u64::from(self.account.lanes[lane].write_percent);
        for (index, due_ns) in (0_u64..).zip(due_ns) {
            let is_write = (index + 1) * percent / 100 > index * percent / 100;
            let operation = if is_write { Operation::Write } else { Operation::Read };
            self.recorder.record_not_issued(lane, operation, until_ns - due_ns);
        }
    }

    /// Closes the account of a worker that is not there to do so, and tells the slots.
    pub(super) fn settle(&mut self, window: &Range<u64>) -> (Slots, Vec<Slots>) {
        if !self.account.is_open {
            self.open_account(window.start);
        }
        if !self.account.is_closed {
            self.account.is_closed = true;
            self.enter_in_flight(window.end);
            for lane in 0..self.account.lanes.len() {
                self.enter_rest(lane, window.end);
            }
        }
        let account = &self.account;
        let lanes = account.lanes.iter().map(|lane| lane.idle.until_end(lane.slots, window));
        (account.idle.until_end(account.slots, window), lanes.collect())
    }

    /// What a lane's schedule has left behind the last I/O that was issued.
    fn enter_rest(&mut self, lane: usize, until_ns: u64) {
        let of_lane = |slot: &&Slot| slot.lane as usize == lane;
        let used = self.slots.iter().filter(|slot| slot.bytes > 0);
        let last_ns = used.filter(of_lane).map(|slot| slot.intended_ns).max();
        let schedule = self.account.lanes[lane].pacer.clone();
        let left = schedule.overdue(until_ns);
        let left = left.filter(move |due_ns| last_ns.is_none_or(|last_ns| *due_ns > last_ns));
        self.enter_not_issued(lane, left, until_ns);
    }
}

/// Slots whose I/O was submitted before an instant and has not been entered.
fn busy(slots: &[Slot], before_ns: u64) -> Vec<Slot> {
    let is_busy = |slot: &&Slot| slot.submitted_ns != IDLE && slot.submitted_ns < before_ns;
    slots.iter().filter(is_busy).copied().collect()
}
