//! Whole time spans on a simulated device: exact counts, every offset recorded, no waiting.
//!
//! Threads run one after the other, each on a clock of its own that starts at 0, so that a
//! simulation repeats exactly.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use fathom_sys::hand_off::{Owner, hand_off};

use super::backend::{Backend, BackendError, SimBackend, SimCalls, SimClock, SimDevice, SimRecord};
use super::clock::{Clock, Schedule};
use super::coordinator::outstanding;
use super::random::Random;
use super::setup::{self, SetupError, SlotLayout};
use super::stop::judge::Judge;
use super::stop::{self, Finish};
use super::stream::{self, SharedTarget, StreamContext};
use super::worker::{IoFault, ThreadStatistics, Tolerance, Worker, WorkerSetup};
use crate::measure::{Ending, SpanMeasurements, StopCause, Stretches, ThreadMeasurements};
use crate::plan::{EngineKind, SpanPlan, ThreadPlan};
use crate::verify::Tables;

/// What a simulated time span gave.
#[derive(Debug)]
pub struct Simulation {
    /// The measurements, as a real run would give them; there is no CPU use.
    pub measurements: SpanMeasurements,
    /// Every I/O of each thread, in the order of submission.
    pub records: Vec<Vec<SimRecord>>,
    /// The I/O that ended each thread, if any.
    pub faults: Vec<Option<IoFault>>,
    /// For each thread, the stretches of its streams in which nothing came back, if it followed them.
    pub stretches: Vec<Vec<Stretches>>,
}

/// Why a simulation could not run.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// The write buffers could not be made.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// Runs a time span on a simulated device.
///
/// Threads know nothing of each other, so that a rule that judges their rates together is looked at when
/// all have run; where it is met, they run again until the end of that interval, which repeats exactly.
/// Counts that threads would share are divided among them.
pub fn simulate(plan: &SpanPlan, device: &SimDevice) -> Result<Simulation, SimulationError> {
    simulate_verified(plan, device, None)
}

/// The same, with verification. The device should have a memory. Not with rules that judge the rate: a
/// second round would meet the tables of the first.
pub fn simulate_verified(
    plan: &SpanPlan,
    device: &SimDevice,
    verification: Option<&Tables>,
) -> Result<Simulation, SimulationError> {
    let until_ns = Schedule::new(plan, 0).measure_until_ns;
    let mut judge = Judge::new(&plan.stop);
    let first = simulate_until(plan, device, verification, until_ns)?;
    let met = first.judged(plan, &mut judge).filter(|(_, until_ns)| *until_ns <= first.until_ns);
    let (round, cause) = match met {
        Some((cause, until_ns)) => {
            (simulate_until(plan, device, verification, until_ns)?, Some(cause))
        }
        None => (first, None),
    };
    let cause = cause.or(round.cause).unwrap_or(StopCause::Duration);
    let measured_ns = round.until_ns - plan.warm_up_ns;
    let mut simulation = round.simulation;
    let measurements = &mut simulation.measurements;
    measurements.measured_ns = measured_ns;
    measurements.stop = plan.stop.any().then(|| stop::report(cause, &plan.stop, &judge));
    for thread in &mut measurements.threads {
        thread.cut_series(measured_ns, plan.interval_ns);
    }
    Ok(simulation)
}

/// All threads once, up to some end of the measured time.
struct Round {
    simulation: Simulation,
    /// The end of the measured time: that of the last thread.
    until_ns: u64,
    /// The rule by which the threads themselves ended it.
    cause: Option<StopCause>,
    /// I/Os per interval of all threads together.
    intervals: Vec<u64>,
}

impl Round {
    /// The rule about the rate that is met, if any, and the end of the interval in which it is.
    fn judged(&self, plan: &SpanPlan, judge: &mut Judge) -> Option<(StopCause, u64)> {
        for (index, &ios) in (1..).zip(&self.intervals) {
            if let Some(cause) = judge.next(ios) {
                return Some((cause, plan.warm_up_ns + index * judge.interval_ns()));
            }
        }
        None
    }

    fn add_intervals(&mut self, counts: Vec<u64>) {
        if self.simulation.records.len() == 1 {
            self.intervals = counts;
            return;
        }
        // An interval is complete when all threads have passed it.
        self.intervals.truncate(counts.len());
        self.intervals.iter_mut().zip(counts).for_each(|(sum, ios)| *sum += ios);
    }
}

