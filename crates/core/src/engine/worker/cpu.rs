//! The CPU time that a worker uses during the measured time.

use fathom_sys::clock::{ThreadCpu, thread_cpu};

use crate::engine::clock::Schedule;

/// The thread's CPU time at both ends of the measured time.
#[derive(Default)]
pub(super) struct CpuSampler {
    from: Option<ThreadCpu>,
    until: Option<ThreadCpu>,
}

impl CpuSampler {
    /// Takes what is due at `now_ns`.
    #[inline]
    pub(super) fn sample(&mut self, now_ns: u64, schedule: &Schedule) {
        if self.from.is_none() && now_ns >= schedule.measure_from_ns {
            self.from = Some(thread_cpu());
        }
        if self.until.is_none() && now_ns >= schedule.measure_until_ns {
            self.until = Some(thread_cpu());
        }
    }

    pub(super) fn finish(&mut self, now_ns: u64, schedule: &Schedule) {
        self.sample(now_ns, schedule);
        self.until.get_or_insert_with(thread_cpu);
    }

    pub(super) fn used(&self) -> ThreadCpu {
        self.from.map_or_else(ThreadCpu::default, |from| self.until.unwrap_or(from).since(from))
    }
}
