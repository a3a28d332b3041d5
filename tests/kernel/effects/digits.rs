//! Every digit of the text result is that of the JSON result of the same run.

use fathom_core::dialect::diskspd::result_text;
use fathom_core::report::json;
use serde_json::Value;

use crate::bench::{Bench, records};

/// The cells of the total row of a table.
fn totals(text: &str, title: &str) -> Vec<String> {
    let mut table = text.lines().skip_while(|line| *line != title);
    let row = table.find(|line| line.starts_with("total:")).unwrap();
    row.trim_start_matches("total:").split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// Bytes, I/Os, MiB/s, I/Os per second and mean latency of some directions, computed from the JSON form.
fn computed(result: &Value, directions: &[&str]) -> Vec<String> {
    let all = || directions.iter().flat_map(|direction| records(result, direction));
    let sum = |number: &str| all().map(|one| one[number].as_u64().unwrap()).sum::<u64>();
    // An I/O in flight at the end is in the latencies with its age where it has taken longest.
    let latency = |number: &str| all().map(|one| one["latency"][number].as_u64().unwrap()).sum();
    let (latency_ns, latencies): (u64, u64) = (latency("sum_ns"), latency("count"));
    let seconds = result["time_spans"][0]["measured_ns"].as_u64().unwrap() as f64 / 1e9;
    let (bytes, ios) = (sum("bytes"), sum("ios"));
    vec![
        bytes.to_string(),
        ios.to_string(),
        format!("{:.2}", bytes as f64 / 1_048_576.0 / seconds),
        format!("{:.2}", ios as f64 / seconds),
        format!("{:.3}", latency_ns as f64 / latencies as f64 / 1e6),
    ]
}

#[test]
fn the_digits_of_the_text_are_those_of_the_json_result() {
    let bench = Bench::new();
    for args in ["-r -w30 -o4 -t2", "-r -w50 -o8 -Su -g500i -D100", "-rs40 -w20 -o1"] {
        let output = bench.run(&format!("-W0 -d1 -b4K -L --json=r.json {args} t.dat"));
        assert_eq!(output.status.code(), Some(0));
        let text = String::from_utf8(output.stdout).unwrap();
        let stored = String::from_utf8(crate::bench::bytes(&bench.path("r.json"))).unwrap();
        // The whole text can be made from the JSON form.
        assert_eq!(result_text::write(&json::read(&stored).unwrap()), text, "{args}");
        let result: Value = serde_json::from_str(&stored).unwrap();
        for (title, directions) in
            [("Total IO", &["read", "write"][..]), ("Read IO", &["read"]), ("Write IO", &["write"])]
        {
            assert_eq!(totals(&text, title)[..5], computed(&result, directions), "{args} {title}");
        }
        let extreme = |name: &str, end: fn(u64, u64) -> u64| {
            let ends = ["read", "write"].into_iter().flat_map(|kind| records(&result, kind));
            let ns = ends.map(|one| one["latency"][name].as_u64().unwrap()).reduce(end).unwrap();
            format!("{:.3}", ns as f64 / 1e6)
        };
        let row = |name: &str| {
            let row = text.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
            row.rsplit('|').next().unwrap().trim().to_owned()
        };
        assert_eq!(row("min |"), extreme("min_ns", u64::min), "{args}");
        assert_eq!(row("max |"), extreme("max_ns", u64::max), "{args}");
    }
}
