//! Extended attributes of open files.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

/// The greatest value, in bytes, that [`get`] returns.
const VALUE_BYTES_MAX: usize = 4096;

/// The value of the attribute `name`; none if the file has it not or its value is longer than that.
pub fn get(file: &File, name: &CStr) -> io::Result<Option<Vec<u8>>> {
    let mut value = vec![0_u8; VALUE_BYTES_MAX];
    // SAFETY: `name` is NUL-terminated, and `value` has the length that is passed with it.
    let length = unsafe {
        libc::fgetxattr(file.as_raw_fd(), name.as_ptr(), value.as_mut_ptr().cast(), value.len())
    };
    if let Ok(length) = usize::try_from(length) {
        value.truncate(length);
        return Ok(Some(value));
    }
    match io::Error::last_os_error() {
        error if matches!(error.raw_os_error(), Some(libc::ENODATA | libc::ERANGE)) => Ok(None),
        error => Err(error),
    }
}

/// Sets the attribute `name`; fails with `Unsupported` where the file system keeps none.
pub fn set(file: &File, name: &CStr, value: &[u8]) -> io::Result<()> {
    let (data, length) =
        if value.is_empty() { (ptr::null(), 0) } else { (value.as_ptr().cast(), value.len()) };
    // SAFETY: `name` is NUL-terminated, and `data` points to `length` readable bytes.
    if unsafe { libc::fsetxattr(file.as_raw_fd(), name.as_ptr(), data, length, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Removes the attribute `name`; a file that has it not is no error.
pub fn remove(file: &File, name: &CStr) -> io::Result<()> {
    // SAFETY: `name` is NUL-terminated and outlives the call.
    if unsafe { libc::fremovexattr(file.as_raw_fd(), name.as_ptr()) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ENODATA) => Ok(()),
        error => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &CStr = c"user.fathom.test";

    #[test]
    fn a_value_comes_back_until_it_is_removed() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let file = file.as_file();
        if set(file, NAME, b"one").is_err() {
            return; // This file system keeps no user attributes.
        }
        assert_eq!(get(file, NAME).expect("a value"), Some(b"one".to_vec()));
        remove(file, NAME).expect("removal");
        assert_eq!(get(file, NAME).expect("no value"), None);
        remove(file, NAME).expect("removal of nothing");
    }

    #[test]
    fn an_overlong_value_is_not_ours() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        for (bytes, is_ours) in [(300, true), (VALUE_BYTES_MAX, true), (VALUE_BYTES_MAX + 1, false)]
        {
            // Some file systems keep no attributes, others none of this length.
            if set(file.as_file(), NAME, &vec![b'x'; bytes]).is_ok() {
                let found = get(file.as_file(), NAME).expect("an answer");
                assert_eq!(found.map(|value| value.len()), is_ours.then_some(bytes));
            }
        }
    }
}
