//! What the page cache holds of a file, and how to keep it out of the way.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr;

use super::{space, statx};

/// Bytes of a page of memory.
#[must_use]
pub fn page_bytes() -> u64 {
    // SAFETY: sysconf takes no memory and _SC_PAGESIZE is always known.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096)
}

/// Bytes of `range` of `file` that the page cache holds, rounded up to pages.
pub fn resident_bytes(file: &File, range: Range<u64>) -> io::Result<u64> {
    if range.is_empty() {
        return Ok(0);
    }
    match counted_pages(file, &range) {
        // Kernels before 6.5 lack the call, and sandboxes may forbid it.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
            mapped_resident_bytes(file, &range)
        }
        // The call looks at the file that it is given; a mapping is one of the file beneath.
        Ok(0) if space::hands_on(file)? => mapped_resident_bytes(file, &range),
        pages => pages.map(|pages| pages * page_bytes()),
    }
}

// `cachestat` of Linux 6.5; the number is the same on all architectures that Rust's Linux runs on.
const SYS_CACHESTAT: libc::c_long = 451;

#[repr(C)]
struct CacheRange {
    offset: u64,
    length: u64,
}

#[repr(C)]
#[derive(Default)]
struct CacheCounts {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

fn counted_pages(file: &File, range: &Range<u64>) -> io::Result<u64> {
    let asked = CacheRange { offset: range.start, length: range.end - range.start };
    let mut counts = CacheCounts::default();
    // SAFETY: both structures have the kernel's layout (linux/mman.h) and outlive the call.
    let status = unsafe {
        libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), &raw const asked, &raw mut counts, 0)
    };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(counts.cached)
}

/// Bytes of a file that are looked at through one mapping.
const WINDOW_BYTES: u64 = 1 << 30;

fn mapped_resident_bytes(file: &File, range: &Range<u64>) -> io::Result<u64> {
    let page = page_bytes();
    let end = range.end.min(file.metadata()?.len());
    let mut at = range.start / page * page;
    let mut pages = 0;
    while at < end {
        let bytes = WINDOW_BYTES.min(end - at);
        pages += resident_pages_of_window(file, at, bytes)?;
        at += bytes.next_multiple_of(page);
    }
    Ok(pages * page)
}

fn resident_pages_of_window(file: &File, start: u64, bytes: u64) -> io::Result<u64> {
    let too_large = |_| io::Error::from(io::ErrorKind::FileTooLarge);
    let length = usize::try_from(bytes).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let offset = libc::off64_t::try_from(start).map_err(too_large)?;
    let mut flags = vec![0_u8; usize::try_from(bytes.div_ceil(page_bytes())).unwrap_or(0)];
    // SAFETY: a new private mapping that nobody reads or writes; the address is the kernel's choice.
    let window = unsafe {
        libc::mmap64(
            ptr::null_mut(),
            length,
            libc::PROT_NONE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            offset,
        )
    };
    if window == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `window` is the mapping of `length` bytes made above, and `flags` has one byte per page.
    let status = unsafe { libc::mincore(window, length, flags.as_mut_ptr()) };
    let outcome = if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    // SAFETY: the mapping was made above with this length and is not used afterwards.
    unsafe { libc::munmap(window, length) };
    outcome?;
    Ok(flags.iter().map(|flag| u64::from(flag & 1)).sum())
}

/// Tells the kernel that reads of `file` will be scattered, so that it does not read ahead.
pub fn expect_scattered_reads(file: &File) -> io::Result<()> {
    advise(file, 0..0, libc::POSIX_FADV_RANDOM)
}

/// Starts to read `range` of `file` into the page cache, without waiting for it.
pub fn start_reading(file: &File, range: Range<u64>) -> io::Result<()> {
    advise(file, range, libc::POSIX_FADV_WILLNEED)
}

/// Drops the clean pages of `range` from the page cache; an empty range means the whole file.
pub fn drop_pages(file: &File, range: Range<u64>) -> io::Result<()> {
    advise(file, range, libc::POSIX_FADV_DONTNEED)
}

