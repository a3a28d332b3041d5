//! Each warning on a case that raises it, and on a close one that does not.

mod advice;
mod at_end;
mod causes;
mod targets;

use std::path::Path;

use super::*;
use crate::errors::Kind;
use crate::guard::fixture::{span, target, thread};
use crate::measure::{FaultCount, IntervalSeries, StopCause, StopReport};
use crate::plan::{Burst, EngineKind, Order, Pace};
use crate::request::{ConfidenceRule, Profile, Request, SteadyRule, StopRules};
use crate::result::{
    Backend, Cpu, CpuUse, DirectionResult, Host, Outcome, SCHEMA_VERSION, Tool, Waits,
};
use crate::units::{GIB, MIB, NANOS_PER_SEC};

const SECOND: u64 = NANOS_PER_SEC;

/// One direct random-read target of 1 GiB, used by `threads` calm threads for one second.
struct Case {
    plan: Plan,
    result: RunResult,
}

fn direction(ios: u64) -> DirectionResult {
    DirectionResult {
        ios,
        bytes: ios * 4096,
        series: IntervalSeries::default(),
        ..Default::default()
    }
}

fn thread_result(index: u32, reads: u64, writes: u64) -> ThreadResult {
    let used = ThreadTargetResult {
        target: 0,
        read: direction(reads),
        write: direction(writes),
        ..ThreadTargetResult::default()
    };
    ThreadResult {
        index,
        pinned_os_cpu: Some(index),
        backend: Backend { name: "io_uring".to_owned(), ..Default::default() },
        submissions: None,
        cpu_ns: SECOND / 2,
        user_cpu_ns: SECOND / 4,
        cpu_waited_ns: None,
        slots: crate::measure::Slots::default(),
        waits: Waits::default(),
        targets: vec![used],
    }
}

fn time_span(threads: Vec<ThreadResult>) -> TimeSpanResult {
    let idle = |os_id| CpuUse {
        os_id,
        user_percent: 20.0,
        kernel_percent: 20.0,
        idle_percent: 60.0,
        steal_percent: 0.0,
    };
    TimeSpanResult {
        kernel_events: None,
        outstanding: Vec::new(),
        beneath: None,
        network: Vec::new(),
        outcome: Outcome::Complete,
        stop: None,
        began_unix_ns: None,
        measured_ns: SECOND,
        thread_count: number(threads.len()),
        request_count: 0,
        interval_ns: 0,
        last_interval_ns: 0,
        cpu: (0..8).map(idle).collect(),
        cost: None,
        targets: Vec::new(),
        threads,
    }
}

impl Case {
    fn new(threads: u32) -> Self {
        let mut target = target(Path::new("/nowhere/test.dat"), 0);
        target.open.direct = true;
        target.offsets.end_bytes = GIB;
        target.offsets.order = Order::Random;
        let mut span = span(vec![target]);
        span.measured_ns = SECOND;
        span.threads =
            (0..threads).map(|index| thread(index as usize, EngineKind::Uring, 0)).collect();
        let measured = (0..threads).map(|index| thread_result(index, 10_000, 0)).collect();
        let result = RunResult {
            schema_version: SCHEMA_VERSION,
            tool: Tool { name: String::new(), version: String::new() },
            command_line: String::new(),
            started_at_unix_s: 0,
            host: Host { cpus: vec![Cpu::default(); 8], ..Default::default() },
            request: Request::default(),
            profile: Profile::default(),
            time_spans: vec![time_span(measured)],
            verification: None,
            ended_by: None,
            warnings: Vec::new(),
            failures: Vec::new(),
            parts: Vec::new(),
            hosts: Vec::new(),
        };
        Self { plan: Plan { spans: vec![span], ..Plan::default() }, result }
    }

    /// Threads of which the first uses all of a CPU, with blocks that are large already.
    fn of_a_full_core(threads: u32) -> Self {
        let mut case = Self::new(threads);
        case.target().block_bytes = 1 << 20;
        case.measured().threads[0].cpu_ns = SECOND;
        case
    }

    fn target(&mut self) -> &mut TargetPlan {
        &mut self.plan.spans[0].targets[0]
    }

