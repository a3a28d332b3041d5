//! Kernel events of which not all were counted.

use super::Seen;
use crate::result::{Warning, WarningKind};

pub(super) fn warnings(seen: &Seen<'_>) -> Vec<Warning> {
    let counts = seen.measured.kernel_events.iter().flat_map(|events| &events.counts);
    let mut reasons: Vec<&str> = counts.filter_map(|count| count.partial.as_deref()).collect();
    reasons.dedup();
    let warning = |reason: &str| {
        let evidence = format!("not all kernel events were counted: {reason}");
        let remedy = "take the counts as lower bounds".to_owned();
        seen.warning(WarningKind::EventsNotCounted, evidence, remedy)
    };
    reasons.into_iter().map(warning).collect()
}
