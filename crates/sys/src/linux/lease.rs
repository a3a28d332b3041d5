//! Whether anybody has a file open for writing, asked of the kernel and not of `/proc`.
//!
//! A read lease (`F_SETLEASE`, `fcntl(2)`) is granted only while nobody has the file open for writing: in no
//! PID namespace, no user namespace, no mapping, and not by a descriptor that is on its way through a
//! socket. It is given back at once.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `F_SETSIG` of `asm-generic/fcntl.h`, which the libc crate does not carry.
const F_SETSIG: libc::c_int = 10;

/// Whether a file is open for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writers {
    /// By nobody.
    None,
    /// By somebody.
    Some,
    /// The kernel does not tell: the file belongs to another account, or its file system keeps no leases.
    Unknown,
}

/// Asks whether a file that is open for reading only is open for writing anywhere.
pub fn writers(file: &File) -> Writers {
    match try_lease(file, libc::F_RDLCK) {
        Ok(()) => Writers::None,
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Writers::Some,
        Err(_) => Writers::Unknown,
    }
}

/// Whether it is certain that nobody else has a file open, for reading or for writing, that is open for
/// writing here and by this descriptor alone: a write lease is granted only then.
#[must_use]
pub fn is_open_here_alone(file: &File) -> bool {
    try_lease(file, libc::F_WRLCK).is_ok()
}

/// Takes a lease and gives it back at once.
fn try_lease(file: &File, kind: libc::c_int) -> io::Result<()> {
    let descriptor = file.as_raw_fd();
    // Whoever opens the file in between has the lease broken, which is reported by a signal: by one that does
    // nothing unless it is caught, where the usual one would end the process.
    // SAFETY: the descriptor is open for as long as `file` is borrowed; no memory is passed.
    if unsafe { libc::fcntl(descriptor, F_SETSIG, libc::SIGURG) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the same.
    if unsafe { libc::fcntl(descriptor, libc::F_SETLEASE, kind) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the same. Closing the descriptor gives the lease back anyway.
    unsafe { libc::fcntl(descriptor, libc::F_SETLEASE, libc::F_UNLCK) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_writes_is_told() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = home.path().join("file");
        let writing = File::create(&path).expect("a file");
        let reading = File::open(&path).expect("open for reading");
        let _another = File::open(&path).expect("another reader");
        if writers(&reading) == Writers::Unknown {
            return; // This file system keeps no leases.
        }
        assert_eq!(writers(&reading), Writers::Some);
        drop(writing);
        assert_eq!(writers(&reading), Writers::None);
        assert_eq!(writers(&reading), Writers::None, "it was given back");
    }

    #[test]
    fn who_else_has_it_open_is_told_to_the_one_who_writes() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = home.path().join("file");
        let own = File::create(&path).expect("a file");
        if !is_open_here_alone(&own) {
            return; // This file system keeps no leases.
        }
        let reading = File::open(&path).expect("a reader");
        assert!(!is_open_here_alone(&own));
        drop(reading);
        assert!(is_open_here_alone(&own), "it was given back");
        let writing = File::options().write(true).open(&path).expect("a writer");
        assert!(!is_open_here_alone(&own) && !is_open_here_alone(&writing));
    }

    #[test]
    fn a_device_keeps_no_leases() {
        assert_eq!(writers(&File::open("/dev/null").expect("open")), Writers::Unknown);
    }
}
