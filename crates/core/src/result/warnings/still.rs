//! Times at which the process was suspended.

use super::super::beneath::group_uses;
use super::super::{GroupUse, Warning, WarningKind};
use super::number;
use crate::beneath::Edge;
use crate::measure::SpanMeasurements;
use crate::plan::SpanPlan;
use crate::units::NANOS_PER_SEC;

/// Where the process was suspended, its I/Os seem to have stalled, and those that were due came late: that
/// is said, in place of a search for a cause at the target.
pub fn explain(warnings: &mut [Warning]) {
    let still = warnings.iter().filter(|one| one.kind == WarningKind::Suspended);
    let still: Vec<(Option<u32>, String)> =
        still.map(|one| (one.time_span, one.remedy.clone())).collect();
    for warning in warnings {
        let is_open = matches!(
            warning.kind,
            WarningKind::Stalled | WarningKind::StalledAtEnd | WarningKind::ResponseBehindSchedule
        );
        let cause = still.iter().find(|(time_span, _)| *time_span == warning.time_span);
        if let Some((_, remedy)) = cause.filter(|_| is_open) {
            warning.evidence.push_str("; this process itself was suspended in the measured time");
            warning.remedy.clone_from(remedy);
        }
    }
}

/// One warning if nothing of this process ran for a part of the measured time.
#[must_use]
pub fn suspended(span: &SpanPlan, measured: &SpanMeasurements) -> Option<Warning> {
    let still = measured.suspended;
    let seconds = |ns: u64| ns as f64 / NANOS_PER_SEC as f64;
    let (total, longest) = (seconds(still.total_ns), seconds(still.longest_ns));
    let mut evidence = format!(
        "this process did not run for {total:.1} of the {:.1} s that were measured, for {longest:.1} s at a \
         stretch; I/Os in flight seem to take as long",
        seconds(measured.measured_ns)
    );
    let mut remedy =
        "find out what stopped it (Ctrl-Z, SIGSTOP, a debugger, a frozen control group) or the \
                      machine (a snapshot or migration), and run it again"
            .to_owned();
    if let Some(folder) = quota(measured) {
        evidence.push_str(&format!(
            "; the quota of CPU time of the control group {folder} stops it for as long"
        ));
        remedy = format!(
            "raise or remove the quota (cpu.max, cpu.cfs_quota_us) for the measurement; if it is there \
             again, {remedy}"
        );
    }
    (still.total_ns > 0).then(|| Warning {
        kind: WarningKind::Suspended,
        target: None,
        time_span: Some(number(span.index)),
        evidence,
        remedy,
    })
}

/// The control group whose quota stopped the process for as long at a time, if one did: with a long period
/// it looks as a signal does.
fn quota(measured: &SpanMeasurements) -> Option<String> {
    let seen = measured.beneath.as_ref()?;
    let (begin, end) = (seen.at(Edge::Begin)?, seen.at(Edge::End)?);
    let stops_for_long = |group: &GroupUse| {
        let stopped_ns = group.throttled_ns.checked_div(group.throttled_periods);
        stopped_ns.is_some_and(|stopped_ns| stopped_ns >= measured.suspended.longest_ns / 4 * 3)
    };
    let mut groups = group_uses(begin, end, &seen.layers, measured.measured_ns).into_iter();
    groups.find(stops_for_long).map(|group| group.folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beneath::{GroupReading, Observation, Reading};
    use crate::measure::{Ending, Suspended};

    /// A group with a quota was stopped so often since the measured time began, for so long in all.
    fn stopped(throttled_periods: u64, throttled_ms: u64) -> Observation {
        let reading = |throttled_periods, throttled_ns| Reading {
            groups: vec![GroupReading {
                folder: "/sys/fs/cgroup/cpu/a".to_owned(),
                throttled_periods,
                throttled_ns,
                ..GroupReading::default()
            }],
            ..Reading::default()
        };
        let mut seen = Observation::default();
        seen.readings[Edge::Begin as usize] = Some(reading(7, NANOS_PER_SEC));
        let end = reading(7 + throttled_periods, NANOS_PER_SEC + throttled_ms * 1_000_000);
        seen.readings[Edge::End as usize] = Some(end);
        seen
    }

    /// "Find out what stopped it (Ctrl-Z, SIGSTOP, a debugger)" was said beside a quota of 20 ms in each
    /// second that had.
    #[test]
    fn a_quota_with_a_long_period_was_taken_for_a_signal() {
        let plan = crate::guard::fixture::span(Vec::new());
        let told = |seen| {
            let suspended = Suspended { total_ns: 1_800_000_000, longest_ns: 900_000_000 };
            let nothing = SpanMeasurements::nothing(Ending::Complete);
            let measured = SpanMeasurements { suspended, beneath: seen, ..nothing };
            super::suspended(&plan, &measured).expect("it did not run")
        };
        let by_quota = told(Some(stopped(4, 5_500)));
        assert!(by_quota.evidence.contains("control group /sys/fs/cgroup/cpu/a"), "{by_quota:?}");
        assert!(by_quota.remedy.starts_with("raise or remove the quota"), "{by_quota:?}");
        for seen in [None, Some(stopped(0, 0)), Some(stopped(30, 2_500))] {
            let by_others = told(seen);
            assert!(by_others.remedy.starts_with("find out what stopped it"), "{by_others:?}");
            assert!(!by_others.evidence.contains("quota"), "{by_others:?}");
        }
    }

    /// After 1.4 s of SIGSTOP, it said "find what stalls the target (kernel log)".
    #[test]
    fn a_process_that_was_stopped_does_not_blame_the_target_and_others_keep_their_words() {
        let warning = |kind, time_span: u32| Warning {
            kind,
            target: None,
            time_span: Some(time_span),
            evidence: "it was so".to_owned(),
            remedy: if kind == WarningKind::Suspended { "SIGSTOP" } else { "the target" }
                .to_owned(),
        };
        let kinds = [
            WarningKind::Suspended,
            WarningKind::StalledAtEnd,
            WarningKind::ResponseBehindSchedule,
            WarningKind::IoErrors,
        ];
        let mut warnings: Vec<Warning> = kinds.map(|kind| warning(kind, 0)).to_vec();
        warnings.push(warning(WarningKind::StalledAtEnd, 1));
        explain(&mut warnings);
        let remedies: Vec<&str> = warnings.iter().map(|one| one.remedy.as_str()).collect();
        assert_eq!(remedies, ["SIGSTOP", "SIGSTOP", "SIGSTOP", "the target", "the target"]);
        let are_explained = warnings[1..3].iter().all(|one| one.evidence.contains("was suspended"));
        assert!(are_explained, "{warnings:?}");
    }
}
