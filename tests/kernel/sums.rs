//! Real runs: the numbers add up, and text, XML and JSON of one run agree.

use roxmltree::Document;
use serde_json::Value;

use crate::bench::{Bench, ios, records, sum};

const RUNS: [&str; 6] = [
    "-b4K -r -w30 -o8 -t2 -L -D250 t.dat",
    "-b4K -r -w30 -F2 -O8 -L t.dat u.dat",
    "-b8K -F3 -o2 -r -L t.dat u.dat",
    "-b16K -si -t2 -o4 -L -w50 t.dat",
    "-b4K -rs50 -w50 -o1 -t2 -L -Su t.dat",
    "-b64K -L -Sm -w20 t.dat",
];

fn bench() -> Bench {
    let bench = Bench::new();
    bench.fill("u.dat", 8 << 20);
    bench
}

fn check_sums(args: &str, result: &Value) {
    let block = result["time_spans"][0]["targets"][0]["block_bytes"].as_u64().unwrap();
    assert!(ios(result) > 0, "{args}");
    for direction in ["read", "write"] {
        for record in records(result, direction) {
            let ios = record["ios"].as_u64().unwrap();
            assert_eq!(record["bytes"].as_u64().unwrap(), ios * block, "{args}");
            // What was in flight at the end for longer than usual counts, too, with its age.
            let at_least = record["edges"]["at_least"].as_u64().unwrap_or(0);
            assert_eq!(record["latency"]["count"].as_u64().unwrap(), ios + at_least, "{args}");
            let cells = record["series"]["cells"].as_array().unwrap();
            let in_cells: u64 = cells.iter().map(|cell| cell["ios"].as_u64().unwrap()).sum();
            assert!(cells.is_empty() || in_cells == ios, "{args}: {in_cells} of {ios}");
        }
    }
}

/// The I/Os of the total row and of the rows above it, for each table of a text result.
fn text_tables(text: &str) -> Vec<(u64, u64)> {
    let mut tables = Vec::new();
    let mut rows = 0;
    for line in text.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let Some(ios) = cells.get(2).and_then(|cell| cell.parse::<u64>().ok()) else {
            if line.starts_with("total:") {
                tables.push((cells[1].parse().unwrap(), rows));
                rows = 0;
            }
            continue;
        };
        rows += ios;
    }
    tables
}

#[test]
fn text_and_json_of_one_run_agree() {
    let bench = bench();
    for args in RUNS {
        let output = bench.run(&format!("-W0 -d1 --json=result.json {args}"));
        assert_eq!(output.status.code(), Some(0), "{args}");
        let text = String::from_utf8(output.stdout).unwrap();
        let json = std::fs::read_to_string(bench.path("result.json")).unwrap();
        let result: Value = serde_json::from_str(&json).unwrap();
        check_sums(args, &result);
        let (reads, writes) = (sum(&result, "read", "ios"), sum(&result, "write", "ios"));
        let expected = [reads + writes, reads, writes].map(|ios| (ios, ios));
        assert_eq!(text_tables(&text), expected, "{args}");
    }
}

#[test]
fn xml_and_json_of_one_run_agree() {
    let bench = bench();
    for args in RUNS {
        // Those with text end by the clock, these by their I/Os.
        let ends = "-W0 -d9 --stop-ios=20000";
        let output = bench.run(&format!("{ends} -Rxml --json=result.json {args}"));
        let xml = String::from_utf8(output.stdout).unwrap();
        let document = Document::parse(&xml).unwrap();
        let in_xml = |name: &str| -> u64 {
            let nodes = document.descendants().filter(|node| node.has_tag_name(name));
            nodes.map(|node| node.text().unwrap().parse::<u64>().unwrap()).sum()
        };
        let json = std::fs::read_to_string(bench.path("result.json")).unwrap();
        let result: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(in_xml("ReadCount"), sum(&result, "read", "ios"), "{args}");
        assert_eq!(in_xml("WriteCount"), sum(&result, "write", "ios"), "{args}");
        assert_eq!(in_xml("ReadBytes"), sum(&result, "read", "bytes"), "{args}");
        assert_eq!(in_xml("IOCount"), ios(&result), "{args}");
        assert_eq!(in_xml("BytesCount"), in_xml("ReadBytes") + in_xml("WriteBytes"), "{args}");
    }
}

