//! What it costs to show a big result: 200 threads with latency and a series of a minute.

#[path = "../../../tests/support/plans.rs"]
#[expect(dead_code, reason = "the language of plans has more words than this needs")]
mod plans;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use fathom_core::dialect::diskspd::{result_text, result_xml};
use fathom_core::engine::backend::SimDevice;
use fathom_core::engine::simulate::simulate;
use fathom_core::report::json;
use fathom_core::request::{Profile, Request, RunOptions, Target, TimeSpan};
use fathom_core::result::assemble::{Provenance, assemble};
use fathom_core::result::{Host, RunResult};
use plans::{Tell, span};

const THREADS: usize = 200;
const SECONDS: u64 = 60;

fn result() -> RunResult {
    let mut plan = span(64 << 20).random().threads(THREADS).outstanding(4).seconds(SECONDS);
    plan.interval_ns = 1_000_000_000;
    let device =
        SimDevice { latency_ns: 50_000_000, jitter_ns: 300_000_000, ..SimDevice::default() };
    let measured = simulate(&plan, &device).expect("a simulation").measurements;
    let target = Target { path: "virtual".into(), ..Target::default() };
    let span = TimeSpan {
        measure_latency: true,
        interval_series: true,
        targets: vec![target],
        ..TimeSpan::default()
    };
    let profile = Profile { time_spans: vec![span], ..Profile::default() };
    let provenance = Provenance {
        command_line: "diskspd virtual".to_owned(),
        started_at_unix_s: 0,
        host: Host::default(),
    };
    assemble(provenance, &Request::new(profile, RunOptions::default()), vec![(&plan, measured)])
}

fn benches(criterion: &mut Criterion) {
    let result = result();
    let mut group = criterion.benchmark_group("report");
    group.sample_size(20);
    group.bench_function("text", |bencher| {
        bencher.iter(|| result_text::write(black_box(&result)));
    });
    group.bench_function("XML", |bencher| bencher.iter(|| result_xml::write(black_box(&result))));
    group.bench_function("JSON", |bencher| bencher.iter(|| json::write(black_box(&result))));
    let text = json::write(&result);
    group.bench_function("JSON read", |bencher| {
        bencher.iter(|| json::read(black_box(&text)).expect("a result"));
    });
    group.finish();
}

criterion_group!(report, benches);
criterion_main!(report);
