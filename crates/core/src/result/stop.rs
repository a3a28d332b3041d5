//! Why a measured time ended, in sentences, for every report.

use super::TimeSpanResult;
use super::totals::{Kind, of_span};
use crate::measure::{
    Awaited, AwaitedKind, ConfidenceEvidence, SteadyEvidence, StopCause, StopReport,
};

/// Sentences about what ended a time span, with their evidence; none if there were no rules about it.
#[must_use]
pub fn sentences(span: &TimeSpanResult) -> Vec<String> {
    let Some(report) = &span.stop else { return Vec::new() };
    let mut sentences = vec![ended(span, report.cause)];
    sentences.extend(report.steady.map(|window| steady(report, window)));
    sentences.extend(report.confidence.map(|known| confidence(report, known)));
    sentences.extend(report.confidence.and_then(cut));
    sentences.extend(report.awaited.map(awaited));
    if report.cause == StopCause::Confidence {
        sentences.push(unseen(span, report));
    }
    sentences
}

fn ended(span: &TimeSpanResult, cause: StopCause) -> String {
    let sum = of_span(span, Kind::Total);
    let ios = if sum.ios == 1 { "I/O" } else { "I/Os" };
    let why = match cause {
        StopCause::Duration => "with its whole duration, before a stop rule was met".to_owned(),
        StopCause::Interruption => "with an interruption, before a stop rule was met".to_owned(),
        StopCause::Bytes => format!("when {} bytes had been transferred", sum.bytes),
        StopCause::Ios => format!("when {} {ios} had completed", sum.ios),
        StopCause::Pass => format!("after one pass over the range, of {} {ios}", sum.ios),
        StopCause::Steady => "when the rate was steady by the SNIA's rule".to_owned(),
        StopCause::Confidence => "when the mean of the rate was known".to_owned(),
    };
    format!("The measured time ended at {:.3} s, {why}.", span.measured_ns as f64 / 1e9)
}

/// The last window, as a sentence.
#[must_use]
pub fn steady(report: &StopReport, window: SteadyEvidence) -> String {
    format!(
        "The last {} intervals of {} ms had a mean of {:.1} IOPS, a range of {} % of it (steady: \
         at most {} %) and a slope of {} % (at most {} %).",
        window.window_intervals,
        report.interval_ns / 1_000_000,
        window.iops_mean,
        beside_limit(window.range_percent, window.range_percent_limit),
        window.range_percent_limit,
        beside_limit(window.slope_percent, window.slope_percent_limit),
        window.slope_percent_limit,
    )
}

/// A share in percent, with so many digits that it is not on the other side of its limit.
fn beside_limit(percent: f64, limit: f64) -> String {
    let told = |digits: usize| format!("{percent:.digits$}");
    let is_told = |text: &String| {
        text.parse::<f64>().is_ok_and(|shown| (shown <= limit) == (percent <= limit))
    };
    (2..9).map(told).find(is_told).unwrap_or_else(|| told(2))
}

/// What is known of the mean, as a sentence.
#[must_use]
pub fn confidence(report: &StopReport, known: ConfidenceEvidence) -> String {
    format!(
        "With {} % confidence the mean is between {:.1} and {:.1} IOPS, {:.1} +- {:.2} % (requested: \
         {} %); {} intervals of {} ms were worth {:.1} independent ones.",
        known.level_percent,
        known.iops_low,
        known.iops_high,
        known.iops_mean,
        known.precision_percent,
        known.precision_percent_limit,
        report.intervals - known.transient_intervals,
        report.interval_ns / 1_000_000,
        known.effective_samples,
    )
}

/// What was left out of the mean, as a sentence; nothing if all was taken.
#[must_use]
pub fn cut(known: ConfidenceEvidence) -> Option<String> {
    (known.transient_intervals > 0).then(|| {
        format!(
            "From 0 to {:.3} s the rate approached its level, at a mean of {:.1} IOPS: this transient is left \
             out of that mean, and of nothing else.",
            known.transient_ns as f64 / 1e9,
            known.transient_iops,
        )
    })
}

/// What the rule about the mean waited for, as a sentence.
#[must_use]
pub fn awaited(found: Awaited) -> String {
    let (seen, needed) = (found.seen, found.needed);
    match found.kind {
        AwaitedKind::Transient => {
            format!(
                "The rule waited for the end of a transient, which was not in sight after {seen:.3} s."
            )
        }
        AwaitedKind::Seconds => {
            format!("The rule waited for a longer time: {seen:.3} s were seen of {needed:.3} s.")
        }
        AwaitedKind::Episodes => format!(
            "The rule waited for more stalls or bursts: {seen} were seen, and fewer than {needed} do not tell \
             how often they come. No interval of the mean is given.",
        ),
        AwaitedKind::Periods => format!(
            "The rule waited for four of the slowest periods: {seen:.3} s were seen of {needed:.3} s. No \
             interval of the mean is given.",
        ),
        AwaitedKind::Level => format!(
            "The rule waited for a level that stays: it changed within {seen:.3} s. No interval of the mean is \
             given.",
        ),
        AwaitedKind::Values => format!(
            "The rule waited for more independent intervals, as these are skewed: {seen:.0} were seen of \
             {needed:.0}. No interval of the mean is given.",
        ),
        AwaitedKind::Precision => format!(
            "The rule waited for a narrower interval: {} % were reached of {needed} %.",
            beside_limit(seen, needed),
        ),
    }
}

/// How rare what was not seen may be: of what comes by chance once in a third of the time, 5 % is missed.
fn unseen(span: &TimeSpanResult, report: &StopReport) -> String {
    let seconds = span.measured_ns as f64 / 1e9 / 3.0;
    let rare = format!("What happens less often than every {seconds:.1} s may not have been seen");
    report.confidence.map_or_else(
        || format!("{rare}."),
        |known| {
            format!(
                "{rare}; but for that, the interval holds at {} % or more.",
                known.level_percent
            )
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_just_beyond_its_limit_was_told_as_the_limit() {
        let told =
            [(20.004, "20.004"), (19.996, "20.00"), (20.0, "20.00"), (20.000_04, "20.00004")];
        for (percent, text) in told {
            assert_eq!(beside_limit(percent, 20.0), text);
        }
        let awaiting = awaited(Awaited::new(AwaitedKind::Precision, 2.001, 2.0));
        assert!(awaiting.contains("2.001 % were reached of 2 %"), "{awaiting}");
    }
}
