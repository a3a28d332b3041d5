//! Rules that end the measured time: exact counts, passes that leave nothing out, and ends that are
//! told with their reason.

use std::collections::BTreeMap;

use fathom_core::engine::backend::SimDevice;
use fathom_core::engine::simulate::{Simulation, simulate};
use fathom_core::measure::{Ending, StopCause, StopReport};
use fathom_core::plan::{Order, SpanPlan, StopRules};
use fathom_core::request::{ConfidenceRule, SteadyRule};
use fathom_core::units::{NANOS_PER_MILLI, NANOS_PER_SEC};

use crate::plans::{BLOCK, Tell, span};

const MIB: u64 = 1 << 20;

fn rules() -> StopRules {
    StopRules::default()
}

fn run(plan: &SpanPlan) -> Simulation {
    simulate(plan, &SimDevice { latency_ns: 100_000, ..SimDevice::default() }).unwrap()
}

/// I/Os and bytes that were counted, of all threads, targets and directions.
fn counted(simulation: &Simulation) -> (u64, u64) {
    let threads = &simulation.measurements.threads;
    let targets = threads.iter().flat_map(|thread| &thread.targets);
    let directions = targets.flat_map(|target| [&target.read, &target.write]);
    directions.fold((0, 0), |sum, one| (sum.0 + one.ios, sum.1 + one.bytes))
}

/// How often each block was submitted, over all threads.
fn touched(simulation: &Simulation) -> BTreeMap<u64, u32> {
    let mut blocks = BTreeMap::new();
    for record in simulation.records.iter().flatten() {
        *blocks.entry(record.transfer.offset_bytes / BLOCK).or_default() += 1;
    }
    blocks
}

fn stop(simulation: &Simulation) -> &StopReport {
    assert_eq!(simulation.measurements.ending, Ending::Complete);
    simulation.measurements.stop.as_ref().unwrap()
}

#[test]
fn exactly_as_many_ios_are_counted_as_were_asked_for() {
    for ios in [1, 2, 3, 31, 32, 33, 1_000, 12_345] {
        for threads in [1, 3] {
            let plan = span(64 * MIB).random().writes(30).threads(threads).outstanding(8);
            let plan = plan.seconds(60).stop(StopRules { ios: Some(ios), ..rules() });
            let simulation = run(&plan);
            assert_eq!(counted(&simulation).0, ios, "{threads} threads");
            assert_eq!(stop(&simulation).cause, StopCause::Ios);
            let submitted: usize = simulation.records.iter().map(Vec::len).sum();
            assert_eq!(submitted as u64, ios, "nothing is submitted that is not counted");
        }
    }
}

#[test]
fn the_count_is_exact_behind_a_warm_up_and_before_a_cool_down() {
    for (ios, slots) in [(1_000, 8), (3, 8)] {
        let mut plan = span(64 * MIB).random().outstanding(slots).seconds(60);
        plan = plan.stop(StopRules { ios: Some(ios), ..rules() });
        plan.warm_up_ns = NANOS_PER_SEC;
        plan.cool_down_ns = NANOS_PER_SEC;
        let simulation = run(&plan);
        assert_eq!(counted(&simulation).0, ios);
        // A second of warm-up and one of cool-down at 80,000 a second are submitted beside them.
        let submitted = simulation.records[0].len() as u64;
        assert!((155_000..161_100 + ios).contains(&submitted), "{submitted}");
    }
}

#[test]
fn the_measured_time_is_the_true_one_so_that_rates_are_right() {
    let plan = span(64 * MIB).random().outstanding(4).seconds(60);
    let simulation = run(&plan.stop(StopRules { ios: Some(4_000), ..rules() }));
    // Four at a time, 100 us each.
    assert_eq!(simulation.measurements.measured_ns, 100 * NANOS_PER_MILLI);
    let latency = simulation.measurements.threads[0].targets[0].read.latency.as_ref().unwrap();
    assert_eq!(latency.count(), 4_000);
}

#[test]
fn intervals_end_with_the_measured_time() {
    let mut plan = span(64 * MIB).outstanding(4).seconds(60);
    plan.interval_ns = 30 * NANOS_PER_MILLI;
    let simulation = run(&plan.stop(StopRules { ios: Some(4_000), ..rules() }));
    let cells = &simulation.measurements.threads[0].targets[0].read.series.cells;
    assert_eq!(cells.len(), 4);
    assert_eq!(cells.iter().map(|cell| cell.ios).sum::<u64>(), 4_000);
}

