//! How long threads were ready to run and had no CPU.

use std::cell::OnceCell;
use std::fs::File;
use std::io::{Read, Seek};

/// What the kernel counts of one thread (`Documentation/scheduler/sched-stats.rst`). Nobody else can read it
/// once the thread has ended.
#[derive(Debug, Default)]
pub(super) struct RunQueue {
    /// Absent if the kernel does not count.
    statistics: OnceCell<Option<File>>,
}

impl RunQueue {
    /// How long the thread that asks first has waited for a CPU so far, in nanoseconds: the second number.
    pub(super) fn waited_ns(&self) -> Option<u64> {
        let open = || File::open("/proc/thread-self/schedstat").ok();
        let mut bytes = [0; 64];
        // Who traces a run counts the calls of its I/Os: this is none of them, nor looks like one.
        let mut statistics = self.statistics.get_or_init(open).as_ref()?;
        statistics.rewind().ok()?;
        let length = statistics.read(&mut bytes).ok()?;
        let text = std::str::from_utf8(&bytes[..length]).ok()?;
        text.split_whitespace().nth(1)?.parse().ok()
    }
}
