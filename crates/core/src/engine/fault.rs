//! An I/O that failed, and how that is told.

use std::sync::atomic::{AtomicU64, Ordering};

use super::backend::Operation;
use crate::profile::FaultPolicy;

/// How many I/Os may still fail before one ends the time span, over all its threads.
#[derive(Debug)]
pub struct Tolerance {
    /// The failed I/O with this number ends it; nothing if none does.
    limit: Option<u64>,
    failed: AtomicU64,
}

impl Tolerance {
    /// What a policy tolerates.
    #[must_use]
    pub fn new(policy: FaultPolicy) -> Self {
        Self { limit: policy.error_limit(), failed: AtomicU64::new(0) }
    }

    /// Counts an I/O that failed; whether the load goes on.
    #[must_use]
    pub fn tolerates_another(&self) -> bool {
        let failed = self.failed.fetch_add(1, Ordering::Relaxed) + 1;
        self.limit.is_none_or(|limit| failed < limit)
    }
}

/// An I/O that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoFault {
    /// Index of the lane.
    pub lane: usize,
    /// What it was to do.
    pub operation: Operation,
    /// Its offset.
    pub offset_bytes: u64,
    /// Its length.
    pub bytes: u32,
    /// The error number.
    pub errno: i32,
}

impl IoFault {
    /// The fault in words: which thread did what to which target, and what the kernel answered.
    #[must_use]
    pub fn describe(self, thread: usize, name: &str) -> String {
        let verb = self.operation.name();
        let error = std::io::Error::from_raw_os_error(self.errno);
        if matches!(self.operation, Operation::Fsync | Operation::Fdatasync) {
            return format!("thread {thread}: {verb} of '{name}' failed: {error}");
        }
        let (bytes, offset) = (self.bytes, self.offset_bytes);
        format!(
            "thread {thread}: {verb} of {bytes} bytes at offset {offset} of '{name}' failed: {error}"
        )
    }
}
