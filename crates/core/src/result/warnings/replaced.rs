//! Targets whose path led elsewhere after the load: they were deleted, or others took their place.

use std::path::Path;

use fathom_sys::identity::{self, Identity};

use super::super::{Warning, WarningKind};
use super::blocks::{allocated, held_bytes, lost};
use super::number;
use super::words::{grouped, size};
use crate::beneath::Layers;
use crate::measure::EventSink;
use crate::plan::{SpanPlan, TargetPlan};
use crate::supervise::within;

/// What the path of each target of a time span leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places(Vec<Option<Place>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    identity: Identity,
    size_bytes: u64,
    /// What the file system has given it for its data, as far as it tells.
    held_bytes: u64,
}

fn place(path: &Path) -> Option<Place> {
    let identity = identity::of(path).ok()?;
    let found = std::fs::metadata(path).ok()?;
    Some(Place { identity, size_bytes: found.len(), held_bytes: held_bytes(&found) })
}

/// What the path of each target leads to now; nothing for those that lie on nothing. Each look that may hang
/// is reported to `sink`.
#[must_use]
pub fn places(span: &SpanPlan, sink: EventSink<'_>) -> Places {
    let of = |target: &TargetPlan| {
        let is_real = target.kind.is_local();
        let look = || place(target.path());
        is_real.then(|| within(sink, format!("look at '{}'", target.name), look)).flatten()
    };
    Places(span.targets.iter().map(of).collect())
}

/// On what the layer of an overlay lies that holds each target; absent of what lies on none.
#[must_use]
pub fn held_on(layers: &Layers) -> Vec<Option<String>> {
    let of = |target| {
        let mut names =
            layers.beneath(target).into_iter().map(|layer| layers.all[layer].name.as_str());
        let is_overlay = names.next() == Some("overlay");
        let below: Vec<&str> = names.collect();
        (is_overlay && !below.is_empty()).then(|| below.join(", "))
    };
    (0..layers.nearest.len()).map(of).collect()
}

/// What others did to targets while they were used. Each fact is reported once: another file in a target's
/// place has blocks of its own, and a hole is reported by the share of the blocks that are gone.
#[must_use]
pub fn changed(
    span: &SpanPlan,
    before: &Places,
    held_before: &[Option<String>],
    blocks: &[Option<u64>],
    sink: EventSink<'_>,
) -> Vec<Warning> {
    let mut places = replaced(span, before, held_before, sink);
    let mut lost = lost(span, blocks, &allocated(span, sink));
    lost.retain(|one| !places.iter().any(|(change, place)| change.explains(place, one)));
    places.retain(|(change, place)| {
        *change != Change::Punched || !lost.iter().any(|one| one.target == place.target)
    });
    places.into_iter().map(|(_, warning)| warning).chain(lost).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Elsewhere,
    Cut,
    Punched,
}

impl Change {
    /// Whether a file lost blocks because the path leads to another one.
    fn explains(self, place: &Warning, lost: &Warning) -> bool {
        self == Self::Elsewhere && place.target == lost.target
    }
}

/// One warning for each target whose path leads elsewhere now than it did before the load, or that somebody
/// has cut or punched meanwhile.
fn replaced(
    span: &SpanPlan,
    before: &Places,
    held_before: &[Option<String>],
    sink: EventSink<'_>,
) -> Vec<(Change, Warning)> {
    let after = places(span, sink);
    let held_after = if held_before.iter().any(Option::is_some) {
        within(sink, "look at what holds the targets".to_owned(), || held_on(&Layers::of(span)))
    } else {
        Vec::new()
    };
    let on = |held: &[Option<String>], index: usize| held.get(index).cloned().flatten();
    let warn = |(index, target): (usize, &TargetPlan)| {
        let (then, now) = ((*before.0.get(index)?)?, *after.0.get(index)?);
        let copied = || copied_up(&on(held_before, index)?, &on(&held_after, index)?);
        let (change, evidence) = evidence(then, now, target).or_else(copied)?;
        let warning = Warning {
            kind: WarningKind::TargetReplaced,
            target: Some(target.name.clone()),
            time_span: Some(number(span.index)),
            evidence,
            remedy:
                "keep others off the target, and run it again if its place on the device matters"
                    .to_owned(),
        };
        Some((change, warning))
    };
    span.targets.iter().enumerate().filter_map(warn).collect()
}

/// An overlay copies a file of a lower layer to the upper one as soon as somebody opens it to write or
/// changes it, and goes on with the copy, also for those that have it open.
fn copied_up(then: &str, now: &str) -> Option<(Change, String)> {
    let words = format!(
        "somebody opened it to write or changed it, and the overlay copied it to its upper layer: it lay on \
         {then} before the load, and lies on {now} now"
    );
    (then != now).then_some((Change::Elsewhere, words))
}

