//! CPUs: the time that each of them spent, which of them went or came, and threads that lost theirs.

/// Time that one CPU spent, by state, in any one unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// The kernel's number of the CPU.
    pub os_id: usize,
    /// In user mode.
    pub user: u64,
    /// In the kernel, interrupts included.
    pub kernel: u64,
    /// Idle, waiting for I/O included.
    pub idle: u64,
    /// Taken by the hypervisor.
    pub steal: u64,
    /// Differs each time that the CPU has been put online; 0 if the kernel does not tell.
    pub online_mark: u64,
}

/// A CPU that was not online during the whole measured time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwayCpu {
    /// The kernel's number of the CPU.
    pub os_id: usize,
    /// When it was away.
    pub when: Away,
}

/// When a CPU was offline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Away {
    /// When the measured time began. What it did since cannot be told.
    AtTheBeginning,
    /// At some time between beginning and end. The kernel counts nothing for it meanwhile.
    Between,
    /// When the measured time ended. What it did before cannot be told any more.
    AtTheEnd,
}

/// Where a thread ended up that was not on the CPU any more that it had been pinned to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    /// The CPUs that it could run on at its end, by the kernel's numbers, ascending.
    pub allowed_os_cpus: Vec<u32>,
    /// Its CPU was taken offline, whereupon the kernel lets the thread run on any other.
    pub was_offline: bool,
}

/// What each CPU spent between two looks, and the CPUs that were not online all the time. Those that were
/// offline at either look are left out of the first; both are empty if a look found nothing.
#[must_use]
pub fn cpu_difference(before: &[CpuTimes], after: &[CpuTimes]) -> (Vec<CpuTimes>, Vec<AwayCpu>) {
    if before.is_empty() || after.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let find = |among: &[CpuTimes], os_id| among.iter().find(|cpu| cpu.os_id == os_id).copied();
    let (mut spent, mut away) = (Vec::new(), Vec::new());
    for later in after {
        let Some(earlier) = find(before, later.os_id) else {
            away.push(AwayCpu { os_id: later.os_id, when: Away::AtTheBeginning });
            continue;
        };
        if earlier.online_mark != later.online_mark {
            away.push(AwayCpu { os_id: later.os_id, when: Away::Between });
        }
        spent.push(since(later, &earlier));
    }
    let gone = before.iter().filter(|cpu| find(after, cpu.os_id).is_none());
    away.extend(gone.map(|cpu| AwayCpu { os_id: cpu.os_id, when: Away::AtTheEnd }));
    (spent, away)
}

fn since(later: &CpuTimes, earlier: &CpuTimes) -> CpuTimes {
    CpuTimes {
        os_id: later.os_id,
        user: later.user.saturating_sub(earlier.user),
        kernel: later.kernel.saturating_sub(earlier.kernel),
        // It may go back a little, as proc_stat(5) says of the time that waits for I/O.
        idle: later.idle.saturating_sub(earlier.idle),
        steal: later.steal.saturating_sub(earlier.steal),
        online_mark: later.online_mark,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(os_id: usize, ticks: u64, online_mark: u64) -> CpuTimes {
        CpuTimes { os_id, user: ticks, kernel: ticks, idle: 100 + ticks, steal: 0, online_mark }
    }

    #[test]
    fn cpus_that_go_come_or_are_away_for_a_while_are_told() {
        let before = [cpu(0, 10, 7), cpu(1, 20, 8), cpu(2, 30, 9)];
        let after = [cpu(0, 15, 7), cpu(2, 33, 12), cpu(3, 1, 13)];
        let (spent, away) = cpu_difference(&before, &after);
        assert_eq!(
            spent.iter().map(|one| (one.os_id, one.user)).collect::<Vec<_>>(),
            [(0, 5), (2, 3)]
        );
        let away: Vec<_> = away.iter().map(|one| (one.os_id, one.when)).collect();
        assert_eq!(away, [(2, Away::Between), (3, Away::AtTheBeginning), (1, Away::AtTheEnd)]);
    }

    #[test]
    fn counters_that_go_back_give_nothing_instead_of_an_eternity() {
        let (spent, away) = cpu_difference(&[cpu(0, 10, 0)], &[cpu(0, 4, 0)]);
        assert_eq!(spent, [CpuTimes::default()]);
        assert!(away.is_empty());
    }

    #[test]
    fn where_the_kernel_tells_nothing_no_cpu_has_come_or_gone() {
        for (before, after) in [(&[cpu(0, 1, 1)][..], &[][..]), (&[], &[cpu(0, 1, 1)])] {
            assert_eq!(cpu_difference(before, after), (Vec::new(), Vec::new()));
        }
    }
}
