//! A file that fed the writes of a run, as the mark of the file that was written tells it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use fathom_sys::contract::file::FileFacts;

/// Behind each file that fed the writes; no path has it.
pub(super) const END: char = '\0';

/// A file that fed the writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// So many bytes of it, or more that repeat it.
    pub(super) bytes: u64,
    /// When anything of it was last changed; nobody has changed it since.
    changed_ns: i64,
}

impl Source {
    /// A file that is to feed writes, as it is now; none if it is not there.
    pub(super) fn new(path: &Path, bytes: u64) -> Option<Self> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let changed_ns = path.metadata().ok()?.changed_ns();
        Some(Self { path, bytes, changed_ns })
    }

    /// Reads what [`Source::to_text`] has written, without its end.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.splitn(3, ' ');
        let mut number = || words.next()?.parse::<i64>().ok();
        let (bytes, changed_ns) = (number()?.cast_unsigned(), number()?);
        Some(Self { path: PathBuf::from(words.next()?), bytes, changed_ns })
    }

    /// It as text, with the end behind it; none if its path is none.
    pub(super) fn to_text(&self) -> Option<String> {
        let path = self.path.to_str()?;
        Some(format!("{} {} {path}{END}", self.bytes.cast_signed(), self.changed_ns))
    }

    /// Whether it is still there as it was: a regular file, and another one than `target`.
    pub(super) fn is_as_it_was(&self, target: &File) -> io::Result<bool> {
        let (Ok(found), target) = (self.path.metadata(), target.metadata()?) else {
            return Ok(false);
        };
        let is_other = found.number() != target.number();
        Ok(found.is_file() && is_other && found.changed_ns() == self.changed_ns)
    }
}
