//! Which way to the kernel is the fastest, where it takes no I/O without waiting (`RWF_NOWAIT`).
//!
//! There `io_uring` hands each I/O to a thread of the kernel, which may cost fifty times what the I/O itself
//! does, or nothing, depending on processor, target and depth. So the ways are tried before the load, with
//! reads alone, by all threads that have the same targets together, each on its CPU. The ways take turns, and
//! of each the best turn counts, since others may use the machine. Nothing of it is counted.
//!
//! There is one decision for all of them, also for a thread that came too late or that took no part: with
//! two, one thread would wait for a way that the result does not list as the fastest.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fathom_sys::file::{OpenFlags, TargetFile};
use fathom_sys::space::is_served;
use fathom_sys::thread::own_open_files;
use fathom_sys::transfer::{Completion, Operation, Resources, Transfer};

use super::super::backend::{AioBackend, Backend, SyncBackend, UringBackend, Wait, Workers};
use super::super::clock::{Clock, LoopClock, RealClock};
use super::super::random::Random;
use super::super::setup::{self, SlotLayout};
use super::shared::Shared;
use crate::measure::TriedWay;
use crate::plan::{EngineKind, SpanPlan, TargetPlan, ThreadPlan};

/// Each way has so many turns, together less than 50 ms.
const TURN_NS: u64 = 5_000_000;
const TURNS: usize = 8;
/// With more buffers than this, nothing is tried: each way has its own.
const BUFFERS_BYTES: usize = 32 << 20;
/// So many reads tell whether a target is fast.
const LOOKS: usize = 8;
/// A target that takes longer for a read gains more by depth than it loses by the way.
const FAST_NS: u64 = 20_000;
/// Threads wait so long for each other; one that has not come by then takes no part.
const PATIENCE: Duration = Duration::from_millis(500);
/// A thread that takes no part waits so long for the decision of the others.
const PATIENCE_OUTSIDE: Duration = Duration::from_secs(2);
/// A way is left for a later one only where that is faster by more than this.
const MARGIN: f64 = 1.01;

/// A way to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Ring,
    RingBeside,
    Aio,
    Sync,
}

/// In the order in which they are preferred: those that keep what was requested in flight come first.
const WAYS: [Way; 4] = [Way::Ring, Way::RingBeside, Way::Aio, Way::Sync];

impl Way {
    pub(super) fn engine(self) -> EngineKind {
        match self {
            Self::Ring | Self::RingBeside => EngineKind::Uring,
            Self::Aio => EngineKind::Aio,
            Self::Sync => EngineKind::Sync,
        }
    }

    pub(super) fn workers(self) -> Workers {
        if self == Self::RingBeside { Workers::Beside } else { Workers::Planned }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Ring => "io_uring",
            Self::RingBeside => "io_uring with workers on its own CPU",
            Self::Aio => "libaio",
            Self::Sync => "one plain call at a time",
        }
    }
}

/// One trial of the threads that have the same targets.
pub(super) struct Trial {
    targets: Vec<usize>,
    ways: Vec<Way>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// How many threads take part.
    members: usize,
    /// How many threads have come to each turn.
    come: Vec<usize>,
    /// How many turns have begun.
    begun: usize,
    /// Reads per second of all threads, in each turn.
    iops: Vec<f64>,
    /// Ways that some thread could not go.
    refused: Vec<Way>,
    decision: Option<Decision>,
}

/// What a trial showed.
#[derive(Clone)]
struct Decision {
    way: Option<Way>,
    /// The best turn of each way that all threads can go.
    rates: Vec<(Way, f64)>,
}

fn targets_of(thread: &ThreadPlan) -> Vec<usize> {
    thread.assignments.iter().map(|assignment| assignment.target).collect()
}

