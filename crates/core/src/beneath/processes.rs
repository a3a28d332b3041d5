//! CPU time of all processes, to tell who else used the CPUs.

use std::collections::BTreeMap;

use super::cpu::TICK_NS;
use crate::tree::Tree;

/// More processes than this are not looked at.
const PROCESSES_MAX: usize = 8_192;
/// The flag of a thread of the kernel, `PF_KTHREAD` of include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// A process, and the CPU time that it used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessTime {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// A thread of the kernel.
    pub is_kernel: bool,
    /// When it began, which tells it from another with the same number, in ticks since the start.
    pub began: u64,
    /// CPU time, in nanoseconds.
    pub cpu_ns: u64,
}

/// All processes but this one, by number.
pub(super) fn read(tree: &Tree) -> BTreeMap<u32, ProcessTime> {
    let own = tree.text("proc/self/stat").and_then(|line| parse(&line)).map(|one| one.pid);
    let names = tree.names("proc").into_iter();
    let ids = names.filter(|name| name.starts_with(|c: char| c.is_ascii_digit()));
    let ids = ids.take(PROCESSES_MAX);
    let found = ids.filter_map(|id| parse(&tree.text(&format!("proc/{id}/stat"))?));
    found.filter(|one| Some(one.pid) != own).map(|one| (one.pid, one)).collect()
}

/// What each process used between two looks, the most first. Those that ended are not there any more.
pub(super) fn since(
    before: &BTreeMap<u32, ProcessTime>,
    after: BTreeMap<u32, ProcessTime>,
) -> Vec<ProcessTime> {
    let mut used: Vec<ProcessTime> = after
        .into_values()
        .map(|mut one| {
            let earlier = before.get(&one.pid).filter(|earlier| earlier.began == one.began);
            one.cpu_ns = one.cpu_ns.saturating_sub(earlier.map_or(0, |earlier| earlier.cpu_ns));
            one
        })
        .filter(|one| one.cpu_ns > 0)
        .collect();
    used.sort_by_key(|one| std::cmp::Reverse(one.cpu_ns));
    used
}

/// Reads a line of `proc_pid_stat(5)`. The name stands in brackets, and may hold some itself.
fn parse(line: &str) -> Option<ProcessTime> {
    let (pid, rest) = line.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(')')?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let number = |index: usize| words.get(index)?.parse::<u64>().ok();
    Some(ProcessTime {
        pid: pid.trim().parse().ok()?,
        name: name.to_owned(),
        is_kernel: number(6)? & KERNEL_THREAD != 0,
        began: number(19)?,
        cpu_ns: (number(11)? + number(12)?).saturating_mul(TICK_NS),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(pid: u32, name: &str, flags: u64, ticks: u64, began: u64) -> String {
        format!("{pid} ({name}) S 1 1 1 0 -1 {flags} 1 0 0 0 {ticks} 0 0 0 20 0 1 0 {began} 1 1")
    }

    #[test]
    fn numbers_that_were_used_again_are_no_negative_time() {
        let at = |lines: &[String]| {
            let found = lines.iter().map(|line| parse(line).expect("a line"));
            found.map(|one| (one.pid, one)).collect::<BTreeMap<_, _>>()
        };
        let before = at(&[
            line(3, "a b) (c", 0, 500, 7),
            line(4, "gone", 0, 10, 7),
            line(5, "idle", 0, 9, 7),
        ]);
        let after = at(&[
            line(3, "new", 0, 20, 90),
            line(5, "idle", 0, 9, 7),
            line(6, "kworker/0:1", KERNEL_THREAD, 30, 8),
        ]);
        let used = since(&before, after);
        let told: Vec<_> =
            used.iter().map(|one| (one.name.as_str(), one.is_kernel, one.cpu_ns)).collect();
        assert_eq!(told, [("kworker/0:1", true, 30 * TICK_NS), ("new", false, 20 * TICK_NS)]);
        assert_eq!(before[&3].name, "a b) (c");
    }
}