    fn measured(&mut self) -> &mut TimeSpanResult {
        &mut self.result.time_spans[0]
    }

    fn used(&mut self, thread: usize) -> &mut ThreadTargetResult {
        &mut self.result.time_spans[0].threads[thread].targets[0]
    }

    fn all(&self) -> Vec<Warning> {
        let all = after(&self.plan, &self.result, &[]);
        for warning in &all {
            advice::is_taken(&warning.remedy);
        }
        all
    }

    /// The only warning, which must be of this kind.
    fn only(&self, kind: WarningKind) -> Warning {
        let mut all = self.all();
        assert_eq!(all.iter().map(|warning| warning.kind).collect::<Vec<_>>(), [kind]);
        assert_eq!(all[0].time_span, Some(0));
        all.remove(0)
    }
}

fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` in: {text}");
    }
}

fn lacks(text: &str, part: &str) {
    assert!(!text.contains(part), "`{part}` in: {text}");
}

#[test]
fn a_calm_direct_run_raises_no_doubt() {
    assert_eq!(Case::new(4).all(), []);
}

fn resident(bytes: u64) -> TargetResidency {
    TargetResidency {
        time_span: 0,
        target: 0,
        range_bytes: GIB,
        resident_bytes: bytes,
        memory_bytes: 4 * GIB,
        memory_group: None,
        refuses_direct: false,
    }
}

#[test]
fn cached_reads_are_doubted_while_the_cache_holds_any_of_them() {
    let mut case = Case::new(1);
    case.target().open.direct = false;
    let found = case.only(WarningKind::PageCache);
    assert_eq!(found.target.as_deref(), Some("/nowhere/test.dat"));
    has(&found.evidence, &["10,000 reads"]);
    let found = after(&case.plan, &case.result, &[resident(GIB / 2)]);
    has(&found[0].evidence, &["50.0 %", "1 GiB", "4 GiB of memory"]);
    has(&found[0].remedy, &["-Su", "far more than the 4 GiB"]);
    assert_eq!(after(&case.plan, &case.result, &[resident(GIB / 200)]), []);
    // "Far more than the 23.5 GiB" of the host was the remedy in a group that had 40 MiB.
    let memory_group = Some("/sys/fs/cgroup/box".to_owned());
    let limited = TargetResidency { memory_bytes: GIB / 4, memory_group, ..resident(GIB / 5) };
    let found = after(&case.plan, &case.result, &[limited]);
    has(&found[0].evidence, &["the control group /sys/fs/cgroup/box allows 256 MiB of memory"]);
    lacks(&found[0].remedy, "far more");
    let other = TargetResidency { target: 1, ..resident(0) };
    assert_eq!(after(&case.plan, &case.result, &[other]).len(), 1);
}

#[test]
fn more_data_are_no_remedy_where_there_are_enough() {
    let mut case = Case::new(1);
    case.target().open.direct = false;
    let large = TargetResidency { memory_bytes: GIB / 8, ..resident(GIB / 10) };
    lacks(&after(&case.plan, &case.result, &[large])[0].remedy, "far more");
}

#[test]
fn cached_writes_are_doubted_unless_written_through() {
    let mut case = Case::new(1);
    case.target().open.direct = false;
    *case.used(0) = ThreadTargetResult {
        target: 0,
        read: direction(0),
        write: direction(512),
        ..ThreadTargetResult::default()
    };
    let found = case.only(WarningKind::PageCache);
    has(&found.evidence, &["512 writes (2 MiB)"]);
    has(&found.remedy, &["-Su", "-Sw"]);
    case.target().open.write_through = true;
    assert_eq!(case.all(), []);
}

#[test]
fn mapped_writes_are_doubted_unless_flushed() {
    let mut case = Case::new(1);
    case.target().open.mapped = true;
    *case.used(0) = ThreadTargetResult {
        target: 0,
        read: direction(0),
        write: direction(5),
        ..ThreadTargetResult::default()
    };
    has(&case.only(WarningKind::PageCache).remedy, &["-Nv", "in place of the mapping"]);
    case.target().open.flush = Some(crate::request::FlushMode::ViewOfFile);
    assert_eq!(case.all(), []);
}

#[test]
fn sequential_readers_of_the_same_blocks_are_doubted() {
    let mut case = Case::new(4);
    case.target().offsets.order = Order::Sequential;
    let found = case.only(WarningKind::SharedSequentialBlocks);
    has(&found.evidence, &["3 of 4 threads", "0 bytes away"]);
    has(&found.remedy, &["-si", "-T268435456"]);
    for (index, thread) in (0..).zip(&mut case.plan.spans[0].threads) {
        thread.assignments[0].start_bytes = index * GIB / 4;
    }
    assert_eq!(case.all(), []);
    case.plan.spans[0].threads[1].assignments[0].start_bytes = MIB;
    has(&case.only(WarningKind::SharedSequentialBlocks).evidence, &["1 of 4", "1 MiB away"]);
    case.used(0).read = direction(200);
    assert_eq!(case.all(), []);
}

#[test]
fn shared_positions_and_writers_share_no_reads() {
    let mut case = Case::new(4);
    case.target().offsets.order = Order::Interlocked;
    assert_eq!(case.all(), []);
    case.target().offsets.order = Order::Sequential;
    (0..4).for_each(|thread| {
        *case.used(thread) = ThreadTargetResult {
            target: 0,
            read: direction(0),
            write: direction(9000),
            ..ThreadTargetResult::default()
        };
    });
    assert_eq!(case.all(), []);
}

#[test]
fn the_advised_stride_is_no_cause_for_doubt_on_a_small_target() {
    let mut case = Case::new(4);
    case.target().offsets.order = Order::Sequential;
    case.target().offsets.end_bytes = 4 * MIB;
    for (index, thread) in (0..).zip(&mut case.plan.spans[0].threads) {
        thread.assignments[0].start_bytes = index * MIB;
    }
    assert_eq!(case.all(), []);
}

fn paced(case: &mut Case, ios_per_second: u64) {
    for thread in &mut case.plan.spans[0].threads {
        thread.assignments[0].pace = Some(Pace::constant(ios_per_second, SECOND));
    }
}

#[test]
fn a_rate_that_was_not_reached_is_told_with_both_numbers() {
    let mut case = Case::new(2);
    paced(&mut case, 12_500);
    let found = case.only(WarningKind::RateNotReached);
    has(&found.evidence, &["25,000 I/Os per second", "20,000 delivered", "80.0 %"]);
    lacks(&found.remedy, "-i");
}

/// "Leave out the idle time between bursts" was advised, which a rate leaves out anyway.
#[test]
fn bursts_are_no_reason_why_a_rate_was_not_reached() {
    let mut case = Case::new(2);
    paced(&mut case, 12_500);
    case.plan.spans[0].threads[0].assignments[0].burst = Some(Burst { ios: 1, gap_ns: 1 });
    lacks(&case.only(WarningKind::RateNotReached).remedy, "-i");
}

/// A target whose I/Os failed on time was asked for a lower rate.
#[test]
fn what_failed_when_it_was_due_is_no_rate_that_was_not_reached() {
    let mut case = Case::new(2);
    paced(&mut case, 12_500);
    case.used(0).read.errors = 2_500;
    case.used(1).write.errors = 2_400;
    case.only(WarningKind::IoErrors);
    case.used(1).write.errors = 0;
    case.used(1).read.short_ios = 1_000;
    let kinds: Vec<WarningKind> = case.all().iter().map(|one| one.kind).collect();
    let expected = [WarningKind::IoErrors, WarningKind::ShortIo, WarningKind::RateNotReached];
    assert_eq!(kinds, expected, "3,500 failed, and 1,500 more were not issued");
}

#[test]
fn a_rate_within_one_percent_is_reached() {
    let mut case = Case::new(2);
    paced(&mut case, 10_100);
    assert_eq!(case.all(), []);
    paced(&mut case, 10_110);
    case.only(WarningKind::RateNotReached);
    // One I/O of each thread may be under way at the end.
    paced(&mut case, 5);
    (0..2).for_each(|thread| case.used(thread).read.ios = 4);
    assert_eq!(case.all(), []);
    // A trim takes its place in the schedule, as a read does.
    paced(&mut case, 10);
    case.only(WarningKind::RateNotReached);
    (0..2).for_each(|thread| case.used(thread).trim = Some(Box::new(direction(5))));
    case.only(WarningKind::UnwrittenExtents);
}

#[test]
fn a_full_core_under_load_is_named() {
    let mut case = Case::new(2);
    case.measured().cpu[1].idle_percent = 4.0;
    let found = case.only(WarningKind::CoreSaturated);
    has(&found.evidence, &["CPU 1 was 96.0 % busy"]);
    has(&found.remedy, &["-t", "-b"]);
    lacks(&found.remedy, "--engine");
    lacks(&found.remedy, "-Su");
    case.measured().cpu[1].idle_percent = 6.0;
    case.measured().cpu[7].idle_percent = 0.0;
    assert_eq!(case.all(), []);
}

#[test]
fn a_thread_that_uses_a_whole_cpu_is_named() {
    let mut case = Case::new(2);
    for thread in &mut case.measured().threads {
        thread.pinned_os_cpu = None;
        thread.backend.name = "sync".to_owned();
    }
    case.measured().threads[1].cpu_ns = SECOND / 100 * 97;
    let found = case.only(WarningKind::CoreSaturated);
    has(&found.evidence, &["thread 1 used 97.0 % of one CPU"]);
    has(&found.remedy, &["--engine=uring"]);
    case.measured().threads[1].cpu_ns = SECOND / 100 * 94;
    assert_eq!(case.all(), []);
}

/// The ring was advised beside a trial in which that had been four times as slow.
#[test]
fn what_a_trial_found_to_be_slower_is_not_advised() {
    let mut case = Case::new(2);
    for thread in &mut case.measured().threads {
        thread.backend.name = "sync".to_owned();
        thread.cpu_ns = SECOND;
    }
    has(&case.only(WarningKind::CoreSaturated).remedy, &["--engine=uring"]);
    for thread in &mut case.measured().threads {
        let way = |way: &str, iops| crate::measure::TriedWay { way: way.to_owned(), iops };
        thread.backend.tried =
            vec![way("io_uring", 299_232), way("one plain call at a time", 1_082_755)];
    }
    lacks(&case.only(WarningKind::CoreSaturated).remedy, "--engine");
}

/// "2 I/Os per thread are to be outstanding, and one was" was said of all threads, one of which kept both.
#[test]
fn a_way_that_was_chosen_for_one_target_is_said_of_that_target() {
    let mut case = Case::new(2);
    let mut memory = case.plan.spans[0].targets[0].clone();
    memory.name = "tm/f".to_owned();
    case.plan.spans[0].targets.push(memory.clone());
    for thread in &mut case.plan.spans[0].threads {
        thread.assignments[0].outstanding = 2;
    }
    case.plan.spans[0].threads[1].assignments[0].target = 1;
    let backend = &mut case.measured().threads[1].backend;
    backend.name = "sync".to_owned();
    backend.tried = vec![crate::measure::TriedWay { way: "io_uring".to_owned(), iops: 1 }];
    let found = case.only(WarningKind::NoEffect);
    assert_eq!(found.target.as_deref(), Some("tm/f"));
    has(&found.evidence, &["2 I/Os per thread are to be outstanding, and one was"]);
    let threads = &mut case.plan.spans[0].threads;
    let both = crate::plan::Assignment { target: 0, ..threads[1].assignments[0].clone() };
    threads[1].assignments.push(both);
    let found = case.only(WarningKind::NoEffect);
    assert_eq!(found.target, None);
    has(&found.evidence, &["4 I/Os per thread of '/nowhere/test.dat', 'tm/f' are to be"]);
}

/// IOPS times latency gave 0.99 at a depth of 8, and nobody said that one I/O at a time had been chosen.
#[test]
fn a_trial_that_chose_one_call_at_a_time_says_that_no_more_were_in_flight() {
    let mut case = Case::new(2);
    let tried = || vec![crate::measure::TriedWay { way: "io_uring".to_owned(), iops: 1 }];
    for assignment in &mut case.plan.spans[0].threads[1].assignments {
        assignment.outstanding = 8;
    }
    case.measured().threads[1].backend.tried = tried();
    assert_eq!(case.all(), [], "another way was the fastest");
    case.measured().threads[1].backend.name = "sync".to_owned();
    has(&case.only(WarningKind::NoEffect).evidence, &["8 I/Os per thread", "one was"]);
    case.measured().threads[1].backend.tried.clear();
    assert_eq!(case.all(), [], "it was requested");
    case.measured().threads[1].backend.tried = tried();
    case.plan.spans[0].threads[1].assignments[0].outstanding = 1;
    assert_eq!(case.all(), [], "one is all that was to be outstanding");
}

#[test]
fn remedies_that_are_in_use_are_not_proposed() {
    let mut case = Case::of_a_full_core(8);
    has(&case.only(WarningKind::CoreSaturated).remedy, &["a lower bound"]);
    case.measured().threads[1].pinned_os_cpu = Some(0);
    has(&case.only(WarningKind::CoreSaturated).remedy, &["(-a)"]);
}

/// Of 8 CPUs the process was allowed 4: more threads, and a CPU for each, were advised beyond them.
#[test]
fn no_more_cpus_are_proposed_than_the_process_may_use() {
    let mut case = Case::of_a_full_core(4);
    has(&case.only(WarningKind::CoreSaturated).remedy, &["(-t)"]);
    case.plan.usable_cpu_count = 4;
    has(&case.only(WarningKind::CoreSaturated).remedy, &["a lower bound"]);
    case.measured().threads[1].pinned_os_cpu = Some(0);
    has(&case.only(WarningKind::CoreSaturated).remedy, &["(-a)"]);
    case.plan.usable_cpu_count = 2;
    has(&case.only(WarningKind::CoreSaturated).remedy, &["a lower bound"]);
}

fn stopped_by_its_duration(case: &mut Case, rules: StopRules, intervals: u64) {
    case.plan.spans[0].stop = rules;
    case.measured().stop = Some(StopReport {
        cause: StopCause::Duration,
        interval_ns: SECOND / 100,
        intervals,
        steady: None,
        confidence: None,
        awaited: None,
    });
}

/// "1000 intervals did not fill a window" of three.
#[test]
fn a_window_without_ios_is_no_window_that_was_not_filled() {
    let mut case = Case::new(1);
    let steady = Some(SteadyRule { intervals: 3, ..SteadyRule::default() });
    let rules = StopRules { steady, interval_ms: Some(10), ..StopRules::default() };
    stopped_by_its_duration(&mut case, rules, 1_000);
    let found = case.only(WarningKind::StopRuleNotMet);
    has(&found.evidence, &["in the last 3 intervals, of 10 ms each, no read or write completed"]);
    stopped_by_its_duration(&mut case, rules, 2);
    has(&case.only(WarningKind::StopRuleNotMet).evidence, &["2 intervals did not fill a window"]);
}

/// "Between 0.0 and 0.0 IOPS, 0.00 % were reached of 2 %" was waited for.
#[test]
fn a_mean_of_no_ios_is_told_as_such() {
    let mut case = Case::new(1);
    let confidence = Some(ConfidenceRule { level_milli: 95_000, precision_milli: 2_000 });
    let rules = StopRules { confidence, ..StopRules::default() };
    stopped_by_its_duration(&mut case, rules, 300);
    has(&case.only(WarningKind::StopRuleNotMet).evidence, &["too few to tell the mean"]);
    case.used(0).read = direction(0);
    stopped_by_its_duration(&mut case, rules, 300);
    has(
        &case.only(WarningKind::StopRuleNotMet).evidence,
        &["no read or write completed in 300 intervals"],
    );
}

#[test]
fn the_null_engine_may_use_all_of_its_core() {
    let mut case = Case::new(1);
    case.measured().threads[0].backend.name = "null".to_owned();
    case.measured().threads[0].cpu_ns = SECOND;
    case.measured().cpu[0].idle_percent = 0.0;
    assert_eq!(case.all(), []);
}

#[test]
fn stolen_time_is_told_above_five_percent() {
    let mut case = Case::new(1);
    case.measured().cpu[3].steal_percent = 5.0;
    assert_eq!(case.all(), []);
    case.measured().cpu[3].steal_percent = 12.5;
    has(&case.only(WarningKind::CpuStolen).evidence, &["12.5 % of CPU 3"]);
}

#[test]
fn errors_and_short_ios_are_counted() {
    let mut case = Case::new(2);
    case.used(0).read.errors = 3;
    case.used(1).write.errors = 2;
    let found = case.only(WarningKind::IoErrors);
    has(&found.evidence, &["3 of 20,003 reads", "2 of 2 writes"]);
    case.used(0).read.errors = 0;
    case.used(1).write.errors = 0;
    assert_eq!(case.all(), []);
    case.used(1).read.short_ios = 7;
    has(&case.only(WarningKind::ShortIo).evidence, &["7 of 20,007", "4,096 bytes"]);
}

/// A run whose syncs or trims failed had no warning: it looked like a clean one.
#[test]
fn syncs_and_trims_that_failed_are_counted() {
    let failed = |errors| Some(Box::new(DirectionResult { errors, ..direction(5) }));
    let mut case = Case::new(2);
    case.used(0).sync = failed(2);
    has(&case.only(WarningKind::IoErrors).evidence, &["2 of 7 syncs failed"]);
    lacks(&case.only(WarningKind::IoErrors).evidence, "reads");
    case.used(0).sync = failed(0);
    case.used(1).trim = failed(3);
    case.used(1).read.errors = 1;
    let all = case.all();
    let found = all.iter().find(|one| one.kind == WarningKind::IoErrors).unwrap();
    has(&found.evidence, &["1 of 20,001 reads, 3 of 8 trims failed"]);
}

/// "2 I/Os were in flight at its end; look whether the target answers" was said of a file that had been cut.
#[test]
fn ios_that_all_came_back_short_are_told_where_none_completed() {
    let mut case = Case::new(1);
    case.used(0).read = DirectionResult { short_ios: 3, ..direction(0) };
    case.used(0).read.edges.at_end.ios = 2;
    case.measured().outcome = Outcome::NoIo;
    let all = case.all();
    let found = all.iter().find(|one| one.kind == WarningKind::NoIoCompleted).unwrap();
    has(&found.evidence, &["3 I/Os moved fewer bytes than were requested"]);
    has(&found.remedy, &["still has its size"]);
}

fn writes_without_room(ios: u64) -> FaultCount {
    FaultCount {
        operation: "write".to_owned(),
        kind: "ENOSPC".to_owned(),
        error: Some(Kind::NoSpace),
        ios,
        outside_ios: 0,
    }
}

/// A file system that ran full sent people to the kernel's log, and to replace the disk.
#[test]
fn writes_that_found_no_room_are_told_as_such() {
    let mut case = Case::new(1);
    case.used(0).write.errors = 5;
    case.used(0).faults = vec![writes_without_room(5)];
    let found = case.only(WarningKind::IoErrors);
    has(&found.evidence, &["5 of 5 writes failed, 5 of them as there was no room left (ENOSPC)"]);
    has(&found.remedy, &["make room where it lies"]);
}

#[test]
fn each_reason_for_a_lesser_backend_is_told_once() {
    let mut case = Case::new(3);
    for thread in &mut case.measured().threads[..2] {
        thread.backend.name = "libaio".to_owned();
        thread.backend.fallback = Some("io_uring is forbidden by a sandbox".to_owned());
    }
    let found = case.only(WarningKind::BackendFallback);
    has(&found.evidence, &["2 threads used libaio", "forbidden by a sandbox"]);
}

#[test]
fn an_early_end_is_told() {
    let mut case = Case::new(1);
    case.plan.spans[0].measured_ns = 10 * SECOND;
    case.measured().outcome = Outcome::Interrupted;
    has(&case.only(WarningKind::Interrupted).evidence, &["1.00 s of 10.00 s"]);
    case.measured().outcome = Outcome::Failed("no".to_owned());
    assert_eq!(case.all(), []);
    case.measured().measured_ns = 0;
    assert_eq!(case.all(), []);
}
