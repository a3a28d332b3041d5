//! Events of a run as Python sees them: a name and a dictionary.

use std::collections::BTreeMap;

use fathom_core::measure::{Event, LatencyHistogram, Phase, TargetSecond};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Hands an event to a Python callback; events that only the command shows are left out.
pub fn tell(py: Python<'_>, callback: &Py<PyAny>, event: &Event) -> PyResult<()> {
    let fields = PyDict::new(py);
    let name = match event {
        Event::Filling { name, done_bytes, total_bytes } => {
            fields.set_item("target", name)?;
            fields.set_item("done_bytes", done_bytes)?;
            fields.set_item("total_bytes", total_bytes)?;
            "filling"
        }
        Event::PhaseStarted { span, phase, planned_ns } => {
            fields.set_item("time_span", span)?;
            fields.set_item("phase", phase_name(*phase))?;
            fields.set_item("planned_ns", planned_ns)?;
            "phase_started"
        }
        Event::Live { second, ios, bytes, in_flight, latency, targets } => {
            fields.set_item("second", second)?;
            fields.set_item("ios", ios)?;
            fields.set_item("bytes", bytes)?;
            fields.set_item("in_flight", in_flight)?;
            set_latency(&fields, latency)?;
            fields.set_item("latency_octaves", octaves(latency))?;
            fields.set_item("targets", told_targets(py, targets)?)?;
            "live"
        }
        Event::TargetFailed { name, reason, kind, code } => {
            fields.set_item("target", name)?;
            fields.set_item("reason", reason)?;
            fields.set_item("kind", kind.name())?;
            fields.set_item("code", code)?;
            "target_failed"
        }
        Event::Finished { span } => {
            fields.set_item("time_span", span)?;
            "finished"
        }
        _ => return Ok(()),
    };
    callback.call1(py, (name, fields)).map(drop)
}

fn set_latency(fields: &Bound<'_, PyDict>, latency: &LatencyHistogram) -> PyResult<()> {
    let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|quantile| latency.quantile_ns(quantile));
    fields.set_item("latency_ns_p50", p50)?;
    fields.set_item("latency_ns_p99", p99)?;
    fields.set_item("latency_ns_p999", p999)
}

/// How many latencies lie in each power of two of nanoseconds, by its exponent: enough for a heat map.
fn octaves(latency: &LatencyHistogram) -> BTreeMap<u32, u64> {
    let mut found = BTreeMap::new();
    for (lower_ns, _, count) in latency.buckets() {
        *found.entry(lower_ns.max(1).ilog2()).or_default() += count;
    }
    found
}

fn told_targets<'py>(
    py: Python<'py>,
    targets: &[TargetSecond],
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let told = |target: &TargetSecond| {
        let fields = PyDict::new(py);
        fields.set_item("target", &target.name)?;
        fields.set_item("ios", target.ios)?;
        fields.set_item("bytes", target.bytes)?;
        set_latency(&fields, &target.latency)?;
        Ok(fields)
    };
    targets.iter().map(told).collect()
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::WarmUp => "warm_up",
        Phase::Measured => "measured",
        Phase::CoolDown => "cool_down",
    }
}
