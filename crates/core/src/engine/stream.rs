//! A stream: the I/Os of one thread to one target.

use std::hint::select_unpredictable;
use std::sync::Arc;

use fathom_sys::buffers::Buffers;

use super::backend::{Backend, Operation, Transfer};
use super::mix::{Chosen, Mix, SharedMix};
use super::offsets::{Offsets, SharedOffsets};
use super::pace::{Due, Pacer};
use super::payload::{Payload, Piece};
use super::random::Random;
use super::reduction::{ReducedData, new_nonce};
use super::setup::{SlotLayout, Sources};
use super::stop::pool::Portions;
use crate::measure::Recorder;
use crate::plan::{Assignment, EngineKind, PayloadPlan, SpanPlan, TargetPlan, ThreadPlan};
use crate::verify::{StreamVerifier, Tables};

/// Where a stream's writes take their bytes.
pub enum StreamData {
    /// Always from the start of the target's source buffer: the data never change.
    Constant,
    /// As the payload says, for each write.
    Varying(Payload),
    /// Data that compress and repeat as far as was requested, made in the slot.
    Reduced(ReducedData),
}

impl StreamData {
    /// The source for a target's writes; `source` is the target's source buffer, `threads` share the
    /// target, and the seed is that of one thread's data.
    #[must_use]
    pub fn new(
        target: &TargetPlan,
        source: Option<&Arc<Buffers>>,
        threads: usize,
        seed: u64,
    ) -> Self {
        let source_bytes = source.map_or(0, |source| source.slot(0).len() as u64);
        match &target.payload {
            PayloadPlan::CountingPattern | PayloadPlan::Zero => Self::Constant,
            PayloadPlan::Reduced(reduction) => {
                let block_bytes = u64::from(target.block_bytes);
                let room = target.offsets.end_bytes.saturating_sub(target.offsets.base_bytes);
                let blocks = room / block_bytes.max(1) / threads.max(1) as u64;
                Self::Reduced(ReducedData::new(*reduction, blocks, seed))
            }
            plan => {
                // DiskSpd takes pieces at multiples of 512 bytes; a greater sector needs greater ones.
                let step_bytes = target.sector_bytes.max(512);
                Self::Varying(Payload::new(plan, target.block_bytes, step_bytes, source_bytes))
            }
        }
    }
}

/// One thread's stream of I/Os to one target.
pub struct Stream<'a> {
    /// Index of the target among the thread's open files.
    pub file: u32,
    /// Index of the target in the time span.
    pub target: usize,
    /// Bytes per I/O.
    pub block_bytes: u32,
    /// Share of writes, 0 to 100.
    pub write_percent: u32,
    /// The next offset.
    pub offsets: Offsets<'a>,
    /// When the next I/O is due.
    pub pacer: Pacer,
    /// What is written.
    pub data: StreamData,
    /// I/Os that may be issued before the next portion is taken.
    pub granted: u64,
    /// How portions are taken.
    pub portions: Portions,
    /// Slots that are not in flight; the first one is `first_slot`.
    pub free: Vec<u32>,
    /// The lowest slot of this stream; offsets count slots from it.
    pub first_slot: u32,
    /// Whether the run under way writes: a run of sequential I/O keeps its direction.
    pub writing: bool,
    /// Operations beyond a share of writes; they then decide all of the next I/O.
    pub mix: Option<Box<Mix<'a>>>,
    /// Stamps writes and checks reads, if the target is verified.
    pub verifier: Option<StreamVerifier<'a>>,
}

