//! Whether the account of a time span hides something: no I/O at all, a stall that its end cut off, or time
//! without I/Os in flight.

use super::super::totals::{Kind, Sum, of_span};
use super::super::{Outcome, Warning, WarningKind};
use super::words::{answering, count};
use super::{Seen, at_end, faults};
use crate::units::NANOS_PER_SEC;

/// So many I/Os in flight may take all of the time until they are handed over.
const MANY_IOS: u64 = 10_000;
/// Idle slots are reported from this share of their time on.
const IDLE_SHARE: f64 = 0.05;

/// Doubts about one time span.
pub(super) fn warnings(seen: &Seen) -> Vec<Warning> {
    let found = [nothing_completed(seen), at_end::warning(seen), idle(seen)];
    found.into_iter().flatten().collect()
}

/// All operations together.
fn sum(seen: &Seen) -> Sum {
    let mut all = of_span(seen.measured, Kind::Total);
    for kind in [Kind::Sync, Kind::Trim] {
        let part = of_span(seen.measured, kind);
        all.ios += part.ios;
        all.errors += part.errors;
        all.short_ios += part.short_ios;
        all.edges.merge(&part.edges);
    }
    all
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / NANOS_PER_SEC as f64
}

fn nothing_completed(seen: &Seen) -> Option<Warning> {
    if seen.measured.outcome != Outcome::NoIo {
        return None;
    }
    let sum = sum(seen);
    let mut evidence = format!(
        "no I/O completed in the {:.2} s of the measured time",
        seconds(seen.measured.measured_ns)
    );
    let who = answering(&seen.span.targets);
    let mut remedy = format!("{}, or measure for longer (-d)", who.look_whether_it_answers());
    if sum.errors > 0 {
        evidence.push_str(&format!("; {} failed", count(sum.errors, "I/O")));
        remedy = if full_ios(seen) == sum.errors {
            "make room where the targets lie (a full file system or a thin volume)".to_owned()
        } else {
            format!("look for the target's errors in {}", who.log())
        };
    } else if sum.short_ios > 0 {
        let short = count(sum.short_ios, "I/O");
        evidence.push_str(&format!("; {short} moved fewer bytes than were requested"));
        let check = "check that the target still has its size and that nobody else changes it";
        check.clone_into(&mut remedy);
    } else if sum.edges.at_end.ios > 0 {
        evidence.push_str(&format!("; {}", at_end::in_flight(&sum.edges.at_end, "I/O")));
        if sum.edges.at_end.ios >= MANY_IOS {
            evidence.push_str(
                ", since a thread hands over all of its I/Os before it looks for the first",
            );
            "ask for fewer outstanding I/Os (-o), or measure for longer (-d)"
                .clone_into(&mut remedy);
        }
    } else {
        evidence
            .push_str(", and none was in flight at its end: none was due, or no thread got to run");
        "ask for a higher rate (-g), or measure for longer (-d)".clone_into(&mut remedy);
    }
    Some(seen.warning(WarningKind::NoIoCompleted, evidence, remedy))
}

/// I/Os of the measured time that found no room, on all targets.
fn full_ios(seen: &Seen) -> u64 {
    (0..seen.span.targets.len()).map(|target| faults::full_ios(seen, target)).sum()
}

/// Slots are meant to be free where a rate, bursts or a number of I/Os say so.
fn is_asked_for(seen: &Seen) -> bool {
    let mut streams = seen.span.threads.iter().flat_map(|thread| &thread.assignments);
    streams.any(|assignment| assignment.pace.is_some() || assignment.burst.is_some())
        || seen.span.stop.counts()
}

fn idle(seen: &Seen) -> Option<Warning> {
    let ended = matches!(seen.measured.outcome, Outcome::Complete | Outcome::NoIo);
    let share = seen.measured.idle_share().filter(|share| *share >= IDLE_SHARE)?;
    if !ended || is_asked_for(seen) {
        return None;
    }
    let slots = seen.measured.slots();
    let evidence = format!(
        "of the {} that should have been in flight all the time, {:.2} were missing on average ({:.1} % of \
         their time): threads of load paused between I/Os, or began late",
        count(slots.count, "I/O"),
        share * slots.count as f64,
        share * 100.0
    );
    let remedy = "find what kept the threads of load from running (other load, a CPU quota, a debugger), \
                  and do not divide outstanding I/Os by a latency of this run";
    Some(seen.warning(WarningKind::IdleBetweenIos, evidence, remedy.to_owned()))
}
