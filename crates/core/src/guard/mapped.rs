//! What a process has mapped for writing and shared, which needs no open descriptor any more.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use fathom_sys::device::mounts;
use fathom_sys::identity::{self, Identity};
use fathom_sys::{kernel_text, process};

use super::machine::{Machine, Number};

/// How the kernel calls a ring of `io_uring`.
pub(super) const RING: &str = "anon_inode:[io_uring]";

/// What was found of the mappings of a process.
#[derive(Default)]
pub(super) struct Mapped {
    pub(super) nodes: BTreeSet<Identity>,
    /// Something is mapped that may be what is looked for.
    pub(super) has_unknown: bool,
    /// It has a ring of `io_uring`.
    pub(super) has_ring: bool,
}

/// Which of `nodes` a process, given with its threads, has mapped for writing and shared.
///
/// # Errors
/// If its mappings may not be read, or it is gone.
pub(super) fn mapped(
    machine: &Machine,
    (pid, threads): (u32, &[u32]),
    nodes: &BTreeSet<Identity>,
) -> io::Result<Mapped> {
    let mut found = Mapped::default();
    let has_device = nodes.iter().any(|node| matches!(node, Identity::Device(_)));
    let inodes: BTreeSet<u64> = nodes.iter().filter_map(inode).collect();
    let text = mappings_of(machine, pid, threads)?;
    let mut seen = BTreeSet::new();
    for one in text.lines().filter_map(Mapping::parse) {
        found.has_ring |= one.path == RING;
        // A device is mapped through the inode of its node, which says nothing.
        let may_be = has_device || inodes.contains(&one.inode);
        if !may_be || !seen.insert((one.device, one.inode)) {
            continue;
        }
        // A path may mean something else here than it does to the process.
        let by_numbers = nodes.iter().copied().find(|node| one.is_file(node));
        match by_numbers.or_else(|| one.identity(machine, pid)) {
            Some(node) => found.nodes.extend(Some(node).filter(|node| nodes.contains(node))),
            None => found.has_unknown |= !one.is_memory(),
        }
    }
    Ok(found)
}

/// The text of the mappings. A process whose first thread has ended shows them by its other threads only.
fn mappings_of(machine: &Machine, pid: u32, threads: &[u32]) -> io::Result<String> {
    let read = |name: String| kernel_text::read(&machine.files().path(&name));
    let text = match read(format!("proc/{pid}/maps")) {
        Err(error) if process::is_gone(&error) => String::new(),
        text => text?,
    };
    if !text.is_empty() {
        return Ok(text);
    }
    for thread in threads.iter().filter(|one| **one != pid) {
        match read(format!("proc/{pid}/task/{thread}/maps")) {
            Ok(text) if !text.is_empty() => return Ok(text),
            Err(error) if !process::is_gone(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(text)
}

fn inode(node: &Identity) -> Option<u64> {
    match node {
        Identity::File(file) => Some(file.inode),
        _ => None,
    }
}

/// A mapping that may be written and is shared.
struct Mapping<'a> {
    range: &'a str,
    /// Of the file system.
    device: Number,
    inode: u64,
    path: &'a str,
}

impl<'a> Mapping<'a> {
    /// Reads a line such as `7f00-7f10 rw-s 00000000 fe:00 1234   /a/path`; nothing if it is another mapping.
    fn parse(line: &'a str) -> Option<Self> {
        let (range, rest) = line.split_once(' ')?;
        // A process has thousands of mappings, and of nearly all of them this says enough.
        let [_, b'w', _, b's', ..] = rest.as_bytes() else { return None };
        let mut fields = rest.splitn(5, ' ').skip(2);
        let (major, minor) = fields.next()?.split_once(':')?;
        let hex = |text: &str| u32::from_str_radix(text, 16).ok();
        let device = (hex(major)?, hex(minor)?);
        let inode = fields.next()?.parse::<u64>().ok()?;
        Some(Self { range, device, inode, path: fields.next()?.trim() })
    }

    /// What is mapped: as the kernel shows it to root, or else by its path.
    fn identity(&self, machine: &Machine, pid: u32) -> Option<Identity> {
        let link = machine.files().path(&format!("proc/{pid}/map_files/{}", self.range));
        let path = || -> PathBuf { mounts::unescape(self.path) };
        identity::of(&link).ok().or_else(|| machine.identity(&path()))
    }

    /// Whether it is this file, by the numbers that stand in the line.
    fn is_file(&self, node: &Identity) -> bool {
        matches!(node, Identity::File(file) if (file.device, file.inode) == (self.device, self.inode))
    }

    /// Whether it is memory that has a name only.
    fn is_memory(&self) -> bool {
        let has_no_path = self.path.starts_with("anon_inode:") || self.path.starts_with("/dmabuf:");
        has_no_path || self.inode == 0 || kernel_text::is_in_memory(Path::new(self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shared_writable_mappings_count() {
        let of = |line: &'static str| {
            Mapping::parse(line).map(|one| (one.range, one.device, one.inode, one.path))
        };
        let found = ("7f00-7f10", (0xFE, 0), 1234, "/a b");
        assert_eq!(of("7f00-7f10 rw-s 00000000 fe:00 1234    /a b"), Some(found));
        assert_eq!(of("7f00-7f10 r--s 00000000 fe:00 1234    /a b"), None);
        assert_eq!(of("7f00-7f10 rw-p 00000000 fe:00 1234    /a b"), None);
        assert_eq!(of("7f00-7f10 rw-p 00000000 00:00 0"), None);
    }
}
