//! What a result says of itself when its load was not what it seems.

use fathom_core::dialect::diskspd::result_text;
use fathom_core::engine::backend::SimDevice;
use fathom_core::engine::simulate::simulate;
use fathom_core::plan::{Plan, SpanPlan, StopRules};
use fathom_core::request::{ConfidenceRule, Request, SteadyRule};
use fathom_core::result::assemble::{Provenance, assemble};
use fathom_core::result::{Host, RunResult, Warning, WarningKind, warnings};
use fathom_core::units::NANOS_PER_SEC;

use crate::plans::{Tell, span};

const MIB: u64 = 1 << 20;

pub(crate) fn result(span: SpanPlan, device: &SimDevice) -> RunResult {
    let measurements = simulate(&span, device).unwrap().measurements;
    let provenance =
        Provenance { command_line: String::new(), started_at_unix_s: 0, host: Host::default() };
    let mut result = assemble(provenance, &Request::default(), vec![(&span, measurements)]);
    let plan = Plan { spans: vec![span], ..Plan::default() };
    result.warnings = warnings::after(&plan, &result, &[]);
    result.warnings = result.warnings.into_iter().map(Warning::in_sentences).collect();
    result
}

pub(crate) fn evidence(result: &RunResult, kind: WarningKind) -> Option<&str> {
    let mut found = result.warnings.iter().filter(|warning| warning.kind == kind);
    found.next().map(|warning| warning.evidence.as_str())
}

#[test]
fn a_stall_that_held_the_slots_explains_late_ios() {
    let stalling = SimDevice {
        stall_from_ns: 4 * NANOS_PER_SEC,
        stall_ns: NANOS_PER_SEC,
        ..SimDevice::default()
    };
    let plan = span(64 * MIB).threads(2).outstanding(2).pace(1_000, NANOS_PER_SEC).seconds(10);
    let result = result(plan, &stalling);
    let found = evidence(&result, WarningKind::ResponseBehindSchedule).unwrap();
    assert!(found.contains("took at most 0.100 ms from their submission"), "{found}");
    assert!(found.contains("slow I/Os, one of them of 1000."), "{found}");
    assert!(found.contains("held the 4 outstanding ones"), "{found}");
    // A thousand were due on each thread while nothing was answered, and more until all was caught up.
    let late = found.split("at least ").nth(1).unwrap().split(' ').next().unwrap();
    assert!((1_990..2_600).contains(&late.replace(',', "").parse().unwrap()), "{found}");
    assert!(result_text::write(&result).contains(found));
}

/// "Held the 4 outstanding ones" was said of two targets with two each, of which one had no slow I/O.
#[test]
fn only_the_target_whose_ios_were_slow_is_said_to_have_held_slots() {
    let stalling = |stalled_file| SimDevice {
        stall_from_ns: NANOS_PER_SEC,
        stall_ns: NANOS_PER_SEC,
        stalled_file,
        ..SimDevice::default()
    };
    let mut plan = span(64 * MIB).outstanding(2).pace(1_000, NANOS_PER_SEC).seconds(4);
    plan.targets.push(plan.targets[0].clone());
    plan.targets[1].name = "second".to_owned();
    let mut second = plan.threads[0].assignments[0].clone();
    (second.target, second.outstanding) = (1, 3);
    plan.threads[0].assignments.push(second);
    let said = |plan: &SpanPlan, stalled_file| {
        let result = result(plan.clone(), &stalling(stalled_file));
        evidence(&result, WarningKind::ResponseBehindSchedule).unwrap().to_owned()
    };
    let one = said(&plan, Some(1));
    assert!(one.contains("because slow I/Os on 'second', one of them of 1000."), "{one}");
    assert!(one.contains("held the 3 outstanding ones there"), "{one}");
    let all = said(&plan, None);
    assert!(all.contains("because slow I/Os, one of them of 1000."), "{all}");
    assert!(all.contains("held the 5 outstanding ones"), "{all}");
}

#[test]
fn a_rate_beyond_the_device_explains_late_ios_by_the_backlog() {
    let plan = span(64 * MIB).outstanding(2).pace(30_000, NANOS_PER_SEC).seconds(2);
    let result = result(plan, &SimDevice::default());
    let found = evidence(&result, WarningKind::ResponseBehindSchedule).unwrap();
    assert!(found.contains("a backlog grew"), "{found}");
    assert!(evidence(&result, WarningKind::RateNotReached).is_some());
}

#[test]
fn ios_that_start_on_time_raise_no_doubt() {
    let paced = span(64 * MIB).outstanding(4).pace(1_000, NANOS_PER_SEC).seconds(5);
    for plan in [paced, span(64 * MIB)] {
        let result = result(plan, &SimDevice::default());
        assert_eq!(evidence(&result, WarningKind::ResponseBehindSchedule), None);
    }
}

#[test]
fn rules_that_were_not_met_are_told_with_what_they_found() {
    let rules = StopRules {
        steady: Some(SteadyRule { intervals: 10, ..SteadyRule::default() }),
        confidence: Some(ConfidenceRule { level_milli: 95_000, precision_milli: 2_000 }),
        interval_ms: Some(500),
        ..StopRules::default()
    };
    // Bursts of 100 ms and pauses of 900 ms: every second interval is empty.
    let unsteady = span(64 * MIB).bursts(1_000, 900_000_000).seconds(30).stop(rules);
    let result = result(unsteady, &SimDevice::default());
    let found = evidence(&result, WarningKind::StopRuleNotMet).unwrap();
    assert!(found.contains("in the 30.0 s of its duration"), "{found}");
    assert!(found.contains("The last 10 intervals of 500 ms"), "{found}");
    assert!(found.contains("intervals were too few to tell the mean"), "{found}");
    let met = span(64 * MIB).stop(StopRules { ios: Some(100), ..StopRules::default() });
    let met = self::result(met, &SimDevice::default());
    assert_eq!(evidence(&met, WarningKind::StopRuleNotMet), None);
}

/// The result of such a run took far longer than the run.
#[test]
fn a_rate_that_no_device_keeps_has_its_result_at_once() {
    let plan = span(64 * MIB).outstanding(2).pace(u64::MAX / 2, NANOS_PER_SEC).seconds(1);
    let result = result(plan, &SimDevice::default());
    let found = evidence(&result, WarningKind::ResponseBehindSchedule).unwrap();
    assert!(found.contains("a backlog grew"), "{found}");
    assert!(evidence(&result, WarningKind::RateNotReached).is_some());
}
