//! Whose data a file holds, told from the data alone: all of them are looked at.
//!
//! Each sector of 512 bytes must be something that this tool or `DiskSpd` writes: zeros, the counting
//! pattern, what a file was created with, random data (`core/noise.rs`), data that compress, sectors with a
//! stamp, or pieces of the file that fed the writes. Where I/Os began and ended within a sector, the pieces
//! are looked for byte by byte. Anything else is somebody's.

use std::collections::HashSet;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use fathom_sys::{extents, residency};

use super::content::{BLOCK_BYTES, Content};
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
}

/// Bytes that are read at once.
const WINDOW_BYTES: u64 = 1 << 20;
pub(super) const SECTOR_BYTES: usize = 512;
const SECTOR: u64 = SECTOR_BYTES as u64;
/// A file that feeds writes is not read further than this.
const FED_BYTES_MAX: u64 = 1 << 30;

/// What is known of a file beside what it holds: never a proof, but it tells what to look for.
#[derive(Debug, Default)]
pub(super) struct Hints {
    /// What it was created with.
    pub(super) content: Option<Content>,
    /// The file itself, and no copy of it, was marked.
    pub(super) is_marked: bool,
    /// Hashes of the sectors of the file that fed the writes.
    fed: HashSet<u64>,
}

impl Hints {
    pub(super) fn new(content: Option<Content>, is_marked: bool) -> Self {
        Self { content, is_marked, fed: HashSet::new() }
    }

    /// Takes the sectors of a buffer of `bytes` that a file fed. A file that is gone proves nothing.
    pub(super) fn feed(&mut self, path: &Path, bytes: u64) {
        let mut fed = Vec::new();
        let Ok(file) = File::open(path) else { return };
        let bytes = bytes.min(FED_BYTES_MAX);
        if file.take(bytes).read_to_end(&mut fed).is_err() || fed.is_empty() {
            return;
        }
        let whole = usize::try_from(bytes).unwrap_or(fed.len());
        let unit = fed.len();
        while fed.len() < whole {
            fed.extend_from_within(..unit.min(whole - fed.len()));
        }
        self.fed.extend(fed.chunks_exact(SECTOR_BYTES).map(hash));
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// Looks at all data of `file` of `size_bytes`, until some are found that are somebody's.
pub(super) fn look(file: &File, size_bytes: u64, hints: Hints) -> io::Result<Whose> {
    let mut look = Look { file, size_bytes, hints, proved: false, previous: None };
    let mut at = 0;
    while let Some(data) = extents::data_after(file, at..size_bytes)? {
        if let Some(offset) = look.range(data.start / SECTOR * SECTOR..data.end)? {
            return Ok(Whose::Theirs(offset));
        }
        at = data.end;
    }
    Ok(if look.proved { Whose::Ours } else { Whose::Empty })
}

/// A look at one file.
struct Look<'a> {
    file: &'a File,
    size_bytes: u64,
    hints: Hints,
    /// Something was found that only this tool or `DiskSpd` writes.
    proved: bool,
    /// The end of the sector before, and its last word.
    previous: Option<(u64, u64)>,
}

impl Look<'_> {
    /// Where the first byte in `range` is that is somebody's.
    fn range(&mut self, range: Range<u64>) -> io::Result<Option<u64>> {
        let mut start = range.start;
        while start < range.end {
            let end = range.end.min(start + WINDOW_BYTES);
            let found = self.uncached(start..end, Self::window)?;
            if found.is_some() {
                return Ok(found);
            }
            start = end;
        }
        Ok(None)
    }

    /// Leaves the page cache as it was, so that a look does not warm it for the measurement.
    fn uncached<T>(
        &mut self,
        range: Range<u64>,
        look: fn(&mut Self, Range<u64>) -> io::Result<T>,
    ) -> io::Result<T> {
        let resident = residency::resident_bytes(self.file, range.clone()).unwrap_or(u64::MAX);
        let found = look(self, range.clone());
        if resident == 0 {
            let _ = residency::drop_pages(self.file, range);
        }
        found
    }

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
        let is_ours = pieces::counts_from_offset(offset, sector)
            || self.hints.content.is_some_and(|content| content.holds_at(offset, sector))
            || self.is_chained(offset, sector)
            || Stamp::read(sector).is_ok()
            || noise::is_grain(sector)
            || Content::is_compressed_at(offset, sector)
            || (!self.hints.fed.is_empty() && self.hints.fed.contains(&hash(sector)));
        self.proved |= is_ours;
        is_ours
    }

    /// Whether all words are of one chain. Created data at the start of a block show what the others are.
    fn is_chained(&mut self, offset: u64, sector: &[u8]) -> bool {
        let step = noise::step_of(sector);
        if step == Some(noise::CREATE_STEP) {
            let shown = Content::shown_by(offset, sector, self.size_bytes);
            self.hints.content = shown.or(self.hints.content);
        }
        step.is_some()
    }

    /// Whether a chain of created data goes on over the end of a block, where ours begin anew: another
    /// program that uses the same generator.
    fn continues(&mut self, offset: u64, sector: &[u8]) -> bool {
        let word = |at: usize| sector.get(at..at + 8).map_or(0, noise::to_word);
        let before = self.previous.replace((offset + SECTOR, word(SECTOR_BYTES - 8)));
        let step = |last| noise::unmix(word(0)).wrapping_sub(noise::unmix(last));
        offset.is_multiple_of(BLOCK_BYTES as u64)
            && before.is_some_and(|(at, last)| at == offset && step(last) == noise::CREATE_STEP)
    }

    /// A last block that is no whole sector shows what the file was created with, unless it is as short as
    /// the seeds that others make with the same generator.
    fn shown_by_the_end(&mut self, offset: u64, bytes: &[u8]) {
        const SEED_BYTES_MAX: usize = 64;
        let words = &bytes[..bytes.len() / 8 * 8];
        if bytes.len() > SEED_BYTES_MAX && noise::step_of(words) == Some(noise::CREATE_STEP) {
            let shown = Content::shown_by(offset, bytes, self.size_bytes);
            self.hints.content = self.hints.content.or(shown);
        }
    }

    /// Looks for the pieces of which an unknown range is made, with what stands around it.
    fn in_pieces(&mut self, range: Range<u64>) -> io::Result<Option<u64>> {
        const AROUND: u64 = 1088;
        let start = range.start.saturating_sub(AROUND);
        let end = self.size_bytes.min(range.end + AROUND);
        let bytes = read(self.file, start..end)?;
        let wanted = Range {
            start: usize::try_from(range.start - start).unwrap_or(0),
            end: usize::try_from(range.end - start).unwrap_or(0),
        };
        if range.end == self.size_bytes {
            self.shown_by_the_end(range.start, &bytes[wanted.clone()]);
        }
        let found = pieces::first_unknown(start, &bytes, wanted, &self.hints);
        self.proved |= found.is_none();
        Ok(found)
    }
}

/// What a file holds in a range; less where it has become shorter.
fn read(file: &File, range: Range<u64>) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(range.end - range.start).unwrap_or(0)];
    let mut done = 0;
    while done < bytes.len() {
        match file.read_at(&mut bytes[done..], range.start + done as u64) {
            Ok(0) => break,
            Ok(length) => done += length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(done);
    Ok(bytes)
}
