//! Stalls wherever they fall, in the middle, at either end, or over all of the measured time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fathom_sys::clock::now_ns;
use jiff::Timestamp;
use serde_json::Value;

use super::{evidence, is_told};
use crate::bench::{Bench, skip};
use crate::faults::fault_fs::{Answer, FaultFs, Kind};
use crate::latency::slow_fs::SlowFs;

const DELAY: Duration = Duration::from_micros(200);
/// What waits for 0.1 s at the end of a load has stalled: a host that is away for as long is a stall too.
const LATE: Duration = Duration::from_millis(90);
const TRIES: usize = 8;

/// A file of a file system of one's own, and a bench beside it.
struct Stalls {
    system: SlowFs,
    bench: Bench,
    file: PathBuf,
}

impl Stalls {
    fn new() -> Option<Self> {
        match SlowFs::mount(Path::new(env!("CARGO_TARGET_TMPDIR")), 64 << 20, DELAY) {
            Ok(system) => {
                let file = system.file();
                Some(Self { system, bench: Bench::new(), file })
            }
            Err(error) => {
                skip(&format!("a file system of one's own cannot be mounted: {error}"));
                None
            }
        }
    }

    /// A load during which the target stalls from one instant to another after its first I/O.
    fn measure(&self, args: &str, from: Duration, length: Duration) -> Value {
        self.measure_with(args, "", from, length)
    }

    /// The same with other targets beside it. Where the host was away, it is asked again: the stall began
    /// late in the load then, or had others beside it.
    fn measure_with(&self, args: &str, others: &str, from: Duration, length: Duration) -> Value {
        let args = format!("-W0 -b4K -r -Su -Rjson {args} {}{others}", self.file.display());
        let mut tried = self.attempt(&args, from, length);
        for _ in 1..TRIES {
            if tried.late <= LATE {
                break;
            }
            tried = self.attempt(&args, from, length);
        }
        tried.result
    }

    fn attempt(&self, args: &str, from: Duration, length: Duration) -> Tried {
        self.system.take_served();
        std::thread::scope(|scope| {
            let run = scope.spawn(move || {
                let output = self.bench.run(args);
                let words = String::from_utf8_lossy(&output.stderr).into_owned();
                (output.status.code(), serde_json::from_slice(&output.stdout).expect(&words))
            });
            let until_ns = now_ns() + 20_000_000_000;
            // The load is under way when more is served than looks at the file before it.
            while self.system.served() < 300 && now_ns() < until_ns {
                std::thread::sleep(Duration::from_millis(2));
            }
            std::thread::sleep(from);
            let begins = Timestamp::now().as_nanosecond();
            if !length.is_zero() {
                self.system.stall(length);
            }
            let mut late = Duration::ZERO;
            while !run.is_finished() {
                late = late.max(overslept(Duration::from_millis(10)));
            }
            late = late.max(self.system.latest());
            let (code, result): (Option<i32>, Value) = run.join().unwrap();
            assert_eq!(code, Some(0), "{result}");
            let load = result["time_spans"][0]["began_unix_ns"].as_u64().unwrap_or_default();
            let after = u64::try_from(begins - i128::from(load)).unwrap_or_default();
            let after = Duration::from_nanos(after);
            Tried { late: late.max(after.saturating_sub(from)), result }
        })
    }
}

/// What a load gave, and how late the host was meanwhile, or the stall.
struct Tried {
    result: Value,
    late: Duration,
}

