//! Many targets and threads: limits that are raised, and those that cannot be.

use std::process::{Command, Output};

use crate::bench::{Bench, ios};

const TARGETS: usize = 40;

fn targets(bench: &Bench) -> String {
    let names = (0..TARGETS).map(|number| format!("{number}.dat"));
    names.inspect(|name| bench.fill(name, 64 << 10)).collect::<Vec<_>>().join(" ")
}

/// Runs with these limits of open files, soft and hard.
fn limited(bench: &Bench, soft: u32, hard: u32, args: &str) -> Output {
    let shell = format!("ulimit -Sn {soft} && ulimit -Hn {hard} && exec \"$0\" {args}");
    Command::new("sh")
        .args(["-c", &shell, env!("CARGO_BIN_EXE_diskspd")])
        .current_dir(bench.path("."))
        .output()
        .unwrap()
}

#[test]
fn the_soft_limit_of_open_files_is_no_obstacle() {
    let bench = Bench::new();
    let args = format!("-W0 -d1 -b4K -r -o2 -Rjson {}", targets(&bench));
    let output = limited(&bench, 32, 512, &args);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(ios(&result) >= TARGETS as u64);
}

#[test]
fn the_hard_limit_of_open_files_is_told_with_what_to_do() {
    let bench = Bench::new();
    let targets = targets(&bench);
    let refused = |threads: &str, needed: &str| {
        let args = format!("-W0 -d1 -b4K -r -o2 {threads} {targets}");
        let output = limited(&bench, 32, 32, &args);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("ulimit -Hn") && stderr.contains(needed), "{stderr}");
    };
    refused("-F1 --engine=uring", "at least 41 more");
    // A thread for each target has a ring of its own.
    refused("-t1 --engine=uring", "at least 80 more");
}

#[test]
fn a_thousand_threads_start_together_and_are_all_counted() {
    let result = Bench::new().measure("--engine=null -b4K -r -o2 -t1000 -g20i -L t.dat");
    let threads = result["time_spans"][0]["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 1000);
    let busy = threads.iter().filter(|thread| thread["targets"][0]["read"]["ios"] != 0);
    assert_eq!(busy.count(), 1000, "some threads completed nothing at 20 IOPS");
}

/// The greatest resident size that a run reached, in bytes.
fn peak_bytes(bench: &Bench, args: &str) -> u64 {
    let script = "import resource, subprocess, sys; \
                  subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); \
                  print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    let output = Command::new("python3")
        .args(["-c", script, env!("CARGO_BIN_EXE_diskspd")])
        .args(args.split_whitespace())
        .current_dir(bench.path("."))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim().parse::<u64>().expect(&told) << 10
}

#[test]
fn a_thousand_threads_with_latency_need_little_beside_their_buffers() {
    let peak = peak_bytes(&Bench::new(), "-W0 -d1 -b4K -r -o8 -t1000 -L t.dat");
    let buffers = 1000 * 8 * 4096;
    assert!(peak < buffers + (256 << 20), "{} MiB", peak >> 20);
}