fn evidence(then: Place, now: Option<Place>, target: &TargetPlan) -> Option<(Change, String)> {
    const WENT_ON: &str = "while it was used; the load went on with the open one";
    let (from, to) = match now {
        None => return Some((Change::Elsewhere, format!("it was deleted or renamed {WENT_ON}"))),
        Some(now) if now.identity != then.identity => {
            return Some((Change::Elsewhere, format!("another one took its place {WENT_ON}")));
        }
        Some(now) => ((then.size_bytes, then.held_bytes), (now.size_bytes, now.held_bytes)),
    };
    if to.0 < from.0 {
        let words = format!(
            "somebody cut it while it was used: it had {} bytes before the load, and has {} now",
            grouped(from.0),
            grouped(to.0),
        );
        return Some((Change::Cut, words));
    }
    // What this run writes may be stored otherwise than before.
    (to.1 < from.1 && !target.open.write).then(|| {
        let words = format!(
            "somebody gave back {} of it while it was only read (a hole was punched): reads of a hole never \
             reach the device",
            size(from.1 - to.1)
        );
        (Change::Punched, words)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::fixture::{span, target};

    #[test]
    fn a_target_that_is_deleted_or_replaced_is_told() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let paths = ["kept", "deleted", "replaced"].map(|name| home.path().join(name));
        for path in &paths {
            std::fs::write(path, "data").expect("a file");
        }
        let targets = paths.iter().map(|path| target(path, 0)).collect();
        let span = span(targets);
        let before = places(&span, &|_| {});
        std::fs::remove_file(&paths[1]).expect("removed");
        let other = home.path().join("other");
        std::fs::write(&other, "other data").expect("a file");
        std::fs::rename(&other, &paths[2]).expect("replaced");
        let told = changed(&span, &before, &[], &[], &|_| {});
        let names: Vec<_> = told.iter().map(|warning| warning.target.clone().unwrap()).collect();
        assert_eq!(names, [&span.targets[1].name, &span.targets[2].name].map(Clone::clone));
        assert!(told[0].evidence.contains("deleted") && told[1].evidence.contains("another"));
        assert!(changed(&span, &places(&span, &|_| {}), &[], &[], &|_| {}).is_empty());
    }

    /// "The file lost 98.4 % of its blocks" was said of a file that kept all of its blocks under no name.
    #[test]
    fn another_file_in_its_place_has_lost_no_blocks_and_a_hole_is_told_once() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let paths = ["replaced", "punched"].map(|name| home.path().join(name));
        for path in &paths {
            std::fs::write(path, vec![7; 1 << 20]).expect("data");
        }
        let span = span(paths.iter().map(|path| target(path, 0)).collect());
        let (before, blocks) = (places(&span, &|_| {}), allocated(&span, &|_| {}));
        std::fs::write(home.path().join("other"), "other data").expect("a file");
        std::fs::rename(home.path().join("other"), &paths[0]).expect("replaced");
        let file = std::fs::File::options().write(true).open(&paths[1]).expect("a file");
        file.set_len(0).and_then(|()| file.set_len(1 << 20)).expect("a hole");
        let kinds: Vec<_> = changed(&span, &before, &[], &blocks, &|_| {})
            .into_iter()
            .map(|warning| (warning.target, warning.kind))
            .collect();
        let names = span.targets.iter().map(|target| Some(target.name.clone()));
        let expected = [WarningKind::TargetReplaced, WarningKind::ExtentsChanged];
        assert_eq!(kinds, names.zip(expected).collect::<Vec<_>>());
    }

    /// Half of the reads came from another disk, and the remedy was to write random data.
    #[test]
    fn a_file_that_an_overlay_copied_to_another_disk_was_taken_for_the_same() {
        assert!(copied_up("ext4, sda", "ext4, sda").is_none());
        let (change, words) = copied_up("ext4, sda", "xfs, sdb").expect("it is another disk");
        assert_eq!(change, Change::Elsewhere);
        assert!(
            words.contains("lay on ext4, sda") && words.contains("lies on xfs, sdb"),
            "{words}"
        );
    }

    #[test]
    fn a_target_that_is_cut_is_told_with_both_sizes() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(file.path(), vec![7; 65_536]).expect("data");
        let span = span(vec![target(file.path(), 0)]);
        let before = places(&span, &|_| {});
        file.as_file().set_len(4096).expect("cut");
        let told = changed(&span, &before, &[], &[], &|_| {});
        assert!(
            told[0].evidence.contains("65,536") && told[0].evidence.contains("4,096"),
            "{told:?}"
        );
        file.as_file().set_len(65_536).expect("a hole");
        let told = changed(&span, &before, &[], &[], &|_| {});
        assert_eq!(told.is_empty(), span.targets[0].open.write, "{told:?}");
    }
}
