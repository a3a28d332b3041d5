//! The one hot loop: issue, wait, record. Generic over backend and clock, never copied per option.
//!
//! Nothing in it allocates, locks or shares a cache line that is written. The clock is read at the
//! edges of a batch: before a batch is issued and after a batch is reaped.

mod accounting;
mod cpu;
mod faults;
mod quota;
mod shared;
mod statistics;

use std::sync::atomic::{AtomicBool, Ordering};

use fathom_sys::hand_off::Owner;

use super::backend::{Backend, BackendError, Completion, Wait};
pub use super::clock::{Clock, RealClock, Schedule};
pub use super::fault::{Failure, IoFault, Tolerance};
use super::live::LiveFeed;
use super::pace::Due;
use super::random::Random;
use super::stop::Finish;
use super::stop::intervals::IntervalFeed;
use super::stream::Stream;
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
    intervals: Option<IntervalFeed<'a>>,
}

impl<'a, B: Backend, C: Clock> Worker<'a, B, C> {
    /// A worker that is ready to run.
    #[must_use]
    pub fn new(setup: WorkerSetup<'a, B, C>, schedule: Schedule) -> Self {
        let count = setup.slots;
        let shared = (!setup.shared_weights.is_empty())
            .then(|| SharedSlots::new(count, &setup.shared_weights));
        Self {
            schedule,
            shared,
            done: Vec::with_capacity(count),
            in_flight: 0,
            first_stream: 0,
            until_progress: setup.progress_every_ios,
            cpu: CpuSampler::default(),
            quota: setup.finish.counts().then_some(Quota::Before),
            counted_from_ns: 0,
            intervals: setup.finish.feed(schedule.measure_from_ns),
            setup,
        }
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
        self.follow_accounting(statistics, now_ns);
        self.follow_quota(statistics, now_ns);
        while now_ns < self.schedule.stop_ns && !self.must_stop(statistics) {
            self.cpu.sample(now_ns, &self.schedule);
            let next_due_ns = self.refill(statistics, now_ns);
            self.follow_idle(statistics, now_ns);
            self.tell_if_spent(now_ns);
            self.reap(statistics, now_ns, next_due_ns)?;
            now_ns = self.setup.clock.now_ns();
            // Read behind the clock: what is told before an instant is known to all who are beyond it.
            self.schedule.end_measured_at(self.setup.finish.until_ns());
            self.follow_accounting(statistics, now_ns);
            self.follow_quota(statistics, now_ns);
            self.accounting(statistics, now_ns);
        }
        self.cpu.finish(now_ns, &self.schedule);
        self.end_accounting(statistics, now_ns);
        statistics.cpu = self.cpu.used();
        statistics.cpu_waited_ns = self.cpu.waited_ns();
        statistics.ended_ns = Some(now_ns);
        self.drain(statistics)?;
        statistics.backend = self.setup.backend.describe();
        Ok(())
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
        // Where only one I/O may be in flight, each index has its turn.
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
        self.in_flight += 1;
        setup.backend.submit(&transfer);
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
    fn accounting(&mut self, statistics: &mut ThreadStatistics, now_ns: u64) {
        let measured =
            (self.schedule.measure_from_ns..self.schedule.measure_until_ns).contains(&now_ns);
        let in_flight = self.in_flight;
        if let Some(intervals) = &mut self.intervals {
            let slots =
                self.done.iter().map(|completion| &statistics.slots[completion.slot as usize]);
            intervals.add(now_ns, slots.filter(|slot| slot.operation.moves_bytes()).count());
        }
        let mut done = std::mem::take(&mut self.done);
        for completion in done.drain(..) {
            let slot = statistics.slots[completion.slot as usize];
            if measured && slot.submitted_ns >= self.counted_from_ns {
                self.record(statistics, &slot, completion.result, now_ns);
            } else {
                self.record_uncounted(statistics, &slot, completion.result, now_ns);
            }
            if let Some(live) = &mut self.setup.live
                && slot.operation.moves_bytes()
                && completion.result == slot.bytes.cast_signed()
            {
                live.record(completion.result, now_ns - slot.submitted_ns);
            }
            if completion.result != slot.bytes.cast_signed()
                && let Some(failure) = Failure::of(slot.operation, slot.bytes, completion.result)
            {
                self.fail(statistics, &slot, failure, now_ns);
            }
            self.verify(&slot, completion, now_ns);
            statistics.slots[completion.slot as usize].submitted_ns = IDLE;
            self.release(slot.stream as usize, completion.slot, now_ns);
        }
        self.done = done;
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

    #[inline]
    fn record(&self, statistics: &mut ThreadStatistics, slot: &Slot, result: i32, now_ns: u64) {
        let stream = slot.stream as usize;
        let operation = slot.operation;
        let recorder = &mut statistics.recorder;
        let Ok(mut bytes) = u64::try_from(result) else {
            recorder.record_error(stream, operation, -result);
            recorder.record_uncounted(stream, operation, now_ns - slot.submitted_ns);
            return;
        };
        if !operation.moves_bytes() {
            // A trim that succeeded gave all of its range back.
            bytes = u64::from(slot.bytes);
        } else if bytes < u64::from(slot.bytes) {
            // It is no I/O of the size that was asked for.
            recorder.record_short(stream, operation, bytes);
            return;
        }
        let latency_ns = now_ns - slot.submitted_ns;
        let since_start_ns = now_ns - self.schedule.measure_from_ns;
        recorder.record(stream, operation, bytes, latency_ns, since_start_ns);
        recorder.record_response(stream, operation, now_ns.saturating_sub(slot.intended_ns));
    }

    /// An I/O that completed outside of the measured time, or was issued before those that count.
    #[inline]
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
        let schedule = &self.schedule;
        if (schedule.measure_from_ns..schedule.measure_until_ns).contains(&now_ns) {
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
