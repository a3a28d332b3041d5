//! Others that use the CPUs: a figure that they spoil is reported as theirs, and one that they do not is not.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::turn;

/// A process that uses all of a CPU for as long as this is kept.
struct Spinner(Child);

impl Spinner {
    /// In a session of its own, as the kernel shares CPUs among sessions (sched(7), autogroup).
    fn on(os_id: usize, nice: &str) -> Self {
        let command =
            ["-c", &os_id.to_string(), "nice", "-n", nice, "sh", "-c", "while :; do :; done"];
        let spawned =
            Command::new("setsid").arg("taskset").args(command).stderr(Stdio::null()).spawn();
        Self(spawned.expect("setsid and taskset are parts of every Linux"))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// A folder with a file that the page cache holds.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut file = File::create(folder.path().join("t.dat")).unwrap();
    let mut random = io::Read::take(File::open("/dev/urandom").unwrap(), 8 << 20);
    io::copy(&mut random, &mut file).unwrap();
    folder
}

fn measure(folder: &Path, args: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_diskspd"))
        .args(format!("-W0 -d2 -b4K -r -Sb -Rjson {args} t.dat").split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// The warnings of a kind, as one text each.
fn told(result: &Value, kind: &str) -> Vec<String> {
    let all = result["warnings"].as_array().unwrap().iter().filter(|one| one["kind"] == kind);
    all.map(|one| format!("{} {}", one["evidence"], one["remedy"])).collect()
}

/// A CPU is busy with something else, and the rate is kept: nothing is to be mended.
#[test]
fn a_rate_that_is_kept_beside_a_spinner_asks_for_nothing() {
    let (_turn, folder) = (turn(), folder());
    let _spinner = Spinner::on(0, "0");
    let result = measure(folder.path(), "-o1 -g20i -a0");
    assert_eq!(told(&result, "rate_not_reached"), [""; 0]);
    for kind in ["core_saturated", "cpu_contended"] {
        assert_eq!(told(&result, kind), [""; 0], "{kind}");
    }
}

#[test]
fn a_rate_that_spinners_keep_from_being_reached_is_told_as_theirs() {
    let (_turn, folder) = (turn(), folder());
    let cpus = fathom_sys::cpu::usable().unwrap();
    let spinners: Vec<Spinner> = cpus
        .iter()
        .flat_map(|&os_id| [os_id as usize; 2])
        .map(|os_id| Spinner::on(os_id, "-10"))
        .collect();
    for args in ["-o1 -g400000i -L", "-o4 -t2 -g400000i -L"] {
        let result = measure(folder.path(), args);
        let missed = told(&result, "rate_not_reached");
        assert_eq!(missed.len(), 1, "{args}: {}", result["warnings"]);
        assert!(missed[0].contains("other processes used"), "{missed:?}");
        assert!(
            missed[0].contains("(process ") && missed[0].contains("Stop what else runs"),
            "{missed:?}"
        );
        assert!(!missed[0].contains("lower rate"), "{missed:?}");
        for late in told(&result, "response_behind_schedule") {
            assert!(!late.contains("a backlog grew"), "{late}");
        }
        assert_eq!(told(&result, "core_saturated"), [""; 0]);
        assert_eq!(told(&result, "cpu_contended").len(), 1, "{}", result["warnings"]);
        let cpu = &result["time_spans"][0]["beneath"]["cpu"];
        assert!(cpu["waited_ns"].as_u64().unwrap() > 200_000_000, "{cpu}");
    }
    drop(spinners);
}
