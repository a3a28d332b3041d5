//! Files in memory that nobody else can reach.

use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;

/// A file of this size in memory, all of it a hole: it takes memory as it is written (`memfd_create(2)`).
pub fn sparse(size_bytes: u64) -> io::Result<File> {
    // SAFETY: the name is a NUL-terminated constant, and the call keeps nothing of it.
    let descriptor = unsafe { libc::memfd_create(c"fathom".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open, and nobody else has it.
    let file = unsafe { File::from_raw_fd(descriptor) };
    file.set_len(size_bytes)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn a_huge_file_takes_what_was_written_and_reads_as_zeros_elsewhere() {
        let file = sparse(1 << 50).expect("a file");
        file.write_all_at(b"x", (1 << 50) - 1).expect("its last byte");
        let mut bytes = [7; 2];
        file.read_exact_at(&mut bytes, (1 << 50) - 2).expect("its last two bytes");
        assert_eq!(bytes, *b"\0x");
    }
}
