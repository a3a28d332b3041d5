//! What speaks against a result or a journal at a place, whatever is given.

use std::path::{Path, PathBuf};

use fathom_sys::identity::{self, Identity};

use super::below::Regions;
use super::machine::Machine;
use super::policy::Policy;
use super::uses::{named, protected_by};
use super::{Finding, Refusal, stores};
use crate::measure::EventSink;
use crate::plan::Plan;
use crate::request::Permission;
use crate::supervise::within;

/// Why nothing may be put at `path`, where `object` stands now, if anything does: the policy of the machine
/// forbids it, or it is a store of this user, or one of `protect`.
#[must_use]
pub fn forbidden_place(
    path: &Path,
    object: Option<Identity>,
    protect: &[PathBuf],
) -> Option<Finding> {
    let policy = Policy::of_this_machine();
    let place = named(path);
    let below = || Regions::of(&policy.protect).forbid_place(path);
    if let Some(why) = policy.forbids(&place).or_else(below) {
        return Some(Finding::Forbidden(why));
    }
    let protect = [protect, &policy.protect, &stores::of_this_user()].concat();
    protected_by(&Machine::this(), &protect, &place, object).map(Finding::Protected)
}

/// As [`forbidden_place`], of what a path leads to now.
#[must_use]
pub fn forbidden_path(path: &Path, protect: &[PathBuf]) -> Option<Finding> {
    forbidden_place(path, identity::of(path).ok(), protect)
}

/// Why data of others may not be written over on this machine, whatever is given; `what` they are.
#[must_use]
pub fn forbidden_to_overwrite(what: &str) -> Option<String> {
    Policy::of_this_machine().forbids_to_overwrite(what)
}

/// What speaks against the journal of a run at its place.
pub(super) fn refused_journal(
    plan: &Plan,
    permission: &Permission,
    sink: EventSink<'_>,
) -> Option<Refusal> {
    let path = plan.verify.as_ref()?.journal.clone();
    let doing = format!("look at '{}'", path.display());
    let found = within(sink, doing, || forbidden_path(&path, &permission.protect));
    found.map(|finding| Refusal { target: path, finding })
}
