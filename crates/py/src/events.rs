//! Events of a run as Python sees them: a name and a dictionary.

use fathom_core::measure::{Event, Phase};
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
        Event::Live { second, ios, bytes, in_flight, latency } => {
            let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|quantile| latency.quantile_ns(quantile));
            fields.set_item("second", second)?;
            fields.set_item("ios", ios)?;
            fields.set_item("bytes", bytes)?;
            fields.set_item("in_flight", in_flight)?;
            fields.set_item("latency_ns_p50", p50)?;
            fields.set_item("latency_ns_p99", p99)?;
            fields.set_item("latency_ns_p999", p999)?;
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

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::WarmUp => "warm_up",
        Phase::Measured => "measured",
        Phase::CoolDown => "cool_down",
    }
}
