//! Giving storage back: holes in files, discarded ranges of devices.
//!
//! A file loses the blocks of a range (`FALLOC_FL_PUNCH_HOLE`, `fallocate(2)`) and keeps its size. A
//! device is told that it may forget the range (`BLKDISCARD`, `blkdiscard(8)`).

use std::io;

use super::file::TargetFile;
use super::host;

/// The mode of `fallocate` that makes a hole.
pub(super) const PUNCH_HOLE: libc::c_int = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;

/// `BLOCK_URING_CMD_DISCARD`, `_IO(0x12, 0)` of `linux/blkdev.h`: since Linux 6.12.
pub(super) const URING_COMMAND: u32 = 0x1200;

/// `BLKDISCARD`, `_IO(0x12, 119)` of `linux/fs.h`.
const BLKDISCARD: libc::c_ulong = 0x1277;

/// The second operand of [`URING_COMMAND`], the length, as it stands in the queue entry.
#[inline]
pub(super) fn command_length(bytes: u32) -> [u8; 16] {
    let mut command = [0; 16];
    command[..8].copy_from_slice(&u64::from(bytes).to_ne_bytes());
    command
}

/// Whether `io_uring` can discard ranges of devices here, or why not, in words.
pub fn probe_uring() -> Result<(), String> {
    let kernel = host::kernel();
    let (has, release) = is_at_least(&kernel, (6, 12));
    if has {
        return Ok(());
    }
    Err(format!("io_uring discards ranges of devices from Linux 6.12 on, and this is {release}"))
}

/// Whether a kernel's name and release, such as `Linux 6.12.3`, is at least of this version.
fn is_at_least(kernel: &str, (major, minor): (u32, u32)) -> (bool, &str) {
    let release = kernel.rsplit(' ').next().unwrap_or(kernel);
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let mut number = || numbers.next().and_then(Result::ok).unwrap_or(0);
    let found = (number(), number());
    (found >= (major, minor), release)
}

impl TargetFile {
    /// Gives the bytes of a range back: as a hole of a file, or as a discarded range of a device.
    ///
    /// Fails with `Unsupported` where the file system or the device cannot, and with `InvalidInput`
    /// where a device's range is not made of whole sectors.
    pub fn trim(&self, offset_bytes: u64, bytes: u64) -> io::Result<()> {
        let status = if self.is_device() {
            let range = [offset_bytes, bytes];
            // SAFETY: the kernel reads the two numbers, which outlive the call.
            unsafe { libc::ioctl(self.raw_fd(), BLKDISCARD as _, range.as_ptr()) }
        } else {
            let signed = |value: u64| {
                libc::off64_t::try_from(value).map_err(|_| io::ErrorKind::FileTooLarge)
            };
            let (offset, length) = (signed(offset_bytes)?, signed(bytes)?);
            // SAFETY: the descriptor is open for as long as `self` lives; no memory is passed.
            unsafe { libc::fallocate64(self.raw_fd(), PUNCH_HOLE, offset, length) }
        };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Whether trims are possible at all; a file is asked with a hole behind its end, which changes
    /// nothing, and a device is not asked: its queue tells.
    ///
    /// # Errors
    /// `Unsupported`, or what else the file system answers.
    pub fn check_trim(&self) -> io::Result<()> {
        const HOLE_BYTES: u64 = 4096;
        if self.is_device() {
            return Ok(());
        }
        let end_bytes = self.as_std().metadata()?.len().next_multiple_of(HOLE_BYTES);
        self.trim(end_bytes, HOLE_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::extents;
    use crate::file::OpenFlags;

    #[test]
    fn releases_are_compared_by_number() {
        assert!(is_at_least("Linux 6.12.0", (6, 12)).0);
        assert!(is_at_least("Linux 6.18.44-fc-v595", (6, 12)).0);
        assert!(is_at_least("Linux 10.0", (6, 12)).0);
        assert!(!is_at_least("Linux 6.9.12", (6, 12)).0);
        assert_eq!(is_at_least("Linux 5.10.0-28-amd64", (6, 12)), (false, "5.10.0-28-amd64"));
        assert!(!is_at_least("", (6, 12)).0);
    }

    #[test]
    fn a_trim_makes_a_hole_and_keeps_the_size() {
        let scratch = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(scratch.path(), vec![7; 1 << 20]).expect("a write");
        let flags = OpenFlags { write: true, ..OpenFlags::default() };
        let file = TargetFile::open(scratch.path(), flags).expect("an open file");
        if let Err(error) = file.check_trim() {
            let reason = format!("skipped: no holes in files here: {error}\n");
            std::io::stderr().write_all(reason.as_bytes()).expect("standard error");
            return;
        }
        assert_eq!(file.as_std().metadata().expect("metadata").len(), 1 << 20);
        file.trim(65_536, 131_072).expect("a hole");
        assert_eq!(file.as_std().metadata().expect("metadata").len(), 1 << 20);
        let backing = extents::backing(file.as_std(), 0..1 << 20).expect("extents");
        assert_eq!(backing.unbacked_bytes(), 131_072);
        let bytes = std::fs::read(scratch.path()).expect("a read");
        let zeros = bytes.iter().enumerate().filter(|(_, byte)| **byte == 0).map(|(at, _)| at);
        assert!(zeros.eq(65_536..65_536 + 131_072));
    }
}
