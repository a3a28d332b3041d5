//! What the kernel tells of a file (`statx(2)`).

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Of what a path leads to; `mask` says what is wanted.
pub(super) fn of_path(path: &Path, flags: libc::c_int, mask: u32) -> io::Result<libc::statx> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    ask((libc::AT_FDCWD, &name), flags, mask)
}

/// Of an open file.
pub(super) fn of_open(file: &File, flags: libc::c_int, mask: u32) -> io::Result<libc::statx> {
    ask((file.as_raw_fd(), c""), flags | libc::AT_EMPTY_PATH, mask)
}

fn ask((at, name): (RawFd, &CStr), flags: libc::c_int, mask: u32) -> io::Result<libc::statx> {
    let mut answer = MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: `name` is NUL-terminated and `answer` has room for one statx; both outlive the call.
    let status = unsafe { libc::statx(at, name.as_ptr(), flags, mask, answer.as_mut_ptr()) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: statx is plain integers, the memory was zeroed, and the kernel has filled it.
    Ok(unsafe { answer.assume_init() })
}
