//! Which other processes have something open for writing, or mapped so.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use fathom_sys::identity::{self, Identity};
use fathom_sys::{kernel_text, process};

use super::machine::Machine;
use super::mapped::{RING, mapped};
use super::rings;
use crate::tree::field;

/// What other processes have open.
#[derive(Debug)]
pub(super) struct Writers {
    /// A process that has it open for writing, in words.
    pub(super) by_node: BTreeMap<Identity, String>,
    /// Processes that this one may not look into.
    pub(super) hidden: usize,
    /// Processes that have mapped what cannot be found from here.
    pub(super) mapping_unknown: usize,
    /// A process with a socket through which descriptors are on their way, in words.
    pub(super) in_flight: Option<String>,
    /// A process in whose `io_uring` files are registered that may be what is looked for, in words.
    pub(super) registered: Option<String>,
    /// The processes could be listed.
    pub(super) are_listed: bool,
}

/// A process that was forked has all that its parent had open, until it runs its program: then looking again
/// finds nothing any more.
const AGAIN: Duration = Duration::from_millis(50);

/// The first process, by number, that has each of `nodes` open for writing, and goes on having it.
///
/// This process is left out, and so are other runs of this very program: two tests may share a target.
pub(super) fn find(machine: &Machine, nodes: &BTreeSet<Identity>) -> Writers {
    let found = look(machine, nodes);
    if found.by_node.is_empty() {
        return found;
    }
    thread::sleep(AGAIN);
    look(machine, nodes)
}

fn look(machine: &Machine, nodes: &BTreeSet<Identity>) -> Writers {
    let mut writers = Writers {
        by_node: BTreeMap::new(),
        hidden: 0,
        mapping_unknown: 0,
        in_flight: None,
        registered: None,
        are_listed: true,
    };
    if nodes.is_empty() {
        return writers;
    }
    let Ok(processes) = machine.numbers("proc") else {
        return Writers { are_listed: false, ..writers };
    };
    for pid in processes.into_iter().filter(|pid| *pid != std::process::id()) {
        writers.enter(machine, pid, opened(machine, pid, nodes));
    }
    writers
}

/// Whether this process or another run of this program has one of `nodes` open for writing.
pub(super) fn is_ours(machine: &Machine, nodes: &BTreeSet<Identity>) -> bool {
    let own = std::process::id();
    let has = |pid: &u32| {
        (*pid == own || is_this_program(machine, *pid))
            && !opened(machine, *pid, nodes).nodes.is_empty()
    };
    std::iter::once(own).chain(machine.processes()).any(|pid| has(&pid))
}

