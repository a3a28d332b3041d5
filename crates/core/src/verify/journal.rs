//! The journal: a file with the windows of all blocks, mapped into the memory of the run.
//!
//! A window is changed before its write is issued and after the write has completed. The mapping is the
//! kernel's page cache, so that the journal is up to date at every instant for everybody who opens the file,
//! also after the run was killed. It is put on stable storage when the run ends, and now and then by the
//! kernel; a loss of power may thus leave a journal that is older than the data.
//!
//! The file: 32 bytes (magic, version, state, length and CRC32C of what follows, CRC32C of these without
//! the state, zeros), the targets as JSON, zeros up to a multiple of 4096, and words of 64 bits in the byte
//! order of the host: for each target four about what its file was made with, the last of which checks the
//! others, and one per block, which checks itself (`word`). Journals of version 1 lack the second CRC32C,
//! the fourth word and the checks; they are read, and said to be so.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fathom_sys::contract::file::PositionedIo;
use fathom_sys::words::{LockedFile, MAP_ALIGN_BYTES, SharedWords};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::fixed::{CLOSED, Fixed, STATE_AT};
use super::origin::{ORIGIN_WORDS, ORIGIN_WORDS_1, Origin};
use super::window::Window;
use super::word::decode;
use crate::errors::Kind;

/// The targets of no run take more.
const HEAD_BYTES_MAX: u32 = 64 << 20;
pub(super) const WORD_BYTES: u64 = 8;

/// What a journal is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Seed of the run's stamps.
    pub seed: u64,
    /// The targets, in the order of their windows.
    pub targets: Vec<JournalTarget>,
}

/// One target of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalTarget {
    /// Its name, as it was given.
    pub name: String,
    /// Its path.
    pub path: String,
    /// Its identity in stamps.
    pub identity: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// The first block, from the start of the target.
    pub start_bytes: u64,
    /// Number of blocks.
    pub blocks: u64,
}

/// Why a journal cannot be made or read.
#[derive(Debug, Error)]
pub enum JournalError {
    /// Another file stands in its place.
    #[error(
        "'{0}' is no journal of a verified run and is left alone; name another file with --verify-journal"
    )]
    NotOurs(PathBuf),
    /// No file stands in its place.
    #[error("'{path}' is {what} and is left alone; name a file with --verify-journal")]
    NotAFile {
        /// What was named.
        path: PathBuf,
        /// What it is, with article.
        what: &'static str,
    },
    /// What stands in its place begins as a journal, and is more or less than one.
    #[error(
        "'{path}' is the journal of an earlier run, but not as that left it ({why}), and is left alone: move it \
         away, or name another file with --verify-journal"
    )]
    NotWhole {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The journal of a run that did not end stands in its place.
    #[error(
        "'{0}' is the journal of a run that did not end; verify what it left with --verify-only={0}, then \
         remove the journal, or name another with --verify-journal"
    )]
    Unfinished(PathBuf),
    /// It would be made in the place of a target.
    #[error("the journal '{0}' is a target too; name another file with --verify-journal")]
    IsTarget(PathBuf),
    /// This run's own output goes to it.
    #[error(
        "the journal '{0}' is where the output of this run goes; name another file with --verify-journal"
    )]
    IsOutput(PathBuf),
    /// Another file stands there by now.
    #[error(
        "since it was looked at, another file has taken the place of the journal '{0}', and is left alone: \
         another run may have begun; name another file with --verify-journal"
    )]
    Replaced(PathBuf),
    /// There is no room for it.
    #[error(
        "there is no room for the journal '{path}': {why}; make room, or name a file elsewhere with \
         --verify-journal"
    )]
    Room {
        /// The file.
        path: PathBuf,
        /// What it needs, and what there is.
        why: String,
        /// The kind of that.
        kind: Kind,
    },
    /// Another process uses it.
    #[error(
        "the journal '{0}' belongs to a run that is under way; wait for its end, or name another"
    )]
    InUse(PathBuf),
    /// It is no journal, or not one of this version.
    #[error("'{path}' cannot be used as a journal: {why}; name the journal of a run with --verify")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The kernel refused.
    #[error("cannot {doing} the journal '{path}': {source}{hint}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// The kernel's answer.
        source: io::Error,
        /// What to do, with a leading separator.
        hint: &'static str,
    },
}

