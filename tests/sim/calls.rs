//! Plain calls take a short way through the loop. Whatever the load and the device do, a run by them is the
//! run of depth 1 that takes the whole loop: the same I/Os at the same times, and the same statistics.

use fathom_core::engine::backend::SimDevice;
use fathom_core::engine::simulate::{Simulation, simulate};
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

fn assert_same(plan: SpanPlan, device: &SimDevice) {
    let calls = run(plan.clone(), EngineKind::Sync, device);
    let whole = run(plan, EngineKind::Uring, device);
    assert!(calls.records == whole.records, "the I/Os differ");
    assert_eq!(calls.faults, whole.faults);
    assert_eq!(calls.measurements.measured_ns, whole.measurements.measured_ns);
    assert_eq!(calls.measurements.outstanding, whole.measurements.outstanding);
    for (calls, whole) in calls.measurements.threads.iter().zip(&whole.measurements.threads) {
        // What both are is too long to be read.
        assert!(calls.targets == whole.targets, "the statistics differ");
        assert_eq!(calls.slots, whole.slots);
        assert_eq!(calls.waits, whole.waits);
    }
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
            assert_same(plan, &device());
        }
    }
}

#[test]
fn a_device_that_stalls_over_either_end() {
    for from_ns in [250, 700, 1_250].map(|millis| millis * NANOS_PER_MILLI) {
        let stall_ns = 100 * NANOS_PER_MILLI;
        let device = SimDevice { stall_from_ns: from_ns, stall_ns, ..device() };
        assert_same(with_phases(span(64 * MIB).random()), &device);
    }
}

#[test]
fn ios_that_fail_or_move_too_little() {
    for on_error in [OnError::Stop, OnError::Continue] {
        let device = SimDevice { error_ppm: 900, short_ppm: 700, ..device() };
        assert_same(with_phases(span(64 * MIB).random().writes(50).on_error(on_error)), &device);
    }
}

#[test]
fn rules_rates_and_bursts_that_take_the_whole_loop() {
    let rules = StopRules { ios: Some(5_000), ..StopRules::default() };
    assert_same(with_phases(span(64 * MIB).random().stop(rules)), &device());
    assert_same(with_phases(span(64 * MIB).random().pace(4_000, NANOS_PER_SEC)), &device());
    let mut plan = with_phases(span(64 * MIB).random());
    plan.progress_every_ios = 100;
    assert_same(plan, &device());
}
