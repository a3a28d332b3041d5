//! I/Os that fail on a real kernel: a file system of our own fails them, and its log is the truth.

mod at_end;
mod clock;
#[path = "../../support/fault_fs.rs"]
pub mod fault_fs;
mod full;
mod gone;
mod groups;
mod hang;
mod hang_around;
#[path = "../../support/hang_fs.rs"]
mod hang_fs;
mod limits;
mod signals;
mod swapped;
mod writing;

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::bench::{Bench, skip, sum};
use fault_fs::{Answer, FaultFs, Kind};

const FILE_BYTES: u64 = 8 << 20;
const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const HELD: Duration = Duration::from_millis(200);

fn mount(script: impl Fn(u64, Kind, u64) -> Answer + Send + Sync + 'static) -> Option<FaultFs> {
    let mounted = FaultFs::mount(Path::new(env!("CARGO_TARGET_TMPDIR")), FILE_BYTES, script);
    mounted.inspect_err(|error| skip(&format!("FUSE cannot be mounted: {error}"))).ok()
}

/// One in a hundred requests fails or is cut short, each in its own way.
fn mixed(number: u64, kind: Kind, _: u64) -> Answer {
    match (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % 100 {
        0 if kind == Kind::Write => Answer::Fail(ENOSPC),
        0 | 1 => Answer::Fail(EIO),
        // A read through io_uring (kernel 6.18) comes out whole although half of it was answered; with
        // nothing answered it comes out short, as at the end of a file.
        2 if kind == Kind::Read => Answer::Nothing,
        2 => Answer::Half,
        _ => Answer::Whole,
    }
}

/// Faults of one operation and kind, measured or not.
fn faults(result: &Value, operation: &str, kind: &str) -> u64 {
    let threads = result["time_spans"][0]["threads"].as_array().unwrap().iter();
    let targets = threads.flat_map(|thread| thread["targets"].as_array().unwrap());
    let faults = targets.flat_map(|target| target["faults"].as_array().unwrap());
    let wanted = faults.filter(|one| one["operation"] == operation && one["kind"] == kind);
    wanted.map(|one| one["ios"].as_u64().unwrap() + one["outside_ios"].as_u64().unwrap()).sum()
}

#[test]
fn every_error_is_counted_as_the_file_system_gave_it() {
    let bench = Bench::new();
    for engine in ["uring", "aio", "sync"] {
        let Some(system) = mount(mixed) else { return };
        let file = system.file();
        let options = format!("-b4K -r -w50 -o4 -t2 --on-error=continue --engine={engine}");
        let result = bench.measure(&format!("--overwrite {options} {}", file.display()));
        for (kind, operation) in [(Kind::Read, "read"), (Kind::Write, "write")] {
            let answers = [Answer::Fail(EIO), Answer::Fail(ENOSPC), Answer::Half, Answer::Nothing];
            let given = answers.map(|answer| system.count(kind, answer));
            let told = ["EIO", "ENOSPC", "short"].map(|name| faults(&result, operation, name));
            let expected = [given[0], given[1], given[2] + given[3]];
            assert_eq!(told, expected, "{engine}: {operation}");
            assert!(told[0] > 0 && told[2] > 0, "{engine}: nothing was injected");
            assert!(sum(&result, operation, "ios") > 0);
        }
        assert_eq!(result["time_spans"][0]["outcome"], "complete");
    }
}

#[test]
fn the_first_error_ends_the_run_unless_it_is_told_to_go_on() {
    let bench = Bench::new();
    let script = |number, _, _| if number >= 1_000 { Answer::Fail(EIO) } else { Answer::Whole };
    for (policy, least) in [("", 1), ("--on-error=stop", 1), ("--on-error=count=30", 30)] {
        let Some(system) = mount(script) else { return };
        let path = system.file();
        let output = bench.run(&format!("-W0 -d60 -b4K -r -o4 {policy} {}", path.display()));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("failed: Input/output error (os error 5)"), "{told}");
        let failed = system.count(Kind::Read, Answer::Fail(EIO));
        assert!((least..least + 4).contains(&failed), "{policy}: {failed}");
        // What was measured until then is there, with the errors behind it.
        assert!(text.contains("\ntotal:") && text.contains("\nErrors of timespan 1"), "{text}");
        let row = text.lines().find(|line| line.contains("| EIO ")).unwrap();
        let numbers = row.split('|').filter_map(|cell| cell.trim().parse::<u64>().ok());
        assert_eq!(numbers.sum::<u64>(), failed, "{row}");
    }
}

#[test]
fn what_is_held_back_is_waited_for_and_told() {
    let script = |number, _, _| if number == 100 { Answer::Held } else { Answer::Whole };
    let Some(system) = mount(script) else { return };
    let bench = Bench::new();
    let path = system.file();
    let result = std::thread::scope(|scope| {
        let run = scope.spawn(|| bench.measure(&format!("-b4K -r -o1 -L {}", path.display())));
        while system.count(Kind::Read, Answer::Held) == 0 {
            assert!(!run.is_finished(), "the run did not wait");
            std::thread::sleep(HELD / 10);
        }
        std::thread::sleep(HELD);
        system.release();
        run.join().unwrap()
    });
    let reads = &result["time_spans"][0]["threads"][0]["targets"][0]["read"];
    let longest = Duration::from_nanos(reads["latency"]["max_ns"].as_u64().unwrap());
    assert!(longest >= HELD, "{longest:?}");
    assert_eq!(result["time_spans"][0]["outcome"], "complete");
}
