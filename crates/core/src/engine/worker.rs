//! The one hot loop: issue, wait, record. Generic over backend and clock, never copied per option.
//!
//! Nothing in it allocates, locks or shares a cache line that is written. The clock is read at the
//! edges of a batch: before a batch is issued and after a batch is reaped. A load of plain calls, and one
//! whose I/Os differ in their offsets only, take a shorter way to the same result (`one_by_one`, `alike`).

mod accounting;
mod alike;
mod cpu;
mod faults;
mod one_by_one;
mod quota;
mod shared;
mod statistics;
mod stretches;

use std::sync::atomic::{AtomicBool, Ordering};

use fathom_sys::hand_off::Owner;

use super::backend::{Backend, BackendError, Completion, Transfer, Wait};
pub use super::clock::{Clock, RealClock, Schedule};
pub use super::fault::{Failure, IoFault, Tolerance};
use super::live::LiveFeed;
use super::pace::Due;
use super::random::Random;
use super::stop::Finish;
use super::stop::intervals::IntervalFeed;
use super::stream::Stream;
use crate::measure::Completed;
use crate::verify::stream::DoneIo;
use cpu::CpuSampler;
use quota::Quota;
use shared::SharedSlots;
use statistics::{IDLE, Slot};
pub use statistics::{ThreadStatistics, Unfinished, WorkerOutcome};

/// Waiting less than this is done by looking again, because a sleep would overshoot.
const SPIN_BELOW_NS: u64 = 2_000;

/// A thread that waits for its time looks at least this often whether it must stop.
const LOOK_EVERY_NS: u64 = 50_000_000;

/// What a worker is made of.
pub struct WorkerSetup<'a, B, C> {
    /// How I/O reaches the kernel.
    pub backend: B,
    /// The clock.
    pub clock: C,
    /// One stream per assignment.
    pub streams: Vec<Stream<'a>>,
    /// Weight of each stream when the streams share their slots; empty when each stream has slots of its own.
    pub shared_weights: Vec<u32>,
    /// Number of slots.
    pub slots: usize,
    /// Random choices.
    pub random: Random,
    /// Which failed I/O ends the time span.
    pub tolerance: &'a Tolerance,
    /// Ends the worker early when it turns true, as it does when an I/O ends the time span.
    pub stop: &'a AtomicBool,
    /// The end of the measured time.
    pub finish: &'a Finish,
    /// Tells the live figures; absent if nobody looks at them.
    pub live: Option<LiveFeed<'a>>,
    /// Called each time this many I/Os have completed; 0 never.
    pub progress_every_ios: u64,
    /// What is called.
    pub progress: &'a (dyn Fn() + Sync),
}

/// One thread of load.
pub struct Worker<'a, B, C> {
    setup: WorkerSetup<'a, B, C>,
    schedule: Schedule,
    shared: Option<SharedSlots>,
    done: Vec<Completion>,
    in_flight: usize,
    first_stream: usize,
    until_progress: u64,
    cpu: CpuSampler,
    /// Where it stands, if a rule counts I/Os.
    quota: Option<Quota>,
    /// An I/O counts if it was submitted at this time or later.
    counted_from_ns: u64,
    /// Whether what completes now does so in the measured time.
    is_measured: bool,
    /// No phase begins or ends before this instant.
    steady_until_ns: u64,
    intervals: Option<IntervalFeed<'a>>,
    /// Whether nothing happens but that an I/O follows one that completed.
    is_plain: bool,
}

impl<'a, B: Backend, C: Clock> Worker<'a, B, C> {
    /// A worker that is ready to run.
    #[must_use]
    pub fn new(setup: WorkerSetup<'a, B, C>, schedule: Schedule) -> Self {
        let count = setup.slots;
        let shared = (!setup.shared_weights.is_empty())
            .then(|| SharedSlots::new(count, &setup.shared_weights));
        let mut worker = Self {
            schedule,
            shared,
            done: Vec::with_capacity(count),
            in_flight: 0,
            first_stream: 0,
            until_progress: setup.progress_every_ios,
            cpu: CpuSampler::default(),
            quota: setup.finish.counts().then_some(Quota::Before),
            counted_from_ns: 0,
            is_measured: false,
            steady_until_ns: 0,
            intervals: setup.finish.feed(schedule.measure_from_ns),
            is_plain: false,
            setup,
        };
        worker.is_plain = worker.is_plain();
        worker
    }

