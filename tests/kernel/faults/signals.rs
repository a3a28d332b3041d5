//! Signals in each phase of a run, and what becomes of the files that it has made.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::fault_fs::{Answer, Kind};
use super::mount;
use crate::bench::{Bench, Ended, ios, skip};
use crate::signals::send;

const SIGNALS: [&str; 2] = ["-INT", "-TERM"];

/// A run that tells its steps.
struct Told {
    child: Child,
    stdout: BufReader<ChildStdout>,
    written: String,
}

impl Told {
    fn start(bench: &Bench, args: &str) -> Self {
        let mut command = bench.command(&format!("-v {args}"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout, written: String::new() }
    }

    /// Returns when it tells this step.
    fn until(mut self, step: &str) -> Self {
        while !self.written.contains(step) {
            assert_ne!(self.stdout.read_line(&mut self.written).unwrap(), 0, "{}", self.written);
        }
        self
    }

    fn end_by(mut self, signal: &str) -> Ended {
        send(signal, self.child.id());
        self.stdout.read_to_string(&mut self.written).unwrap();
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        Ended { code: self.child.wait().unwrap().code(), stdout: self.written, stderr }
    }
}

#[test]
fn the_first_signal_ends_each_phase_with_what_is_there() {
    let bench = Bench::new();
    for signal in SIGNALS {
        let end = |args: &str, step: &str| {
            let ended = Told::start(&bench, args).until(step).end_by(signal);
            assert_eq!(ended.code, Some(130), "{signal} {step}: {}", ended.stderr);
            assert!(!ended.stderr.contains("panicked"), "{signal} {step}: {}", ended.stderr);
            ended.stdout
        };
        let making = end("-W0 -d1 -b4K -c32G made.dat", "Creating file");
        assert!(!bench.path("made.dat").exists(), "{signal}: {making}");
        let warming = end("-W60 -d1 -b4K -r t.dat", "starting warm up");
        assert!(warming.contains("before the measurements began"), "{signal}: {warming}");
        let measuring = end("-W0 -d60 -b4K -r t.dat", "starting measurements");
        assert!(measuring.contains("\ntotal:"), "{signal}: {measuring}");
        assert!(measuring.contains("was ended after"), "{signal}: {measuring}");
        // The measured time was over: the result is whole.
        let cooling = end("-W0 -d1 -C60 -b4K -r t.dat", "starting cool down");
        assert!(cooling.contains("\ntotal:"), "{signal}: {cooling}");
        assert!(!cooling.contains("was ended after"), "{signal}: {cooling}");
    }
}

/// Whether the first thread of a process has ended; others may still be in the kernel.
pub fn has_left(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:")).unwrap_or("Z");
    state.trim().starts_with('Z')
}

#[test]
fn the_second_signal_leaves_at_once_although_the_target_hangs() {
    let bench = Bench::new();
    for signal in SIGNALS {
        let Some(system) = mount(|_, _, _| Answer::Held) else { return };
        let args = format!("-W0 -d600 -b4K -r -o1 {}", system.file().display());
        let mut command = bench.command(&args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while system.count(Kind::Read, Answer::Held) == 0 {
            assert!(child.try_wait().unwrap().is_none(), "the run did not wait");
            std::thread::sleep(Duration::from_millis(20));
        }
        send(signal, child.id());
        std::thread::sleep(Duration::from_millis(200));
        assert!(!has_left(child.id()), "{signal}: the first one was enough");
        send(signal, child.id());
        // No result is waited for, not even for as long as threads may take to come back.
        let left = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            has_left(child.id())
        });
        assert!(left, "{signal}: it stays");
        system.release();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        assert!(!String::from_utf8_lossy(&output.stdout).contains("total:"));
    }
}

fn run(bench: &Bench, args: &str) -> Value {
    bench.measure_ios(100, &format!("-b4K -r -c1M {args}"))
}

