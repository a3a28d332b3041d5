//! An I/O that failed, and how that is told.

use super::backend::Operation;

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
