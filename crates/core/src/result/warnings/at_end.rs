//! Whether the measured time ended in a stall: I/Os in flight then are compared with what the load did before
//! it, and not with means that contain the stall.

mod slots;

use std::collections::{BTreeMap, BTreeSet};

use super::super::totals::{Kind, of_span};
use super::super::{Outcome, Warning, WarningKind};
use super::Seen;
use super::causes::with_outside;
use super::words::{answering, count, quoted, ranges};
use crate::measure::InFlight;
use crate::units::NANOS_PER_SEC;
use slots::{Alike, OLD_NS, Part, Span};

/// The parts that have stalled, and those that took part in the load and have not.
struct Found<'a> {
    span: &'a Span<'a>,
    stalled: Vec<&'a Part<'a>>,
    others: Vec<&'a Part<'a>>,
}

impl<'a> Found<'a> {
    fn new(span: &'a Span<'a>) -> Option<Self> {
        let places = span.stalled();
        let (mut stalled, mut others) = (Vec::new(), Vec::new());
        for (index, part) in span.parts.iter().enumerate() {
            if places.contains(&index) {
                stalled.push(part);
            } else if part.completed() + part.at_end().ios > 0 {
                others.push(part);
            }
        }
        (!stalled.is_empty()).then_some(Self { span, stalled, others })
    }

    fn kinds(&self) -> BTreeSet<slots::Kind> {
        self.stalled.iter().map(|part| part.kind()).collect()
    }

    /// What the I/Os are called: by their operation where those of another one have not stalled.
    fn noun(&self) -> &'static str {
        let operation = self.stalled[0].operation;
        let is_one = self.stalled.iter().all(|part| part.operation == operation);
        let is_alone = is_one && self.others.iter().any(|part| part.operation != operation);
        if is_alone { operation } else { "I/O" }
    }

    /// The targets that stalled, if others have not.
    fn targets(&self) -> Vec<u32> {
        let stalled: BTreeSet<u32> = self.stalled.iter().map(|part| part.target).collect();
        let has_others = self.others.iter().any(|part| !stalled.contains(&part.target));
        if has_others { stalled.into_iter().collect() } else { Vec::new() }
    }

    /// The threads that stalled, if others have not with the same.
    fn threads(&self) -> Vec<u32> {
        let (stalled, kinds): (BTreeSet<u32>, _) =
            (self.stalled.iter().map(|part| part.thread).collect(), self.kinds());
        let is_other = |part: &&&Part| !stalled.contains(&part.thread);
        let has_others = self.others.iter().filter(is_other).any(|one| kinds.contains(&one.kind()));
        if has_others { stalled.into_iter().collect() } else { Vec::new() }
    }

    /// Whether nothing came back any more, on any thread: what keeps threads from running may explain that.
    fn is_of_all(&self) -> bool {
        let is_old = |part: &&Part| part.at_end().age_ns_min >= OLD_NS;
        let waits = |part: &&Part| part.at_end().ios > 0;
        self.stalled.iter().all(is_old) && !self.others.iter().any(waits)
    }

    /// Whether each thread that stalled had no CPU for most of that time: then others may have come back, and
    /// the target may have answered.
    fn had_no_cpu(&self, seen: &Seen) -> bool {
        let mut oldest_ns: BTreeMap<u32, u64> = BTreeMap::new();
        for part in &self.stalled {
            let of_thread = oldest_ns.entry(part.thread).or_default();
            *of_thread = part.at_end().age_ns_max.max(*of_thread);
        }
        let waited_ns = |index: u32| {
            let thread = seen.measured.threads.iter().find(|one| one.index == index)?;
            thread.cpu_waited_ns
        };
        oldest_ns.iter().all(|(&index, age_ns)| {
            waited_ns(index).is_some_and(|waited_ns| waited_ns >= age_ns / 4 * 3)
        })
    }

    fn at_end(&self) -> InFlight {
        let mut sum = InFlight::default();
        self.stalled.iter().for_each(|part| sum.merge(part.at_end()));
        sum
    }

    /// What was due and not issued on the same targets by the same threads.
    fn not_issued(&self) -> InFlight {
        let streams: BTreeSet<(u32, u32)> =
            self.stalled.iter().map(|part| (part.thread, part.target)).collect();
        let mut sum = InFlight::default();
        let parts = self.span.parts.iter();
        parts
            .filter(|part| streams.contains(&(part.thread, part.target)))
            .for_each(|part| sum.merge(&part.direction.edges.not_issued));
        sum
    }

    /// How long those took that completed.
    fn usual(&self) -> String {
        let alike = || self.kinds().into_iter().map(|kind| &self.span.alike[&kind]);
        if alike().all(|one| one.completed == 0) {
            let seconds = seconds(self.span.measured_ns);
            return format!("and none of these had completed in the {seconds:.2} s before");
        }
        let add = |one: (f64, u64), two: (f64, u64)| (one.0 + two.0, one.1 + two.1);
        let (sum_ns, ios) =
            alike().filter_map(Alike::latencies).reduce(add).unwrap_or_else(|| self.busy());
        let mean_ms = sum_ns / ios.max(1) as f64 / 1e6;
        format!("while those that completed took {mean_ms:.3} ms on average")
    }

    /// The same where latency is not measured, of all I/Os of these slots.
    fn busy(&self) -> (f64, u64) {
        let (mut sum, mut seen) = ((0.0, 0), Vec::new());
        for part in &self.stalled {
            let group = self.span.slots_of(part.target);
            if !seen.iter().any(|one| std::ptr::eq(*one, group)) {
                seen.push(group);
                let (busy_ns, completed) = self.span.busy(group);
                sum = (sum.0 + busy_ns, sum.1 + completed);
            }
        }
        sum
    }
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / NANOS_PER_SEC as f64
}

