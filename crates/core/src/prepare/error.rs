//! Why a file could not be made.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::errors::{Failure, Kind};
use crate::signature;

/// Why a file could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The file holds data that are not ours; it is unchanged.
    #[error(
        "{path}: the file {}, and recreating it would destroy them; name another file, give --overwrite if \
         they may be lost, or make it a scratch file once with fathom prepare adopt",
        signature::in_words(.found.as_deref()), path = path.display()
    )]
    Theirs {
        /// The file.
        path: PathBuf,
        /// What it looks like, if that is known.
        found: Option<String>,
    },
    /// Nothing proves any more whose the data of the file are; it is unchanged.
    #[error(
        "{path}: the file {}, and recreating it would destroy them; name another file, give --overwrite if \
         they may be lost, or make it a scratch file once with fathom prepare adopt",
        signature::UNTOLD, path = path.display()
    )]
    Untold {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else has the file open for writing; it is unchanged.
    #[error(
        "{path}: another program has the file open for writing; end that use first, or name another file; \
         no option overrides this", path = path.display()
    )]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// A file that another host serves holds data that are not ours; it is unchanged.
    #[error(
        "{path}: the file {}, and recreating it would destroy them; name another file, or give --overwrite \
         and {leave} if they may be lost",
        signature::in_words(.found.as_deref()), path = path.display()
    )]
    ServedTheirs {
        /// The file.
        path: PathBuf,
        /// What it looks like, if that is known.
        found: Option<String>,
        /// The option that it needs besides.
        leave: String,
    },
    /// The server refused a step, or was lost.
    #[error(
        "{path}: cannot {step}: {failure}{}", of_partial(*partial), path = path.display()
    )]
    Served {
        /// The file.
        path: PathBuf,
        /// What was tried.
        step: &'static str,
        /// The answer.
        failure: Box<Failure>,
        /// What became of the file, if it had been begun.
        partial: Option<Partial>,
    },
    /// Something other than a regular file is in the way; it is unchanged.
    #[error(
        "{path}: it is {kind}, so no file can be created there; name a file, or leave out the \
         size to create", path = path.display()
    )]
    NotAFile {
        /// What is in the way.
        path: PathBuf,
        /// Its kind, with article.
        kind: &'static str,
    },
    /// The directory that the file should be in does not exist.
    #[error(
        "{path}: the directory {directory} does not exist; create it first",
        path = path.display(), directory = directory.display()
    )]
    MissingDirectory {
        /// The file.
        path: PathBuf,
        /// The directory that is missing.
        directory: PathBuf,
    },
    /// The file system has not enough room; nothing was written.
    #[error(
        "{path}: not enough space: {needed_bytes} bytes are needed and {free_bytes} are free; \
         nothing was written; ask for a smaller file, or make room", path = path.display()
    )]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// Bytes of the file.
        needed_bytes: u64,
        /// Bytes that are free for it, what an existing file gives back included.
        free_bytes: u64,
    },
    /// The file system has not enough room for all files together; none was made.
    #[error(
        "{}: not enough space for all of them: {needed_bytes} more bytes are needed and {free_bytes} are \
         free on their file system; nothing was written; ask for smaller files, or make room",
        names(.paths)
    )]
    NoSpaceTogether {
        /// The files on that file system.
        paths: Vec<PathBuf>,
        /// Bytes that they need beside what the files there hold already.
        needed_bytes: u64,
        /// Bytes that are free.
        free_bytes: u64,
    },
    /// The file would be larger than is allowed; nothing was written.
    #[error(
        "{path}: a file of {needed_bytes} bytes is larger than {limit} allows; ask for a smaller \
         file", path = path.display()
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Bytes of the file.
        needed_bytes: u64,
        /// What sets the limit, in words.
        limit: String,
    },
    /// The room ran out while the file was being filled.
    #[error(
        "{path}: the space ran out after {done_bytes} of {needed_bytes} bytes; the partial file \
         {partial}; ask for a smaller file, or make room", path = path.display()
    )]
    RanOut {
        /// The file.
        path: PathBuf,
        /// Bytes that had been written.
        done_bytes: u64,
        /// Bytes of the file.
        needed_bytes: u64,
        /// What became of the file.
        partial: Partial,
    },
    /// Somebody ended the run.
    #[error(
        "{path}: interrupted after {done_bytes} of {needed_bytes} bytes; the partial file {partial}",
        path = path.display()
    )]
    Interrupted {
        /// The file.
        path: PathBuf,
        /// Bytes that had been written.
        done_bytes: u64,
        /// Bytes of the file.
        needed_bytes: u64,
        /// What became of the file.
        partial: Partial,
    },
    /// Somebody ended the run before the file was begun.
    #[error("{path}: interrupted before anything was written to it", path = path.display())]
    NotBegun {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refused a step.
    #[error(
        "{path}: cannot {step}: {source}{}; {remedy}", of_partial(*partial), path = path.display()
    )]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        step: &'static str,
        /// What to do about it.
        remedy: &'static str,
        /// The operating system's answer.
        source: io::Error,
        /// What became of the file, if it had been begun.
        partial: Option<Partial>,
    },
}

