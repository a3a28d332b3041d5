//! Which file system a file lies on, and which devices that lies on.

use std::path::Path;

use fathom_sys::device::mounts::{self, Mount, Standing};
use fathom_sys::identity::Identity;
use fathom_sys::kernel_text::{is_in_memory, undeleted};

use super::layers::{BY_PROCESS, Finder, LayerKind};
use super::overlay;
use super::servers::Server;
use crate::guard::machine::Number;
use crate::guard::mounts::{btrfs_groups, tables};

/// File systems that store nothing but in memory (Documentation/filesystems/tmpfs.rst and
/// ramfs-rootfs-initramfs.rst of the kernel).
pub(crate) const IN_MEMORY: [&str; 5] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "rootfs"];
/// File systems that a process of this host serves, or the host of this virtual machine.
const SERVED: [&str; 4] = ["fuse", "virtiofs", "9p", "vboxsf"];
/// What is said of a file system whose files a server on the network has.
pub(crate) const OVER_NETWORK: &str = "served over the network";
/// What is said of a file system that no mount of this namespace shows.
pub(crate) const HIDDEN: &str = "whose mount cannot be seen from here";

/// What is said of a file system that writes all data more than once, with how often; as far as devices are
/// there for it.
pub(crate) const COPIES: [(&str, u64); 3] = [
    ("which writes all data twice", 2),
    ("which writes all data three times", 3),
    ("which writes all data four times", 4),
];
/// How often Btrfs writes data of these profiles (btrfs(5), "PROFILES"). What parity adds differs from write
/// to write.
const BTRFS_COPIES: [(&str, u64); 5] =
    [("dup", 2), ("raid1", 2), ("raid10", 2), ("raid1c3", 3), ("raid1c4", 4)];

/// What lies beneath a file. The kernel is asked for its mount: the text of its path may name one that lies
/// hidden beneath another, and a file of another process or namespace has no path here.
pub(super) fn of_file(finder: &mut Finder<'_>, path: &Path, depth: usize) -> Option<usize> {
    let all = read(finder);
    let standing = finder.machine.standing(path);
    if let Some(mount) = mounts::find(&all, path, standing) {
        return Some(of_mount(finder, mount, path, depth));
    }
    let memory = finder.machine.memory_file_system(path);
    Some(of_hidden(finder, standing?, memory, depth))
}

/// What lies beneath the file of a loop device. Its path may be another's, or nobody's, by now: the number
/// of its file system is what the kernel holds.
pub(super) fn of_backing_file(
    finder: &mut Finder<'_>,
    path: &Path,
    number: Option<Number>,
    depth: usize,
) -> Option<usize> {
    let plain = undeleted(path).unwrap_or(path);
    let memory = is_in_memory(path).then_some("tmpfs");
    let Some(number) = number else {
        return of_backing_path(finder, path, memory, depth);
    };
    let is_there = |found| matches!(found, Identity::File(id) if id.device == number);
    if finder.machine.identity(plain).is_some_and(is_there) {
        return finder.file(plain, depth);
    }
    let all = read(finder);
    let by_number = all.iter().rfind(|mount| mount.number == number);
    // Btrfs has a number for each subvolume, which no mount shows, but the folder of a deleted file does.
    let by_folder = || {
        let standing = finder.machine.standing(plain.parent()?)?;
        let is_same = standing.number == number;
        is_same.then(|| mounts::find(&all, plain, Some(standing))).flatten()
    };
    match by_number.or_else(by_folder) {
        Some(mount) => Some(of_mount(finder, mount, plain, depth)),
        None => Some(of_hidden(finder, Standing { mount: None, number }, memory, depth)),
    }
}

/// The same where only its path is known. A path that nobody has may be that of another namespace, or of
/// what is no longer mounted.
fn of_backing_path(
    finder: &mut Finder<'_>,
    path: &Path,
    memory: Option<&str>,
    depth: usize,
) -> Option<usize> {
    if let Some(name) = memory {
        return Some(in_memory(finder, name));
    }
    let plain = undeleted(path);
    if plain.is_none() && finder.machine.metadata(path).is_none() {
        return Some(finder.leaf("a file system", LayerKind::Unseen, HIDDEN));
    }
    finder.file(plain.unwrap_or(path), depth)
}

fn in_memory(finder: &mut Finder<'_>, name: &str) -> usize {
    finder.leaf(name, LayerKind::Memory, "which lies in memory")
}

/// What lies beneath a file of a file system that no mount of this namespace shows. Processes of other
/// namespaces may see it.
fn of_hidden(
    finder: &mut Finder<'_>,
    standing: Standing,
    memory: Option<&str>,
    depth: usize,
) -> usize {
    if let Some(name) = memory {
        return in_memory(finder, name);
    }
    let all: Vec<Mount> =
        tables(finder.machine).into_iter().flat_map(|table| table.mounts).collect();
    let by_id = all.iter().find(|mount| Some(mount.id) == standing.mount);
    let seen = by_id.or_else(|| all.iter().find(|mount| mount.number == standing.number));
    if let Some(mount) = seen {
        // Where the file stands there, no path of this namespace tells.
        return of_mount(finder, mount, Path::new(""), depth);
    }
    let (major, minor) = standing.number;
    let device = if major == 0 { None } else { finder.device(standing.number, depth) };
    device.unwrap_or_else(|| {
        finder.leaf(&format!("file system {major}:{minor}"), LayerKind::Unseen, HIDDEN)
    })
}

