//! What this process may do: `io_uring`, locked memory, open files, filters of system calls, CPUs.

use fathom_sys::cpu::parse_list;

use super::tree::{Tree, field};
use super::{Finding, cgroup};
use crate::plan::facts::EngineAvailability;

const MIB: u64 = 1 << 20;
/// Registered buffers of 16 threads × 128 I/Os × 4 KiB, with room to spare.
const LOCKED_BYTES: u64 = 64 * MIB;
/// Enough for a thousand targets with a few threads each.
const OPEN_FILES: u64 = 4096;
/// The bit of `CAP_IPC_LOCK`, whose holder needs no limit of locked memory (`capabilities(7)`).
const CAP_IPC_LOCK: u32 = 14;

pub fn examine(tree: &Tree, engines: &EngineAvailability) -> Vec<Finding> {
    let mut findings = vec![io_uring(tree, engines)];
    findings.extend(locked_memory(tree));
    findings.extend(open_files(tree));
    findings.extend(system_call_filter(tree));
    findings.extend(affinity(tree));
    findings
}

fn io_uring(tree: &Tree, engines: &EngineAvailability) -> Finding {
    let subject = "io_uring";
    let Err(reason) = &engines.uring else {
        return Finding::good(subject, "io_uring works.");
    };
    let sysctl = tree.number("proc/sys/kernel/io_uring_disabled").unwrap_or(0);
    let remedy = match sysctl {
        0 => "Allow io_uring in the sandbox: with Docker, --security-opt seccomp=unconfined.",
        1 => {
            "Join the group of the sysctl kernel.io_uring_group, or set kernel.io_uring_disabled to 0."
        }
        _ => "Set the sysctl kernel.io_uring_disabled to 0.",
    };
    let evidence = format!("I/O falls back to slower interfaces, because {reason}.");
    Finding::slow(subject, evidence, remedy)
}

/// Both columns of a line of `/proc/self/limits`; `unlimited` is the greatest number.
fn limit(tree: &Tree, name: &str) -> Option<(u64, u64)> {
    let text = tree.text("proc/self/limits")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let mut columns = line.split_whitespace().map(|word| match word {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    });
    Some((columns.next()??, columns.next()??))
}

fn locked_memory(tree: &Tree) -> Option<Finding> {
    let (soft, _) = limit(tree, "Max locked memory")?;
    let subject = "locked memory";
    let capabilities = tree.text("proc/self/status");
    let capabilities = capabilities.as_deref().and_then(|text| field(text, "CapEff"));
    let capabilities = capabilities.and_then(|text| u64::from_str_radix(text, 16).ok());
    if capabilities.is_some_and(|bits| bits >> CAP_IPC_LOCK & 1 == 1) {
        return Some(Finding::good(subject, "This process may lock any amount of memory."));
    }
    if soft >= LOCKED_BYTES {
        let words = format!("The limit leaves room for registered buffers ({} MiB).", soft / MIB);
        return Some(Finding::good(subject, words));
    }
    Some(Finding::slow(
        subject,
        format!(
            "No more than {} KiB may be locked; buffers beyond it are not registered.",
            soft >> 10
        ),
        "Raise the limit: ulimit -l unlimited, or LimitMEMLOCK=infinity of the service.",
    ))
}

fn open_files(tree: &Tree) -> Option<Finding> {
    let (_, hard) = limit(tree, "Max open files")?;
    let subject = "open files";
    if hard >= OPEN_FILES {
        return Some(Finding::good(subject, format!("This process may open {hard} files.")));
    }
    Some(Finding::slow(
        subject,
        format!("No more than {hard} files can be open; each thread opens each of its targets."),
        "Raise the hard limit: ulimit -Hn 1048576, or LimitNOFILE= of the service.",
    ))
}

/// The CPUs that this process may use, where whoever started it left it fewer than its control groups do.
fn affinity(tree: &Tree) -> Option<Finding> {
    let status = tree.text("proc/self/status")?;
    let allowed = field(&status, "Cpus_allowed_list")?;
    let online = parse_list(&tree.text("sys/devices/system/cpu/online")?).len();
    let there = cgroup::cpus_left(tree).map_or(online, |left| left.min(online));
    let count = parse_list(allowed).len();
    if count >= there {
        return None;
    }
    Some(Finding::slow(
        "CPU affinity",
        format!("This process may use {count} of {there} CPUs: {allowed}."),
        "Start it with all of them (taskset -c), or without CPUAffinity= of its service.",
    ))
}

fn system_call_filter(tree: &Tree) -> Option<Finding> {
    let status = tree.text("proc/self/status")?;
    let subject = "system call filter";
    if field(&status, "Seccomp")? != "2" {
        return Some(Finding::good(subject, "No filter looks at system calls."));
    }
    Some(Finding::slow(
        subject,
        "A seccomp filter, as of a container, runs at each system call.".to_owned(),
        "Measure outside of the container, or with --security-opt seccomp=unconfined.",
    ))
}