impl Stream<'_> {
    /// Whether the next I/O may be issued at `now_ns`. A sync follows its write at once, outside of any
    /// schedule.
    #[inline]
    pub fn poll(&mut self, now_ns: u64) -> Due {
        match &self.mix {
            Some(mix) if mix.is_sync_due() => Due::Now { intended_ns: now_ns },
            _ => self.pacer.poll(now_ns),
        }
    }

    /// Whether each I/O is a read or a write that is due at once and that nobody checks.
    pub fn is_plain(&self) -> bool {
        self.mix.is_none() && self.verifier.is_none() && self.pacer.is_unlimited()
    }

    /// What each I/O in a slot is but for its offset, if all of them are reads, or writes of the same data.
    pub fn repeated(&self, slot: u32) -> Option<Transfer> {
        let operation = match self.write_percent {
            0 => Operation::Read,
            100 if matches!(self.data, StreamData::Constant) => Operation::Write,
            _ => return None,
        };
        let source_offset = (operation == Operation::Write).then_some(0);
        let (file, bytes) = (self.file, self.block_bytes);
        let transfer = Transfer { slot, file, operation, offset_bytes: 0, bytes, source_offset };
        self.is_plain().then_some(transfer)
    }

    /// Where the next I/O in a slot goes.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "once per I/O, as the places themselves")]
    pub fn next_offset(&mut self, slot: u32, random: &mut Random) -> u64 {
        self.offsets.next((slot - self.first_slot) as usize, random)
    }

    /// The next I/O of this stream, in the given slot, with its data in place. It takes its place in the
    /// schedule.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "once per I/O; left as a call of its own it hands the I/O over in memory (callgrind)"
    )]
    pub fn next(&mut self, slot: u32, random: &mut Random, backend: &mut impl Backend) -> Transfer {
        let mut transfer = self.choose(slot, random, backend);
        if let Some(verifier) = &mut self.verifier {
            verifier.issue(&mut transfer, backend.slot_mut(slot as usize));
        }
        transfer
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "once per I/O; left as a call of its own it hands the I/O over in memory (callgrind)"
    )]
    fn choose(&mut self, slot: u32, random: &mut Random, backend: &mut impl Backend) -> Transfer {
        let index = (slot - self.first_slot) as usize;
        if let Some(mix) = &mut self.mix {
            let chosen = mix.next(index, random);
            return self.mixed(slot, chosen, random, backend);
        }
        self.pacer.issued();
        let offset_bytes = self.offsets.next(index, random);
        if !self.offsets.continues_run() {
            self.writing = match self.write_percent {
                0 => false,
                100 => true,
                percent => random.percent(percent),
            };
        }
        let bytes = self.block_bytes;
        // Which of both it is may be chance, so that nothing here branches on it where data never change.
        let source_offset = match self.data {
            StreamData::Constant => self.writing.then_some(0),
            _ if self.writing => self.source(slot, bytes, random, backend),
            _ => None,
        };
        let operation = select_unpredictable(self.writing, Operation::Write, Operation::Read);
        Transfer { slot, file: self.file, operation, offset_bytes, bytes, source_offset }
    }

    /// The I/O that the mix has chosen. A sync takes no place in the schedule.
    fn mixed(
        &mut self,
        slot: u32,
        chosen: Chosen,
        random: &mut Random,
        backend: &mut impl Backend,
    ) -> Transfer {
        let Chosen { operation, offset_bytes, bytes } = chosen;
        if !matches!(operation, Operation::Fsync | Operation::Fdatasync) {
            self.pacer.issued();
        }
        let is_write = operation == Operation::Write;
        let source_offset = if is_write { self.source(slot, bytes, random, backend) } else { None };
        Transfer { slot, file: self.file, operation, offset_bytes, bytes, source_offset }
    }

    #[inline]
    fn source(
        &mut self,
        slot: u32,
        bytes: u32,
        random: &mut Random,
        backend: &mut impl Backend,
    ) -> Option<u64> {
        match &mut self.data {
            StreamData::Constant => Some(0),
            StreamData::Varying(payload) => {
                match payload.next(backend.slot_mut(slot as usize), random) {
                    Piece::Slot => None,
                    Piece::Source { offset } => Some(offset),
                }
            }
            StreamData::Reduced(data) => {
                data.fill(&mut backend.slot_mut(slot as usize)[..bytes as usize], random);
                None
            }
        }
    }
}

/// What all threads share of one target.
#[derive(Debug)]
pub struct SharedTarget {
    offsets: SharedOffsets,
    mix: Option<SharedMix>,
    /// What makes the data of this run differ from those of any other.
    nonce: u64,
}

