//! What the statistics say of a run whose every I/O is known beforehand.

use fathom_core::engine::backend::SimDevice;
use fathom_core::engine::simulate::simulate;
use fathom_core::engine::worker::{Failure, IoFault};
use fathom_core::measure::{DirectionRecord, Operation};
use fathom_core::plan::SpanPlan;
use fathom_core::request::OnError;
use fathom_core::units::NANOS_PER_SEC;

use crate::plans::{BLOCK, Tell, span};

const MIB: u64 = 1 << 20;

fn device(latency_ns: u64) -> SimDevice {
    SimDevice { latency_ns, ..SimDevice::default() }
}

fn reads(plan: &SpanPlan, device: &SimDevice) -> DirectionRecord {
    let simulation = simulate(plan, device).unwrap();
    simulation.measurements.threads[0].targets[0].read.clone()
}

#[test]
fn a_minute_at_100_microseconds_is_600_000_ios() {
    let reads = reads(&span(64 * MIB).seconds(60), &device(100_000));
    // The I/O that completes at the very end of the measured time no longer counts.
    assert_eq!(reads.ios, 600_000 - 1);
    assert_eq!(reads.bytes, reads.ios * BLOCK);
}

#[test]
fn the_mean_latency_is_that_of_the_device() {
    let plan = span(64 * MIB).random().outstanding(16).seconds(10);
    let reads = reads(&plan, &SimDevice { jitter_ns: 50_000, ..device(100_000) });
    let latency = reads.latency.unwrap();
    assert_eq!(latency.count(), reads.ios);
    assert!((latency.mean_ns() / 125_000.0 - 1.0).abs() < 0.01, "{}", latency.mean_ns());
    assert!(latency.min_ns() >= 100_000 && latency.max_ns() <= 150_000);
}

#[test]
fn littles_law_holds_on_a_saturated_device() {
    let plan = span(64 * MIB).random().outstanding(32).seconds(10);
    let reads = reads(&plan, &SimDevice { channels: 4, jitter_ns: 30_000, ..device(80_000) });
    let iops = reads.ios as f64 / 10.0;
    let queue_depth = iops * reads.latency.unwrap().mean_ns() / NANOS_PER_SEC as f64;
    assert!((queue_depth / 32.0 - 1.0).abs() < 0.02, "{queue_depth}");
}

#[test]
fn warm_up_and_cool_down_are_not_counted() {
    let mut plan = span(64 * MIB).seconds(2);
    plan.warm_up_ns = 3 * NANOS_PER_SEC;
    plan.cool_down_ns = 5 * NANOS_PER_SEC;
    let simulation = simulate(&plan, &device(1_000_000)).unwrap();
    assert_eq!(simulation.measurements.threads[0].targets[0].read.ios, 2_000);
    // One more is issued at each instant until the last phase ends.
    assert_eq!(simulation.records[0].len(), 10_000);
}

#[test]
fn intervals_add_up_to_the_whole() {
    let mut plan = span(64 * MIB).random().outstanding(4).writes(30).seconds(3);
    plan.interval_ns = NANOS_PER_SEC / 4;
    let simulation = simulate(&plan, &device(123_456)).unwrap();
    let record = &simulation.measurements.threads[0].targets[0];
    for direction in [&record.read, &record.write] {
        let cells = &direction.series.cells;
        assert_eq!(cells.len(), 12);
        assert_eq!(cells.iter().map(|cell| cell.ios).sum::<u64>(), direction.ios);
        assert_eq!(cells.iter().map(|cell| cell.bytes).sum::<u64>(), direction.bytes);
    }
}

#[test]
fn a_mix_of_30_percent_writes_is_held() {
    let plan = span(64 * MIB).random().outstanding(8).writes(30).seconds(100);
    let simulation = simulate(&plan, &device(800_000)).unwrap();
    let record = &simulation.measurements.threads[0].targets[0];
    let total = record.read.ios + record.write.ios;
    let share = record.write.ios as f64 / total as f64;
    assert!(total > 900_000 && (share - 0.30).abs() < 0.002, "{share} of {total}");
}