/// How much longer a sleep takes than it should.
fn overslept(sleep: Duration) -> Duration {
    let begun_ns = now_ns();
    std::thread::sleep(sleep);
    Duration::from_nanos(now_ns() - begun_ns).saturating_sub(sleep)
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn read(result: &Value) -> &Value {
    &result["time_spans"][0]["threads"][0]["targets"][0]["read"]
}

#[test]
fn a_stall_in_the_middle_is_told_without_latency() {
    let Some(target) = Stalls::new() else { return };
    let result = target.measure("-d3 -o1", ms(500), ms(1_500));
    let told = evidence(&result, "stalled");
    assert!(told.contains("Thread 0 waited 1.") && told.contains("none came back"), "{told}");
    assert!(!is_told(&result, "stalled_at_end"), "{}", result["warnings"]);
    let clean = target.measure("-d1 -o1", ms(0), ms(0));
    for kind in ["stalled", "stalled_at_end", "no_io_completed", "idle_between_ios"] {
        assert!(!is_told(&clean, kind), "{kind}: {}", clean["warnings"]);
    }
}

/// One file hung for 1.5 s and its thread went on with the other, so that nothing was told.
#[test]
fn a_stall_of_one_of_two_targets_of_a_thread_is_told_with_its_name() {
    let Some(target) = Stalls::new() else { return };
    let Some(other) = Stalls::new() else { return };
    let others = format!(" {}", other.file.display());
    // By calls the other gets nothing meanwhile, and has not stalled either.
    for way in ["--engine=uring -F1 -o2", "--engine=sync -F1 -o1"] {
        let result = target.measure_with(&format!("-d4 {way}"), &others, ms(800), ms(1_500));
        let told = evidence(&result, "stalled");
        let name = target.file.display().to_string();
        assert!(told.contains(&format!("for its I/Os on '{name}', from")), "{way}: {told}");
        let stalls = result["time_spans"][0]["beneath"]["stalls"].as_array().unwrap();
        let targets: Vec<_> = stalls.iter().map(|stall| stall["target"].as_u64()).collect();
        assert!(targets.iter().all(|target| *target == Some(0)), "{way}: {stalls:?}");
    }
}

#[test]
fn a_stall_that_lasts_beyond_the_end_is_counted_at_least_as_long() {
    let Some(target) = Stalls::new() else { return };
    let result = target.measure("-d2 -o1 -L", ms(500), ms(3_000));
    assert!(evidence(&result, "stalled_at_end").contains("1 I/O was in flight at its end"));
    let read = read(&result);
    let at_end = &read["edges"]["at_end"];
    assert_eq!(at_end["ios"], 1, "{read}");
    let age_ns = at_end["age_ns_max"].as_u64().unwrap();
    assert!(age_ns > 1_000_000_000, "{age_ns}");
    let longest_ns = read["latency"]["max_ns"].as_u64().unwrap();
    assert!(longest_ns >= age_ns, "{longest_ns} and {age_ns}");
    // The thread came back behind the end, and its stretch without completions was lost.
    let span = &result["time_spans"][0];
    let stalls = span["beneath"]["stalls"].as_array().unwrap();
    assert_eq!(stalls.len(), 1, "{stalls:?}");
    let number = |value: &Value| value.as_u64().unwrap();
    let end_ns = number(&stalls[0]["from_ns"]) + number(&stalls[0]["length_ns"]);
    assert_eq!(end_ns, number(&span["measured_ns"]), "{stalls:?}");
    assert!(number(&stalls[0]["length_ns"]) > 1_000_000_000, "{stalls:?}");
    assert!(!is_told(&result, "stalled"), "{}", result["warnings"]);
}

#[test]
fn what_was_due_during_a_stall_at_the_end_is_told_with_a_rate() {
    let Some(target) = Stalls::new() else { return };
    let result = target.measure("-d3 -o1 -g500i -L", ms(500), ms(4_500));
    let told = evidence(&result, "stalled_at_end");
    let (_, behind) = told.split_once("more had been due for up to ").expect("what was due");
    let due_s: f64 = behind.split(' ').next().unwrap().parse().unwrap();
    // The load ends up to 2.5 s into the stall; a busy host begins it late.
    assert!((1.0..=2.6).contains(&due_s), "{told}");
    assert!(is_told(&result, "rate_not_reached"));
}

#[test]
fn a_stall_over_all_of_the_time_is_not_complete() {
    // Looks at the file are answered, and the load is not.
    let held =
        FaultFs::mount(Path::new(env!("CARGO_TARGET_TMPDIR")), 8 << 20, |_, _, _| Answer::Held);
    let Ok(system) = held else { return skip("a file system of one's own cannot be mounted") };
    let (bench, file) = (Bench::new(), system.file());
    let args = format!("-W0 -d1 -b4K -r -Su -o1 -L -Rjson {}", file.display());
    let output = std::thread::scope(|scope| {
        let run = scope.spawn(|| bench.run(&args));
        while system.count(Kind::Read, Answer::Held) == 0 && !run.is_finished() {
            std::thread::sleep(ms(10));
        }
        std::thread::sleep(ms(1_500));
        system.release();
        run.join().unwrap()
    });
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["time_spans"][0]["outcome"], "no_io", "{result}");
    let told = evidence(&result, "no_io_completed");
    assert!(told.contains("1 I/O was in flight at its end"), "{told}");
    assert_ne!(output.status.code(), Some(0));
}

/// FUSE says that its files can be polled, so that the ring waited for each I/O before it handed over the
/// next: of 32 outstanding I/Os the server never saw two.
#[test]
fn as_many_are_in_flight_at_a_server_as_were_asked_for() {
    let bench = Bench::new();
    for (outstanding, engine) in [(16, ""), (5, "--engine=uring"), (4, "-u4")] {
        let held =
            FaultFs::mount(Path::new(env!("CARGO_TARGET_TMPDIR")), 8 << 20, |_, _, _| Answer::Held);
        let Ok(system) = held else { return skip("a file system of one's own cannot be mounted") };
        let file = system.file();
        let args = format!("-W0 -d2 -b4K -r -Su -o{outstanding} {engine} {}", file.display());
        let seen = std::thread::scope(|scope| {
            let run = scope.spawn(|| bench.run(&args));
            let seen = || system.count(Kind::Read, Answer::Held);
            while seen() < outstanding && !run.is_finished() {
                std::thread::sleep(ms(10));
            }
            let seen = seen();
            system.release();
            run.join().unwrap();
            seen
        });
        assert!(seen >= outstanding, "{seen} of {outstanding} in flight with '{engine}'");
    }
}

#[test]
fn the_account_of_time_closes() {
    let Some(target) = Stalls::new() else { return };
    for args in ["-d1 -o1 -L", "-d1 -o4 -L", "-d2 -o2 -L"] {
        let stall = if args.contains("-d2") { ms(2_500) } else { ms(0) };
        let result = target.measure(args, ms(300), stall);
        let (span, read) = (&result["time_spans"][0], read(&result));
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{value} of {read}"));
        let thread = &span["threads"][0];
        let slots = &thread["slots"];
        let available_ns = number(&slots["count"]) * number(&span["measured_ns"]);
        let busy_ns = available_ns - number(&slots["idle_ns"]);
        // Latencies count whole what began before the measured time, and by its age what it left in flight.
        let before_ns = number(&read["edges"]["at_start"]["age_ns_sum"]);
        let told_ns = number(&read["latency"]["sum_ns"]) - before_ns;
        let share = told_ns / busy_ns;
        assert!((0.97..1.05).contains(&share), "{args}: {share}");
    }
}
