//! Targets whose path led elsewhere after the load: they were deleted, or others took their place.

use fathom_sys::identity::{self, Identity};

use super::super::{Warning, WarningKind};
use super::number;
use crate::plan::{SpanPlan, TargetKind};

/// What the path of each target of a time span leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places(Vec<Option<Identity>>);

/// What the path of each target leads to now; nothing for those that lie on nothing.
#[must_use]
pub fn places(span: &SpanPlan) -> Places {
    let real = |kind| kind != TargetKind::Virtual;
    let of = |target: &crate::plan::TargetPlan| {
        real(target.kind).then(|| identity::of(&target.path).ok()).flatten()
    };
    Places(span.targets.iter().map(of).collect())
}

/// One warning for each target whose path leads elsewhere now than it did before the load.
#[must_use]
pub fn replaced(span: &SpanPlan, before: &Places) -> Vec<Warning> {
    let after = places(span);
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
        let before = places(&span);
        std::fs::remove_file(&paths[1]).expect("removed");
        let other = home.path().join("other");
        std::fs::write(&other, "other data").expect("a file");
        std::fs::rename(&other, &paths[2]).expect("replaced");
        let told = replaced(&span, &before);
        let names: Vec<_> = told.iter().map(|warning| warning.target.clone().unwrap()).collect();
        assert_eq!(names, [&span.targets[1].name, &span.targets[2].name].map(Clone::clone));
        assert!(told[0].evidence.contains("deleted") && told[1].evidence.contains("another"));
        assert!(replaced(&span, &places(&span)).is_empty());
    }
}
