//! Whose data a file holds, told from the data alone: all of them are looked at.
//!
//! Each sector of 512 bytes must be something that this tool or `DiskSpd` writes: zeros, the counting
//! pattern, what a file was created with, random data (`core/noise.rs`), data that compress, sectors with a
//! stamp, or pieces of the file that fed the writes. Where I/Os began and ended within a sector, the pieces
//! are looked for byte by byte. Anything else is somebody's.

use std::io;
use std::ops::Range;
use std::path::Path;

use super::ahead::{self, read};
use super::compressed;
use super::content::{BLOCK_BYTES, Content};
use super::counted::{self, Writes};
use super::created::Created;
use super::data::Data;
use super::fed::Fed;
use super::pieces;
use crate::noise;
use crate::verify::stamp::Stamp;

/// Whose data a file holds. There is no fourth kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Made by this tool or by `DiskSpd`, and not written by anybody else since.
    Ours,
    /// Zeros, holes, unwritten blocks, or no bytes at all.
    Empty,
    /// Everything else, from this offset on or before.
    Theirs(u64),
    /// The same, though bytes that count may be ours from this offset on: nothing shows that they are no
    /// table of characters.
    Untold(u64),
}

impl Whose {
    /// Where the first byte is that is somebody's, or may be.
    pub(crate) const fn theirs(self) -> Option<u64> {
        match self {
            Self::Theirs(at) | Self::Untold(at) => Some(at),
            Self::Ours | Self::Empty => None,
        }
    }
}

/// So many bytes that count may be the counting pattern: a piece of 16, of which some are taken by chance
/// for a part of the one before.
const UNTOLD_BYTES: u64 = 8;
pub(super) const SECTOR_BYTES: usize = 512;
const SECTOR: u64 = SECTOR_BYTES as u64;

/// What is known of a file beside what it holds: never a proof, but it tells what to look for.
#[derive(Debug)]
pub(super) struct Hints {
    /// What it was created with.
    pub(super) content: Option<Content>,
    /// The file itself, and no copy of it, was marked.
    pub(super) is_marked: bool,
    /// Where the I/Os of all our runs began and ended.
    pub(super) writes: Writes,
    /// What fed the writes.
    pub(super) fed: Vec<Fed>,
}

impl Hints {
    pub(super) fn new(content: Option<Content>, is_marked: bool) -> Self {
        Self { content, is_marked, writes: Writes::ANY, fed: Vec::new() }
    }

    /// Takes what fed a buffer of `bytes`. A file that is gone proves nothing.
    pub(super) fn feed(&mut self, path: &Path, bytes: u64) {
        self.fed.extend(Fed::of(path, bytes));
    }

    /// How many of `bytes`, from the first on, are part of what fed the writes.
    pub(super) fn fed_length(&self, bytes: &[u8]) -> usize {
        self.fed.iter().map(|fed| fed.length(bytes)).max().unwrap_or(0)
    }

    /// Whether all `bytes` are one part of what fed the writes.
    pub(super) fn fed_whole(&self, bytes: &[u8]) -> bool {
        self.fed.iter().any(|fed| fed.holds(bytes))
    }
}

/// Looks at all data of `file` of `size_bytes`, until some are found that are somebody's.
pub(super) fn look(file: &dyn Data, size_bytes: u64, hints: Hints) -> io::Result<Whose> {
    let mut look = Look {
        file,
        size_bytes,
        hints,
        proved: false,
        previous: None,
        created: Created::default(),
    };
    if let Some(offset) = ahead::find(file, size_bytes, |range| look.window(range))? {
        let is_untold = look.is_untold(offset)?;
        return Ok(if is_untold { Whose::Untold(offset) } else { Whose::Theirs(offset) });
    }
    Ok(match look.created.first_foreign(look.hints.content) {
        Some(offset) => Whose::Theirs(offset),
        None if look.proved => Whose::Ours,
        None => Whose::Empty,
    })
}

/// A look at one file.
struct Look<'a> {
    file: &'a dyn Data,
    size_bytes: u64,
    hints: Hints,
    /// Something was found that only this tool or `DiskSpd` writes.
    proved: bool,
    /// The end of the sector before, and its last word.
    previous: Option<(u64, u64)>,
    created: Created,
}

