//! An open target: a regular file or a block device.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use super::held::Held;
use super::{residency, space};
use crate::kind::Kind;

/// How a target is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenFlags {
    /// For writing as well as for reading.
    pub write: bool,
    /// Past the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Each write is on stable storage when it ends (`O_DSYNC`).
    pub write_through: bool,
}

impl OpenFlags {
    fn bits(self) -> libc::c_int {
        let both = [(self.direct, libc::O_DIRECT), (self.write_through, libc::O_DSYNC)];
        let wanted = both.iter().filter(|(wanted, _)| *wanted);
        wanted.fold(libc::O_CLOEXEC | libc::O_NOCTTY, |bits, (_, bit)| bits | bit)
    }
}

/// What the page cache is told about the offsets to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// They will be random: no read-ahead.
    Random,
    /// They will ascend: more read-ahead.
    Sequential,
    /// The data will not be needed again.
    NoReuse,
    /// The data are not needed any more: drop them.
    DontNeed,
}

/// An open target.
#[derive(Debug)]
pub struct TargetFile {
    file: File,
    is_device: bool,
}

/// Opens a pipe, or a device that takes text, for writing; it takes what it has room for and never waits.
///
/// # Errors
/// If it is a pipe that nobody reads (`ENXIO`), or neither.
pub fn open_stream_to_write(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = options.write(true).custom_flags(flags).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_fifo() || kind.is_char_device() {
        return Ok(file);
    }
    Err(io::Error::other("something else has taken its place"))
}

/// Opens what stands at a path for reading, without waiting for anybody: a pipe that nobody writes is open at
/// once, and its reader says what it thinks of it.
///
/// # Errors
/// If it is not there, or may not be read.
pub fn open_to_look(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)
}

impl TargetFile {
    /// Opens an existing file or device. Nothing is created or cut.
    pub fn open(path: &Path, flags: OpenFlags) -> io::Result<Self> {
        let mut options = File::options();
        options.read(true).write(flags.write).custom_flags(flags.bits());
        Self::of(options.open(path)?, flags)
    }

    /// Opens what is held, wherever `path` leads by now; where nothing is held, what `path` leads to.
    pub fn open_as_held(held: Option<&Held>, path: &Path, flags: OpenFlags) -> io::Result<Self> {
        match held {
            Some(held) => Self::of(held.open(path, flags.write, flags.bits())?, flags),
            None => Self::open(path, flags),
        }
    }

    /// Some file systems take the flag of direct I/O, and use the page cache all the same (ext4 that journals
    /// data). Those that say so are refused as others refuse the flag.
    fn of(file: File, flags: OpenFlags) -> io::Result<Self> {
        if flags.direct && residency::says_direct(&file) == Some(false) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let is_device = file.metadata()?.file_type().is_block_device();
        Ok(Self { file, is_device })
    }

    /// Whether it is a block device.
    #[inline]
    #[must_use]
    pub fn is_device(&self) -> bool {
        self.is_device
    }

    /// Why a range of a file could not be used through a mapping, of which nothing but an error of the bus is
    /// known: its bytes before the end, if the file ends there by now, or what the file system answers.
    ///
    /// # Errors
    /// `StorageFull` or `QuotaExceeded` if a write finds no room there, else `EIO`.
    pub fn why_unmapped(&self, offset_bytes: u64, bytes: usize, write: bool) -> io::Result<usize> {
        let unknown = || io::Error::from_raw_os_error(libc::EIO);
        if self.is_device {
            return Err(unknown());
        }
        let left = self.file.metadata()?.len().saturating_sub(offset_bytes);
        match usize::try_from(left) {
            Ok(left) if left < bytes => return Ok(left),
            _ if !write => return Err(unknown()),
            _ => {}
        }
        match space::reserve(&self.file, offset_bytes..offset_bytes + bytes as u64) {
            Err(error) if Kind::of(&error) == Kind::NoSpace => Err(error),
            _ => Err(unknown()),
        }
    }

    /// Brings what was written to stable storage, without metadata that reading it back does not need
    /// if `data_only`.
    pub fn sync(&self, data_only: bool) -> io::Result<()> {
        if data_only { self.file.sync_data() } else { self.file.sync_all() }
    }

    /// Starts to write a range of the page cache back to the target, and does not wait for the end.
    ///
    /// `msync(2)` with `MS_ASYNC` starts nothing since Linux 2.6.19; `sync_file_range(2)` does.
    pub fn start_write_back(&self, offset_bytes: u64, length: u64) -> io::Result<()> {
        let too_far = |_| io::Error::from(io::ErrorKind::InvalidInput);
        let offset = libc::off64_t::try_from(offset_bytes).map_err(too_far)?;
        let length = libc::off64_t::try_from(length).map_err(too_far)?;
        // SAFETY: the descriptor is open for as long as `self` lives; the rest are integers.
        let result = unsafe {
            libc::sync_file_range(self.raw_fd(), offset, length, libc::SYNC_FILE_RANGE_WRITE)
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Reads at an offset; returns the bytes read, which are fewer at the end of the target.
    // By the system call itself: `pread` of a C library is a cancellation point, which costs each I/O of a
    // program with threads two atomic operations.
    #[inline]
    pub fn read_at(&self, bytes: &mut [u8], offset_bytes: u64) -> io::Result<usize> {
        Ok(rustix::io::pread(&self.file, bytes, offset_bytes)?)
    }

    /// Writes at an offset; returns the bytes written.
    #[inline]
    pub fn write_at(&self, bytes: &[u8], offset_bytes: u64) -> io::Result<usize> {
        Ok(rustix::io::pwrite(&self.file, bytes, offset_bytes)?)
    }

    /// Whether I/O to the target can be issued without waiting for it (`RWF_NOWAIT`, `preadv2(2)`).
    /// Where it cannot, `io_uring` leaves each I/O to a thread of the kernel. The question reads a
    /// single byte, which past the page cache is refused as misaligned before anything is read.
    #[must_use]
    pub fn takes_nowait(&self) -> bool {
        let mut byte = [0_u8];
        let vector = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
        // SAFETY: the vector names one byte that lives until the call has returned.
        let read =
            unsafe { libc::preadv2(self.raw_fd(), &raw const vector, 1, 0, libc::RWF_NOWAIT) };
        read >= 0 || io::Error::last_os_error().raw_os_error() != Some(libc::EOPNOTSUPP)
    }

    /// Tells the page cache what to expect of the whole target.
    pub fn advise(&self, advice: Advice) -> io::Result<()> {
        let advice = match advice {
            Advice::Random => libc::POSIX_FADV_RANDOM,
            Advice::Sequential => libc::POSIX_FADV_SEQUENTIAL,
            Advice::NoReuse => libc::POSIX_FADV_NOREUSE,
            Advice::DontNeed => libc::POSIX_FADV_DONTNEED,
        };
        // SAFETY: the descriptor is open for as long as `self` lives; the rest are integers.
        let error = unsafe { libc::posix_fadvise(self.raw_fd(), 0, 0, advice) };
        if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
    }

    /// The standard library's handle.
    #[must_use]
    pub fn as_std(&self) -> &File {
        &self.file
    }

    #[inline]
    pub(crate) fn raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}