impl SharedTarget {
    /// The shared part of a target's plan.
    #[must_use]
    pub fn new(target: &TargetPlan) -> Self {
        Self {
            offsets: SharedOffsets::new(&target.offsets),
            mix: target.mix.as_ref().map(SharedMix::new),
            nonce: new_nonce(),
        }
    }

    fn mix(
        &self,
        target: &TargetPlan,
        start_bytes: u64,
        slots: usize,
        seed: u64,
    ) -> Option<Mix<'_>> {
        let (plan, shared) = (target.mix.as_ref()?, self.mix.as_ref()?);
        let ahead_bytes = start_bytes.saturating_sub(target.offsets.base_bytes);
        Some(Mix::new(plan, target.write_percent, shared, ahead_bytes, slots, seed))
    }
}

/// What the streams of all threads of a time span share.
pub struct StreamContext<'a> {
    /// The time span.
    pub plan: &'a SpanPlan,
    /// The shared part of each target.
    pub targets: &'a [SharedTarget],
    /// The source buffer of each target that is written.
    pub sources: &'a Sources,
    /// What writes may be found where, if the run is verified.
    pub verification: Option<&'a Tables>,
}

/// Sets the draw of the first direction apart from all others of a thread's seed.
const FIRST_RUN: u64 = 0x0052_554E;

/// The streams of one thread, one per assignment, with their first I/O due at `start_ns`.
#[must_use]
pub fn streams<'a>(
    thread: &ThreadPlan,
    layout: &SlotLayout,
    context: &StreamContext<'a>,
    start_ns: u64,
) -> Vec<Stream<'a>> {
    let mut streams = Vec::with_capacity(thread.assignments.len());
    for (assignment, &(first_slot, count)) in thread.assignments.iter().zip(&layout.ranges) {
        let target = &context.plan.targets[assignment.target];
        let shared = &context.targets[assignment.target];
        let source = context.sources[assignment.target].as_ref();
        let threads = context.plan.threads_of(assignment.target);
        let data_seed = Random::new(shared.nonce ^ thread.seed).bits();
        let start_bytes = assignment.start_bytes;
        let table = context.verification.and_then(|tables| tables.of(target.path()));
        // A walk may begin with a stretch in order, whose direction is drawn as that of any other.
        let writing = Random::new(thread.seed ^ FIRST_RUN).percent(target.write_percent);
        let verifier = |table| {
            StreamVerifier::new(table, source.cloned(), (first_slot, count), target.block_bytes)
        };
        streams.push(Stream {
            file: u32::try_from(streams.len()).unwrap_or(u32::MAX),
            target: assignment.target,
            block_bytes: target.block_bytes,
            write_percent: target.write_percent,
            offsets: Offsets::new(&target.offsets, start_bytes, count as usize, &shared.offsets),
            pacer: pacer(thread, assignment, start_ns),
            data: StreamData::new(target, source, threads, data_seed),
            granted: u64::MAX,
            portions: Portions::default(),
            free: (first_slot..first_slot + count).rev().collect(),
            first_slot,
            writing,
            mix: shared.mix(target, start_bytes, count as usize, thread.seed).map(Box::new),
            verifier: table.map(verifier),
        });
    }
    streams
}

fn pacer(thread: &ThreadPlan, assignment: &Assignment, start_ns: u64) -> Pacer {
    let pacer = Pacer::new(assignment.pace, assignment.burst, start_ns, thread.seed);
    match thread.engine {
        EngineKind::Sync | EngineKind::Mapped => pacer.with_blocking_issue(),
        _ => pacer,
    }
}

/// Empty statistics for a thread.
#[must_use]
pub fn recorder(plan: &SpanPlan, thread: &ThreadPlan) -> Recorder {
    let streams = thread.assignments.len();
    let paced = thread.assignments.iter().any(|assignment| assignment.pace.is_some());
    let paced = paced && plan.shared_outstanding == 0;
    Recorder::new(streams, plan, paced)
}

/// The weights of a thread's streams when they share slots; empty when each stream has its own.
#[must_use]
pub fn shared_weights(plan: &SpanPlan, thread: &ThreadPlan) -> Vec<u32> {
    if plan.shared_outstanding == 0 {
        return Vec::new();
    }
    thread.assignments.iter().map(|assignment| assignment.weight).collect()
}
