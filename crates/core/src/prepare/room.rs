//! Whether there is room for a file, asked before a byte is written.

use std::io;
use std::path::Path;

use fathom_sys::space::{self, Space};

use super::PrepareError;
use crate::control_groups;
use crate::tree::Tree;

/// Checks that a file of `needed_bytes` fits at `path`, when `given_back_bytes` become free first.
pub(super) fn check(
    path: &Path,
    needed_bytes: u64,
    given_back_bytes: u64,
) -> Result<(), PrepareError> {
    let look = |source| PrepareError::Io {
        path: path.to_owned(),
        step: "find out how much space is free",
        remedy: "check that the file system is mounted and readable",
        source,
        partial: None,
    };
    check_limit(path, needed_bytes, space::file_bytes_limit().map_err(look)?)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let room = at(directory.unwrap_or(Path::new("."))).map_err(look)?;
    let taken_bytes = needed_bytes.div_ceil(room.block_bytes).saturating_mul(room.block_bytes);
    match room.available_bytes.map(|free| free.saturating_add(given_back_bytes)) {
        Some(free_bytes) if taken_bytes > free_bytes => {
            Err(PrepareError::NoSpace { path: path.to_owned(), needed_bytes, free_bytes })
        }
        _ => Ok(()),
    }
}

/// The room in a directory. A file system in memory has no more than there is of that, whatever it says:
/// the kernel would end processes, this one or others, to make room.
pub(super) fn at(directory: &Path) -> io::Result<Space> {
    let room = space::of_file_system(directory)?;
    if !room.is_in_memory {
        return Ok(room);
    }
    let left = control_groups::memory_left(&Tree::new(Path::new("/")));
    let bounds = [
        room.available_bytes,
        fathom_sys::host::memory_available_bytes(),
        left.map(|left| left.left_bytes),
    ];
    Ok(Space { available_bytes: bounds.into_iter().flatten().min(), ..room })
}

fn check_limit(path: &Path, needed_bytes: u64, limit: Option<u64>) -> Result<(), PrepareError> {
    match limit {
        Some(limit_bytes) if needed_bytes > limit_bytes => Err(PrepareError::TooLarge {
            path: path.to_owned(),
            needed_bytes,
            limit: format!("the process's file size limit (ulimit -f) of {limit_bytes} bytes"),
        }),
        _ => Ok(()),
    }
}

/// The error for a file system that has no room for, or no way to address, so large a file.
pub(super) fn refused_size(path: &Path, needed_bytes: u64, source: io::Error) -> PrepareError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::FileTooLarge | io::ErrorKind::InvalidInput => {
            let limit = "its file system".to_owned();
            PrepareError::TooLarge { path, needed_bytes, limit }
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            let directory = path.parent().unwrap_or(Path::new("."));
            let room = at(directory).ok();
            let free_bytes = room.and_then(|room| room.available_bytes).unwrap_or(0);
            PrepareError::NoSpace { path, needed_bytes, free_bytes }
        }
        _ => PrepareError::Io {
            path,
            step: "set the size of the file",
            remedy: "check the file system",
            source,
            partial: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_is_does_not_fit() {
        let path = std::env::temp_dir().join("fathom-room");
        assert!(check(&path, 4096, 0).is_ok());
        match check(&path, 1 << 62, 7) {
            Err(PrepareError::NoSpace { needed_bytes, free_bytes, .. }) => {
                assert_eq!(needed_bytes, 1 << 62);
                assert!(free_bytes >= 7);
            }
            Err(PrepareError::TooLarge { .. }) => {}
            other => panic!("{other:?}"),
        }
        assert!(check(&path, 1 << 62, 1 << 62).is_ok());
    }

    #[test]
    fn the_limit_of_the_process_counts() {
        let path = Path::new("x");
        assert!(check_limit(path, 100, None).is_ok());
        assert!(check_limit(path, 100, Some(100)).is_ok());
        let error = check_limit(path, 101, Some(100)).expect_err("over the limit");
        assert!(error.to_string().contains("of 100 bytes"), "{error}");
    }
}
