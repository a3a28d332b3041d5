//! The latency that is reported, on a target whose latency is known.

#[path = "../support/slow_fs.rs"]
pub mod slow_fs;

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fathom_sys::buffers::{Buffers, PageKind};
use fathom_sys::clock::now_ns;
use fathom_sys::thread::use_precise_timers;
use serde_json::Value;

use crate::bench::{Bench, skip};
use slow_fs::SlowFs;

const DELAY: Duration = Duration::from_millis(5);
const TRIES: usize = 60;

fn slow_fs(delay: Duration) -> Option<SlowFs> {
    let mounted = SlowFs::mount(Path::new(env!("CARGO_TARGET_TMPDIR")), 8 << 20, delay);
    if let Err(error) = &mounted {
        skip(&format!("a FUSE file system cannot be mounted: {error}"));
    }
    mounted.ok()
}

fn histogram<'a>(result: &'a Value, kind: &str) -> &'a Value {
    &result["time_spans"][0]["threads"][0]["targets"][0]["read"][kind]
}

fn mean_ns(result: &Value) -> f64 {
    let latency = histogram(result, "latency");
    latency["sum_ns"].as_f64().unwrap() / latency["count"].as_f64().unwrap()
}

/// How many I/Os of a histogram took at least this long.
fn longer_than(histogram: &Value, nanos: u64) -> u64 {
    let numbers = |name: &str| histogram[name].as_array().unwrap().iter().map(Value::as_u64);
    let buckets = numbers("bucket_lower_ns").zip(numbers("bucket_counts"));
    buckets.filter(|(lower_ns, _)| *lower_ns >= Some(nanos)).filter_map(|(_, count)| count).sum()
}

/// What plain reads of the file take as long as `measure` lasts: their mean, in nanoseconds.
fn beside<T>(slow: &SlowFs, measure: impl FnOnce() -> T) -> (T, f64) {
    const O_DIRECT: i32 = 0o40_000;
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let plain = scope.spawn(|| {
            use_precise_timers();
            let file = File::options().read(true).custom_flags(O_DIRECT).open(slow.file()).unwrap();
            let mut buffer = Buffers::new(&[4096], PageKind::Normal).unwrap();
            let (begin_ns, mut reads) = (now_ns(), 0);
            while !ended.load(Ordering::Relaxed) {
                file.read_exact_at(buffer.slot_mut(0), reads % 1000 * 4096).unwrap();
                reads += 1;
            }
            (now_ns() - begin_ns) as f64 / reads as f64
        });
        let measured = measure();
        ended.store(true, Ordering::Relaxed);
        (measured, plain.join().unwrap())
    })
}

/// A host that is busy delays ours and the plain reads alike, but not each by the same: of several tries
/// one is near enough.
#[test]
fn the_mean_latency_is_that_of_a_file_system_that_takes_5_ms() {
    let Some(slow) = slow_fs(DELAY) else { return };
    // At a greater queue depth the kernel's workers hand I/Os over, and their waking is part of the latency.
    for way in ["-o1", "-o1 --engine=uring", "-o1 -t4"] {
        let mut ratios = Vec::new();
        while ratios.len() < TRIES && !ratios.iter().any(|ratio| (0.98..1.02).contains(ratio)) {
            slow.take_served();
            let args = format!("-b4K -r {way} -L -Su {}", slow.file().display());
            let (result, plain_ns) = beside(&slow, || Bench::new().measure(&args));
            let (served, known_ns) = slow.take_served();
            assert!(served > 20, "{served} requests with {way}");
            assert!(known_ns >= 5e6, "{known_ns}");
            let told_ns = mean_ns(&result);
            // Nothing is faster than the file system; 5 ms less a little is what a wrong clock tells.
            assert!(told_ns > 0.999 * 5e6, "{told_ns} with {way}");
            ratios.push(told_ns / plain_ns);
        }
        assert!(ratios.iter().any(|ratio| (0.98..1.02).contains(ratio)), "{way}: {ratios:?}");
    }
}

#[test]
fn a_stall_shows_in_the_response_time_of_every_io_that_was_due_meanwhile() {
    let Some(slow) = slow_fs(Duration::ZERO) else { return };
    let bench = Bench::new();
    let args = format!("-W0 -d3 -Rjson -b4K -r -o1 -t1 -g200i -L -Su {}", slow.file().display());
    let running = bench.start(&args);
    slow.stall(Duration::from_millis(600));
    let result: Value = serde_json::from_str(&running.wait().stdout).unwrap();
    let served = longer_than(histogram(&result, "latency"), 200_000_000);
    let due = longer_than(histogram(&result, "response"), 200_000_000);
    // Only the I/O that was in flight saw the stall itself; 80 were due in its first 400 ms.
    assert!((1..4).contains(&served), "{served} and {due}");
    assert!(due >= 60, "{served} and {due}");
}
