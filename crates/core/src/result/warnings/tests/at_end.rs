//! An end of the measured time within a stall: who stalled, who went on, and neighbours that only look so.

use super::*;
use crate::measure::{Edges, InFlight, LatencyHistogram, Slots};
use crate::result::TargetFacts;

/// I/Os of these ages in flight at the end.
fn in_flight(ages_ms: &[u64]) -> Edges {
    let mut at_end = InFlight::default();
    for age_ms in ages_ms {
        at_end.add(age_ms * SECOND / 1_000);
    }
    Edges { at_end, ..Edges::default() }
}

fn part(ios: u64, ages_ms: &[u64]) -> DirectionResult {
    DirectionResult { edges: in_flight(ages_ms), ..direction(ios) }
}

/// One thread for each of some targets, one second, with what it read: I/Os, and the ages of those in flight,
/// which fill its slots.
fn case(rows: &[(u32, u64, &[u64])]) -> Case {
    let mut case = Case::new(u32::try_from(rows.len()).unwrap());
    let targets = rows.iter().map(|row| row.0).max().unwrap();
    for target in 0..=targets {
        let mut planned = case.plan.spans[0].targets[0].clone();
        planned.name = format!("/f{target}");
        let facts = TargetFacts {
            path: planned.name.clone(),
            kind: "file".to_owned(),
            size_bytes: GIB,
            block_bytes: 4096,
            distribution: Vec::new(),
            working_set_bytes: None,
        };
        case.plan.spans[0].targets.push(planned);
        case.measured().targets.push(facts);
    }
    case.plan.spans[0].targets.remove(0);
    for (index, (target, ios, ages_ms)) in rows.iter().enumerate() {
        let slots = Slots { count: ages_ms.len() as u64, idle_ns: 0 };
        case.plan.spans[0].threads[index].assignments[0].target = *target as usize;
        case.measured().threads[index].slots = slots;
        *case.used(index) = ThreadTargetResult {
            target: *target,
            read: part(*ios, ages_ms),
            slots,
            ..ThreadTargetResult::default()
        };
    }
    case
}

fn told(case: &Case) -> Option<Warning> {
    let is_told = |one: &Warning| one.kind == WarningKind::StalledAtEnd;
    case.all().into_iter().find(is_told)
}

/// "4 I/Os were in flight, mean 0.079 ms", with no target, where one of two had hung; and the first remedy
/// was to stop other load, although the thread of the other had run on undisturbed.
#[test]
fn a_target_that_hung_alone_is_named_and_other_load_is_not_blamed() {
    let mut case = case(&[(0, 20_000, &[0, 0]), (1, 5_000, &[600, 600])]);
    case.measured().beneath = Some(causes::taken(900, 600));
    let found = told(&case).unwrap();
    assert_eq!(found.target.as_deref(), Some("/f1"));
    has(&found.evidence, &["2 I/Os were in flight at its end, the oldest for 0.600 s, on '/f1'"]);
    has(&found.evidence, &["those that completed took 0.160 ms", "the others went on"]);
    assert!(found.remedy.starts_with("read their latencies"), "{}", found.remedy);
    for (target, ages_ms) in [(0, [600, 600]), (1, [600, 600])] {
        case.used(target).read.edges = in_flight(&ages_ms);
    }
    let found = told(&case).unwrap();
    assert_eq!(found.target, None);
    lacks(&found.evidence, "went on");
    has(&found.remedy, &["stop what else runs"]);
}

#[test]
fn a_thread_that_never_had_an_io_back_is_named() {
    let found = told(&case(&[(0, 20_000, &[0]), (0, 0, &[1_000]), (0, 20_000, &[0])])).unwrap();
    has(&found.evidence, &["1 I/O was in flight", "of thread 1", "the others went on"]);
}

#[test]
fn a_target_of_several_that_never_answered_is_named() {
    let found = told(&case(&[(0, 20_000, &[0]), (1, 0, &[1_000])])).unwrap();
    has(&found.evidence, &["on '/f1'", "none of these had completed in the 1.00 s"]);
}

/// The I/O of a slow target was compared with the mean of a fast one beside it.
#[test]
fn a_slow_target_beside_a_fast_one_has_not_stalled() {
    assert_eq!(told(&case(&[(0, 200_000, &[0; 4]), (1, 4, &[240])])), None);
    assert_eq!(told(&case(&[(0, 200_000, &[0; 4]), (1, 16, &[0, 60, 120, 190])])), None);
}

#[test]
fn threads_of_a_device_that_serves_few_ios_wait_without_a_stall() {
    let row = |ios, age_ms: &'static [u64]| (0, ios, age_ms);
    let rows = [row(1, &[300]), row(0, &[1_000]), row(1, &[100]), row(0, &[1_000]), row(2, &[0])];
    assert_eq!(told(&case(&rows)), None);
}

