//! What a loop device lies over.

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::holders::device_number;
use super::identity::{self, FileId, Identity};

/// The number of `linux/loop.h`.
const LOOP_GET_STATUS64: libc::c_ulong = 0x4C05;

/// The object under the loop device of this number, whose node is expected at `device`, as the kernel holds
/// it: a path that was renamed, deleted, or that stands in another mount namespace makes no difference.
/// Nothing if the device is not attached.
///
/// # Errors
/// If no node of this device stands there, or if it may not be opened.
pub fn backing(device: &Path, number: (u32, u32)) -> io::Result<Option<Identity>> {
    // Opening what is another device may have effects of its own.
    if identity::of(device)? != Identity::Device(number) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(device)?;
    match status_of(&file) {
        Ok(status) => Ok(Some(status.under())),
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
        Err(error) => Err(error),
    }
}

fn status_of(file: &File) -> io::Result<Status> {
    let mut status = MaybeUninit::<Status>::zeroed();
    // SAFETY: the ioctl writes one `loop_info64`, whose layout `Status` has, and `status` has room
    // for it and outlives the call.
    let outcome =
        unsafe { libc::ioctl(file.as_raw_fd(), LOOP_GET_STATUS64 as _, status.as_mut_ptr()) };
    if outcome != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the structure is plain integers, the memory was zeroed, and the kernel has filled it.
    Ok(unsafe { status.assume_init() })
}

/// `struct loop_info64` of `linux/loop.h`, which the libc crate does not carry.
#[repr(C)]
struct Status {
    device: u64,
    inode: u64,
    under_device: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

impl Status {
    fn under(&self) -> Identity {
        // The number of the device that lies below is set only if that is a device itself.
        if self.under_device != 0 {
            return Identity::Device(device_number(self.under_device));
        }
        Identity::File(FileId { device: device_number(self.device), inode: self.inode })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_the_kernels() {
        assert_eq!(std::mem::size_of::<Status>(), 232);
    }

    #[test]
    fn what_is_no_loop_device_has_nothing_below() {
        assert!(backing(Path::new("/dev/null"), (1, 3)).is_err());
    }
}
