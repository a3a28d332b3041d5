//! What a run does to the kernel: its system calls, and what `/proc` says of it.

use std::process::Command;

use serde_json::Value;

use crate::bench::{Bench, Running, skip};

/// One system call as `strace` shows it.
#[derive(Debug, Clone)]
pub struct Call {
    /// The thread that made it.
    pub tid: u32,
    /// Whether that is a thread of load.
    of_load: bool,
    /// Name, arguments and outcome.
    pub text: String,
}

impl Call {
    /// Whether it is this system call.
    pub fn is(&self, name: &str) -> bool {
        self.text.strip_prefix(name).is_some_and(|rest| rest.starts_with('('))
    }
}

/// The system calls of a run, and its result.
pub struct Trace {
    pub calls: Vec<Call>,
    pub result: Value,
}

impl Trace {
    /// Runs with a JSON result under `strace`, which shows these calls; none where that is not possible.
    pub fn of(bench: &Bench, calls: &str, args: &str) -> Option<Self> {
        let traced = Command::new("strace").args(["-e", "trace=none", "true"]).output();
        if !traced.is_ok_and(|output| output.status.success()) {
            skip("there is no strace here, or it may not trace");
            return None;
        }
        let log = bench.path("strace.log");
        let output = Command::new("strace")
            .args([
                "-f",
                "-qq",
                "--decode-pids=comm",
                "--seccomp-bpf",
                "-e",
                &format!("trace={calls}"),
                "-o",
            ])
            .arg(&log)
            .arg(env!("CARGO_BIN_EXE_diskspd"))
            .args(format!("-W0 -d1 -Rjson {args}").split_whitespace())
            .current_dir(bench.path("."))
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{args}: {stderr}");
        let result = serde_json::from_slice(&output.stdout).unwrap();
        Some(Self { calls: calls_of(&std::fs::read_to_string(log).unwrap()), result })
    }

    /// All calls of this name.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Call> {
        self.calls.iter().filter(move |call| call.is(name))
    }

    /// Calls of this name that threads of load made.
    pub fn of_load<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Call> {
        self.named(name).filter(|call| call.of_load)
    }

    /// How each thread of load opened its target for I/O: the last time that it did so, because it looks at
    /// the target before; what is written is opened through the descriptor that the guard has kept.
    pub fn opened(&self, target: &str) -> Vec<&Call> {
        let mut last = std::collections::BTreeMap::new();
        for call in self.of_load("openat") {
            let is_named = call.text.contains(target) && !call.text.contains("O_PATH");
            if is_named || call.text.contains("/proc/thread-self/fd/") {
                last.insert(call.tid, call);
            }
        }
        last.into_values().collect()
    }
}

/// The calls of a log, each whole: what another thread interrupted is joined again.
fn calls_of(log: &str) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for line in log.lines() {
        // A line such as `1234<load 0> openat(...`.
        let Some((tid, rest)) = line.split_once('<') else { continue };
        let Some((thread, text)) = rest.split_once("> ") else { continue };
        let (tid, text) = (tid.parse().unwrap_or(0), text.trim_start());
        let of_load = thread.starts_with("load ");
        if let Some(rest) = text.strip_prefix("<... ") {
            let rest = rest.split_once('>').map_or("", |(_, rest)| rest);
            if let Some(call) = calls.iter_mut().rev().find(|call| call.tid == tid) {
                call.text = call.text.replace(" <unfinished ...>", "");
                call.text.push_str(rest);
            }
        } else {
            calls.push(Call { tid, of_load, text: text.to_owned() });
        }
    }
    calls
}

/// A file of `/proc` about a run.
pub fn proc_file(run: &Running, name: &str) -> String {
    std::fs::read_to_string(format!("/proc/{}/{name}", run.id())).unwrap_or_default()
}

/// The value of a line such as `Cpus_allowed_list:\t0-1`.
pub fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.split(':').next() == Some(name))?;
    line.split_once(':').map(|(_, value)| value.trim())
}

/// The threads of load of a run, by number.
pub fn load_threads(run: &Running) -> Vec<u32> {
    let folder = format!("/proc/{}/task", run.id());
    let tasks = std::fs::read_dir(folder).unwrap().flatten();
    let mut threads: Vec<u32> = tasks
        .filter(|task| {
            let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            name.starts_with("load ")
        })
        .map(|task| task.file_name().to_str().unwrap().parse().unwrap())
        .collect();
    threads.sort_unstable();
    threads
}
