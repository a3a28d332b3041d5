//! `DiskSpd`'s text result, section by section and column by column. People split it by line and `|`.

mod beneath;
mod ends;
mod etw;
mod faults;
mod head;
mod latency;
mod network;
mod operations;
mod outstanding;
mod stop;
mod tables;
mod tail;
mod verification;
mod warnings;

pub(super) use head::{start_time, write_system};
pub(super) use tables::average;
pub(super) use tail::{engines, tried};

use crate::dialect::diskspd::profile_text;
use crate::result::{Outcome, RunResult, TimeSpanResult};
use crate::shown;

/// What stands where a time span has nothing to show.
pub(super) const NOTHING_MEASURED: &str =
    "The test was interrupted before the measurements began. No results are displayed.";

const STARS: &str =
    "*******************************************************************************";

/// The whole result, from the blank line before `Command Line:` on.
#[must_use]
pub fn write(result: &RunResult) -> String {
    let plain = shown::of(result);
    let result = plain.as_ref().unwrap_or(result);
    let mut text = profile_text::in_plain_words(&result.request.profile, &result.command_line);
    head::write_system(&mut text, &result.host, result.started_at_unix_s);
    for (index, span) in result.time_spans.iter().enumerate() {
        text.push_str(&format!("\nResults for timespan {}:\n{STARS}\n", index + 1));
        beneath::write_head(&mut text, span);
        write_time_span(&mut text, result, index, span);
    }
    if result.time_spans.len() > 1 {
        tail::write_totals(&mut text, result);
    }
    for (index, span) in result.time_spans.iter().enumerate() {
        latency::write_response(&mut text, index, span);
        ends::write(&mut text, index, span);
        operations::write(&mut text, index, span);
        faults::write(&mut text, index, span);
        outstanding::write(&mut text, index, span);
        stop::write(&mut text, index, span);
        beneath::write(&mut text, index, span);
        network::write(&mut text, index, span);
    }
    if let Some(verification) = &result.verification {
        verification::write(&mut text, verification);
    }
    tail::write_engines(&mut text, result);
    tail::write_costs(&mut text, result);
    warnings::write_warnings(&mut text, result);
    text
}

fn write_time_span(text: &mut String, result: &RunResult, index: usize, span: &TimeSpanResult) {
    let nothing = span.measured_ns == 0 && span.outcome != Outcome::Complete;
    if nothing || matches!(span.outcome, Outcome::Failed(_)) {
        text.push_str(NOTHING_MEASURED);
        text.push('\n');
        return;
    }
    let profile = result.request.profile.time_spans.get(index);
    let with_latency = profile.is_some_and(|profile| profile.measure_latency);
    let with_series = profile.is_some_and(|profile| profile.interval_series);
    head::write_run(text, span);
    tables::write_cpus(text, result, span);
    tables::write_distributions(text, profile, span);
    tables::write_io(text, span, with_latency, with_series);
    if with_latency {
        latency::write(text, span);
    }
    if let (Some(tracing), Some(events)) = (&result.request.profile.tracing, &span.kernel_events) {
        etw::write(text, tracing, events);
    }
    if result.request.profile.wait_statistics {
        tail::write_waits(text, span);
    }
}
