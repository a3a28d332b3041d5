//! Percentiles.

use fathom_core::measure::LatencyHistogram;

#[test]
fn the_greatest_latency_was_that_of_the_middle_of_its_bucket() {
    let mut histogram = LatencyHistogram::new();
    for value_ns in [1_000, 2_000_000, 36_559_123] {
        histogram.record(value_ns);
    }
    assert_eq!(histogram.quantile_ns(1.0), 36_559_123);
    assert_eq!(histogram.quantile_ns(0.999_999_999), 36_559_123);
    assert_eq!(histogram.quantile_ns(0.0), 1_000);
    // What lies between the ends is known to a bucket.
    let middle_ns = histogram.quantile_ns(0.5);
    assert!(middle_ns.abs_diff(2_000_000) < 2_000, "{middle_ns}");
}

/// Squares of great latencies lose small differences between them in their rounding: the deviation of
/// 1e9 ns +- 100 was 0, and that of 1e10 ns +- 1000 was 2611.
#[test]
fn the_deviation_of_great_latencies_that_differ_little_is_kept() {
    for (mean_ns, apart_ns) in [(1_000_000_000_u64, 100_u64), (10_000_000_000, 1_000)] {
        let (mut even, mut odd) = (LatencyHistogram::new(), LatencyHistogram::new());
        for _ in 0..500_000 {
            even.record(mean_ns - apart_ns);
            odd.record(mean_ns + apart_ns);
        }
        // Merged either way, and read back from a file.
        let mut merged = even.clone();
        merged.merge(&odd);
        odd.merge(&even);
        let text = serde_json::to_string(&merged).unwrap();
        let read: LatencyHistogram = serde_json::from_str(&text).unwrap();
        for histogram in [&merged, &odd, &read] {
            let found = histogram.stddev_ns();
            assert!((found - apart_ns as f64).abs() < 1e-3, "{mean_ns}: {found}");
        }
    }
}
