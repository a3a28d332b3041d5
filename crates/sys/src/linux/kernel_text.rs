//! What the kernel tells in files, where the names of other files may hold any bytes.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// What most of the kernel's files hold less than.
const PIECE_BYTES: usize = 4096;
/// What the kernel adds to the path of a file that is no more.
const DELETED: &[u8] = b" (deleted)";
/// How the kernel calls files in memory that stand in no folder: of `memfd_create(2)`, of mapped memory that
/// is shared, of System V, of asynchronous I/O and of graphics (`mm/memfd.c`, `mm/shmem.c`, `ipc/shm.c`,
/// `fs/aio.c` and `drivers/gpu/drm` of the kernel).
const IN_MEMORY: [&[u8]; 6] =
    [b"/memfd:", b"/dev/zero", b"/SYSV", b"/[aio]", b"/i915", b"/drm mm object"];

/// The text of a file. Bytes that are no text stand in it as the kernel writes spaces in names: a backslash
/// and three octal digits. One name that is none thus hides nothing else.
///
/// # Errors
/// If the file cannot be read.
pub fn read(path: &Path) -> io::Result<String> {
    read_bytes(path)
        .map(|bytes| String::from_utf8(bytes).unwrap_or_else(|odd| escaped(odd.as_bytes())))
}

/// The path that a file holds, and nothing else but the end of the line.
///
/// # Errors
/// If the file cannot be read.
pub fn read_path(path: &Path) -> io::Result<PathBuf> {
    let mut bytes = read_bytes(path)?;
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

/// The path that a file had before it was deleted; nothing if the kernel does not mark it so.
#[must_use]
pub fn undeleted(path: &Path) -> Option<&Path> {
    let bytes = path.as_os_str().as_bytes().strip_suffix(DELETED)?;
    Some(Path::new(OsStr::from_bytes(bytes)))
}

/// Whether the kernel calls a file so that lies in memory, and that no mount shows.
#[must_use]
pub fn is_in_memory(path: &Path) -> bool {
    let shown = undeleted(path).map(|path| path.as_os_str().as_bytes());
    shown.is_some_and(|shown| IN_MEMORY.iter().any(|name| shown.starts_with(name)))
}

/// All that a file holds. The kernel tells no size of its files: `fs::read` would ask for it, and then read
/// pieces of 32 bytes and more, which is most of the time where each process has a file.
fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut found = Vec::with_capacity(PIECE_BYTES);
    File::open(path)?.take(u64::MAX).read_to_end(&mut found)?;
    Ok(found)
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\{byte:03o}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::device::mounts;

    #[test]
    fn all_of_a_file_is_read_whatever_size_it_tells() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        for length in [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES] {
            let text = "x".repeat(length);
            fs::write(&file, &text).unwrap();
            assert_eq!(read(&file).unwrap(), text);
        }
        assert!(read(&folder.path().join("none")).is_err());
        // The kernel tells a size of 0 for this one.
        let own = read(Path::new("/proc/self/stat")).unwrap();
        assert!(own.starts_with(&std::process::id().to_string()), "{own}");
    }

    /// The whole table of mounts was not read where one place had a name that is no text.
    #[test]
    fn one_name_that_is_no_text_hides_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mountinfo");
        let first = b"21 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
        let second = b"22 21 8:2 / /caf\xe9\\040bar rw - ext4 /dev/sda2 rw\n";
        fs::write(&file, [&first[..], second].concat()).unwrap();
        let text = read(&file).unwrap();
        assert!(text.contains("/caf\\351\\040bar"), "{text}");
        let places: Vec<PathBuf> = mounts::parse(&text).into_iter().map(|one| one.place).collect();
        assert_eq!(places[0], Path::new("/"));
        assert_eq!(places[1].as_os_str().as_bytes(), b"/caf\xe9 bar");
    }

    #[test]
    fn a_path_is_read_byte_by_byte() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backing_file");
        fs::write(&file, b"/a/caf\xe9 \\101 (deleted)\n").unwrap();
        let path = read_path(&file).unwrap();
        assert_eq!(path.as_os_str().as_bytes(), b"/a/caf\xe9 \\101 (deleted)");
        let before = undeleted(&path).unwrap();
        assert_eq!(before.as_os_str().as_bytes(), b"/a/caf\xe9 \\101");
        assert_eq!(undeleted(before), None);
    }
}
