//! The state of an open file, by which it is seen that somebody has changed it.

use std::fs::File;
use std::io;

use super::{clock, statx};

/// The kernel's time stamps lag behind the clock by one tick at most.
pub const TICK_NS: i64 = 10_000_000;
/// Times that are whole multiples of this are coarse: a change may have the same time as the one before it.
pub const COARSE_NS: i64 = 1_000_000;

/// What the file system keeps of a file. Any change of its data or of what is kept changes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileState {
    /// The inode.
    pub inode: u64,
    /// When the inode was made, in nanoseconds since 1970; absent where the file system keeps no such time.
    pub born_ns: Option<i64>,
    /// Length in bytes.
    pub size_bytes: u64,
    /// When the data were changed last, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// When anything was changed last, in nanoseconds since 1970. No program can set it.
    pub changed_ns: i64,
}

/// The state of `file` now.
pub fn of(file: &File) -> io::Result<FileState> {
    let mask = libc::STATX_BASIC_STATS | libc::STATX_BTIME;
    let answer = statx::of_open(file, libc::AT_STATX_SYNC_AS_STAT, mask)?;
    Ok(FileState {
        inode: answer.stx_ino,
        born_ns: (answer.stx_mask & libc::STATX_BTIME != 0).then(|| nanos(answer.stx_btime)),
        size_bytes: answer.stx_size,
        modified_ns: nanos(answer.stx_mtime),
        changed_ns: nanos(answer.stx_ctime),
    })
}

/// What the clock shows, in nanoseconds since 1970: what time stamps of files come from.
#[must_use]
pub fn clock_ns() -> i64 {
    i64::try_from(clock::real_ns()).unwrap_or(i64::MAX)
}

fn nanos(time: libc::statx_timestamp) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(i64::from(time.tv_nsec))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_write_changes_the_state() {
        let file = tempfile::tempfile().expect("a temporary file");
        let before = of(&file).expect("a state");
        assert_eq!(of(&file).expect("a state"), before);
        file.write_all_at(b"x", 7).expect("a write");
        let after = of(&file).expect("a state");
        assert_eq!((after.inode, after.born_ns), (before.inode, before.born_ns));
        assert_eq!(after.size_bytes, 8);
        assert!(after.modified_ns >= before.modified_ns && after.changed_ns >= before.changed_ns);
    }
}
