//! Rings in batches, reaps of a given depth, polling, submission threads, and where buffers lie: what
//! the kernel sees of them.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::bench::{Bench, ios, skip};

/// One `io_uring_enter(2)`: how many I/Os it offered, and how many completions it waited for.
struct Enter {
    offered: u64,
}

/// What strace saw of the ring, and the result of the run.
struct Traced {
    enters: Vec<Enter>,
    calls: String,
    result: Value,
}

/// Runs under strace; none if there is no strace, or if it may not trace.
fn traced(args: &str) -> Option<Traced> {
    let bench = Bench::new();
    let log = bench.path("calls.log");
    let output = Command::new("strace")
        .args(["-f", "-qq", "-e", "trace=io_uring_setup,io_uring_enter,io_uring_register", "-o"])
        .arg(&log)
        .arg(env!("CARGO_BIN_EXE_diskspd"))
        .args(["-W0", "-d1", "-Rjson"])
        .args(args.split_whitespace())
        .current_dir(bench.path("."))
        .output();
    let Ok(output) = output else {
        skip("there is no strace");
        return None;
    };
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if stderr.contains("PTRACE") || stderr.contains("ptrace") {
        skip("strace may not trace here");
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{args}: {stderr}");
    let calls = std::fs::read_to_string(&log).unwrap();
    let enters = calls.lines().filter_map(|line| {
        let (_, arguments) = line.split_once("io_uring_enter(")?;
        let offered = arguments.split(", ").nth(1)?.parse().ok()?;
        Some(Enter { offered })
    });
    let enters: Vec<Enter> = enters.collect();
    assert!(enters.len() > 10, "{args}: {} calls", enters.len());
    Some(Traced { enters, calls, result: serde_json::from_slice(&output.stdout).unwrap() })
}

impl Traced {
    /// The numbers of I/Os that were handed over at a time; the calls that only wait, and those
    /// that end the run, are left out.
    fn batches(&self) -> Vec<u64> {
        let offered: Vec<u64> =
            self.enters.iter().map(|enter| enter.offered).filter(|&ios| ios > 0).collect();
        offered[..offered.len() - 2].to_vec()
    }

    fn thread(&self) -> &Value {
        &self.result["time_spans"][0]["threads"][0]
    }
}

fn share_of(batches: &[u64], size: u64) -> f64 {
    let exact = batches.iter().filter(|&&ios| ios == size).count();
    exact as f64 / batches.len() as f64
}

/// The disk of a virtual machine stood idle while 32 I/Os were made ready at once.
#[test]
fn a_queueing_device_gets_its_ios_in_short_lists_and_what_is_in_memory_all_at_once() {
    let Some(disk) = traced("-b4K -r -Su -o32 t.dat") else { return };
    let batches = disk.batches();
    assert!(batches.iter().all(|&ios| ios <= 4), "{:?}", batches.iter().max());
    let Some(memory) = traced("-b4K -r -Sb -o32 t.dat") else { return };
    assert!(share_of(&memory.batches(), 32) > 0.9, "{:?}", &memory.batches()[..20]);
}

#[test]
fn each_call_hands_a_whole_batch_over() {
    for (option, outstanding, size) in [("-u8", 32, 8), ("-u25p", 16, 4), ("-u1", 8, 1)] {
        let args = format!("-b4K -r -Su -o{outstanding} {option} t.dat");
        let Some(traced) = traced(&args) else { return };
        let batches = traced.batches();
        assert!(batches.iter().all(|&ios| ios <= size), "{args}: {:?}", batches.iter().max());
        assert!(share_of(&batches, size) > 0.95, "{args}");
        // The result counts the same calls: what was measured of them is all but the ends of the run.
        let submissions = traced.thread()["submissions"].as_f64().unwrap();
        let per_call = ios(&traced.result) as f64 / submissions;
        assert!((per_call / size as f64 - 1.0).abs() < 0.05, "{args}: {per_call}");
    }
    // Without the option everything that is free goes over at once.
    let Some(plain) = traced("-b4K -r -o32 t.dat") else { return };
    assert!(plain.batches().contains(&32));
}

#[test]
fn buffers_are_registered_unless_n_says_no() {
    for (option, expected) in [("-u8", true), ("-un8", false)] {
        let Some(traced) = traced(&format!("-b4K -r -o32 {option} t.dat")) else { return };
        let registered = traced.calls.contains("IORING_REGISTER_BUFFERS");
        let features = traced.thread()["backend"]["features"].to_string();
        assert_eq!(features.contains("registered buffers"), registered);
        assert_eq!(registered, expected, "{option}");
    }
}

#[test]
fn a_reap_takes_no_more_completions_than_its_depth() {
    // From the page cache all I/Os of a call have ended when it returns.
    let Some(traced) = traced("-b4K -r -o32 -oc2 t.dat") else { return };
    let batches = traced.batches();
    assert_eq!(batches[0], 32);
    assert!(batches[1..].iter().all(|&ios| ios <= 2), "{:?}", batches.iter().skip(1).max());
    let Some(plain) = traced_plain() else { return };
    assert!(plain.batches()[1..].iter().any(|&ios| ios > 2));
}

fn traced_plain() -> Option<Traced> {
    traced("-b4K -r -o32 t.dat")
}

#[test]
fn libaio_takes_no_more_completions_than_the_depth_either() {
    let bench = Bench::new();
    let log = bench.path("calls.log");
    let traced = Command::new("strace")
        .args(["-f", "-qq", "-e", "trace=io_getevents", "-o"])
        .arg(&log)
        .arg(env!("CARGO_BIN_EXE_diskspd"))
        .args("-W0 -d1 -b4K -r -Su -o32 --engine=aio -oc3 t.dat".split_whitespace())
        .current_dir(bench.path("."))
        .output();
    let Ok(_) = traced else { return skip("there is no strace") };
    let calls = std::fs::read_to_string(&log).unwrap_or_default();
    // The third argument is the most that the call may give.
    let most = |line: &str| line.split(", ").nth(2).map(str::to_owned);
    let whole = calls.lines().filter(|line| line.contains("io_getevents("));
    let most: BTreeSet<String> = whole.filter_map(most).collect();
    if most.is_empty() {
        return skip("strace may not trace here");
    }
    assert_eq!(most.into_iter().collect::<Vec<_>>(), ["3"]);
}

/// The addresses of all threads' buffers, as the verbose run tells them.
fn addresses(option: &str) -> Vec<usize> {
    let output = Bench::new().run(&format!("-v -W0 -d1 -b4K -r -t4 -Rtext {option} t.dat"));
    let text = String::from_utf8(output.stdout).unwrap();
    let address = |line: &str| {
        let (_, rest) = line.split_once("I/O buffers at 0x")?;
        usize::from_str_radix(rest.split(',').next()?, 16).ok()
    };
    let addresses: Vec<usize> = text.lines().filter_map(address).collect();
    assert_eq!(addresses.len(), 4, "{text}");
    addresses
}

#[test]
fn buffers_of_different_threads_lie_a_page_directory_line_apart() {
    const LINE_BYTES: usize = 16 << 20;
    for option in ["", "-bsp"] {
        let addresses = addresses(option);
        assert!(addresses.iter().all(|address| address % LINE_BYTES == 0), "{addresses:x?}");
        let lines: BTreeSet<usize> = addresses.iter().map(|one| one / LINE_BYTES).collect();
        assert_eq!(lines.len(), 4, "{addresses:x?}");
    }
    let together = addresses("-bsn");
    assert!(together.iter().any(|address| address % LINE_BYTES != 0), "{together:x?}");
}

#[test]
fn a_device_that_cannot_be_polled_is_told_before_the_run() {
    let bench = Bench::new();
    let output = bench.run("-W0 -d1 -b4K -r -Su -o4 --polled -c1M new.dat");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        let result = bench.measure("-b4K -r -Su -o4 --polled t.dat");
        let features = result["time_spans"][0]["threads"][0]["backend"]["features"].to_string();
        assert!(features.contains("polled completion"), "{features}");
        return;
    }
    // A device behind the file system that tells nothing is found out by a read.
    let told = ["interrupts only", "does not complete I/O by polling"];
    assert!(told.iter().any(|words| stderr.contains(words)), "{stderr}");
    if stderr.contains(told[0]) {
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        assert!(!bench.path("new.dat").exists());
    }
}

