//! Whether a pinned thread was still pinned when it ended.

use fathom_sys::cpu;

use crate::measure::Migrated;
use crate::plan::ThreadPlan;

/// The CPU that a thread has been pinned to.
pub(super) struct Place {
    os_id: u32,
    online_mark: Option<u64>,
}

impl Place {
    /// Where the calling thread has been pinned; nothing if the scheduler has the choice.
    pub(super) fn of(thread: &ThreadPlan) -> Option<Self> {
        let os_id = u32::try_from(thread.cpu?.os_id).ok()?;
        Some(Self { os_id, online_mark: cpu::online_mark(os_id) })
    }

    /// Where the calling thread may run now, unless that is its place alone.
    ///
    /// When a CPU goes offline, the kernel lets its threads run on all others, for good
    /// (`select_fallback_rq` of kernel/sched/core.c).
    pub(super) fn migrated(&self) -> Option<Migrated> {
        let allowed = cpu::usable().ok()?;
        self.strayed_to(allowed, cpu::online_mark(self.os_id))
    }

    fn strayed_to(&self, allowed: Vec<u32>, online_mark: Option<u64>) -> Option<Migrated> {
        let was_offline = self.online_mark != online_mark;
        (allowed != [self.os_id]).then_some(Migrated { allowed_os_cpus: allowed, was_offline })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_thread_that_may_run_elsewhere_has_migrated() {
        let place = Place { os_id: 1, online_mark: Some(7) };
        assert_eq!(place.strayed_to(vec![1], Some(7)), None);
        // Offline and back again while the thread was on no CPU at all: it was not moved.
        assert_eq!(place.strayed_to(vec![1], Some(8)), None);
        let migrated = |allowed: &[u32], was_offline| {
            Some(Migrated { allowed_os_cpus: allowed.to_vec(), was_offline })
        };
        assert_eq!(place.strayed_to(vec![0], None), migrated(&[0], true));
        assert_eq!(place.strayed_to(vec![0, 1], Some(8)), migrated(&[0, 1], true));
        assert_eq!(place.strayed_to(vec![0, 1], Some(7)), migrated(&[0, 1], false));
        assert_eq!(place.strayed_to(vec![0], Some(7)), migrated(&[0], false));
    }
}