/// Queue depth = IOPS x mean latency, where every slot is in flight all the time.
#[test]
fn littles_law_holds() {
    let bench = Bench::new();
    for (args, queue_depth) in
        [("-b4K -r -o16 -Su -L t.dat", 16.0), ("-b8K -r -o4 -t2 -w30 -Su -L t.dat", 8.0)]
    {
        let result = bench.measure(&format!("-d2 {args}"));
        let measured_ns = result["time_spans"][0]["measured_ns"].as_u64().unwrap() as f64;
        let latencies = ["read", "write"].into_iter().flat_map(|direction| {
            records(&result, direction).map(|record| record["latency"]["sum_ns"].as_u64().unwrap())
        });
        let in_flight = latencies.sum::<u64>() as f64 / measured_ns;
        let error = (in_flight / queue_depth - 1.0).abs();
        assert!(error < 0.02, "{args}: {in_flight} in flight instead of {queue_depth}");
    }
}

#[test]
fn rates_are_delivered() {
    let bench = Bench::new();
    for (args, ios_expected) in [
        ("-d2 -b4K -r -g1000i t.dat", 2_000),
        ("-d2 -b4K -r -g2048 t.dat", 1_000),
        ("-d2 -b4K -r -g500i -t2 t.dat", 2_000),
        ("-d2 -b4K -r -t2 --rate=3000 t.dat", 6_000),
        ("-d1 -b64K -r --engine=null -g65536i null", 65_536),
        ("-d1 -b999 -r --engine=null -g1i null", 1),
    ] {
        // One I/O per thread may fall on either side of either end.
        let allowed: u64 = ios_expected / 1_000 + 2;
        let mut made = Vec::new();
        while made.len() < 3 {
            let result = bench.measure(args);
            // What a disk that stands still kept from being delivered was due all the same.
            let due = ios(&result) + at_end(&result, "at_end") + at_end(&result, "not_issued");
            assert!(due.abs_diff(ios_expected) <= allowed, "{args}: {due} were due");
            made.push(ios(&result));
            if ios(&result).abs_diff(ios_expected) <= allowed {
                break;
            }
        }
        // A disk that stands still at the end of each of three runs delivers less; nothing else does.
        let is_null = args.ends_with("null");
        let enough =
            if is_null { ios_expected - allowed.min(ios_expected) } else { ios_expected / 2 };
        assert!(made.iter().any(|&ios| ios >= enough), "{args}: {made:?}, not {ios_expected}");
        assert!(made.iter().all(|&ios| ios <= ios_expected + allowed), "{args}: {made:?}");
    }
}

/// Reads that were in flight (`at_end`) or due (`not_issued`) when the measured time ended.
fn at_end(result: &Value, kind: &str) -> u64 {
    records(result, "read").filter_map(|record| record["edges"][kind]["ios"].as_u64()).sum()
}

#[test]
fn a_rate_gives_response_times_beside_service_times() {
    let bench = Bench::new();
    let paced = bench.measure("-b4K -r -L -g500i t.dat");
    for record in records(&paced, "read") {
        // Beside those that completed, each has the ages of those that a stall held up at the end.
        let completed = |times: &str, added: &str| {
            let added = record["edges"][added].as_u64().unwrap_or(0);
            record[times]["count"].as_u64().unwrap() - added
        };
        let served = completed("latency", "at_least");
        assert_eq!(completed("response", "response_at_least"), served);
        assert_eq!(served, record["ios"].as_u64().unwrap());
    }
    let unpaced = bench.measure("-b4K -r -L t.dat");
    assert!(records(&unpaced, "read").all(|record| record["response"].is_null()));
}

#[test]
fn live_figures_are_told_once_a_second_and_leave_the_result_alone() {
    let bench = Bench::new();
    let output = bench.run("-W0 -d3 -b4K -r -o4 -t2 -Rjson --live t.dat");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = stderr.lines().filter(|line| line.contains(" IOPS ")).collect();
    let column = |place: usize| -> Vec<f64> {
        let words = lines.iter().map(|line| line.split_whitespace().nth(place).unwrap());
        words.map(|word| word.parse().unwrap()).collect()
    };
    assert_eq!(column(0), [1.0, 2.0, 3.0], "{stderr}");
    // The last second is reported too, so that nothing is missing but what completed at its very end.
    let (sum, all) = (column(2).iter().sum::<f64>(), ios(&result) as f64);
    assert!(sum > 0.0 && (sum - all).abs() <= 8.0, "{sum} of {all}");
    let (mib, ios, p50, p99, p999, queue) =
        (column(4), column(2), column(7), column(9), column(11), column(14));
    for second in 0..3 {
        assert!((mib[second] - ios[second] / 256.0).abs() < 0.01, "{stderr}");
        assert!(p50[second] <= p99[second] && p99[second] <= p999[second], "{stderr}");
        assert!(queue[second] <= 8.0, "{stderr}");
    }
}
