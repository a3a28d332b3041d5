//! Who has a file open for writing, as the kernel itself tells, whatever is seen in `/proc`.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use fathom_sys::identity::{self, Identity};
use fathom_sys::kernel_files;
use fathom_sys::lease::{self, Writers};

use super::layers::Layer;
use super::{Alone, Found, Guard, Held, Machine, Target, Use, signature, writers};

/// How long somebody may still have it open who is about to close it: the rings of a process that has ended
/// are taken down behind it.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// Files that nobody has open for writing, as the kernel tells for certain. In `/proc` all processes would be
/// looked through for them, which takes a tenth of a second where there are hundreds.
pub(super) fn unwritten(targets: &[Target<'_>]) -> BTreeSet<Identity> {
    let of = |target: &Target<'_>| {
        let Found::There(held) = &target.found else { return None };
        let file = Some(held.identity()).filter(|one| matches!(one, Identity::File(_)))?;
        let opened = held.open_to_read(target.path).ok()?;
        let is_certain = !kernel_files::is_reached_by_others(&opened)
            && lease::writers(&opened) == Writers::None;
        is_certain.then_some(file)
    };
    targets.iter().filter_map(of).collect()
}

/// The use of a file by somebody who is not in `/proc`: in another PID namespace, or by a descriptor that is
/// on its way through a socket.
pub(crate) fn unseen_writer() -> Use {
    Use::Open("a process that cannot be seen from here has it open for writing".to_owned())
}

/// Who holds a device that the system names no user of. What it holds may tell.
pub(super) fn claimed(held: &Held, path: &Path) -> Use {
    let found = held.open_to_read(path).and_then(|device| signature::of_device(&device));
    let more = match found {
        Ok(Some(found)) => format!("; it looks like {found}"),
        _ => String::new(),
    };
    Use::Claimed(format!("the kernel or another program has claimed it{more}"))
}

impl Guard<'_> {
    /// Whether somebody else has the file, or what stands for it in another layer, open for writing.
    pub(super) fn writers(&self, held: &Held, path: &Path) -> Writers {
        let layers = self.layers.get(&held.identity());
        writers_of(self.machine, (held, path), layers.map_or(&[], |found| &found.layers))
    }
}

impl Alone {
    /// Whether somebody else has a file, or what stands for it in another layer, open for writing now. Other
    /// runs of this program do not count, nor what nobody tells: a file of another account, or of a file
    /// system without leases.
    pub(crate) fn has_foreign_writer(&self, held: &Held, path: &Path) -> bool {
        let layers = self.layers_of(held.identity());
        writers_of(&Machine::this(), (held, path), &layers) == Writers::Some
    }

    /// Whether another program is seen in `/proc` to have an open file, or what stands for it in another
    /// layer, open for writing, whoever else has it open here.
    pub(crate) fn is_seen_open_elsewhere(&self, file: &File) -> bool {
        identity::of_open(file).is_ok_and(|identity| {
            let nodes = nodes_of(identity, &self.layers_of(identity));
            !writers::find(&Machine::this(), &nodes).by_node.is_empty()
        })
    }
}

fn nodes_of(identity: Identity, layers: &[Layer]) -> BTreeSet<Identity> {
    std::iter::once(identity).chain(layers.iter().map(|layer| layer.identity)).collect()
}

/// What the kernel tells of a file and of what stands for it in other layers.
fn writers_of(machine: &Machine, (held, path): (&Held, &Path), layers: &[Layer]) -> Writers {
    let nodes = nodes_of(held.identity(), layers);
    let mut files = vec![held.open_to_read(path).ok()];
    files.extend(layers.iter().map(|layer| open_layer(&layer.path, layer.identity)));
    for tried in 0..TRIES {
        match asked(&files) {
            Writers::Some if writers::is_ours(machine, &nodes) => return Writers::Unknown,
            Writers::Some if tried + 1 < TRIES => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
    Writers::Some
}

fn open_layer(path: &Path, identity: Identity) -> Option<File> {
    let held = Held::take(path).ok().filter(|held| held.identity() == identity)?;
    held.open_to_read(path).ok()
}

/// What the kernel tells of several files that are the same.
fn asked(files: &[Option<File>]) -> Writers {
    let each = files.iter().map(|file| file.as_ref().map_or(Writers::Unknown, lease::writers));
    let each: Vec<Writers> = each.collect();
    match () {
        () if each.contains(&Writers::Some) => Writers::Some,
        () if each.contains(&Writers::Unknown) => Writers::Unknown,
        () => Writers::None,
    }
}
