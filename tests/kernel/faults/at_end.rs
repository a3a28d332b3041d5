//! Stalls that last beyond the end of the measured time, and those that fill it.

use std::sync::OnceLock;
use std::time::Duration;

use fathom_sys::clock::now_ns;
use serde_json::Value;

use super::fault_fs::{Answer, FaultFs};
use super::mount;
use super::writing::Writing;
use crate::bench::Bench;

/// A file system that holds all I/Os of the load back from so long after the first one on.
fn stalling(from: Duration) -> Option<FaultFs> {
    let began = OnceLock::new();
    mount(move |_, _, _| {
        let began_ns = *began.get_or_init(now_ns);
        if Duration::from_nanos(now_ns() - began_ns) >= from { Answer::Held } else { Answer::Whole }
    })
}

/// Runs a load, and lets the target answer again so long after its beginning: result, exit code.
fn run(bench: &Bench, from: Duration, until: Duration, options: &str) -> Option<(Value, i32)> {
    let system = stalling(from)?;
    let path = system.file();
    let options = format!("-W0 -b4K -r -Su -o1 -Rjson {options} {}", path.display());
    let run = Writing::start(bench.command(&options));
    std::thread::sleep(until);
    system.release();
    let (written, told, code) = run.end();
    let result = serde_json::from_str(&written).unwrap_or_else(|_| panic!("{written}{told}"));
    Some((result, code.unwrap()))
}

fn warns(result: &Value, kind: &str) -> bool {
    result["warnings"].as_array().unwrap().iter().any(|one| one["kind"] == kind)
}

fn reads(result: &Value) -> &Value {
    &result["time_spans"][0]["threads"][0]["targets"][0]["read"]
}

const STALL_FROM: Duration = Duration::from_millis(800);
const STALL_UNTIL: Duration = Duration::from_secs(3);
const LONG_NS: u64 = 900_000_000;

#[test]
fn a_stall_that_lasts_beyond_the_end_is_counted_with_its_age_and_warned_of() {
    let bench = Bench::new();
    for engine in ["uring", "sync"] {
        let options = format!("-d2 -L --engine={engine}");
        let Some((result, code)) = run(&bench, STALL_FROM, STALL_UNTIL, &options) else { return };
        assert_eq!((code, &result["time_spans"][0]["outcome"]), (0, &Value::from("complete")));
        assert!(warns(&result, "stalled_at_end"), "{engine}: {}", result["warnings"]);
        let (reads, edges) = (reads(&result), &reads(&result)["edges"]);
        assert_eq!(
            (edges["at_end"]["ios"].as_u64(), edges["at_least"].as_u64()),
            (Some(1), Some(1))
        );
        let max_ns = reads["latency"]["max_ns"].as_u64().unwrap();
        assert!(max_ns >= LONG_NS, "{engine}: {max_ns}");
        assert_eq!(edges["at_end"]["age_ns_max"].as_u64(), Some(max_ns));
        assert_eq!(reads["latency"]["count"].as_u64(), reads["ios"].as_u64().map(|ios| ios + 1));
    }
}

#[test]
fn a_stall_beyond_the_end_is_warned_of_without_latency_too() {
    let bench = Bench::new();
    let Some((result, _)) = run(&bench, STALL_FROM, STALL_UNTIL, "-d2") else { return };
    assert!(warns(&result, "stalled_at_end"), "{}", result["warnings"]);
    assert!(reads(&result)["edges"]["at_end"]["age_ns_max"].as_u64().unwrap() >= LONG_NS);
}

#[test]
fn ios_that_were_due_in_a_stall_at_the_end_are_in_the_response_times() {
    let bench = Bench::new();
    let Some((result, _)) = run(&bench, STALL_FROM, STALL_UNTIL, "-d2 -L -g50i") else { return };
    let (reads, edges) = (reads(&result), &reads(&result)["edges"]);
    let not_issued = edges["not_issued"]["ios"].as_u64().unwrap();
    let issued = reads["ios"].as_u64().unwrap() + edges["at_end"]["ios"].as_u64().unwrap();
    assert_eq!(issued + not_issued, 100, "what was due in two seconds");
    assert!(not_issued > 40 && reads["response"]["max_ns"].as_u64().unwrap() >= LONG_NS);
    assert_eq!(
        reads["response"]["count"].as_u64(),
        Some(reads["ios"].as_u64().unwrap() + edges["response_at_least"].as_u64().unwrap())
    );
}

#[test]
fn a_stall_over_the_whole_measured_time_is_an_outcome_of_its_own() {
    let bench = Bench::new();
    let (never, until) = (Duration::ZERO, Duration::from_millis(1_800));
    let Some((result, code)) = run(&bench, never, until, "-d1 -L") else { return };
    assert_eq!((code, &result["time_spans"][0]["outcome"]), (5, &Value::from("no_io")));
    assert!(warns(&result, "no_io_completed"), "{}", result["warnings"]);
    assert_eq!(reads(&result)["ios"].as_u64(), Some(0));
    assert!(reads(&result)["latency"]["min_ns"].as_u64().unwrap() >= LONG_NS);
}
