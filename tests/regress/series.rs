//! The time series of `-D`.

use fathom_core::dialect::diskspd::{result_text, result_xml};
use fathom_core::engine::backend::SimDevice;
use fathom_core::engine::simulate::simulate;
use fathom_core::measure::Ending;
use fathom_core::plan::SpanPlan;
use fathom_core::request::{Profile, Request, RunOptions, TimeSpan};
use fathom_core::result::assemble::{Provenance, assemble};
use fathom_core::result::{Host, RunResult};
use fathom_core::units::{NANOS_PER_MILLI, NANOS_PER_SEC};
use roxmltree::{Document, Node};

use crate::plans::{Tell, span};

/// The result of a simulated run of 2 s with intervals of 100 ms, of which `measured_ns` were measured.
fn result(plan: &SpanPlan, measured_ns: u64) -> RunResult {
    let device = SimDevice { latency_ns: 100_000, jitter_ns: 80_000, ..SimDevice::default() };
    let mut measured = simulate(plan, &device).unwrap().measurements;
    measured.measured_ns = measured_ns;
    if measured_ns < plan.measured_ns {
        measured.ending = Ending::Interrupted;
    }
    let provenance = Provenance {
        command_line: "diskspd -D100 virtual".to_owned(),
        started_at_unix_s: 0,
        host: Host::default(),
    };
    let request = TimeSpan { interval_series: true, interval_ms: 100, ..TimeSpan::default() };
    let profile = Profile { time_spans: vec![request], ..Profile::default() };
    let request = Request::new(profile, RunOptions::default());
    assemble(provenance, &request, vec![(plan, measured)])
}

fn plan() -> SpanPlan {
    let mut plan = span(1 << 26).random().outstanding(4).seconds(2);
    plan.interval_ns = 100 * NANOS_PER_MILLI;
    plan
}

fn numbers(xml: &Document<'_>, attribute: &str) -> Vec<f64> {
    let span = xml.descendants().find(|node| node.has_tag_name("Iops")).unwrap();
    let buckets = span.children().filter(|node| node.has_tag_name("Bucket"));
    buckets.map(|bucket| bucket.attribute(attribute).unwrap().parse().unwrap()).collect()
}

fn deviation(xml: &Document<'_>, name: &str) -> Option<f64> {
    let node = xml.descendants().find(|node| node.has_tag_name(name));
    node.and_then(|node: Node<'_, '_>| node.text()).map(|text| text.parse().unwrap())
}

#[test]
fn the_buckets_of_the_xml_result_were_counts_instead_of_ios_per_second() {
    let result = result(&plan(), 2 * NANOS_PER_SEC);
    let ios = result.time_spans[0].threads[0].targets[0].read.ios;
    let text = result_xml::write(&result);
    let xml = Document::parse(&text).unwrap();
    let totals = numbers(&xml, "Total");
    assert_eq!(totals.len(), 20);
    // Ten intervals are a second: each rate is ten times the count, without a remainder.
    let counted: f64 = totals.iter().map(|rate| rate * 0.1).sum();
    assert!((counted - ios as f64).abs() < 1e-6, "{counted} instead of {ios}");
}

#[test]
fn the_deviation_in_the_xml_result_was_not_that_of_the_text_result() {
    let result = result(&plan(), 2 * NANOS_PER_SEC);
    let text = result_xml::write(&result);
    let in_xml = deviation(&Document::parse(&text).unwrap(), "IopsStdDev").unwrap();
    let text = result_text::write(&result);
    let total = text.lines().find(|line| line.starts_with("total:")).unwrap();
    let in_text: f64 = total.rsplit('|').next().unwrap().trim().parse().unwrap();
    assert!(in_xml > 1.0, "{in_xml}");
    assert!((in_xml - in_text).abs() < 0.006, "XML {in_xml}, text {in_text}");
}

#[test]
fn a_direction_without_io_had_a_deviation() {
    let text = result_xml::write(&result(&plan(), 2 * NANOS_PER_SEC));
    let xml = Document::parse(&text).unwrap();
    assert!(deviation(&xml, "ReadIopsStdDev").is_some());
    assert_eq!(deviation(&xml, "WriteIopsStdDev"), None);
}

#[test]
fn intervals_that_never_came_counted_as_pauses_after_an_interruption() {
    // A run of 60 s that ends after two has the intervals of a run of 2 s.
    let long = plan().seconds(60);
    let whole = result(&plan(), 2 * NANOS_PER_SEC);
    let interrupted = result(&long, 2 * NANOS_PER_SEC);
    let cells =
        |result: &RunResult| result.time_spans[0].threads[0].targets[0].read.series.cells.clone();
    assert_eq!(cells(&interrupted), cells(&whole));
    assert_eq!(cells(&result(&long, 2 * NANOS_PER_SEC + 1)).len(), 21);
}