    /// Runs all phases, and ends early when told to stop or when an I/O fails. The statistics have a
    /// place for each slot; they are lent to the loop for each step, so that it finds them where it looks,
    /// and given out of hand only while the thread is in the kernel.
    pub fn run(mut self, mut statistics: Owner<ThreadStatistics>) -> Result<(), BackendError> {
        let ended = self.run_phases(&mut statistics);
        // A file of a target that hangs may not be closed either.
        let backend = self.setup.backend;
        statistics.away(|| drop(backend));
        ended
    }

    fn run_phases(&mut self, statistics: &mut Owner<ThreadStatistics>) -> Result<(), BackendError> {
        statistics.backend = self.setup.backend.describe();
        let mut now_ns = self.setup.clock.now_ns();
        self.begin_accounting(statistics);
        self.begin_stretches(statistics);
        self.enter_phase(statistics, now_ns);
        while now_ns < self.schedule.stop_ns && !self.must_stop(statistics) {
            let next_due_ns = self.refill(statistics, now_ns);
            self.follow_idle(statistics, now_ns);
            self.tell_if_spent(now_ns);
            self.reap(statistics, now_ns, next_due_ns)?;
            now_ns = self.setup.clock.now_ns();
            now_ns = self.go_on(statistics, now_ns)?;
            // Read behind the clock: what is announced before an instant is known to all who are beyond it.
            let has_moved = self.setup.finish.until_ns() != self.schedule.measure_until_ns;
            if has_moved || now_ns >= self.steady_until_ns {
                self.enter_phase(statistics, now_ns);
            }
            self.enter_completed(statistics, now_ns);
        }
        if let Some(intervals) = &mut self.intervals {
            // The last interval ends with the measured time, also where nothing completes behind it.
            intervals.add(now_ns, 0);
        }
        self.cpu.finish(now_ns, &self.schedule);
        self.end_accounting(statistics, now_ns);
        statistics.end_stretches(now_ns);
        statistics.cpu = self.cpu.used();
        statistics.cpu_waited_ns = self.cpu.waited_ns();
        statistics.ended_ns = Some(now_ns);
        self.drain(statistics)?;
        statistics.backend = self.setup.backend.describe();
        Ok(())
    }

    /// Whether one stream issues its I/Os as soon as it may, and nobody counts, checks or mixes them.
    fn is_plain(&self) -> bool {
        let setup = &self.setup;
        let [stream] = setup.streams.as_slice() else { return false };
        self.shared.is_none()
            && self.quota.is_none()
            && self.intervals.is_none()
            && setup.progress_every_ios == 0
            && stream.is_plain()
    }

    /// Takes the short way as far as it goes; returns when the last I/O completed, which is still to be
    /// entered.
    #[inline]
    fn go_on(
        &mut self,
        statistics: &mut Owner<ThreadStatistics>,
        now_ns: u64,
    ) -> Result<u64, BackendError> {
        if B::MAX_IN_FLIGHT == 1 {
            self.go_on_one_by_one(statistics, now_ns)
        } else {
            self.go_on_alike(statistics, now_ns)
        }
    }

    /// Whether no phase begins or ends, and nobody ends the load.
    #[inline]
    fn is_as_it_was(&self, now_ns: u64) -> bool {
        now_ns < self.steady_until_ns
            && self.setup.finish.until_ns() == self.schedule.measure_until_ns
            && !self.setup.stop.load(Ordering::Relaxed)
    }

