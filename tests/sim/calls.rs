//! Plain calls, and I/Os that differ in their offsets only, take a short way through the loop. Whatever the
//! load and the device do, a run by it is the run that takes the whole loop: the same I/Os at the same times,
//! and the same statistics.

use fathom_core::engine::backend::{SimDevice, SimRecord};
use fathom_core::engine::simulate::{Simulation, simulate};
use fathom_core::measure::{TargetRecord, ThreadMeasurements};
use fathom_core::plan::{EngineKind, Order, SpanPlan, StopRules};
use fathom_core::request::OnError;
use fathom_core::units::{NANOS_PER_MILLI, NANOS_PER_SEC};

use crate::plans::{Tell, span};

const MIB: u64 = 1 << 20;

fn run(mut plan: SpanPlan, engine: EngineKind, device: &SimDevice) -> Simulation {
    for thread in &mut plan.threads {
        thread.engine = engine;
    }
    simulate(&plan, device).unwrap()
}

/// What is called every so many I/Os is left to the whole loop.
fn by_the_whole_loop(mut plan: SpanPlan, device: &SimDevice) -> Simulation {
    plan.progress_every_ios = u64::MAX;
    run(plan, EngineKind::Uring, device)
}

/// At depth 1, by plain calls and through a queue.
fn assert_same(plan: &SpanPlan, device: &SimDevice) {
    let whole = by_the_whole_loop(plan.clone(), device);
    for engine in [EngineKind::Sync, EngineKind::Uring] {
        assert_same_run(&run(plan.clone(), engine, device), &whole);
    }
}

/// With several in flight.
fn assert_same_at_depth(plan: SpanPlan, device: &SimDevice) {
    let short = run(plan.clone(), EngineKind::Uring, device);
    assert_same_run(&short, &by_the_whole_loop(plan, device));
}

fn assert_same_run(short: &Simulation, whole: &Simulation) {
    assert!(without_slots(short) == without_slots(whole), "the I/Os differ");
    assert_eq!(short.faults, whole.faults);
    assert_eq!(short.measurements.measured_ns, whole.measurements.measured_ns);
    assert_eq!(short.measurements.outstanding, whole.measurements.outstanding);
    for (short, whole) in short.measurements.threads.iter().zip(&whole.measurements.threads) {
        // What both are is too long to be read.
        assert!(without_order(short) == without_order(whole), "the statistics differ");
        assert_eq!(short.slots, whole.slots);
        assert_eq!(short.waits, whole.waits);
    }
}

/// All I/Os of each thread. Which slot an I/O had is no matter: the loop takes the one that was freed last.
fn without_slots(run: &Simulation) -> Vec<Vec<SimRecord>> {
    let mut records = run.records.clone();
    records.iter_mut().flatten().for_each(|record| record.transfer.slot = 0);
    records
}

/// A thread's statistics. Ages at the end are kept from that of the first slot on, so that they are left to
/// their sum and ends, which stand at the edges.
fn without_order(thread: &ThreadMeasurements) -> Vec<TargetRecord> {
    let mut targets = thread.targets.clone();
    for target in &mut targets {
        (target.read.ages, target.write.ages) = (None, None);
    }
    targets
}

fn device() -> SimDevice {
    SimDevice { seed: 7, latency_ns: 20_000, jitter_ns: 90_000, ..SimDevice::default() }
}

fn with_phases(mut plan: SpanPlan) -> SpanPlan {
    (plan.warm_up_ns, plan.cool_down_ns) = (300 * NANOS_PER_MILLI, 200 * NANOS_PER_MILLI);
    plan.interval_ns = 130 * NANOS_PER_MILLI;
    plan
}

#[test]
fn reads_and_writes_in_any_order_with_all_phases() {
    for order in [Order::Random, Order::Sequential, Order::Mixed { random_percent: 40 }] {
        for writes in [0, 30, 100] {
            let plan = with_phases(span(64 * MIB).order(order).writes(writes).threads(2));
            assert_same(&plan, &device());
        }
    }
}

#[test]
fn a_device_that_stalls_over_either_end() {
    for from_ns in [250, 700, 1_250].map(|millis| millis * NANOS_PER_MILLI) {
        let stall_ns = 100 * NANOS_PER_MILLI;
        let device = SimDevice { stall_from_ns: from_ns, stall_ns, ..device() };
        assert_same(&with_phases(span(64 * MIB).random()), &device);
    }
}

#[test]
fn ios_that_fail_or_move_too_little() {
    for on_error in [OnError::Stop, OnError::Continue] {
        let device = SimDevice { error_ppm: 900, short_ppm: 700, ..device() };
        assert_same(&with_phases(span(64 * MIB).random().writes(50).on_error(on_error)), &device);
    }
}

#[test]
fn rules_rates_and_bursts_that_take_the_whole_loop() {
    let rules = StopRules { ios: Some(5_000), ..StopRules::default() };
    assert_same(&with_phases(span(64 * MIB).random().stop(rules)), &device());
    assert_same(&with_phases(span(64 * MIB).random().pace(4_000, NANOS_PER_SEC)), &device());
    let mut plan = with_phases(span(64 * MIB).random());
    plan.progress_every_ios = 100;
    assert_same(&plan, &device());
}

/// One that completes several at once: no more than a few are served together, and at times none is.
fn device_of_batches() -> SimDevice {
    let (stall_from_ns, stall_ns) = (600 * NANOS_PER_MILLI, 2 * NANOS_PER_MILLI);
    SimDevice { jitter_ns: 0, stall_from_ns, stall_ns, ..device() }
}

#[test]
fn several_in_flight_of_one_kind() {
    for order in [Order::Random, Order::Sequential, Order::Mixed { random_percent: 40 }] {
        for writes in [0, 100] {
            let plan = with_phases(span(64 * MIB).order(order).writes(writes).threads(2));
            for device in [device(), device_of_batches()] {
                assert_same_at_depth(plan.clone().outstanding(8), &device);
            }
        }
    }
}

#[test]
fn several_in_flight_of_which_some_fail_or_move_too_little() {
    for on_error in [OnError::Stop, OnError::Continue] {
        let device = SimDevice { error_ppm: 900, short_ppm: 700, ..device_of_batches() };
        let plan = with_phases(span(64 * MIB).random().on_error(on_error));
        assert_same_at_depth(plan.outstanding(8), &device);
    }
}

#[test]
fn several_in_flight_that_are_mixed_counted_or_due_at_times() {
    let plan = || with_phases(span(64 * MIB).random().outstanding(8));
    let rules = StopRules { ios: Some(5_000), ..StopRules::default() };
    assert_same_at_depth(plan().stop(rules), &device());
    assert_same_at_depth(plan().writes(30), &device());
    assert_same_at_depth(plan().pace(40_000, NANOS_PER_SEC), &device());
}