fn contents(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

#[test]
fn a_file_that_the_run_has_made_is_removed_only_if_that_was_asked_for() {
    let bench = Bench::new();
    let path = bench.path("made.dat");
    run(&bench, "made.dat");
    assert!(path.exists());
    // It was there before: it stays, whether it is kept or made again.
    let before = contents(&path);
    run(&bench, "--remove-created made.dat");
    assert_eq!(contents(&path), before);
    bench.measure_ios(100, "-b4K -r -c2M --remove-created made.dat");
    assert_eq!(contents(&path).len(), 2 << 20);
    std::fs::remove_file(&path).unwrap();
    let result = run(&bench, "--remove-created made.dat t.dat");
    assert!(ios(&result) > 0);
    assert!(!path.exists(), "it was requested");
    assert!(bench.path("t.dat").exists(), "it was there before");
}

#[test]
fn a_file_that_the_run_has_made_is_removed_after_a_signal_too() {
    let bench = Bench::new();
    for (signal, args, step) in [
        ("-INT", "-W0 -d60", "starting measurements"),
        ("-TERM", "-W0 -d60", "starting measurements"),
        ("-INT", "-W60 -d1", "starting warm up"),
        ("-TERM", "-W0 -d1 -C60", "starting cool down"),
    ] {
        let args = format!("{args} -b4K -r -w50 -c1M --remove-created made.dat");
        let ended = Told::start(&bench, &args).until(step).end_by(signal);
        assert_eq!(ended.code, Some(130), "{}", ended.stderr);
        assert!(!bench.path("made.dat").exists(), "{signal} {args}");
    }
}

#[test]
fn a_file_that_took_the_place_of_a_made_one_is_not_removed() {
    let bench = Bench::new();
    let args = "-W0 -d60 -b4K -r -c1M --remove-created made.dat";
    let run = Told::start(&bench, args).until("starting measurements");
    std::fs::rename(bench.path("t.dat"), bench.path("made.dat")).unwrap();
    let before = contents(&bench.path("made.dat"));
    let ended = run.end_by("-INT");
    assert!(ended.stderr.contains("was not removed"), "{}", ended.stderr);
    assert_eq!(contents(&bench.path("made.dat")), before);
}

#[test]
fn to_remove_nothing_is_told() {
    let result = Bench::new().measure_ios(100, "-b4K -r --remove-created t.dat");
    let told = result["warnings"].to_string();
    assert!(told.contains("--remove-created: this run makes no file"), "{told}");
}

/// Ctrl-Z and `fg`, a frozen control group, a paused machine: the process does not run, and finds its threads
/// in the kernel for longer than the watchdog waits.
#[test]
fn a_run_that_was_stopped_for_a_time_goes_on_and_says_so() {
    let bench = Bench::new();
    for engine in ["uring", "aio", "sync"] {
        let args = format!("-W0 -d2 -b4K -r -o4 -t2 --engine={engine} --io-timeout=1 -Rjson t.dat");
        let run = bench.start(&args);
        send("-STOP", run.id());
        std::thread::sleep(Duration::from_millis(1_400));
        send("-CONT", run.id());
        let ended = run.wait();
        assert_eq!(ended.code, Some(0), "{engine}: {}", ended.stderr);
        let result: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(result["time_spans"][0]["outcome"], "complete", "{engine}");
        let told = |result: &Value| {
            let warnings = result["warnings"].as_array().unwrap();
            warnings.iter().find(|warning| warning["kind"] == "suspended").cloned()
        };
        let warning = told(&result).unwrap_or_else(|| panic!("{engine}: {}", result["warnings"]));
        let evidence = warning["evidence"].as_str().unwrap();
        assert!(evidence.contains(" of the 2.0 s that were measured"), "{engine}: {evidence}");
        assert_eq!(told(&bench.measure(&format!("-b4K -r --engine={engine} t.dat"))), None);
    }
}

/// A process that was ready and found its CPU taken was "suspended (Ctrl-Z, SIGSTOP, a debugger)".
#[test]
fn a_run_that_an_urgent_program_kept_off_its_cpu_was_not_suspended() {
    let bench = Bench::new();
    let run = bench.start("-W0 -d3 -b4K -r -o1 -t1 -a0 --engine=sync -Rjson t.dat");
    let pinned = Command::new("taskset").args(["-acp", "0", &run.id().to_string()]).output();
    assert!(pinned.unwrap().status.success());
    // The kernel leaves a twentieth of each second to others. Who forgets this program finds it ended.
    let spin = "i=0; while [ $i -lt 20000000 ]; do i=$((i+1)); done";
    let mut urgent = Command::new("chrt")
        .args(["-f", "10", "taskset", "-c", "0", "sh", "-c", spin])
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1_600));
    let is_permitted = urgent.try_wait().unwrap().is_none();
    urgent.kill().unwrap();
    urgent.wait().unwrap();
    if !is_permitted {
        return skip("no program may be more urgent");
    }
    let ended = run.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let result: Value = serde_json::from_str(&ended.stdout).unwrap();
    let kinds = result["warnings"].as_array().unwrap().iter().map(|warning| &warning["kind"]);
    assert!(kinds.clone().all(|kind| kind != "suspended"), "{}", result["warnings"]);
    assert!(kinds.clone().any(|kind| kind == "cpu_contended"), "{}", result["warnings"]);
}
