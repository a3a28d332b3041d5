//! Limits of the control groups that this process is in, of version 1 and 2 (`cgroups(7)`, and
//! `Documentation/admin-guide/cgroup-v2.rst` of the kernel).

use fathom_sys::cpu::parse_list;

use super::Finding;
use super::tree::Tree;
use crate::control_groups;

/// Threads of some hundred targets, with room to spare.
const TASKS_LEFT: u64 = 1024;

pub fn examine(tree: &Tree) -> Vec<Finding> {
    let groups = control_groups::of_this_process(tree);
    if groups.is_empty() {
        return Vec::new();
    }
    let mut findings: Vec<Finding> = Vec::new();
    for group in &groups {
        findings.extend(cpu_set(tree, &group.folders));
        for folder in &group.folders {
            findings.extend(cpu(tree, folder));
            findings.extend(io(tree, folder));
            findings.extend(memory(tree, folder));
            findings.extend(tasks(tree, folder));
        }
    }
    if findings.is_empty() {
        let named = groups.iter().map(|group| group.controllers.as_str()).collect::<Vec<_>>();
        let named = named.join(" ").trim().to_owned();
        let words = if named.is_empty() { "version 2".to_owned() } else { named };
        findings.push(Finding::good(
            "control groups",
            format!("No control group limits CPUs, I/O or memory of this process ({words})."),
        ));
    }
    findings
}

fn cpu(tree: &Tree, folder: &str) -> Option<Finding> {
    let cpus = control_groups::cpus(tree, folder)?;
    Some(Finding::slow(
        "control group: CPU",
        format!(
            "{folder} allows {cpus:.2} CPUs; threads that use more are stopped for milliseconds."
        ),
        "Raise or remove cpu.max of the group (with Docker --cpus, with Kubernetes limits.cpu).",
    ))
}

/// How many CPUs the groups leave to this process, as far as any of them says so.
pub(super) fn cpus_left(tree: &Tree) -> Option<usize> {
    let groups = control_groups::of_this_process(tree);
    groups.iter().filter_map(|group| Some(effective(tree, &group.folders)?.1)).min()
}

/// The innermost group that says which CPUs it leaves, how many, and which.
fn effective(tree: &Tree, folders: &[String]) -> Option<(String, usize, String)> {
    let files = ["cpuset.cpus.effective", "cpuset.effective_cpus"];
    let set = |folder: &String| {
        let text = files.iter().find_map(|file| tree.text(&format!("{folder}/{file}")))?;
        Some((folder.clone(), parse_list(&text).len(), text))
    };
    folders.iter().rev().find_map(set)
}

/// The CPUs that are left to this process by the groups down to its own, if they are not all.
fn cpu_set(tree: &Tree, folders: &[String]) -> Option<Finding> {
    let (folder, count, cpus) = effective(tree, folders)?;
    let online = parse_list(&tree.text("sys/devices/system/cpu/online")?).len();
    if count == 0 || count >= online {
        return None;
    }
    Some(Finding::slow(
        "control group: CPU",
        format!("{folder} allows {count} of {online} CPUs: {}.", cpus.trim()),
        "Give the group more of them: cpuset.cpus (Docker calls it cpuset-cpus).",
    ))
}

/// `io.max` of version 2, and the throttles of version 1: one line per device.
fn io(tree: &Tree, folder: &str) -> Vec<Finding> {
    let files = [
        "io.max",
        "blkio.throttle.read_bps_device",
        "blkio.throttle.write_bps_device",
        "blkio.throttle.read_iops_device",
        "blkio.throttle.write_iops_device",
    ];
    let mut findings = Vec::new();
    for file in files {
        let text = tree.text(&format!("{folder}/{file}")).unwrap_or_default();
        for line in text.lines().filter(|line| is_limit(line)) {
            findings.push(Finding::slow(
                "control group: I/O",
                format!("{folder}/{file} limits a device: {}.", line.trim()),
                "Raise or remove the limit for the measurement, or measure outside of the group.",
            ));
        }
    }
    findings
}

/// Whether a line such as `8:0 rbps=1048576 wbps=max` or `8:0 1048576` limits its device.
fn is_limit(line: &str) -> bool {
    let limits = line.split_whitespace().skip(1);
    let mut numbers = limits.map(|limit| limit.rsplit('=').next().unwrap_or(limit));
    numbers.any(|number| number.parse::<u64>().is_ok_and(|number| number > 0))
}

fn memory(tree: &Tree, folder: &str) -> Option<Finding> {
    let mib = control_groups::memory_limit(tree, folder, control_groups::ALL_LIMITS)? >> 20;
    Some(Finding::unsteady(
        "control group: memory",
        format!("{folder} allows {mib} MiB, and the page cache of the files that are read counts."),
        "Keep it in mind when the page cache is measured; past it (-Su) the limit does not matter.",
    ))
}

/// `pids.max` counts threads, too, of all processes of the group (`pids.rst` of the kernel).
fn tasks(tree: &Tree, folder: &str) -> Option<Finding> {
    let number = |file| u64::try_from(tree.number(&format!("{folder}/{file}"))?).ok();
    let most = number("pids.max")?;
    let there = number("pids.current").unwrap_or(0);
    if most.saturating_sub(there) >= TASKS_LEFT {
        return None;
    }
    Some(Finding::slow(
        "control group: threads",
        format!(
            "{folder} allows {most} processes and threads, of which {there} are there; a run starts its own."
        ),
        "Raise pids.max of the group (Docker calls it pids-limit, systemd TasksMax), or use fewer threads (-t).",
    ))
}
