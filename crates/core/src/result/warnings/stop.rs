//! Whether the run ended as it was asked to.

use super::super::totals::{Kind, of_span};
use super::super::{Warning, WarningKind};
use super::Seen;
use crate::measure::{StopCause, StopReport};
use crate::request::StopRules;
use crate::result::stop;

/// A warning about a run that went on to its longest time.
pub(super) fn warnings(seen: &Seen) -> Option<Warning> {
    let report = seen.measured.stop.as_ref()?;
    if report.cause != StopCause::Duration {
        return None;
    }
    let seconds = seen.measured.measured_ns as f64 / 1e9;
    let mut evidence =
        format!("no rule to end the measured time was met in the {seconds:.1} s of its duration");
    for sentence in judged(seen, report) {
        evidence.push_str(". ");
        evidence.push_str(&sentence);
    }
    let remedy = "allow more time (-d), or ask for less with the stop rule";
    Some(seen.warning(WarningKind::StopRuleNotMet, evidence, remedy.to_owned()))
}

fn judged(seen: &Seen, report: &StopReport) -> Vec<String> {
    let rules = &seen.span.stop;
    let mut found = Vec::new();
    if rules.steady.is_some() {
        found.push(
            report
                .steady
                .map_or_else(|| unfilled(report, rules), |window| stop::steady(report, window)),
        );
    }
    if rules.confidence.is_some() {
        let is_nothing = of_span(seen.measured, Kind::Total).ios == 0;
        found.push(match report.confidence {
            Some(known) => stop::confidence(report, known),
            None if is_nothing => {
                format!("no read or write completed in {} intervals", report.intervals)
            }
            None => {
                format!("{} intervals were too few to tell the mean, or it moved", report.intervals)
            }
        });
    }
    found
}

/// Why there is no window to judge.
fn unfilled(report: &StopReport, rules: &StopRules) -> String {
    let window = rules.steady.map_or(0, |rule| u64::from(rule.intervals));
    if report.intervals < window {
        return format!("{} intervals did not fill a window", report.intervals);
    }
    format!(
        "in the last {window} intervals, of {} ms each, no read or write completed",
        rules.interval_ms()
    )
}
