//! Nothing of value is written over: asked of every target before any is opened for writing.
//!
//! Data that look like somebody's are written over only with `--overwrite`, and a device only if it is
//! named by what is written on it (`--allow-write`). What is in use is never written to, whatever is
//! given: there is no test for which that would be meant. docs/data-safety.md tells what is found how.

mod alone;
mod below;
pub(crate) mod blocks;
mod checked;
mod finding;
#[cfg(test)]
pub(crate) mod fixture;
mod intents;
mod judged;
mod layers;
pub(crate) mod machine;
mod mapped;
pub(crate) mod mounts;
mod openers;
mod places;
pub mod policy;
mod reach;
mod remote;
mod rings;
mod stores;
#[cfg(test)]
mod tests;
mod token;
#[cfg(test)]
mod tree_tests;
mod unseen;
mod uses;
mod writers;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fathom_sys::blkid;
use fathom_sys::contract::file::{FileFacts, FileKind};
use fathom_sys::held::Held;
use fathom_sys::holders::Claim;
use fathom_sys::identity::Identity;
use fathom_sys::kernel_files;
use fathom_sys::lease::Writers;

use crate::measure::EventSink;
use crate::plan::{Plan, limits};
use crate::prepare;
use crate::request::Permission;
use crate::signature;
use crate::storage::Location;
use crate::supervise::within;
pub(crate) use alone::Alone;
use below::{Regions, protections};
pub(crate) use checked::MadeFile;
pub use checked::{Checked, Found, Place};
pub use finding::{Finding, Refusal, Refusals};
pub(crate) use intents::{Intent, is_untouched, is_written};
use intents::{elsewhere, intents};
pub(crate) use judged::refusals_of;
pub use judged::{Judgement, Verdict, judge};
use layers::{Layered, Overlays};
use machine::{Machine, Number};
use mounts::Table;
pub(crate) use openers::unseen_writer;
pub(crate) use places::protect_nothing;
pub use places::{forbidden_path, forbidden_place, forbidden_to_overwrite};
use policy::Policy;
pub(crate) use token::plain;
pub use token::{DeviceLabel, labels_of};
use uses::Sight;
pub use uses::Use;

/// Permission to write: what was checked, and the claims on all block devices, held as long as this is kept.
#[must_use = "nobody else is kept off the devices once this is dropped"]
#[derive(Debug)]
pub struct WriteGrant {
    /// Kept and not looked at: a claim ends when it is dropped.
    _claims: Vec<Claim>,
    /// What each path led to, held.
    pub checked: Checked,
    /// What could not be seen of those who may use the targets, as sentences.
    pub unseen: Vec<String>,
}

/// Checks every target that `plan` would write to or create; those that are only read pass. Each look that
/// may hang is reported to `sink`.
pub fn check(
    plan: &Plan,
    permission: &Permission,
    sink: EventSink<'_>,
) -> Result<WriteGrant, Refusals> {
    let machine = Machine::this();
    let intents = intents(plan);
    let mut checked = Checked::with_descriptors(limits::spare_now(plan)).watched();
    let found = look(&mut checked, &intents, sink);
    let guard = Guard {
        alone: Some(Arc::clone(&checked.alone)),
        ..Guard::new(&machine, found, permission, sink)
    };
    let mut refusals = guard.refusals(&guard.here());
    refusals.extend(places::refused_journal(plan, permission, sink));
    refusals.extend(guard.refusals(elsewhere(plan).into_values()));
    let unseen = guard.doubts_of.take().into_iter().chain(guard.doubts_elsewhere.take()).collect();
    let claims = guard.claims.take().0.into_values().collect();
    let grant = WriteGrant { _claims: claims, checked, unseen };
    if refusals.is_empty() { Ok(grant) } else { Err(Refusals(refusals)) }
}

/// Something that would be written, held.
struct Target<'a> {
    path: &'a Path,
    intent: Intent,
    found: Found,
}