fn read(finder: &Finder<'_>) -> Vec<Mount> {
    mounts::parse(&finder.machine.files().text("proc/self/mountinfo").unwrap_or_default())
}

fn of_mount(finder: &mut Finder<'_>, mount: &Mount, path: &Path, depth: usize) -> usize {
    let name = mount.file_system.as_str();
    let kind = name.split('.').next().unwrap_or(name);
    if IN_MEMORY.contains(&name) {
        return in_memory(finder, name);
    }
    if mount.is_remote() || (SERVED.contains(&kind) && mount.number.0 == 0) {
        let server = Server::of_mount(mount);
        return finder.served(name, served_by(mount, kind), server);
    }
    // The files of an overlay may lie on different devices.
    let of = if name == "overlay" { path.display().to_string() } else { String::new() };
    let layer = finder.file_system(name, format!("{:?} {of}", mount.number));
    let below = match name {
        "overlay" => overlaid(finder, mount, path, depth).into_iter().collect(),
        _ => devices(finder, mount, depth + 1),
    };
    finder.lay(layer, below);
    if name == "btrfs"
        && let Some(words) = btrfs_copies_in_words(finder, mount)
    {
        finder.say(layer, words);
    }
    finder.serve(layer, Server::of_mount(mount));
    layer
}

fn served_by(mount: &Mount, kind: &str) -> &'static str {
    match kind {
        "virtiofs" | "vboxsf" => "served by the host of this virtual machine",
        "9p" => "served over 9p",
        "fuse" if !mount.is_remote() => BY_PROCESS,
        _ => OVER_NETWORK,
    }
}

/// The devices of a mount. File systems that may span devices show a number of their own, of major 0;
/// their source tells one device, and Btrfs the others.
fn devices(finder: &mut Finder<'_>, mount: &Mount, depth: usize) -> Vec<usize> {
    let numbers = if mount.number.0 == 0 { sources(finder, mount) } else { vec![mount.number] };
    numbers.into_iter().filter_map(|number| finder.device(number, depth)).collect()
}

fn sources(finder: &Finder<'_>, mount: &Mount) -> Vec<Number> {
    let found = named(finder, mount);
    btrfs_group(finder, &found).map_or(found, |(_, parts)| parts)
}

/// The devices that the source of a mount names.
fn named(finder: &Finder<'_>, mount: &Mount) -> Vec<Number> {
    // bcachefs names all of its devices, with colons between them.
    let named = mount.source.split(':').filter(|source| source.starts_with('/'));
    let number = |source: &str| match finder.machine.identity(Path::new(source))? {
        Identity::Device(number) => Some(number),
        _ => None,
    };
    named.filter_map(number).collect()
}

/// The Btrfs file system on any of these devices: its identifier, and all devices.
fn btrfs_group(finder: &Finder<'_>, found: &[Number]) -> Option<(String, Vec<Number>)> {
    let groups = btrfs_groups(finder.machine);
    groups.into_iter().find(|(_, parts)| found.iter().any(|one| parts.contains(one)))
}

/// How often Btrfs writes all data, if that is more than once and sure: a conversion leaves profiles side by
/// side, and what a missing device should hold is not written.
fn btrfs_copies_in_words(finder: &Finder<'_>, mount: &Mount) -> Option<&'static str> {
    let (uuid, _) = btrfs_group(finder, &named(finder, mount))?;
    let (files, place) = (finder.machine.files(), format!("sys/fs/btrfs/{uuid}"));
    let is_missing = |device: String| {
        let text = files.text(&format!("{place}/devinfo/{device}/missing"));
        text.is_some_and(|text| text.trim() != "0")
    };
    if files.names(&format!("{place}/devinfo")).into_iter().any(is_missing) {
        return None;
    }
    let has = |profile: &str| {
        let bytes = files.text(&format!("{place}/allocation/data/{profile}/total_bytes"));
        bytes.is_some_and(|bytes| bytes.trim() != "0")
    };
    let is_one_of_others = ["single", "raid0", "raid5", "raid6"].into_iter().any(has);
    let copies = BTRFS_COPIES.iter().filter(|(profile, _)| has(profile)).map(|(_, copies)| *copies);
    let least = copies.min().filter(|_| !is_one_of_others)?;
    COPIES.iter().find(|(_, copies)| *copies == least).map(|(words, _)| *words)
}

/// What lies beneath the data of a file of an overlay. A target that the load opens for writing is copied up
/// then, and what a loop device has open was so before.
fn overlaid(finder: &mut Finder<'_>, mount: &Mount, path: &Path, depth: usize) -> Option<usize> {
    let upper = mount.overlay().upper.filter(|_| finder.is_written && depth == 0);
    let real = match upper {
        // As whoever mounted it saw it: in a container nothing may have that path here.
        Some(upper) => {
            let is_here = upper.is_absolute() && finder.machine.metadata(&upper).is_some();
            is_here.then_some(upper)?
        }
        None => overlay::holder(finder.machine, mount, path)?,
    };
    finder.file(&real, depth + 1)
}
