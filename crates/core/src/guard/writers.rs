//! Which other processes have something open for writing, or mapped so.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fathom_sys::device::mounts;
use fathom_sys::identity::{self, Identity};
use fathom_sys::process;

use super::machine::Machine;
use crate::tree::field;

/// What other processes have open.
#[derive(Debug, Default)]
pub(super) struct Writers {
    /// A process that has it open for writing, in words.
    pub(super) by_node: BTreeMap<Identity, String>,
    /// Processes that this one may not look into.
    pub(super) hidden: usize,
    /// A process with a socket through which descriptors are on their way, in words.
    pub(super) in_flight: Option<String>,
}

/// The first process, by number, that has each of `nodes` open for writing.
///
/// This process is left out, and so are other runs of this very program: two tests may share a target.
pub(super) fn find(machine: &Machine, nodes: &BTreeSet<Identity>) -> Writers {
    let mut writers = Writers::default();
    if nodes.is_empty() {
        return writers;
    }
    for pid in machine.processes().filter(|pid| *pid != std::process::id()) {
        match opened(machine, pid, nodes) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => writers.hidden += 1,
            Err(_) => {}
            Ok(found) if found.is_in_flight && writers.in_flight.is_none() => {
                writers.in_flight = Some(machine.process(pid));
                writers.enter(machine, pid, found);
            }
            Ok(found) => writers.enter(machine, pid, found),
        }
    }
    writers
}

/// Whether this process or another run of this program has one of `nodes` open for writing.
pub(super) fn is_ours(machine: &Machine, nodes: &BTreeSet<Identity>) -> bool {
    let own = std::process::id();
    let has = |pid: &u32| {
        (*pid == own || is_this_program(machine, *pid))
            && opened(machine, *pid, nodes).is_ok_and(|found| !found.nodes.is_empty())
    };
    std::iter::once(own).chain(machine.processes()).any(|pid| has(&pid))
}

impl Writers {
    fn enter(&mut self, machine: &Machine, pid: u32, found: Opened) {
        if found.nodes.is_empty() || is_this_program(machine, pid) {
            return;
        }
        for node in found.nodes {
            self.by_node.entry(node).or_insert_with(|| machine.process(pid));
        }
    }
}

/// What a process has open for writing.
#[derive(Default)]
struct Opened {
    nodes: BTreeSet<Identity>,
    /// Descriptors are on their way to it.
    is_in_flight: bool,
}

fn opened(machine: &Machine, pid: u32, nodes: &BTreeSet<Identity>) -> io::Result<Opened> {
    let mut found = Opened { nodes: mapped(machine, pid, nodes), is_in_flight: false };
    let has_device = nodes.iter().any(|node| matches!(node, Identity::Device(_)));
    for table in tables(machine, pid) {
        for entry in fs::read_dir(machine.files().path(&format!("{table}/fd")))?.flatten() {
            let Ok(node) = identity::of(&entry.path()) else { continue };
            let number = || entry.file_name().to_string_lossy().into_owned();
            if nodes.contains(&node) && is_for_writing(machine, &table, &number()) {
                found.nodes.insert(node);
            }
            // Files are asked for that themselves; devices are not.
            found.is_in_flight |= has_device
                && node == Identity::Other
                && has_descriptors(machine, &table, &number(), &entry.path());
        }
    }
    Ok(found)
}

/// The tables of open files of a process: its own, and those of threads that have one for themselves.
fn tables(machine: &Machine, pid: u32) -> Vec<String> {
    let own = format!("proc/{pid}");
    let threads = machine.files().names(&format!("{own}/task")).into_iter();
    let threads = threads.filter_map(|name| name.parse::<u32>().ok()).filter(|one| *one != pid);
    let alone = threads.filter(|one| process::share_open_files(pid, *one) == Some(false));
    let alone: Vec<String> = alone.map(|one| format!("{own}/task/{one}")).collect();
    std::iter::once(own).chain(alone).collect()
}

/// Whether descriptors are on their way through a socket (`scm_fds` of its `fdinfo`, since Linux 5.10).
fn has_descriptors(machine: &Machine, table: &str, descriptor: &str, link: &Path) -> bool {
    let is_socket = fs::read_link(link).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"));
    is_socket && {
        let text = machine.files().text(&format!("{table}/fdinfo/{descriptor}"));
        let count = text.as_deref().and_then(|text| field(text, "scm_fds"));
        count.is_some_and(|count| count != "0")
    }
}

/// The access mode stands in the two lowest bits of the octal flags: 1 is write, 2 is both (proc(5)).
fn is_for_writing(machine: &Machine, table: &str, descriptor: &str) -> bool {
    let text = machine.files().text(&format!("{table}/fdinfo/{descriptor}")).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & 3 != 0)
}

/// Files that are mapped for writing and shared, which needs no open descriptor any more.
fn mapped(machine: &Machine, pid: u32, nodes: &BTreeSet<Identity>) -> BTreeSet<Identity> {
    let inodes: BTreeSet<u64> = nodes.iter().filter_map(inode).collect();
    if inodes.is_empty() {
        return BTreeSet::new();
    }
    let text = machine.files().text(&format!("proc/{pid}/maps")).unwrap_or_default();
    let fitting = text.lines().filter_map(|line| shared_mapping(line, &inodes));
    let named = fitting.filter_map(|(range, path)| {
        let link = machine.files().path(&format!("proc/{pid}/map_files/{range}"));
        identity::of(&link).ok().or_else(|| machine.identity(&path))
    });
    named.filter(|node| nodes.contains(node)).collect()
}

fn inode(node: &Identity) -> Option<u64> {
    match node {
        Identity::File(file) => Some(file.inode),
        _ => None,
    }
}

/// Range and path of a line such as `7f00-7f10 rw-s 00000000 fe:00 1234   /a/path`, if it may be written,
/// is shared, and has one of these inodes.
fn shared_mapping<'a>(line: &'a str, inodes: &BTreeSet<u64>) -> Option<(&'a str, PathBuf)> {
    let (range, rest) = line.split_once(' ')?;
    // A process has thousands of mappings, and of nearly all of them this says enough.
    let [_, b'w', _, b's', ..] = rest.as_bytes() else { return None };
    let mut fields = rest.splitn(5, ' ');
    let inode = fields.nth(3)?.parse::<u64>().ok()?;
    let path = fields.next()?.trim();
    inodes.contains(&inode).then(|| (range, mounts::unescape(path)))
}

fn is_this_program(machine: &Machine, pid: u32) -> bool {
    let own = std::env::current_exe().unwrap_or_default();
    let is_ours =
        own.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"diskspd"));
    let other = machine.files().path(&format!("proc/{pid}/exe"));
    is_ours
        && identity::of(&own).is_ok_and(|own| identity::of(&other).is_ok_and(|other| own == other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shared_writable_mappings_of_the_inode_count() {
        let inodes = BTreeSet::from([1234]);
        let of = |line: &'static str| shared_mapping(line, &inodes).map(|(range, _)| range);
        assert_eq!(of("7f00-7f10 rw-s 00000000 fe:00 1234    /a b"), Some("7f00-7f10"));
        assert_eq!(of("7f00-7f10 r--s 00000000 fe:00 1234    /a b"), None);
        assert_eq!(of("7f00-7f10 rw-p 00000000 fe:00 1234    /a b"), None);
        assert_eq!(of("7f00-7f10 rw-s 00000000 fe:00 99      /a b"), None);
        assert_eq!(of("7f00-7f10 rw-p 00000000 00:00 0"), None);
    }
}
