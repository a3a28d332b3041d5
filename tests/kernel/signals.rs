//! Ctrl-C ends the run, and what was measured until then comes out.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::bench::{Bench, Ended, ios};

fn start(bench: &Bench, args: &str) -> Child {
    let mut command = bench.command(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn interrupted(bench: &Bench, args: &str) -> Ended {
    let run = bench.start(args);
    run.interrupt();
    run.wait()
}

/// Sends a signal, as `kill` names it, to a process.
pub fn send(signal: &str, process: u32) {
    let sent = Command::new("kill").args([signal, &process.to_string()]).status();
    assert!(sent.unwrap().success());
}

#[test]
fn a_run_that_is_interrupted_prints_what_it_measured() {
    let bench = Bench::new();
    let output = interrupted(&bench, "-W0 -d60 -b4K -r -L -Rjson t.dat");
    assert_eq!(output.code, Some(130), "{}", output.stderr);
    let result: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(result["time_spans"][0]["outcome"], "interrupted");
    assert!(ios(&result) > 0);
    let measured_ns = result["time_spans"][0]["measured_ns"].as_u64().unwrap();
    assert!(measured_ns < 60_000_000_000);
    let kinds = result["warnings"].as_array().unwrap().iter().map(|warning| &warning["kind"]);
    assert!(kinds.into_iter().any(|kind| kind == "interrupted"));
}

#[test]
fn text_and_xml_are_whole_after_an_interruption() {
    let bench = Bench::new();
    let text = interrupted(&bench, "-W0 -d60 -b4K -r -L t.dat");
    assert_eq!(text.code, Some(130));
    let text = text.stdout;
    assert!(text.contains("\ntotal:") && text.contains("    max |"), "{text}");
    let xml = interrupted(&bench, "-W0 -d60 -b4K -r -L -Rxml t.dat");
    roxmltree::Document::parse(&xml.stdout).unwrap();
}

#[test]
fn an_interruption_in_the_warm_up_has_nothing_to_show() {
    let bench = Bench::new();
    let output = interrupted(&bench, "-W60 -d1 -b4K -r t.dat");
    assert_eq!(output.code, Some(130), "{}", output.stderr);
    let text = output.stdout;
    assert!(text.contains("The test was interrupted before the measurements began."), "{text}");
}

#[test]
fn an_interruption_while_a_file_is_created_leaves_no_file() {
    let bench = Bench::new();
    let mut child = start(&bench, "-v -W0 -d1 -c16G big.dat");
    // The first line on standard output says that the creation has begun.
    let mut first = [0; 1];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    send("-INT", child.id());
    let output = child.wait_with_output().unwrap();
    assert_ne!(output.status.code(), Some(0));
    assert!(!bench.path("big.dat").exists());
}

#[test]
fn a_thread_that_thinks_for_a_minute_still_hears_the_interruption() {
    let bench = Bench::new();
    let output = interrupted(&bench, "-W0 -d300 -b4K -r -i1 -j60000 -o1 -Rjson t.dat");
    assert_eq!(output.code, Some(130), "{}", output.stderr);
    let result: Value = serde_json::from_str(&output.stdout).unwrap();
    // It was not waited for: the next I/O was a minute away.
    assert!(result["time_spans"][0]["measured_ns"].as_u64().unwrap() < 60_000_000_000);
}
