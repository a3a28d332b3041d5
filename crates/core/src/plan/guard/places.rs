//! What speaks against a result or a journal at a place, whatever is given.

use std::path::{Path, PathBuf};

use fathom_sys::identity::Identity;

use super::machine::Machine;
use super::policy::Policy;
use super::uses::{named, protected_by};
use super::{Finding, stores};

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
    if let Some(why) = policy.forbids(&place) {
        return Some(Finding::Forbidden(why));
    }
    let protect = [protect, &policy.protect, &stores::of_this_user()].concat();
    protected_by(&Machine::this(), &protect, &place, object).map(Finding::Protected)
}
