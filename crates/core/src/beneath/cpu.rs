//! Where the CPU time of the machine goes: to this process, to others, to the hypervisor.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tree::Tree;
use crate::units::NANOS_PER_SEC;

/// The unit of times in `/proc`, which is the same on every Linux of today (time(7)).
pub(super) const TICK_NS: u64 = NANOS_PER_SEC / 100;

/// CPU time over all CPUs and of this process, in nanoseconds since some instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuReading {
    /// All CPUs, in user mode.
    pub user_ns: u64,
    /// All CPUs, in the kernel, without interrupts.
    pub system_ns: u64,
    /// All CPUs, in interrupts and what they leave for later.
    pub interrupts_ns: u64,
    /// All CPUs, idle.
    pub idle_ns: u64,
    /// All CPUs, taken by the hypervisor.
    pub stolen_ns: u64,
    /// This process, in user mode.
    pub own_user_ns: u64,
    /// This process, in the kernel.
    pub own_system_ns: u64,
}

impl CpuReading {
    /// Those of now.
    pub(crate) fn read(tree: &Tree) -> Option<Self> {
        let stat = tree.text("proc/stat")?;
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> =
            line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0).saturating_mul(TICK_NS);
        let own = own_times(&tree.text("proc/self/stat")?)?;
        // user nice system idle iowait irq softirq steal (proc_stat(5)); guest time is in user.
        Some(Self {
            user_ns: at(0) + at(1),
            system_ns: at(2),
            idle_ns: at(3) + at(4),
            interrupts_ns: at(5) + at(6),
            stolen_ns: at(7),
            own_user_ns: own.0,
            own_system_ns: own.1,
        })
    }

    /// What was spent since an earlier look.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            interrupts_ns: self.interrupts_ns.saturating_sub(earlier.interrupts_ns),
            idle_ns: self.idle_ns.saturating_sub(earlier.idle_ns),
            stolen_ns: self.stolen_ns.saturating_sub(earlier.stolen_ns),
            own_user_ns: self.own_user_ns.saturating_sub(earlier.own_user_ns),
            own_system_ns: self.own_system_ns.saturating_sub(earlier.own_system_ns),
        }
    }
}

/// User and system time of a process, from a line of `proc_pid_stat(5)`: the name may hold blanks.
fn own_times(line: &str) -> Option<(u64, u64)> {
    let (_, rest) = line.rsplit_once(')')?;
    let mut words = rest.split_whitespace().skip(11);
    let mut ticks = || words.next()?.parse::<u64>().ok();
    Some((ticks()?.saturating_mul(TICK_NS), ticks()?.saturating_mul(TICK_NS)))
}

/// How long something has waited for a resource (`Documentation/accounting/psi.rst`), in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pressure {
    /// Some task waited for I/O.
    pub io_ns: u64,
    /// Some task waited for memory.
    pub memory_ns: u64,
}

impl Pressure {
    /// That of now; nothing if the kernel does not tell.
    pub(crate) fn read(tree: &Tree) -> Option<Self> {
        let of = |kind: &str| -> Option<u64> {
            let text = tree.text(&format!("proc/pressure/{kind}"))?;
            let some = text.lines().find(|line| line.starts_with("some "))?;
            let total_us: u64 = some
                .split_whitespace()
                .find_map(|word| word.strip_prefix("total="))?
                .parse()
                .ok()?;
            Some(total_us.saturating_mul(1_000))
        };
        Some(Self { io_ns: of("io")?, memory_ns: of("memory")? })
    }

    /// What was waited since an earlier look.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            io_ns: self.io_ns.saturating_sub(earlier.io_ns),
            memory_ns: self.memory_ns.saturating_sub(earlier.memory_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_may_hold_anything() {
        let rest = "S 1 1 1 0 -1 4194304 1 0 0 0 250 30 0 0 20 0 1 0 5 1 1 1";
        for name in ["diskspd", "a b", "a) S 1 (b"] {
            let line = format!("7 ({name}) {rest}");
            assert_eq!(own_times(&line), Some((250 * TICK_NS, 30 * TICK_NS)), "{name}");
        }
        assert_eq!(own_times("7 (cut"), None);
    }
}
