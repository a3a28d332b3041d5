//! Rates are exact over any length of time; bursts leave the gap that was requested.

use fathom_core::engine::backend::SimDevice;
use fathom_core::engine::simulate::{Simulation, simulate};
use fathom_core::plan::{EngineKind, SpanPlan};
use fathom_core::units::{NANOS_PER_MILLI, NANOS_PER_SEC};

use crate::plans::{Tell, span};

const MIB: u64 = 1 << 20;

fn run(plan: &SpanPlan, latency_ns: u64) -> Simulation {
    simulate(plan, &SimDevice { latency_ns, ..SimDevice::default() }).unwrap()
}

fn completed(plan: &SpanPlan) -> u64 {
    run(plan, 10_000).measurements.threads[0].targets[0].read.ios
}

#[test]
fn every_rate_is_delivered_to_within_one_io() {
    for iops in [1, 3, 7, 1_000, 65_536, 99_999] {
        let seconds = 20;
        let plan = span(64 * MIB).outstanding(8).pace(iops, NANOS_PER_SEC).seconds(seconds);
        let ios = completed(&plan);
        assert!(ios.abs_diff(iops * seconds) <= 1, "{iops} IOPS gave {ios}");
    }
}

#[test]
fn a_rate_in_bytes_per_millisecond_that_no_block_divides_is_exact() {
    // 1000 B/ms in blocks of 4096 bytes: 1000 I/Os every 4096 ms.
    let plan = span(64 * MIB).pace(1_000, 4_096 * NANOS_PER_MILLI).seconds(4_096);
    assert!(completed(&plan).abs_diff(1_000_000) <= 1);
}

#[test]
fn ios_are_issued_at_their_instants_and_not_before() {
    let plan = span(64 * MIB).outstanding(4).pace(3, 10_000_000).seconds(1);
    let simulation = run(&plan, 10_000);
    for (index, record) in simulation.records[0].iter().enumerate() {
        let due_ns = index as u64 * 10_000_000 / 3;
        assert!((due_ns..due_ns + 10).contains(&record.at_ns), "{index}: {}", record.at_ns);
    }
}

#[test]
fn a_stall_is_caught_up_with() {
    let plan = span(64 * MIB).outstanding(8).pace(1_000, NANOS_PER_SEC).seconds(10);
    let stalling = SimDevice {
        latency_ns: 10_000,
        stall_from_ns: 4 * NANOS_PER_SEC,
        stall_ns: NANOS_PER_SEC,
        ..SimDevice::default()
    };
    let simulation = simulate(&plan, &stalling).unwrap();
    let ios = simulation.measurements.threads[0].targets[0].read.ios;
    assert!(ios.abs_diff(10_000) <= 1, "{ios}");
}

#[test]
fn a_burst_is_followed_by_its_gap() {
    let plan = span(64 * MIB).bursts(10, 5 * NANOS_PER_MILLI).seconds(1);
    let records = &run(&plan, 10_000).records[0];
    for pair in records.windows(2).enumerate() {
        let (index, [earlier, later]) = pair else { unreachable!("windows of two") };
        let gap_ns = later.at_ns - earlier.at_ns;
        let expected_ns = if index % 10 == 9 { 5 * NANOS_PER_MILLI } else { 10_000 };
        assert_eq!(gap_ns, expected_ns, "after I/O {index}");
    }
    assert!(records.len() > 1_900);
}

#[test]
fn a_rate_beyond_the_device_is_bounded_by_the_device() {
    let plan = span(64 * MIB).outstanding(1).pace(1_000_000, NANOS_PER_SEC).seconds(1);
    let ios = run(&plan, 100_000).measurements.threads[0].targets[0].read.ios;
    assert!((9_990..=10_000).contains(&ios), "{ios}");
}