impl Target<'_> {
    fn identity(&self) -> Option<Identity> {
        match &self.found {
            Found::There(held) => Some(held.identity()),
            _ => None,
        }
    }
}

/// Takes hold of all paths before anything else is asked: what is put there later is not looked at.
fn look<'a>(
    checked: &mut Checked,
    intents: &'a BTreeMap<PathBuf, Intent>,
    sink: EventSink<'_>,
) -> Vec<Target<'a>> {
    let mut take = |(path, intent): (&'a PathBuf, &Intent)| {
        let doing = format!("look at '{}'", path.display());
        let found = within(sink, doing, || checked.look(path));
        Target { path, intent: *intent, found }
    };
    intents.iter().map(&mut take).collect()
}

/// What a look at what other processes have open does, as a clause.
fn looking_for_users(found: &[Target<'_>]) -> String {
    match found {
        [] => "look at the devices of this host".to_owned(),
        [one] => format!("find out who uses '{}'", one.path.display()),
        [first, others @ ..] => {
            format!("find out who uses '{}' and {} more", first.path.display(), others.len())
        }
    }
}

/// The claims that were taken, each device once.
#[derive(Default)]
struct Claims(BTreeMap<Identity, Claim>);

/// What examines the targets of a plan: those of this host together, as they are held.
pub(crate) struct Guard<'a> {
    machine: &'a Machine,
    /// What would be written on this host, held.
    targets: BTreeMap<&'a Path, Target<'a>>,
    claims: RefCell<Claims>,
    /// Where each look is reported that may hang.
    sink: EventSink<'a>,
    sight: Sight<'a>,
    /// What each target is in layers of overlays.
    layers: BTreeMap<Identity, Layered>,
    /// `/proc` hides processes of other accounts.
    hides_processes: bool,
    permission: &'a Permission,
    policy: Policy,
    /// Where that lies which is protected.
    regions: Regions,
    /// Who else writes to the files from now on; absent where nothing will be written.
    alone: Option<Arc<Alone>>,
    /// What could not be seen of the targets that were examined.
    doubts_of: RefCell<BTreeSet<String>>,
    /// The same of what other hosts serve, in the order in which it was examined.
    doubts_elsewhere: RefCell<Vec<String>>,
    /// Many files lie on one device.
    labels: RefCell<BTreeMap<Number, Option<DeviceLabel>>>,
}

impl<'a> Guard<'a> {
    fn new(
        machine: &'a Machine,
        found: Vec<Target<'a>>,
        permission: &'a Permission,
        sink: EventSink<'a>,
    ) -> Self {
        // What other processes have open is looked at, and may hang like any target.
        within(sink, looking_for_users(&found), || {
            // Who only asks for a label reads no tables of other processes.
            let is_needed = !found.is_empty();
            let tables = if is_needed { mounts::tables(machine) } else { Vec::new() };
            let layers = layers_of(&found, &tables);
            let targets = layers.iter().map(|(target, found)| (*target, found.layers.clone()));
            let policy = Policy::of_this_machine();
            let never = [&permission.protect[..], &permission.stores, &policy.protect];
            let protect = [&never.concat()[..], &stores::of_this_user()].concat();
            let unwritten = openers::unwritten(&found);
            let sight = Sight::over(machine, &targets.collect(), &tables, &protect, &unwritten);
            let regions = protections(&policy.protect, &permission.protect);
            let regions = if is_needed { regions } else { Vec::new() };
            let regions = Regions::of(machine, &sight.blocks, &regions);
            let hides_processes = unseen::hides_processes(&tables);
            Self {
                machine,
                targets: found.into_iter().map(|target| (target.path, target)).collect(),
                claims: RefCell::default(),
                sink,
                sight,
                layers,
                hides_processes,
                permission,
                policy,
                regions,
                alone: None,
                doubts_of: RefCell::default(),
                doubts_elsewhere: RefCell::default(),
                labels: RefCell::default(),
            }
        })
    }

