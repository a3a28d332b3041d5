//! What the guard would say, where nothing is written yet.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::intents::{Intent, elsewhere, intents};
use super::machine::Machine;
use super::{Checked, DeviceLabel, Finding, Guard, Refusal, look, places};
use crate::measure::EventSink;
use crate::plan::{Plan, limits};
use crate::request::Permission;
use crate::storage::Location;

/// What the guard says of one path that would be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What speaks against it; nothing if it may be written.
    pub finding: Option<Finding>,
    /// The device, if it is one.
    pub label: Option<DeviceLabel>,
}

/// What the guard says of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Of each path that would be written.
    pub verdicts: BTreeMap<PathBuf, Verdict>,
    /// What speaks against the journal of the run at its place.
    pub journal: Option<Refusal>,
    /// What could not be seen, as sentences.
    pub unseen: Vec<String>,
}

/// What [`super::check`] would say now, of each path; all claims are given back at once.
#[must_use]
pub fn judge(plan: &Plan, permission: &Permission, sink: EventSink<'_>) -> Judgement {
    let machine = Machine::this();
    let intents = intents(plan);
    let mut checked = Checked::with_descriptors(limits::spare_now(plan));
    let found = look(&mut checked, &intents, sink);
    let guard = Guard::new(&machine, found, permission, sink);
    let verdict = |location: &Location| {
        let storage = location.storage();
        let (finding, label) = (storage.examine(&guard), storage.label(&guard));
        (location.path().to_owned(), Verdict { finding, label })
    };
    let verdicts = guard.here().iter().chain(elsewhere(plan).into_values()).map(verdict).collect();
    let journal = places::refused_journal(plan, permission, sink);
    Judgement { verdicts, journal, unseen: guard.unseen(&checked) }
}

/// What would be refused now of these paths, and of what other hosts serve, of which there is no plan; all
/// claims are given back at once.
pub(crate) fn refusals_of(
    wished: &BTreeMap<PathBuf, Intent>,
    served: &BTreeMap<PathBuf, Location>,
    permission: &Permission,
    sink: EventSink<'_>,
) -> Vec<Refusal> {
    let machine = Machine::this();
    let mut checked = Checked::with_descriptors(None);
    let guard = Guard::new(&machine, look(&mut checked, wished, sink), permission, sink);
    let locations: Vec<_> = guard.here().into_iter().chain(served.values().cloned()).collect();
    guard.refusals(&locations)
}
