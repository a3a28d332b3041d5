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
//! others, and one per block, which checks itself (`word`). The head is written first, with a state that says
//! that the words are in the making: a run that is killed by then has written nothing. Journals of version 1
//! lack the second CRC32C, the fourth word and the checks; they are read, and said to be so.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use fathom_sys::access::{may_make_in, may_write};
use fathom_sys::contract::file::{FileFacts, FileKind, PositionedIo};
use fathom_sys::held::Directory;
use fathom_sys::identity;
use fathom_sys::space;
use fathom_sys::words::{MAP_ALIGN_BYTES, SharedWords, try_lock};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::fixed::{CLOSED, FIXED_BYTES, Fixed, OPEN, STATE_AT, State, fixed};
use super::origin::{ORIGIN_WORDS, ORIGIN_WORDS_1, Origin};
use super::window::Window;
use super::word::{decode, encode};
use crate::errors::Kind;
use crate::prepare::kind_in_words;

/// The targets of no run take more.
const HEAD_BYTES_MAX: u32 = 64 << 20;
const WORD_BYTES: u64 = 8;

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
        !matches!(self, Self::Damaged { .. } | Self::Io { .. })
    }

    /// The kind of what went wrong.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Io { source, .. } => Kind::of(source),
            Self::Damaged { .. } => Kind::Invalid,
            Self::InUse(_) => Kind::Busy,
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
fn failed(path: &Path, doing: &'static str) -> impl Fn(io::Error) -> JournalError {
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

/// Makes the journal of a run and maps its windows, all of which are 0. The file stays locked until they are
/// dropped. A journal of a run that has ended is written over; every other file is left alone.
pub fn create(path: &Path, head: &Head) -> Result<SharedWords, JournalError> {
    // A link stays, and what it names is written.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = Directory::take(folder.unwrap_or(Path::new(".")));
    let folder = folder.map_err(failed(path, "open the folder of"))?;
    let name = place.file_name().ok_or_else(|| JournalError::NotOurs(path.to_owned()))?;
    let (file, is_new) = claim(path, &folder, name)?;
    let identity = identity::of_open(&file).map_err(failed(path, "look at"))?;
    let made = fill(path, &file, head).and_then(|words_at| {
        let count = usize::try_from(head.words().unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        SharedWords::in_file(file, words_at, count).map_err(failed(path, "map"))
    });
    if made.is_err() && is_new {
        // What cannot be removed holds nothing that could be taken for a journal.
        let _removed = folder.remove(name, identity);
    }
    made
}

/// What [`create`] would find in the journal's place: whether an earlier journal is written over. Nothing is
/// made or changed.
pub fn foresee(path: &Path) -> Result<bool, JournalError> {
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let opened = Directory::take(folder).map_err(failed(path, "open the folder of"))?;
    let name = place.file_name().ok_or_else(|| JournalError::NotOurs(path.to_owned()))?;
    let held = match opened.hold(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            may_make_in(folder).map_err(|why| failed(path, "create")(why.into()))?;
            return Ok(false);
        }
        held => held.map_err(failed(path, "look at"))?,
    };
    let found = held.metadata(path).map_err(failed(path, "look at"))?;
    if !found.is_file() {
        return Err(not_a_file(path, found.kind()));
    }
    may_write(&place).map_err(|why| failed(path, "open")(why.into()))?;
    let file = held.open_to_read(path).map_err(failed(path, "open"))?;
    lock_ended(path, &file)?;
    Ok(found.len() > 0)
}

fn not_a_file(path: &Path, kind: FileKind) -> JournalError {
    let what = match kind {
        FileKind::Link => "a symbolic link that leads to no file",
        other => kind_in_words(other),
    };
    JournalError::NotAFile { path: path.to_owned(), what }
}

/// Locks a file that is wholly the journal of a run that has ended, or empty; refuses any other.
fn lock_ended(path: &Path, file: &File) -> Result<(), JournalError> {
    let own = identity::of_open(file).map_err(failed(path, "look at"))?;
    let is_output = |place: &str| identity::of(Path::new(place)).is_ok_and(|output| output == own);
    if ["/dev/stdout", "/dev/stderr"].into_iter().any(is_output) {
        return Err(JournalError::IsOutput(path.to_owned()));
    }
    if !try_lock(file).map_err(failed(path, "lock"))? {
        return Err(JournalError::InUse(path.to_owned()));
    }
    examine(path, file)
}

/// Opens the file in the journal's place, and whether it is new; nothing is changed in it yet. What is looked
/// at is what is opened, whatever the name stands for by then.
fn claim(path: &Path, folder: &Directory, name: &OsStr) -> Result<(File, bool), JournalError> {
    let held = match folder.hold(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let file = folder.create_new(name, 0o600).map_err(failed(path, "create"))?;
            try_lock(&file).map_err(failed(path, "lock"))?;
            return Ok((file, true));
        }
        held => held.map_err(failed(path, "look at"))?,
    };
    // Asked before it is opened: opening a device or a pipe may itself have effects.
    let found = held.metadata(path).map_err(failed(path, "look at"))?;
    if !found.is_file() {
        return Err(not_a_file(path, found.kind()));
    }
    let file = held.open_to_write(path).map_err(failed(path, "open"))?;
    lock_ended(path, &file)?;
    Ok((file, false))
}

