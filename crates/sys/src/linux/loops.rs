//! What a loop device lies over.

use std::fs::OpenOptions;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::holders::device_number;
use super::identity::{FileId, Identity};

/// The number of `linux/loop.h`.
const LOOP_GET_STATUS64: libc::c_ulong = 0x4C05;

/// The object under the loop device at `device`, as the kernel holds it: a path that was renamed,
/// deleted, or that stands in another mount namespace makes no difference.
///
/// Fails with `ENXIO` if the device is not attached.
pub fn backing(device: &Path) -> io::Result<Identity> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(device)?;
    let mut status = MaybeUninit::<Status>::zeroed();
    // SAFETY: the ioctl writes one `loop_info64`, whose layout `Status` has, and `status` has room
    // for it and outlives the call.
    let outcome =
        unsafe { libc::ioctl(file.as_raw_fd(), LOOP_GET_STATUS64 as _, status.as_mut_ptr()) };
    if outcome != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the structure is plain integers, the memory was zeroed, and the kernel has filled it.
    let status = unsafe { status.assume_init() };
    // The number of the device that lies below is set only if that is a device itself.
    if status.under_device != 0 {
        return Ok(Identity::Device(device_number(status.under_device)));
    }
    let device = device_number(status.device);
    Ok(Identity::File(FileId { device, inode: status.inode }))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_the_kernels() {
        assert_eq!(std::mem::size_of::<Status>(), 232);
    }

    #[test]
    fn what_is_no_loop_device_has_nothing_below() {
        assert!(backing(Path::new("/dev/null")).is_err());
    }
}
