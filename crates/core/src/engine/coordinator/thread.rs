//! One thread of load: set up, run, and its statistics closed.

use std::sync::atomic::Ordering;

use fathom_sys::hand_off::hand_off;
use fathom_sys::thread::ShortSlice;
use fathom_sys::transfer::Resources;

#[cfg(feature = "net")]
use super::super::backend::NetBackend;
use super::super::backend::{AioBackend, Backend, NullBackend, SyncBackend, Workers};
use super::super::clock::{Clock, LoopClock, RealClock};
use super::super::random::Random;
use super::super::setup::{self, SetupError, SlotLayout};
use super::super::start_barrier::Readiness;
use super::super::stream::{self, StreamContext};
use super::super::worker::{ThreadStatistics, Worker, WorkerSetup};
use super::START_DELAY_NS;
use super::place::Place;
use super::shared::Shared;
use crate::errors::Failure;
use crate::measure::Event;
use crate::plan::{EngineKind, Order, ThreadPlan};

impl Shared {
    /// One thread of load, from its set-up to its statistics.
    pub(super) fn thread(&self, thread: &ThreadPlan, mut ready: Readiness) -> Result<(), Failure> {
        let layout = self.prepare(thread);
        let place = Place::of(thread);
        let outcome = layout.and_then(|layout| self.dispatch(thread, &layout, &mut ready));
        if let Some(migrated) = place.and_then(|place| place.migrated()) {
            self.has_migrated(thread.index, migrated);
        }
        outcome.inspect_err(|reason| {
            self.halt.store(true, Ordering::Relaxed);
            ready.tell(Err(reason.clone()));
        })
    }

    fn prepare(&self, thread: &ThreadPlan) -> Result<SlotLayout, Failure> {
        setup::prepare_thread(&self.plan, thread)?;
        if let Some(pin) = thread.cpu {
            self.step(|| {
                let (thread, group, cpu) = (thread.index, pin.group, pin.index);
                format!("thread {thread}: affinitizing to Group {group} / CPU {cpu}")
            });
        }
        self.tell_loads(thread);
        Ok(SlotLayout::new(&self.plan, thread))
    }

    /// Makes the backend that the plan names, and runs the loop over it.
    fn dispatch(
        &self,
        thread: &ThreadPlan,
        layout: &SlotLayout,
        ready: &mut Readiness,
    ) -> Result<(), Failure> {
        let words = |error: SetupError| Failure::from(error);
        let open = || setup::open_all(&self.plan, thread, &self.checked);
        let (engine, workers) = match self.tried_way(thread, layout) {
            Some(way) => (way.engine(), way.workers()),
            None => (thread.engine, Workers::Planned),
        };
        let resources = |files| {
            let of = (thread, engine);
            let made = setup::resources(&self.plan, of, layout, &self.sources, files)?;
            self.tell_buffers(thread, made.buffers.address());
            Ok(made)
        };
        match engine {
            EngineKind::Uring if thread.tuning.changes_ring() => {
                let tuned = |resources| setup::tuned_ring(&self.plan, thread, resources);
                let ring = open().and_then(resources).and_then(tuned).map_err(words)?;
                self.load(thread, layout, ring, ready)
            }
            EngineKind::Uring => {
                let ring = open().and_then(resources);
                let ring = ring.and_then(|own| setup::ring(thread, own, workers));
                self.load(thread, layout, ring.map_err(words)?, ready)
            }
            EngineKind::Aio => {
                let aio = |resources| setup::aio(thread, resources);
                let aio = open().and_then(resources).and_then(aio).map_err(words)?;
                self.load(thread, layout, AioBackend::new(aio), ready)
            }
            EngineKind::Sync => {
                let files = open().map_err(words)?;
                let resources = resources(Vec::new()).map_err(words)?;
                self.load(thread, layout, SyncBackend::new(files, resources), ready)
            }
            EngineKind::Mapped => {
                let maps = setup::map_all(&self.plan, thread, &self.checked).map_err(words)?;
                let resources = resources(Vec::new()).map_err(words)?;
                self.load(thread, layout, SyncBackend::new(maps, resources), ready)
            }
            EngineKind::Net => {
                let resources = resources(Vec::new()).map_err(words)?;
                self.network(thread, layout, resources, ready)
            }
            EngineKind::Null => {
                let resources = resources(Vec::new()).map_err(words)?;
                self.load(thread, layout, NullBackend::new(resources.buffers), ready)
            }
        }
    }