/// What became of a file that could not be completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partial {
    /// This run had made it, and it is gone.
    Removed,
    /// It was there before without data, and is so again: so many zeros, which may be none.
    Restored(u64),
    /// It was there before, and its data are gone.
    Emptied,
    /// This run had made it; it could not be removed, and its data are gone.
    EmptiedAlone,
    /// It has another name by now, and its data are gone.
    Elsewhere,
    /// Somebody else has written to it, or may have.
    Kept,
    /// It could be neither removed nor emptied.
    Left,
}

impl fmt::Display for Partial {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Removed => "was removed",
            Self::Restored(0) => "is empty again, as it was before",
            Self::Restored(bytes) => {
                return write!(out, "holds nothing but zeros again, as before ({bytes} bytes)");
            }
            Self::Emptied => "was emptied and not removed, since it was there before",
            Self::EmptiedAlone => "was emptied, since it could not be removed: remove it by hand",
            Self::Elsewhere => {
                "was emptied; by now it has another name, at which it stays, and what is found at this path is \
                 not of this run"
            }
            Self::Kept => {
                "was not removed, since somebody else may have written to it: look at it, and remove it by \
                 hand if nobody needs it"
            }
            Self::Left => {
                "stays as it is, since it could not be changed any more: look at it by hand"
            }
        })
    }
}

impl From<&PrepareError> for Failure {
    fn from(error: &PrepareError) -> Self {
        let words = error.to_string();
        match error {
            PrepareError::Io { source, .. } => Self::of(source, words),
            PrepareError::Served { failure, .. } => Self { message: words, ..(**failure).clone() },
            other => Self::new(other.kind(), words),
        }
    }
}

impl PrepareError {
    /// The kind of what went wrong.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Theirs { .. } | Self::ServedTheirs { .. } | Self::Untold { .. } => Kind::Denied,
            Self::InUse { .. } => Kind::Busy,
            Self::NotAFile { .. } => Kind::Unsupported,
            Self::MissingDirectory { .. } => Kind::NotFound,
            Self::NoSpace { .. } | Self::NoSpaceTogether { .. } | Self::RanOut { .. } => {
                Kind::NoSpace
            }
            Self::TooLarge { .. } => Kind::Limit,
            Self::Interrupted { .. } | Self::NotBegun { .. } => Kind::Interrupted,
            Self::Io { source, .. } => Kind::of(source),
            Self::Served { failure, .. } => failure.kind,
        }
    }

    /// Whether a file that is not complete was not removed.
    pub(crate) fn keeps_the_file(&self) -> bool {
        let partial = match self {
            Self::RanOut { partial, .. } | Self::Interrupted { partial, .. } => Some(*partial),
            Self::Io { partial, .. } | Self::Served { partial, .. } => *partial,
            _ => None,
        };
        partial.is_some_and(|partial| partial != Partial::Removed)
    }

    /// The same error with what became of the file.
    pub(super) fn with(mut self, became: Partial) -> Self {
        match &mut self {
            Self::RanOut { partial, .. } | Self::Interrupted { partial, .. } => *partial = became,
            Self::Io { partial, .. } | Self::Served { partial, .. } => *partial = Some(became),
            _ => {}
        }
        self
    }
}

fn of_partial(partial: Option<Partial>) -> String {
    partial.map(|partial| format!("; the partial file {partial}")).unwrap_or_default()
}

fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
