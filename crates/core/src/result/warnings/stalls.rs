//! Stretches in which a thread waited for the I/Os of a target and none came back.

use super::super::{Warning, WarningKind};
use super::causes::{outside, with_outside};
use super::words::{answering, quoted};
use super::{Seen, at_end, number};
use crate::beneath::Stall;
use crate::plan::{Assignment, TargetPlan, ThreadPlan};
use crate::units::NANOS_PER_SEC;

/// A stall is more than so many times as long as the mean time between I/Os otherwise; where I/Os have time
/// between them that was requested, there are so many I/Os for each stall.
const FACTOR: f64 = 20.0;

/// A thread that sleeps until an I/O is due does not wait for any, nor does a target wait that has no I/O in
/// flight.
pub(super) fn warning(seen: &Seen) -> Option<Warning> {
    let stalls = long(seen);
    let longest = *stalls.iter().max_by_key(|stall| stall.length_ns)?;
    let targets = together(seen, &stalls, longest);
    let evidence = format!(
        "thread {} waited {:.2} s for its I/Os{}, from {:.2} s on, and none came back{}",
        longest.thread,
        seconds(longest.length_ns),
        on(seen, longest, &targets),
        seconds(longest.from_ns),
        more(seen, &stalls),
    );
    let who = if targets.is_empty() {
        answering(&seen.span.targets)
    } else {
        answering(targets.iter().copied())
    };
    let (suspect, traces, others) = (who.suspect(), who.traces(), who.others());
    let mut remedy = format!("look for what stalled {suspect} at that time ({traces}, {others})");
    if !seen.span.measure_latency {
        remedy.push_str(", and measure with -L to see it in the latencies");
    }
    let (evidence, remedy) = with_outside(seen, longest.length_ns, evidence, &remedy);
    let warning = seen.warning(WarningKind::Stalled, evidence, remedy);
    Some(match targets.as_slice() {
        [target] => seen.about(target, warning),
        _ => warning,
    })
}

/// Those that are long for their thread and target, and that did not last until the end.
fn long<'a>(seen: &'a Seen) -> Vec<&'a Stall> {
    let all = seen.measured.beneath.iter().flat_map(|beneath| &beneath.stalls);
    // A shorter stretch may be one without a CPU.
    let least_ns = outside(seen).map_or(0, |_| NANOS_PER_SEC / 2);
    // One that lasts until the end is reported as such.
    let end_ns = if at_end::is_told(seen) { seen.measured.measured_ns } else { u64::MAX };
    let is_over = |stall: &&Stall| stall.from_ns.saturating_add(stall.length_ns) < end_ns;
    all.filter(|stall| stall.length_ns >= least_ns)
        .filter(is_over)
        .filter(|stall| is_long(seen, stall))
        .collect()
}

fn is_long(seen: &Seen, stall: &Stall) -> bool {
    let ios = ios(seen, stall) as f64;
    if takes_turns(seen, stall) {
        let all = seen.measured.beneath.iter().flat_map(|beneath| &beneath.stalls);
        let same = all.filter(|one| one.thread == stall.thread && one.target == stall.target);
        return ios >= FACTOR * same.count() as f64;
    }
    let otherwise_ns = seen.measured.measured_ns.saturating_sub(stall.length_ns);
    stall.length_ns as f64 > FACTOR * otherwise_ns as f64 / ios.max(1.0)
}

/// I/Os of the thread on the target that came back, or on all of its targets where nobody told which it was.
fn ios(seen: &Seen, stall: &Stall) -> u64 {
    let threads = seen.measured.threads.iter().filter(|one| one.index == stall.thread);
    let used = threads.flat_map(|one| &one.targets);
    used.filter(|used| stall.target.is_none_or(|target| used.target == target))
        .flat_map(|used| {
            let parts =
                [Some(&used.read), Some(&used.write), used.sync.as_deref(), used.trim.as_deref()];
            parts.into_iter().flatten()
        })
        .map(|part| part.ios + part.errors + part.short_ios)
        .sum()
}

/// Whether the I/Os of a stall's target, or of any where nobody told which it was, wait for their turn.
fn takes_turns(seen: &Seen, stall: &Stall) -> bool {
    let Some(thread) = plan_of(seen, stall) else { return false };
    let is_its = |one: &&Assignment| stall.target.is_none_or(|target| number(one.target) == target);
    let shared = seen.span.shared_outstanding;
    thread.assignments.iter().filter(is_its).any(|one| thread.takes_turns(one, shared))
}

fn plan_of<'a>(seen: &'a Seen, stall: &Stall) -> Option<&'a ThreadPlan> {
    seen.span.threads.iter().find(|one| number(one.index) == stall.thread)
}

/// The targets of the thread that stalled at the same time.
fn together<'a>(seen: &'a Seen, stalls: &[&Stall], longest: &Stall) -> Vec<&'a TargetPlan> {
    let is_with = |one: &&&Stall| one.thread == longest.thread && half_within(one, longest);
    let mut places: Vec<usize> =
        stalls.iter().filter(is_with).filter_map(|one| target_of(seen, one)).collect();
    places.sort_unstable();
    places.dedup();
    places.into_iter().filter_map(|place| seen.span.targets.get(place)).collect()
}

/// Whether a stall has at least half of the time of another in common with it.
fn half_within(one: &Stall, other: &Stall) -> bool {
    let end_ns = |stall: &Stall| stall.from_ns.saturating_add(stall.length_ns);
    let until_ns = end_ns(one).min(end_ns(other));
    until_ns.saturating_sub(one.from_ns.max(other.from_ns)) >= other.length_ns / 2
}

/// The target of a stall: what was told, or the only one of its thread.
fn target_of(seen: &Seen, stall: &Stall) -> Option<usize> {
    let told = stall.target.and_then(|target| usize::try_from(target).ok());
    told.or_else(|| match plan_of(seen, stall)?.assignments.as_slice() {
        [only] => Some(only.target),
        _ => None,
    })
}

/// Names the targets of a thread that has others.
fn on(seen: &Seen, stall: &Stall, targets: &[&TargetPlan]) -> String {
    let has_others = plan_of(seen, stall).is_some_and(|thread| thread.assignments.len() > 1);
    if !has_others || targets.is_empty() {
        return String::new();
    }
    format!(" on {}", quoted(targets.iter().map(|target| target.name.as_str())))
}

/// How many there were, if it was not one alone.
fn more(seen: &Seen, stalls: &[&Stall]) -> String {
    let [_, _, ..] = stalls else { return String::new() };
    let shortest_ns = stalls.iter().map(|stall| stall.length_ns).min().unwrap_or(0);
    let has_several = |thread: &ThreadPlan| thread.assignments.len() > 1;
    let over = if seen.span.threads.iter().any(has_several) {
        "threads and their targets"
    } else {
        "threads"
    };
    format!(
        "; there were {} such stalls of at least {:.2} s, over all {over}",
        stalls.len(),
        seconds(shortest_ns),
    )
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / NANOS_PER_SEC as f64
}
