//! Latency, series, and what each thread did.

use super::distribution;
use crate::dialect::diskspd::xml::Writer;
use crate::measure::{IntervalCell, IntervalSeries};
use crate::request::TimeSpan;
use crate::result::totals::{Kind, Sum, of_span, of_target};
use crate::result::{DirectionResult, ThreadTargetResult, TimeSpanResult, Waits};

/// The percentiles: whole ones, nines, and the ends, with their names.
fn percentiles() -> impl Iterator<Item = (String, f64)> {
    let whole = (0..100).map(|percent| (percent.to_string(), f64::from(percent) / 100.0));
    let nines = (1..=7).map(|nines| {
        let name = format!("99.{}", "9".repeat(nines));
        let quantile = name.parse::<f64>().unwrap_or(100.0) / 100.0;
        (name, quantile)
    });
    whole.chain(nines).chain([("100".to_owned(), 1.0)])
}

/// The element `<Latency>`.
pub fn write_latency(xml: &mut Writer, span: &TimeSpanResult) {
    let sums = [Kind::Read, Kind::Write, Kind::Total].map(|kind| of_span(span, kind));
    let [read, write, total] = [0, 1, 2].map(|kind: usize| sums[kind].latency.buckets().count());
    let attributes = format!(
        "ReadHistoBuckets=\"{read}\" WriteHistoBuckets=\"{write}\" TotalHistoBuckets=\"{total}\""
    );
    xml.group_with("Latency", &attributes, |xml| write_distribution(xml, &sums));
}

/// The element `<Response>`, which `DiskSpd` lacks: response times where I/Os had a schedule.
pub fn write_response(xml: &mut Writer, index: usize, span: &TimeSpanResult) {
    let sums = [Kind::Read, Kind::Write, Kind::Total].map(|kind| {
        let sum = of_span(span, kind);
        Sum { latency: sum.response.clone(), ..sum }
    });
    if sums[2].latency.count() > 0 {
        let attributes = format!("TimeSpan=\"{}\"", index + 1);
        xml.group_with("Response", &attributes, |xml| write_distribution(xml, &sums));
    }
}

/// Means, deviations and percentiles of reads, writes and both.
fn write_distribution(xml: &mut Writer, [read, write, total]: &[Sum; 3]) {
    mean_and_deviation(xml, read, "AverageReadMilliseconds", "ReadLatencyStdev");
    mean_and_deviation(xml, write, "AverageWriteMilliseconds", "WriteLatencyStdev");
    mean_and_deviation(xml, total, "AverageTotalMilliseconds", "LatencyStdev");
    for (name, quantile) in percentiles() {
        xml.group("Bucket", |xml| {
            xml.element("Percentile", name);
            quantile_of(xml, read, "ReadMilliseconds", quantile);
            quantile_of(xml, write, "WriteMilliseconds", quantile);
            quantile_of(xml, total, "TotalMilliseconds", quantile);
        });
    }
}

fn mean_and_deviation(xml: &mut Writer, sum: &Sum, mean: &str, deviation: &str) {
    if sum.latency.count() > 0 {
        xml.element(mean, format_args!("{:.3}", sum.latency.mean_ns() / 1e6));
        xml.element(deviation, format_args!("{:.3}", sum.latency.stddev_ns() / 1e6));
    }
}

fn quantile_of(xml: &mut Writer, sum: &Sum, name: &str, quantile: f64) {
    if sum.latency.count() > 0 {
        let value_ms = sum.latency.quantile_ns(quantile) as f64 / 1e6;
        xml.element(name, format_args!("{value_ms:.3}"));
    }
}

/// The element `<Iops>` of a whole time span, if a series was kept.
pub fn write_span_series(xml: &mut Writer, span: &TimeSpanResult) {
    if span.interval_ns > 0 {
        let [read, write, total] =
            [Kind::Read, Kind::Write, Kind::Total].map(|kind| of_span(span, kind));
        write_series(xml, span, &read, &write, &total);
    }
}

/// Deviations and rates of the intervals, in I/Os per second; a direction without I/O has no deviation. The
/// last interval ends with the measured time.
fn write_series(xml: &mut Writer, span: &TimeSpanResult, read: &Sum, write: &Sum, total: &Sum) {
    let (interval_ns, measured_ns) = (span.interval_ns, span.measured_ns);
    xml.group("Iops", |xml| {
        for (name, sum) in
            [("ReadIopsStdDev", read), ("WriteIopsStdDev", write), ("IopsStdDev", total)]
        {
            if sum.ios > 0 {
                xml.element(name, format_args!("{:.3}", sum.iops_stddev(interval_ns, measured_ns)));
            }
        }
        let mut end_ns = 0;
        for (index, length_ns) in total.series.lengths_ns(interval_ns, measured_ns).enumerate() {
            end_ns += length_ns;
            write_bucket(
                xml,
                end_ns,
                length_ns,
                (cell(&read.series, index), cell(&write.series, index)),
            );
        }
    });
}

