//! The tables of latency percentiles.

use crate::measure::LatencyHistogram;
use crate::result::totals::{Kind, of_path, of_span};
use crate::result::{Outcome, TimeSpanResult};

/// Row titles and quantiles; the ends are the least and the greatest value.
const ROWS: [(&str, f64); 15] = [
    ("min", 0.0),
    ("25th", 0.25),
    ("50th", 0.50),
    ("75th", 0.75),
    ("90th", 0.90),
    ("95th", 0.95),
    ("99th", 0.99),
    ("3-nines", 0.999),
    ("4-nines", 0.999_9),
    ("5-nines", 0.999_99),
    ("6-nines", 0.999_999),
    ("7-nines", 0.999_999_9),
    ("8-nines", 0.999_999_99),
    ("9-nines", 0.999_999_999),
    ("max", 1.0),
];

/// One table per path where there is more than one, and one for all.
pub fn write(text: &mut String, span: &TimeSpanResult) {
    let is_nothing = span.outcome == Outcome::NoIo;
    let paths = span.paths();
    if paths.len() > 1 {
        for path in paths {
            text.push_str(&format!("\nLatency distribution: {path}\n"));
            write_table(text, is_nothing, |kind| of_path(span, path, kind).latency);
        }
    }
    text.push_str("\nTotal latency distribution:\n");
    write_table(text, is_nothing, |kind| of_span(span, kind).latency);
}

/// The response times, where I/Os had a schedule, and why they differ from the service times above.
pub fn write_response(text: &mut String, index: usize, span: &TimeSpanResult) {
    let total = of_span(span, Kind::Total);
    if total.response.count() == 0 {
        return;
    }
    text.push_str(&format!("\nResponse times of timespan {}:\n", index + 1));
    write_table(text, false, |kind| of_span(span, kind).response);
    let (service_ms, response_ms) =
        (total.scheduled.mean_ns() / 1e6, total.response.mean_ns() / 1e6);
    text.push_str(&format!(
        "Response time counts from the scheduled start of each I/O, service time (the latency \
         above) from its submission:\nan I/O that had to wait for its turn behind a slow one shows \
         it only in its response time. Means: {response_ms:.3} ms and {service_ms:.3} ms.\n"
    ));
}

fn write_table(text: &mut String, is_nothing: bool, histogram: impl Fn(Kind) -> LatencyHistogram) {
    let [read, write, total] = [Kind::Read, Kind::Write, Kind::Total].map(histogram);
    text.push_str("  %-ile |  Read (ms) | Write (ms) | Total (ms)\n");
    text.push_str("----------------------------------------------\n");
    for (title, quantile) in ROWS {
        let (read, write) = (cell(&read, quantile), cell(&write, quantile));
        // The total of nothing is 0.000 in DiskSpd, where reads and writes are N/A: a measured time without
        // any I/O in it is not told as one of I/Os that took no time.
        let total = match cell(&total, quantile) {
            none if total.count() > 0 || is_nothing => none,
            _ => format!("{:.3}", 0.0),
        };
        text.push_str(&format!("{title:>7} | {read:>10} | {write:>10} | {total:>10}\n"));
    }
}

fn cell(histogram: &LatencyHistogram, quantile: f64) -> String {
    if histogram.count() == 0 {
        return "N/A".to_owned();
    }
    format!("{:.3}", histogram.quantile_ns(quantile) as f64 / 1e6)
}
