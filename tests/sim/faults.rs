//! I/Os that fail, in simulation: what the result says is what the device answered.

use fathom_core::engine::backend::SimDevice;
use fathom_core::engine::simulate::{Simulation, simulate};
use fathom_core::engine::worker::Failure;
use fathom_core::measure::{FaultKind, FaultRecord, Operation};
use fathom_core::plan::SpanPlan;
use fathom_core::request::OnError;

use crate::plans::{BLOCK, Tell, span};

const MIB: u64 = 1 << 20;
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

fn device(error_ppm: u32, errno: i32) -> SimDevice {
    SimDevice { error_ppm, errno, ..SimDevice::default() }
}

/// The device's own log: I/Os of one operation that it answered in one way.
fn answered(simulation: &Simulation, operation: Operation, kind: FaultKind) -> u64 {
    let is_so = |result: i32| match kind {
        FaultKind::Errno(errno) => result == -errno,
        FaultKind::Short => (0..i32::try_from(BLOCK).unwrap()).contains(&result),
    };
    let records = simulation.records.iter().flatten();
    let wanted = records.filter(|one| one.transfer.operation == operation && is_so(one.result));
    wanted.count() as u64
}

fn faults(simulation: &Simulation) -> Vec<FaultRecord> {
    let threads = &simulation.measurements.threads;
    let statistics = threads.iter().flat_map(|thread| &thread.targets);
    statistics.flat_map(|target| target.faults.0.clone()).collect()
}

/// Measured faults, and those outside of the measured time.
fn counted(simulation: &Simulation, operation: Operation, kind: FaultKind) -> (u64, u64) {
    let all = faults(simulation).into_iter();
    let wanted = all.filter(|one| (one.operation, one.kind) == (operation, kind));
    wanted.fold((0, 0), |sum, one| (sum.0 + one.ios, sum.1 + one.outside_ios))
}

fn run(plan: &SpanPlan, device: &SimDevice) -> Simulation {
    simulate(plan, device).unwrap()
}

#[test]
fn a_run_that_goes_on_counts_each_error_and_uses_each_slot_again() {
    let plan = span(64 * MIB).random().writes(50).outstanding(8).seconds(2);
    let simulation = run(&plan.on_error(OnError::Continue), &device(100_000, ENOSPC));
    assert_eq!(simulation.faults, [None]);
    let target = &simulation.measurements.threads[0].targets[0];
    let kind = FaultKind::Errno(ENOSPC);
    for (operation, record) in [(Operation::Read, &target.read), (Operation::Write, &target.write)]
    {
        let (measured, outside) = counted(&simulation, operation, kind);
        assert_eq!(record.errors, measured);
        assert_eq!(measured + outside, answered(&simulation, operation, kind));
        assert!(measured > 5_000, "{measured}");
    }
    // Every slot was used to the end: 8 I/Os per 100 microseconds, for two seconds.
    assert_eq!(simulation.records[0].len(), 8 * 20_000);
}

#[test]
fn the_error_with_the_given_number_ends_the_run() {
    for errors in [1, 2, 1_000] {
        let plan = span(64 * MIB).random().seconds(60).on_error(OnError::Count(errors));
        let simulation = run(&plan, &device(500_000, EIO));
        let (measured, outside) = counted(&simulation, Operation::Read, FaultKind::Errno(EIO));
        assert_eq!((measured, outside), (u64::from(errors), 0));
        assert_eq!(simulation.faults[0].unwrap().failure, Failure::Errno(EIO));
    }
}

#[test]
fn threads_count_their_errors_together() {
    let plan = span(64 * MIB).random().threads(3).seconds(1).on_error(OnError::Count(20_001));
    let simulation = run(&plan, &device(1_000_000, EIO));
    // Threads of the simulation run one after the other: two have all of the second, 10 000 I/Os each.
    let faulted: Vec<bool> = simulation.faults.iter().map(Option::is_some).collect();
    assert_eq!(faulted, [false, false, true]);
}

#[test]
fn errors_outside_of_the_measured_time_are_told_apart() {
    let mut plan = span(64 * MIB).random().outstanding(4).seconds(1).on_error(OnError::Continue);
    plan.warm_up_ns = plan.measured_ns;
    plan.cool_down_ns = plan.measured_ns;
    let simulation = run(&plan, &device(1_000_000, EIO));
    let (measured, outside) = counted(&simulation, Operation::Read, FaultKind::Errno(EIO));
    assert_eq!(measured, 40_000);
    assert_eq!(measured + outside, simulation.records[0].len() as u64);
}

#[test]
fn short_transfers_are_kinds_of_their_own() {
    let mut plan = span(64 * MIB).random().writes(30).outstanding(4).seconds(1);
    plan.faults.on_error = Some(OnError::Continue);
    let simulation = run(&plan, &SimDevice { short_ppm: 200_000, ..SimDevice::default() });
    for operation in [Operation::Read, Operation::Write] {
        let (measured, outside) = counted(&simulation, operation, FaultKind::Short);
        assert!(measured > 1_000);
        assert_eq!(measured + outside, answered(&simulation, operation, FaultKind::Short));
    }
}
