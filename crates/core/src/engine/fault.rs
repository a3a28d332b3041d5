//! An I/O that failed, and how that is reported.

use std::sync::atomic::{AtomicU64, Ordering};

use super::backend::Operation;
use crate::errors::Kind;
use crate::request::FaultPolicy;
use crate::units::NANOS_PER_SEC;

/// What Linux reads or writes at once at most (`MAX_RW_COUNT`), whatever is requested.
const KERNEL_BYTES_MAX: u64 = 0x7fff_f000;

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
    /// Index of the stream.
    pub stream: usize,
    /// What it was to do.
    pub operation: Operation,
    /// Its offset.
    pub offset_bytes: u64,
    /// Its length.
    pub bytes: u32,
    /// What went wrong.
    pub failure: Failure,
    /// When, since the load began.
    pub after_ns: u64,
}

/// What went wrong with an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// It failed with this error number.
    Errno(i32),
    /// It moved only so many bytes.
    Short(u32),
}

impl Failure {
    /// What a completion says of an I/O of so many bytes; nothing if it is whole.
    #[inline]
    #[must_use]
    pub fn of(operation: Operation, bytes: u32, result: i32) -> Option<Self> {
        match u32::try_from(result) {
            Err(_) => Some(Self::Errno(-result)),
            Ok(moved) if operation.moves_bytes() && moved < bytes => Some(Self::Short(moved)),
            Ok(_) => None,
        }
    }
}

impl Failure {
    /// Its kind.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Errno(errno) => Kind::of_errno(errno),
            Self::Short(_) => Kind::Short,
        }
    }

    /// The system's code, if it answered with one.
    #[must_use]
    pub fn code(self) -> Option<String> {
        match self {
            Self::Errno(errno) => Some(fathom_sys::errno::name(errno)),
            Self::Short(_) => None,
        }
    }
}

/// The system's words, with what is meant where they tell nobody.
fn in_words(errno: i32) -> String {
    let error = std::io::Error::from_raw_os_error(errno);
    // Linux and the client of iSCSI answer a reservation conflict of SCSI with it (`BLK_STS_RESV_CONFLICT`).
    if fathom_sys::errno::name(errno) == "EBADE" {
        return format!("{error}: another initiator has reserved it (SCSI reservation conflict)");
    }
    if Kind::of_errno(errno) == Kind::NoSpace {
        return format!(
            "{error} (a full file system or a thin volume); make room where it lies, and write the whole range \
             once before it is measured"
        );
    }
    error.to_string()
}

impl IoFault {
    /// The fault in words: which thread did what to which target, and what the kernel answered.
    #[must_use]
    pub fn describe(self, thread: usize, name: &str, size_bytes: u64) -> String {
        let verb = self.operation.name();
        let errno = match self.failure {
            Failure::Errno(errno) => errno,
            Failure::Short(moved) => return self.describe_short(moved, thread, name, size_bytes),
        };
        let error = in_words(errno);
        if matches!(self.operation, Operation::Fsync | Operation::Fdatasync) {
            return format!("thread {thread}: {verb} of '{name}' failed: {error}");
        }
        let (bytes, offset) = (self.bytes, self.offset_bytes);
        format!(
            "thread {thread}: {verb} of {bytes} bytes at offset {offset} of '{name}' failed: {error}"
        )
    }

    /// The target ended earlier than it did when the load began, or had no room for all.
    fn describe_short(self, moved: u32, thread: usize, name: &str, size_bytes: u64) -> String {
        let (verb, bytes, offset) = (self.operation.name(), self.bytes, self.offset_bytes);
        let seconds = self.after_ns as f64 / NANOS_PER_SEC as f64;
        let why = if u64::from(moved) == KERNEL_BYTES_MAX {
            format!("the kernel moves at most {KERNEL_BYTES_MAX} bytes at once: use smaller blocks")
        } else if self.operation == Operation::Write {
            "look for room on its file system, and whether somebody else cuts it".to_owned()
        } else {
            // Where nothing was there, the end lies anywhere before.
            let at = if moved == 0 { "at or before" } else { "at" };
            format!(
                "it had {size_bytes} bytes when the load began; if it ends {at} {} now, keep others from \
                 cutting it",
                offset + u64::from(moved)
            )
        };
        format!(
            "thread {thread}: {verb} of {bytes} bytes at offset {offset} of '{name}' moved only {moved} bytes, \
             {seconds:.2} s after the load began; {why}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of 64 MiB was cut to 1 MiB, and was said to be cut if it ended where the read had begun.
    #[test]
    fn a_read_behind_the_end_said_that_the_file_ends_where_it_began() {
        let failure = |moved| Failure::of(Operation::Read, 65_536, moved).expect("it is short");
        let told = |moved| {
            let (operation, bytes) = (Operation::Read, 65_536);
            let (failure, offset_bytes) = (failure(moved), 20_709_376);
            let fault = IoFault { stream: 0, operation, offset_bytes, bytes, failure, after_ns: 0 };
            fault.describe(0, "g.dat", 64 << 20)
        };
        assert!(told(0).contains("if it ends at or before 20709376 now"), "{}", told(0));
        assert!(told(4096).contains("if it ends at 20713472 now"), "{}", told(4096));
    }

    /// "No space left on device" alone tells nobody what to do next.
    #[test]
    fn where_there_is_no_room_it_is_said_what_to_do() {
        let failure = Failure::of(Operation::Write, 4096, -28).expect("it failed");
        let (operation, bytes) = (Operation::Write, 4096);
        let fault = IoFault { stream: 0, operation, offset_bytes: 0, bytes, failure, after_ns: 0 };
        let words = fault.describe(1, "x.dat", 8192);
        assert!(words.starts_with("thread 1: write of 4096 bytes at offset 0 of 'x.dat' failed"));
        assert!(words.contains("make room where it lies"), "{words}");
    }
}
