//! Measurements and plan become a result.

use super::at_end;
use super::{
    Backend, CpuUse, DirectionResult, EffectiveShare, FaultCount, Host, IoCost, KernelEvents,
    Outcome, RunResult, SCHEMA_VERSION, TargetFacts, ThreadResult, ThreadTargetResult,
    TimeSpanResult, Tool, Waits, beneath, network,
};
use crate::engine::offsets::Reach;
use crate::measure::{
    CpuTimes, DirectionRecord, Edges, Ending, SpanMeasurements, TargetRecord, ThreadMeasurements,
    WaitCounters, interval_length_ns,
};
use crate::plan::{SpanPlan, TargetKind};
use crate::request::Request;

/// Where a result comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// The command line, as it was typed.
    pub command_line: String,
    /// Start of the run, in seconds since 1970-01-01T00:00:00Z.
    pub started_at_unix_s: i64,
    /// The host.
    pub host: Host,
}

/// The result of a run, without warnings, which are found afterwards.
#[must_use]
pub fn assemble(
    provenance: Provenance,
    request: &Request,
    spans: Vec<(&SpanPlan, SpanMeasurements)>,
) -> RunResult {
    RunResult {
        schema_version: SCHEMA_VERSION,
        tool: Tool::this(),
        command_line: provenance.command_line,
        started_at_unix_s: provenance.started_at_unix_s,
        host: provenance.host,
        request: request.clone(),
        profile: request.profile.clone(),
        time_spans: spans.into_iter().map(|(plan, measured)| time_span(plan, measured)).collect(),
        verification: None,
        ended_by: None,
        warnings: Vec::new(),
        failures: Vec::new(),
        parts: Vec::new(),
        hosts: Vec::new(),
    }
}

fn outcome(measured: &SpanMeasurements) -> Outcome {
    match &measured.ending {
        Ending::Complete if measured.measured_ns > 0 && completed_ios(&measured.threads) == 0 => {
            Outcome::NoIo
        }
        Ending::Complete => Outcome::Complete,
        Ending::Interrupted => Outcome::Interrupted,
        Ending::Failed(failure) => Outcome::Failed(failure.message.clone()),
    }
}

fn completed_ios(threads: &[ThreadMeasurements]) -> u64 {
    let targets = threads.iter().flat_map(|thread| &thread.targets);
    targets.map(|one| one.read.ios + one.write.ios + one.sync.ios + one.trim.ios).sum()
}

fn time_span(plan: &SpanPlan, mut measured: SpanMeasurements) -> TimeSpanResult {
    let mut span = counted(plan, &mut measured);
    // One that comes to its turn long after the end waited beyond it, too.
    let waited = |ns: u64| ns.min(measured.measured_ns);
    let waited_ns = measured.threads.iter().map(|one| one.cpu_waited_ns.map(waited)).sum();
    let seen = measured.beneath.as_ref();
    span.network = network::of_span(plan, &measured, &span);
    span.beneath = seen.and_then(|seen| beneath::of_span(plan, &span, seen, waited_ns));
    span
}

/// What the tool itself counted. Latencies are moved, since those of many threads and targets are most of
/// the memory of a run.
fn counted(plan: &SpanPlan, measured: &mut SpanMeasurements) -> TimeSpanResult {
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let decisions = at_end::Decisions::new(&measured.threads);
    TimeSpanResult {
        outcome: outcome(measured),
        began_unix_ns: measured.began_unix_ns,
        measured_ns: measured.measured_ns,
        stop: measured.stop.clone(),
        thread_count: number(plan.threads.len()),
        request_count: plan.shared_outstanding,
        interval_ns: plan.interval_ns,
        last_interval_ns: last_interval_ns(plan.interval_ns, measured.measured_ns),
        cpu: measured.cpus.iter().map(cpu_use).collect(),
        cost: io_cost(&measured.threads),
        kernel_events: measured.kernel_events.as_ref().map(KernelEvents::of),
        outstanding: measured.outstanding.clone(),
        beneath: None,
        network: Vec::new(),
        targets: (0..plan.targets.len()).map(|index| target_facts(plan, index)).collect(),
        threads: measured
            .threads
            .iter_mut()
            .map(|thread| thread_result(plan, thread, measured.measured_ns, &decisions))
            .collect(),
    }
}

pub(super) fn last_interval_ns(interval_ns: u64, measured_ns: u64) -> u64 {
    let begun = measured_ns.div_ceil(interval_ns.max(1));
    if interval_ns == 0 || begun == 0 {
        return 0;
    }
    interval_length_ns(begun - 1, interval_ns, measured_ns)
}

/// CPU time per I/O over all threads. Simulated threads use none.
fn io_cost(threads: &[ThreadMeasurements]) -> Option<IoCost> {
    let total_ns = threads.iter().map(|thread| thread.cpu_ns).sum();
    let own_ns = threads.iter().map(|thread| thread.user_cpu_ns).sum();
    per_io(completed_ios(threads), total_ns, own_ns)
}

