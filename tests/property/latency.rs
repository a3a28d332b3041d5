//! The histogram against two oracles: a sorted list, and the HdrHistogram crate.

use fathom_core::measure::LatencyHistogram;
use hdrhistogram::Histogram;
use proptest::collection::vec;
use proptest::prelude::*;

const HOUR_NS: u64 = 3_600_000_000_000;

fn filled(values: &[u64]) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::new();
    for &value in values {
        histogram.record(value);
    }
    histogram
}

/// Values of every magnitude, each magnitude as likely as the others.
fn latency_ns() -> impl Strategy<Value = u64> {
    (0_u32..42, any::<u64>()).prop_map(|(bits, value)| (value % (1 << bits)).min(HOUR_NS))
}

/// The value that `quantile` of the sorted values do not exceed.
fn nearest_rank(sorted: &[u64], quantile: f64) -> u64 {
    let rank = (quantile * sorted.len() as f64 - 1e-9).ceil().max(1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 <= rank <= len")]
    let index = rank as usize - 1;
    sorted[index.min(sorted.len() - 1)]
}

fn near(value: u64, exact: u64) -> bool {
    value.abs_diff(exact) <= exact / 1024
}

proptest! {
    #[test]
    fn quantiles_are_those_of_the_sorted_values(values in vec(latency_ns(), 1..400)) {
        let histogram = filled(&values);
        let mut sorted = values;
        sorted.sort_unstable();
        for quantile in [0.0, 0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0] {
            let (ours, exact) = (histogram.quantile_ns(quantile), nearest_rank(&sorted, quantile));
            prop_assert!(near(ours, exact), "{quantile}: {ours} instead of {exact}");
        }
        prop_assert_eq!(histogram.min_ns(), sorted[0]);
        prop_assert_eq!(histogram.max_ns(), sorted[sorted.len() - 1]);
    }

    #[test]
    fn it_agrees_with_the_hdrhistogram_crate(values in vec(1..HOUR_NS, 1..400)) {
        let ours = filled(&values);
        let mut theirs = Histogram::<u64>::new_with_bounds(1, HOUR_NS, 3).unwrap();
        for &value in &values {
            theirs.record(value).unwrap();
        }
        prop_assert_eq!(ours.count(), theirs.len());
        for quantile in [0.5, 0.9, 0.99, 0.999] {
            let (ours, theirs) = (ours.quantile_ns(quantile), theirs.value_at_quantile(quantile));
            prop_assert!(ours.abs_diff(theirs) <= theirs / 500, "{quantile}: {ours}, {theirs}");
        }
    }

    #[test]
    fn mean_and_deviation_are_exact(values in vec(latency_ns(), 1..200)) {
        let histogram = filled(&values);
        let count = values.len() as f64;
        let mean = values.iter().map(|&value| value as f64).sum::<f64>() / count;
        let variance = values.iter().map(|&value| (value as f64 - mean).powi(2)).sum::<f64>() / count;
        prop_assert!((histogram.mean_ns() - mean).abs() <= mean * 1e-9);
        prop_assert!((histogram.stddev_ns() - variance.sqrt()).abs() <= mean.max(1.0) * 1e-6);
    }

    #[test]
    fn merging_is_recording_all(
        left in vec(latency_ns(), 0..100),
        right in vec(latency_ns(), 0..100),
    ) {
        let mut merged = filled(&left);
        merged.merge(&filled(&right));
        let all = filled(&[left, right].concat());
        prop_assert!(merged.buckets().eq(all.buckets()));
        let ends = |histogram: &LatencyHistogram| {
            (histogram.count(), histogram.min_ns(), histogram.max_ns())
        };
        prop_assert_eq!(ends(&merged), ends(&all));
    }

    #[test]
    fn a_stored_histogram_is_read_back(values in vec(latency_ns(), 0..200)) {
        let histogram = filled(&values);
        let text = serde_json::to_string(&histogram).unwrap();
        let again: LatencyHistogram = serde_json::from_str(&text).unwrap();
        prop_assert!(again.buckets().eq(histogram.buckets()));
        prop_assert_eq!(again.min_ns(), histogram.min_ns());
        prop_assert!((again.mean_ns() - histogram.mean_ns()).abs() < 1e-6);
    }
}

#[test]
fn values_beyond_an_hour_go_into_the_last_bucket_and_keep_the_maximum() {
    let histogram = filled(&[u64::MAX, 5]);
    assert_eq!((histogram.count(), histogram.max_ns(), histogram.min_ns()), (2, u64::MAX, 5));
    assert!(histogram.quantile_ns(0.9) > HOUR_NS);
}

#[test]
fn a_stored_histogram_whose_buckets_do_not_add_up_is_refused() {
    let text = serde_json::to_string(&filled(&[1, 2, 3])).unwrap();
    let forged = text.replace("\"count\":3", "\"count\":4");
    assert!(serde_json::from_str::<LatencyHistogram>(&forged).is_err());
}

#[test]
fn a_stored_histogram_whose_least_is_above_its_greatest_is_refused() {
    let mut histogram = LatencyHistogram::new();
    histogram.record(5_000);
    let mut stored = serde_json::to_value(&histogram).unwrap();
    stored["min_ns"] = 6_000.into();
    let error = serde_json::from_value::<LatencyHistogram>(stored).unwrap_err().to_string();
    assert!(error.contains("least latency"), "{error}");
}

/// Each of them was entered by itself, which took longer than a run of a rate that no device keeps.
#[test]
fn a_number_of_values_beyond_any_run_is_entered_and_cut_at_once() {
    let mut histogram = LatencyHistogram::new();
    histogram.record_several(1_000, 1 << 43);
    histogram.record_several(5_000_000, 3 << 42);
    let above = histogram.above(1_000_000);
    assert_eq!((histogram.count(), above.count()), (5 << 42, 3 << 42));
    assert_eq!(above.max_ns(), 5_000_000);
    assert!(above.min_ns().abs_diff(5_000_000) <= 5_000_000 / 1_024, "{}", above.min_ns());
}

#[test]
fn several_equal_values_at_once_are_the_same_as_one_by_one() {
    let (mut one_by_one, mut at_once) = (LatencyHistogram::new(), LatencyHistogram::new());
    for (value_ns, times) in [(900, 3), (70_000, 2), (900, 1), (31, 0)] {
        (0..times).for_each(|_| one_by_one.record(value_ns));
        at_once.record_several(value_ns, times);
    }
    assert_eq!(one_by_one, at_once);
}