#[test]
fn polling_past_the_page_cache_only() {
    let output = Bench::new().run("-W0 -d1 -b4K -r --polled t.dat");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("-Su"), "{stderr}");
}

#[test]
fn a_kernel_thread_takes_i_os_without_system_calls() {
    let Some(traced) = traced("-b4K -r -o8 --sqpoll t.dat") else { return };
    assert!(traced.calls.contains("IORING_SETUP_SQPOLL"));
    let features = traced.thread()["backend"]["features"].to_string();
    assert!(features.contains("kernel submission thread"), "{features}");
    // The kernel ignores what such a call offers, and most I/Os need no call at all.
    let (calls, ios) = (traced.enters.len() as u64, ios(&traced.result));
    assert!(calls < ios / 2, "{calls} calls for {ios} I/Os");
}

#[test]
fn the_kernel_thread_stays_on_its_cpu() {
    let bench = Bench::new();
    let running = bench.start("-W0 -d1 -b4K -r -o8 --sqpoll=0 t.dat");
    let threads: Vec<_> =
        running.threads().into_iter().filter(|(name, _)| name.starts_with("iou-sqp")).collect();
    assert_eq!(running.wait().code, Some(0));
    assert_eq!(threads.len(), 1, "{threads:?}");
    assert_eq!(threads[0].1, "0");
}
