//! Real block devices: loop devices of the test's own, and the RAM disk if there is one.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::bench::{Bench, has_ram_disk, ios, skip, sum};
use crate::prepare::support::Loop;

const DEVICE_BYTES: u64 = 32 << 20;

/// One test at a time has the device.
static TURN: Mutex<()> = Mutex::new(());

/// The right to use the device, for as long as it is kept.
pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A loop device of this test's own, for as long as the first part is kept.
pub fn attached() -> (MutexGuard<'static, ()>, Option<Loop>) {
    (turn(), Loop::attach("/dev/loop2", DEVICE_BYTES))
}

#[test]
fn a_loop_device_is_read_and_written() {
    let (_turn, Some(device)) = attached() else { return };
    let bench = Bench::new();
    let args = format!("-b4K -r -w50 -o8 -Su -L {} {}", device.leave(), device.name());
    let result = bench.measure(&args);
    assert!(sum(&result, "read", "ios") > 0 && sum(&result, "write", "ios") > 0);
    let target = &result["time_spans"][0]["targets"][0];
    assert_eq!(target["kind"], "block_device");
    assert_eq!(target["size_bytes"], DEVICE_BYTES);
}

#[test]
fn two_devices_share_threads_and_requests() {
    let (_turn, Some(device)) = attached() else { return };
    let bench = Bench::new();
    let result = bench.measure(&format!("-b4K -r -F2 -O8 -L {} t.dat", device.name()));
    let threads = result["time_spans"][0]["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 2);
    assert!(threads.iter().all(|thread| thread["targets"].as_array().unwrap().len() == 2));
    assert_eq!(result["time_spans"][0]["request_count"], 8);
}

#[test]
fn the_ram_disk_is_read() {
    if !has_ram_disk() {
        return;
    }
    let result = Bench::new().measure("-b4K -r -o32 -Su -L -f64M /dev/zram0");
    assert!(ios(&result) > 1_000);
}

/// A RAM disk promises no I/O without waiting, so that the kernel's workers serve it.
#[test]
fn kernel_workers_run_on_idle_cpus() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        skip("there is no second CPU");
        return;
    }
    if !has_ram_disk() {
        return;
    }
    let run = Bench::new().start("-d60 -b4K -r -o32 -Su -f64M -a0 --engine=uring /dev/zram0");
    let tasks = std::fs::read_dir(format!("/proc/{}/task", run.id())).unwrap();
    let allowed = |status: &str| {
        let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list:"));
        line.unwrap().split_whitespace().nth(1).unwrap().to_owned()
    };
    let status = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("status")));
    let status: Vec<String> = status.map(Result::unwrap).collect();
    let of = |name: &str| -> Vec<String> {
        let named = status.iter().filter(|one| one.starts_with(&format!("Name:\t{name}")));
        named.map(|one| allowed(one)).collect()
    };
    let (threads, workers) = (of("load"), of("iou-wrk"));
    run.interrupt();
    run.wait();
    assert_eq!(threads, ["0"], "{status:?}");
    assert!(!workers.is_empty(), "{status:?}");
    assert!(workers.iter().all(|cpus| !cpus.starts_with('0')), "{workers:?}");
}

#[test]
fn a_device_that_is_cut_short_ends_the_run_with_a_partial_result() {
    let (_turn, Some(device)) = attached() else { return };
    let bench = Bench::new();
    let args = format!("-W0 -d60 -b64K -Su -L -Rjson {}", device.name());
    let run = bench.start(&args);
    let backing = std::fs::OpenOptions::new().write(true).open(device.image()).unwrap();
    backing.set_len(1 << 20).unwrap();
    let output = run.wait();
    let stderr = output.stderr;
    assert_eq!(output.code, Some(1), "{stderr}");
    assert!(stderr.contains(device.name()) && stderr.contains("offset"), "{stderr}");
    let result: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(result["time_spans"][0]["outcome"], "interrupted");
    assert!(ios(&result) > 0);
}

#[test]
fn a_mapped_file_that_is_cut_short_ends_the_run_with_a_partial_result() {
    let bench = Bench::new();
    for args in ["-Sm -r -b4K", "-Sm -r -w100 -b4K -t2"] {
        bench.fill("m.dat", 8 << 20);
        let run = bench.start(&format!("-W0 -d60 -Rjson {args} m.dat"));
        let file = std::fs::OpenOptions::new().write(true).open(bench.path("m.dat")).unwrap();
        file.set_len(4096).unwrap();
        let output = run.wait();
        assert_eq!(output.code, Some(1), "{}", output.stderr);
        assert!(output.stderr.contains("m.dat"), "{}", output.stderr);
        let result: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
        assert!(ios(&result) > 0);
    }
}