/// Refuses a file that is not wholly the journal of a run that has ended, or of one that was killed while it
/// made it.
fn examine(path: &Path, file: &File) -> Result<(), JournalError> {
    let look = failed(path, "look at");
    if file.metadata().map_err(&look)?.len() == 0 {
        return Ok(());
    }
    let fixed = Fixed::read(file).map_err(|_| JournalError::NotOurs(path.to_owned()))?;
    let bytes = file.metadata().map_err(&look)?.len();
    match fixed.state {
        State::Open => return Err(JournalError::Unfinished(path.to_owned())),
        // Killed before its head was whole.
        State::Making if bytes < fixed.end() => return Ok(()),
        State::Making | State::Closed => {}
    }
    let others = |why| JournalError::NotWhole { path: path.to_owned(), why };
    let journal = Journal::read(file.try_clone().map_err(&look)?).map_err(others)?;
    let why = "there are data between its head and its words".to_owned();
    if journal.has_clean_gap().map_err(&look)? { Ok(()) } else { Err(others(why)) }
}

/// Writes the head and reserves the windows; returns where they begin.
fn fill(path: &Path, file: &File, head: &Head) -> Result<u64, JournalError> {
    // Strings and numbers can always be written as JSON.
    let json = serde_json::to_vec(head).unwrap_or_default();
    let words_at = words_at(FIXED_BYTES, json.len() as u64);
    let bytes =
        head.words().unwrap_or(u64::MAX).saturating_mul(WORD_BYTES).saturating_add(words_at);
    let json_bytes = u32::try_from(json.len()).unwrap_or(u32::MAX);
    let begin = [fixed(json_bytes, crc32c::crc32c(&json)).as_slice(), &json].concat();
    file.set_len(0).map_err(failed(path, "empty"))?;
    file.write_all_at(&begin, 0).map_err(failed(path, "write"))?;
    let behind = begin.len() as u64..bytes;
    reserve(file, behind).map_err(failed(path, "reserve the space of"))?;
    write_words(file, words_at, head).map_err(failed(path, "write the words of"))?;
    let opened = file.write_all_at(&OPEN.to_ne_bytes(), STATE_AT).and_then(|()| file.sync_all());
    opened.map_err(failed(path, "write"))?;
    Ok(words_at)
}

/// Takes all blocks now, because a mapped page that finds no room later ends the process.
fn reserve(file: &File, bytes: Range<u64>) -> io::Result<()> {
    match space::reserve(file, bytes.clone()) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            const PIECE: usize = 1 << 20;
            let zeros = vec![0; PIECE];
            for offset in bytes.clone().step_by(PIECE) {
                let length = usize::try_from(bytes.end - offset).unwrap_or(PIECE).min(PIECE);
                file.write_all_at(&zeros[..length], offset)?;
            }
            Ok(())
        }
        outcome => outcome,
    }
}