impl Trial {
    /// The trials of a time span.
    pub(super) fn of(plan: &SpanPlan) -> Vec<Self> {
        let mut trials: Vec<Self> = Vec::new();
        for thread in plan.threads.iter().filter(|thread| thread.tries_ways) {
            let place = trials.iter().position(|trial| trial.is_of(thread));
            let place = place.unwrap_or_else(|| {
                trials.push(Self::new(plan, thread));
                trials.len() - 1
            });
            let state = trials[place].state.get_mut().unwrap_or_else(PoisonError::into_inner);
            state.members += 1;
        }
        trials
    }

    fn new(plan: &SpanPlan, thread: &ThreadPlan) -> Self {
        let targets = targets_of(thread);
        let others = || plan.threads.iter().filter(|one| targets_of(one) == targets);
        let is_paced = others().any(setup::is_paced);
        let has_own =
            |one: &ThreadPlan| one.cpu.is_some_and(|pin| !one.worker_cpus.contains(&pin.os_id));
        let are_beside = others().all(has_own);
        let mut ways = WAYS.to_vec();
        // What is due while a plain call lasts would wait for it, although it could be in flight.
        ways.retain(|way| match way {
            Way::Sync => !is_paced,
            Way::RingBeside => are_beside,
            Way::Ring | Way::Aio => true,
        });
        let turns = ways.len() * TURNS;
        let state = State { come: vec![0; turns + 1], iops: vec![0.0; turns], ..State::default() };
        Self { targets, ways, state: Mutex::new(state), changed: Condvar::new() }
    }

