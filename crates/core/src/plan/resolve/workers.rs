//! Where the kernel's own workers run.
//!
//! A device or file system that cannot promise not to block has its `io_uring` I/O served by threads of
//! the kernel ("io-wq"). Left alone they share the CPU of the thread that submits, and every I/O costs
//! two switches between them. On a CPU that no thread of load uses they run beside it
//! (`IORING_REGISTER_IOWQ_AFF`, `io_uring_register(2)`).

use std::collections::BTreeSet;

use super::Resolver;
use crate::plan::CpuPin;

/// A CPU on which no thread of load runs.
pub(super) struct IdleCpu {
    os_id: usize,
    group: u16,
}

impl Resolver<'_> {
    /// The CPUs that this process may use and that none of the first `threads` pins takes.
    pub(super) fn idle_cpus(&self, pins: &[CpuPin], threads: usize) -> Vec<IdleCpu> {
        let taken: BTreeSet<usize> = pins.iter().take(threads).map(|pin| pin.os_id).collect();
        let usable = self.facts.cpus.iter().filter(|cpu| {
            self.facts.usable_cpus.contains(&cpu.os_id) && !taken.contains(&(cpu.os_id as usize))
        });
        usable.map(|cpu| IdleCpu { os_id: cpu.os_id as usize, group: cpu.group }).collect()
    }
}

/// Where the workers of a thread run: on idle CPUs of its own group, else on any idle one, else on its
/// own CPU, so that they do not slow another thread down. A thread that may run anywhere leaves it to
/// the kernel.
pub(super) fn cpus(pin: Option<CpuPin>, idle: &[IdleCpu]) -> Vec<usize> {
    let Some(pin) = pin else { return Vec::new() };
    let near: Vec<usize> =
        idle.iter().filter(|cpu| cpu.group == pin.group).map(|cpu| cpu.os_id).collect();
    match (near.is_empty(), idle.is_empty()) {
        (false, _) => near,
        (true, false) => idle.iter().map(|cpu| cpu.os_id).collect(),
        (true, true) => vec![pin.os_id],
    }
}
