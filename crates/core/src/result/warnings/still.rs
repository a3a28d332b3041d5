//! Times at which the process was suspended.

use super::super::{Warning, WarningKind};
use super::number;
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
    let evidence = format!(
        "this process did not run for {total:.1} of the {:.1} s that were measured, for {longest:.1} s at a \
         stretch; I/Os in flight seem to take as long",
        seconds(measured.measured_ns)
    );
    let remedy = "find out what stopped it (Ctrl-Z, SIGSTOP, a debugger, a frozen control group) or the \
                  machine (a snapshot or migration), and run it again";
    (still.total_ns > 0).then(|| Warning {
        kind: WarningKind::Suspended,
        target: None,
        time_span: Some(number(span.index)),
        evidence,
        remedy: remedy.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
