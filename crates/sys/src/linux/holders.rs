//! Claims on block devices.

use std::fs::File;
use std::io;
use std::path::Path;

use super::held::Held;

/// A claim on a block device, which is open for reading. As long as it is kept, the kernel lets nobody
/// mount the device, swap to it, build a volume on it, or claim it, one of its partitions, or the disk
/// that it lies on; in any namespace.
#[derive(Debug)]
pub struct Claim {
    file: File,
}

impl Claim {
    /// Claims a block device that is held (`O_EXCL`); nothing if somebody has claimed it, or what is named
    /// above.
    pub fn take(device: &Held, path: &Path) -> io::Result<Option<Self>> {
        match device.open(path, false, libc::O_EXCL | libc::O_NONBLOCK) {
            Ok(file) => Ok(Some(Self { file })),
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The open device.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }
}

/// Major and minor number of a device, from the `st_rdev` or `st_dev` of its metadata.
#[must_use]
pub fn device_number(raw: u64) -> (u32, u32) {
    (libc::major(raw), libc::minor(raw))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn the_null_device_is_one_three() {
        let raw = std::fs::metadata("/dev/null").expect("the null device").rdev();
        assert_eq!(device_number(raw), (1, 3));
    }
}