    /// Where the targets of this host lie.
    fn here(&self) -> Vec<Location> {
        self.targets.keys().map(|path| Location::here(*path)).collect()
    }

    /// What speaks against writing to any of these.
    fn refusals<'l>(&self, locations: impl IntoIterator<Item = &'l Location>) -> Vec<Refusal> {
        let refuse = |location: &Location| {
            let finding = location.storage().examine(self)?;
            Some(Refusal { target: location.path().to_owned(), finding })
        };
        locations.into_iter().filter_map(refuse).collect()
    }

    /// What speaks against writing to a target of this host.
    pub(crate) fn examine_held(&self, path: &Path) -> Option<Finding> {
        let Some(target) = self.targets.get(path) else {
            return Some(Finding::Unreadable("nobody has looked at it".to_owned()));
        };
        let doing = format!("look at what '{}' holds", path.display());
        within(self.sink, doing, || self.examine(target))
    }

    /// The device that a target of this host is, or lies on.
    pub(crate) fn label_of_held(&self, path: &Path) -> Option<DeviceLabel> {
        self.label(self.targets.get(path)?.identity()?)
    }

    /// What speaks against writing to a target. All that is asked is asked of what is held.
    fn examine(&self, target: &Target<'_>) -> Option<Finding> {
        // Where it lies counts, and not what leads there.
        let place = match &target.found {
            Found::There(held) => held.path_now(),
            _ => None,
        };
        let place = place.as_deref().unwrap_or(target.path);
        let forbidden = self.policy.forbids(place).map(Finding::Forbidden);
        let forbidden = forbidden.or_else(|| self.regions.forbid_named(place));
        if let Some(finding) = forbidden.or_else(|| self.lies_below(target)) {
            return Some(finding);
        }
        let held = match &target.found {
            // What is not there cannot be lost, but what will be must not be taken for a part of a store.
            Found::Nothing(_) => {
                let protected = self.sight.protected_name(target.path).map(Finding::Protected);
                let doubts = || self.note(self.regions.doubt().into_iter().collect());
                return protected.or_else(|| doubts().map(Finding::Unseen));
            }
            Found::Unreadable(_, why) => return Some(Finding::Unreadable(why.clone())),
            Found::There(held) => held,
        };
        let looked = held.metadata(target.path).and_then(|metadata| match metadata.kind() {
            FileKind::File => self.examine_file(held, target.path, metadata.len()),
            FileKind::BlockDevice if target.intent == Intent::Write => {
                self.examine_device(held, target.path)
            }
            kind => Ok(Some(Finding::WrongKind(prepare::kind_in_words(kind)))),
        });
        let found = looked.unwrap_or_else(|error| Some(Finding::Unreadable(error.to_string())));
        found.map(|found| self.policy.applied(found))
    }

    fn examine_file(
        &self,
        held: &Held,
        path: &Path,
        size_bytes: u64,
    ) -> io::Result<Option<Finding>> {
        if let Some(name) = kernel_files::file_system(held, path)? {
            return Ok(Some(Finding::KernelFile(name)));
        }
        if let Some(how) = self.sight.gravest(held.identity()) {
            return Ok(Some(in_use(how, Finding::FileInUse)));
        }
        let file = held.open_to_read(path);
        self.watch(held.identity(), file.as_ref().ok());
        let writers = self.writers(held, path);
        if writers == Writers::Some {
            return Ok(Some(Finding::FileInUse(openers::unseen_writer())));
        }
        let doubts = self.doubts(held, path, writers == Writers::None);
        if writers == Writers::None && doubts.is_empty() {
            self.vouch_from_now_on(held.identity());
        }
        if let Some(doubts) = self.note(doubts) {
            return Ok(Some(Finding::Unseen(doubts)));
        }
        if self.may_overwrite() || size_bytes == 0 {
            return Ok(None);
        }
        examine_content(&file?)
    }

    /// The claim comes before the look at what it holds, so that nobody can put anything there between.
    fn examine_device(&self, held: &Held, path: &Path) -> io::Result<Option<Finding>> {
        let identity = held.identity();
        if let Some(how) = self.sight.gravest(identity) {
            return Ok(Some(in_use(how, Finding::DeviceInUse)));
        }
        let mut claims = self.claims.borrow_mut();
        if let std::collections::btree_map::Entry::Vacant(entry) = claims.0.entry(identity) {
            let Some(claim) = Claim::take(held, path)? else {
                return Ok(Some(Finding::DeviceInUse(openers::claimed(held, path))));
            };
            entry.insert(claim);
        }
        if let Some(doubts) = self.note(self.doubts(held, path, false)) {
            return Ok(Some(Finding::Unseen(doubts)));
        }
        let label = self.label(identity).unwrap_or_default();
        if let Some(why) = self.policy.forbids_device(&label) {
            return Ok(Some(Finding::Forbidden(why)));
        }
        let is_allowed = label.is_allowed_by(&self.permission.allow_write);
        if !self.may_overwrite()
            && let Some(claim) = claims.0.get(&identity)
        {
            let more = (!is_allowed).then(|| label.option());
            match signature::of_device(claim.file()) {
                Ok(None) => {}
                Ok(Some(found)) => return Ok(Some(Finding::DeviceWithData(found, more))),
                Err(error) => return Ok(Some(Finding::DeviceUnread(error.to_string(), more))),
            }
        }
        Ok((!is_allowed).then_some(Finding::NeedsLeave(label)))
    }

    /// Notes what cannot be seen, and gives it back where that is not taken.
    fn note(&self, doubts: Vec<String>) -> Option<String> {
        let refused = (self.is_strict() && !doubts.is_empty()).then(|| doubts.join(" "));
        self.doubts_of.borrow_mut().extend(doubts);
        refused
    }

    /// Whether what cannot be seen speaks against a target.
    fn is_strict(&self) -> bool {
        self.permission.strict || self.policy.strict
    }

    /// Whether data of others may be written over: it was requested, and no policy forbids it.
    fn may_overwrite(&self) -> bool {
        self.permission.overwrite && !self.policy.forbids_overwriting()
    }

    /// What could not be seen, as sentences.
    fn unseen(&self, checked: &Checked) -> Vec<String> {
        let mut unseen: Vec<String> = self.doubts_of.take().into_iter().collect();
        let bare = checked.without_descriptor();
        if bare > 0 {
            unseen.push(format!(
                "The limit of open files is too low to hold {bare} of the targets: they are distinguished \
                 by inode and time of birth alone. Raise the hard limit (ulimit -Hn)."
            ));
        }
        if let Err(reason) = blkid::library() {
            unseen.push(format!(
                "libblkid is not here ({reason}): a device passes only if both ends of it are zeros, and \
                 volumes in files are refused without their name."
            ));
        }
        unseen.extend(self.doubts_elsewhere.take());
        unseen
    }
}

fn layers_of(found: &[Target<'_>], tables: &[Table]) -> BTreeMap<Identity, Layered> {
    let overlays = Overlays::new(tables);
    let of = |target: &Target<'_>| {
        let Found::There(held) = &target.found else { return None };
        let identity = Some(held.identity()).filter(|one| *one != Identity::Other)?;
        let path = if overlays.is_empty() { None } else { held.path_now() };
        Some((identity, path.map(|path| overlays.of(&path)).unwrap_or_default()))
    };
    found.iter().filter_map(of).collect()
}

/// What a file holds that nobody uses. It is open for reading, and is the one that will be written.
fn examine_content(file: &File) -> io::Result<Option<Finding>> {
    prepare::finding(file, file.metadata()?.len())
}

fn in_use(how: Use, otherwise: fn(Use) -> Finding) -> Finding {
    match how {
        Use::Protected(_) => Finding::Protected(how),
        _ => otherwise(how),
    }
}
