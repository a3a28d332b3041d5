//! Which way I/O reaches the kernel, and what happens when the best one is forbidden.

use std::process::Command;

use serde_json::Value;

use crate::bench::{Bench, backends, ios, skip};

fn only_backend(args: &str) -> String {
    let bench = Bench::new();
    let result = bench.measure(args);
    assert!(ios(&result) > 0, "{args}");
    let mut names: Vec<String> = backends(&result).into_iter().map(|(name, _)| name).collect();
    names.dedup();
    names.join(",")
}

#[test]
fn each_way_serves_what_asks_for_it() {
    for (args, backend) in [
        ("-b4K -r t.dat", "io_uring"),
        ("-b4K -r -o1 t.dat", "sync"),
        ("-b4K -r -o1 -t2 t.dat", "sync"),
        ("-b4K -r -x -Su t.dat", "libaio"),
        ("-b4K -r -Sm t.dat", "mmap"),
        ("-b4K -r -w50 -Sm -Nv t.dat", "mmap"),
        ("-b4K -r --engine=aio -Su t.dat", "libaio"),
        ("-b4K -r --engine=sync t.dat", "sync"),
        ("-b4K -r --engine=null t.dat", "null"),
        ("-b4K -r -F2 -O4 t.dat", "io_uring"),
    ] {
        assert_eq!(only_backend(args), backend, "{args}");
    }
}

#[test]
fn the_null_engine_touches_nothing() {
    let bench = Bench::new();
    let result = bench.measure("--engine=null -c1G -w100 -o32 -L nothing.dat");
    assert!(ios(&result) > 1_000);
    assert!(!bench.path("nothing.dat").exists());
}

/// A program in Python that forbids system calls by number with a seccomp filter and then becomes the
/// program that it is given. The filter is classic BPF: load the number, compare, answer EPERM.
const FORBID: &str = r#"
import ctypes, os, struct, sys
numbers = [int(number) for number in sys.argv[1].split(",")]
code = struct.pack("HBBI", 0x20, 0, 0, 0)
for number in numbers:
    code += struct.pack("HBBI", 0x15, 0, 1, number) + struct.pack("HBBI", 0x06, 0, 0, 0x00050001)
code += struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000)
buffer = ctypes.create_string_buffer(code, len(code))
program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, program, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[2], sys.argv[2:])
"#;

#[cfg(target_arch = "x86_64")]
const IO_URING_SETUP: &str = "425";
#[cfg(target_arch = "x86_64")]
const IO_SETUP: &str = "206";

/// Runs with some system calls forbidden.
#[cfg(target_arch = "x86_64")]
fn forbidden(bench: &Bench, calls: &str, args: &str) -> Option<std::process::Output> {
    let output = Command::new("python3")
        .args(["-c", FORBID, calls, env!("CARGO_BIN_EXE_diskspd")])
        .args(args.split_whitespace())
        .current_dir(bench.path("."))
        .output();
    if output.is_err() {
        skip("there is no python3 to set a seccomp filter");
    }
    output.ok()
}

/// Runs with some system calls forbidden; the parsed result and the text result.
#[cfg(target_arch = "x86_64")]
fn run_forbidden(calls: &str) -> Option<(serde_json::Value, String)> {
    let bench = Bench::new();
    let run = |format| forbidden(&bench, calls, &format!("-W0 -d1 -b4K -r -o4 -Su {format} t.dat"));
    let (json, text) = (run("-Rjson")?, run("-Rtext")?);
    let stderr = String::from_utf8_lossy(&json.stderr).into_owned();
    assert_eq!((json.status.code(), text.status.code()), (Some(0), Some(0)), "{stderr}");
    let text = String::from_utf8(text.stdout).unwrap();
    Some((serde_json::from_slice(&json.stdout).unwrap(), text))
}