impl JournalError {
    /// Whether a file was left alone because it must not be lost.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        !matches!(self, Self::Damaged { .. } | Self::Io { .. } | Self::Room { .. })
    }

    /// The kind of what went wrong.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Io { source, .. } => Kind::of(source),
            Self::Damaged { .. } => Kind::Invalid,
            Self::InUse(_) | Self::Replaced(_) => Kind::Busy,
            Self::Room { kind, .. } => *kind,
            Self::NotOurs(_)
            | Self::NotAFile { .. }
            | Self::NotWhole { .. }
            | Self::Unfinished(_)
            | Self::IsTarget(_)
            | Self::IsOutput(_) => Kind::Denied,
        }
    }
}

/// The kernel's refusal of one step, in words.
pub(super) fn failed(path: &Path, doing: &'static str) -> impl Fn(io::Error) -> JournalError {
    move |source| JournalError::Io {
        path: path.to_owned(),
        doing,
        hint: match source.kind() {
            io::ErrorKind::StorageFull => "; free some space, or name a file elsewhere",
            io::ErrorKind::NotFound => "; correct the path",
            _ => "; check the path and its file system",
        },
        source,
    }
}

/// Says that the run has ended, with everything on stable storage before.
pub fn close(path: &Path, words: &SharedWords) -> Result<(), JournalError> {
    let Some(file) = words.file() else { return Ok(()) };
    let closed = words.sync().and_then(|()| file.write_all_at(&CLOSED.to_ne_bytes(), STATE_AT));
    closed.and_then(|()| file.sync_all()).map_err(failed(path, "close"))
}

/// Locks a file, or tells that it is in use.
pub(super) fn locked(path: &Path, file: File) -> Result<LockedFile, JournalError> {
    let locked = LockedFile::try_lock(file).map_err(failed(path, "lock"))?;
    locked.ok_or_else(|| JournalError::InUse(path.to_owned()))
}

pub(super) fn words_at(fixed_bytes: usize, json_bytes: u64) -> u64 {
    (fixed_bytes as u64 + json_bytes).next_multiple_of(MAP_ALIGN_BYTES)
}

/// A journal that is read.
#[derive(Debug)]
pub struct Journal {
    /// What it is about.
    pub head: Head,
    /// Whether its words check themselves; not so in version 1.
    pub has_checks: bool,
    file: Arc<LockedFile>,
    json_end: u64,
    words_at: u64,
}

