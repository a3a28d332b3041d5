//! Who uses what a write would reach.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use fathom_sys::contract::file::FileFacts;
use fathom_sys::identity::Identity;
use fathom_sys::places::{folder_of, real_path, whole_path};

use super::blocks::Blocks;
use super::layers::Layer;
use super::machine::{Machine, Number};
use super::mounts::{self, Mounted, Swaps, Table};
use super::reach::{Reached, reach};
use super::writers::{self, Writers};

/// One use, as a sentence. The gravest stands first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// It is, or holds, what must never be written: the root, the boot files, or what was named.
    Protected(String),
    /// Something is mounted.
    Mounted(String),
    /// The system swaps to it.
    Swap(String),
    /// It belongs to something that is built on it.
    Part(String),
    /// Another process has it open for writing.
    Open(String),
    /// Somebody holds it, and the system does not say who.
    Claimed(String),
}

impl fmt::Display for Use {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Protected(words)
        | Self::Mounted(words)
        | Self::Swap(words)
        | Self::Part(words)
        | Self::Open(words)
        | Self::Claimed(words)) = self;
        out.write_str(words)
    }
}

/// A machine as it stands at this moment, with all that reaches to some targets.
pub(super) struct Sight<'a> {
    pub(super) blocks: Blocks<'a>,
    reached: BTreeMap<Identity, Vec<Reached>>,
    mounts: Vec<Mounted>,
    pub(super) swaps: Swaps,
    groups: Vec<(String, Vec<Number>)>,
    writers: Writers,
    protected: Vec<Protected>,
}

/// Something that was named as never to be written.
struct Protected {
    path: PathBuf,
    /// The names of the file itself, and of those that a database keeps beside it.
    names: [PathBuf; 4],
    /// What stands there.
    files: Vec<Identity>,
}

/// The use of a place for a result: it is one of `protect`, or would be, by name or by what stands there.
pub(super) fn protected_by(
    machine: &Machine,
    protect: &[PathBuf],
    place: &Path,
    object: Option<Identity>,
) -> Option<Use> {
    let is_it = |one: &Protected| {
        one.is_named(place) || object.is_some_and(|object| one.files.contains(&object))
    };
    protect
        .iter()
        .map(|path| Protected::new(machine, path))
        .find(is_it)
        .map(|one| one.refuses("it"))
}

impl<'a> Sight<'a> {
    /// Looks at what reaches to `targets`; `protect` are paths that must never be written.
    #[cfg(test)]
    pub(super) fn of(machine: &'a Machine, targets: &[Identity], protect: &[PathBuf]) -> Self {
        let alone = |target: &Identity| (*target, Vec::new());
        let (targets, tables) = (targets.iter().map(alone).collect(), mounts::tables(machine));
        Self::over(machine, &targets, &tables, protect, &BTreeSet::new())
    }

    /// Looks at what reaches to targets, each given with what it is in layers above and below it. Of those
    /// that are `unwritten` it is known already that nobody has them open for writing.
    pub(super) fn over(
        machine: &'a Machine,
        targets: &BTreeMap<Identity, Vec<Layer>>,
        tables: &[Table],
        protect: &[PathBuf],
        unwritten: &BTreeSet<Identity>,
    ) -> Self {
        let blocks = Blocks::new(machine);
        let all = |(target, layers): (&Identity, &Vec<Layer>)| {
            let of = |layer: &Layer| reach(&blocks, layer.identity, &layer.words());
            let more = layers.iter().flat_map(of).collect::<Vec<_>>();
            let mut reached = reach(&blocks, *target, "it");
            reached.extend(more);
            (*target, reached)
        };
        let reached: BTreeMap<_, _> = targets.iter().map(all).collect();
        let nodes: BTreeSet<Identity> =
            reached.values().flatten().map(|reached| reached.node).collect();
        let is_needed = !nodes.is_empty();
        Self {
            mounts: if is_needed { mounts::all(machine, tables) } else { Vec::new() },
            swaps: mounts::swaps(machine),
            groups: mounts::btrfs_groups(machine),
            writers: writers::find(machine, &nodes.difference(unwritten).copied().collect()),
            protected: protect.iter().map(|path| Protected::new(machine, path)).collect(),
            blocks,
            reached,
        }
    }

    /// What is known of other processes.
    pub(super) fn writers(&self) -> &Writers {
        &self.writers
    }

    /// The gravest use of a target; none if nobody is known to use it.
    pub(super) fn gravest(&self, target: Identity) -> Option<Use> {
        let reached = self.reached.get(&target).into_iter().flatten();
        reached.flat_map(|reached| self.uses(reached)).min()
    }

    /// Why a file that is not there yet may not be made at a place: it would be what must never be written.
    pub(super) fn protected_name(&self, place: &Path) -> Option<Use> {
        let place = named(place);
        self.protected.iter().find(|one| one.is_named(&place)).map(|one| one.refuses("it"))
    }

    /// The files behind the loop devices that a target reaches, by the paths that the system shows.
    pub(super) fn files_behind(&self, target: Identity) -> Vec<PathBuf> {
        let reached = self.reached.get(&target).into_iter().flatten();
        reached.filter_map(|one| self.blocks.file_behind(one.node)).collect()
    }

