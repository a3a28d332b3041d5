//! What all threads of a time span use together. Each of them holds it, so that one that never comes back
//! from the kernel keeps what it uses.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use fathom_sys::hand_off::Watcher;

use super::super::live::LiveBoard;
use super::super::setup::Sources;
use super::super::start_barrier::{Readiness, StartBarrier};
use super::super::start_gate::FirstBegan;
use super::super::stop::Finish;
use super::super::stream::SharedTarget;
use super::super::worker::{ThreadStatistics, Tolerance, WorkerOutcome};
use super::Control;
use super::trial::Trial;
use crate::errors::Failure;
use crate::guard::Checked;
use crate::measure::{BackendDescription, Event, Migrated, ThreadMeasurements};
use crate::plan::{SpanPlan, ThreadPlan};
use crate::verify::Tables;

/// How often, and how many times, the statistics of a thread are requested.
const TRY_EVERY: Duration = Duration::from_millis(1);
const TRIES: u32 = 1_000;

/// What all threads of a time span use together.
pub(super) struct Shared {
    pub(super) plan: SpanPlan,
    pub(super) sources: Sources,
    pub(super) targets: Vec<SharedTarget>,
    pub(super) barrier: StartBarrier,
    pub(super) began: FirstBegan,
    pub(super) live: Option<LiveBoard>,
    pub(super) finish: Finish,
    pub(super) tolerance: Tolerance,
    pub(super) verification: Option<Arc<Tables>>,
    pub(super) checked: Checked,
    /// Ends all threads: set when the run must stop, and by a thread whose I/O failed.
    pub(super) halt: AtomicBool,
    verbose: bool,
    events: mpsc::Sender<Event>,
    /// The statistics of each thread, once it has some.
    statistics: Vec<Mutex<Option<Watcher<ThreadStatistics>>>>,
    /// The trials of threads with the same targets.
    pub(super) trials: Vec<Trial>,
    /// Where each thread ended up that did not stay where it had been pinned to.
    migrated: Vec<OnceLock<Migrated>>,
}

impl Shared {
    pub(super) fn new(
        plan: &SpanPlan,
        control: &Control<'_>,
        sources: Sources,
        events: mpsc::Sender<Event>,
    ) -> Self {
        Self {
            plan: plan.clone(),
            sources,
            targets: plan.targets.iter().map(SharedTarget::new).collect(),
            barrier: StartBarrier::default(),
            began: FirstBegan::default(),
            live: control.live.then(|| {
                let names = plan.targets.iter().map(|target| target.name.clone()).collect();
                LiveBoard::new(plan.threads.len(), names)
            }),
            finish: Finish::new(plan),
            tolerance: Tolerance::new(plan.faults),
            verification: control.verification.clone(),
            checked: control.checked.clone(),
            halt: AtomicBool::new(false),
            verbose: control.verbose,
            events,
            statistics: plan.threads.iter().map(|_| Mutex::new(None)).collect(),
            trials: Trial::of(plan),
            migrated: plan.threads.iter().map(|_| OnceLock::new()).collect(),
        }
    }

    /// Starts one thread, which ends by itself.
    pub(super) fn start(
        shared: &Arc<Self>,
        index: usize,
        ready: Readiness,
        leaving: Leaving,
    ) -> io::Result<()> {
        let shared = Arc::clone(shared);
        let builder = std::thread::Builder::new().name(format!("load {index}"));
        let started = builder.spawn(move || {
            let word = shared.thread(&shared.plan.threads[index], ready);
            leaving.tell(word);
        });
        started.map(drop)
    }

    /// Tells something to whoever follows the run.
    pub(super) fn tell(&self, event: Event) {
        // The coordinator has gone only if it does not wait for this thread any more.
        let _told = self.events.send(event);
    }

    pub(super) fn step(&self, words: impl FnOnce() -> String) {
        if self.verbose {
            self.tell(Event::Step(words()));
        }
    }

    /// Leaves a thread's statistics where they are found if it does not come back.
    pub(super) fn post(&self, thread: usize, statistics: Watcher<ThreadStatistics>) {
        let mut place = self.statistics[thread].lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(statistics);
    }

    /// A number that changes each time the thread goes into the kernel and comes back, and whether it is
    /// in there; nothing before it has statistics.
    pub(super) fn moves(&self, thread: usize) -> Option<(u64, bool)> {
        let place = self.statistics[thread].lock().unwrap_or_else(PoisonError::into_inner);
        place.as_ref().map(Watcher::moves)
    }

    /// Tells where a thread ended up, as its last deed.
    pub(super) fn has_migrated(&self, thread: usize, migrated: Migrated) {
        // Each thread says so once.
        let _said = self.migrated[thread].set(migrated);
    }

    /// The trial that a thread takes part in.
    pub(super) fn trial(&self, thread: &ThreadPlan) -> Option<&Trial> {
        self.trials.iter().find(|trial| trial.is_of(thread))
    }

    /// What a thread measured, from its closed statistics.
    pub(super) fn measurements(
        &self,
        thread: &ThreadPlan,
        outcome: WorkerOutcome,
    ) -> ThreadMeasurements {
        let fallback = thread.engine_fallback.clone();
        ThreadMeasurements {
            index: thread.index,
            targets: outcome.targets,
            slots: outcome.slots,
            waits: outcome.waits,
            backend: BackendDescription {
                fallback,
                tried: self.trial(thread).map(Trial::tried).unwrap_or_default(),
                ..outcome.backend
            },
            cpu_ns: outcome.cpu.total_ns,
            user_cpu_ns: outcome.cpu.user_ns,
            cpu_waited_ns: outcome.cpu_waited_ns,
            migrated: self.migrated[thread.index].get().cloned(),
        }
    }

    /// The statistics of a thread that has ended, or that is in the kernel and then never comes back.
    pub(super) fn statistics(&self, thread: usize) -> Option<ThreadStatistics> {
        let mut place = self.statistics[thread].lock().unwrap_or_else(PoisonError::into_inner);
        let mut watcher = place.take()?;
        // One that has come back just now goes on or ends, so that its statistics are free a moment later.
        for _ in 0..TRIES {
            match watcher.take() {
                Ok(statistics) => return Some(statistics),
                Err(at_home) => watcher = at_home,
            }
            std::thread::sleep(TRY_EVERY);
        }
        None
    }
}

/// A thread's last word: it has ended, or why it failed.
pub(super) struct Report {
    pub(super) thread: usize,
    pub(super) word: Result<(), Failure>,
}

/// What a thread reports with. One that panics before it has spoken is reported as such.
pub(super) struct Leaving {
    thread: usize,
    to: Option<mpsc::Sender<Report>>,
}

impl Leaving {
    pub(super) fn new(thread: usize, to: mpsc::Sender<Report>) -> Self {
        Self { thread, to: Some(to) }
    }

    fn tell(mut self, word: Result<(), Failure>) {
        self.send(word);
    }

    fn send(&mut self, word: Result<(), Failure>) {
        if let Some(to) = self.to.take() {
            // Nobody listens only if nobody waits for this thread any more.
            let _told = to.send(Report { thread: self.thread, word });
        }
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.send(Err("a thread panicked".into()));
    }
}
