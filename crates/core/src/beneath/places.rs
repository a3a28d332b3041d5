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
    // bcachefs names all of its devices, with colons between them.
    let named = mount.source.split(':').filter(|source| source.starts_with('/'));
    let number = |source: &str| match finder.machine.identity(Path::new(source))? {
        Identity::Device(number) => Some(number),
        _ => None,
    };
    let found: Vec<Number> = named.filter_map(number).collect();
    let groups = btrfs_groups(finder.machine);
    let group = groups.into_iter().find(|(_, parts)| found.iter().any(|one| parts.contains(one)));
    group.map_or(found, |(_, parts)| parts)
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