    /// Connects to the targets of a thread, and runs the loop over the connections.
    #[cfg(feature = "net")]
    fn network(
        &self,
        thread: &ThreadPlan,
        layout: &SlotLayout,
        resources: Resources,
        ready: &mut Readiness,
    ) -> Result<(), Failure> {
        let targets = setup::connect_all(&self.plan, thread)?;
        self.load(thread, layout, NetBackend::new(targets, resources, &self.halt), ready)
    }

    /// No plan has such a thread where no client is built in.
    #[cfg(not(feature = "net"))]
    fn network(
        &self,
        _: &ThreadPlan,
        _: &SlotLayout,
        _: Resources,
        _: &mut Readiness,
    ) -> Result<(), Failure> {
        let words = "this build has no targets over the network (the feature `net`)";
        Err(Failure::new(crate::errors::Kind::Unsupported, words))
    }

    /// What the thread will do with each of its targets, in the words of `DiskSpd` 2.2.
    fn tell_loads(&self, thread: &ThreadPlan) {
        for assignment in &thread.assignments {
            let (index, relative, target) =
                (thread.index, assignment.relative_thread, &self.plan.targets[assignment.target]);
            self.step(|| {
                let (name, seed) = (&target.name, thread.seed);
                format!(
                    "thread {index}: file '{name}' relative thread {relative} (random seed: {seed})"
                )
            });
            self.step(|| format!("thread {index}: {}", order_in_words(target.offsets.order)));
        }
    }

    fn tell_buffers(&self, thread: &ThreadPlan, address: usize) {
        self.step(|| {
            let apart = match thread.tuning.buffer_separation_bytes {
                0 => "system default".to_owned(),
                bytes => format!("{} MiB apart from others", bytes >> 20),
            };
            format!("thread {}: I/O buffers at {address:#x}, {apart}", thread.index)
        });
    }

    fn load<B: Backend>(
        &self,
        thread: &ThreadPlan,
        layout: &SlotLayout,
        backend: B,
        ready: &mut Readiness,
    ) -> Result<(), Failure> {
        let recorder = stream::recorder(&self.plan, thread);
        let (statistics, watcher) =
            hand_off(ThreadStatistics::new(recorder, layout.slot_bytes.len()));
        self.post(thread.index, watcher);
        let clock = LoopClock::default();
        ready.tell(Ok(()));
        self.step(|| format!("thread {}: waiting for a signal to start", thread.index));
        let Some(schedule) = self.barrier.wait() else { return Ok(()) };
        self.step(|| format!("thread {}: received signal to start", thread.index));
        let context = StreamContext {
            plan: &self.plan,
            targets: &self.targets,
            sources: &self.sources,
            verification: self.verification.as_deref(),
        };
        let progress = || self.tell(Event::Progress);
        let places = thread.assignments.iter().map(|one| one.target).collect();
        let setup = WorkerSetup {
            backend,
            clock,
            streams: stream::streams(thread, layout, &context, schedule.start_ns),
            shared_weights: stream::shared_weights(&self.plan, thread),
            slots: layout.slot_bytes.len(),
            random: Random::new(thread.seed),
            tolerance: &self.tolerance,
            stop: &self.halt,
            finish: &self.finish,
            live: self.live.as_ref().map(|board| {
                board.feed((schedule.start_ns, schedule.stop_ns), layout.slot_bytes.len(), places)
            }),
            progress_every_ios: self.plan.progress_every_ios,
            progress: &progress,
        };
        self.begin_at(schedule.start_ns);
        Worker::new(setup, schedule).run(statistics).map_err(|error| error.to_string())?;
        Ok(())
    }

    /// Sleeps until the load begins. Where several hosts have agreed on that instant, the thread takes its
    /// CPU then from whoever computes there, such as Python.
    fn begin_at(&self, start_ns: u64) {
        let is_agreed = start_ns.saturating_sub(RealClock.now_ns()) > START_DELAY_NS;
        let slice = is_agreed.then(ShortSlice::begin);
        RealClock.sleep_until_ns(start_ns);
        self.began.at(RealClock.now_ns());
        drop(slice);
    }
}

/// In the words of `DiskSpd` 2.2.
fn order_in_words(order: Order) -> String {
    match order {
        Order::Random => "100% random IO".to_owned(),
        Order::Mixed { random_percent } => format!("{random_percent}% random IO"),
        Order::Interlocked => "interlocked sequential IO".to_owned(),
        Order::Sequential | Order::SameOffset => "sequential IO".to_owned(),
    }
}