/// The same of threads whose results stand already.
pub(super) fn cost_of(threads: &[ThreadResult]) -> Option<IoCost> {
    let rows = threads.iter().flat_map(|thread| &thread.targets);
    let ios = rows.flat_map(|row| {
        let more = [&row.sync, &row.trim].map(|one| one.as_ref().map_or(0, |one| one.ios));
        [row.read.ios, row.write.ios].into_iter().chain(more)
    });
    let total_ns = threads.iter().map(|thread| thread.cpu_ns).sum();
    per_io(ios.sum(), total_ns, threads.iter().map(|thread| thread.user_cpu_ns).sum())
}

fn per_io(ios: u64, total_ns: u64, own_ns: u64) -> Option<IoCost> {
    let per_io = |nanos: u64| nanos as f64 / ios as f64;
    (ios > 0 && total_ns > 0).then(|| IoCost {
        own_ns_per_io: per_io(own_ns.min(total_ns)),
        kernel_ns_per_io: per_io(total_ns.saturating_sub(own_ns)),
    })
}

/// Shares of a CPU's time; a CPU that counted no time at all was idle.
fn cpu_use(times: &CpuTimes) -> CpuUse {
    let total = times.user + times.kernel + times.idle + times.steal;
    let percent = |part: u64| if total == 0 { 0.0 } else { part as f64 * 100.0 / total as f64 };
    CpuUse {
        os_id: u32::try_from(times.os_id).unwrap_or(u32::MAX),
        user_percent: percent(times.user),
        kernel_percent: percent(times.kernel),
        idle_percent: if total == 0 { 100.0 } else { percent(times.idle) },
        steal_percent: percent(times.steal),
    }
}

fn target_facts(plan: &SpanPlan, index: usize) -> TargetFacts {
    let target = &plan.targets[index];
    let has_range = target.offsets.end_bytes > target.offsets.base_bytes;
    let share = |range: &crate::plan::EffectiveRange| EffectiveShare {
        io_percent: range.io_percent,
        start_bytes: range.start_bytes,
        end_bytes: range.end_bytes,
    };
    TargetFacts {
        path: target.name.clone(),
        kind: match target.kind {
            TargetKind::File => "file",
            TargetKind::BlockDevice => "block_device",
            TargetKind::Network => "network",
            TargetKind::Virtual => "virtual",
        }
        .to_owned(),
        size_bytes: target.size_bytes,
        block_bytes: target.block_bytes,
        distribution: target.offsets.ranges.iter().map(share).collect(),
        working_set_bytes: has_range.then(|| Reach::of(plan, index).bytes()),
    }
}

fn thread_result(
    plan: &SpanPlan,
    thread: &mut ThreadMeasurements,
    measured_ns: u64,
    decisions: &at_end::Decisions,
) -> ThreadResult {
    let planned = &plan.threads[thread.index];
    let shown = |decision: &at_end::Decision, mut record: DirectionRecord| {
        let result = direction(&mut record, plan, measured_ns);
        decision.applied(&record, result)
    };
    let targets = std::mem::take(&mut thread.targets);
    let targets = planned.assignments.iter().zip(targets);
    let target =
        |(assignment, record): (&crate::plan::Assignment, TargetRecord)| ThreadTargetResult {
            target: u32::try_from(assignment.target).unwrap_or(u32::MAX),
            read: shown(&decisions.read, record.read),
            write: shown(&decisions.write, record.write),
            sync: if_any(record.sync).map(|one| Box::new(shown(&decisions.sync, one))),
            trim: if_any(record.trim).map(|one| Box::new(shown(&decisions.trim, one))),
            faults: record.faults.0.iter().map(FaultCount::from).collect(),
            slots: record.slots,
        };
    ThreadResult {
        index: u32::try_from(thread.index).unwrap_or(u32::MAX),
        pinned_os_cpu: planned.cpu.and_then(|pin| u32::try_from(pin.os_id).ok()),
        backend: Backend {
            name: thread.backend.name.clone(),
            features: thread.backend.features.clone(),
            fallback: thread.backend.fallback.clone(),
            tried: thread.backend.tried.clone(),
        },
        cpu_ns: thread.cpu_ns,
        user_cpu_ns: thread.user_cpu_ns,
        cpu_waited_ns: thread.cpu_waited_ns,
        submissions: thread.backend.submissions,
        slots: thread.slots,
        waits: waits(thread.waits),
        targets: targets.map(target).collect(),
    }
}

fn waits(counters: WaitCounters) -> Waits {
    Waits {
        completion_waits: counters.completion_waits,
        throttle_waits: counters.throttle_waits,
        throttle_sleeps: counters.throttle_sleeps,
        lookasides: counters.lookasides,
        lookaside_completions: counters.lookaside_completions,
    }
}

fn if_any(record: DirectionRecord) -> Option<DirectionRecord> {
    let is_any = record.ios + record.errors > 0 || record.edges != Edges::default();
    is_any.then_some(record)
}

/// Intervals that never came, because the run ended early, are left out: they would count as pauses.
fn direction(record: &mut DirectionRecord, plan: &SpanPlan, measured_ns: u64) -> DirectionResult {
    let series = record.series.until(measured_ns, plan.interval_ns);
    let fields = record.interval_latency.as_ref();
    DirectionResult {
        ios: record.ios,
        bytes: record.bytes,
        short_ios: record.short_ios,
        errors: record.errors,
        latency: record.latency.take(),
        response: record.response.take(),
        edges: record.edges,
        interval_latency: fields.map(|one| one.first(series.cells.len())).unwrap_or_default(),
        series,
    }
}
