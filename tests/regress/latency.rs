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