impl Writers {
    fn enter(&mut self, machine: &Machine, pid: u32, found: Opened) {
        self.hidden += usize::from(found.is_hidden);
        self.mapping_unknown += usize::from(found.has_mapped_unknown);
        if found.is_in_flight && self.in_flight.is_none() {
            self.in_flight = Some(machine.process(pid));
        }
        let has_something = !found.nodes.is_empty() || found.has_registered;
        if !has_something || is_this_program(machine, pid) {
            return;
        }
        if found.has_registered && self.registered.is_none() {
            self.registered = Some(machine.process(pid));
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
    /// Files are registered in a ring of it that may be what is looked for.
    has_registered: bool,
    /// It has a ring open.
    has_ring: bool,
    /// It has mapped something that may be what is looked for.
    has_mapped_unknown: bool,
    /// Not all that it has open can be seen.
    is_hidden: bool,
}

impl Opened {
    /// What was read of a process. What could not be read, and is not gone with it, is hidden.
    fn read<T>(&mut self, found: io::Result<T>) -> Option<T> {
        self.is_hidden |= found.as_ref().is_err_and(|error| !process::is_gone(error));
        found.ok()
    }
}

fn opened(machine: &Machine, pid: u32, nodes: &BTreeSet<Identity>) -> Opened {
    let mut found = Opened::default();
    let threads = found.read(machine.numbers(&format!("proc/{pid}/task"))).unwrap_or_default();
    for table in tables(pid, &threads) {
        let looked = look_into(machine, &table, nodes, &mut found);
        if found.read(looked).is_none() && found.is_hidden {
            // The files of its threads may not be looked at, either.
            break;
        }
    }
    // Whoever may not read the one may not read the other.
    if !found.is_hidden
        && let Some(mapped) = found.read(mapped(machine, (pid, &threads), nodes))
    {
        found.nodes.extend(mapped.nodes);
        found.has_mapped_unknown = mapped.has_unknown;
        // A ring whose descriptor is closed shows as a mapping only.
        found.has_registered |= mapped.has_ring && !found.has_ring;
    }
    found
}

/// The tables of open files of a process: its own, and those of threads of which it is not certain that they
/// share it.
fn tables(pid: u32, threads: &[u32]) -> impl Iterator<Item = String> {
    let alone = threads
        .iter()
        .filter(move |one| **one != pid && process::share_open_files(pid, **one) != Some(true));
    let alone = alone.map(move |one| format!("proc/{pid}/task/{one}"));
    std::iter::once(format!("proc/{pid}")).chain(alone)
}

fn look_into(
    machine: &Machine,
    table: &str,
    nodes: &BTreeSet<Identity>,
    found: &mut Opened,
) -> io::Result<()> {
    for entry in fs::read_dir(machine.files().path(&format!("{table}/fd")))? {
        let entry = entry?;
        let link = entry.path();
        let info = || {
            let number = entry.file_name();
            let name = format!("{table}/fdinfo/{}", number.to_string_lossy());
            kernel_text::read(&machine.files().path(&name))
        };
        match identity::of(&link) {
            Ok(node) if nodes.contains(&node) => {
                let flags = found.read(info());
                let is_for_writing = flags.map(|text| is_for_writing(&text));
                found.is_hidden |= is_for_writing == Some(None);
                found.nodes.extend((is_for_writing == Some(Some(true))).then_some(node));
            }
            Ok(Identity::Other) => look_behind(machine, (table, &link), info, (nodes, found)),
            // A file system of another account (FUSE) refuses a look, too, but shows where the link leads.
            Err(error) if is_denied(&error) => {
                let leads_to = fs::read_link(&link);
                let is_last = leads_to.as_ref().is_err_and(is_denied);
                found.read(leads_to);
                if is_last {
                    // The kernel asks who looks into which thread, not for which descriptor.
                    break;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// What may be open behind a descriptor that is no file itself: descriptors that are on their way through a
/// socket (`scm_fds` of its `fdinfo`, since Linux 5.10), and files that are registered in a ring.
fn look_behind(
    machine: &Machine,
    (table, link): (&str, &Path),
    info: impl Fn() -> io::Result<String>,
    (nodes, found): (&BTreeSet<Identity>, &mut Opened),
) {
    let Some(to) = found.read(fs::read_link(link)) else { return };
    let to = to.to_string_lossy();
    if to.starts_with("socket:") {
        let text = found.read(info()).unwrap_or_default();
        found.is_in_flight |= field(&text, "scm_fds").is_some_and(|count| count != "0");
    } else if to == RING {
        found.has_ring = true;
        if found.has_registered {
            return;
        }
        let root = format!("{table}/root");
        found.has_registered = rings::may_have(machine, &root, &info, nodes);
    }
}

/// The access mode stands in the two lowest bits of the octal flags: 1 is write, 2 is both (proc(5)).
fn is_for_writing(info: &str) -> Option<bool> {
    let flags = u32::from_str_radix(field(info, "flags")?, 8).ok()?;
    Some(flags & 3 != 0)
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
    use std::process::Command;

    use super::*;

    /// A file that had just been written was "open for writing" by what its writer had forked for something
    /// else, and not yet run.
    #[test]
    fn who_has_it_open_only_on_the_way_to_its_program_was_a_writer() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let nodes = BTreeSet::from([identity::of(file.path()).expect("its identity")]);
        let is_found = |seconds: &str| {
            let opened = fs::File::options().append(true).open(file.path()).expect("it");
            let mut child =
                Command::new("sleep").arg(seconds).stdin(opened).spawn().expect("sleep");
            let is_found = !find(&Machine::this(), &nodes).by_node.is_empty();
            let is_still_there = child.try_wait().expect("its state").is_none();
            child.kill().and_then(|()| child.wait()).expect("its end");
            (is_found, is_still_there)
        };
        assert_eq!(is_found("60"), (true, true));
        // On a busy machine it may last until after the second look.
        assert!((0..20).any(|_| is_found("0.02") == (false, false)));
    }
}