    pub(super) fn is_of(&self, thread: &ThreadPlan) -> bool {
        thread.tries_ways && targets_of(thread) == self.targets
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread takes no part.
    fn leave(&self) {
        let mut state = self.state();
        // Behind the first turn, it has been left out already.
        if state.begun == 0 {
            state.members -= 1;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until all threads have come to a turn: whether it begins with this one, too. Those for which
    /// the others waited too long take no part.
    fn meet(&self, turn: usize) -> bool {
        let mut state = self.state();
        if state.begun > turn {
            return false;
        }
        state.come[turn] += 1;
        self.changed.notify_all();
        let is_waiting =
            |state: &mut State| state.begun <= turn && state.come[turn] < state.members;
        let waited = self.changed.wait_timeout_while(state, PATIENCE, is_waiting);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.begun <= turn {
            state.begun = turn + 1;
            state.members = state.come[turn];
        }
        true
    }

    /// All turns of a thread; `reach` returns what it reaches in one by a way, as `enter` takes it.
    fn take_turns(&self, mut reach: impl FnMut(usize) -> Option<f64>) {
        let turns = TURNS * self.ways.len();
        for turn in 0..turns {
            if !self.meet(turn) {
                return;
            }
            self.enter(turn, reach(turn % self.ways.len()));
        }
        if self.meet(turns) {
            self.decide();
        }
    }

    /// What one thread reached in a turn; nothing if the way is closed to it.
    fn enter(&self, turn: usize, iops: Option<f64>) {
        let mut state = self.state();
        match iops {
            Some(iops) => state.iops[turn] += iops,
            None => state.refused.push(self.ways[turn % self.ways.len()]),
        }
    }

    /// The best turn of each way that all threads can go.
    fn rates(&self, state: &State) -> Vec<(Way, f64)> {
        let best = |index: usize| {
            let turns = (0..TURNS).map(|turn| state.iops[turn * self.ways.len() + index]);
            turns.fold(0.0, f64::max)
        };
        let rates = self.ways.iter().enumerate().map(|(index, &way)| (way, best(index)));
        rates.filter(|(way, iops)| *iops > 0.0 && !state.refused.contains(way)).collect()
    }

    /// Closes the trial, if no other thread has: nobody decides before all have been heard.
    fn decide(&self) {
        let mut state = self.state();
        if state.decision.is_none() {
            let rates = self.rates(&state);
            state.decision = Some(Decision { way: choose(&rates), rates });
            self.changed.notify_all();
        }
    }

    /// The way that all threads go; none if nothing could be tried.
    fn decided(&self) -> Option<Way> {
        let is_open = |state: &mut State| state.decision.is_none() && state.members > 0;
        let waited = self.changed.wait_timeout_while(self.state(), PATIENCE_OUTSIDE, is_open);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.decision.as_ref().and_then(|decision| decision.way)
    }

    /// What was tried; nothing before the trial has ended.
    pub(super) fn tried(&self) -> Vec<TriedWay> {
        let Some(decision) = self.state().decision.clone() else { return Vec::new() };
        let told = decision.rates.into_iter().map(|(way, iops)| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate")]
            let iops = iops.round() as u64;
            TriedWay { way: way.name().to_owned(), iops }
        });
        told.collect()
    }
}

/// The fastest way, or one before it that is as fast; none if nothing could be tried.
fn choose(rates: &[(Way, f64)]) -> Option<Way> {
    let best = rates.iter().map(|(_, iops)| *iops).fold(0.0, f64::max);
    let good = rates.iter().find(|(_, iops)| iops * MARGIN >= best);
    good.map(|(way, _)| *way)
}

impl Shared {
    /// The way that proved the fastest for a thread; none if none was tried.
    pub(super) fn tried_way(&self, thread: &ThreadPlan, layout: &SlotLayout) -> Option<Way> {
        let trial = self.trial(thread)?;
        match self.reads(thread, layout) {
            Some(reads) => self.take_turns(trial, thread, layout, &reads),
            None => trial.leave(),
        }
        trial.decided()
    }

    fn take_turns(&self, trial: &Trial, thread: &ThreadPlan, layout: &SlotLayout, reads: &Reads) {
        // A plain call costs less for a thread that shares its table of open files with no other.
        own_open_files();
        let way = |&way| (self.backend(thread, layout, way), reads.clone());
        let mut tried: Vec<_> = trial.ways.iter().map(way).collect();
        trial.take_turns(|way| {
            let (backend, reads) = &mut tried[way];
            backend.as_mut().and_then(|backend| backend.turn(reads))
        });
    }

    /// Where each slot reads, if the targets are such that the way to them matters.
    fn reads(&self, thread: &ThreadPlan, layout: &SlotLayout) -> Option<Reads> {
        let files = open(&self.plan, thread)?;
        let is_local = |file: &TargetFile| is_served(file.as_std()).is_ok_and(|served| !served);
        if files.iter().all(TargetFile::takes_nowait) || !files.iter().all(is_local) {
            return None;
        }
        if layout.slot_bytes.iter().sum::<usize>() > BUFFERS_BYTES {
            return None;
        }
        let mut reads = Reads::new(&self.plan, thread, layout)?;
        let resources = self.reading((thread, EngineKind::Sync), layout, Vec::new())?;
        let mut backend = SyncBackend::new(files, resources);
        let mut took_ns = [0; LOOKS];
        for one_ns in &mut took_ns {
            let began_ns = RealClock.now_ns();
            let (_, ended_ns) = drive(&mut backend, &mut reads, 1, u64::MAX)?;
            *one_ns = ended_ns.saturating_sub(began_ns);
        }
        // The middle one: a thread that loses its CPU meanwhile would leave the trial to the others.
        took_ns.sort_unstable();
        (took_ns[LOOKS / 2] <= FAST_NS).then_some(reads)
    }

    fn reading(
        &self,
        of: (&ThreadPlan, EngineKind),
        layout: &SlotLayout,
        files: Vec<TargetFile>,
    ) -> Option<Resources> {
        setup::resources(&self.plan, of, layout, &self.sources, files).ok()
    }

    /// A way to read; nothing if it does not work here.
    fn backend(&self, thread: &ThreadPlan, layout: &SlotLayout, way: Way) -> Option<Tried> {
        let files = open(&self.plan, thread)?;
        let of = (thread, way.engine());
        if way == Way::Sync {
            let resources = self.reading(of, layout, Vec::new())?;
            return Some(Tried::Sync(SyncBackend::new(files, resources)));
        }
        let resources = self.reading(of, layout, files)?;
        if way == Way::Aio {
            return Some(Tried::Aio(AioBackend::new(setup::aio(thread, resources).ok()?)));
        }
        Some(Tried::Ring(Box::new(setup::ring(thread, resources, way.workers()).ok()?)))
    }
}

/// A way that is tried.
enum Tried {
    Ring(Box<UringBackend>),
    Aio(AioBackend),
    Sync(SyncBackend<TargetFile>),
}

impl Tried {
    /// Reads per second in one turn.
    fn turn(&mut self, reads: &mut Reads) -> Option<f64> {
        match self {
            Self::Ring(backend) => turn(backend.as_mut(), reads),
            Self::Aio(backend) => turn(backend, reads),
            Self::Sync(backend) => turn(backend, reads),
        }
    }
}

/// The targets of a thread, open for reading and as the run caches them.
fn open(plan: &SpanPlan, thread: &ThreadPlan) -> Option<Vec<TargetFile>> {
    let open = |target: &TargetPlan| {
        let flags = OpenFlags { write: false, direct: target.open.direct, write_through: false };
        TargetFile::open(target.path(), flags).ok()
    };
    thread.assignments.iter().map(|assignment| open(&plan.targets[assignment.target])).collect()
}

/// Random reads for the slots of a thread.
#[derive(Clone)]
struct Reads {
    /// For each slot: file, bytes, first offset, distance between places, and how many there are.
    slots: Vec<(u32, u32, u64, u64, u64)>,
    random: Random,
}

impl Reads {
    /// Nothing if a target has no room for a read.
    fn new(plan: &SpanPlan, thread: &ThreadPlan, layout: &SlotLayout) -> Option<Self> {
        let mut slots = Vec::with_capacity(layout.slot_bytes.len());
        for slot in 0..u32::try_from(layout.slot_bytes.len()).ok()? {
            let holds = |(first, count): &(u32, u32)| (*first..first + count).contains(&slot);
            let stream = match plan.shared_outstanding {
                0 => layout.ranges.iter().position(holds)?,
                _ => slot as usize % thread.assignments.len(),
            };
            let target = &plan.targets[thread.assignments[stream].target];
            let (offsets, bytes) = (&target.offsets, u64::from(target.block_bytes));
            let room = offsets.end_bytes.saturating_sub(offsets.base_bytes);
            let places = room.checked_div(bytes).filter(|places| *places > 0)?;
            let file = u32::try_from(stream).ok()?;
            slots.push((file, target.block_bytes, offsets.base_bytes, bytes, places));
        }
        Some(Self { slots, random: Random::new(thread.seed ^ 0x7472_6961) })
    }

    fn next(&mut self, slot: u32) -> Transfer {
        let (file, bytes, base_bytes, step_bytes, places) = self.slots[slot as usize];
        let offset_bytes = base_bytes + self.random.below(places) * step_bytes;
        let operation = Operation::Read;
        Transfer { slot, file, operation, offset_bytes, bytes, source_offset: None }
    }
}

fn turn<B: Backend>(backend: &mut B, reads: &mut Reads) -> Option<f64> {
    let began_ns = RealClock.now_ns();
    let (ios, ended_ns) = drive(backend, reads, u64::MAX, began_ns + TURN_NS)?;
    Some(ios as f64 * 1e9 / (ended_ns - began_ns).max(1) as f64)
}

/// Keeps all slots in flight for so many reads, or until an instant: how many reads had completed by then,
/// and when that was. Nothing is in flight afterwards. Nothing is reported if a read failed.
fn drive<B: Backend>(
    backend: &mut B,
    reads: &mut Reads,
    most: u64,
    until_ns: u64,
) -> Option<(u64, u64)> {
    let clock = LoopClock::default();
    let count = u32::try_from(reads.slots.len()).ok()?;
    let (mut free, mut in_flight) = ((0..count).rev().collect::<Vec<u32>>(), 0_usize);
    let mut done: Vec<Completion> = Vec::with_capacity(free.len());
    let (mut ios, mut ended, mut failed) = (0, None, false);
    loop {
        while ended.is_none()
            && in_flight < B::MAX_IN_FLIGHT
            && let Some(slot) = free.pop()
        {
            backend.submit(&reads.next(slot));
            in_flight += 1;
        }
        if in_flight == 0 {
            return ended.filter(|_| !failed);
        }
        backend.reap(Wait::ForOne, &mut done).ok()?;
        in_flight -= done.len();
        ios += done.len() as u64;
        failed |= done.iter().any(|completion| completion.result < 0);
        free.extend(done.drain(..).map(|completion| completion.slot));
        let now_ns = clock.now_ns();
        if ended.is_none() && (failed || ios >= most || now_ns >= until_ns) {
            ended = Some((ios, now_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_way_is_taken_and_of_equals_the_one_that_keeps_the_depth() {
        let rates = |ring, aio, sync| [(Way::Ring, ring), (Way::Aio, aio), (Way::Sync, sync)];
        assert_eq!(choose(&rates(31e3, 1_105e3, 1_534e3)), Some(Way::Sync));
        assert_eq!(choose(&rates(31e3, 1_530e3, 1_534e3)), Some(Way::Aio));
        assert_eq!(choose(&rates(500e3, 300e3, 100e3)), Some(Way::Ring));
        assert_eq!(choose(&[]), None);
    }

    const WAYS_HERE: [Way; 2] = [Way::Ring, Way::Sync];

    fn trial(members: usize) -> Trial {
        let turns = WAYS_HERE.len() * TURNS;
        let (come, iops) = (vec![0; turns + 1], vec![0.0; turns]);
        let state = Mutex::new(State { members, come, iops, ..State::default() });
        Trial { targets: vec![0], ways: WAYS_HERE.to_vec(), state, changed: Condvar::new() }
    }

    /// A thread that takes part, with what it reaches by each way.
    fn member(trial: &Trial, reached: [Option<f64>; 2]) {
        trial.take_turns(|way| reached[way]);
    }

    fn ways(trial: &Trial) -> Vec<(String, u64)> {
        trial.tried().into_iter().map(|one| (one.way, one.iops)).collect()
    }

    #[test]
    fn a_thread_that_takes_no_part_goes_the_way_of_the_others() {
        let trial = trial(2);
        let outside = || {
            trial.leave();
            trial.decided()
        };
        let [first, second] = std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                member(&trial, [Some(5.0), Some(9.0)]);
                trial.decided()
            });
            [scope.spawn(outside), inside].map(|one| one.join().unwrap())
        });
        assert_eq!((first, second), (Some(Way::Sync), Some(Way::Sync)));
    }

    #[test]
    fn a_thread_that_comes_late_neither_adds_to_what_was_measured_nor_decides_otherwise() {
        let trial = trial(2);
        member(&trial, [Some(5.0), Some(9.0)]);
        let before = ways(&trial);
        member(&trial, [Some(900.0), Some(1.0)]);
        assert_eq!((ways(&trial), trial.decided()), (before, Some(Way::Sync)));
    }

    #[test]
    fn a_way_that_one_thread_cannot_go_is_not_taken_and_has_no_figure() {
        let trial = trial(2);
        std::thread::scope(|scope| {
            scope.spawn(|| member(&trial, [Some(5.0), Some(9.0)]));
            scope.spawn(|| member(&trial, [Some(5.0), None]));
        });
        assert_eq!(trial.decided(), Some(Way::Ring));
        assert_eq!(ways(&trial), [("io_uring".to_owned(), 10)]);
    }

    #[test]
    fn without_a_thread_that_takes_part_there_is_no_decision_to_wait_for() {
        let trial = trial(1);
        trial.leave();
        assert_eq!(trial.decided(), None);
        assert!(trial.tried().is_empty());
    }
}
