//! Blocks of files that came or went while they were measured.

use std::fs::Metadata;

use fathom_sys::contract::file::FileFacts;

use super::super::{Warning, WarningKind};
use super::number;
use super::words::{percent, size};
use crate::measure::EventSink;
use crate::plan::{SpanPlan, TargetKind};
use crate::supervise::within;

/// A loss of a smaller share than this, in percent, does not show in any number of a result.
const LOST_PERCENT_MIN: f64 = 0.1;

/// Bytes that each target holds on its file system; absent for what is no file.
#[must_use]
pub fn allocated(span: &SpanPlan, sink: EventSink<'_>) -> Vec<Option<u64>> {
    let ask = |target: &crate::plan::TargetPlan| {
        let doing = format!("look at the blocks of '{}'", target.name);
        let is_file = target.kind == TargetKind::File;
        let metadata = is_file.then(|| within(sink, doing, || target.path().metadata().ok()));
        metadata.flatten().map(|metadata| held_bytes(&metadata))
    };
    span.targets.iter().map(ask).collect()
}

/// What the file system has given a file for the data within its size. XFS reserves more behind the end of a
/// file that grows, and for the copies of shared blocks, and takes that back by itself after minutes.
pub(super) fn held_bytes(found: &Metadata) -> u64 {
    found.allocated_bytes().min(found.len())
}

/// Doubts about files that lost blocks. Where data that are written may shrink (Btrfs compresses, and gives
/// back what was reserved), only files that are not written can tell.
#[must_use]
pub(super) fn lost(span: &SpanPlan, before: &[Option<u64>], after: &[Option<u64>]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (index, target) in span.targets.iter().enumerate() {
        let (Some(&Some(then)), Some(&Some(now))) = (before.get(index), after.get(index)) else {
            continue;
        };
        let lost = percent(then.saturating_sub(now), then);
        if lost < LOST_PERCENT_MIN || target.write_percent > 0 || target.mix.is_some() {
            continue;
        }
        let evidence = format!(
            "while it was measured, the file lost {lost:.1} % of its blocks ({} before, {} after): reads of \
             what was punched out or cut off are answered without touching the device",
            size(then),
            size(now),
        );
        warnings.push(Warning {
            kind: WarningKind::ExtentsChanged,
            target: Some(target.name.clone()),
            time_span: Some(number(span.index)),
            evidence,
            remedy: "keep others from punching or cutting the file, rewrite it, and run it again"
                .to_owned(),
        });
    }
    warnings
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::guard::fixture::{span, target};

    /// "The file lost 21.8 % of its blocks" was said of a file on XFS that had grown by appends, and that
    /// nobody touched: XFS took back what it had reserved behind the end.
    #[test]
    fn what_was_reserved_behind_the_end_of_a_file_was_counted_as_a_part_of_it() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        // Less than a block of data: the rest of the block lies behind the end.
        std::fs::write(file.path(), "data").expect("data");
        let span = span(vec![target(file.path(), 0)]);
        file.as_file().sync_all().expect("blocks");
        let held = allocated(&span, &|_| {});
        assert!(held[0].is_some_and(|bytes| bytes <= 4), "{held:?}");
    }

    #[test]
    fn only_files_that_are_read_and_lose_blocks_are_told() {
        let told = |write_percent, then: Option<u64>, now: Option<u64>| {
            let span = span(vec![target(Path::new("/x.dat"), write_percent)]);
            lost(&span, &[then], &[now]).len()
        };
        let mib = |count: u64| Some(count << 20);
        assert_eq!(told(0, mib(64), mib(32)), 1);
        assert_eq!(told(0, mib(64), Some(0)), 1);
        for (write_percent, then, now) in [
            (0, mib(64), mib(64)),
            (0, mib(64), mib(65)),
            (0, mib(0), mib(64)),
            (0, Some(0), Some(0)),
            (0, None, mib(1)),
            (0, mib(1), None),
            (0, None, None),
            (0, mib(6400), Some((6400 << 20) - 4096)),
            (50, mib(64), mib(32)),
            (100, mib(64), mib(32)),
        ] {
            assert_eq!(told(write_percent, then, now), 0, "{write_percent} {then:?} {now:?}");
        }
    }
}
