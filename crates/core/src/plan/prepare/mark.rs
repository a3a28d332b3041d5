//! The mark on files that this tool has made: an extended attribute with size and seed.
//!
//! It outlasts runs that write to the file, which the content does not. It counts only while the
//! file has the size that the mark names, so that a file that was replaced in place is not ours.

use std::ffi::CStr;
use std::fs::File;
use std::io;

use fathom_sys::attributes;

use super::content::{self, Content};
use crate::plan::Reduction;

const NAME: &CStr = c"user.fathom.made";
/// Version of the mark and of the content behind it.
const VERSION: &str = "1";

/// Marks a file that is complete and on stable storage.
///
/// A file system that keeps no such attributes is no error: the content proves the same.
pub(super) fn set(file: &File, content: Content) {
    let mut value = format!("{VERSION} {} {:016x}", content.size_bytes, content.seed);
    if content.reduction != Reduction::default() {
        let Reduction { compress_percent, dedupe_percent } = content.reduction;
        value.push_str(&format!(" {compress_percent} {dedupe_percent}"));
    }
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
    Ok(is_marked(file, size_bytes)
        || content::proven(file, size_bytes, Reduction::default())?.is_some())
}

/// How far the data compress and repeat with which a marked file was made.
pub(super) fn reduction(file: &File) -> Reduction {
    let text = text(file);
    let mut percents = text.split(' ').skip(3).map(|word| word.parse().unwrap_or(0));
    let mut next = || percents.next().unwrap_or(0);
    Reduction { compress_percent: next(), dedupe_percent: next() }
}

fn text(file: &File) -> String {
    let value = attributes::get(file, NAME).ok().flatten().unwrap_or_default();
    String::from_utf8(value).unwrap_or_default()
}

/// The data that `file` of `size_bytes` was made with, if this tool has made it: by its mark, or by what it
/// holds. Runs may have written to it since.
pub(crate) fn content_of(file: &File, size_bytes: u64) -> io::Result<Option<Content>> {
    let seed = text(file);
    let seed = seed.split(' ').nth(2).and_then(|seed| u64::from_str_radix(seed, 16).ok());
    match seed.filter(|_| is_marked(file, size_bytes)) {
        Some(seed) => Ok(Some(Content { seed, size_bytes, reduction: reduction(file) })),
        None => content::proven(file, size_bytes, Reduction::default()),
    }
}

/// Whether `file` carries the mark for `size_bytes`.
pub(super) fn is_marked(file: &File, size_bytes: u64) -> bool {
    let text = text(file);
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
        let reduction = Reduction { compress_percent: 50, dedupe_percent: 7 };
        set(file, Content { seed: 3, size_bytes: 4096, reduction });
        if attributes::get(file, NAME).is_err() {
            return; // This file system keeps no user attributes.
        }
        assert!(is_marked(file, 4096));
        assert_eq!(super::reduction(file), reduction);
        assert!(!is_marked(file, 4097));
        let content = Content { seed: 3, size_bytes: 4096, reduction };
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