/// The words of blocks that nobody has written. Those of a target's making stay 0, which says that it is not
/// known.
fn write_words(file: &File, words_at: u64, head: &Head) -> io::Result<()> {
    const PIECE_WORDS: usize = 1 << 16;
    let mut first = 0;
    for target in &head.targets {
        let (from, until) =
            (first + ORIGIN_WORDS as u64, first + ORIGIN_WORDS as u64 + target.blocks);
        for start in (from..until).step_by(PIECE_WORDS) {
            let places = start..until.min(start + PIECE_WORDS as u64);
            let words = places.flat_map(|place| encode(Window::default(), place).to_ne_bytes());
            file.write_all_at(&words.collect::<Vec<u8>>(), words_at + start * WORD_BYTES)?;
        }
        first = until;
    }
    Ok(())
}

/// Says that the run has ended, with everything on stable storage before.
pub fn close(path: &Path, words: &SharedWords) -> Result<(), JournalError> {
    let Some(file) = words.file() else { return Ok(()) };
    let closed = words.sync().and_then(|()| file.write_all_at(&CLOSED.to_ne_bytes(), STATE_AT));
    closed.and_then(|()| file.sync_all()).map_err(failed(path, "close"))
}

fn words_at(fixed_bytes: usize, json_bytes: u64) -> u64 {
    (fixed_bytes as u64 + json_bytes).next_multiple_of(MAP_ALIGN_BYTES)
}

/// A journal that is read.
#[derive(Debug)]
pub struct Journal {
    /// What it is about.
    pub head: Head,
    /// Whether its words check themselves; not so in version 1.
    pub has_checks: bool,
    state: State,
    file: File,
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
        if !try_lock(&file).map_err(failed(path, "lock"))? {
            return Err(JournalError::InUse(path.to_owned()));
        }
        Self::read(file).map_err(damaged(path))
    }

    fn read(file: File) -> Result<Self, String> {
        let fixed = Fixed::read(&file)?;
        let found = file.metadata().map_err(|error| error.to_string())?.len();
        if fixed.state == State::Making && found < fixed.end() {
            let why = "its run was killed before it wrote anything, so there is nothing to verify";
            return Err(why.to_owned());
        }
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
        let is_shorter = |bytes| found < bytes && fixed.state == State::Making;
        if expected != Some(found) && !expected.is_some_and(is_shorter) {
            let expected = expected.unwrap_or(u64::MAX);
            return Err(format!("it has {found} bytes where {expected} belong to its targets"));
        }
        let Fixed { has_checks, state, .. } = fixed;
        Ok(Self { head, has_checks, state, file, json_end: fixed.end(), words_at })
    }

    /// Whether nothing but zeros stands between the head and the words.
    fn has_clean_gap(&self) -> io::Result<bool> {
        let gap_end = self.words_at.min(self.file.metadata()?.len());
        let mut gap = vec![1; usize::try_from(gap_end - self.json_end).unwrap_or(0)];
        self.file.read_exact_at(&mut gap, self.json_end)?;
        Ok(gap.iter().all(|&byte| byte == 0))
    }

    /// The windows of `count` blocks of a target, from the block `first` on; [`Window::DAMAGED`] where a
    /// word is not what was written there.
    pub fn windows(&self, target: usize, first: u64, count: usize) -> io::Result<Vec<Window>> {
        if self.state == State::Making {
            return Ok(vec![Window::default(); count]);
        }
        let place = self.place(target) + self.origin_words() as u64 + first;
        let words = self.words(place, count)?.into_iter().zip(place..);
        let window =
            |(word, place)| if self.has_checks { decode(word, place) } else { Window(word) };
        Ok(words.map(window).collect())
    }

    /// What a target's file was made with, if that is known; an error of the kind `InvalidData` if that is
    /// damaged.
    pub fn origin(&self, target: usize) -> io::Result<Option<Origin>> {
        if self.state == State::Making {
            return Ok(None);
        }
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
    /// The number of all words; none if there are too many.
    fn words(&self) -> Option<u64> {
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