#[test]
fn the_first_failed_io_ends_the_thread_and_is_named() {
    let plan = span(64 * MIB).seconds(10);
    let faulty = SimDevice { error_ppm: 1_000_000, errno: 5, ..device(100_000) };
    let simulation = simulate(&plan, &faulty).unwrap();
    let fault = simulation.faults[0].unwrap();
    assert_eq!(
        (fault.offset_bytes, fault.failure, fault.operation),
        (0, Failure::Errno(5), Operation::Read)
    );
    let reads = &simulation.measurements.threads[0].targets[0].read;
    assert_eq!((reads.ios, reads.errors), (0, 1));
}

#[test]
fn short_transfers_are_counted_with_the_bytes_that_came() {
    let mut plan = span(64 * MIB);
    plan.faults.on_error = Some(OnError::Continue);
    let reads = reads(&plan, &SimDevice { short_ppm: 1_000_000, ..device(100_000) });
    assert!(reads.short_ios > 1_000);
    assert_eq!((reads.ios, reads.bytes), (0, reads.short_ios * BLOCK / 2));
    assert_eq!(reads.latency.unwrap().count(), 0);
}

#[test]
fn the_first_short_io_ends_the_thread_and_is_named() {
    let plan = span(64 * MIB).seconds(10);
    let faulty = SimDevice { short_ppm: 1_000_000, ..device(100_000) };
    let simulation = simulate(&plan, &faulty).unwrap();
    let fault = simulation.faults[0].unwrap();
    assert_eq!((fault.offset_bytes, fault.failure), (0, Failure::Short(2048)));
    let words = fault.describe(3, "t.dat", 64 * MIB);
    let parts =
        ["thread 3: read of 4096 bytes at offset 0 of 't.dat' moved only 2048 bytes", "67108864"];
    assert!(parts.iter().all(|part| words.contains(part)), "{words}");
    let capped = IoFault { failure: Failure::Short(0x7fff_f000), ..fault };
    assert!(capped.describe(0, "t.dat", 0).contains("smaller blocks"));
}

#[test]
fn a_stall_shows_in_the_latency_and_in_the_interval() {
    let mut plan = span(64 * MIB).seconds(4);
    plan.interval_ns = NANOS_PER_SEC;
    let stalling =
        SimDevice { stall_from_ns: NANOS_PER_SEC, stall_ns: NANOS_PER_SEC, ..device(100_000) };
    let reads = reads(&plan, &stalling);
    assert!(reads.latency.unwrap().max_ns() >= NANOS_PER_SEC);
    // The stalled I/O completes when the stall ends, which is the next interval.
    assert_eq!(reads.series.cells[1].ios, 0);
}

#[test]
fn shared_slots_follow_the_weights_of_their_targets() {
    let mut plan = span(64 * MIB).random().seconds(50);
    plan.shared_outstanding = 8;
    plan.targets.push(plan.targets[0].clone());
    let mut second = plan.threads[0].assignments[0].clone();
    second.target = 1;
    plan.threads[0].assignments.push(second);
    plan.threads[0].assignments[0].weight = 3;
    let simulation = simulate(&plan, &device(1_000_000)).unwrap();
    let targets = &simulation.measurements.threads[0].targets;
    let total = targets[0].read.ios + targets[1].read.ios;
    let share = targets[0].read.ios as f64 / total as f64;
    assert!(total > 390_000 && (share - 0.75).abs() < 0.005, "{share} of {total}");
}

#[test]
fn intervals_know_their_latencies_where_that_is_asked_for() {
    let mut plan = span(64 * MIB).seconds(2);
    plan.interval_ns = NANOS_PER_SEC / 2;
    assert!(reads(&plan, &device(100_000)).interval_latency.is_none());
    plan.interval_latency = true;
    let found = reads(&plan, &device(100_000));
    let intervals = found.interval_latency.unwrap().first(4);
    let counts: Vec<u64> = found.series.cells.iter().map(|cell| cell.ios).collect();
    let by_latency: Vec<u64> = intervals.iter().map(|one| one.bucket_counts.iter().sum()).collect();
    assert_eq!(by_latency, counts);
    // 100 us lie in the field from 98,304 ns, which is three times two to the fifteenth.
    assert!(intervals.iter().all(|one| one.bucket_lower_ns == [98_304]), "{intervals:?}");
}
