//! What the tool itself costs on this machine, measured on an engine that does nothing.

use std::hint::black_box;
use std::sync::atomic::AtomicBool;

use fathom_sys::{clock, process};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::coordinator::{Control, run_span};
use crate::guard::Checked;
use crate::measure::SpanMeasurements;
use crate::plan::facts;
use crate::plan::resolve::resolve;
use crate::request::{Access, EngineChoice, Profile, RunOptions, Target, TimeSpan};
use crate::units::{GIB, KIB};

/// The engine that does nothing is measured for this long at each queue depth; for twice as long
/// as before, again and again, where other processes left it no CPU, up to the last of these.
const RUN_NS: u64 = 100_000_000;
const LONGEST_RUN_NS: u64 = RUN_NS << 5;
/// CPU time that a figure rests on.
const LEAST_CPU_NS: u64 = RUN_NS / 50;
const CLOCK_READS: u32 = 4_000;
const ROUNDS: usize = 7;
const SLEEPS: usize = 21;
const SLEEP_NS: u64 = 50_000;

/// What the tool itself costs on this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredCost {
    /// CPU time of an I/O of 4 KiB at a random offset with its latency, at queue depth 128, on an
    /// engine that does nothing, in nanoseconds; none where other processes left it no CPU.
    pub batched_ns_per_io: Option<f64>,
    /// The same at queue depth 1, where each I/O pays for its own look at the clock.
    pub single_ns_per_io: Option<f64>,
    /// One look at the clock, in nanoseconds.
    pub clock_read_ns: f64,
    /// One short system call, in nanoseconds.
    pub system_call_ns: f64,
    /// By how much a sleep of 50 µs ends late, in nanoseconds, at the median.
    pub timer_late_ns: u64,
}

/// Measures all of it; it takes about a quarter of a second on a host with a CPU to spare.
#[must_use]
pub fn measure() -> MeasuredCost {
    MeasuredCost {
        batched_ns_per_io: null_engine(128),
        single_ns_per_io: null_engine(1),
        clock_read_ns: repeat(clock::now_ns),
        system_call_ns: repeat(|| u64::from(process::parent())),
        timer_late_ns: timer_late_ns(),
    }
}

/// Time of one call: of several rounds the fastest, which nothing else interrupted.
fn repeat(read: fn() -> u64) -> f64 {
    let round = |_| {
        let start_ns = clock::now_ns();
        for _ in 0..CLOCK_READS {
            black_box(read());
        }
        clock::now_ns() - start_ns
    };
    let fastest_ns = (0..ROUNDS).map(round).min().unwrap_or(0);
    fastest_ns as f64 / f64::from(CLOCK_READS)
}

fn timer_late_ns() -> u64 {
    fathom_sys::thread::use_precise_timers();
    let mut late: Vec<u64> = (0..SLEEPS)
        .map(|_| {
            let due_ns = clock::now_ns() + SLEEP_NS;
            clock::sleep_until_ns(due_ns);
            clock::now_ns().saturating_sub(due_ns)
        })
        .collect();
    late.sort_unstable();
    late[SLEEPS / 2]
}

/// CPU time per I/O of the whole loop, from the first run that had enough of it; none if it could
/// not run.
fn null_engine(outstanding: u32) -> Option<f64> {
    let mut run_ns = RUN_NS;
    loop {
        let (cpu_ns, ios) = run_null_engine(outstanding, run_ns)?;
        if cpu_ns >= LEAST_CPU_NS && ios > 0 {
            return Some(cpu_ns as f64 / ios as f64);
        }
        run_ns *= 2;
        if run_ns > LONGEST_RUN_NS {
            return None;
        }
    }
}

/// CPU time in nanoseconds and I/Os of one run of `run_ns` nanoseconds.
fn run_null_engine(outstanding: u32, run_ns: u64) -> Option<(u64, u64)> {
    let target = Target {
        path: "null".into(),
        block_bytes: 4 << 10,
        limit_bytes: GIB,
        access: Access { random_percent: 100, align_bytes: 4 * KIB, interlocked: false },
        outstanding,
        ..Target::default()
    };
    let span = TimeSpan {
        measure_latency: true,
        disable_affinity: true,
        warm_up_s: 0,
        duration_s: 1,
        targets: vec![target],
        ..TimeSpan::default()
    };
    let profile = Profile { time_spans: vec![span], ..Profile::default() };
    let options = RunOptions { engine: Some(EngineChoice::Null), ..RunOptions::default() };
    let host = facts::gather(&profile, crate::run::availability(), &|_| {});
    let mut resolved = resolve(&profile, &options, &host).ok()?;
    let span = resolved.plan.spans.first_mut()?;
    span.measured_ns = run_ns;
    let stop = AtomicBool::new(false);
    let control = Control {
        stop: &stop,
        sink: &|_| {},
        cpu_times: &Vec::new,
        trace: None,
        verbose: false,
        live: false,
        watch: None,
        verification: None,
        checked: &Checked::default(),
        gate: None,
    };
    Some(cpu_and_ios(&run_span(span, &control)))
}

fn cpu_and_ios(measured: &SpanMeasurements) -> (u64, u64) {
    let cpu_ns = measured.threads.iter().map(|thread| thread.cpu_ns).sum();
    let targets = measured.threads.iter().flat_map(|thread| &thread.targets);
    (cpu_ns, targets.map(|target| target.read.ios).sum())
}
