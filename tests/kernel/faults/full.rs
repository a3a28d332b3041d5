//! File systems that are full: at the creation of a file, and while it is written.

use std::fs::File;
use std::os::unix::fs::MetadataExt;

use roxmltree::Document;
use serde_json::Value;

use super::faults;
use crate::bench::{Bench, sum};
use crate::effects::trace::Trace;
use crate::prepare::support::Mount;

const TOTAL: u64 = 8 << 20;

/// One for each run: the kernel closes the files of a ring that is gone only some time later, and their room
/// is taken until then.
fn small() -> Option<Mount> {
    Mount::new(&["-t", "tmpfs", "-o", "size=8m", "tmpfs"])
}

#[test]
fn a_file_that_does_not_fit_is_not_left_half_made() {
    let Some(mount) = small() else { return };
    let bench = Bench::new();
    let path = mount.path().join("large.dat");
    let output = bench.run(&format!("-W0 -d1 -b4K -c16M {}", path.display()));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("large.dat") && told.contains("16777216"), "{told}");
    assert!(!path.exists());
}

/// A file of 64 MiB of holes on a file system of 8 MiB.
fn sparse(mount: &Mount) -> String {
    let path = mount.path().join("sparse.dat");
    File::create(&path).unwrap().set_len(8 * TOTAL).unwrap();
    path.display().to_string()
}

#[test]
fn every_write_that_finds_no_room_is_counted() {
    let bench = Bench::new();
    for engine in ["uring", "sync"] {
        let Some(mount) = small() else { return };
        let path = sparse(&mount);
        let options = format!("-b4K -r -w100 -o4 --on-error=continue --engine={engine}");
        let result = bench.measure(&format!("--overwrite {options} {path}"));
        let full = faults(&result, "write", "ENOSPC");
        assert!(full > 0, "{engine}");
        // All that the file system could hold was written.
        let held = std::fs::metadata(&path).unwrap().blocks() * 512;
        assert_eq!(held, TOTAL, "{engine}");
        assert!(sum(&result, "write", "bytes") >= TOTAL - (64 << 10), "{engine}");
    }
}

/// It was "Input/output error", whose cause was to be sought in the kernel's log.
#[test]
fn a_mapped_write_that_finds_no_room_says_so() {
    let Some(mount) = small() else { return };
    let path = sparse(&mount);
    let output = Bench::new().run(&format!("--overwrite -W0 -d5 -b64K -w100 -r -Sm {path}"));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("No space left on device") && told.contains("make room"), "{told}");
}

/// Writes that found no room were part of the rate that a rule judged, and of none in the table.
#[test]
fn the_rate_that_a_rule_judges_is_that_of_ios_that_did_not_fail() {
    let Some(mount) = small() else { return };
    let path = sparse(&mount);
    let args = format!(
        "-b4K -r -w100 -o4 --on-error=continue --stop-steady=5 --stop-interval=50 --overwrite {path}"
    );
    let result = Bench::new().measure(&args);
    let span = &result["time_spans"][0];
    let seconds = span["measured_ns"].as_f64().unwrap() / 1e9;
    let issued = sum(&result, "write", "ios") + sum(&result, "write", "errors");
    let judged = span["stop"]["steady"]["iops_mean"].as_f64().unwrap();
    // An eighth of the file has room.
    assert!(judged > 0.0 && judged < issued as f64 / seconds / 2.0, "{judged} of {issued}");
}

#[test]
fn the_count_is_that_of_the_calls_that_failed() {
    let Some(mount) = small() else { return };
    let bench = Bench::new();
    let path = sparse(&mount);
    let args =
        format!("-b64K -r -w100 -o1 -g2000i --engine=sync --on-error=continue --overwrite {path}");
    // The first call is that which starts the program, so that those of the load are distinguished from it.
    let Some(trace) = Trace::of(&bench, "execve,pwrite64", &args) else { return };
    let calls = trace.of_load("pwrite64");
    let failed = calls.filter(|call| call.text.contains("= -1 ENOSPC")).count() as u64;
    assert!(failed > 0);
    assert_eq!(faults(&trace.result, "write", "ENOSPC"), failed);
}

#[test]
fn a_full_file_system_ends_the_run_with_a_partial_result_in_each_form() {
    let bench = Bench::new();
    for form in ["-Rtext", "-Rxml", "-Rjson"] {
        let Some(mount) = small() else { return };
        let path = sparse(&mount);
        let args = format!("-W0 -d60 -b64K -r -w100 -o4 --overwrite {form} {path}");
        let output = bench.run(&args);
        let written = String::from_utf8_lossy(&output.stdout).into_owned();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{form}: {told}");
        assert!(told.contains("No space left on device"), "{form}: {told}");
        assert!(told.contains("make room where it lies"), "{form}: {told}");
        assert!(written.contains("ENOSPC"), "{form}: {written}");
        match form {
            "-Rtext" => {
                assert!(written.contains("\ntotal:") && written.contains("was ended after"));
            }
            "-Rxml" => assert!(Document::parse(&written).is_ok(), "{written}"),
            _ => {
                let result: Value = serde_json::from_str(&written).unwrap();
                assert_eq!(result["time_spans"][0]["outcome"], "interrupted");
                assert!(sum(&result, "write", "ios") > 0);
            }
        }
    }
}
