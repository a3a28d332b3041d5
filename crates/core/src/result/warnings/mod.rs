//! What a result did not measure: every reason to doubt it, with evidence and remedy.
//!
//! [`before`] looks at the targets, [`after`] at what was measured. Each warning is raised on
//! numbers, never on suspicion, and names a remedy that is not already in use.

mod allocation;
mod at_end;
mod beneath;
mod blocks;
pub(super) mod caching;
mod causes;
mod cpus;
mod data;
mod edges;
mod events;
mod faults;
mod load;
mod network;
mod replaced;
mod response;
mod sharing;
mod stalls;
mod still;
mod stop;
#[cfg(test)]
mod tests;
mod trims;
pub(super) mod words;

use std::ops::Range;
use std::path::PathBuf;

use super::{
    DirectionResult, RunResult, ThreadResult, ThreadTargetResult, TimeSpanResult, Warning,
    WarningKind,
};
use crate::guard::is_untouched;
use crate::measure::EventSink;
use crate::plan::{OffsetPlan, Plan, SpanPlan, TargetKind, TargetPlan};
pub use blocks::allocated;
pub use caching::{CachedTargets, TargetResidency, cached_targets, residency};
pub use cpus::cpus;
pub use replaced::{Places, changed, held_on, places};
pub use still::{explain, suspended};

/// Doubts about what the targets of all time spans hold: holes, unwritten blocks, zeros.
///
/// The targets are only read. A file that is not there, or cannot
/// be opened, raises none. Files that are made for a time span must have been made before; where
/// that happens between time spans, use [`before_span`].
#[must_use]
pub fn before(plan: &Plan) -> Vec<Warning> {
    let mut looked = Looked::default();
    plan.spans.iter().flat_map(|span| of_span(plan, span, &mut looked, &|_| {})).collect()
}

/// Doubts about what the targets of one time span hold; each look that may hang is reported to `sink`.
#[must_use]
pub fn before_span(plan: &Plan, span: &SpanPlan, sink: EventSink<'_>) -> Vec<Warning> {
    of_span(plan, span, &mut Looked::default(), sink)
}

/// Stretches that were looked at already.
type SeenRanges = Vec<(PathBuf, Range<u64>)>;

/// Those of what is read, and of what is written.
#[derive(Default)]
struct Looked {
    read: SeenRanges,
    written: SeenRanges,
}

fn of_span(plan: &Plan, span: &SpanPlan, looked: &mut Looked, sink: EventSink<'_>) -> Vec<Warning> {
    let mut warnings = data::warnings(plan, span, &mut looked.read, sink);
    warnings.extend(allocation::warnings(span, &mut looked.written, sink));
    warnings
}

/// The stretches of a time span's targets that are in question and that nobody looked at yet: those of the
/// offsets that `of` gives, of the targets of which it gives any. They count as looked at from now on.
fn not_seen<'a>(
    span: &'a SpanPlan,
    seen: &mut SeenRanges,
    of: impl Fn(&'a TargetPlan) -> Option<&'a OffsetPlan>,
) -> Vec<(&'a TargetPlan, Range<u64>)> {
    let mut found = Vec::new();
    for (index, target) in span.targets.iter().enumerate() {
        let Some(offsets) = of(target) else { continue };
        let range = offsets.base_bytes..offsets.end_bytes;
        let key = (target.path().to_owned(), range.clone());
        let is_used = !range.is_empty() && !is_untouched(span, index);
        if is_used && !seen.contains(&key) {
            found.push((target, range));
            seen.push(key);
        }
    }
    found
}

