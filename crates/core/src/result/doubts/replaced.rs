//! Targets whose path led elsewhere after the load: they were deleted, or others took their place.

use fathom_sys::identity::{self, Identity};

use super::super::{Warning, WarningKind};
use super::number;
use crate::attend::within;
use crate::measure::EventSink;
use crate::plan::{SpanPlan, TargetKind};

/// What the path of each target of a time span leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places(Vec<Option<Identity>>);

/// What the path of each target leads to now; nothing for those that lie on nothing. Each look that may hang
/// is told to `sink`.
#[must_use]
pub fn places(span: &SpanPlan, sink: EventSink<'_>) -> Places {
    let of = |target: &crate::plan::TargetPlan| {
        let is_real = target.kind != TargetKind::Virtual;
        let look = || identity::of(&target.path).ok();
        is_real.then(|| within(sink, format!("look at '{}'", target.name), look)).flatten()
    };
    Places(span.targets.iter().map(of).collect())
}

/// One warning for each target whose path leads elsewhere now than it did before the load.
#[must_use]
pub fn replaced(span: &SpanPlan, before: &Places, sink: EventSink<'_>) -> Vec<Warning> {
    let after = places(span, sink);
    let both = before.0.iter().zip(&after.0).zip(&span.targets);
    let moved = both.filter(|((then, now), _)| then.is_some() && then != now);
    let warn = |((_, now), target): ((&Option<Identity>, &Option<Identity>), _)| {
        let target: &crate::plan::TargetPlan = target;
        let evidence = match now {
            None => {
                "it was deleted or renamed while it was used; the load went on with the open one"
            }
            Some(_) => {
                "another one took its place while it was used; the load went on with the open one"
            }
        };
        Warning {
            kind: WarningKind::TargetReplaced,
            target: Some(target.name.clone()),
            time_span: Some(number(span.index)),
            evidence: evidence.to_owned(),
            remedy:
                "keep others off the target, and run it again if its place on the device matters"
                    .to_owned(),
        }
    };
    moved.map(warn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::guard::fixture::{span, target};

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
        let told = replaced(&span, &before, &|_| {});
        let names: Vec<_> = told.iter().map(|warning| warning.target.clone().unwrap()).collect();
        assert_eq!(names, [&span.targets[1].name, &span.targets[2].name].map(Clone::clone));
        assert!(told[0].evidence.contains("deleted") && told[1].evidence.contains("another"));
        assert!(replaced(&span, &places(&span, &|_| {}), &|_| {}).is_empty());
    }
}
