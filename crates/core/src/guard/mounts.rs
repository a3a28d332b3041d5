//! What is mounted, in every mount namespace that a process lives in, as far as a process reaches it.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;

use fathom_sys::device::mounts::{self, Mount};
use fathom_sys::identity::Identity;

use super::machine::{Machine, Number, parse_number};

/// A mount of a block device.
#[derive(Debug)]
pub(super) struct Mounted {
    /// The devices that the file system lies on.
    pub(super) devices: Vec<Number>,
    pub(super) place: PathBuf,
    /// A process that sees it, in words; absent if this one does.
    pub(super) seen_by: Option<String>,
}

/// The mounts of one namespace, as far as they are reached from one root.
pub(crate) struct Table {
    /// A process that lives there; absent if this one does.
    pub(super) pid: Option<u32>,
    pub(crate) mounts: Vec<Mount>,
}

/// The mounts of every namespace that a process lives in, those of this process first. In a chroot only what
/// lies below that is seen of a namespace.
pub(crate) fn tables(machine: &Machine) -> Vec<Table> {
    let mut seen = BTreeSet::new();
    let own = std::iter::once(("self".to_owned(), None));
    let others = machine.processes().map(|pid| (pid.to_string(), Some(pid)));
    let read = |(process, pid): (String, Option<u32>)| {
        let text = unseen_table(machine, &process, &mut seen)?;
        Some(Table { pid, mounts: mounts::parse(&text) })
    };
    own.chain(others).filter_map(read).collect()
}

/// All mounts of block devices.
pub(super) fn all(machine: &Machine, tables: &[Table]) -> Vec<Mounted> {
    let groups = btrfs_groups(machine);
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for table in tables {
        let seen_by = table.pid.map(|pid| machine.process(pid));
        // From several roots of a namespace the same mount is seen.
        let mounts = table.mounts.iter().filter(|mount| seen.insert((mount.id, mount.number)));
        found.extend(mounts.filter_map(|mount| {
            let devices = devices_of(machine, mount, &groups)?;
            Some(Mounted { devices, place: mount.place.clone(), seen_by: seen_by.clone() })
        }));
    }
    found
}

/// The mounts of a process, unless those that are reached from its root have been read. A process that hides
/// its namespace or its root is distinguished from others by what it sees.
fn unseen_table(machine: &Machine, process: &str, seen: &mut BTreeSet<String>) -> Option<String> {
    let root = root_of(machine, process);
    if root.as_ref().is_some_and(|root| seen.contains(root)) {
        return None;
    }
    let text = machine.files().text(&format!("proc/{process}/mountinfo"))?;
    let sight = || format!("{:x}", hasher().hash_one(&text));
    seen.insert(root.unwrap_or_else(sight)).then_some(text)
}

/// What tells the root of a process from others: its namespace, its mount and its directory. Nothing if one
/// of them is hidden, or not told (the mount before Linux 5.8).
fn root_of(machine: &Machine, process: &str) -> Option<String> {
    let namespace = machine.link(&format!("proc/{process}/ns/mnt"))?;
    Some(format!("{} {}", namespace.display(), machine.root_of(process)?))
}

fn hasher() -> &'static RandomState {
    static HASHER: std::sync::OnceLock<RandomState> = std::sync::OnceLock::new();
    HASHER.get_or_init(RandomState::new)
}

/// File systems that may span devices show a number of their own, of major 0; their source tells.
fn device_of(machine: &Machine, mount: &Mount) -> Option<Number> {
    if mount.number.0 != 0 {
        return Some(mount.number);
    }
    let source = Some(&mount.source).filter(|source| source.starts_with('/'))?;
    match machine.file_or_device(source.as_ref())? {
        Identity::Device(number) => Some(number),
        _ => None,
    }
}

/// The devices that a file system lies on.
pub(super) fn devices_of(
    machine: &Machine,
    mount: &Mount,
    groups: &[(String, Vec<Number>)],
) -> Option<Vec<Number>> {
    Some(with_group(device_of(machine, mount)?, groups))
}

/// The devices of each Btrfs file system that is mounted, with its identifier.
pub(crate) fn btrfs_groups(machine: &Machine) -> Vec<(String, Vec<Number>)> {
    let files = machine.files();
    let devices = |uuid: &str| -> Vec<Number> {
        let names = files.names(&format!("sys/fs/btrfs/{uuid}/devices")).into_iter();
        let number = |name: String| {
            parse_number(&files.text(&format!("sys/fs/btrfs/{uuid}/devices/{name}/dev"))?)
        };
        names.filter_map(number).collect()
    };
    let uuids = files.names("sys/fs/btrfs").into_iter();
    let groups = uuids.map(|uuid| (uuid.clone(), devices(&uuid)));
    groups.filter(|(_, devices)| !devices.is_empty()).collect()
}

fn with_group(device: Number, groups: &[(String, Vec<Number>)]) -> Vec<Number> {
    let group = groups.iter().find(|(_, devices)| devices.contains(&device));
    group.map_or_else(|| vec![device], |(_, devices)| devices.clone())
}

/// What the system swaps to.
#[derive(Debug, Default)]
pub(super) struct Swaps {
    pub(super) nodes: Vec<Identity>,
    /// Devices that cannot be found from here, as the system names them.
    pub(super) unknown: Vec<PathBuf>,
}

/// What the system swaps to. A file that cannot be found from here is no doubt: the kernel itself lets nobody
/// write to it (`ETXTBSY`), and its device is mounted.
pub(super) fn swaps(machine: &Machine) -> Swaps {
    let text = machine.files().text("proc/swaps").unwrap_or_default();
    let mut swaps = Swaps::default();
    for line in text.lines().skip(1) {
        let mut fields = line.split_whitespace();
        let Some(path) = fields.next().map(mounts::unescape) else { continue };
        match machine.file_or_device(&path) {
            Some(found) => swaps.nodes.push(found),
            None if fields.next() == Some("file") => {}
            None => swaps.unknown.push(path),
        }
    }
    swaps
}
