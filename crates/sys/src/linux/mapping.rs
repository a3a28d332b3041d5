//! A shared mapping of a target, for memory-mapped I/O.

use std::cell::Cell;
use std::io;
use std::ptr::NonNull;

use super::file::{Advice, TargetFile};
use super::{bus_error, stream};

/// A shared mapping of the first bytes of a target.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
    writable: bool,
    streams: bool,
    damaged: Cell<bool>,
}

// SAFETY: the mapping is shared memory without thread affinity.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps the first `bytes` of the target.
    pub fn new(file: &TargetFile, bytes: u64, writable: bool) -> io::Result<Self> {
        bus_error::install()?;
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
        Ok(Self { base, bytes, writable, streams: false, damaged: Cell::new(false) })
    }

    /// The same mapping, written with non-temporal stores where the processor has them.
    #[must_use]
    pub fn with_non_temporal_stores(mut self) -> Self {
        self.streams = stream::AVAILABLE;
        self
    }

    /// Whether writes are non-temporal stores.
    #[must_use]
    pub fn has_non_temporal_stores(&self) -> bool {
        self.streams
    }

    /// Tells the kernel what to expect of the whole mapping. What it was told of the open file counts for
    /// reads and writes only. There is no advice of this kind for data that are used once.
    pub fn advise(&self, advice: Advice) -> io::Result<()> {
        let advice = match advice {
            Advice::Random => libc::MADV_RANDOM,
            Advice::Sequential => libc::MADV_SEQUENTIAL,
            Advice::NoReuse | Advice::DontNeed => return Ok(()),
        };
        // SAFETY: the range is the whole mapping, and these two kinds of advice change no byte of it.
        let result = unsafe { libc::madvise(self.base.as_ptr().cast(), self.bytes, advice) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Copies from the mapping; returns the bytes copied, which are fewer at its end. A page that the
    /// target no longer has, because the file was cut short or the device failed, is an I/O error.
    pub fn read_at(&self, into: &mut [u8], offset_bytes: u64) -> io::Result<usize> {
        let Some((address, length)) = self.range(offset_bytes, into.len()) else { return Ok(0) };
        self.guarded(address, length, || {
            // SAFETY: `range` keeps the source within the mapping; the destination is a Rust slice,
            // which cannot overlap it. Other processes may change the source: plain bytes have no
            // invalid value. A fault on a missing page is handled by `bus_error`.
            unsafe { std::ptr::copy_nonoverlapping(address, into.as_mut_ptr(), length) };
            // The bytes count as used, so that no copy is optimised away.
            std::hint::black_box(into.as_ptr());
        })
    }

    /// Copies into the mapping; returns the bytes copied, which are fewer at its end. Errors are those of
    /// [`Mapping::read_at`].
    ///
    /// # Panics
    /// If the mapping is not writable.
    pub fn write_at(&self, from: &[u8], offset_bytes: u64) -> io::Result<usize> {
        assert!(self.writable, "the mapping is read-only");
        let Some((address, length)) = self.range(offset_bytes, from.len()) else { return Ok(0) };
        self.guarded(address, length, || {
            // SAFETY: as for `read_at`, with source and destination exchanged.
            unsafe {
                if self.streams {
                    stream::copy(from.as_ptr(), address, length);
                } else {
                    std::ptr::copy_nonoverlapping(from.as_ptr(), address, length);
                }
            }
        })
    }

    /// Copies under the guard of the fault handler. Once a page was missing the mapping holds a page of
    /// zeros in its place, so that nothing more is read from or written to it.
    fn guarded(&self, address: *mut u8, length: usize, copy: impl FnOnce()) -> io::Result<usize> {
        if !self.damaged.get() && !bus_error::guard(address as usize, length, copy) {
            return Ok(length);
        }
        self.damaged.set(true);
        Err(io::Error::from_raw_os_error(libc::EIO))
    }

    /// Writes a range back to the target and waits for it (`msync(2)`).
    pub fn flush(&self, offset_bytes: u64, length: usize) -> io::Result<()> {
        const PAGE: u64 = 4096;
        let start = offset_bytes / PAGE * PAGE;
        let reach = length + usize::try_from(offset_bytes - start).unwrap_or(0);
        let Some((address, length)) = self.range(start, reach) else { return Ok(()) };
        // SAFETY: `range` keeps the pages within the mapping.
        let result = unsafe { libc::msync(address.cast(), length, libc::MS_SYNC) };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::file::OpenFlags;

    const BYTES: u64 = 64 << 10;

    fn mapped() -> (tempfile::NamedTempFile, Mapping) {
        let scratch = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(scratch.path(), vec![7; 64 << 10]).unwrap();
        let flags = OpenFlags { write: true, ..OpenFlags::default() };
        let file = TargetFile::open(scratch.path(), flags).unwrap();
        let mapping = Mapping::new(&file, BYTES, true).unwrap();
        (scratch, mapping)
    }

    #[test]
    fn what_is_written_is_read_back_and_the_end_cuts() {
        let (scratch, mapping) = mapped();
        assert_eq!(mapping.write_at(&[9; 4096], 8192).unwrap(), 4096);
        mapping.flush(8192, 4096).unwrap();
        let mut bytes = [0; 4096];
        assert_eq!(mapping.read_at(&mut bytes, 8192).unwrap(), 4096);
        assert_eq!(mapping.read_at(&mut bytes, BYTES - 100).unwrap(), 100);
        assert_eq!(mapping.read_at(&mut bytes, BYTES + 1).unwrap(), 0);
        assert_eq!(std::fs::read(scratch.path()).unwrap()[8192], 9);
    }

    #[test]
    fn non_temporal_stores_write_the_same_bytes_and_survive_a_missing_page() {
        let (scratch, mapping) = mapped();
        let mapping = mapping.with_non_temporal_stores();
        assert_eq!(mapping.has_non_temporal_stores(), cfg!(target_arch = "x86_64"));
        let bytes: Vec<u8> = (0..8192_u32).map(|at| (at % 251).to_le_bytes()[0]).collect();
        assert_eq!(mapping.write_at(&bytes, 4096).unwrap(), 8192);
        assert_eq!(std::fs::read(scratch.path()).unwrap()[4096..12288], bytes);
        scratch.as_file().set_len(4096).unwrap();
        assert!(mapping.write_at(&bytes, 32 << 10).is_err());
    }

    #[test]
    fn a_file_that_was_cut_short_is_an_io_error_and_no_crash() {
        let (scratch, mapping) = mapped();
        scratch.as_file().set_len(4096).unwrap();
        let mut bytes = [0; 4096];
        assert_eq!(mapping.read_at(&mut bytes, 0).unwrap(), 4096);
        let error = mapping.read_at(&mut bytes, 32 << 10).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EIO));
        // The place of the missing page is never taken for data afterwards.
        assert!(mapping.read_at(&mut bytes, 32 << 10).is_err());
        assert!(mapping.write_at(&bytes, 32 << 10).is_err());
    }

    /// Both were "Input/output error", whose cause was to be sought in the kernel's log.
    #[test]
    fn a_file_that_was_cut_under_its_mapping_is_not_an_error_of_the_medium() {
        let scratch = tempfile::NamedTempFile::new().unwrap();
        scratch.as_file().set_len(64 << 10).unwrap();
        let flags = OpenFlags { write: true, ..OpenFlags::default() };
        let file = TargetFile::open(scratch.path(), flags).unwrap();
        for write in [false, true] {
            let whole = file.why_unmapped(0, 4096, write).unwrap_err();
            assert_eq!(whole.raw_os_error(), Some(libc::EIO), "it has room");
        }
        scratch.as_file().set_len(6 << 10).unwrap();
        for write in [false, true] {
            assert_eq!(file.why_unmapped(4096, 4096, write).unwrap(), 2048);
            assert_eq!(file.why_unmapped(32 << 10, 4096, write).unwrap(), 0);
        }
    }

    #[test]
    fn each_thread_has_a_guard_of_its_own() {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let (scratch, mapping) = mapped();
                    scratch.as_file().set_len(0).unwrap();
                    assert!(mapping.write_at(&[1; 512], 0).is_err());
                });
            }
        });
    }
}
