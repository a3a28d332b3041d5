//! The numbers of tracepoints, which only the file system `tracefs` tells.
//!
//! Where it is not mounted, a mount is made that has no place in the tree of files (`fsmount(2)`): nobody
//! else sees it, and it is gone as soon as it is closed.

use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};

use super::{TraceError, owned};

const MOUNTED_AT: &str = "/sys/kernel/tracing";
const FSOPEN_CLOEXEC: libc::c_uint = 1;
const FSMOUNT_CLOEXEC: libc::c_uint = 1;
const FSCONFIG_CMD_CREATE: libc::c_uint = 6;

/// The number of a tracepoint, such as `sched/sched_process_exit`.
pub fn number_of(tracepoint: &str) -> Result<u64, TraceError> {
    let path = format!("events/{tracepoint}/id");
    let text = fs::read_to_string(format!("{MOUNTED_AT}/{path}"));
    let text = text.or_else(|error| detached(&path).map_err(|own| first(error, own)));
    text.map_err(|error| refused(tracepoint, &error))?.trim().parse().map_err(|_| TraceError {
        why: format!("the kernel tells no number for the tracepoint {tracepoint}"),
        remedy: "use a kernel with CONFIG_FTRACE, or leave this group out".to_owned(),
    })
}

/// Why the mounted one cannot be read, unless it is not mounted at all.
fn first(mounted: io::Error, detached: io::Error) -> io::Error {
    if mounted.kind() == io::ErrorKind::NotFound { detached } else { mounted }
}

fn refused(tracepoint: &str, error: &io::Error) -> TraceError {
    if error.kind() == io::ErrorKind::NotFound {
        return TraceError {
            why: format!("this kernel has no tracepoint {tracepoint}"),
            remedy: "use a kernel that has it, or leave this group out".to_owned(),
        };
    }
    TraceError {
        why: format!("the tracepoint {tracepoint} cannot be looked up in tracefs: {error}"),
        remedy: format!(
            "run as root, or let this user read tracefs \
             (mount -t tracefs -o mode=755 tracefs {MOUNTED_AT})"
        ),
    }
}

/// Reads a file of a mount of its own.
fn detached(path: &str) -> io::Result<String> {
    let tree = mount(c"tracefs")?;
    let path = CString::new(path)?;
    // SAFETY: the path is a valid string that outlives the call, and the directory is open.
    let file = owned(libc::c_long::from(unsafe {
        libc::openat(tree.as_raw_fd(), path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC)
    }))?;
    let mut text = String::new();
    File::from(file).read_to_string(&mut text)?;
    Ok(text)
}

/// A mount that is attached nowhere.
fn mount(kind: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: the name is a valid string that outlives the call.
    let context = unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), FSOPEN_CLOEXEC) };
    let context = owned(context)?;
    let none = std::ptr::null::<libc::c_char>();
    // SAFETY: this command takes neither key nor value; the context is open.
    let created = unsafe {
        libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), FSCONFIG_CMD_CREATE, none, none, 0)
    };
    if created != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the context is open and has been created; no attributes are set.
    owned(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), FSMOUNT_CLOEXEC, 0) })
}
