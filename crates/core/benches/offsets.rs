//! What the next offset costs, by the way in which random I/O is spread over the target.
//!
//! Skewed ways may cost at most 5 ns beyond the uniform one:
//! `cargo bench -p fathom-storage-core --bench offsets`
//! prints the time of each, and at the end how far each is from uniform on the same target.

use std::hint::black_box;
use std::io::{Write, stdout};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fathom_core::engine::offsets::{Offsets, SharedOffsets};
use fathom_core::engine::random::Random;
use fathom_core::plan::{OffsetPlan, Order, Skew};
use fathom_sys::clock::now_ns;

const BLOCK: u64 = 4096;
/// Targets whose tables differ in size: 1 GiB and 1 TiB.
const TARGETS: [(&str, u64); 2] = [("1GiB", 1 << 30), ("1TiB", 1 << 40)];
const WAYS: [(&str, Option<Skew>); 4] = [
    ("uniform", None),
    ("zipf:1.1", Some(Skew::Zipf { theta_milli: 1_100 })),
    ("pareto:0.2", Some(Skew::Pareto { h_milli: 200 })),
    ("normal:10", Some(Skew::Normal { deviation_milli: 10_000 })),
];
/// The greatest cost beyond uniform that is allowed, in nanoseconds.
const BEYOND_UNIFORM_NS_MAX: f64 = 5.0;

fn plan(end_bytes: u64, skew: Option<Skew>) -> OffsetPlan {
    OffsetPlan {
        base_bytes: 0,
        end_bytes,
        block_bytes: BLOCK,
        align_bytes: BLOCK,
        order: Order::Random,
        ranges: Vec::new(),
        skew,
    }
}

fn each_way(criterion: &mut Criterion) {
    for (size, end_bytes) in TARGETS {
        let mut group = criterion.benchmark_group(format!("offset on {size}"));
        for (way, skew) in WAYS {
            let plan = plan(end_bytes, skew);
            let shared = SharedOffsets::new(&plan);
            let mut offsets = Offsets::new(&plan, 0, 1, &shared);
            let mut random = Random::new(1);
            group.bench_function(BenchmarkId::from_parameter(way), |bencher| {
                bencher.iter(|| black_box(offsets.next(0, &mut random)));
            });
        }
        group.finish();
    }
}

/// The median of many short rounds, which a disturbance of some of them does not move.
fn nanos_per_offset(offsets: &mut Offsets<'_>, random: &mut Random) -> f64 {
    const ROUNDS: usize = 200;
    const PER_ROUND: u32 = 50_000;
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start_ns = now_ns();
            for _ in 0..PER_ROUND {
                black_box(offsets.next(0, random));
            }
            (now_ns() - start_ns) as f64 / f64::from(PER_ROUND)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

fn beyond_uniform(_: &mut Criterion) {
    for (size, end_bytes) in TARGETS {
        let mut uniform_ns = 0.0;
        for (way, skew) in WAYS {
            let plan = plan(end_bytes, skew);
            let shared = SharedOffsets::new(&plan);
            let mut offsets = Offsets::new(&plan, 0, 1, &shared);
            let nanos = nanos_per_offset(&mut offsets, &mut Random::new(1));
            if skew.is_none() {
                uniform_ns = nanos;
            }
            let beyond_ns = nanos - uniform_ns;
            let verdict = if beyond_ns <= BEYOND_UNIFORM_NS_MAX { "" } else { "  TOO MUCH" };
            let line = format!("{size:>6} {way:12} {nanos:6.2} ns  {beyond_ns:+6.2} ns{verdict}");
            // If nobody reads it, there is nobody to tell.
            let _written = writeln!(stdout(), "{line}");
        }
    }
}

criterion_group!(offsets, each_way, beyond_uniform);
criterion_main!(offsets);