fn simulate_until(
    plan: &SpanPlan,
    device: &SimDevice,
    verification: Option<&Tables>,
    until_ns: u64,
) -> Result<Round, SimulationError> {
    let sources = setup::make_sources(plan, false, &|_| {})?;
    let targets: Vec<_> = plan.targets.iter().map(SharedTarget::new).collect();
    let context = StreamContext { plan, targets: &targets, sources: &sources, verification };
    let measurements = SpanMeasurements::nothing(Ending::Complete);
    let simulation =
        Simulation { measurements, records: Vec::new(), faults: Vec::new(), stretches: Vec::new() };
    let mut round = Round { simulation, until_ns: 0, cause: None, intervals: Vec::new() };
    let tolerance = Tolerance::new(plan.faults);
    for (index, thread) in plan.threads.iter().enumerate() {
        let finish = Finish::of_thread(plan, index);
        finish.open(until_ns);
        simulate_thread(thread, &context, device, (&finish, &tolerance), &mut round.simulation)?;
        round.until_ns = round.until_ns.max(finish.until_ns());
        round.cause = round.cause.or(finish.cause());
        round.add_intervals(finish.take_intervals());
    }
    Ok(round)
}

fn simulate_thread(
    thread: &ThreadPlan,
    context: &StreamContext<'_>,
    device: &SimDevice,
    (finish, tolerance): (&Finish, &Tolerance),
    simulation: &mut Simulation,
) -> Result<(), SimulationError> {
    let plan = context.plan;
    let layout = SlotLayout::new(plan, thread);
    let clock = SimClock::default();
    let record = Rc::new(RefCell::new(Vec::new()));
    let device = SimDevice { seed: device.seed.wrapping_add(thread.seed), ..device.clone() };
    let recorder = stream::recorder(plan, thread);
    let (statistics, watcher) = hand_off(ThreadStatistics::new(recorder, layout.slot_bytes.len()));
    let ended = clock.clone();
    let hangs = device.hang_ppm > 0;
    let backend = SimBackend::new(clock.clone(), device, &layout.slot_bytes, Rc::clone(&record));
    let around = (thread, context, &layout);
    let ran = match thread.engine {
        EngineKind::Sync | EngineKind::Mapped => {
            run_worker(SimCalls(backend), clock, around, (finish, tolerance), statistics)
        }
        _ => run_worker(backend, clock, around, (finish, tolerance), statistics),
    };
    match ran {
        // It would wait forever; its statistics are found as those of a thread that never comes back.
        Err(_) if hangs => {}
        other => other?,
    }
    let statistics =
        watcher.take().ok().expect("the worker has ended, and its statistics have no other owner");
    let outcome = statistics.close(&(plan.warm_up_ns..finish.until_ns()));
    let unfinished = outstanding(thread, &outcome, 0, ended.now_ns());
    simulation.measurements.outstanding.extend(unfinished);
    simulation.records.push(record.take());
    simulation.faults.push(outcome.fault);
    simulation.stretches.push(outcome.stretches);
    simulation.measurements.threads.push(ThreadMeasurements {
        index: thread.index,
        targets: outcome.targets,
        slots: outcome.slots,
        waits: outcome.waits,
        backend: outcome.backend,
        cpu_ns: 0,
        user_cpu_ns: 0,
        cpu_waited_ns: None,
        migrated: None,
    });
    Ok(())
}

/// Runs the load of one thread over a kind of backend.
fn run_worker(
    backend: impl Backend,
    clock: SimClock,
    (thread, context, layout): (&ThreadPlan, &StreamContext<'_>, &SlotLayout),
    (finish, tolerance): (&Finish, &Tolerance),
    statistics: Owner<ThreadStatistics>,
) -> Result<(), BackendError> {
    let plan = context.plan;
    let halt = AtomicBool::new(false);
    let setup = WorkerSetup {
        backend,
        clock,
        streams: stream::streams(thread, layout, context, 0),
        shared_weights: stream::shared_weights(plan, thread),
        slots: layout.slot_bytes.len(),
        random: Random::new(thread.seed),
        tolerance,
        stop: &halt,
        finish,
        live: None,
        progress_every_ios: plan.progress_every_ios,
        progress: &|| {},
    };
    Worker::new(setup, Schedule::new(plan, 0)).run(statistics)
}