fn write_bucket(
    xml: &mut Writer,
    end_ns: u64,
    length_ns: u64,
    (read, write): (IntervalCell, IntervalCell),
) {
    let (read_iops, write_iops) = (read.iops(length_ns), write.iops(length_ns));
    xml.line(&format!(
        "<Bucket SampleMillisecond=\"{}\" Read=\"{read_iops:.0}\" Write=\"{write_iops:.0}\" \
         Total=\"{:.0}\" {} {}/>",
        end_ns.div_ceil(1_000_000),
        read_iops + write_iops,
        latency_attributes("Read", &read),
        latency_attributes("Write", &write)
    ));
}

fn cell(series: &IntervalSeries, index: usize) -> IntervalCell {
    series.cells.get(index).copied().unwrap_or_default()
}

fn latency_attributes(direction: &str, cell: &IntervalCell) -> String {
    let ios = cell.ios.max(1) as f64;
    let mean_ns = cell.latency_ns_sum as f64 / ios;
    let variance = (cell.latency_ns_sum_squares / ios - mean_ns * mean_ns).max(0.0);
    // Where nothing completed, the greatest latency is the age of what was in flight at the end.
    let (min_ns, max_ns) =
        if cell.ios == 0 { (0, 0) } else { (cell.latency_ns_min, cell.latency_ns_max) };
    format!(
        "{direction}MinLatencyMilliseconds=\"{:.3}\" {direction}MaxLatencyMilliseconds=\"{:.3}\" \
         {direction}AvgLatencyMilliseconds=\"{:.3}\" {direction}LatencyStdDev=\"{:.3}\"",
        min_ns as f64 / 1e6,
        max_ns as f64 / 1e6,
        mean_ns / 1e6,
        variance.sqrt() / 1e6
    )
}

/// What the profile says about the threads of a time span.
pub struct Shown<'a> {
    /// The time span that was requested.
    pub span: Option<&'a TimeSpan>,
    /// Wait statistics were requested.
    pub waits: bool,
}

impl Shown<'_> {
    fn latency(&self) -> bool {
        self.span.is_some_and(|span| span.measure_latency)
    }

    /// Where the range of a target begins.
    fn base_bytes(&self, row: &ThreadTargetResult) -> u64 {
        let target = self.span.and_then(|span| span.targets.get(row.target as usize));
        target.map_or(0, |target| target.base_bytes)
    }
}

/// One element `<Thread>` per thread.
pub fn write_threads(xml: &mut Writer, span: &TimeSpanResult, shown: &Shown<'_>) {
    for thread in &span.threads {
        xml.group("Thread", |xml| {
            xml.element("Id", thread.index);
            xml.optional("SubmitCount", thread.submissions);
            for target in &thread.targets {
                xml.group("Target", |xml| write_target(xml, span, target, shown));
            }
            if shown.waits {
                write_waits(xml, &thread.waits);
            }
        });
    }
}

fn write_target(
    xml: &mut Writer,
    span: &TimeSpanResult,
    row: &ThreadTargetResult,
    shown: &Shown<'_>,
) {
    let facts = &span.targets[row.target as usize];
    let total = of_target(row, Kind::Total);
    xml.element("Path", &facts.path);
    xml.element("BytesCount", total.bytes);
    xml.element("FileSize", facts.size_bytes);
    xml.element("IOCount", total.ios);
    xml.element("ReadBytes", row.read.bytes);
    xml.element("ReadCount", row.read.ios);
    xml.element("WriteBytes", row.write.bytes);
    xml.element("WriteCount", row.write.ios);
    distribution::write(xml, &facts.distribution, shown.base_bytes(row));
    if shown.latency() {
        target_latency(xml, &row.read, "AverageReadLatencyMilliseconds", "ReadLatencyStdev");
        target_latency(xml, &row.write, "AverageWriteLatencyMilliseconds", "WriteLatencyStdev");
        mean_and_deviation(xml, &total, "AverageLatencyMilliseconds", "LatencyStdev");
    }
    if span.interval_ns > 0 {
        let (read, write) = (of_target(row, Kind::Read), of_target(row, Kind::Write));
        write_series(xml, span, &read, &write, &total);
    }
    super::operations::write_counts(xml, row);
}

fn target_latency(xml: &mut Writer, direction: &DirectionResult, mean: &str, deviation: &str) {
    if let Some(latency) = direction.latency.as_ref().filter(|latency| latency.count() > 0) {
        xml.element(mean, format_args!("{:.3}", latency.mean_ns() / 1e6));
        xml.element(deviation, format_args!("{:.3}", latency.stddev_ns() / 1e6));
    }
}

fn write_waits(xml: &mut Writer, waits: &Waits) {
    xml.group("WaitStatistics", |xml| {
        xml.element("CompletionWait", waits.completion_waits);
        xml.element("ThrottleWait", waits.throttle_waits);
        xml.element("ThrottleSleep", waits.throttle_sleeps);
        xml.element("Lookaside", waits.lookasides);
        let found = waits.lookaside_completions.map(|count| count.to_string()).join(" ");
        xml.element("LookasideCompletion", found);
    });
}
