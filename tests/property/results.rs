//! The same result in text, XML and JSON: the numbers add up and agree.

use fathom_core::dialect::diskspd::{result_text, result_xml};
use fathom_core::measure::{IntervalSeries, LatencyHistogram};
use fathom_core::report::json;
use fathom_core::request::{Profile, Request, RunOptions, Target, TimeSpan};
use fathom_core::result::{
    Backend, Cpu, CpuUse, DirectionResult, Host, IoCost, NetworkUse, Outcome, RunResult,
    SCHEMA_VERSION, TargetFacts, ThreadResult, ThreadTargetResult, TimeSpanResult, Tool, Waits,
};
use proptest::collection::vec;
use proptest::prelude::*;
use roxmltree::Document;

const BLOCK: u32 = 4096;

fn direction(latencies_ns: &[u64]) -> DirectionResult {
    let mut latency = LatencyHistogram::new();
    for &value in latencies_ns {
        latency.record(value);
    }
    let ios = latency.count();
    DirectionResult {
        ios,
        bytes: ios * u64::from(BLOCK),
        latency: Some(latency),
        series: IntervalSeries::default(),
        ..DirectionResult::default()
    }
}

/// A result of one time span with one target; each thread has these reads and writes.
pub fn result(threads: &[(Vec<u64>, Vec<u64>)]) -> RunResult {
    let target = Target { path: "a&b<c>.dat".into(), ..Target::default() };
    let span = TimeSpan { measure_latency: true, targets: vec![target], ..TimeSpan::default() };
    let thread = |(index, (reads, writes)): (u32, &(Vec<u64>, Vec<u64>))| ThreadResult {
        index,
        pinned_os_cpu: None,
        backend: Backend { name: "sim".to_owned(), ..Backend::default() },
        submissions: None,
        cpu_ns: 0,
        cpu_waited_ns: None,
        user_cpu_ns: 0,
        slots: fathom_core::measure::Slots::default(),
        waits: Waits::default(),
        targets: vec![ThreadTargetResult {
            target: 0,
            read: direction(reads),
            write: direction(writes),
            ..ThreadTargetResult::default()
        }],
    };
    let cpu =
        CpuUse { idle_percent: 75.0, user_percent: 20.0, kernel_percent: 5.0, ..CpuUse::default() };
    let span_result = TimeSpanResult {
        outcome: Outcome::Complete,
        stop: None,
        began_unix_ns: Some(1_700_000_000_123_456_789),
        measured_ns: 2_000_000_000,
        thread_count: u32::try_from(threads.len()).unwrap(),
        request_count: 0,
        interval_ns: 0,
        last_interval_ns: 0,
        cpu: vec![cpu],
        cost: Some(IoCost { own_ns_per_io: 98.5, kernel_ns_per_io: 1201.25 }),
        kernel_events: None,
        outstanding: Vec::new(),
        beneath: None,
        network: vec![NetworkUse { server: "a<b>&\"c".to_owned(), ..NetworkUse::default() }],
        targets: vec![TargetFacts {
            path: "a&b<c>.dat".to_owned(),
            kind: "file".to_owned(),
            size_bytes: 1 << 20,
            block_bytes: BLOCK,
            distribution: Vec::new(),
            working_set_bytes: None,
        }],
        threads: (0..).zip(threads).map(thread).collect(),
    };
    let profile = Profile { time_spans: vec![span], ..Profile::default() };
    RunResult {
        schema_version: SCHEMA_VERSION,
        tool: Tool { name: "test".to_owned(), version: "0".to_owned() },
        command_line: "diskspd a&b<c>.dat".to_owned(),
        started_at_unix_s: 0,
        host: Host { cpus: vec![Cpu::default()], ..Host::default() },
        request: Request::new(profile.clone(), RunOptions::default()),
        profile,
        time_spans: vec![span_result],
        verification: None,
        ended_by: None,
        warnings: Vec::new(),
        failures: Vec::new(),
        parts: Vec::new(),
        hosts: Vec::new(),
    }
}

