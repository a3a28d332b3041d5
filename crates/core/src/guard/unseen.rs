//! What cannot be seen from here: said with the run, and refused under `--strict`.

use std::path::Path;

use fathom_sys::identity::Identity;
use fathom_sys::{kernel_files, process};

use super::mounts::Table;
use super::uses::Sight;
use super::{Guard, Held};

/// Whether `/proc` is mounted so that processes of other accounts are not listed (`hidepid`, `proc(5)`), and
/// this account is one that they are hidden from.
pub(super) fn hides_processes(tables: &[Table]) -> bool {
    let own = tables.iter().find(|table| table.pid.is_none());
    let mut own = own.into_iter().flat_map(|table| &table.mounts);
    let proc = own.rfind(|mount| mount.place == Path::new("/proc"));
    let hidden = ["hidepid=2", "hidepid=4", "hidepid=invisible", "hidepid=ptraceable"];
    // Process 1 is always there, and another account's unless this is root.
    proc.is_some_and(|mount| mount.options.split(',').any(|option| hidden.contains(&option)))
        && !Path::new("/proc/1").exists()
}

/// Why it is not certain what lies over and under the targets, as sentences; `is_certain` as for
/// [`Guard::doubts`]: a loop device that may be written has its file open for writing, and so has what the
/// system swaps to.
pub(super) fn of_layout(sight: &Sight<'_>, is_certain: bool) -> Vec<String> {
    let mut doubts = Vec::new();
    if !sight.blocks.is_shown {
        doubts.push(
            "/sys does not show the block devices here: which loop devices and volumes lie over or under a \
             target, and who uses those, cannot be seen."
                .to_owned(),
        );
    }
    let loops = sight.blocks.unknown_loops(is_certain);
    if !loops.is_empty() {
        let devices = if loops.len() == 1 { "loop device" } else { "loop devices" };
        doubts.push(format!(
            "What is behind the {devices} {} cannot be found from here: it may be a target.",
            loops.join(", ")
        ));
    }
    let unknown = sight.swaps.unknown.iter().map(|path| path.display().to_string());
    let unknown = unknown.collect::<Vec<_>>().join(", ");
    if !unknown.is_empty() && !is_certain {
        doubts.push(format!(
            "The system swaps to {unknown}, which cannot be found from here: it may lie on a target."
        ));
    }
    doubts
}

/// That the open files of some processes cannot be seen. Root lacks a capability where it may not look.
fn hidden_in_words(count: usize) -> String {
    let processes = if count == 1 { "process" } else { "processes" };
    if process::effective_user() == 0 {
        return format!(
            "The open files of {count} {processes} cannot be seen although this is root: CAP_SYS_PTRACE is \
             missing, or a security module forbids it."
        );
    }
    format!(
        "The open files of {count} {processes} of other accounts cannot be seen: run it as root to know that \
         none of them writes to a target."
    )
}

impl Guard<'_> {
    /// Why it is not certain that nobody else uses a target, as sentences.
    ///
    /// `is_certain` says that the kernel itself has told that nobody has it open for writing: then it does
    /// not matter which processes are seen from here.
    pub(super) fn doubts(&self, held: &Held, path: &Path, is_certain: bool) -> Vec<String> {
        let mut doubts = of_layout(&self.sight, is_certain);
        if let Ok(Some(served)) = kernel_files::served(held, path) {
            doubts.push(format!(
                "{} lies on a file system of type {served}: who uses it on another side of that cannot be \
                 seen.",
                path.display()
            ));
        }
        if self.layers.get(&held.identity()).is_some_and(|layered| layered.is_hidden) {
            doubts.push(format!(
                "{} lies on an overlay whose layers cannot be reached from here: who uses the file there \
                 cannot be seen.",
                path.display()
            ));
        }
        if matches!(held.identity(), Identity::File(_)) {
            doubts.extend(self.regions.doubt());
        }
        if !is_certain {
            doubts.extend(self.unseen_processes());
        }
        doubts
    }

    fn unseen_processes(&self) -> Vec<String> {
        let writers = self.sight.writers();
        let mut doubts = Vec::new();
        match process::sees_all_processes() {
            Some(true) => {}
            Some(false) => doubts.push(
                "This runs in a PID namespace of its own (a container): whether a process outside of it \
                 has a target open cannot be seen."
                    .to_owned(),
            ),
            None => doubts.push(
                "There is no /proc here: whether another process has a target open cannot be seen."
                    .to_owned(),
            ),
        }
        if !writers.are_listed {
            doubts.push(
                "The processes of this host cannot be listed: whether one of them has a target open cannot \
                 be seen."
                    .to_owned(),
            );
        }
        if writers.hidden > 0 {
            doubts.push(hidden_in_words(writers.hidden));
        }
        if writers.mapping_unknown > 0 {
            let processes =
                if writers.mapping_unknown == 1 { "process has" } else { "processes have" };
            doubts.push(format!(
                "What {} {processes} mapped for writing cannot be found from here: it may be a target.",
                writers.mapping_unknown
            ));
        }
        if self.hides_processes {
            doubts.push(
                "/proc is mounted so that it hides processes of other accounts (hidepid): whether one of \
                 them has a target open cannot be seen."
                    .to_owned(),
            );
        }
        if let Some(process) = &writers.registered {
            doubts.push(format!(
                "Files that may be a target are registered in an io_uring of {process}: whether it writes \
                 to them cannot be seen."
            ));
        }
        if let Some(process) = &writers.in_flight {
            doubts.push(format!(
                "Descriptors are on their way through a UNIX socket of {process}: what they are open for \
                 cannot be seen."
            ));
        }
        doubts
    }
}
