//! A shared mapping of a target, for memory-mapped I/O.

use std::io;
use std::ptr::NonNull;

use super::file::TargetFile;

/// A shared mapping of the first bytes of a target.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
    writable: bool,
}

// SAFETY: the mapping is shared memory without thread affinity.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps the first `bytes` of the target.
    pub fn new(file: &TargetFile, bytes: u64, writable: bool) -> io::Result<Self> {
        let bytes =
            usize::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::ENOMEM))?;
        let protection = libc::PROT_READ | if writable { libc::PROT_WRITE } else { 0 };
        // SAFETY: a shared file mapping at an address of the kernel's choice aliases no Rust object.
        let address = unsafe {
            libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, file.raw_fd(), 0)
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(address.cast::<u8>())
            .ok_or_else(|| io::Error::other("the kernel mapped the null page"))?;
        Ok(Self { base, bytes, writable })
    }

    /// Copies from the mapping; returns the bytes copied, which are fewer at its end.
    pub fn read_at(&self, into: &mut [u8], offset_bytes: u64) -> usize {
        let Some((address, length)) = self.range(offset_bytes, into.len()) else { return 0 };
        // SAFETY: `range` keeps the source within the mapping; the destination is a Rust slice, which
        // cannot overlap it. Other processes may change the source: plain bytes have no invalid value.
        unsafe { std::ptr::copy_nonoverlapping(address, into.as_mut_ptr(), length) };
        length
    }

    /// Copies into the mapping; returns the bytes copied, which are fewer at its end.
    ///
    /// # Panics
    /// If the mapping is not writable.
    pub fn write_at(&self, from: &[u8], offset_bytes: u64) -> usize {
        assert!(self.writable, "the mapping is read-only");
        let Some((address, length)) = self.range(offset_bytes, from.len()) else { return 0 };
        // SAFETY: as for `read_at`, with source and destination exchanged.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), address, length) };
        length
    }

    /// Writes a range back to the target (`msync(2)`), waiting for it or only starting it.
    pub fn flush(&self, offset_bytes: u64, length: usize, wait: bool) -> io::Result<()> {
        const PAGE: u64 = 4096;
        let start = offset_bytes / PAGE * PAGE;
        let reach = length + usize::try_from(offset_bytes - start).unwrap_or(0);
        let Some((address, length)) = self.range(start, reach) else { return Ok(()) };
        let flags = if wait { libc::MS_SYNC } else { libc::MS_ASYNC };
        // SAFETY: `range` keeps the pages within the mapping.
        let result = unsafe { libc::msync(address.cast(), length, flags) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    fn range(&self, offset_bytes: u64, length: usize) -> Option<(*mut u8, usize)> {
        let offset = usize::try_from(offset_bytes).ok()?;
        let length = length.min(self.bytes.checked_sub(offset)?);
        // SAFETY: the offset lies within the mapping.
        Some((unsafe { self.base.as_ptr().add(offset) }, length))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length and is unmapped only here.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
