//! The CPU time that a worker uses during the measured time.

use fathom_sys::clock::{ThreadCpu, thread_cpu};

use crate::engine::clock::Schedule;
use crate::engine::run_queue::RunQueue;

/// The thread's CPU time at both ends of the measured time, and how long it had waited for a CPU.
#[derive(Default)]
pub(super) struct CpuSampler {
    from: Option<(ThreadCpu, Option<u64>)>,
    until: Option<(ThreadCpu, Option<u64>)>,
}

fn look() -> (ThreadCpu, Option<u64>) {
    (thread_cpu(), RunQueue::default().waited_ns())
}

impl CpuSampler {
    /// Takes what is due at `now_ns`.
    #[inline]
    pub(super) fn sample(&mut self, now_ns: u64, schedule: &Schedule) {
        if self.from.is_none() && now_ns >= schedule.measure_from_ns {
            self.from = Some(look());
        }
        if self.until.is_none() && now_ns >= schedule.measure_until_ns {
            self.until = Some(look());
        }
    }

    pub(super) fn finish(&mut self, now_ns: u64, schedule: &Schedule) {
        self.sample(now_ns, schedule);
        self.until.get_or_insert_with(look);
    }

    pub(super) fn used(&self) -> ThreadCpu {
        let since = |from: (ThreadCpu, _)| self.until.unwrap_or(from).0.since(from.0);
        self.from.map_or_else(ThreadCpu::default, since)
    }

    /// How long the thread waited for a CPU; absent if the kernel does not tell.
    pub(super) fn waited_ns(&self) -> Option<u64> {
        let (from, until) = self.from.zip(self.until)?;
        Some(until.1?.saturating_sub(from.1?))
    }
}
