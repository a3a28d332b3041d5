//! Which file system a file lies on, and which devices that lies on.

use std::path::{Path, PathBuf};

use fathom_sys::device::mounts::{self, Mount};
use fathom_sys::identity::Identity;

use super::layers::{BY_PROCESS, Finder, LayerKind};
use super::servers::Server;
use crate::guard::machine::Number;
use crate::guard::mounts::btrfs_groups;

/// File systems that store nothing but in memory (Documentation/filesystems/tmpfs.rst and
/// ramfs-rootfs-initramfs.rst of the kernel).
pub(crate) const IN_MEMORY: [&str; 5] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "rootfs"];
/// File systems that a process of this host serves, or the host of this virtual machine.
const SERVED: [&str; 4] = ["fuse", "virtiofs", "9p", "vboxsf"];
/// What is said of a file system whose files a server on the network has.
pub(crate) const OVER_NETWORK: &str = "served over the network";
/// What the kernel adds to the path of a file that is no more.
const DELETED: &str = " (deleted)";

/// What lies beneath a file of this mount namespace.
pub(super) fn of_file(finder: &mut Finder<'_>, path: &Path, depth: usize) -> Option<usize> {
    let mount = read(finder).into_iter().rfind(|mount| mount.holds(path))?;
    Some(of_mount(finder, &mount, path, depth))
}

/// What lies beneath the file of a loop device. Its path may be another's, or nobody's, by now: the number
/// of its file system is what the kernel holds.
pub(super) fn of_backing_file(
    finder: &mut Finder<'_>,
    path: &str,
    number: Option<Number>,
    depth: usize,
) -> Option<usize> {
    let all = read(finder);
    let by_number = all.iter().rfind(|mount| Some(mount.number) == number);
    let plain = Path::new(path.strip_suffix(DELETED).unwrap_or(path));
    let by_path = || all.iter().rfind(|mount| mount.holds(plain));
    match by_number.or_else(by_path) {
        Some(mount) => Some(of_mount(finder, mount, plain, depth)),
        None => finder.device(number?, depth),
    }
}

fn read(finder: &Finder<'_>) -> Vec<Mount> {
    mounts::parse(&finder.machine.files().text("proc/self/mountinfo").unwrap_or_default())
}

fn of_mount(finder: &mut Finder<'_>, mount: &Mount, path: &Path, depth: usize) -> usize {
    let name = mount.file_system.as_str();
    let kind = name.split('.').next().unwrap_or(name);
    if IN_MEMORY.contains(&name) {
        return finder.leaf(name, LayerKind::Memory, "which lies in memory");
    }
    if mount.is_remote() || (SERVED.contains(&kind) && mount.number.0 == 0) {
        let server = Server::of_mount(mount);
        return finder.served(name, served_by(mount, kind), server);
    }
    // The files of an overlay may lie on different devices.
    let of = if name == "overlay" { path.display().to_string() } else { String::new() };
    let layer = finder.file_system(name, format!("{:?} {of}", mount.number));
    let below = match name {
        "overlay" => overlaid(finder, mount, path, depth + 1).into_iter().collect(),
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

/// The layer that holds a file of an overlay: the upper one, or the first lower one that has it. A file that
/// is opened for writing has been copied up before.
fn overlaid(finder: &mut Finder<'_>, mount: &Mount, path: &Path, depth: usize) -> Option<usize> {
    let options = options_of(finder, mount);
    let inside = path.strip_prefix(&mount.place).ok()?;
    let folders = ["upperdir", "lowerdir"].map(|name| option(&options, name));
    let folders = folders.into_iter().flatten();
    let folders: Vec<PathBuf> = folders.flat_map(|value| split_folders(&value)).collect();
    // Where whoever mounted it stood at that time, nothing tells.
    if folders.iter().any(|folder| folder.is_relative()) {
        return None;
    }
    let holder = folders.into_iter().map(|folder| folder.join(inside));
    let mut holder =
        holder.filter(|real| finder.machine.files().path(&real.to_string_lossy()).exists());
    let real = holder.next()?;
    finder.file(&real, depth)
}

/// The options of the file system of a mount, which stand last in its line.
fn options_of(finder: &Finder<'_>, mount: &Mount) -> String {
    let text = finder.machine.files().text("proc/self/mountinfo").unwrap_or_default();
    let number = format!("{}:{}", mount.number.0, mount.number.1);
    let line = text.lines().rfind(|line| line.split(' ').nth(2) == Some(number.as_str()));
    let options = line.and_then(|line| line.split_once(" - ")?.1.splitn(3, ' ').nth(2));
    options.unwrap_or_default().to_owned()
}

fn option(options: &str, name: &str) -> Option<String> {
    // Newer kernels show each lower layer by itself, as `lowerdir+`.
    let value = |one: &str| {
        let rest = one.strip_prefix(name)?;
        rest.strip_prefix('+').unwrap_or(rest).strip_prefix('=').map(str::to_owned)
    };
    let found: Vec<String> = options.split(',').filter_map(value).collect();
    let plain = |value: String| mounts::unescape(&value).to_string_lossy().into_owned();
    (!found.is_empty()).then(|| plain(found.join(":")))
}

/// Folders with colons between them; a colon of a name has a backslash before it.
fn split_folders(value: &str) -> Vec<PathBuf> {
    let marked = value.replace("\\:", "\0");
    let parts = marked.split(':').filter(|part| !part.is_empty());
    parts.map(|part| PathBuf::from(part.replace('\0', ":"))).collect()
}
