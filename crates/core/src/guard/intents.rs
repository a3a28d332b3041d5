//! What a plan means to write.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::network::is_address;
use crate::plan::{EngineKind, FilePlan, Plan, SpanPlan, TargetKind, ThreadPlan};

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
    let mut intents = BTreeMap::new();
    for span in &plan.spans {
        for path in written_paths(span) {
            intents.insert(path, Intent::Write);
        }
    }
    let spans = plan.spans.iter().flat_map(|span| &span.create);
    let here = |file: &&FilePlan| !is_address(&file.path);
    for FilePlan { path, .. } in plan.precreate.iter().chain(spans).filter(here) {
        intents.insert(path.clone(), Intent::Create);
    }
    intents
}

fn written_paths(span: &SpanPlan) -> impl Iterator<Item = PathBuf> {
    let is_here = |index: &usize| span.targets[*index].kind != TargetKind::Network;
    let written = (0..span.targets.len()).filter(|index| is_written(span, *index)).filter(is_here);
    written.map(|index| span.targets[index].path.clone())
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