fn advise(file: &File, range: Range<u64>, advice: libc::c_int) -> io::Result<()> {
    let (offset, length) = kernel_range(&range)?;
    // SAFETY: the descriptor is open for as long as `file` is borrowed; no memory is passed.
    match unsafe { libc::posix_fadvise64(file.as_raw_fd(), offset, length, advice) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Starts to write the dirty pages of `range` to the device, without waiting for the end.
pub fn start_writeback(file: &File, range: Range<u64>) -> io::Result<()> {
    sync_range(file, &range, libc::SYNC_FILE_RANGE_WRITE)
}

/// Writes the dirty pages of `range` to the device and waits for it; its metadata may lag behind.
pub fn finish_writeback(file: &File, range: Range<u64>) -> io::Result<()> {
    let whole = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    sync_range(file, &range, whole)
}

fn sync_range(file: &File, range: &Range<u64>, flags: libc::c_uint) -> io::Result<()> {
    let (offset, length) = kernel_range(range)?;
    // SAFETY: the descriptor is open for as long as `file` is borrowed; no memory is passed.
    if unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, flags) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn kernel_range(range: &Range<u64>) -> io::Result<(libc::off64_t, libc::off64_t)> {
    let too_large = |_| io::Error::from(io::ErrorKind::FileTooLarge);
    let offset = libc::off64_t::try_from(range.start).map_err(too_large)?;
    let length = range.end.saturating_sub(range.start);
    Ok((offset, libc::off64_t::try_from(length).map_err(too_large)?))
}

/// Turns `O_DIRECT` on or off for all uses of this open file.
///
/// Fails with `InvalidInput` where the file system knows no direct I/O.
pub fn set_direct(file: &File, direct: bool) -> io::Result<()> {
    // SAFETY: the descriptor is open for as long as `file` is borrowed; no memory is passed.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    if flags < 0 {
        return Err(io::Error::last_os_error());
    }
    let wanted = if direct { flags | libc::O_DIRECT } else { flags & !libc::O_DIRECT };
    // SAFETY: as above; F_SETFL takes the flags by value.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, wanted) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Whether an open file can be read and written past the page cache, if its file system says so.
pub fn says_direct(file: &File) -> Option<bool> {
    let told = statx::of_open(file, libc::AT_STATX_DONT_SYNC, libc::STATX_DIOALIGN).ok()?;
    (told.stx_mask & libc::STATX_DIOALIGN != 0).then_some(told.stx_dio_offset_align != 0)
}

/// Whether an open file cannot be read or written past the page cache. Some file systems say so, others
/// refuse the flag.
pub fn refuses_direct(file: &File) -> bool {
    if let Some(can) = says_direct(file) {
        return !can;
    }
    match set_direct(file, true) {
        Ok(()) => set_direct(file, false).is_err(),
        Err(error) => error.kind() == io::ErrorKind::InvalidInput,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    fn written(bytes: usize) -> File {
        let file = tempfile::tempfile().expect("a temporary file");
        file.write_all_at(&vec![3; bytes], 0).expect("a write");
        file
    }

    #[test]
    fn fresh_writes_are_resident() {
        let file = written(1 << 20);
        assert_eq!(resident_bytes(&file, 0..1 << 20).expect("a count"), 1 << 20);
    }

    #[test]
    fn both_ways_agree() {
        let file = written(1 << 20);
        let range = 65_536..524_288;
        let mapped = mapped_resident_bytes(&file, &range).expect("a count");
        assert_eq!(mapped, 524_288 - 65_536);
        assert_eq!(resident_bytes(&file, range).expect("a count"), mapped);
    }

    #[test]
    fn nothing_is_resident_in_an_empty_range() {
        assert_eq!(resident_bytes(&written(4096), 0..0).expect("a count"), 0);
    }

    #[test]
    fn synced_pages_can_be_dropped() {
        let file = written(1 << 20);
        start_writeback(&file, 0..1 << 20).expect("writeback");
        finish_writeback(&file, 0..1 << 20).expect("writeback");
        file.sync_data().expect("a sync");
        drop_pages(&file, 0..0).expect("advice");
        expect_scattered_reads(&file).expect("advice");
        // Where the temporary directory lies in memory, pages cannot go anywhere.
        assert!(resident_bytes(&file, 0..1 << 20).expect("a count") <= 1 << 20);
    }

    #[test]
    fn direct_io_is_switched_off_again() {
        let file = written(4096);
        if set_direct(&file, true).is_ok() {
            set_direct(&file, false).expect("flags");
            assert_eq!(file.write_at(&[1; 10], 3).expect("an unaligned write"), 10);
        }
    }
}
