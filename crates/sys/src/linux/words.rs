//! Words that threads share: in memory, or in a file that outlives the process.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

const WORD_BYTES: usize = size_of::<AtomicU64>();
/// A mapping of a file begins at a multiple of this, in bytes.
pub const MAP_ALIGN_BYTES: u64 = 4096;
/// Tables up to this size are made resident at once; of greater ones the kernel keeps what is used.
const POPULATE_BYTES_MAX: usize = 1 << 30;

/// Words in one shared mapping. What is stored in a mapped file is in the kernel's page cache at once, so
/// that the end of the process in any way, `kill -9` included, loses none of it.
#[derive(Debug)]
pub struct SharedWords {
    base: NonNull<AtomicU64>,
    mapped_bytes: usize,
    count: usize,
    /// Keeps the file open and locked.
    file: Option<LockedFile>,
}

// SAFETY: the mapping has no thread affinity.
unsafe impl Send for SharedWords {}
// SAFETY: a shared reference gives only atomic words.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// So many words of 0, in memory only.
    pub fn in_memory(count: usize) -> io::Result<Self> {
        let mapped_bytes = mapped_bytes(count)?;
        let base = map(mapped_bytes, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0)?;
        Ok(Self { base, mapped_bytes, count, file: None })
    }

    /// The words of a file from `offset_bytes` on, which is a multiple of [`MAP_ALIGN_BYTES`]. The file is
    /// open for reading and writing and holds all of them; its blocks must be reserved, because a lack of
    /// room would end the process by a signal later.
    pub fn in_file(file: LockedFile, offset_bytes: u64, count: usize) -> io::Result<Self> {
        let mapped_bytes = mapped_bytes(count)?;
        let needed_bytes = offset_bytes.checked_add((count * WORD_BYTES) as u64);
        if needed_bytes.is_none_or(|needed| file.metadata().is_ok_and(|at| at.len() < needed)) {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        let offset = libc::off_t::try_from(offset_bytes).map_err(|_| too_large())?;
        let base = map(mapped_bytes, libc::MAP_SHARED, file.as_raw_fd(), offset)?;
        Ok(Self { base, mapped_bytes, count, file: Some(file) })
    }

    /// The words.
    #[inline]
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds `count` aligned words for as long as `self` lives, and every access to
        // them in this process is atomic. Whoever cuts the file meanwhile ends the process by SIGBUS, which
        // is no undefined behaviour.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.count) }
    }

    /// The mapped file; none if the words are in memory only.
    #[must_use]
    pub fn file(&self) -> Option<&File> {
        self.file.as_deref()
    }

    /// Writes all words to stable storage (`msync(2)`).
    pub fn sync(&self) -> io::Result<()> {
        // SAFETY: the range is mapped for as long as `self` lives.
        let result =
            unsafe { libc::msync(self.base.as_ptr().cast(), self.mapped_bytes, libc::MS_SYNC) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length and is unmapped only here; slices of it cannot
        // outlive `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.mapped_bytes) };
    }
}

fn mapped_bytes(count: usize) -> io::Result<usize> {
    count.max(1).checked_mul(WORD_BYTES).ok_or_else(too_large)
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::OutOfMemory, "the table exceeds the address space")
}

fn map(
    bytes: usize,
    flags: libc::c_int,
    descriptor: libc::c_int,
    offset: libc::off_t,
) -> io::Result<NonNull<AtomicU64>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a mapping at an address of the kernel's choice aliases no Rust object.
    let address =
        unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, descriptor, offset) };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    if bytes <= POPULATE_BYTES_MAX {
        // SAFETY: the range was just mapped; the advice changes no contents, and its failure no meaning.
        unsafe { libc::madvise(address, bytes, libc::MADV_POPULATE_WRITE) };
    }
    NonNull::new(address.cast()).ok_or_else(|| io::Error::other("the kernel mapped the null page"))
}

/// An open file with the lock that one at a time can have; it is gone when this is dropped, and with the
/// process in any case.
#[derive(Debug)]
pub struct LockedFile(File);

impl LockedFile {
    /// Locks the file (`flock(2)`); nothing if somebody else has the lock.
    pub fn try_lock(file: File) -> io::Result<Option<Self>> {
        match lock(&file, libc::LOCK_EX | libc::LOCK_NB) {
            Ok(()) => Ok(Some(Self(file))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // A process that is just being started has a copy of the descriptor, which would keep the lock.
        let _ = lock(&self.0, libc::LOCK_UN);
    }
}

/// Takes or gives back the lock on a file (`flock(2)`).
pub(super) fn lock(file: &File, operation: libc::c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open for as long as `file` is borrowed; the call takes integers only.
    let result = unsafe { libc::flock(file.as_raw_fd(), operation) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    fn locked(scratch: &tempfile::NamedTempFile) -> Option<LockedFile> {
        LockedFile::try_lock(scratch.reopen().unwrap()).unwrap()
    }

    #[test]
    fn what_is_stored_stands_in_the_file_at_once() {
        let scratch = tempfile::NamedTempFile::new().unwrap();
        scratch.as_file().set_len(MAP_ALIGN_BYTES + 80).unwrap();
        let file = locked(&scratch).unwrap();
        let words = SharedWords::in_file(file, MAP_ALIGN_BYTES, 10).unwrap();
        words.words()[9].store(0x0102_0304_0506_0708, Ordering::Relaxed);
        let bytes = std::fs::read(scratch.path()).unwrap();
        assert_eq!(bytes[4096 + 72..], 0x0102_0304_0506_0708_u64.to_ne_bytes());
        words.sync().unwrap();
        assert!(words.file().is_some());
    }

    #[test]
    fn a_file_that_is_too_short_is_refused_and_not_a_signal_later() {
        let scratch = tempfile::NamedTempFile::new().unwrap();
        scratch.as_file().set_len(MAP_ALIGN_BYTES + 79).unwrap();
        let error = SharedWords::in_file(locked(&scratch).unwrap(), MAP_ALIGN_BYTES, 10);
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn words_in_memory_begin_at_0_and_none_at_all_is_fine() {
        let words = SharedWords::in_memory(1000).unwrap();
        assert!(words.words().iter().all(|word| word.load(Ordering::Relaxed) == 0));
        assert!(SharedWords::in_memory(0).unwrap().words().is_empty());
        assert!(SharedWords::in_memory(usize::MAX).is_err());
    }

    #[test]
    fn one_at_a_time_has_the_lock_whoever_has_a_copy_of_the_file() {
        let scratch = tempfile::NamedTempFile::new().unwrap();
        scratch.as_file().set_len(8).unwrap();
        let one = locked(&scratch).unwrap();
        // As a process has that is just being started.
        let _copy = one.try_clone().unwrap();
        assert!(locked(&scratch).is_none());
        drop(one);
        let words = SharedWords::in_file(locked(&scratch).unwrap(), 0, 1).unwrap();
        let _copy = words.file().unwrap().try_clone().unwrap();
        assert!(locked(&scratch).is_none());
        drop(words);
        assert!(locked(&scratch).is_some());
    }
}
