//! Whether I/Os started when they were due, and why they did not.

use super::super::totals::{Kind, of_span};
use super::super::{Warning, WarningKind};
use super::Seen;
use super::causes::outside;
use super::load::is_rate_missed;
use super::words::grouped;
use crate::measure::LatencyHistogram;

/// Response and service time differ if their 99th percentiles do by this factor ...
const FACTOR: u64 = 2;
/// ... and by this time, below which a thread that wakes up a little late would show.
const LEAST_NS: u64 = 1_000_000;

/// A warning about service times that hide how long I/Os waited for their turn.
pub(super) fn warnings(seen: &Seen) -> Option<Warning> {
    let sum = of_span(seen.measured, Kind::Total);
    let (service, response) = (&sum.latency, &sum.response);
    // What failed before the measured time has nothing to be late.
    if service.count() == 0 {
        return None;
    }
    let (service_ns, response_ns) = (service.quantile_ns(0.99), response.quantile_ns(0.99));
    if response_ns < service_ns.saturating_mul(FACTOR) || response_ns - service_ns < LEAST_NS {
        return None;
    }
    let (reason, remedy) = reason(seen, service, response);
    let line_ns = service_ns.max(LEAST_NS);
    let late = above(response, line_ns).saturating_sub(above(service, line_ns));
    let evidence = format!(
        "99 % of the I/Os took at most {} from their submission, but {} from the time when they were \
         due: at least {} of {} I/Os waited for their turn, {}",
        millis(service_ns),
        millis(response_ns),
        grouped(late),
        grouped(response.count()),
        reason,
    );
    let remedy = format!(
        "read the response times for what a user would have felt, and the service times for the device \
         alone; {remedy} if the load should not wait"
    );
    Some(seen.warning(WarningKind::ResponseBehindSchedule, evidence, remedy))
}

/// What kept I/Os waiting, and what to do: slow ones before them, more of them than were served, or the
/// thread itself.
fn reason(
    seen: &Seen,
    service: &LatencyHistogram,
    response: &LatencyHistogram,
) -> (String, String) {
    // More of them only wait elsewhere where something else than the load holds them up.
    let more = "allow more outstanding I/O (-o)".to_owned();
    let (slowest_ns, longest_ns) = (service.max_ns(), response.max_ns());
    if slowest_ns >= longest_ns / 2 {
        let slots = seen.span.threads.iter().flat_map(|thread| &thread.assignments);
        let slots: u64 = slots.map(|assignment| u64::from(assignment.outstanding)).sum();
        let slowest = millis(slowest_ns);
        let words = format!(
            "because slow I/Os, one of them of {slowest}, held the {slots} outstanding ones"
        );
        return (words, more);
    }
    if let Some(cause) = outside(seen) {
        return (format!("because {}", cause.words), cause.remedy);
    }
    if is_rate_missed(seen) {
        return ("because more were due than were served, so that a backlog grew".to_owned(), more);
    }
    let slowest = millis(slowest_ns);
    (format!("although no I/O took longer than {slowest}: the load thread itself came late"), more)
}

fn above(histogram: &LatencyHistogram, line_ns: u64) -> u64 {
    let buckets = histogram.buckets();
    buckets.filter(|(lower_ns, ..)| *lower_ns > line_ns).map(|(.., count)| count).sum()
}

fn millis(nanos: u64) -> String {
    format!("{:.3} ms", nanos as f64 / 1e6)
}
