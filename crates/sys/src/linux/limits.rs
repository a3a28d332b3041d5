//! Limits of this process that may be raised without privilege.

use std::io;

use caps::{CapSet, Capability};

/// Raises the soft limit of open files to the hard limit, because each thread opens its own targets and
/// the usual soft limit of 1024 is far below what the system allows. Returns the limit in force.
pub fn raise_open_files() -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for the write of one rlimit.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if limit.rlim_cur < limit.rlim_max {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: `limit` is a valid rlimit that outlives the call.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(limit.rlim_cur)
}

/// How many files this process has open; each is an entry of `/proc/self/fd`, as is the look itself.
pub fn open_files() -> io::Result<u64> {
    let entries = std::fs::read_dir("/proc/self/fd")?.count() as u64;
    Ok(entries.saturating_sub(1))
}

/// Memory that this process may lock, in bytes; nothing if there is no limit for it.
#[must_use]
pub fn lockable_bytes() -> Option<u64> {
    let is_free = caps::has_cap(None, CapSet::Effective, Capability::CAP_IPC_LOCK);
    if is_free.unwrap_or(false) {
        return None;
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for the write of one rlimit.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) };
    (result == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_opened_is_counted() {
        // Other tests of this process open and close files meanwhile, so that many are opened here.
        let before = open_files().unwrap();
        let kept: Vec<_> = (0..200).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        assert!(open_files().unwrap() >= before + 150);
        drop(kept);
    }

    #[test]
    fn the_limit_stays_raised() {
        let first = raise_open_files().unwrap();
        assert_eq!(raise_open_files().unwrap(), first);
    }
}
