//! What other hosts serve: disks follow the rules of block devices, and are named by what is written on
//! them. Files follow those of files, but no mark goes over the network: what they hold is read over their
//! protocol, and one that holds somebody's data is named, too.

use super::{DeviceLabel, Finding, Guard};
use crate::network;
use crate::prepare::served;
use crate::storage::Served;
use crate::supervise::within_steps;

impl Guard<'_> {
    /// What speaks against writing to what another host serves.
    pub(crate) fn examine_served(&self, served: &Served) -> Option<Finding> {
        let finding = self.look_at_served(served);
        if served.plan.facts.is_missing {
            // Nobody uses what is not there.
            return finding;
        }
        let name = served.path().display();
        let doubt = format!("Who else uses '{name}' cannot be seen from this host.");
        let finding = finding.or_else(|| self.is_strict().then(|| Finding::Unseen(doubt.clone())));
        self.doubts_elsewhere.borrow_mut().push(doubt);
        finding.map(|found| self.policy.applied(found))
    }

    fn look_at_served(&self, served: &Served) -> Option<Finding> {
        let (path, label) = (served.path(), served.device());
        if let Some(why) = self.policy.forbids(path).or_else(|| self.policy.forbids_device(&label))
        {
            return Some(Finding::Forbidden(why));
        }
        let is_allowed = label.is_allowed_by(&self.permission.allow_write);
        if served.plan.facts.is_file {
            let is_granted = self.may_overwrite() && is_allowed;
            return if is_granted { None } else { self.look_at_file(served, label, is_allowed) };
        }
        if !self.may_overwrite() {
            let look = |step: &dyn Fn()| network::content(path, served.plan.timeout, step);
            match within_steps(self.sink, served::looking(path), look) {
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
    fn look_at_file(&self, of: &Served, label: DeviceLabel, is_allowed: bool) -> Option<Finding> {
        let (path, timeout, facts) = (of.path(), of.plan.timeout, &of.plan.facts);
        if facts.is_missing || facts.size_bytes == 0 {
            return None;
        }
        let found = match served::whose(path, timeout, self.sink) {
            Ok(found) => found,
            Err(why) => return Some(Finding::Unreadable(why.message)),
        };
        found.theirs()?;
        let name = served::name(found, path, timeout, self.sink);
        if self.may_overwrite() {
            return Some(Finding::ServedFileNeedsLeave(name, label));
        }
        let leave = (!is_allowed).then(|| label.option());
        Some(Finding::ServedFileWithData(name, leave))
    }
}
