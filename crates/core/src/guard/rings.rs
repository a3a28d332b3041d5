//! Files that are registered in a ring of `io_uring`: no descriptor of them needs to be open any more.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fathom_sys::device::mounts;
use fathom_sys::identity::Identity;
use fathom_sys::process;

use super::machine::Machine;
use crate::tree::field;

/// The kernel tells nothing of a ring that is just submitting.
const TRIES: u32 = 20;
/// How long it is waited for the next look.
const PAUSE: Duration = Duration::from_micros(500);

/// Whether one of `nodes` may be registered in a ring, by its `fdinfo`. For what access is not told there.
pub(super) fn may_have(
    machine: &Machine,
    root: &str,
    info: &impl Fn() -> io::Result<String>,
    nodes: &BTreeSet<Identity>,
) -> bool {
    for _ in 0..TRIES {
        match info() {
            Err(error) if process::is_gone(&error) => return false,
            Ok(text) => {
                if let Some(names) = registered(&text) {
                    return names.iter().any(|name| may_be(machine, root, name, nodes));
                }
            }
            Err(_) => {}
        }
        std::thread::sleep(PAUSE);
    }
    true
}

/// The names of the files that a ring has registered; nothing if the kernel does not tell them now.
fn registered(info: &str) -> Option<Vec<&str>> {
    let count: usize = field(info, "UserFiles")?.parse().ok()?;
    let lines = info.lines().skip_while(|line| !line.starts_with("UserFiles:")).skip(1);
    let lines = lines.take_while(|line| line.starts_with(' '));
    let names = lines.filter_map(|line| Some(line.split_once(':')?.1.trim()));
    let names: Vec<&str> = names.collect();
    // New kernels leave out the places that are free. What the ring waits for stands beside a whole list.
    let is_whole = info.lines().any(|line| line.starts_with("PollList:"));
    (count == 0 || !names.is_empty() || is_whole).then_some(names)
}

/// Whether a registered file may be one of `nodes`: by its path, as it is seen from here and from the root of
/// its process. Old kernels tell the last part only, which may stand for anything.
fn may_be(machine: &Machine, root: &str, name: &str, nodes: &BTreeSet<Identity>) -> bool {
    // Pipes, sockets and files in memory are none, nor is a place that is free.
    let has_no_path = !name.starts_with('/') && (name.starts_with('[') || name.contains(":["));
    if name.is_empty() || name == "<none>" || has_no_path || name.starts_with("/memfd:") {
        return false;
    }
    let path = mounts::unescape(name);
    let Ok(within) = path.strip_prefix("/") else { return true };
    let places: [PathBuf; 2] = [path.clone(), Path::new("/").join(root).join(within)];
    let found: Vec<Identity> = places.iter().filter_map(|at| machine.identity(at)).collect();
    found.is_empty() || found.iter().any(|one| nodes.contains(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_registered_files_are_read() {
        let ring = |rest: &str| format!("pos:\t0\nflags:\t02000002\nSqMask:\t0x3\n{rest}");
        let text = ring("UserFiles:\t2\n    0: /dev/sdb\n    1: <none>\nUserBufs:\t0\n    7: no\n");
        assert_eq!(registered(&text), Some(vec!["/dev/sdb", "<none>"]));
        assert_eq!(registered(&ring("UserFiles:\t0\nUserBufs:\t0\n")), Some(Vec::new()));
        // None of the places is taken.
        let free = ring("UserFiles:\t8\nUserBufs:\t0\nPollList:\nCqOverflowList:\n");
        assert_eq!(registered(&free), Some(Vec::new()));
        // It is busy: the lists are not told, or nothing at all.
        assert_eq!(registered(&ring("UserFiles:\t2\nUserBufs:\t0\n")), None);
        assert_eq!(registered(&ring("")), None);
    }
}
