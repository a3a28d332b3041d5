//! What may be asked of processes and their namespaces.

use std::io;
use std::path::Path;

/// The inode of the PID namespace that a machine starts with (`PROC_PID_INIT_INO` of
/// `include/uapi/linux/nsfs.h`; it has stood since Linux 3.8).
const INITIAL_PID_NAMESPACE: &str = "pid:[4026531836]";
/// `KCMP_FILES` of `linux/kcmp.h`.
const KCMP_FILES: libc::c_int = 2;

/// Whether this process lives in the PID namespace that the machine started with, from which all processes
/// are seen; nothing where `/proc` does not tell.
#[must_use]
pub fn sees_all_processes() -> Option<bool> {
    let link = std::fs::read_link(Path::new("/proc/self/ns/pid")).ok()?;
    Some(link.as_os_str() == INITIAL_PID_NAMESPACE)
}

/// The number of the process that started this one. The C library keeps no copy of it: each question is a
/// system call.
#[must_use]
pub fn parent() -> u32 {
    std::os::unix::process::parent_id()
}

/// The user whose rights this process has (`geteuid(2)`).
#[must_use]
pub fn effective_user() -> u32 {
    // SAFETY: the call has no preconditions and cannot fail.
    unsafe { libc::geteuid() }
}

/// Whether two threads have one table of open files; nothing where the kernel does not tell.
#[must_use]
pub fn share_open_files(one: u32, other: u32) -> Option<bool> {
    let (one, other) = (libc::pid_t::try_from(one).ok()?, libc::pid_t::try_from(other).ok()?);
    // SAFETY: the call takes integers only.
    match unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_FILES, 0, 0) } {
        0 => Some(true),
        1.. => Some(false),
        _ => None,
    }
}

/// Whether a file of `/proc` could not be read because its process, or what it told of, is gone.
#[must_use]
pub fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// Gives memory that was freed back to the kernel, where the library keeps it for later (glibc).
pub fn give_back_freed_memory() {
    // SAFETY: the call takes an integer only, and moves nothing that is in use.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_ended_is_gone() {
        let gone = |number| is_gone(&io::Error::from_raw_os_error(number));
        assert!(gone(libc::ENOENT) && gone(libc::ESRCH));
        assert!(!gone(libc::EACCES) && !gone(libc::EPERM) && !gone(libc::EMFILE));
    }

    #[test]
    fn a_thread_shares_with_itself() {
        let own = std::process::id();
        assert_ne!(share_open_files(own, own), Some(false));
        assert_ne!(share_open_files(own, 1), Some(true));
    }
}
