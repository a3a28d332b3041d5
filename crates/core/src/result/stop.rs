//! Why a measured time ended, in sentences, for every report.

use super::TimeSpanResult;
use super::totals::{Kind, of_span};
use crate::measure::{ConfidenceEvidence, SteadyEvidence, StopCause, StopReport};

/// Sentences about what ended a time span, with their evidence; none if there were no rules about it.
#[must_use]
pub fn sentences(span: &TimeSpanResult) -> Vec<String> {
    let Some(report) = &span.stop else { return Vec::new() };
    let mut sentences = vec![ended(span, report.cause)];
    sentences.extend(report.steady.map(|window| steady(report, window)));
    sentences.extend(report.confidence.map(|known| confidence(report, known)));
    sentences
}

fn ended(span: &TimeSpanResult, cause: StopCause) -> String {
    let sum = of_span(span, Kind::Total);
    let why = match cause {
        StopCause::Duration => "with its whole duration, before a stop rule was met".to_owned(),
        StopCause::Interruption => "with an interruption, before a stop rule was met".to_owned(),
        StopCause::Bytes => format!("when {} bytes had been transferred", sum.bytes),
        StopCause::Ios => format!("when {} I/Os had completed", sum.ios),
        StopCause::Pass => format!("after one pass over the range, of {} I/Os", sum.ios),
        StopCause::Steady => "when the rate was steady".to_owned(),
        StopCause::Confidence => "when the mean of the rate was known".to_owned(),
    };
    format!("The measured time ended at {:.3} s, {why}.", span.measured_ns as f64 / 1e9)
}

/// The last window, as a sentence.
#[must_use]
pub fn steady(report: &StopReport, window: SteadyEvidence) -> String {
    format!(
        "The last {} intervals of {} ms had a mean of {:.1} IOPS, a range of {:.2} % of it (steady: \
         at most {} %) and a slope of {:.2} % (at most {} %).",
        window.window_intervals,
        report.interval_ns / 1_000_000,
        window.iops_mean,
        window.range_percent,
        window.range_percent_limit,
        window.slope_percent,
        window.slope_percent_limit,
    )
}

/// What is known of the mean, as a sentence.
#[must_use]
pub fn confidence(report: &StopReport, known: ConfidenceEvidence) -> String {
    let transient = match known.transient_intervals {
        0 => "no transient was found".to_owned(),
        _ => format!("the first {:.3} s were a transient", known.transient_ns as f64 / 1e9),
    };
    format!(
        "With {} % confidence the mean is between {:.1} and {:.1} IOPS, {:.1} +- {:.2} % (asked for: \
         {} %); {} intervals of {} ms were worth {:.1} independent ones, and {transient}.",
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