impl Journal {
    /// Opens the journal of a run that has ended in one way or another. It is not changed.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        if !fs::metadata(path).map_err(failed(path, "open"))?.is_file() {
            return Err(damaged(path)("it is not a regular file".to_owned()));
        }
        let file = File::open(path).map_err(failed(path, "open"))?;
        Self::read(Arc::new(locked(path, file)?)).map_err(damaged(path))
    }

    pub(super) fn read(file: Arc<LockedFile>) -> Result<Self, String> {
        let fixed = Fixed::read(&file)?;
        if fixed.json_bytes > HEAD_BYTES_MAX {
            return Err("its head is longer than any".to_owned());
        }
        let mut json = vec![0; fixed.json_bytes as usize];
        let cut = |_| "it is cut short".to_owned();
        file.read_exact_at(&mut json, fixed.bytes() as u64).map_err(cut)?;
        if crc32c::crc32c(&json) != fixed.json_checksum {
            return Err("its head is damaged: it does not match its checksum".to_owned());
        }
        let head: Head = serde_json::from_slice(&json).map_err(|error| error.to_string())?;
        let words_at = words_at(fixed.bytes(), u64::from(fixed.json_bytes));
        head.check()?;
        let words = head.words_with(origin_words(fixed.has_checks));
        let expected = words.and_then(|words| words.checked_mul(WORD_BYTES));
        let expected = expected.and_then(|bytes| bytes.checked_add(words_at));
        let found = file.metadata().map_err(|error| error.to_string())?.len();
        if expected != Some(found) {
            let expected = expected.unwrap_or(u64::MAX);
            return Err(format!("it has {found} bytes where {expected} belong to its targets"));
        }
        let json_end = fixed.bytes() as u64 + u64::from(fixed.json_bytes);
        Ok(Self { head, has_checks: fixed.has_checks, file, json_end, words_at })
    }

    /// Whether nothing but zeros stands between the head and the words.
    pub(super) fn has_clean_gap(&self) -> io::Result<bool> {
        let mut gap = vec![1; usize::try_from(self.words_at - self.json_end).unwrap_or(0)];
        self.file.read_exact_at(&mut gap, self.json_end)?;
        Ok(gap.iter().all(|&byte| byte == 0))
    }

    /// The windows of `count` blocks of a target, from the block `first` on; [`Window::DAMAGED`] where a
    /// word is not what was written there.
    pub fn windows(&self, target: usize, first: u64, count: usize) -> io::Result<Vec<Window>> {
        let place = self.place(target) + self.origin_words() as u64 + first;
        let words = self.words(place, count)?.into_iter().zip(place..);
        let window =
            |(word, place)| if self.has_checks { decode(word, place) } else { Window(word) };
        Ok(words.map(window).collect())
    }

    /// What a target's file was made with, if that is known; an error of the kind `InvalidData` if that is
    /// damaged.
    pub fn origin(&self, target: usize) -> io::Result<Option<Origin>> {
        let place = self.place(target);
        let words = self.words(place, self.origin_words())?;
        if !self.has_checks {
            return Ok(Origin::from_bare_words(std::array::from_fn(|index| words[index])));
        }
        let origin = Origin::from_words(std::array::from_fn(|index| words[index]), place);
        origin.ok_or(io::Error::from(io::ErrorKind::InvalidData))
    }

    fn origin_words(&self) -> usize {
        origin_words(self.has_checks)
    }

    /// The place of a target's first word.
    fn place(&self, target: usize) -> u64 {
        let words = |target: &JournalTarget| target.blocks + self.origin_words() as u64;
        self.head.targets[..target].iter().map(words).sum()
    }

    fn words(&self, place: u64, count: usize) -> io::Result<Vec<u64>> {
        let mut bytes = vec![0; count * 8];
        self.file.read_exact_at(&mut bytes, self.words_at + place * WORD_BYTES)?;
        let word = |word: &[u8]| u64::from_ne_bytes(std::array::from_fn(|index| word[index]));
        Ok(bytes.chunks_exact(8).map(word).collect())
    }
}

fn origin_words(has_checks: bool) -> usize {
    if has_checks { ORIGIN_WORDS } else { ORIGIN_WORDS_1 }
}

impl Head {
    pub(super) fn json(&self) -> Vec<u8> {
        // Strings and numbers can always be written as JSON.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Bytes of the whole journal, whose words begin at `words_at`.
    pub(super) fn file_bytes(&self, words_at: u64) -> u64 {
        self.words().unwrap_or(u64::MAX).saturating_mul(WORD_BYTES).saturating_add(words_at)
    }

    /// The number of all words; none if there are too many.
    pub(super) fn words(&self) -> Option<u64> {
        self.words_with(ORIGIN_WORDS)
    }

    fn words_with(&self, origin_words: usize) -> Option<u64> {
        let add = |sum: u64, target: &JournalTarget| {
            sum.checked_add(target.blocks)?.checked_add(origin_words as u64)
        };
        self.targets.iter().try_fold(0, add)
    }

    fn check(&self) -> Result<(), String> {
        for target in &self.targets {
            let block_bytes = u64::from(target.block_bytes);
            let sound = block_bytes > 0 && block_bytes % super::stamp::SECTOR_BYTES as u64 == 0;
            let end = target.blocks.checked_mul(block_bytes);
            let end = end.and_then(|bytes| bytes.checked_add(target.start_bytes));
            if !sound || end.is_none() {
                return Err(format!("its blocks of '{}' are impossible", target.name));
            }
        }
        Ok(())
    }
}

fn damaged(path: &Path) -> impl Fn(String) -> JournalError {
    move |why| JournalError::Damaged { path: path.to_owned(), why }
}