#[test]
#[cfg(target_arch = "x86_64")]
fn libaio_takes_over_where_io_uring_is_forbidden_and_the_result_says_so() {
    let Some((result, text)) = run_forbidden(IO_URING_SETUP) else { return };
    assert!(ios(&result) > 0);
    for (name, fallback) in backends(&result) {
        assert_eq!(name, "libaio");
        assert!(fallback.contains("io_uring"), "{fallback}");
    }
    let engine = text.lines().find(|line| line.starts_with("Engine:")).unwrap();
    assert!(engine.contains("libaio") && engine.contains("io_uring"), "{engine}");
    let warnings = result["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning["kind"] == "backend_fallback"));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn plain_calls_take_over_where_both_are_forbidden() {
    let Some((result, _)) = run_forbidden(&format!("{IO_URING_SETUP},{IO_SETUP}")) else { return };
    assert!(ios(&result) > 0);
    for (name, fallback) in backends(&result) {
        assert_eq!(name, "sync");
        assert!(!fallback.is_empty());
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn an_engine_that_was_asked_for_and_is_forbidden_is_refused_and_never_replaced() {
    let bench = Bench::new();
    for (calls, args, words) in [
        (IO_URING_SETUP, "--engine=uring", "io_uring"),
        (IO_SETUP, "--engine=aio -Su", "libaio"),
        (IO_SETUP, "-x -Su --engine=aio", "libaio"),
    ] {
        let args = format!("-W0 -d1 -b4K -r -o4 {args} t.dat");
        let Some(output) = forbidden(&bench, calls, &args) else { return };
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{args}: {stderr}");
        assert!(stderr.contains(words) && stderr.contains("not available"), "{args}: {stderr}");
        assert!(output.stdout.is_empty(), "{args}");
        // The other way is still open.
        let other = if calls == IO_SETUP { "--engine=sync" } else { "--engine=aio -Su" };
        let args = format!("-W0 -d1 -b4K -r {other} t.dat");
        assert_eq!(forbidden(&bench, calls, &args).unwrap().status.code(), Some(0), "{args}");
    }
}

/// A file in memory, which takes no I/O without waiting on kernels whose tmpfs does not support that.
fn in_memory(bench: &Bench) -> Option<(tempfile::TempDir, String)> {
    let folder = tempfile::tempdir_in("/dev/shm").ok()?;
    let path = folder.path().join("t.dat");
    std::fs::copy(bench.path("t.dat"), &path).ok()?;
    Some((folder, path.display().to_string()))
}

fn tried(result: &Value) -> Vec<(String, u64)> {
    let ways = result["time_spans"][0]["threads"][0]["backend"]["tried"].as_array();
    let way =
        |one: &Value| (one["way"].as_str().unwrap().to_owned(), one["iops"].as_u64().unwrap());
    ways.map(|ways| ways.iter().map(way).collect()).unwrap_or_default()
}

#[test]
fn where_io_has_to_be_waited_for_the_way_is_chosen_by_trial() {
    let bench = Bench::new();
    let Some((_folder, path)) = in_memory(&bench) else { return skip("there is no /dev/shm") };
    let result = bench.measure(&format!("-b4K -r -o8 -t2 {path}"));
    let ways = tried(&result);
    if ways.is_empty() {
        return skip("this kernel's tmpfs takes I/O without waiting");
    }
    let best = ways.iter().map(|(_, iops)| *iops).max().unwrap();
    let engine = |way: &str| match way {
        "libaio" => "libaio",
        "one plain call at a time" => "sync",
        _ => "io_uring",
    };
    let good = ways.iter().filter(|(_, iops)| *iops as f64 * 1.02 >= best as f64);
    let good: Vec<&str> = good.map(|(way, _)| engine(way)).collect();
    let names: Vec<String> = backends(&result).into_iter().map(|(name, _)| name).collect();
    assert!(names.iter().all(|name| good.contains(&name.as_str())), "{names:?} of {ways:?}");
    assert!(ways.len() >= 3 && ways.iter().all(|(_, iops)| *iops > 0), "{ways:?}");
}

#[test]
fn a_way_that_is_asked_for_or_does_not_matter_is_not_tried() {
    let bench = Bench::new();
    let Some((_folder, path)) = in_memory(&bench) else { return skip("there is no /dev/shm") };
    for args in ["--engine=uring -o8 -b4K", "-x -o8 -b4K", "-o8 -b256K", "-o1 -b4K", "-u -o8 -b4K"]
    {
        assert_eq!(tried(&bench.measure(&format!("-r {args} {path}"))), [], "{args}");
    }
    assert_eq!(tried(&bench.measure("-r -o8 -b4K -Su t.dat")), [], "ext4 and the like");
}