impl Look<'_> {
    /// Where the first byte in `range` is that is somebody's.
    fn window(&mut self, range: Range<u64>) -> io::Result<Option<u64>> {
        let bytes = read(self.file, range.clone())?;
        let mut unknown: Option<Range<u64>> = None;
        for (offset, sector) in
            (range.start..).step_by(SECTOR_BYTES).zip(bytes.chunks(SECTOR_BYTES))
        {
            let end = offset + sector.len() as u64;
            if self.is_known(offset, sector) {
                if let Some(found) = unknown.take().and_then(|one| self.in_pieces(one).transpose())
                {
                    return found.map(Some);
                }
            } else {
                unknown = Some(unknown.map_or(offset, |one| one.start)..end);
            }
        }
        unknown.map_or(Ok(None), |one| self.in_pieces(one))
    }

    /// Whether a whole sector is one that is written by this tool or by `DiskSpd`.
    fn is_known(&mut self, offset: u64, sector: &[u8]) -> bool {
        let continues = self.continues(offset, sector);
        if sector.iter().all(|&byte| byte == 0) {
            return true;
        }
        if sector.len() < SECTOR_BYTES || continues {
            return false;
        }
        let is_ours = self.is_counted(offset, sector)
            || self.hints.content.is_some_and(|content| content.holds_at(offset, sector))
            || self.is_chained(offset, sector)
            || Stamp::read(sector).is_ok()
            || noise::is_grain(sector)
            || compressed::is_at(offset, sector)
            || self.hints.fed_whole(sector);
        self.proved |= is_ours;
        is_ours
    }

    /// Whether a sector is one that an I/O has written which counts.
    fn is_counted(&self, offset: u64, sector: &[u8]) -> bool {
        self.hints.writes.has_sectors() && counted::counts_from_offset(offset, sector)
    }

    /// Whether what stands at an offset counts, and runs of ours may have left it, which nothing shows.
    fn is_untold(&self, offset: u64) -> io::Result<bool> {
        let may_be_ours = !self.hints.is_marked || self.hints.writes.slot_bytes().is_none();
        let bytes = read(self.file, offset..self.size_bytes.min(offset + UNTOLD_BYTES))?;
        Ok(may_be_ours
            && bytes.len() as u64 == UNTOLD_BYTES
            && counted::counting(&bytes) == bytes.len())
    }

    /// Whether all words are of one chain, and its seed may be one of ours.
    fn is_chained(&mut self, offset: u64, sector: &[u8]) -> bool {
        match noise::step_of(sector) {
            Some(noise::CREATE_STEP) => {
                self.created.may_be(&mut self.hints.content, offset, sector, self.size_bytes)
            }
            step => step.is_some(),
        }
    }

    /// Whether a chain of created data goes on over the end of a block, where ours begin again: another
    /// program that uses the same generator.
    fn continues(&mut self, offset: u64, sector: &[u8]) -> bool {
        let word = |at: usize| sector.get(at..at + 8).map_or(0, noise::to_word);
        let before = self.previous.replace((offset + SECTOR, word(SECTOR_BYTES - 8)));
        let step = |last| noise::unmix(word(0)).wrapping_sub(noise::unmix(last));
        offset.is_multiple_of(BLOCK_BYTES as u64)
            && before.is_some_and(|(at, last)| at == offset && step(last) == noise::CREATE_STEP)
    }

    /// The end of a file that is no whole sector shows what the file was created with, too.
    fn shown_by_the_end(&mut self, offset: u64, bytes: &[u8]) {
        let words = &bytes[..bytes.len() / 8 * 8];
        if noise::step_of(words) == Some(noise::CREATE_STEP) {
            let key = Content::key_shown(offset, words);
            let shown = Content::of_key(key, offset / BLOCK_BYTES as u64, self.size_bytes);
            let known = self.hints.content.filter(|known| known.seed == shown.seed);
            let shown = Some(shown).filter(|one| one.is_signed());
            self.hints.content = known.or(shown).or(self.hints.content);
        }
    }

    /// What the file was created with, as two words show of which no whole sector is left.
    fn shown_within(&self, offset: u64, bytes: &[u8]) -> Option<Content> {
        const WORD: u64 = noise::WORD_BYTES as u64;
        let skipped = usize::try_from(offset.next_multiple_of(WORD) - offset).unwrap_or(0);
        let words = bytes.get(skipped..)?.windows(2 * noise::WORD_BYTES).step_by(noise::WORD_BYTES);
        let places = (offset.next_multiple_of(WORD)..).step_by(noise::WORD_BYTES);
        let created =
            places.zip(words).filter(|(_, two)| noise::step_of(two) == Some(noise::CREATE_STEP));
        let mut shown = created.map(|(place, two)| {
            let key = Content::key_shown(place, two);
            Content::of_key(key, place / BLOCK_BYTES as u64, self.size_bytes)
        });
        shown.find(|shown| shown.is_signed())
    }

    /// Looks for the pieces of which an unknown range is made, with what stands around it.
    fn in_pieces(&mut self, range: Range<u64>) -> io::Result<Option<u64>> {
        const AROUND: u64 = 1088;
        let start = range.start.saturating_sub(AROUND);
        let end = self.size_bytes.min(range.end + AROUND);
        let bytes = read(self.file, start..end)?;
        let is_at_end = end == self.size_bytes;
        let mut wanted = Range {
            start: usize::try_from(range.start - start).unwrap_or(0),
            end: usize::try_from(range.end - start).unwrap_or(0),
        };
        if self.hints.content.is_none() {
            self.hints.content = self.shown_within(start, &bytes);
        }
        if range.end == self.size_bytes {
            self.shown_by_the_end(range.start, &bytes[wanted.clone()]);
            let last = usize::try_from(self.size_bytes / SECTOR * SECTOR - start).unwrap_or(0);
            let (before, end) = bytes.split_at(last);
            if compressed::is_end(self.size_bytes, before, end) {
                self.proved = true;
                wanted.end = last;
            }
        }
        if wanted.is_empty() {
            return Ok(None);
        }
        let found = pieces::first_unknown(start, &bytes, wanted, is_at_end, &self.hints);
        self.proved |= found.is_none();
        Ok(found)
    }
}