#[test]
fn bytes_are_reached_with_whole_blocks() {
    for (bytes, blocks) in [(1, 1), (BLOCK, 1), (BLOCK + 1, 2), (10 * MIB, 2_560)] {
        let plan = span(64 * MIB).random().threads(2).outstanding(3).seconds(60);
        let simulation = run(&plan.stop(StopRules { bytes: Some(bytes), ..rules() }));
        assert_eq!(counted(&simulation), (blocks, blocks * BLOCK));
        assert_eq!(stop(&simulation).cause, StopCause::Bytes);
    }
}

#[test]
fn slots_that_are_shared_count_exactly_too() {
    let mut plan = span(64 * MIB).random().seconds(60);
    plan.shared_outstanding = 8;
    plan.targets.push(plan.targets[0].clone());
    let mut second = plan.threads[0].assignments[0].clone();
    second.target = 1;
    plan.threads[0].assignments.push(second);
    plan.warm_up_ns = NANOS_PER_SEC;
    let simulation = run(&plan.stop(StopRules { ios: Some(5_001), ..rules() }));
    assert_eq!(counted(&simulation).0, 5_001);
}

#[test]
fn a_sequential_pass_touches_each_block_once() {
    let whole = span(1_000 * BLOCK).outstanding(8).seconds(60);
    let off_the_base = span(MIB).range(3 * BLOCK, 203 * BLOCK);
    for (plan, blocks) in [(whole, 0..1_000), (off_the_base.outstanding(7).seconds(60), 3..203)] {
        let simulation = run(&plan.stop(StopRules { pass: true, ..rules() }));
        assert_eq!(stop(&simulation).cause, StopCause::Pass);
        assert!(touched(&simulation).into_iter().eq(blocks.map(|block| (block, 1))));
    }
}

#[test]
fn a_pass_that_starts_within_the_range_goes_round_to_its_start() {
    let mut plan = span(100 * BLOCK).outstanding(4).seconds(60);
    plan.threads[0].assignments[0].start_bytes = 40 * BLOCK;
    let simulation = run(&plan.stop(StopRules { pass: true, ..rules() }));
    assert!(touched(&simulation).into_iter().eq((0..100).map(|block| (block, 1))));
    assert_eq!(simulation.records[0][0].transfer.offset_bytes, 40 * BLOCK);
}

#[test]
fn an_interlocked_pass_touches_each_block_once_by_all_threads_together() {
    let plan = span(1_001 * BLOCK).order(Order::Interlocked).threads(3).outstanding(4).seconds(60);
    let simulation = run(&plan.stop(StopRules { pass: true, ..rules() }));
    assert!(touched(&simulation).into_iter().eq((0..1_001).map(|block| (block, 1))));
    assert_eq!(counted(&simulation).0, 1_001);
}

#[test]
fn a_pass_begins_again_behind_the_warm_up() {
    for order in [Order::Sequential, Order::Interlocked] {
        let mut plan = span(500 * BLOCK).order(order).outstanding(3).seconds(60);
        plan.warm_up_ns = 7_777_777;
        let simulation = run(&plan.stop(StopRules { pass: true, ..rules() }));
        assert_eq!(counted(&simulation).0, 500);
        let measured = simulation.records[0].iter().filter(|record| record.at_ns >= 7_777_777);
        let offsets: Vec<u64> = measured.map(|record| record.transfer.offset_bytes).collect();
        assert!(offsets.into_iter().eq((0..500).map(|block| block * BLOCK)), "{order:?}");
    }
}