    /// Does what is due when a phase begins or ends, or when the end of the measured time has moved.
    #[cold]
    #[inline(never)]
    fn enter_phase(&mut self, statistics: &mut ThreadStatistics, now_ns: u64) {
        self.schedule.end_measured_at(self.setup.finish.until_ns());
        self.follow_accounting(statistics, now_ns);
        self.follow_quota(statistics, now_ns);
        self.cpu.sample(now_ns, &self.schedule);
        let Schedule { measure_from_ns, measure_until_ns, stop_ns, .. } = self.schedule;
        self.is_measured = (measure_from_ns..measure_until_ns).contains(&now_ns);
        let edges = [measure_from_ns, measure_until_ns, stop_ns];
        let next_ns = edges.into_iter().filter(|edge_ns| *edge_ns > now_ns).min();
        self.steady_until_ns = next_ns.unwrap_or(u64::MAX);
    }

    #[inline]
    fn must_stop(&self, statistics: &ThreadStatistics) -> bool {
        self.setup.stop.load(Ordering::Relaxed) || statistics.fault.is_some()
    }

    /// Issues every I/O that has a free slot and is due; returns when the next one is due, if a free
    /// slot waits for its time.
    #[inline]
    fn refill(&mut self, statistics: &mut ThreadStatistics, now_ns: u64) -> Option<u64> {
        if self.shared.is_some() {
            self.refill_shared(statistics, now_ns);
            return None;
        }
        let streams = self.setup.streams.len();
        let mut next_due_ns = None;
        for step in 0..streams {
            let index = self.first_stream + step;
            let index = if index < streams { index } else { index - streams };
            if let Some(due_ns) = self.refill_stream(statistics, index, now_ns) {
                next_due_ns = Some(next_due_ns.map_or(due_ns, |earlier: u64| earlier.min(due_ns)));
            }
        }
        // Where only one I/O may be in flight, each stream has its turn.
        self.first_stream = if self.first_stream + 1 < streams { self.first_stream + 1 } else { 0 };
        next_due_ns
    }

    #[inline]
    fn refill_stream(
        &mut self,
        statistics: &mut ThreadStatistics,
        index: usize,
        now_ns: u64,
    ) -> Option<u64> {
        while self.in_flight < B::MAX_IN_FLIGHT {
            let stream = &mut self.setup.streams[index];
            if stream.free.is_empty() {
                return None;
            }
            if stream.granted == 0 && !self.take_portion(index, now_ns) {
                return None;
            }
            let stream = &mut self.setup.streams[index];
            let intended_ns = match stream.poll(now_ns) {
                Due::Now { intended_ns } => intended_ns,
                Due::At(due_ns) => return Some(due_ns),
            };
            if let Some(slot) = stream.free.pop() {
                self.issue(statistics, index, slot, now_ns, intended_ns);
            }
        }
        None
    }

    #[inline(never)]
    fn refill_shared(&mut self, statistics: &mut ThreadStatistics, now_ns: u64) {
        while self.in_flight < B::MAX_IN_FLIGHT {
            let Some(shared) = &mut self.shared else { return };
            let Some(slot) = shared.free.pop() else { return };
            let index = shared.pick(&mut self.setup.random);
            if self.setup.streams[index].granted == 0 && !self.take_portion(index, now_ns) {
                self.give_back(slot);
                if self.is_dry() {
                    return;
                }
                continue;
            }
            self.issue(statistics, index, slot, now_ns, now_ns);
        }
    }

    #[inline]
    fn issue(
        &mut self,
        statistics: &mut ThreadStatistics,
        index: usize,
        slot: u32,
        now_ns: u64,
        intended_ns: u64,
    ) {
        let transfer = self.next(statistics, index, slot, now_ns, intended_ns);
        self.in_flight += 1;
        self.setup.backend.submit(&transfer);
    }

