//! Whether I/Os started when they were due, and why they did not.

use std::collections::BTreeSet;

use super::super::totals::{Kind, Sum, of_span};
use super::super::{Warning, WarningKind};
use super::causes::outside;
use super::load::is_rate_missed;
use super::words::{grouped, quoted};
use super::{Seen, number};
use crate::measure::LatencyHistogram;
use crate::plan::Assignment;

/// Response and service time differ if their 99th percentiles do by this factor ...
const FACTOR: u64 = 2;
/// ... and by this time, below which a thread that wakes up a little late would show.
const LEAST_NS: u64 = 1_000_000;

/// A warning about service times that hide how long I/Os waited for their turn.
pub(super) fn warnings(seen: &Seen) -> Option<Warning> {
    let sum = of_span(seen.measured, Kind::Total);
    let (service, response) = (&sum.scheduled, &sum.response);
    // What failed before the measured time has nothing to be late.
    if service.count() == 0 {
        return None;
    }
    let (service_ns, response_ns) = (service.quantile_ns(0.99), response.quantile_ns(0.99));
    if response_ns < service_ns.saturating_mul(FACTOR) || response_ns - service_ns < LEAST_NS {
        return None;
    }
    let (reason, remedy) = reason(seen, &sum);
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
fn reason(seen: &Seen, sum: &Sum) -> (String, String) {
    // More of them only wait elsewhere where something else than the load holds them up.
    let more = "allow more outstanding I/O (-o)".to_owned();
    let service = if seen.span.shared_outstanding > 0 { &sum.latency } else { &sum.scheduled };
    let (slowest_ns, longest_ns) = (service.max_ns(), sum.response.max_ns());
    if slowest_ns >= longest_ns / 2 {
        return (Held::from(seen, longest_ns / 2).in_words(seen, slowest_ns), more);
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

/// The slots that slow I/Os held, and the targets of these I/Os, as positions.
#[derive(Default)]
struct Held {
    slots: u64,
    targets: BTreeSet<usize>,
}

impl Held {
    /// Those of I/Os that took at least so long.
    fn from(seen: &Seen, least_ns: u64) -> Self {
        let mut held = Self::default();
        for thread in &seen.span.threads {
            let is_slow =
                |one: &&Assignment| longest_ns(seen, thread.index, one.target) >= least_ns;
            let slow: Vec<&Assignment> = thread.assignments.iter().filter(is_slow).collect();
            held.slots += match seen.span.shared_outstanding {
                _ if slow.is_empty() => 0,
                0 => slow.iter().map(|one| u64::from(one.outstanding)).sum(),
                shared => u64::from(shared),
            };
            held.targets.extend(slow.iter().map(|one| one.target));
        }
        held
    }

    /// The names of the targets, if others have not held any.
    fn alone<'a>(&self, seen: &'a Seen) -> Vec<&'a str> {
        let mut used = seen.span.threads.iter().flat_map(|thread| &thread.assignments);
        if used.all(|one| self.targets.contains(&one.target)) {
            return Vec::new();
        }
        let held = self.targets.iter().filter_map(|&target| seen.span.targets.get(target));
        held.map(|target| target.name.as_str()).collect()
    }

    fn in_words(&self, seen: &Seen, slowest_ns: u64) -> String {
        let names = quoted(self.alone(seen));
        let on = if names.is_empty() { String::new() } else { format!(" on {names}") };
        // Shared slots are those of no target.
        let is_there = !names.is_empty() && seen.span.shared_outstanding == 0;
        let there = if is_there { " there" } else { "" };
        let (slots, slowest) = (self.slots, millis(slowest_ns));
        format!(
            "because slow I/Os{on}, one of them of {slowest}, held the {slots} outstanding ones{there}"
        )
    }
}

/// How long the slowest read or write of a thread on a target took.
fn longest_ns(seen: &Seen, thread: usize, target: usize) -> u64 {
    let uses = seen.uses(target).filter(|(result, _)| result.index == number(thread));
    // What has no schedule holds up others only where they share what is outstanding.
    let is_shared = seen.span.shared_outstanding > 0;
    let directions = uses.flat_map(|(_, used)| [&used.read, &used.write]);
    let directions = directions.filter(|one| is_shared || one.response.is_some());
    let latencies = directions.filter_map(|one| one.latency.as_ref());
    latencies.map(LatencyHistogram::max_ns).max().unwrap_or(0)
}

fn above(histogram: &LatencyHistogram, line_ns: u64) -> u64 {
    let buckets = histogram.buckets();
    buckets.filter(|(lower_ns, ..)| *lower_ns > line_ns).map(|(.., count)| count).sum()
}

fn millis(nanos: u64) -> String {
    format!("{:.3} ms", nanos as f64 / 1e6)
}