/// With latency, a kind of I/O that is slow by nature is compared with itself.
#[test]
fn slow_writes_among_fast_reads_have_not_stalled() {
    let mut case = case(&[(0, 50_000, &[0, 0, 0])]);
    case.used(0).write = part(6, &[140]);
    case.used(0).slots.count = 4;
    assert_eq!(told(&case), None, "they may take all of the time");
    let mut latency = LatencyHistogram::new();
    (0..6).for_each(|_| latency.record(150_000_000));
    case.used(0).write.latency = Some(latency);
    assert_eq!(told(&case), None);
    case.used(0).write.edges = in_flight(&[950]);
    assert_eq!(told(&case), None, "six times the mean");
    let mut latency = LatencyHistogram::new();
    (0..6).for_each(|_| latency.record(5_000_000));
    case.used(0).write.latency = Some(latency);
    has(&told(&case).unwrap().evidence, &["1 write was in flight"]);
}

/// What the watchdog saw of the same stall is no second one.
#[test]
fn a_stall_that_lasts_until_the_end_is_told_once() {
    let mut case = case(&[(0, 5_000, &[600, 600])]);
    let stall = crate::beneath::Stall {
        thread: 0,
        target: None,
        from_ns: SECOND * 4 / 10,
        length_ns: SECOND * 6 / 10,
    };
    let stalls = vec![stall];
    case.measured().beneath = Some(crate::result::Beneath { stalls, ..causes::beneath() });
    case.only(WarningKind::StalledAtEnd);
    case.used(0).read.edges = Edges::default();
    case.only(WarningKind::Stalled);
}

/// I/Os that fail at once come back, too.
#[test]
fn a_target_whose_ios_fail_has_not_stalled() {
    let mut case = case(&[(0, 10, &[150])]);
    case.used(0).read.errors = 2;
    assert_eq!(told(&case), None);
}

/// A server hung until behind the end of the load: "ended after 3.00 s of 3.00 s".
#[test]
fn a_whole_measured_time_was_said_to_have_ended_early() {
    let mut case = Case::new(1);
    case.plan.spans[0].measured_ns = SECOND;
    case.measured().outcome = Outcome::Interrupted;
    case.measured().outstanding = vec![crate::measure::OutstandingIo {
        thread: 0,
        target: 0,
        operation: "read".to_owned(),
        offset_bytes: 0,
        bytes: 4096,
        submitted_ns: 0,
        waited_ns: 7 * SECOND,
    }];
    let found = case.only(WarningKind::Interrupted);
    has(&found.evidence, &["measured time was over", "without 1 I/O"]);
    case.plan.spans[0].measured_ns = 10 * SECOND;
    has(&case.only(WarningKind::Interrupted).evidence, &["1.00 s of 10.00 s"]);
}

/// "Find what stalls the target (kernel log)" was said of a thread that others had kept from its CPU until
/// the end, as another thread on another CPU had gone on.
#[test]
fn a_thread_that_alone_had_no_cpu_at_the_end_does_not_blame_its_target() {
    let told_of = |waited_ms: [u64; 2]| {
        let mut case = case(&[(0, 20_000, &[0, 0]), (1, 5_000, &[600, 600])]);
        case.measured().beneath = Some(causes::taken(900, waited_ms.iter().sum()));
        for (thread, waited_ms) in case.measured().threads.iter_mut().zip(waited_ms) {
            thread.cpu_waited_ns = Some(waited_ms * SECOND / 1_000);
        }
        told(&case).unwrap()
    };
    let starved = told_of([10, 590]);
    has(&starved.evidence, &["on '/f1'", "the others went on", "other processes used"]);
    has(&starved.remedy, &["stop what else runs", "if it is there again"]);
    let stalled = told_of([590, 10]);
    lacks(&stalled.evidence, "other processes");
    assert!(stalled.remedy.starts_with("read their latencies"), "{}", stalled.remedy);
}

/// "Ask for a lower rate (-g), or allow more outstanding I/O (-o)" was the advice where all had been on time
/// until the target stalled.
#[test]
fn a_rate_that_a_stall_at_the_end_cut_off_is_not_to_be_lower() {
    let told_of = |oldest_due_ms: u64| {
        let mut case = case(&[(0, 5_000, &[400, 400])]);
        case.plan.spans[0].threads[0].assignments[0].pace = Some(Pace::constant(9_000, SECOND));
        let not_issued = &mut case.used(0).read.edges.not_issued;
        (1..=3_998).for_each(|one| not_issued.add(oldest_due_ms * SECOND / 1_000 * one / 3_998));
        let all = case.all();
        all.into_iter().find(|one| one.kind == WarningKind::RateNotReached).expect("it was not")
    };
    let cut_off = told_of(399);
    has(&cut_off.evidence, &["9,000 I/Os", "in flight or due"]);
    has(&cut_off.remedy, &["find what stalled the target", "-d"]);
    lacks(&cut_off.remedy, "-o");
    has(&told_of(800).remedy, &["-g", "-o"]);
}
