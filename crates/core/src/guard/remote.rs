//! Targets over the network: disks follow the rules of block devices, and are named by what is written on
//! them. Files follow those of files, but no mark goes over the network: what they hold is read over their
//! protocol, and one that holds somebody's data is named, too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::policy::Policy;
use super::{DeviceLabel, Finding, Refusal, is_written};
use crate::measure::EventSink;
use crate::network::{self, RemotePlan};
use crate::plan::Plan;
use crate::prepare::served;
use crate::request::Permission;
use crate::supervise::within;

/// The targets over the network that a plan writes or makes.
pub(super) fn written(plan: &Plan) -> BTreeMap<&Path, &RemotePlan> {
    let mut found = BTreeMap::new();
    for span in &plan.spans {
        for (index, target) in span.targets.iter().enumerate() {
            let is_changed = || is_written(span, index) || is_made(plan, &target.path);
            if let Some(remote) = target.remote.as_deref().filter(|_| is_changed()) {
                found.insert(&*target.path, remote);
            }
        }
    }
    found
}

fn is_made(plan: &Plan, path: &Path) -> bool {
    let spans = plan.spans.iter().flat_map(|span| &span.create);
    plan.precreate.iter().chain(spans).any(|file| file.path == path)
}

/// What a plan knows of a file that another host serves and that it makes.
pub(crate) fn of_made<'p>(plan: &'p Plan, path: &Path) -> Option<&'p RemotePlan> {
    let mut targets = plan.spans.iter().flat_map(|span| &span.targets);
    targets.find(|target| target.path == path).and_then(|target| target.remote.as_deref())
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

/// Examines all targets over the network that a plan writes. Each look that may hang is reported to `sink`.
pub(super) fn examine(
    plan: &Plan,
    permission: &Permission,
    policy: &Policy,
    sink: EventSink<'_>,
) -> Examined {
    let mut examined = Examined::default();
    for (path, remote) in written(plan) {
        let name = path.display();
        let finding = examine_one(path, remote, permission, policy, sink);
        if remote.facts.is_missing {
            // Nobody uses what is not there.
            examined.findings.insert(path.to_owned(), finding);
            continue;
        }
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
    sink: EventSink<'_>,
) -> Option<Finding> {
    let label = label(path, remote);
    if let Some(why) = policy.forbids(path).or_else(|| policy.forbids_device(&label)) {
        return Some(Finding::Forbidden(why));
    }
    let is_allowed = label.is_allowed_by(&permission.allow_write);
    let may_overwrite = permission.overwrite && !policy.forbids_overwriting();
    if remote.facts.is_file {
        let is_granted = may_overwrite && is_allowed;
        return if is_granted {
            None
        } else {
            examine_file(path, remote, (label, is_allowed), may_overwrite, sink)
        };
    }
    if !may_overwrite {
        let doing = format!("look at what '{}' holds", path.display());
        match within(sink, doing, || network::content(path, remote.timeout)) {
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

/// A file that nobody has given permission to write over.
fn examine_file(
    path: &Path,
    remote: &RemotePlan,
    (label, is_allowed): (DeviceLabel, bool),
    may_overwrite: bool,
    sink: EventSink<'_>,
) -> Option<Finding> {
    if remote.facts.is_missing || remote.facts.size_bytes == 0 {
        return None;
    }
    let found = match served::whose(path, remote.timeout, sink) {
        Ok(found) => found,
        Err(why) => return Some(Finding::Unreadable(why.message)),
    };
    found.theirs()?;
    if may_overwrite {
        return Some(Finding::NeedsLeave(label));
    }
    let doing = format!("look at what '{}' holds", path.display());
    let name = within(sink, doing, || served::name(found, path, remote.timeout));
    let leave = (!is_allowed).then(|| label.option());
    Some(Finding::ServedFileWithData(name, leave))
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
