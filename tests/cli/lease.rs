//! A run whose lease nobody renews ends by itself, also where whoever renewed it was killed.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use fathom_core::report::json;
use fathom_core::result::{EndedBy, Outcome, RunResult, WarningKind};

const LEASE: EndedBy = EndedBy::Lease { lease_ns: 3_000_000_000 };

/// A run that needs to be renewed every three seconds.
fn leased(folder: &Path, input: Stdio, seconds: u32) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskspd"));
    let duration = format!("-d{seconds}");
    let words = ["--lease=3", "--engine=null", "-c1M", "-W0", "-Rjson", "-g100i", &duration, "x"];
    command
        .current_dir(folder)
        .args(words)
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn result(output: &Output) -> RunResult {
    json::read(std::str::from_utf8(&output.stdout).unwrap()).unwrap()
}

fn ended_by_its_lease(output: &Output) {
    let result = result(output);
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(result.ended_by, Some(LEASE));
    assert_eq!(result.time_spans[0].outcome, Outcome::Interrupted);
    assert!(result.time_spans[0].measured_ns < 300_000_000_000);
    let evidence = "The run ended itself: its lease was not renewed for 3 s.";
    let told = |warning: &fathom_core::result::Warning| {
        warning.kind == WarningKind::Interrupted && warning.evidence == evidence
    };
    assert!(result.warnings.iter().any(told), "{:?}", result.warnings);
}

#[test]
fn a_run_that_nobody_renews_ends_itself_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    ended_by_its_lease(&leased(folder.path(), Stdio::null(), 600).wait_with_output().unwrap());
}

#[test]
fn lines_on_standard_input_renew_a_lease_until_it_is_over() {
    renewed_to_its_end_by(b"still here\n");
}

#[test]
fn a_line_that_is_no_utf_8_ended_all_renewals() {
    renewed_to_its_end_by(b"gr\xfc\xdfe\n");
}

fn renewed_to_its_end_by(line: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let mut child = leased(folder.path(), Stdio::piped(), 5);
    let mut input = child.stdin.take().unwrap();
    while child.try_wait().unwrap().is_none() {
        // It may have ended since.
        let _written = input.write_all(line);
        sleep(Duration::from_millis(100));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let result = result(&output);
    assert_eq!((result.ended_by, &result.time_spans[0].outcome), (None, &Outcome::Complete));
    assert_eq!(result.time_spans[0].measured_ns, 5_000_000_000);
}

#[test]
fn a_run_ends_soon_after_whoever_renewed_it_was_killed() {
    let renewing = "while :; do echo renew; sleep 0.1; done";
    let mut master =
        Command::new("sh").args(["-c", renewing]).stdout(Stdio::piped()).spawn().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let child = leased(folder.path(), master.stdout.take().unwrap().into(), 600);
    sleep(Duration::from_millis(4500));
    master.kill().unwrap();
    master.wait().unwrap();
    let output = child.wait_with_output().unwrap();
    ended_by_its_lease(&output);
    // It was renewed for longer than its lease.
    assert!(result(&output).time_spans[0].measured_ns > 3_000_000_000);
}
