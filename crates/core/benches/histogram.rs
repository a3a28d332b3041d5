//! What it costs to enter a latency, to merge histograms, and to ask for a percentile.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use fathom_core::engine::random::Random;
use fathom_core::measure::LatencyHistogram;

const VALUES: usize = 4096;

/// Latencies as a device has them: most near to 80 µs, a tail up to some milliseconds.
fn latencies() -> Vec<u64> {
    let mut random = Random::new(1);
    let mut draw = |_| {
        let tail = if random.below(100) == 0 { 5_000_000 } else { 20_000 };
        70_000 + random.below(tail)
    };
    (0..VALUES).map(&mut draw).collect()
}

fn filled(values: &[u64]) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::new();
    for &value in values {
        histogram.record(value);
    }
    histogram
}

fn benches(criterion: &mut Criterion) {
    let values = latencies();
    let mut group = criterion.benchmark_group("histogram");
    group.throughput(Throughput::Elements(VALUES as u64));
    let mut histogram = filled(&values);
    group.bench_function("record", |bencher| {
        bencher.iter(|| {
            for &value in &values {
                histogram.record(black_box(value));
            }
        });
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function("merge", |bencher| {
        let other = filled(&values);
        bencher.iter_batched_ref(
            || filled(&values),
            |own| own.merge(&other),
            BatchSize::SmallInput,
        );
    });
    group.bench_function("percentile", |bencher| {
        bencher.iter(|| histogram.quantile_ns(black_box(0.999)));
    });
    group.finish();
}

criterion_group!(histogram, benches);
criterion_main!(histogram);
