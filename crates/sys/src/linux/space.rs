//! Room for a file: free space, limits of its size, and reserving its blocks.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::kernel_files::{SERVED, kind};

/// What a file system has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Bytes that an ordinary process can still write; absent where the file system sets no bound.
    pub available_bytes: Option<u64>,
    /// Bytes of one allocation unit.
    pub block_bytes: u64,
    /// Whether its files are kept in memory, which may have less room than the file system says.
    pub is_in_memory: bool,
}

/// Numbers that `statfs(2)` tells (`linux/magic.h`).
const TMPFS: u32 = 0x0102_1994;
const RAMFS: u32 = 0x8584_58F6;
const HUGETLBFS: u32 = 0x9584_58F6;

/// File systems that keep their files in memory.
const IN_MEMORY: [u32; 2] = [TMPFS, RAMFS];

/// File systems that store nothing but in memory, by their names.
const MEMORY_NAMES: [(u32, &str); 3] =
    [(TMPFS, "tmpfs"), (RAMFS, "ramfs"), (HUGETLBFS, "hugetlbfs")];

/// File systems that give each write new blocks, whatever was there before: Btrfs, Bcachefs, F2FS, NILFS and
/// ZFS (`linux/magic.h`, `fs/bcachefs/bcachefs_format.h`; ZFS by its own sources).
const ALLOCATING: [u32; 5] = [0x9123_683E, 0xCA45_1A4E, 0xF2F5_2010, 0x0000_3434, 0x2FC1_2FC1];

/// File systems that may hand the I/O of a file on to one of another file system, where its pages are cached
/// then: overlays, and FUSE with a file passed through (`linux/magic.h`).
const HANDING_ON: [u32; 2] = [0x794C_7630, 0x6573_5546];

/// Whether the pages of an open file may be those of another file.
pub fn hands_on(file: &File) -> io::Result<bool> {
    Ok(HANDING_ON.contains(&kind(&fstatfs(file)?)))
}

/// Whether each write to an open file allocates blocks, not only the first to each.
pub fn allocates_each_write(file: &File) -> io::Result<bool> {
    Ok(ALLOCATING.contains(&kind(&fstatfs(file)?)))
}

/// Whether a server answers the I/O of an open file.
pub fn is_served(file: &File) -> io::Result<bool> {
    let magic = kind(&fstatfs(file)?);
    Ok(SERVED.iter().any(|(served, _)| *served == magic))
}

/// Whether an open file is kept in memory.
pub fn is_in_memory(file: &File) -> io::Result<bool> {
    Ok(IN_MEMORY.contains(&kind(&fstatfs(file)?)))
}

/// The file system in memory that a path leads to, as `/proc/self/mountinfo` calls it; none if it is another.
/// What is mounted nowhere, such as the file of `memfd_create(2)`, is known by this alone.
#[must_use]
pub fn memory_file_system(path: &Path) -> Option<&'static str> {
    let found = kind(&statfs(path).ok()?);
    MEMORY_NAMES.iter().find(|(number, _)| *number == found).map(|(_, name)| *name)
}

/// The room on the file system that holds `path`.
///
/// What is reserved for the superuser counts as taken, so that a test file never eats the
/// reserve that keeps a full system alive.
pub fn of_file_system(path: &Path) -> io::Result<Space> {
    let answer = statfs(path)?;
    let block_bytes = u64::try_from(answer.f_frsize).unwrap_or(1).max(1);
    // A tmpfs without a size limit reports no blocks at all.
    let bounded = answer.f_blocks != 0;
    let available_bytes = bounded.then(|| answer.f_bavail.saturating_mul(block_bytes));
    let is_in_memory = IN_MEMORY.contains(&kind(&answer));
    Ok(Space { available_bytes, block_bytes, is_in_memory })
}

/// What the kernel tells of the file system that holds `path`, with symbolic links followed.
pub(super) fn statfs(path: &Path) -> io::Result<libc::statfs> {
    let name = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the path has a NUL byte"))?;
    let mut answer = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: `name` is NUL-terminated and `answer` has room for one statfs; both outlive the call.
    let status = unsafe { libc::statfs(name.as_ptr(), answer.as_mut_ptr()) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: statfs returned 0, so the kernel has filled the whole structure.
    Ok(unsafe { answer.assume_init() })
}

/// What the kernel tells of the file system that something open lies on.
pub(super) fn fstatfs(file: &File) -> io::Result<libc::statfs> {
    let mut answer = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and `answer` has room for one statfs.
    if unsafe { libc::fstatfs(file.as_raw_fd(), answer.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: fstatfs returned 0, so the kernel has filled the whole structure.
    Ok(unsafe { answer.assume_init() })
}

/// Whether the mount that a path lies on has a flag (`ST_*` of `statvfs(3)`).
pub(super) fn has_mount_flag(path: &Path, flag: libc::c_ulong) -> bool {
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return false };
    let mut answer = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `name` is NUL-terminated and `answer` has room for one statvfs; both outlive the call.
    let status = unsafe { libc::statvfs(name.as_ptr(), answer.as_mut_ptr()) };
    // SAFETY: it is read only where statvfs returned 0, so that the whole structure is filled.
    status == 0 && unsafe { answer.assume_init() }.f_flag & flag != 0
}

/// The greatest size, in bytes, to which this process may extend a file; absent without a limit.
///
/// A write beyond `RLIMIT_FSIZE` kills the process with `SIGXFSZ`, so it must be known before.
pub fn file_bytes_limit() -> io::Result<Option<u64>> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid rlimit that outlives the call.
    let status = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur))
}

/// Reserves a range of `file`, which grows to hold it.
///
/// The blocks are unwritten until data are written. Fails with `Unsupported` where the file
/// system cannot reserve, with `StorageFull` where there is no room, and with `Interrupted`
/// where a signal came in between.
pub fn reserve(file: &File, range: Range<u64>) -> io::Result<()> {
    let signed = |bytes: u64| {
        libc::off64_t::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))
    };
    let (start, length) = (signed(range.start)?, signed(range.end.saturating_sub(range.start))?);
    // SAFETY: the descriptor is open for as long as `file` is borrowed; no memory is passed.
    let status = unsafe { libc::fallocate64(file.as_raw_fd(), 0, start, length) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_known_where_the_temporary_files_are() {
        let space = of_file_system(&std::env::temp_dir()).expect("a temporary directory");
        assert!(space.block_bytes.is_power_of_two());
        assert!(space.available_bytes.is_none_or(|bytes| bytes % space.block_bytes == 0));
    }

    #[test]
    fn a_missing_path_is_an_error() {
        let error = of_file_system(Path::new("/nonexistent/fathom")).expect_err("no such path");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn reserving_sets_the_size() {
        let file = tempfile::tempfile().expect("a temporary file");
        match reserve(&file, 60_000..100_000).and_then(|()| reserve(&file, 0..60_000)) {
            Ok(()) => assert_eq!(file.metadata().expect("metadata").len(), 100_000),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::Unsupported),
        }
    }
}