#[test]
fn the_first_rule_that_is_met_ends_the_run() {
    let plan = |rules| span(1_000 * BLOCK).outstanding(2).seconds(1).stop(rules);
    let both = StopRules { ios: Some(900), bytes: Some(100 * BLOCK), pass: true, ..rules() };
    let simulation = run(&plan(both));
    assert_eq!((counted(&simulation).0, stop(&simulation).cause), (100, StopCause::Bytes));
    let simulation = run(&plan(StopRules { bytes: None, ..both }));
    assert_eq!((counted(&simulation).0, stop(&simulation).cause), (900, StopCause::Ios));
    let simulation = run(&plan(StopRules { bytes: None, ios: Some(5_000), ..both }));
    assert_eq!((counted(&simulation).0, stop(&simulation).cause), (1_000, StopCause::Pass));
    let late = run(&plan(StopRules { ios: Some(1_000_000), ..rules() }));
    assert_eq!(stop(&late).cause, StopCause::Duration);
    assert_eq!(late.measurements.measured_ns, NANOS_PER_SEC);
}

#[test]
fn without_rules_nothing_is_reported() {
    assert_eq!(run(&span(64 * MIB)).measurements.stop, None);
}

/// A device that is three times as fast until its cache is full.
fn filling(fresh_seconds: u64) -> SimDevice {
    SimDevice {
        latency_ns: 3_000_000,
        jitter_ns: 600_000,
        fresh_until_ns: fresh_seconds * NANOS_PER_SEC,
        fresh_latency_ns: 1_000_000,
        ..SimDevice::default()
    }
}

#[test]
fn a_mean_is_known_without_the_fast_start_of_the_device() {
    let confidence = ConfidenceRule { level_milli: 95_000, precision_milli: 1_000 };
    let plan = span(64 * MIB).random().threads(2).outstanding(4).seconds(90);
    let plan = plan.stop(StopRules { confidence: Some(confidence), ..rules() });
    let simulation = simulate(&plan, &filling(5)).unwrap();
    let report = stop(&simulation);
    assert_eq!(
        (report.cause, report.interval_ns),
        (StopCause::Confidence, 100 * NANOS_PER_MILLI),
        "{:?}",
        report.awaited
    );
    let known = report.confidence.unwrap();
    assert!((50..56).contains(&known.transient_intervals), "{known:?}");
    // Two threads with four outstanding I/Os of 3.3 ms each.
    let truth = 8.0 / 3.3e-3;
    assert!(known.iops_low <= truth * 1.001 && truth * 0.999 <= known.iops_high, "{known:?}");
    assert!(known.precision_percent <= 1.0 && known.effective_samples > 20.0);
    // All of the measured time is in the sums, the fast start too.
    let measured_ns = simulation.measurements.measured_ns;
    assert_eq!(measured_ns % report.interval_ns, 0);
    let iops = counted(&simulation).0 as f64 * 1e9 / measured_ns as f64;
    assert!(measured_ns < 60 * NANOS_PER_SEC && iops > known.iops_high, "{iops}");
}

#[test]
fn a_device_is_steady_once_the_window_lies_behind_its_fast_start() {
    let steady = SteadyRule { intervals: 10, ..SteadyRule::default() };
    let plan = span(64 * MIB).random().outstanding(8).seconds(90);
    let plan = plan.stop(StopRules { steady: Some(steady), interval_ms: Some(500), ..rules() });
    // The window is full within the fast start, which is steady too.
    let simulation = simulate(&plan, &filling(20)).unwrap();
    assert_eq!(stop(&simulation).cause, StopCause::Steady);
    assert_eq!(simulation.measurements.measured_ns, 5 * NANOS_PER_SEC);
    let simulation = simulate(&plan, &filling(3)).unwrap();
    let window = stop(&simulation).steady.unwrap();
    assert!(window.is_steady(), "{window:?}");
    let measured_ns = simulation.measurements.measured_ns;
    assert!((7 * NANOS_PER_SEC..=9 * NANOS_PER_SEC).contains(&measured_ns), "{measured_ns}");
}

#[test]
fn a_device_that_stalls_again_and_again_is_never_called_steady() {
    let steady = SteadyRule { intervals: 10, ..SteadyRule::default() };
    let plan = span(64 * MIB).bursts(500, 700 * NANOS_PER_MILLI).seconds(100);
    let simulation =
        run(&plan.stop(StopRules { steady: Some(steady), interval_ms: Some(500), ..rules() }));
    let report = stop(&simulation);
    assert_eq!(report.cause, StopCause::Duration);
    assert!(!report.steady.unwrap().is_steady());
    assert_eq!(simulation.measurements.measured_ns, 100 * NANOS_PER_SEC);
}
