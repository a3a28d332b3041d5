//! Whether somebody else holds a block device.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Whether a block device is mounted, used for swap, or part of a volume, in any namespace.
///
/// Opening with `O_EXCL` claims the device for a moment; the kernel refuses with `EBUSY` when
/// somebody has claimed it, one of its partitions, or the disk that it lies on.
pub fn is_held(device: &Path) -> io::Result<bool> {
    match open_exclusively(device) {
        Ok(_) => Ok(false),
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => Ok(true),
        Err(error) => Err(error),
    }
}

fn open_exclusively(device: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_EXCL | libc::O_NONBLOCK).open(device)
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

    #[test]
    fn a_missing_device_is_an_error() {
        assert!(is_held(Path::new("/dev/fathom-no-such-device")).is_err());
    }
}
