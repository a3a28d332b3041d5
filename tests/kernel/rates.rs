//! Rates are delivered as they were requested, and what they hide is reported.

use std::time::Duration;

use fathom_core::measure::LatencyHistogram;
use serde_json::Value;

use crate::bench::{Bench, has_ram_disk, ios, records};
use crate::stalling::Stalling;

/// A busy host may take the CPU away just when the measured time ends; it does not do so three times.
const ATTEMPTS: usize = 3;

/// I/Os per second, by the counts and the measured time of the result.
fn iops(result: &Value) -> f64 {
    let measured_ns = result["time_spans"][0]["measured_ns"].as_u64().unwrap();
    ios(result) as f64 * 1e9 / measured_ns as f64
}

#[test]
fn ten_thousand_iops_are_delivered_to_a_tenth_of_a_percent() {
    if !has_ram_disk() {
        return;
    }
    let bench = Bench::new();
    let rates: Vec<f64> = (0..ATTEMPTS)
        .map(|_| {
            let args = "-W0 -d10 -b4K -r -t2 -o16 -Su -L --rate=10000 -f64M -Rjson /dev/zram0";
            let output = bench.run(args);
            assert_eq!(output.status.code(), Some(0));
            iops(&serde_json::from_slice(&output.stdout).unwrap())
        })
        .take_while(|rate| (rate / 10_000.0 - 1.0).abs() > 0.001)
        .collect();
    assert!(rates.len() < ATTEMPTS, "{rates:?}");
}

/// A histogram of all threads.
fn histogram(result: &Value, kind: &str) -> LatencyHistogram {
    let mut sum = LatencyHistogram::new();
    for record in records(result, "read") {
        sum.merge(&serde_json::from_value(record[kind].clone()).unwrap());
    }
    sum
}

#[test]
fn a_stall_of_a_second_shows_in_response_times_and_the_text_says_why() {
    let bench = Bench::new();
    let folder = bench.path("mounted");
    std::fs::create_dir(&folder).unwrap();
    let stall = Duration::from_secs(1);
    let Some(stalling) = Stalling::mount(&folder, 600, stall) else { return };
    let file = stalling.file();
    let json = bench.path("result.json");
    let args = format!(
        "-W0 -d5 -b4K -r -t1 -o4 -L --rate=500 --json={} {}",
        json.display(),
        file.display()
    );
    let output = bench.run(&args);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let (service, response) = (histogram(&result, "latency"), histogram(&result, "response"));
    // 500 of 2500 I/Os were due in the stall, four were in flight.
    assert!(service.max_ns() >= 900_000_000, "{}", service.max_ns());
    assert!(response.quantile_ns(0.99) >= 800_000_000, "{}", response.quantile_ns(0.99));
    assert!(service.quantile_ns(0.99) < 400_000_000, "{}", service.quantile_ns(0.99));
    let warnings = result["warnings"].as_array().unwrap();
    let found = warnings.iter().find(|one| one["kind"] == "response_behind_schedule").unwrap();
    let evidence = found["evidence"].as_str().unwrap();
    assert!(evidence.contains("held the 4 outstanding ones"), "{evidence}");
    assert!(text.contains(evidence) && text.contains("Response times of timespan 1:"), "{text}");
}