/// The table below a title: the I/Os of its rows, and the cells of its total.
fn table(text: &str, title: &str) -> (Vec<u64>, Vec<String>) {
    let lines = text.lines().skip_while(|line| *line != title).skip(3);
    let mut rows = Vec::new();
    for line in lines {
        let cells: Vec<String> = line.split('|').map(|cell| cell.trim().to_owned()).collect();
        if line.starts_with("total:") {
            return (rows, cells);
        }
        if cells.len() > 3 {
            rows.push(cells[2].parse().unwrap());
        }
    }
    panic!("{title} has no total");
}

fn sum_xml(document: &Document<'_>, name: &str) -> u64 {
    let nodes = document.descendants().filter(|node| node.has_tag_name(name));
    nodes.map(|node| node.text().unwrap().parse::<u64>().unwrap()).sum()
}

proptest! {
    #[test]
    fn text_xml_and_json_tell_the_same(
        threads in vec((vec(1_u64..1 << 34, 0..60), vec(1_u64..1 << 34, 0..60)), 1..5),
    ) {
        let result = result(&threads);
        let reads: u64 = threads.iter().map(|thread| thread.0.len() as u64).sum();
        let writes: u64 = threads.iter().map(|thread| thread.1.len() as u64).sum();

        let text = result_text::write(&result);
        for (title, ios) in [("Total IO", reads + writes), ("Read IO", reads), ("Write IO", writes)] {
            let (rows, total) = table(&text, title);
            prop_assert_eq!(rows.iter().sum::<u64>(), ios);
            prop_assert_eq!(&total[1], &ios.to_string());
            let bytes: u64 = total[0].trim_start_matches("total:").trim().parse().unwrap();
            prop_assert_eq!(bytes, ios * u64::from(BLOCK));
            prop_assert_eq!(&total[3], &format!("{:.2}", ios as f64 / 2.0));
        }

        let xml = result_xml::write(&result);
        let document = Document::parse(&xml).unwrap();
        prop_assert_eq!(sum_xml(&document, "IOCount"), reads + writes);
        prop_assert_eq!(sum_xml(&document, "ReadCount"), reads);
        prop_assert_eq!(sum_xml(&document, "WriteBytes"), writes * u64::from(BLOCK));

        let again = json::read(&json::write(&result)).unwrap();
        for thread in &again.time_spans[0].threads {
            for direction in [&thread.targets[0].read, &thread.targets[0].write] {
                prop_assert_eq!(direction.latency.as_ref().unwrap().count(), direction.ios);
            }
        }
        prop_assert_eq!(result_text::write(&again), text);
    }
}

#[test]
fn scripts_find_their_columns() {
    let text = result_text::write(&result(&[(vec![1_000_000; 40], vec![3_000_000; 40])]));
    let total = text.lines().find(|line| line.starts_with("total:")).unwrap();
    let cells: Vec<f64> =
        total.split('|').skip(1).map(|cell| cell.trim().parse().unwrap()).collect();
    // Column 0 is the title with the bytes; behind it I/Os, MiB/s, IOPS and the mean latency.
    assert!((cells[0] - 80.0).abs() < f64::EPSILON);
    assert!((cells[1] - 0.16).abs() < 0.005);
    assert!((cells[2] - 40.0).abs() < 0.005);
    assert!((cells[3] - 2.0).abs() < 0.0005);
    let average = text.lines().find(|line| line.starts_with("avg.")).unwrap();
    assert_eq!(average.split('|').nth(1).unwrap().trim(), "25.00%");
}

#[test]
fn a_result_whose_thread_names_a_target_that_is_not_there_is_refused() {
    let mut broken = result(&[(vec![1_000], vec![])]);
    broken.time_spans[0].threads[0].targets[0].target = 5;
    let error = json::read(&json::write(&broken)).unwrap_err().to_string();
    assert!(error.contains("names target 5, but there are 1"), "{error}");
}

#[test]
fn a_number_with_many_digits_is_read_back_as_it_was() {
    let mut stored = result(&[(vec![1_000], vec![])]);
    for digits in [0.1 + 0.2, 75.000_000_000_000_01, 5e-324, 1.797_693_134_862_315_7e308] {
        stored.time_spans[0].cpu[0].idle_percent = digits;
        let text = json::write(&stored);
        assert_eq!(json::write(&json::read(&text).unwrap()), text);
    }
}
