//! Rules that end a run, on real files and in all forms of the result.

use std::process::Output;

use serde_json::Value;

use crate::bench::{Bench, ios, sum};

fn json(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn cause(result: &Value) -> &str {
    let span = &result["time_spans"][0];
    assert_eq!(span["outcome"], "complete");
    assert!(span["measured_ns"].as_u64().unwrap() < 60_000_000_000);
    span["stop"]["cause"].as_str().unwrap()
}

#[test]
fn every_engine_counts_exactly_as_many_ios_as_were_asked_for() {
    let bench = Bench::new();
    for engine in ["uring", "aio", "sync", "mmap", "null"] {
        let caching = if engine == "mmap" { "-Sm" } else { "-Sb" };
        let args = format!(
            "-W0 -C0 -d60 -b4K -r -w30 -t3 -o8 {caching} -L --engine={engine} --stop-ios=5003 -Rjson t.dat"
        );
        let output = bench.run(&args);
        if String::from_utf8_lossy(&output.stderr).contains("io_uring") && engine == "uring" {
            crate::bench::skip("io_uring is forbidden here");
            continue;
        }
        let result = json(&output);
        assert_eq!((ios(&result), cause(&result)), (5_003, "ios"), "{engine}");
    }
}

#[test]
fn the_count_is_exact_between_warm_up_and_cool_down() {
    let bench = Bench::new();
    let result = json(&bench.run("-W1 -C1 -d60 -b4K -r -t2 -o8 --stop-ios=20000 -Rjson t.dat"));
    assert_eq!((ios(&result), cause(&result)), (20_000, "ios"));
}

#[test]
fn bytes_end_a_run_with_whole_blocks() {
    let bench = Bench::new();
    let result = json(&bench.run("-W0 -d60 -b8K -t2 -o4 --stop-bytes=1000001 -Rjson t.dat"));
    assert_eq!((sum(&result, "read", "bytes"), cause(&result)), (123 * 8_192, "bytes"));
}

/// As many writes as there are blocks, and no block of the sparse file left out: each was written once.
#[test]
fn a_pass_of_all_threads_together_writes_every_block_once() {
    let bench = Bench::new();
    let sparse = std::fs::File::create(bench.path("sparse.dat")).unwrap();
    sparse.set_len(8 << 20).unwrap();
    // A file that another process has open for writing is refused.
    drop(sparse);
    let args = "-W0 -d60 -b4K -si -t3 -o4 -w100 -Su --stop-pass -Rjson sparse.dat";
    let result = json(&bench.run(args));
    assert_eq!((sum(&result, "write", "ios"), cause(&result)), (2_048, "pass"));
    // Blocks of the file would count that of its mark, too.
    let sparse = std::fs::File::open(bench.path("sparse.dat")).unwrap();
    let backing = fathom_sys::extents::backing(&sparse, 0..8 << 20).unwrap();
    assert_eq!(backing.unbacked_bytes(), 0);
}

#[test]
fn a_rate_that_is_kept_is_steady_and_its_mean_is_known() {
    let bench = Bench::new();
    let common = "-W0 -d60 -b4K -r -o4 --rate=1000 --stop-interval=100 -Rjson t.dat";
    let result = json(&bench.run(&format!("--stop-steady=5:50:50 {common}")));
    assert_eq!(cause(&result), "steady");
    assert_eq!(result["time_spans"][0]["stop"]["steady"]["window_intervals"], 5);
    let result = json(&bench.run(&format!("--stop-confidence=90:10 {common}")));
    assert_eq!(cause(&result), "confidence");
    let known = &result["time_spans"][0]["stop"]["confidence"];
    let number = |name: &str| known[name].as_f64().unwrap();
    assert!(number("iops_low") <= 1_000.0 * 1.1 && number("iops_high") >= 1_000.0 * 0.9, "{known}");
    assert!(number("effective_samples") > 0.0 && number("precision_percent") <= 10.0, "{known}");
}

#[test]
fn text_and_xml_say_what_ended_the_run() {
    let bench = Bench::new();
    let text = bench.run("-W0 -d60 -b4K --stop-ios=100 t.dat");
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("\tstop rule: ios 100\n"), "{text}");
    let end = text.split("\nEnd of timespan 1:\n").nth(1).unwrap();
    assert!(end.lines().next().unwrap().ends_with("s, when 100 I/Os had completed."), "{text}");
    let xml = bench.run("-W0 -d60 -b4K --stop-ios=100 --stop-steady -Rxml t.dat");
    let xml = String::from_utf8(xml.stdout).unwrap();
    let document = roxmltree::Document::parse(&xml).unwrap();
    let stop = document.descendants().find(|node| node.has_tag_name("Stop")).unwrap();
    assert_eq!((stop.attribute("TimeSpan"), stop.attribute("Cause")), (Some("1"), Some("ios")));
    assert!(stop.children().any(|node| node.has_tag_name("Evidence")));
}

#[test]
fn a_rule_that_is_not_met_is_told_as_a_doubt() {
    let bench = Bench::new();
    let result = json(&bench.run("-W0 -d1 -b4K --rate=10 --stop-ios=1000000 -Rjson t.dat"));
    assert_eq!(cause(&result), "duration");
    let warnings = result["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|one| one["kind"] == "stop_rule_not_met"), "{warnings:?}");
}

#[test]
fn rules_in_a_profile_hold_for_its_run() {
    let bench = Bench::new();
    let profile = bench.run("-W0 -d60 -b4K --stop-ios=77 --stop-confidence=95 -Rpxml t.dat").stdout;
    std::fs::write(bench.path("p.xml"), profile).unwrap();
    let result = json(&bench.run("-Xp.xml -Rjson"));
    assert_eq!((ios(&result), cause(&result)), (77, "ios"));
}

#[test]
fn syncs_between_the_writes_are_not_counted() {
    let bench = Bench::new();
    let args = "-W0 -d60 -b4K -r -w100 -o4 --fsync=10 --stop-ios=777 -Rjson t.dat";
    let result = json(&bench.run(args));
    assert_eq!((sum(&result, "write", "ios"), cause(&result)), (777, "ios"));
}
