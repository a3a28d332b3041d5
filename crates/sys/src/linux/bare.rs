//! Opening by the kernel's own call, where the standard library leaves out a flag.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Opens a path without access to what stands there (`O_PATH`), so that nothing happens to it.
///
/// By the kernel's own call: musl counts `O_PATH` among the modes of access (`O_ACCMODE`), which
/// `OpenOptions::custom_flags` leaves out, so that a static binary would open it for reading.
pub(super) fn without_access(path: &Path, more: libc::c_int) -> io::Result<File> {
    open_at(libc::AT_FDCWD, path.as_os_str(), libc::O_PATH | more, 0)
}

/// Opens a name in a directory that is open (`openat(2)`); it is closed where another program is started.
pub(super) fn open_at(
    directory: RawFd,
    name: &OsStr,
    flags: libc::c_int,
    mode: libc::mode_t,
) -> io::Result<File> {
    let name = CString::new(name.as_bytes())?;
    loop {
        // SAFETY: the name is NUL-terminated and outlives the call; the rest are integers.
        let opened =
            unsafe { libc::openat(directory, name.as_ptr(), flags | libc::O_CLOEXEC, mode) };
        if opened >= 0 {
            // SAFETY: the kernel has just given this descriptor, which nobody else owns.
            return Ok(unsafe { File::from_raw_fd(opened) });
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::process::Command;

    use super::super::held::Held;
    use super::*;

    #[test]
    fn what_is_held_is_neither_read_nor_waited_for() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let (file, pipe) = (home.path().join("file"), home.path().join("pipe"));
        fs::write(&file, "theirs").expect("a file");
        // Who opens a pipe that nobody writes to waits forever.
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        for path in [file.as_path(), &pipe, home.path()] {
            let held = Held::take(path).expect("held");
            assert!(held.is_at(path));
            let error = held.descriptor().expect("a descriptor").read(&mut [0]);
            assert_eq!(error.expect_err("no access").raw_os_error(), Some(libc::EBADF));
        }
        assert!(without_access(&file, libc::O_DIRECTORY).is_err());
        assert!(without_access(home.path(), libc::O_DIRECTORY).is_ok());
    }
}
