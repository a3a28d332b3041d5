//! What is written for the first time: blocks that the file system has to find in the middle of the load.

use std::fs::File;
use std::io;
use std::ops::Range;

use fathom_sys::extents::{self, Backing};
use fathom_sys::space;

use super::super::{Warning, WarningKind};
use super::words::{either, percent, size};
use super::{SeenRanges, not_seen, number};
use crate::measure::EventSink;
use crate::plan::{SpanPlan, TargetKind, TargetPlan};
use crate::supervise::within;

/// A smaller share than this, in percent, does not show in the results.
const SHARE_PERCENT_MIN: f64 = 5.0;

/// Doubts about the files of one time span that are written; each stretch is looked at once.
pub(super) fn warnings(
    span: &SpanPlan,
    seen: &mut SeenRanges,
    sink: EventSink<'_>,
) -> Vec<Warning> {
    let is_written =
        |target: &TargetPlan| target.write_percent > 0 && target.kind == TargetKind::File;
    let mut warnings = Vec::new();
    let written = |target| is_written(target).then(|| target.write_offsets());
    for (target, range) in not_seen(span, seen, written) {
        let doing = format!("look at which blocks '{}' has", target.name);
        let backing = within(sink, doing, || backing(target, range.clone()).ok().flatten());
        warnings.extend(backing.and_then(|found| warning(span, target, &range, found)));
    }
    warnings
}

/// How the range is backed; nothing where that says nothing of writes: they take memory, go to a server, or
/// get new blocks each time.
fn backing(target: &TargetPlan, range: Range<u64>) -> io::Result<Option<Backing>> {
    let file = File::open(target.path())?;
    let is_elsewhere = space::is_in_memory(&file)? || space::is_served(&file)?;
    if is_elsewhere || space::allocates_each_write(&file)? {
        return Ok(None);
    }
    extents::backing(&file, range).map(Some)
}

fn warning(
    span: &SpanPlan,
    target: &TargetPlan,
    range: &Range<u64>,
    found: Backing,
) -> Option<Warning> {
    let total = range.end - range.start;
    let share = percent(found.unbacked_bytes() + found.shared_bytes, total);
    if share < SHARE_PERCENT_MIN {
        return None;
    }
    let parts = [
        (found.hole_bytes, "in holes"),
        (found.unwritten_bytes, "reserved and never written"),
        (found.shared_bytes, "shared with other files or snapshots"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(bytes, _)| *bytes > 0)
        .map(|(bytes, how)| format!("{} {how}", size(*bytes)))
        .collect();
    let evidence = format!(
        "{share:.1} % of the {} that are written have no blocks of their own yet ({}): the first write to \
         each also has the file system allocate one, which no later write does",
        size(total),
        parts.join(", "),
    );
    let remedies = [
        "write the whole range once before it is measured (-w100 -Zr)".to_owned(),
        format!("let the file be created with real data (-c{})", target.size_bytes),
    ];
    Some(Warning {
        kind: WarningKind::AllocatingWrites,
        target: Some(target.name.clone()),
        time_span: Some(number(span.index)),
        evidence,
        remedy: either(&remedies),
    })
}
