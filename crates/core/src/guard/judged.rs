//! What the guard would say, where nothing is written yet.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::intents::{Intent, intents};
use super::machine::Machine;
use super::{Checked, Claims, DeviceLabel, Finding, Guard, Refusal, look, places};
use crate::measure::EventSink;
use crate::plan::{Plan, limits};
use crate::request::Permission;

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
pub fn judge(plan: &Plan, permission: &Permission) -> Judgement {
    let machine = Machine::this();
    let intents = intents(plan);
    let (mut checked, mut claims) =
        (Checked::with_descriptors(limits::spare_now(plan)), Claims::default());
    let found = look(&mut checked, &intents, &|_| {});
    let guard = Guard::new(&machine, &found, permission, &|_| {});
    let verdicts = found.iter().map(|target| {
        let finding = guard.examine(target, &mut claims);
        let label = target.identity().and_then(|identity| guard.label(identity));
        (target.path.to_owned(), Verdict { finding, label })
    });
    let mut verdicts: BTreeMap<PathBuf, Verdict> = verdicts.collect();
    let remotes = super::remote::examine(plan, permission, &guard.policy, &|_| {});
    let labels = super::remote::written(plan);
    verdicts.extend(remotes.findings.into_iter().map(|(path, finding)| {
        let label = labels.get(&*path).map(|plan| super::remote::label(&path, plan));
        (path, Verdict { finding, label })
    }));
    let journal = places::refused_journal(plan, permission, &|_| {});
    let mut unseen = guard.unseen(&checked);
    unseen.extend(remotes.doubts);
    Judgement { verdicts, journal, unseen }
}

/// What would be refused now of these paths, of which there is no plan; all claims are given back at once.
pub(crate) fn refusals_of(
    wished: &BTreeMap<PathBuf, Intent>,
    permission: &Permission,
    sink: EventSink<'_>,
) -> Vec<Refusal> {
    let machine = Machine::this();
    let (mut checked, mut claims) = (Checked::with_descriptors(None), Claims::default());
    let found = look(&mut checked, wished, sink);
    let guard = Guard::new(&machine, &found, permission, sink);
    guard.refusals(&found, &mut claims, sink)
}
