//! Limits of the process: what is refused is reported, and nothing crashes.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::bench::{Bench, backends, ios, skip};

/// Runs with a limit as `prlimit` names it.
fn limited(bench: &Bench, limit: &str, args: &str) -> Option<Output> {
    let mut command = Command::new("prlimit");
    command.arg(limit).arg(env!("CARGO_BIN_EXE_diskspd")).args(args.split_whitespace());
    let output = command.current_dir(bench.path(".")).output();
    output.inspect_err(|error| skip(&format!("there is no prlimit: {error}"))).ok()
}

fn told(output: &Output) -> String {
    assert_eq!(output.status.signal(), None, "it crashed: {}", complaint(output));
    complaint(output)
}

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn memory_that_is_refused_is_told_with_its_amount() {
    let bench = Bench::new();
    for limit in ["--as=500000000", "--data=300000000"] {
        for engine in ["uring", "aio", "sync"] {
            let args = format!("-W0 -d1 -b8M -f8M -o128 -t1 --engine={engine} t.dat");
            let Some(output) = limited(&bench, limit, &args) else { return };
            let told = told(&output);
            assert_eq!(output.status.code(), Some(1), "{limit} {engine}: {told}");
            let words = "cannot allocate 1073741824 bytes of I/O buffers: Cannot allocate memory";
            assert!(told.contains(words), "{limit} {engine}: {told}");
        }
    }
    // What fits is used.
    let args = "-W0 -d1 -b64K -o2 -t1 t.dat";
    let Some(output) = limited(&bench, "--as=500000000", args) else { return };
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

/// Whatever the limit, the run works or says what it lacks: it is never ended by a signal.
#[test]
fn no_limit_of_memory_makes_it_crash() {
    let bench = Bench::new();
    let mut codes = Vec::new();
    for mib in [48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048] {
        let limit = format!("--as={}", mib << 20);
        let args = "-W0 -d1 -b64K -r -o32 -t4 -L t.dat";
        let Some(output) = limited(&bench, &limit, args) else { return };
        let told = told(&output);
        let code = output.status.code().unwrap();
        assert!(code == 0 || !told.is_empty(), "{mib} MiB: {code}");
        assert!(!told.contains("panicked"), "{mib} MiB: {told}");
        codes.push(code);
    }
    assert_eq!(codes.last(), Some(&0), "{codes:?}");
    assert!(codes.contains(&1), "no limit was low enough: {codes:?}");
}

#[test]
fn too_few_open_files_are_told_before_a_target_is_opened_or_made() {
    let bench = Bench::new();
    let names: Vec<String> = (0..40).map(|number| format!("{number}.dat")).collect();
    for (engine, needed) in [("uring", "164"), ("aio", "160")] {
        let args = format!("-W0 -d1 -b4K -F4 -c64K --engine={engine} {}", names.join(" "));
        let Some(output) = limited(&bench, "--nofile=100:100", &args) else { return };
        let told = told(&output);
        assert_eq!(output.status.code(), Some(1), "{engine}: {told}");
        assert!(told.contains("ulimit -Hn"), "{engine}: {told}");
        assert!(told.contains(&format!("at least {needed} more")), "{engine}: {told}");
        assert!(names.iter().all(|name| !bench.path(name).exists()), "{engine}: made in vain");
    }
    // What is just enough is used.
    let args = format!("-W0 -d1 -b4K -F1 -c64K --engine=sync {}", names.join(" "));
    let Some(output) = limited(&bench, "--nofile=100:100", &args) else { return };
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

/// A copy of the program and of a file in a folder that any account may use; the limits below do not hold for
/// a privileged one.
fn for_anybody(bench: &Bench) -> Option<TempDir> {
    if !Command::new("setpriv").arg("--version").output().is_ok_and(|out| out.status.success()) {
        skip("there is no setpriv");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_diskspd"), folder.path().join("diskspd")).unwrap();
    std::fs::copy(bench.path("t.dat"), folder.path().join("t.dat")).unwrap();
    Some(folder)
}

/// Runs as nobody, with a limit.
fn as_nobody(folder: &TempDir, limit: &str, args: &str) -> Output {
    let mut command = Command::new("prlimit");
    command.args([limit, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
    command
        .arg("./diskspd")
        .args(args.split_whitespace())
        .current_dir(folder.path())
        .output()
        .unwrap()
}

#[test]
fn an_ordinary_account_meets_the_limits_of_threads_and_of_locked_memory() {
    let bench = Bench::new();
    let Some(folder) = for_anybody(&bench) else { return };
    let run = |limit: &str, args: &str| as_nobody(&folder, limit, args);
    let free = run("--nproc=64", "-W0 -d1 -b4K -r -t4 -Rjson t.dat");
    if !free.status.success() {
        return skip(&format!("nobody cannot run it here: {}", complaint(&free)));
    }
    // One thread after the other is refused; none of them is a panic.
    for most in 1..=24 {
        let output = run(&format!("--nproc={most}"), "-W0 -d1 -b4K -r -t20 t.dat");
        let told = told(&output);
        assert!(!told.contains("panicked"), "{most}: {told}");
        let is_enough = output.status.code() == Some(0);
        assert!(is_enough || told.contains("ulimit -u"), "{most}: {told}");
        assert!(!is_enough || most > 20, "{most}: 20 threads ran");
    }
    // Buffers of 2 MiB that may not be locked are not registered, and the ring does without. The kernel gives
    // back the memory of rings that are gone only some time later, so that a limit must have room for some.
    let args = "-W0 -d1 -b64K -r -o32 --engine=uring -Rjson t.dat";
    for (limit, registered) in [("--memlock=1048576", false), ("--memlock=8388608", true)] {
        let output = run(limit, args);
        if complaint(&output).contains("prlimit: failed") {
            skip("the limit of locked memory cannot be raised to 8 MiB here");
            continue;
        }
        assert_eq!(output.status.code(), Some(0), "{limit}: {}", told(&output));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(ios(&result) > 0);
        let backend = result["time_spans"][0]["threads"][0]["backend"].to_string();
        assert_eq!(backend.contains("registered buffers"), registered, "{limit}: {backend}");
    }
    // A thousand rings fit into 16 MiB, and their buffers do not; into 8 MiB not even the rings would.
    for (limit, engine) in [("--memlock=18000000", "io_uring"), ("--memlock=8388608", "libaio")] {
        let output = run(limit, "-W0 -d1 -b4K -r -o8 -t1000 -Rjson t.dat");
        if complaint(&output).contains("prlimit: failed") {
            skip("the limit of locked memory cannot be raised here");
            continue;
        }
        assert_eq!(output.status.code(), Some(0), "{limit}: {}", complaint(&output));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        let backends = backends(&result);
        assert_eq!(backends.len(), 1000);
        let is_fallback = engine == "libaio";
        for (name, why) in backends {
            assert!(!name.contains("registered buffers"), "{limit}: {name}");
            assert!(!is_fallback || name.contains(engine), "{limit}: {name}");
            assert_eq!(is_fallback, why.contains("ulimit -l"), "{limit}: {why}");
        }
    }
    // Where not even a ring may be, that is reported; another engine takes its place if none was requested.
    let output = run("--memlock=0", args);
    let told = told(&output);
    assert!(output.status.code() == Some(0) || told.contains("ulimit -l"), "{told}");
    let output = run("--memlock=0", &args.replace("--engine=uring", ""));
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
}
