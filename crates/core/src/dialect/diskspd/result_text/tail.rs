//! What stands behind the tables: wait statistics, totals, and the engine.

use super::STARS;
use crate::result::totals::{Kind, Sum, of_span};
use crate::result::{Backend, Outcome, RunResult, TimeSpanResult};

/// How each thread waited.
pub fn write_waits(text: &mut String, span: &TimeSpanResult) {
    text.push_str(
        "\nWait Statistics\nthread | completion wait | throttle wait  -  sleep | lookaside | \
         0 - 7+ complete per lookaside\n",
    );
    text.push_str(&format!("{}\n", "-".repeat(95)));
    for thread in &span.threads {
        let waits = &thread.waits;
        let found = waits.lookaside_completions.map(|count| count.to_string()).join(" ");
        text.push_str(&format!(
            "{:6} | {:15} | {:13}  - {:6} | {:9} | {found}\n",
            thread.index,
            waits.completion_waits,
            waits.throttle_waits,
            waits.throttle_sleeps,
            waits.lookasides
        ));
    }
}

/// The sum of all time spans.
pub fn write_totals(text: &mut String, result: &RunResult) {
    let measured = result.time_spans.iter().filter(|span| !failed(span));
    let measured_ns: u64 = measured.clone().map(|span| span.measured_ns).sum();
    let sum = |kind| {
        measured.clone().fold(Sum::default(), |mut sum, span| {
            let one = of_span(span, kind);
            sum.ios += one.ios;
            sum.bytes += one.bytes;
            sum
        })
    };
    let row = |name: &str, kind| {
        let sum = sum(kind);
        let (mib, iops) = (sum.mib_per_s(measured_ns), sum.iops(measured_ns));
        format!("{name:<6} | {:15} | {:12} | {mib:10.2} | {iops:10.2}\n", sum.bytes, sum.ios)
    };
    let rule = "-".repeat(79);
    text.push_str(&format!("\n\nTotals:\n{STARS}\n\n"));
    text.push_str("type   |       bytes     |     I/Os     |    MiB/s   |  I/O per s\n");
    text.push_str(&format!("{rule}\n{}", row("write", Kind::Write)));
    text.push_str(&row("read", Kind::Read));
    text.push_str(&format!("{rule}\n{}", row("total", Kind::Total)));
    text.push_str(&format!("\ntotal test time:\t{:.2}s\n", measured_ns as f64 / 1e9));
}

fn failed(span: &TimeSpanResult) -> bool {
    matches!(span.outcome, Outcome::Failed(_))
}

/// One line per way in which I/O reached the kernel.
pub fn write_engines(text: &mut String, result: &RunResult) {
    let engines = engines(result);
    if !engines.is_empty() {
        text.push('\n');
    }
    for engine in engines {
        let features = engine.features.join(", ");
        let features = if features.is_empty() { features } else { format!(" ({features})") };
        let fallback = engine.fallback.as_ref().map(|why| format!(", because {why}"));
        text.push_str(&format!(
            "Engine: {}{features}{}\n",
            engine.name,
            fallback.unwrap_or_default()
        ));
        if !engine.tried.is_empty() {
            text.push_str(&format!("    chosen with reads before the load: {}\n", tried(engine)));
        }
    }
}

/// The ways that were tried, with their rates.
pub fn tried(engine: &Backend) -> String {
    let ways = engine.tried.iter().map(|one| format!("{} {} IOPS", one.way, one.iops));
    ways.collect::<Vec<_>>().join(", ")
}

/// CPU time of less than this has too few ticks to be divided: a second has 100 to 1,000, and those that
/// come while a thread is in the kernel are counted as the kernel's.
const SPLIT_NS: u64 = 1_000_000_000;
/// What is said where it has.
const IN_TICKS: &str = " (the sum is exact; what is whose is counted in ticks, and there were few)";

/// What an I/O cost the threads in CPU time, in each time span.
pub fn write_costs(text: &mut String, result: &RunResult) {
    let many = result.time_spans.len() > 1;
    for (index, span) in result.time_spans.iter().enumerate() {
        let Some(cost) = span.cost else { continue };
        let place = if many { format!(" of timespan {}", index + 1) } else { String::new() };
        let features = span.threads.iter().flat_map(|thread| &thread.backend.features);
        let by_workers = features.into_iter().any(|feature| feature.contains("kernel workers"));
        let but = if by_workers { ", without that of the kernel's workers" } else { "" };
        let total_ns: u64 = span.threads.iter().map(|thread| thread.cpu_ns).sum();
        let split = if total_ns < SPLIT_NS { IN_TICKS } else { "" };
        text.push_str(&format!(
            "CPU time per I/O{place}: {:.2} µs in this tool, {:.2} µs in the kernel{but}{split}\n",
            cost.own_ns_per_io / 1e3,
            cost.kernel_ns_per_io / 1e3
        ));
    }
}

/// The distinct backends of a result.
pub fn engines(result: &RunResult) -> Vec<&Backend> {
    let mut engines: Vec<&Backend> = Vec::new();
    for thread in result.time_spans.iter().flat_map(|span| &span.threads) {
        if !engines.contains(&&thread.backend) {
            engines.push(&thread.backend);
        }
    }
    engines
}
