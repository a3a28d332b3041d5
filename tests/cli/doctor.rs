//! `--doctor`: what slows a measurement on this machine.

use std::process::{Command, Output};

use fathom_core::doctor::{Diagnosis, Verdict};

fn diskspd(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_diskspd")).args(args).output().unwrap()
}

fn diagnosis(args: &[&str]) -> Diagnosis {
    let output = diskspd(args);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_text_tells_the_cost_of_the_tool_and_each_finding() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("d.json");
    let json = format!("--json={}", file.display());
    let output = diskspd(&["--doctor", &json]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("The tool itself, on an engine that does nothing"), "{text}");
    let found: Diagnosis = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let batched_ns = found.cost.batched_ns_per_io.expect("a CPU for a while");
    assert!(
        batched_ns > 0.0 && text.contains(&format!("{batched_ns:.1} ns of CPU time per I/O")),
        "{text}"
    );
    for finding in &found.findings {
        assert!(text.contains(&finding.evidence) && text.contains(&finding.remedy), "{finding:?}");
    }
}

/// Beside other load a run of a tenth of a second had no CPU, and its cost was 0 ns and 0.0 million IOPS.
#[test]
fn a_cost_that_could_not_be_measured_is_not_zero() {
    let mut found = diagnosis(&["-Rjson", "--doctor"]);
    found.cost.batched_ns_per_io = None;
    let text = fathom_core::report::doctor::write(&found);
    assert!(
        text.contains("queue depth 128   not measured: other processes left it no CPU\n"),
        "{text}"
    );
}

#[test]
fn each_fault_has_a_remedy_and_the_worst_come_first() {
    let found = diagnosis(&["-Rjson", "--doctor"]);
    for finding in &found.findings {
        let faulty = matches!(finding.verdict, Verdict::Slow | Verdict::Unsteady);
        assert_eq!(faulty, !finding.remedy.is_empty(), "{finding:?}");
    }
    assert!(found.findings.is_sorted_by_key(|finding| finding.verdict), "{:?}", found.findings);
    assert!(found.findings.iter().any(|finding| finding.subject == "io_uring"));
}

#[test]
fn a_target_brings_its_place() {
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let name = file.path().to_str().unwrap();
    let found = diagnosis(&["-Rjson", "--doctor", name]);
    let mut about = found.findings.iter().filter(|one| one.target.as_deref() == Some(name));
    assert!(about.any(|one| one.subject == "place"), "{:?}", found.findings);
}

#[test]
fn a_target_that_is_not_there_is_told_and_no_failure() {
    let found = diagnosis(&["-Rjson", "--doctor", "/no/such/folder/t.dat"]);
    let unknown = found.findings.iter().filter(|one| one.verdict == Verdict::Unknown);
    let names: Vec<_> = unknown.filter_map(|one| one.target.as_deref()).collect();
    assert!(names.contains(&"/no/such/folder/t.dat"), "{:?}", found.findings);
}

#[test]
fn there_is_no_xml_form() {
    let output = diskspd(&["-Rxml", "--doctor"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("-Rjson"));
}
