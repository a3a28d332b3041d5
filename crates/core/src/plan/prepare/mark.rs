//! The mark on files that this tool has made: an extended attribute with size and seed.
//!
//! It outlasts runs that write to the file, which the content does not. It counts only while the
//! file has the size that the mark names, so that a file that was replaced in place is not ours.

use std::ffi::CStr;
use std::fs::File;
use std::io;

use fathom_sys::attributes;

use super::content::{self, Content};

const NAME: &CStr = c"user.fathom.made";
/// Version of the mark and of the content behind it.
const VERSION: &str = "1";

/// Marks a file that is complete and on stable storage.
///
/// A file system that keeps no such attributes is no error: the content proves the same.
pub(super) fn set(file: &File, content: Content) {
    let value = format!("{VERSION} {} {:016x}", content.size_bytes, content.seed);
    // Without the mark the file is merely made again after the first run that writes to it.
    let _ = attributes::set(file, NAME, value.as_bytes());
}

/// Removes the mark, before the data behind it go.
pub(super) fn remove(file: &File) -> io::Result<()> {
    match attributes::remove(file, NAME) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        outcome => outcome,
    }
}

/// Whether `file` of `size_bytes` was made by this tool: by its mark, or by what it holds.
pub(crate) fn is_ours(file: &File, size_bytes: u64) -> io::Result<bool> {
    Ok(is_marked(file, size_bytes) || content::proven(file, size_bytes)?.is_some())
}

/// The data that `file` of `size_bytes` was made with, if this tool has made it: by its mark, or by what it
/// holds. Runs may have written to it since.
pub(crate) fn content_of(file: &File, size_bytes: u64) -> io::Result<Option<Content>> {
    let value = attributes::get(file, NAME).ok().flatten().unwrap_or_default();
    let text = String::from_utf8(value).unwrap_or_default();
    let seed = text.split(' ').nth(2).and_then(|seed| u64::from_str_radix(seed, 16).ok());
    match seed.filter(|_| is_marked(file, size_bytes)) {
        Some(seed) => Ok(Some(Content { seed, size_bytes })),
        None => content::proven(file, size_bytes),
    }
}

/// Whether `file` carries the mark for `size_bytes`.
pub(super) fn is_marked(file: &File, size_bytes: u64) -> bool {
    let value = attributes::get(file, NAME).ok().flatten().unwrap_or_default();
    let text = String::from_utf8(value).unwrap_or_default();
    let mut words = text.split(' ');
    words.next() == Some(VERSION) && words.next() == Some(&size_bytes.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_counts_for_its_size_only() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let file = file.as_file();
        set(file, Content { seed: 3, size_bytes: 4096 });
        if attributes::get(file, NAME).is_err() {
            return; // This file system keeps no user attributes.
        }
        assert!(is_marked(file, 4096));
        assert!(!is_marked(file, 4097));
        let content = Content { seed: 3, size_bytes: 4096 };
        assert_eq!(content_of(file, 4096).expect("reads"), Some(content));
        remove(file).expect("removal");
        assert!(!is_marked(file, 4096));
    }

    #[test]
    fn other_versions_are_not_trusted() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        if attributes::set(file.as_file(), NAME, b"2 4096 00").is_ok() {
            assert!(!is_marked(file.as_file(), 4096));
        }
    }
}
