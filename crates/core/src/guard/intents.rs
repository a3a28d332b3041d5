//! What a plan means to write.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::plan::{EngineKind, Plan, SpanPlan, TargetKind, ThreadPlan};
use crate::storage::Location;

/// What a run means to do with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intent {
    /// Write in place.
    Write,
    /// Create also writes, and only a regular file can be created.
    Create,
}

/// What a run means to do with each path of this host that it writes.
pub(super) fn intents(plan: &Plan) -> BTreeMap<PathBuf, Intent> {
    let here =
        |(location, intent): (&Location, Intent)| Some((location.local()?.to_owned(), intent));
    changed(plan).filter_map(here).collect()
}

/// What a run writes or makes with other hosts, by the addresses.
pub(super) fn elsewhere(plan: &Plan) -> BTreeMap<&Path, &Location> {
    let served = changed(plan).filter(|(location, _)| location.local().is_none());
    served.map(|(location, _)| (location.path(), location)).collect()
}

/// All that a run writes, and then all that it makes.
fn changed(plan: &Plan) -> impl Iterator<Item = (&Location, Intent)> {
    let written = plan.spans.iter().flat_map(|span| {
        let indexes = (0..span.targets.len()).filter(|index| is_written(span, *index));
        indexes.map(|index| (&span.targets[index].location, Intent::Write))
    });
    written.chain(plan.files().map(|file| (&file.location, Intent::Create)))
}

/// Whether a time span writes to one of its targets.
pub(crate) fn is_written(span: &SpanPlan, index: usize) -> bool {
    let target = &span.targets[index];
    (target.write_percent > 0 || target.open.write)
        && target.kind != TargetKind::Virtual
        && !is_untouched(span, index)
}

/// Whether only null engines use a target: these complete at once and touch nothing.
pub(crate) fn is_untouched(span: &SpanPlan, target: usize) -> bool {
    let has_use =
        |thread: &&ThreadPlan| thread.assignments.iter().any(|use_of| use_of.target == target);
    let mut threads = span.threads.iter().filter(has_use).peekable();
    threads.peek().is_some() && threads.all(|thread| thread.engine == EngineKind::Null)
}
