//! `DiskSpd`'s XML result. What `DiskSpd` has no element for (engine, warnings, our own version) stands in
//! elements of its own, which its readers pass over.

mod beneath;
mod distribution;
mod ends;
mod etw;
mod faults;
mod io;
mod network;
mod operations;
mod outstanding;
mod stop;
mod system;
mod verification;

pub(super) use system::write as write_system;

use super::profile_xml;
use super::result_text::NOTHING_MEASURED;
use super::xml::{Writer, escape};
use crate::result::{Outcome, RunResult, TimeSpanResult, Warning};

/// The whole result, from `<Results>` on.
#[must_use]
pub fn write(result: &RunResult) -> String {
    let mut xml = Writer::new(0);
    xml.group("Results", |xml| {
        let started_at = result.started_at_unix_s;
        system::write(xml, &result.tool, &result.host, started_at, None);
        xml.raw(&profile_xml::write_indented(&result.request.profile, 1));
        for (index, span) in result.time_spans.iter().enumerate() {
            xml.group("TimeSpan", |xml| write_time_span(xml, result, index, span));
        }
        for (index, span) in result.time_spans.iter().enumerate() {
            io::write_response(xml, index, span);
            ends::write(xml, index, span, &result.warnings);
            operations::write_distributions(xml, index, span);
            faults::write(xml, index, span);
            outstanding::write(xml, index, span);
            stop::write(xml, index, span);
            beneath::write(xml, index, span);
            network::write(xml, index, span);
        }
        if let Some(verification) = &result.verification {
            verification::write(xml, verification);
        }
        write_engines(xml, result);
        if !result.warnings.is_empty() {
            xml.group("Warnings", |xml| result.warnings.iter().for_each(|one| warning(xml, one)));
        }
    });
    xml.finish()
}

fn write_time_span(xml: &mut Writer, result: &RunResult, index: usize, span: &TimeSpanResult) {
    let nothing = span.measured_ns == 0 && span.outcome != Outcome::Complete;
    if nothing || matches!(span.outcome, Outcome::Failed(_)) {
        xml.element("Error", NOTHING_MEASURED);
        return;
    }
    let profile = result.request.profile.time_spans.get(index);
    let with_latency = profile.is_some_and(|profile| profile.measure_latency);
    xml.element("TestTimeSeconds", format_args!("{:.2}", span.measured_ns as f64 / 1e9));
    xml.element("ThreadCount", span.thread_count);
    xml.element("RequestCount", span.request_count);
    xml.element("ProcCount", span.cpu.len());
    system::write_cpu_use(xml, result, span);
    if with_latency {
        io::write_latency(xml, span);
    }
    io::write_span_series(xml, span);
    if let (Some(tracing), Some(events)) = (&result.request.profile.tracing, &span.kernel_events) {
        etw::write(xml, tracing, events);
    }
    let waits = result.request.profile.wait_statistics;
    io::write_threads(xml, span, &io::Shown { span: profile, waits });
}

fn write_engines(xml: &mut Writer, result: &RunResult) {
    for engine in super::result_text::engines(result) {
        let features = escape(&engine.features.join(", "));
        let fallback = engine.fallback.as_ref().map(|why| format!(" Fallback=\"{}\"", escape(why)));
        let (name, fallback) = (escape(&engine.name), fallback.unwrap_or_default());
        let tried = super::result_text::tried(engine);
        let tried = if tried.is_empty() { tried } else { format!(" Tried=\"{}\"", escape(&tried)) };
        xml.line(&format!("<Engine Name=\"{name}\" Features=\"{features}\"{fallback}{tried}/>"));
    }
}

fn warning(xml: &mut Writer, warning: &Warning) {
    let kind = serde_json::to_value(warning.kind).unwrap_or_default();
    let kind = kind.as_str().unwrap_or_default().to_owned();
    xml.group_with("Warning", &format!("Kind=\"{}\"", escape(&kind)), |xml| {
        xml.optional("Path", warning.target.as_ref());
        xml.optional("TimeSpan", warning.time_span.map(|index| index + 1));
        xml.element("Evidence", &warning.evidence);
        xml.element("Remedy", &warning.remedy);
    });
}
