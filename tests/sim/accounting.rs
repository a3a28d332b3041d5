//! The account closes: what each slot did in each nanosecond of the measured time is in the result.

use fathom_core::engine::backend::SimDevice;
use fathom_core::engine::simulate::simulate;
use fathom_core::measure::{SpanMeasurements, ThreadMeasurements};
use fathom_core::plan::{SpanPlan, StopRules};
use fathom_core::request::{OnError, Request};
use fathom_core::result::Host;
use fathom_core::result::assemble::{Provenance, assemble};
use fathom_core::units::{NANOS_PER_MILLI, NANOS_PER_SEC};
use proptest::prelude::*;
use serde_json::Value;

use crate::plans::{Tell, span};

const MIB: u64 = 1 << 20;

/// The sum of docs/faults.md for one thread on one target, or for a thread whose targets share its slots,
/// from nothing but the fields of the result in JSON.
fn accounted_ns(rows: &[&Value], slots: &Value) -> u64 {
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value}"));
    let kinds = ["read", "write", "sync", "trim"];
    let parts = rows.iter().flat_map(|row| kinds.iter().map(|kind| &row[kind]));
    let sum: u64 = parts
        .filter(|part| !part.is_null())
        .map(|part| {
            let edges = &part["edges"];
            number(&part["latency"]["sum_ns"])
                + number(&edges["at_end"]["age_ns_sum"])
                + number(&edges["uncounted_ns"])
                - number(&edges["at_least_ns"])
                - number(&edges["at_start"]["age_ns_sum"])
        })
        .sum();
    sum + number(&slots["idle_ns"])
}

/// Whether the account of a result closes.
fn check(plan: &SpanPlan, measured: SpanMeasurements) {
    let provenance =
        Provenance { command_line: String::new(), started_at_unix_s: 0, host: Host::default() };
    let result = assemble(provenance, &Request::default(), vec![(plan, measured)]);
    let result = serde_json::to_value(&result).unwrap();
    let span = &result["time_spans"][0];
    let whole_ns =
        |slots: &Value| slots["count"].as_u64().unwrap() * span["measured_ns"].as_u64().unwrap();
    for thread in span["threads"].as_array().unwrap() {
        let rows: Vec<&Value> = thread["targets"].as_array().unwrap().iter().collect();
        assert_eq!(accounted_ns(&rows, &thread["slots"]), whole_ns(&thread["slots"]), "{thread}");
        for row in rows.into_iter().filter(|row| row["slots"]["count"] != 0) {
            assert_eq!(accounted_ns(&[row], &row["slots"]), whole_ns(&row["slots"]), "{row}");
        }
    }
}

fn closed(plan: &SpanPlan, device: &SimDevice) -> Vec<ThreadMeasurements> {
    let measured = simulate(plan, device).unwrap().measurements;
    check(plan, measured.clone());
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

/// A file that was cut short while it was read: 31,181 short I/Os belonged to nothing, 3.8 % of the time.
#[test]
fn short_ios_are_in_the_account() {
    let plan = span(64 * MIB).random().outstanding(4).on_error(OnError::Continue);
    let device = SimDevice { short_ppm: 300_000, ..device(100_000) };
    let reads = &closed(&plan, &device)[0].targets[0].read;
    assert!(reads.short_ios > 0 && reads.edges.uncounted_ns > 100_000 * reads.short_ios);
}

/// Two I/Os that hung for all of a second were counted twice: as latencies, and as ages at the end.
#[test]
fn ages_that_are_latencies_are_in_the_account_once() {
    for stall_from_ns in [0, NANOS_PER_SEC / 2] {
        let plan = span(64 * MIB).random().outstanding(2);
        let device = SimDevice { stall_from_ns, stall_ns: 9 * NANOS_PER_SEC, ..device(100_000) };
        closed(&plan, &device);
    }
}

#[derive(Debug, Clone)]
struct Drawn {
    outstanding: u32,
    threads: usize,
    shared: u32,
    writes: u32,
    rate: Option<u64>,
    warm_up_ms: u64,
    stop_after: Option<u64>,
    on_error: OnError,
    device: SimDevice,
}

fn drawn_device() -> impl Strategy<Value = SimDevice> {
    let faults = (0_u32..3, 0_u32..3, 0_u32..2);
    let times = (10_000_u64..5_000_000, 0_u64..2_000, 0_u64..1_500);
    (any::<u64>(), faults, times, 1_usize..9).prop_map(|(seed, faults, times, channels)| {
        SimDevice {
            seed,
            error_ppm: faults.0 * 90_000,
            short_ppm: faults.1 * 110_000,
            hang_ppm: faults.2 * 300,
            latency_ns: times.0,
            jitter_ns: times.0 / 3,
            stall_from_ns: times.1 * NANOS_PER_MILLI,
            stall_ns: times.2 * NANOS_PER_MILLI,
            channels,
            ..SimDevice::default()
        }
    })
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let load = (1_u32..17, 1_usize..4, 0_u32..4, 0_u32..101);
    let rate = prop_oneof![Just(None), (1_u64..20_000).prop_map(Some)];
    let stop_after = prop_oneof![3 => Just(None), 1 => (1_u64..2_000).prop_map(Some)];
    let policy = prop_oneof![3 => Just(OnError::Continue), 1 => Just(OnError::Stop)];
    (load, rate, 0_u64..1_200, stop_after, policy, drawn_device()).prop_map(
        |(load, rate, warm_up_ms, stop_after, on_error, device)| {
            let (outstanding, threads, shared, writes) = load;
            let stops = matches!(on_error, OnError::Stop);
            let shared = if rate.is_none() && shared == 1 { outstanding } else { 0 };
            Drawn {
                outstanding,
                threads,
                shared,
                writes,
                rate,
                // A simulated thread that ends in its warm-up does not end the others.
                warm_up_ms: if warm_up_ms < 400 || stops { 0 } else { warm_up_ms },
                stop_after,
                on_error,
                device,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Stalls at both ends and in between, short I/Os, errors that end the load or do not, I/Os that hang,
    /// rates, warm-up, shared slots, and a number of I/Os that ends the time.
    #[test]
    fn the_account_of_any_load_closes_from_the_json_alone(drawn in drawn()) {
        let mut plan = span(64 * MIB).random().threads(drawn.threads).writes(drawn.writes);
        plan = plan.outstanding(drawn.outstanding).on_error(drawn.on_error);
        if let Some(rate) = drawn.rate {
            plan = plan.pace(rate, NANOS_PER_SEC);
        }
        plan.shared_outstanding = drawn.shared;
        plan.warm_up_ns = drawn.warm_up_ms * NANOS_PER_MILLI;
        // A device that hangs forever never ends such a load, and simulated threads end it each for itself.
        let rules = StopRules { ios: drawn.stop_after, ..StopRules::default() };
        if drawn.device.hang_ppm == 0 && drawn.threads == 1 {
            plan = plan.stop(rules);
        }
        let measured = simulate(&plan, &drawn.device).unwrap().measurements;
        check(&plan, measured);
    }
}
