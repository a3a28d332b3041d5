//! Why a time span ended, where rules might have ended it.

use super::super::xml::Writer;
use crate::measure::{Awaited, ConfidenceEvidence, SteadyEvidence};
use crate::result::{TimeSpanResult, stop};

/// One element `<Stop>`; nothing without rules.
pub fn write(xml: &mut Writer, index: usize, span: &TimeSpanResult) {
    let Some(report) = &span.stop else { return };
    let cause = serde_json::to_value(report.cause).unwrap_or_default();
    let cause = cause.as_str().unwrap_or_default();
    let number = index + 1;
    xml.group_with("Stop", &format!("TimeSpan=\"{number}\" Cause=\"{cause}\""), |xml| {
        if report.interval_ns > 0 {
            xml.element("IntervalMilliseconds", report.interval_ns / 1_000_000);
            xml.element("Intervals", report.intervals);
        }
        if let Some(window) = &report.steady {
            xml.group("Steady", |xml| steady(xml, window));
        }
        if let Some(known) = &report.confidence {
            xml.group("Confidence", |xml| confidence(xml, known));
        }
        if let Some(found) = &report.awaited {
            xml.group("Awaited", |xml| awaited(xml, *found));
        }
        for sentence in stop::sentences(span) {
            xml.element("Evidence", sentence);
        }
    });
}

fn steady(xml: &mut Writer, window: &SteadyEvidence) {
    xml.element("WindowIntervals", window.window_intervals);
    xml.element("MeanIops", format_args!("{:.3}", window.iops_mean));
    xml.element("RangePercent", format_args!("{:.3}", window.range_percent));
    xml.element("RangePercentLimit", window.range_percent_limit);
    xml.element("SlopePercent", format_args!("{:.3}", window.slope_percent));
    xml.element("SlopePercentLimit", window.slope_percent_limit);
}

fn confidence(xml: &mut Writer, known: &ConfidenceEvidence) {
    xml.element("LevelPercent", known.level_percent);
    xml.element("MeanIops", format_args!("{:.3}", known.iops_mean));
    xml.element("LowIops", format_args!("{:.3}", known.iops_low));
    xml.element("HighIops", format_args!("{:.3}", known.iops_high));
    xml.element("PrecisionPercent", format_args!("{:.3}", known.precision_percent));
    xml.element("PrecisionPercentLimit", known.precision_percent_limit);
    xml.element("EffectiveSamples", format_args!("{:.1}", known.effective_samples));
    xml.element("TransientIntervals", known.transient_intervals);
    xml.element("TransientSeconds", format_args!("{:.3}", known.transient_ns as f64 / 1e9));
    xml.element("TransientIops", format_args!("{:.3}", known.transient_iops));
}

fn awaited(xml: &mut Writer, found: Awaited) {
    let kind = serde_json::to_value(found.kind).unwrap_or_default();
    xml.element("Kind", kind.as_str().unwrap_or_default());
    xml.element("Seen", format_args!("{:.3}", found.seen));
    xml.element("Needed", format_args!("{:.3}", found.needed));
}