    /// The next I/O of a stream, which is entered into its slot.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "once per I/O, and called from several places, so that it is left as a call of its own, \
                  which saves and restores the registers of the hot loop (callgrind)"
    )]
    fn next(
        &mut self,
        statistics: &mut ThreadStatistics,
        index: usize,
        slot: u32,
        now_ns: u64,
        intended_ns: u64,
    ) -> Transfer {
        let setup = &mut self.setup;
        let stream = &mut setup.streams[index];
        let transfer = stream.next(slot, &mut setup.random, &mut setup.backend);
        stream.granted -= u64::from(transfer.operation.moves_bytes());
        #[expect(clippy::cast_possible_truncation, reason = "there are fewer streams than 2^32")]
        let state = Slot {
            submitted_ns: now_ns,
            intended_ns,
            offset_bytes: transfer.offset_bytes,
            stream: index as u32,
            bytes: transfer.bytes,
            operation: transfer.operation,
        };
        statistics.slots[slot as usize] = state;
        transfer
    }

    /// Waits in the way that fits: for a completion, for the next I/O's time, or for whichever comes first.
    #[inline]
    fn reap(
        &mut self,
        statistics: &mut Owner<ThreadStatistics>,
        now_ns: u64,
        next_due_ns: Option<u64>,
    ) -> Result<(), BackendError> {
        if self.in_flight == 0 {
            let wake_ns = next_due_ns.unwrap_or(self.schedule.stop_ns).min(now_ns + LOOK_EVERY_NS);
            statistics.waits.throttle_sleeps += 1;
            self.setup.clock.sleep_until_ns(wake_ns.min(self.schedule.stop_ns));
            return Ok(());
        }
        let wait = match next_due_ns.map(|due_ns| due_ns.saturating_sub(now_ns)) {
            None => Wait::ForOne,
            Some(nanos) if nanos < SPIN_BELOW_NS => Wait::No,
            Some(nanos) => Wait::ForOneOrNs(nanos.min(LOOK_EVERY_NS)),
        };
        self.enter(statistics, wait)?;
        match wait {
            Wait::ForOne => statistics.waits.completion_waits += 1,
            Wait::ForOneOrNs(_) => statistics.waits.throttle_waits += 1,
            Wait::No => {
                statistics.waits.lookasides += 1;
                statistics.waits.lookaside_completions[self.done.len().min(7)] += 1;
            }
        }
        Ok(())
    }

    /// Looks for completions in the kernel, from which it may never come back.
    #[inline]
    fn enter(
        &mut self,
        statistics: &mut Owner<ThreadStatistics>,
        wait: Wait,
    ) -> Result<(), BackendError> {
        let (backend, done) = (&mut self.setup.backend, &mut self.done);
        statistics.away(|| backend.reap(wait, done))
    }

    /// Enters what completed, and frees the slots.
    #[inline]
    fn enter_completed(&mut self, statistics: &mut ThreadStatistics, now_ns: u64) {
        let in_flight = self.in_flight;
        if let Some(intervals) = &mut self.intervals {
            // What failed or came back short is no part of a rate.
            let is_whole = |completion: &&Completion| {
                let slot = &statistics.slots[completion.slot as usize];
                slot.operation.moves_bytes() && completion.result == slot.bytes.cast_signed()
            };
            intervals.add(now_ns, self.done.iter().filter(is_whole).count());
        }
        for index in 0..self.done.len() {
            let completion = self.done[index];
            statistics.follow_stretch(completion.slot, now_ns);
            let place = &mut statistics.slots[completion.slot as usize];
            let slot = *place;
            place.submitted_ns = IDLE;
            let is_whole =
                completion.result == slot.bytes.cast_signed() && slot.operation.moves_bytes();
            if is_whole && self.is_measured && slot.submitted_ns >= self.counted_from_ns {
                self.record(statistics, &slot, now_ns);
            } else {
                self.record_other(statistics, &slot, completion.result, now_ns);
            }
            if let Some(live) = &mut self.setup.live
                && is_whole
            {
                live.record(slot.stream as usize, completion.result, now_ns - slot.submitted_ns);
            }
            self.verify(&slot, completion, now_ns);
            self.release(slot.stream as usize, completion.slot, now_ns);
        }
        self.done.clear();
        if let Some(live) = &mut self.setup.live {
            live.tick(now_ns, in_flight);
        }
    }

    /// Hands what completed to the stream's verification, if it has one.
    #[inline]
    fn verify(&mut self, slot: &Slot, completion: Completion, at_ns: u64) {
        let setup = &mut self.setup;
        if let Some(verifier) = &mut setup.streams[slot.stream as usize].verifier {
            let io = DoneIo {
                slot: completion.slot,
                operation: slot.operation,
                offset_bytes: slot.offset_bytes,
                result: completion.result,
                at_ns,
            };
            verifier.complete(io, setup.backend.slot_mut(completion.slot as usize));
        }
    }

    /// A read or write that counts and moved all of its bytes.
    #[inline]
    fn record(&self, statistics: &mut ThreadStatistics, slot: &Slot, now_ns: u64) {
        let completed = Completed {
            bytes: u64::from(slot.bytes),
            latency_ns: now_ns - slot.submitted_ns,
            response_ns: now_ns.saturating_sub(slot.intended_ns),
            since_start_ns: now_ns - self.schedule.measure_from_ns,
        };
        statistics.recorder.record(slot.stream as usize, slot.operation, completed);
    }

    /// Any other: it does not count, moved too little, failed, or moves no bytes.
    #[inline(never)]
    fn record_other(
        &self,
        statistics: &mut ThreadStatistics,
        slot: &Slot,
        result: i32,
        now_ns: u64,
    ) {
        if self.is_measured && slot.submitted_ns >= self.counted_from_ns {
            self.record_partly(statistics, slot, result, now_ns);
        } else {
            self.record_uncounted(statistics, slot, result, now_ns);
        }
        if result != slot.bytes.cast_signed()
            && let Some(failure) = Failure::of(slot.operation, slot.bytes, result)
        {
            self.fail(statistics, slot, failure, now_ns);
        }
    }

    /// An I/O that counts, and is none that moved all of its bytes.
    fn record_partly(
        &self,
        statistics: &mut ThreadStatistics,
        slot: &Slot,
        result: i32,
        now_ns: u64,
    ) {
        let (stream, operation) = (slot.stream as usize, slot.operation);
        let recorder = &mut statistics.recorder;
        match u64::try_from(result) {
            Err(_) => {
                recorder.record_error(stream, operation, -result);
                recorder.record_uncounted(stream, operation, now_ns - slot.submitted_ns);
            }
            // It is no I/O of the size that was requested.
            Ok(bytes) if operation.moves_bytes() => {
                recorder.record_short(stream, operation, bytes);
                recorder.record_uncounted(stream, operation, now_ns - slot.submitted_ns);
            }
            // A trim that succeeded gave all of its range back.
            Ok(_) => self.record(statistics, slot, now_ns),
        }
    }

    /// An I/O that completed outside of the measured time, or was issued before those that count.
    fn record_uncounted(
        &self,
        statistics: &mut ThreadStatistics,
        slot: &Slot,
        result: i32,
        now_ns: u64,
    ) {
        if result != slot.bytes.cast_signed() {
            statistics.record_outside(slot, result);
        }
        if self.is_measured {
            let (stream, took_ns) = (slot.stream as usize, now_ns - slot.submitted_ns);
            statistics.recorder.record_uncounted(stream, slot.operation, took_ns);
        }
    }

    #[inline]
    fn release(&mut self, stream: usize, slot: u32, now_ns: u64) {
        self.in_flight -= 1;
        self.setup.streams[stream].pacer.completed(now_ns);
        match &mut self.shared {
            Some(shared) => shared.free.push(slot),
            None => self.setup.streams[stream].free.push(slot),
        }
        if self.until_progress > 0 {
            self.until_progress -= 1;
            if self.until_progress == 0 {
                self.until_progress = self.setup.progress_every_ios;
                (self.setup.progress)();
            }
        }
    }
}