#[test]
fn a_stall_shows_in_the_response_time_and_not_in_the_service_time() {
    let plan = span(64 * MIB).outstanding(2).pace(1_000, NANOS_PER_SEC).seconds(10);
    let stalling = SimDevice {
        latency_ns: 100_000,
        stall_from_ns: 4 * NANOS_PER_SEC,
        stall_ns: NANOS_PER_SEC,
        ..SimDevice::default()
    };
    let simulation = simulate(&plan, &stalling).unwrap();
    let reads = &simulation.measurements.threads[0].targets[0].read;
    let (service, response) = (reads.latency.as_ref().unwrap(), reads.response.as_ref().unwrap());
    // Two I/Os were in flight when the stall began; a thousand were due while it lasted.
    assert_eq!(service.count(), response.count());
    assert!(service.quantile_ns(0.99) < 200_000, "{}", service.quantile_ns(0.99));
    assert!(response.quantile_ns(0.95) > 400_000_000, "{}", response.quantile_ns(0.95));
}

/// The end took as long as it takes to walk over all I/Os that no device could do.
#[test]
fn a_rate_that_no_device_keeps_ends_as_soon_as_any_other() {
    for (ios, is_random) in [(50_000_000, false), (u64::MAX / 2, false), (4_000_000_000, true)] {
        let plan = span(64 * MIB).writes(30).pace(ios, NANOS_PER_SEC).seconds(1);
        let plan = if is_random { plan.poisson() } else { plan };
        let record = run(&plan, 100_000).measurements.threads[0].targets[0].clone();
        let not_issued = [record.read.edges.not_issued, record.write.edges.not_issued];
        let count: u64 = not_issued.iter().map(|one| one.ios).sum();
        let due = ios.min(10_000_000_000_000);
        assert!(count.abs_diff(due) <= due / 1_000, "{count} of {due}");
        let [reads, writes] = not_issued.map(|one| one.ios as f64);
        assert!((writes / (reads + writes) - 0.3).abs() < 0.001, "{writes} of {count}");
        let late = not_issued[0].ios + record.read.edges.at_end.ios;
        assert_eq!(record.read.lateness.as_ref().map_or(0, |late| late.count()), late);
        if ios == 50_000_000 {
            let issued = record.read.ios + record.write.ios;
            // The last one is in flight when the time ends.
            assert_eq!(count + issued + 1, ios);
            // From now back to the first one, evenly: half a second at the middle.
            let mean_ns = not_issued[0].age_ns_sum / not_issued[0].ios;
            assert!(mean_ns.abs_diff(500_000_000) < 500_000, "{mean_ns}");
        }
    }
}

#[test]
fn without_a_schedule_there_is_no_response_time() {
    let simulation = run(&span(64 * MIB), 10_000);
    assert!(simulation.measurements.threads[0].targets[0].read.response.is_none());
}

#[test]
fn poisson_arrivals_have_exponential_distances_of_the_rates_mean() {
    let plan = span(64 * MIB).outstanding(64).pace(1_000, NANOS_PER_SEC).poisson().seconds(200);
    let records = &run(&plan, 1_000).records[0];
    let distances: Vec<f64> =
        records.windows(2).map(|pair| (pair[1].at_ns - pair[0].at_ns) as f64).collect();
    let count = distances.len() as f64;
    let mean = distances.iter().sum::<f64>() / count;
    assert!((mean / 1e6 - 1.0).abs() < 0.01, "{mean}");
    let longer = distances.iter().filter(|&&distance| distance > 1e6).count() as f64 / count;
    assert!((longer - (-1.0_f64).exp()).abs() < 0.005, "{longer}");
}

#[test]
fn the_gap_of_a_synchronous_burst_begins_when_its_last_io_ends() {
    let mut plan = span(64 * MIB).bursts(2, 5 * NANOS_PER_MILLI).seconds(1);
    plan.threads[0].engine = EngineKind::Sync;
    let records = &run(&plan, 8 * NANOS_PER_MILLI).records[0];
    let gaps: Vec<u64> = records.windows(2).map(|pair| pair[1].at_ns - pair[0].at_ns).collect();
    assert_eq!(gaps[..4], [8, 13, 8, 13].map(|millis| millis * NANOS_PER_MILLI));
}
