//! What speaks against a result or a journal at a place, whatever is given.

use std::io;
use std::path::{Path, PathBuf};

use fathom_sys::identity::{self, Identity};

use super::below::{Regions, protections};
use super::blocks::Blocks;
use super::machine::Machine;
use super::policy::Policy;
use super::uses::{named, protected_by};
use super::{Finding, Refusal, stores};
use crate::measure::EventSink;
use crate::plan::Plan;
use crate::request::Permission;
use crate::supervise::within;

/// Why nothing may be put at `path`, where `object` stands now, if anything does: the policy of the machine
/// forbids it, or it is a store, this user's or one of `stores`, or one of `protect` or below it.
#[must_use]
pub fn forbidden_place(
    path: &Path,
    object: Option<Identity>,
    (protect, stores): (&[PathBuf], &[PathBuf]),
) -> Option<Finding> {
    let (policy, machine) = (Policy::of_this_machine(), Machine::this());
    let place = named(path);
    if let Some(why) = policy.forbids(&place) {
        return Some(Finding::Forbidden(why));
    }
    let regions = protections(&policy.protect, protect);
    let regions = Regions::of(&machine, &Blocks::new(&machine), &regions);
    if let Some(finding) = regions.forbid_named(&place).or_else(|| regions.forbid_place(path)) {
        return Some(finding);
    }
    let protect = [protect, stores, &policy.protect, &stores::of_this_user()].concat();
    protected_by(&machine, &protect, &place, object).map(Finding::Protected)
}

/// As [`forbidden_place`], of what a path leads to now.
#[must_use]
pub fn forbidden_path(path: &Path, protect: &[PathBuf], stores: &[PathBuf]) -> Option<Finding> {
    forbidden_place(path, identity::of(path).ok(), (protect, stores))
}

/// Why these do not protect what they are meant to: nothing is there, or it cannot be looked at.
pub(crate) fn protect_nothing(protect: &[PathBuf]) -> impl Iterator<Item = (&Path, io::Error)> {
    protect.iter().filter_map(|path| Some((path.as_path(), path.metadata().err()?)))
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
    let found =
        within(sink, doing, || forbidden_path(&path, &permission.protect, &permission.stores));
    found.map(|finding| Refusal { target: path, finding })
}