    fn uses(&self, reached: &Reached) -> Vec<Use> {
        let mut uses: Vec<Use> = self.mounts_of(reached).collect();
        let protected = self.protected.iter().filter(|one| one.files.contains(&reached.node));
        uses.extend(protected.map(|one| one.refuses(&reached.subject)));
        if self.swaps.nodes.contains(&reached.node) {
            uses.push(Use::Swap(match reached.subject.as_str() {
                "it" => "the system swaps to it".to_owned(),
                other => format!("the system swaps to {other}"),
            }));
        }
        if !reached.link.is_empty() {
            uses.push(Use::Part(reached.link.clone()));
        }
        uses.extend(self.membership(reached));
        if let Some(process) = self.writers.by_node.get(&reached.node) {
            uses.push(Use::Open(match reached.subject.as_str() {
                "it" => format!("{process} has it open for writing"),
                other => format!("{process} has {other} open for writing"),
            }));
        }
        uses
    }

    fn mounts_of(&self, reached: &Reached) -> impl Iterator<Item = Use> {
        let subject = reached.subject.clone();
        let number = match reached.node {
            Identity::Device(number) => Some(number),
            _ => None,
        };
        let mounts = self.mounts.iter();
        let on_it = mounts.filter(move |one| number.is_some_and(|n| one.devices.contains(&n)));
        on_it.map(move |mounted| self.mount_in_words(&subject, mounted))
    }

    fn mount_in_words(&self, subject: &str, mounted: &Mounted) -> Use {
        let place = mounted.place.display();
        if let Some(process) = &mounted.seen_by {
            return Use::Mounted(format!(
                "{subject} is mounted at {place} in the mount namespace of {process}"
            ));
        }
        if mounted.place == Path::new("/") {
            return Use::Protected(format!("{subject} holds the root file system"));
        }
        if mounted.place.starts_with("/boot") {
            return Use::Protected(format!(
                "{subject} holds what this machine boots from: {place}"
            ));
        }
        let mut protected = self.protected.iter().map(|one| &one.path);
        let relation = |path: &PathBuf| match path {
            path if self.lies_on(path, mounted) => Some("holds"),
            path if mounted.place.starts_with(path) => Some("lies below"),
            _ => None,
        };
        match protected.find_map(|path| Some((relation(path)?, path.display()))) {
            Some((relation, path)) => Use::Protected(format!(
                "{subject} is mounted at {place}, which {relation} the protected {path}"
            )),
            None => Use::Mounted(format!("{subject} is mounted at {place}")),
        }
    }

    /// Whether a path lies on this mount, and not on one that is mounted below it.
    fn lies_on(&self, path: &Path, mounted: &Mounted) -> bool {
        let own = self.mounts.iter().filter(|one| one.seen_by.is_none());
        let holds = own.filter(|one| path.starts_with(&one.place));
        let deepest = holds.max_by_key(|one| one.place.components().count());
        deepest.is_some_and(|one| one.place == mounted.place)
    }

    /// Groups of devices that hold no volume of their own over their members.
    fn membership(&self, reached: &Reached) -> Vec<Use> {
        let Identity::Device(number) = reached.node else { return Vec::new() };
        let subject = &reached.subject;
        let group = self.groups.iter().find(|(_, devices)| devices.contains(&number));
        let group = group.map(|(uuid, _)| {
            Use::Part(format!("{subject} is part of the mounted Btrfs file system {uuid}"))
        });
        let cached = self.blocks.has(number, "bcache");
        let cached = cached.then(|| Use::Part(format!("{subject} is registered with bcache")));
        group.into_iter().chain(cached).collect()
    }
}

impl Protected {
    fn new(machine: &Machine, path: &Path) -> Self {
        let path = named(path);
        // SQLite keeps the rest of a database in these (sqlite.org/tempfiles.html).
        let names = ["", "-wal", "-shm", "-journal"].map(|end| {
            let mut name = path.clone().into_os_string();
            name.push(end);
            PathBuf::from(name)
        });
        let files = names.iter().filter_map(|name| machine.identity(name));
        let files = files.filter(|found| *found != Identity::Other).collect();
        Self { path, names, files }
    }

    /// Whether a place is one of its names, by whatever path to the directory.
    fn is_named(&self, place: &Path) -> bool {
        let is_it = |name: &PathBuf| {
            name == place || (name.file_name() == place.file_name() && is_beside(name, place))
        };
        self.names.iter().any(is_it)
    }

    /// The use of a subject that it is, or that stands there.
    fn refuses(&self, subject: &str) -> Use {
        Use::Protected(format!("{subject} is protected: {}", self.path.display()))
    }
}

/// Whether two paths lie in the same directory.
fn is_beside(one: &Path, other: &Path) -> bool {
    let number = |path: &Path| fs::metadata(folder_of(path)).ok().map(|found| found.number());
    number(one).is_some_and(|found| number(other) == Some(found))
}

/// A path with no link in it, also of a file that is not there yet.
pub(super) fn named(path: &Path) -> PathBuf {
    whole_path(path).unwrap_or_else(|| real_path(path))
}