/// I/Os in flight, in words.
pub(super) fn in_flight(at_end: &InFlight, noun: &str) -> String {
    let were = if at_end.ios == 1 { "was" } else { "were" };
    let ios = count(at_end.ios, noun);
    let oldest = seconds(at_end.age_ns_max);
    format!("{ios} {were} in flight at its end, the oldest for {oldest:.3} s")
}

/// Whether an end within a stall is reported.
pub(super) fn is_told(seen: &Seen) -> bool {
    seen.measured.outcome != Outcome::NoIo && !Span::new(seen.measured).stalled().is_empty()
}

/// One warning if the measured time ended in a stall.
pub(super) fn warning(seen: &Seen) -> Option<Warning> {
    if seen.measured.outcome == Outcome::NoIo {
        return None;
    }
    let span = Span::new(seen.measured);
    let found = Found::new(&span)?;
    let names: Vec<&str> =
        found.targets().into_iter().filter_map(|target| name(seen, target)).collect();
    let evidence = evidence(&found, &names) + &with_ages(seen, &found);
    let stalled: BTreeSet<u32> = found.stalled.iter().map(|part| part.target).collect();
    let targets = stalled.into_iter().filter_map(|one| seen.span.targets.get(one as usize));
    let who = answering(targets);
    let remedy = format!(
        "read their latencies as at least so long, find what stalls {} ({}), and measure for longer (-d), so \
         that the stall ends within the measured time",
        who.suspect(),
        who.traces(),
    );
    let (evidence, remedy) = if found.is_of_all() || found.had_no_cpu(seen) {
        with_outside(seen, found.at_end().age_ns_min, evidence, &remedy)
    } else {
        (evidence, remedy)
    };
    let target = if let [one] = names[..] { Some(one.to_owned()) } else { None };
    Some(Warning { target, ..seen.warning(WarningKind::StalledAtEnd, evidence, remedy) })
}

fn name<'a>(seen: &'a Seen, target: u32) -> Option<&'a str> {
    seen.measured.targets.get(target as usize).map(|one| one.path.as_str())
}

fn evidence(found: &Found, names: &[&str]) -> String {
    let in_flight = in_flight(&found.at_end(), found.noun());
    let mut evidence = format!("the measured time ended in a stall: {in_flight}");
    let threads = found.threads();
    if !names.is_empty() {
        evidence.push_str(&format!(", on {}", quoted(names.iter().copied())));
    }
    if !threads.is_empty() {
        let noun = if threads.len() == 1 { "thread" } else { "threads" };
        evidence.push_str(&format!(", of {noun} {}", ranges(&threads)));
    }
    evidence.push_str(&format!(", {}", found.usual()));
    if !names.is_empty() || !threads.is_empty() {
        evidence.push_str("; the others went on");
    }
    let late = found.not_issued();
    if late.ios > 0 {
        let ios = count(late.ios, "I/O");
        let oldest = seconds(late.age_ns_max);
        evidence.push_str(&format!("; {ios} more had been due for up to {oldest:.3} s"));
    }
    evidence
}

/// Where the latencies of the table contain such ages, how its mean differs.
fn with_ages(seen: &Seen, found: &Found) -> String {
    let total = of_span(seen.measured, Kind::Total);
    if total.edges.at_least == 0 || !found.others.is_empty() {
        return String::new();
    }
    let mean_ms = total.latency.mean_ns() / 1e6;
    format!("; the mean of the table, {mean_ms:.3} ms, has these ages in it")
}
