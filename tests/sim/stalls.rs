//! Stalls that the end of the measured time cuts off are reported, however slow the device and deep the
//! queue; and a device that is slow all the time has not stalled.

use fathom_core::dialect::diskspd::result_xml;
use fathom_core::engine::backend::{Operation, SimDevice};
use fathom_core::plan::SpanPlan;
use fathom_core::result::{RunResult, WarningKind};
use fathom_core::units::{NANOS_PER_MILLI, NANOS_PER_SEC};

use crate::plans::{Tell, span};
use crate::warnings::{evidence, result};

/// So many I/Os outstanding on each of some threads.
fn loads(threads: usize, outstanding: u32, seconds: u64) -> SpanPlan {
    let plan = span(64 << 20).random().threads(threads);
    let mut plan = plan.outstanding(outstanding).seconds(seconds);
    plan.measure_latency = false;
    plan
}

fn load(outstanding: u32, seconds: u64) -> SpanPlan {
    loads(1, outstanding, seconds)
}

/// A device that serves so many I/Os at once, each in so many milliseconds.
fn device(channels: usize, latency_ms: u64) -> SimDevice {
    SimDevice { channels, latency_ns: latency_ms * NANOS_PER_MILLI, ..SimDevice::default() }
}

/// The same, and from some instant on nothing completes any more.
fn dying(device: &SimDevice, from_ms: u64) -> SimDevice {
    let (stall_from_ns, stall_ns) = (from_ms * NANOS_PER_MILLI, 600 * NANOS_PER_SEC);
    SimDevice { stall_from_ns, stall_ns, ..device.clone() }
}

fn told(result: &RunResult) -> Option<&str> {
    evidence(result, WarningKind::StalledAtEnd)
}

/// A device of 160 I/Os per second hung for the last 2.4 of 4 s, and nothing said so: the mean that the
/// oldest was compared with contained the stall.
#[test]
fn a_stall_at_the_end_is_told_with_a_deep_queue_on_a_slow_device() {
    for latency in [false, true] {
        let mut plan = load(32, 4);
        plan.measure_latency = latency;
        let found = result(plan, &dying(&device(32, 200), 1_600));
        let told = told(&found).expect("a stall");
        assert!(told.contains("32 I/Os were in flight at its end, the oldest for 2.6"), "{told}");
        assert!(told.contains("while those that completed took 200.000 ms on average"), "{told}");
    }
}

/// The same of four threads on a disk of 150 I/Os per second, whose latency is nearly a second at this depth.
#[test]
fn a_disk_that_dies_halfway_is_told_with_128_ios_outstanding() {
    let disk = SimDevice { jitter_ns: 8 * NANOS_PER_MILLI, ..device(1, 22) };
    let found = result(loads(4, 32, 10), &dying(&disk, 5_000));
    assert!(told(&found).expect("a stall").contains("128 I/Os were in flight"), "{found:?}");
}

#[test]
fn a_device_that_is_slow_all_the_time_has_not_stalled() {
    let slow = [
        (load(1, 10), device(1, 1_000)),
        (load(1, 1), device(1, 700)),
        (load(32, 4), device(1, 200)),
        (load(32, 10), device(32, 3_000)),
        (loads(4, 8, 10), device(1, 330)),
        (load(2, 10).pace(1, NANOS_PER_SEC), device(1, 900)),
        (load(4, 3).writes(50), device(4, 260)),
    ];
    for (index, (plan, device)) in slow.into_iter().enumerate() {
        for latency in [false, true] {
            for seed in 0..10 {
                let jitter_ns = device.latency_ns / 2 * (seed % 2);
                let mut plan = plan.clone();
                plan.measure_latency = latency;
                let found = result(plan, &SimDevice { seed, jitter_ns, ..device.clone() });
                assert_eq!(told(&found), None, "load {index}, seed {seed}");
            }
        }
    }
}

/// Twelve writes and no read: both slots had hung in reads for 0.95 of 1 s, and nothing said so.
#[test]
fn one_operation_that_never_completes_is_told_by_name() {
    let stalls = Some(Operation::Read);
    let hanging = SimDevice { stalls, ..dying(&device(usize::MAX, 1), 0) };
    let found = result(load(2, 1).writes(50), &hanging);
    let told = told(&found).expect("a stall");
    assert!(told.contains("2 reads were in flight at its end"), "{told}");
    assert!(told.contains("none of these had completed in the 1.00 s"), "{told}");
}

/// The mean of the sentence was 24.469 ms where the table had 24.321.
#[test]
fn the_mean_beside_a_stall_is_that_of_completed_ios_and_the_one_of_the_table() {
    let plan = span(64 << 20).random().outstanding(2).seconds(2);
    let found = result(plan, &dying(&device(2, 10), 1_000));
    let told = told(&found).expect("a stall");
    assert!(told.contains("while those that completed took 10.000 ms on average"), "{told}");
    // 198 of 10 ms, and two that had taken 1.01 s.
    let read = &found.time_spans[0].threads[0].targets[0].read;
    let mean_ms = read.latency.as_ref().unwrap().mean_ns() / 1e6;
    assert!(told.contains(&format!("the mean of the table, {mean_ms:.3} ms")), "{told}");
    assert_eq!(format!("{mean_ms:.3}"), "20.000");
}

/// `SampleMillisecond="1200"` of a run of 1 s, with the rate of an interval of 300 ms; and a bucket without
/// I/Os whose least latency and mean were 0, and the greatest 2387 ms.
#[test]
fn buckets_end_with_the_measured_time_and_have_the_latencies_of_what_completed() {
    let mut plan = span(64 << 20).random().outstanding(2);
    plan.interval_ns = 300 * NANOS_PER_MILLI;
    let found = result(plan.clone(), &device(2, 1));
    assert_eq!(found.time_spans[0].last_interval_ns, 100 * NANOS_PER_MILLI);
    let xml = result_xml::write(&found);
    let buckets: Vec<&str> = xml.lines().filter(|line| line.contains("<Bucket ")).collect();
    assert_eq!(buckets.len(), 8, "of the time span, and of the thread's target");
    for (bucket, end_ms) in buckets.iter().zip([300, 600, 900, 1_000]) {
        assert!(bucket.contains(&format!("SampleMillisecond=\"{end_ms}\"")), "{bucket}");
        // What completes as the time ends is no part of it.
        let rate = bucket.split("Read=\"").nth(1).unwrap().split('"').next().unwrap();
        assert!((1_980..=2_000).contains(&rate.parse().unwrap()), "{bucket}");
    }
    let stalled = result_xml::write(&result(plan, &dying(&device(2, 1), 200)));
    let last = stalled.lines().rfind(|line| line.contains("<Bucket ")).unwrap();
    for figure in ["Min", "Max", "Avg"] {
        assert!(last.contains(&format!("Read{figure}LatencyMilliseconds=\"0.000\"")), "{last}");
    }
}
