//! What a worker knows that must outlive it: its statistics, and the I/Os that have not come back.

use std::ops::Range;

use fathom_sys::clock::ThreadCpu;

use super::super::fault::IoFault;
use super::accounting::Accounting;
use crate::engine::backend::Operation;
use crate::measure::{BackendDescription, Recorder, Slots, Stretches, TargetRecord, WaitCounters};

/// The submission time of a slot that is not in flight.
pub(super) const IDLE: u64 = u64::MAX;

/// One I/O in flight, or the last one of its slot.
#[derive(Debug, Clone, Copy)]
pub struct Slot {
    pub(super) submitted_ns: u64,
    pub(super) intended_ns: u64,
    pub(super) offset_bytes: u64,
    pub(super) stream: u32,
    pub(super) bytes: u32,
    pub(super) operation: Operation,
}

impl Slot {
    /// The same I/O at once again, at another offset.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "once per I/O")]
    pub(super) fn issue_again(&mut self, offset_bytes: u64, now_ns: u64) {
        (self.submitted_ns, self.intended_ns) = (now_ns, now_ns);
        self.offset_bytes = offset_bytes;
    }
}

/// All that is left of a worker, whether it ended or never came back from the kernel.
#[derive(Debug)]
pub struct ThreadStatistics {
    pub(super) recorder: Recorder,
    pub(super) slots: Vec<Slot>,
    pub(super) waits: WaitCounters,
    pub(super) backend: BackendDescription,
    pub(super) cpu: ThreadCpu,
    pub(super) cpu_waited_ns: Option<u64>,
    pub(super) fault: Option<IoFault>,
    pub(super) ended_ns: Option<u64>,
    pub(super) accounting: Accounting,
    /// When nothing came back to each stream; none where the thread has nothing else to wait for.
    pub(super) stretches: Vec<Stretches>,
}

/// An I/O that has not come back, as its worker knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfinished {
    /// Index of the stream.
    pub stream: usize,
    /// What it is to do.
    pub operation: Operation,
    /// Its offset.
    pub offset_bytes: u64,
    /// Its length.
    pub bytes: u32,
    /// When it was submitted, on the clock of the worker.
    pub submitted_ns: u64,
}

/// What a worker saw.
#[derive(Debug)]
pub struct WorkerOutcome {
    /// One entry per stream.
    pub targets: Vec<TargetRecord>,
    /// Its slots.
    pub slots: Slots,
    /// How it waited.
    pub waits: WaitCounters,
    /// What served it.
    pub backend: BackendDescription,
    /// CPU time used during the measured time; none if the worker never came back.
    pub cpu: ThreadCpu,
    /// How long it waited for a CPU meanwhile; absent if the kernel does not tell, or it never came back.
    pub cpu_waited_ns: Option<u64>,
    /// The I/O that failed and so ended the worker.
    pub fault: Option<IoFault>,
    /// The I/Os that have not come back, in the order of their submission.
    pub unfinished: Vec<Unfinished>,
    /// For each stream, when its I/Os were in flight and none came back; empty if the thread has one only,
    /// and waits for nothing but that.
    pub stretches: Vec<Stretches>,
}

impl ThreadStatistics {
    /// Empty statistics for a worker with so many slots.
    #[must_use]
    pub fn new(recorder: Recorder, slots: usize) -> Self {
        let idle = Slot {
            submitted_ns: IDLE,
            intended_ns: 0,
            offset_bytes: 0,
            stream: 0,
            bytes: 0,
            operation: Operation::Read,
        };
        Self {
            recorder,
            slots: vec![idle; slots],
            waits: WaitCounters::default(),
            backend: BackendDescription::default(),
            cpu: ThreadCpu::default(),
            cpu_waited_ns: None,
            fault: None,
            ended_ns: None,
            accounting: Accounting::default(),
            stretches: Vec::new(),
        }
    }

    /// An I/O that completed outside of the measured time, and not as it should.
    pub(super) fn record_outside(&mut self, slot: &Slot, result: i32) {
        self.recorder.record_outside(slot.stream as usize, slot.operation, slot.bytes, result);
    }

    /// When the worker stopped issuing; absent if it never came back.
    #[must_use]
    pub fn ended_ns(&self) -> Option<u64> {
        self.ended_ns
    }

    /// Closes the statistics of this measured time.
    #[must_use]
    pub fn close(mut self, measured: &Range<u64>) -> WorkerOutcome {
        let (slots, of_streams) = self.settle(measured);
        self.end_stretches(measured.end);
        let unfinished = self.unfinished();
        let mut targets = self.recorder.finish();
        for (target, slots) in targets.iter_mut().zip(of_streams) {
            target.slots = slots;
        }
        WorkerOutcome {
            stretches: self.stretches,
            unfinished,
            targets,
            slots,
            waits: self.waits,
            backend: self.backend,
            cpu: self.cpu,
            cpu_waited_ns: self.cpu_waited_ns,
            fault: self.fault,
        }
    }

    fn unfinished(&self) -> Vec<Unfinished> {
        let busy = self.slots.iter().filter(|slot| slot.submitted_ns != IDLE);
        let unfinished = busy.map(|slot| Unfinished {
            stream: slot.stream as usize,
            operation: slot.operation,
            offset_bytes: slot.offset_bytes,
            bytes: slot.bytes,
            submitted_ns: slot.submitted_ns,
        });
        let mut unfinished: Vec<_> = unfinished.collect();
        unfinished.sort_by_key(|io| (io.submitted_ns, io.offset_bytes));
        unfinished
    }
}
