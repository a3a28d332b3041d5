//! Limits of this process that may be raised without privilege.

use std::io;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_stays_raised() {
        let first = raise_open_files().unwrap();
        assert_eq!(raise_open_files().unwrap(), first);
    }
}
