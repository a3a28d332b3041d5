//! Targets over the network follow the rules of block devices: they are named by what is written on them, and
//! what they hold is asked over their protocol.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::policy::Policy;
use super::{DeviceLabel, Finding, Refusal, is_written};
use crate::measure::EventSink;
use crate::network::{self, RemotePlan};
use crate::plan::Plan;
use crate::request::Permission;
use crate::supervise::within;

/// The targets over the network that a plan writes.
pub(super) fn written(plan: &Plan) -> BTreeMap<&Path, &RemotePlan> {
    let mut found = BTreeMap::new();
    for span in &plan.spans {
        for (index, target) in span.targets.iter().enumerate() {
            if let Some(remote) = target.remote.as_deref().filter(|_| is_written(span, index)) {
                found.insert(&*target.path, remote);
            }
        }
    }
    found
}

/// What the guard says of each target over the network that a plan writes.
#[derive(Default)]
pub(super) struct Examined {
    pub(super) findings: BTreeMap<PathBuf, Option<Finding>>,
    /// What cannot be seen, as sentences.
    pub(super) doubts: Vec<String>,
}

impl Examined {
    pub(super) fn refusals(&self) -> impl Iterator<Item = Refusal> {
        let refusal = |(target, finding): (&PathBuf, &Option<Finding>)| {
            Some(Refusal { target: target.clone(), finding: finding.clone()? })
        };
        self.findings.iter().filter_map(refusal)
    }
}

/// Examines all targets over the network that a plan writes. Each look that may hang is told to `sink`.
pub(super) fn examine(
    plan: &Plan,
    permission: &Permission,
    policy: &Policy,
    sink: EventSink<'_>,
) -> Examined {
    let mut examined = Examined::default();
    for (path, remote) in written(plan) {
        let name = path.display();
        let doing = format!("look at what '{name}' holds");
        let finding = within(sink, doing, || examine_one(path, remote, permission, policy));
        let doubt = format!("Who else uses '{name}' cannot be seen from this host.");
        let is_strict = permission.strict || policy.strict;
        let finding = finding.or_else(|| is_strict.then(|| Finding::Unseen(doubt.clone())));
        examined.findings.insert(path.to_owned(), finding.map(|found| policy.applied(found)));
        examined.doubts.push(doubt);
    }
    examined
}

fn examine_one(
    path: &Path,
    remote: &RemotePlan,
    permission: &Permission,
    policy: &Policy,
) -> Option<Finding> {
    let label = label(path, remote);
    if let Some(why) = policy.forbids(path).or_else(|| policy.forbids_device(&label)) {
        return Some(Finding::Forbidden(why));
    }
    let is_allowed = label.is_allowed_by(&permission.allow_write);
    if !permission.overwrite || policy.forbids_overwriting() {
        // No mark and no proof of what a file holds goes over the network, so that its data are somebody's.
        if remote.facts.is_file && remote.facts.size_bytes > 0 {
            return Some(Finding::FileWithData(None));
        }
        match network::content(path, remote.timeout) {
            Ok(None) => {}
            Ok(Some(found)) => {
                let more = (!is_allowed).then(|| label.option());
                return Some(Finding::DeviceWithData(found, more));
            }
            Err(why) => return Some(Finding::Unreadable(why.message)),
        }
    }
    (!is_allowed).then_some(Finding::NeedsLeave(label))
}

/// A target over the network as the person who gives permission knows it.
pub(crate) fn label(path: &Path, remote: &RemotePlan) -> DeviceLabel {
    let facts = &remote.facts;
    DeviceLabel {
        path: path.display().to_string(),
        model: facts.description.clone(),
        serial: facts.serial.clone(),
        wwn: None,
        size_bytes: facts.size_bytes,
        tokens: facts.tokens.iter().map(|token| super::token::plain(token)).collect(),
    }
}
