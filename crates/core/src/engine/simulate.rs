//! Whole time spans on a simulated device: exact counts, every offset recorded, no waiting.
//!
//! Threads run one after the other, each on a clock of its own that starts at 0, so that a
//! simulation repeats exactly.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use super::backend::{BackendError, SimBackend, SimClock, SimDevice, SimRecord};
use super::clock::Schedule;
use super::lane::{self, LaneContext, SharedTarget};
use super::random::Random;
use super::setup::{self, SetupError, SlotLayout};
use super::worker::{IoFault, Worker, WorkerSetup};
use crate::measure::{Ending, SpanMeasurements, ThreadMeasurements};
use crate::plan::{SpanPlan, ThreadPlan};

/// What a simulated time span gave.
#[derive(Debug)]
pub struct Simulation {
    /// The measurements, as a real run would give them; there is no CPU use.
    pub measurements: SpanMeasurements,
    /// Every I/O of each thread, in the order of submission.
    pub records: Vec<Vec<SimRecord>>,
    /// The I/O that ended each thread, if any.
    pub faults: Vec<Option<IoFault>>,
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
pub fn simulate(plan: &SpanPlan, device: &SimDevice) -> Result<Simulation, SimulationError> {
    let sources = setup::make_sources(plan)?;
    let targets: Vec<_> = plan.targets.iter().map(SharedTarget::new).collect();
    let context = LaneContext { plan, targets: &targets, sources: &sources };
    let mut simulation = Simulation {
        measurements: SpanMeasurements {
            ending: Ending::Complete,
            measured_ns: plan.measured_ns,
            cpus: Vec::new(),
            threads: Vec::new(),
        },
        records: Vec::new(),
        faults: Vec::new(),
    };
    for thread in &plan.threads {
        simulate_thread(thread, &context, device, &mut simulation)?;
    }
    Ok(simulation)
}

fn simulate_thread(
    thread: &ThreadPlan,
    context: &LaneContext<'_>,
    device: &SimDevice,
    simulation: &mut Simulation,
) -> Result<(), SimulationError> {
    let plan = context.plan;
    let layout = SlotLayout::new(plan, thread);
    let clock = SimClock::default();
    let record = Rc::new(RefCell::new(Vec::new()));
    let device = SimDevice { seed: device.seed.wrapping_add(thread.seed), ..device.clone() };
    let stop = AtomicBool::new(false);
    let setup = WorkerSetup {
        backend: SimBackend::new(clock.clone(), device, &layout.slot_bytes, Rc::clone(&record)),
        clock,
        lanes: lane::lanes(thread, &layout, context, 0),
        shared_weights: lane::shared_weights(plan, thread),
        slots: layout.slot_bytes.len(),
        recorder: lane::recorder(plan, thread),
        random: Random::new(thread.seed),
        stop: &stop,
        live: None,
        progress_every_ios: 0,
        progress: &|| {},
    };
    let outcome = Worker::new(setup, Schedule::new(plan, 0)).run()?;
    simulation.records.push(record.take());
    simulation.faults.push(outcome.fault);
    simulation.measurements.threads.push(ThreadMeasurements {
        index: thread.index,
        targets: outcome.targets,
        waits: outcome.waits,
        backend: outcome.backend,
        cpu_ns: 0,
        user_cpu_ns: 0,
    });
    Ok(())
}
