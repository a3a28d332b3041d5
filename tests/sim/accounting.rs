//! The account closes: what each slot did in each nanosecond of the measured time is in the result.

use fathom_core::engine::backend::SimDevice;
use fathom_core::engine::simulate::simulate;
use fathom_core::measure::{Edges, TargetRecord, ThreadMeasurements};
use fathom_core::plan::SpanPlan;
use fathom_core::request::OnError;
use fathom_core::units::{NANOS_PER_MILLI, NANOS_PER_SEC};

use crate::plans::{Tell, span};

const MIB: u64 = 1 << 20;

/// Latencies less ages at the start, more ages at the end, what does not count, and idle slots.
fn accounted_ns(target: &TargetRecord) -> u64 {
    let kinds = [&target.read, &target.write, &target.sync, &target.trim];
    let sum: u64 = kinds
        .into_iter()
        .map(|one| {
            let latency_ns = one.latency.as_ref().unwrap().sum_ns();
            let Edges { at_start, at_end, uncounted_ns, .. } = one.edges;
            u64::try_from(latency_ns).unwrap() + at_end.age_ns_sum + uncounted_ns
                - at_start.age_ns_sum
        })
        .sum();
    sum + target.slots.idle_ns
}

fn closed(plan: &SpanPlan, device: &SimDevice) -> Vec<ThreadMeasurements> {
    let measured = simulate(plan, device).unwrap().measurements;
    for thread in &measured.threads {
        for target in &thread.targets {
            let whole_ns = target.slots.count * measured.measured_ns;
            assert_eq!(accounted_ns(target), whole_ns, "thread {}", thread.index);
        }
    }
    measured.threads
}

fn device(latency_ns: u64) -> SimDevice {
    SimDevice { latency_ns, jitter_ns: latency_ns / 3, ..SimDevice::default() }
}

#[test]
fn the_account_closes_to_the_nanosecond() {
    let random = || span(64 * MIB).random().writes(30);
    let mut warm = random().outstanding(8).seconds(2);
    (warm.warm_up_ns, warm.cool_down_ns) = (NANOS_PER_SEC, NANOS_PER_SEC);
    let loads = [
        random(),
        random().outstanding(32).threads(3),
        warm,
        random().outstanding(4).pace(300, NANOS_PER_SEC),
        random().outstanding(4).pace(1_000_000, NANOS_PER_SEC),
        random().outstanding(4).bursts(3, 40 * NANOS_PER_MILLI),
    ];
    for (index, plan) in loads.iter().enumerate() {
        for channels in [1, 7, usize::MAX] {
            let device = SimDevice { channels, ..device(654_321) };
            let threads = closed(plan, &device);
            assert!(threads.iter().all(|thread| thread.slots.count > 0), "load {index}");
        }
    }
}

#[test]
fn failed_ios_are_in_the_account() {
    let plan = span(64 * MIB).random().outstanding(8).on_error(OnError::Continue);
    let device = SimDevice { error_ppm: 200_000, ..device(100_000) };
    let threads = closed(&plan, &device);
    assert!(threads[0].targets[0].read.edges.uncounted_ns > 0);
}

#[test]
fn a_stall_is_counted_the_same_at_both_ends() {
    let stall_ns = 300 * NANOS_PER_MILLI;
    let of = |stall_from_ns| {
        let mut plan = span(64 * MIB).random().outstanding(4).seconds(2);
        plan.warm_up_ns = NANOS_PER_SEC;
        let device = SimDevice { stall_from_ns, stall_ns, ..device(100_000) };
        closed(&plan, &device)[0].targets[0].read.edges
    };
    let (first, last) = (of(900 * NANOS_PER_MILLI), of(2_900 * NANOS_PER_MILLI));
    assert_eq!((first.at_start.ios, last.at_end.ios), (4, 4));
    let near = |age_ns: u64| age_ns.abs_diff(100 * NANOS_PER_MILLI) < NANOS_PER_MILLI;
    assert!(near(first.at_start.age_ns_max) && near(last.at_end.age_ns_max));
    // In steady state about as much is in flight at both ends, and nobody is idle.
    assert!(of(NANOS_PER_SEC * 9).at_start.ios == 4);
}

#[test]
fn ios_that_hang_over_the_whole_time_are_in_flight_at_both_ends() {
    let mut plan = span(64 * MIB).random().outstanding(2).pace(100, NANOS_PER_SEC);
    plan.warm_up_ns = NANOS_PER_SEC;
    let device = SimDevice { hang_ppm: 1_000_000, ..device(100_000) };
    let reads = closed(&plan, &device)[0].targets[0].read.edges;
    assert_eq!((reads.at_start.ios, reads.at_end.ios), (2, 2));
    assert_eq!(reads.at_end.age_ns_max, 2 * NANOS_PER_SEC);
    assert_eq!(reads.not_issued.ios, 198, "all but two of what was due in two seconds");
}

#[test]
fn what_was_due_and_not_issued_is_as_late_as_the_schedule_says() {
    let plan = span(64 * MIB).random().pace(100, NANOS_PER_SEC).seconds(2);
    let (stall_from_ns, stall_ns) = (NANOS_PER_SEC, 5 * NANOS_PER_SEC);
    let device = SimDevice { stall_from_ns, stall_ns, ..device(100_000) };
    let reads = closed(&plan, &device)[0].targets[0].read.edges;
    assert_eq!((reads.at_end.ios, reads.not_issued.ios), (1, 99));
    assert_eq!(reads.not_issued.age_ns_max, 990 * NANOS_PER_MILLI);
}