/// Doubts about what was measured, in the order of the time spans.
///
/// `residency` holds what [`residency()`] found after each time span; without it the page cache is
/// in doubt whenever it was not bypassed.
#[must_use]
pub fn after(plan: &Plan, result: &RunResult, residency: &[TargetResidency]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (span, measured) in plan.spans.iter().zip(&result.time_spans) {
        let cpu_count = match plan.usable_cpu_count {
            0 => result.host.cpus.len(),
            known => known,
        };
        let seen = Seen { span, measured, cpu_count, residency };
        warnings.extend(faults::warnings(&seen));
        warnings.extend(edges::warnings(&seen));
        warnings.extend(beneath::warnings(&seen));
        warnings.extend(network::warnings(&seen));
        warnings.extend(caching::warnings(&seen));
        warnings.extend(sharing::warnings(&seen));
        warnings.extend(trims::warnings(&seen));
        warnings.extend(causes::warnings(&seen));
        warnings.extend(load::warnings(&seen));
        warnings.extend(response::warnings(&seen));
        warnings.extend(stop::warnings(&seen));
        warnings.extend(events::warnings(&seen));
    }
    warnings
}

/// One time span: its plan, and what was measured.
struct Seen<'a> {
    span: &'a SpanPlan,
    measured: &'a TimeSpanResult,
    /// CPUs that threads of load may run on.
    cpu_count: usize,
    /// What the page cache held of the targets of all time spans.
    residency: &'a [TargetResidency],
}

/// I/Os of one target over all threads.
#[derive(Default)]
struct Counts {
    read_ios: u64,
    write_ios: u64,
    write_bytes: u64,
    read_errors: u64,
    write_errors: u64,
    short_ios: u64,
    sync_ios: u64,
    sync_errors: u64,
    trim_ios: u64,
    trim_errors: u64,
}

impl Seen<'_> {
    fn warning(&self, kind: WarningKind, evidence: String, remedy: String) -> Warning {
        Warning { kind, target: None, time_span: Some(number(self.span.index)), evidence, remedy }
    }

    fn about(&self, target: &TargetPlan, mut warning: Warning) -> Warning {
        warning.target = Some(target.name.clone());
        warning.time_span = Some(number(self.span.index));
        warning
    }

    /// What the page cache held of a target, where it was asked.
    fn resident(&self, target: usize) -> Option<&TargetResidency> {
        let (span, target) = (number(self.span.index), number(target));
        self.residency.iter().find(|found| found.time_span == span && found.target == target)
    }

    /// Whether a target is known to refuse I/O past the page cache.
    fn refuses_direct(&self, target: usize) -> bool {
        self.resident(target).is_some_and(|found| found.refuses_direct)
    }

    /// The targets that lie on something real, with their position.
    fn real_targets(&self) -> impl Iterator<Item = (usize, &TargetPlan)> {
        let targets = self.span.targets.iter().enumerate();
        targets.filter(|(_, target)| target.kind != TargetKind::Virtual)
    }

    /// What each thread measured on one target.
    fn uses(&self, target: usize) -> impl Iterator<Item = (&ThreadResult, &ThreadTargetResult)> {
        let threads = self.measured.threads.iter().filter(|thread| thread.backend.name != "null");
        threads.flat_map(move |thread| {
            let uses = thread.targets.iter().filter(move |seen| seen.target == number(target));
            uses.map(move |seen| (thread, seen))
        })
    }

    fn counts(&self, target: usize) -> Counts {
        let mut sum = Counts::default();
        for (_, seen) in self.uses(target) {
            sum.read_ios += seen.read.ios;
            sum.write_ios += seen.write.ios;
            sum.write_bytes += seen.write.bytes;
            sum.read_errors += seen.read.errors;
            sum.write_errors += seen.write.errors;
            sum.short_ios += seen.read.short_ios + seen.write.short_ios;
            let part = |one: &Option<Box<DirectionResult>>| {
                one.as_deref().map_or((0, 0), |found| (found.ios, found.errors))
            };
            let (sync, trim) = (part(&seen.sync), part(&seen.trim));
            sum.sync_ios += sync.0;
            sum.sync_errors += sync.1;
            sum.trim_ios += trim.0;
            sum.trim_errors += trim.1;
        }
        sum
    }
}

/// A position as results hold it.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
