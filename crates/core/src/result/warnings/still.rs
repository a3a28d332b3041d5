//! Times at which the process stood still.

use super::super::{Warning, WarningKind};
use super::number;
use crate::measure::SpanMeasurements;
use crate::plan::SpanPlan;
use crate::units::NANOS_PER_SEC;

/// One warning if nothing of this process ran for a part of the measured time.
#[must_use]
pub fn stood_still(span: &SpanPlan, measured: &SpanMeasurements) -> Option<Warning> {
    let still = measured.stood_still;
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
        kind: WarningKind::StoodStill,
        target: None,
        time_span: Some(number(span.index)),
        evidence,
        remedy: remedy.to_owned(),
    })
}
