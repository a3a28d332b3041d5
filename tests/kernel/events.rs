//! Two processes start and stop each other by named events.

use std::process::{Child, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::bench::{Bench, ios};

/// A name of this test process's own, so that tests do not meet each other.
fn name(of: &str) -> String {
    format!("kernel-test-{of}-{}", std::process::id())
}

fn start(bench: &Bench, args: &str) -> Child {
    let mut command = bench.command(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(bench: &Bench, event: &str) -> Output {
    bench.run(&format!("-ye{event}"))
}

/// Signals until somebody uses the event, because a process that was just started may not be there yet.
pub fn signal_when_used(bench: &Bench, event: &str) {
    for _ in 0..200 {
        if signal(bench, event).status.success() {
            return;
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    panic!("nobody uses the event {event}");
}

/// Waits until some process uses the event, which then has a file in shared memory.
pub fn until_used(event: &str) {
    let used = || {
        let mut files = std::fs::read_dir("/dev/shm").unwrap().flatten();
        files.any(|file| file.file_name().to_string_lossy().ends_with(event))
    };
    for _ in 0..400 {
        if used() {
            return;
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    panic!("nobody uses the event {event}");
}

fn result(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_run_waits_for_its_event_and_ends_with_another() {
    let bench = Bench::new();
    let (go, halt) = (name("go"), name("halt"));
    let mut child = start(&bench, &format!("-W0 -d60 -b4K -r -Rjson -yr{go} -yp{halt} t.dat"));
    until_used(&halt);
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "it did not wait");
    signal_when_used(&bench, &go);
    std::thread::sleep(Duration::from_millis(600));
    signal_when_used(&bench, &halt);
    let result = result(child);
    assert!(ios(&result) > 0);
    assert_eq!(result["time_spans"][0]["outcome"], "interrupted");
}

#[test]
fn one_run_starts_another_when_its_measured_time_begins() {
    let bench = Bench::new();
    bench.fill("u.dat", 8 << 20);
    let started = name("started");
    let second = start(&bench, &format!("-W0 -d1 -b4K -r -Rjson -yr{started} u.dat"));
    until_used(&started);
    let first = start(&bench, &format!("-W0 -d1 -b4K -r -Rjson -ys{started} t.dat"));
    assert!(ios(&result(first)) > 0 && ios(&result(second)) > 0);
}

#[test]
fn the_end_of_a_run_is_signalled() {
    let bench = Bench::new();
    bench.fill("u.dat", 8 << 20);
    let done = name("done");
    let second = start(&bench, &format!("-W0 -d1 -b4K -r -Rjson -yr{done} u.dat"));
    until_used(&done);
    let first = start(&bench, &format!("-W0 -d1 -b4K -r -Rjson -yf{done} t.dat"));
    let (first, second) = (result(first), result(second));
    let at = |result: &Value| result["started_at_unix_s"].as_i64().unwrap();
    assert!(ios(&second) > 0 && at(&first) >= at(&second));
}

#[test]
fn an_event_of_a_killed_process_starts_nobody() {
    let bench = Bench::new();
    let go = name("stale");
    let mut killed = start(&bench, &format!("-W0 -d60 -b4K -r -yr{go} t.dat"));
    signal_when_used(&bench, &go);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let mut waiting = start(&bench, &format!("-W0 -d1 -b4K -r -yr{go} t.dat"));
    std::thread::sleep(Duration::from_millis(900));
    assert!(waiting.try_wait().unwrap().is_none(), "a stale event started it");
    signal_when_used(&bench, &go);
    assert!(waiting.wait().unwrap().success());
}

#[test]
fn signalling_an_event_that_nobody_uses_is_an_error_and_leaves_nothing() {
    let bench = Bench::new();
    let output = signal(&bench, &name("nobody"));
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("no running process"), "{stderr}");
}

#[test]
fn a_wrong_name_is_told_before_anything_runs() {
    let bench = Bench::new();
    let output = bench.run("-W0 -d1 -yra/b -c1M new.dat");
    assert_eq!(output.status.code(), Some(3));
    assert!(!bench.path("new.dat").exists());
}
