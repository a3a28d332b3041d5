//! What is mounted, in every mount namespace that a process lives in.

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

/// The mounts of one namespace.
pub(crate) struct Table {
    /// A process that lives in it; absent if this one does.
    pub(super) pid: Option<u32>,
    pub(crate) mounts: Vec<Mount>,
}

/// The mounts of every namespace that a process lives in, those of this process first.
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
    let mut found = Vec::new();
    for table in tables {
        let seen_by = table.pid.map(|pid| machine.process(pid));
        found.extend(table.mounts.iter().filter_map(|mount| {
            let devices = devices_of(machine, mount, &groups)?;
            Some(Mounted { devices, place: mount.place.clone(), seen_by: seen_by.clone() })
        }));
    }
    found
}

/// The mounts of a process, unless those of its namespace have been read. A process that hides its
/// namespace is distinguished from others by what it sees.
fn unseen_table(machine: &Machine, process: &str, seen: &mut BTreeSet<String>) -> Option<String> {
    let namespace = machine.link(&format!("proc/{process}/ns/mnt"));
    let namespace = namespace.map(|link| link.to_string_lossy().into_owned());
    if namespace.as_ref().is_some_and(|name| seen.contains(name)) {
        return None;
    }
    let text = machine.files().text(&format!("proc/{process}/mountinfo"))?;
    let sight = || format!("{:x}", hasher().hash_one(&text));
    seen.insert(namespace.unwrap_or_else(sight)).then_some(text)
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
    match machine.identity(source.as_ref())? {
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
pub(super) fn swaps(machine: &Machine) -> Vec<Identity> {
    let text = machine.files().text("proc/swaps").unwrap_or_default();
    let names = text.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    names.filter_map(|name| machine.identity(&mounts::unescape(name))).collect()
}
