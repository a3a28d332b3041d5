//! The time series of `-D`: what is shown are rates, which add up to the I/Os.

use fathom_core::measure::{IntervalCell, IntervalSeries};
use fathom_core::result::totals::Sum;
use fathom_core::units::NANOS_PER_MILLI;
use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #[test]
    fn rates_times_interval_are_the_ios(
        counts in vec(0_u64..1 << 32, 0..200),
        interval_ms in 1_u64..100_000,
    ) {
        let interval_ns = interval_ms * NANOS_PER_MILLI;
        let cell = |&ios: &u64| IntervalCell { ios, ..IntervalCell::default() };
        let cells: Vec<IntervalCell> = counts.iter().map(cell).collect();
        let interval_s = interval_ms as f64 / 1e3;
        let ios: f64 = cells.iter().map(|cell| cell.iops(interval_ns) * interval_s).sum();
        let expected = counts.iter().sum::<u64>() as f64;
        prop_assert!((ios - expected).abs() <= expected * 1e-12, "{} of {}", ios, expected);

        // The deviation is one of rates as well: it scales with the inverse of the interval.
        let sum = Sum { series: IntervalSeries { cells }, ..Sum::default() };
        let whole_ns = |interval_ns| counts.len() as u64 * interval_ns;
        let deviation = |interval_ns| sum.iops_stddev(interval_ns, whole_ns(interval_ns));
        let (one, ten) = (deviation(interval_ns), deviation(10 * interval_ns));
        prop_assert!((one - 10.0 * ten).abs() <= one * 1e-9, "{} and {}", one, ten);
    }
}
