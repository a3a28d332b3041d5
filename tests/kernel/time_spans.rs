//! Several time spans in one profile: each with targets and results of its own, and the sum of all.

use roxmltree::{Document, Node};
use serde_json::Value;

use crate::bench::Bench;

/// Reads of `t.dat`, then writes of two other files by shared threads.
const PROFILE: &str = "<Profile><TimeSpans>\
    <TimeSpan><MeasureLatency>true</MeasureLatency><Duration>1</Duration><Warmup>0</Warmup>\
    <Targets><Target><Path>t.dat</Path><BlockSize>4096</BlockSize><Random>4096</Random>\
    </Target></Targets></TimeSpan>\
    <TimeSpan><Duration>2</Duration><Warmup>0</Warmup><ThreadCount>2</ThreadCount>\
    <Targets><Target><Path>u.dat</Path><BlockSize>8192</BlockSize><WriteRatio>100</WriteRatio>\
    </Target><Target><Path>v.dat</Path><BlockSize>16384</BlockSize><WriteRatio>100</WriteRatio>\
    </Target></Targets></TimeSpan>\
    </TimeSpans></Profile>";

fn bench() -> Bench {
    let bench = Bench::new();
    bench.fill("u.dat", 8 << 20);
    bench.fill("v.dat", 8 << 20);
    std::fs::write(bench.path("p.xml"), PROFILE).unwrap();
    bench
}

fn run(bench: &Bench, args: &str) -> String {
    let output = bench.run(&format!("-Xp.xml {args}"));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// I/Os and bytes of a direction in one time span.
fn sums(span: &Value, direction: &str) -> (u64, u64) {
    let threads = span["threads"].as_array().unwrap().iter();
    let rows = threads.flat_map(|thread| thread["targets"].as_array().unwrap());
    let number = |row: &Value, name: &str| row[direction][name].as_u64().unwrap();
    rows.fold((0, 0), |sum, row| (sum.0 + number(row, "ios"), sum.1 + number(row, "bytes")))
}

/// Bytes and I/Os of a row of the totals block.
fn total(text: &str, row: &str) -> (u64, u64) {
    let block = &text[text.find("\nTotals:\n").unwrap()..];
    let line = block.lines().find(|line| line.starts_with(row)).unwrap();
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    (cells[2].parse().unwrap(), cells[1].parse().unwrap())
}

#[test]
fn each_time_span_has_results_of_its_own_targets_and_the_totals_are_their_sum() {
    let bench = bench();
    let text = run(&bench, "--json=r.json");
    let json = std::fs::read_to_string(bench.path("r.json")).unwrap();
    let result: Value = serde_json::from_str(&json).unwrap();
    let [first, second] = result["time_spans"].as_array().unwrap().as_slice() else {
        panic!("two time spans expected");
    };
    let paths = |span: &Value| -> Vec<String> {
        let targets = span["targets"].as_array().unwrap().iter();
        targets.map(|target| target["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(paths(first), ["t.dat"]);
    assert_eq!(paths(second), ["u.dat", "v.dat"]);
    let (reads, writes) = (sums(first, "read"), sums(second, "write"));
    assert!(reads.0 > 0 && writes.0 > 0);
    assert_eq!((sums(first, "write"), sums(second, "read")), ((0, 0), (0, 0)));
    assert_eq!(reads.1, reads.0 * 4096);
    assert_eq!(total(&text, "read "), reads);
    assert_eq!(total(&text, "write "), writes);
    assert_eq!(total(&text, "total "), (reads.0 + writes.0, reads.1 + writes.1));
    assert!(text.ends_with('\n') && text.contains("\ntotal test time:\t3.0"), "{text}");
    for number in [1, 2] {
        assert_eq!(text.matches(&format!("\nResults for timespan {number}:\n")).count(), 1);
    }
    // Latency was requested in the first one only.
    let second_at = text.find("\nResults for timespan 2:\n").unwrap();
    assert!(text[..second_at].contains("Total latency distribution:"));
    assert!(!text[second_at..].contains("Total latency distribution:"));
}

#[test]
fn the_xml_has_an_element_per_time_span_with_the_threads_of_each() {
    let bench = bench();
    let xml = run(&bench, "-Rxml");
    let document = Document::parse(&xml).unwrap();
    let named = |node: Node<'_, '_>, name: &str| -> Vec<String> {
        let nodes = node.descendants().filter(|node| node.has_tag_name(name));
        nodes.map(|node| node.text().unwrap_or_default().to_owned()).collect()
    };
    let root = document.root_element();
    let spans: Vec<_> = root.children().filter(|node| node.has_tag_name("TimeSpan")).collect();
    assert_eq!(spans.len(), 2);
    assert_eq!(named(spans[0], "Path"), ["t.dat"]);
    assert_eq!(named(spans[1], "Path"), ["u.dat", "v.dat", "u.dat", "v.dat"]);
    assert_eq!(named(spans[0], "TestTimeSeconds"), ["1.00"]);
    assert_eq!(named(spans[1], "TestTimeSeconds"), ["2.00"]);
    assert_eq!((named(spans[0], "Latency").len(), named(spans[1], "Latency").len()), (1, 0));
}
