//! Operations other than reads and writes, in lines of their own behind `DiskSpd`'s tables.

use crate::result::TimeSpanResult;
use crate::result::totals::{Kind, Sum, of_span};
use crate::units::per_second;

/// Counts and latencies of syncs and trims, if there were any.
pub fn write(text: &mut String, index: usize, span: &TimeSpanResult) {
    let sums = [("sync", Kind::Sync), ("trim", Kind::Trim)];
    let sums = sums.map(|(name, kind)| (name, of_span(span, kind)));
    let rows: Vec<_> = sums.iter().filter(|(_, sum)| sum.ios + sum.errors > 0).collect();
    if rows.is_empty() {
        return;
    }
    let number = index + 1;
    text.push_str(&format!(
        "\nSyncs and trims of timespan {number}, not part of the I/Os above:\n"
    ));
    text.push_str(
        "type   |       bytes     |     count    |   per s    |  AvgLat  |   p50    |   p99    \
         |  p99.9   |   max (ms)\n",
    );
    text.push_str(&format!("{}\n", "-".repeat(107)));
    for (name, sum) in rows {
        text.push_str(&row(name, sum, span.measured_ns));
    }
}

fn row(name: &str, sum: &Sum, measured_ns: u64) -> String {
    let latency = &sum.latency;
    let cell = |nanos: f64| match latency.count() {
        0 => "N/A".to_owned(),
        _ => format!("{:.3}", nanos / 1e6),
    };
    let [p50, p99, p999, max] =
        [0.5, 0.99, 0.999, 1.0].map(|quantile| cell(latency.quantile_ns(quantile) as f64));
    format!(
        "{name:<6} | {:15} | {:12} | {:10.2} | {:>8} | {p50:>8} | {p99:>8} | {p999:>8} | {max:>8}\n",
        sum.bytes,
        sum.ios,
        per_second(sum.ios, measured_ns),
        cell(latency.mean_ns()),
    )
}
