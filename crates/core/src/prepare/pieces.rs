//! The pieces of which data are made where I/Os began and ended at any byte.

use std::ops::Range;

use super::content::{BLOCK_BYTES, Content};
use super::counted::counting;
use super::proof::Hints;
use crate::divisor::greatest_common_divisor;
use crate::noise::{self, WORD_BYTES, WRITE_STEP, mix, unmix};
use crate::plan::Reduction;

/// The counting pattern starts again after so many bytes.
const COUNT_BYTES: u64 = 256;
/// Shorter pieces prove nothing, other than zeros and what the file was created with.
const PIECE_BYTES_MIN: usize = 16;
/// So many bytes show that a piece goes on behind others.
const ON_BYTES: usize = 8;
/// The repeated part of a grain is not shorter, unless the grain is cut.
const REPEATED_BYTES_MIN: usize = 5;

/// What a piece is, which tells each of its bytes and those that would follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Zeros,
    Counting,
    /// Random data, of which the first whole word is that of a counter, so many bytes behind the first.
    Chain(u64, usize),
    /// One word again and again: the rest of a grain that compresses.
    Repeated([u8; WORD_BYTES]),
    /// What the file was created with.
    Created,
    Fed,
}

/// Bytes one after another that belong together.
#[derive(Debug, Clone, Copy)]
struct Piece {
    start: usize,
    length: usize,
    kind: Kind,
}

impl Piece {
    const fn end(&self) -> usize {
        self.start + self.length
    }
}

/// Bytes that are looked at.
struct Walk<'a> {
    bytes: &'a [u8],
    /// Where they begin in the file.
    offset: u64,
    /// The file ends with them.
    is_at_end: bool,
    hints: &'a Hints,
}

/// The offset of the first byte of `wanted` that belongs to no piece of ours. `bytes` begin at `offset`, and
/// stand around the wanted ones.
pub(super) fn first_unknown(
    offset: u64,
    bytes: &[u8],
    wanted: Range<usize>,
    is_at_end: bool,
    hints: &Hints,
) -> Option<u64> {
    let walk = Walk { bytes, offset, is_at_end, hints };
    // A piece may have begun before what is wanted; how far its data reach is what counts.
    let mut at = before(wanted.start, hints);
    let mut last: Option<Piece> = None;
    while at < wanted.end.min(bytes.len()) {
        let over = || last.and_then(|_| walk.reaching_over(at));
        let found = walk.piece(at, last).or_else(over);
        let is_split = |gap: &Piece| gap.end() > wanted.start && walk.splits(gap, last);
        match found {
            None if at >= wanted.start => return Some(offset + at as u64),
            Some(gap) if is_split(&gap) => return Some(offset + gap.start as u64),
            _ => {}
        }
        last = found;
        at = found.map_or(at + 1, |found| found.end());
    }
    None
}

/// Where to begin, so that a piece that reaches into what is wanted is seen with its first words: a slot may
/// begin with the first byte that is looked at.
fn before(wanted: usize, hints: &Hints) -> usize {
    let has_slots = hints.writes.slot_bytes().is_some() && !hints.writes.has_sectors();
    if has_slots { 0 } else { wanted.saturating_sub(2 * PIECE_BYTES_MIN + WORD_BYTES) }
}

impl Walk<'_> {
    /// The piece at a byte, behind another one.
    fn piece(&self, at: usize, last: Option<Piece>) -> Option<Piece> {
        let bytes = &self.bytes[at..];
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        let kinds = [
            (Kind::Zeros, zeros),
            (Kind::Counting, self.slot(at)),
            (Kind::Created, self.created(at)),
            (Kind::Fed, self.fed(at)),
        ];
        let others =
            [chained(bytes), repeated(bytes), lone(bytes, last), rest_of_grain(bytes, last)];
        let all = kinds.into_iter().chain(others.into_iter().flatten());
        let longest = all.max_by_key(|(_, length)| *length);
        longest.filter(|(_, length)| *length > 0).map(|(kind, length)| Piece {
            start: at,
            length,
            kind,
        })
    }

    /// The piece that reaches beyond a byte and began before it: its first bytes are also what would have
    /// come next in the piece before, which was taken for longer than it is, or a piece of a byte by chance.
    fn reaching_over(&self, at: usize) -> Option<Piece> {
        let starts = (at.saturating_sub(WORD_BYTES)..at).rev();
        let mut pieces = starts.filter_map(|start| self.piece(start, None));
        pieces.find(|piece| piece.end() > at)
    }

    /// How many bytes are those that the file was created with. A few within what our I/Os left are so by
    /// chance: one byte in 256 that somebody writes.
    fn created(&self, at: usize) -> usize {
        let Some(content) = self.hints.content else { return 0 };
        let expected = created(content, self.offset + at as u64, self.bytes.len() - at);
        let same = self.bytes[at..].iter().zip(&expected);
        let length = same.take_while(|(one, other)| one == other).count();
        let is_whole = at + length < self.bytes.len();
        let is_by_chance = length < PIECE_BYTES_MIN
            && is_whole
            && self.hints.is_marked
            && self.hints.writes.leave_no_short_pieces();
        if is_by_chance { 0 } else { length }
    }

    /// How many bytes are of what fed the writes. Lines of it that somebody sorted are not, nor those between
    /// which something was written: where I/Os are long enough to tell, one has written its slot as a whole.
    fn fed(&self, at: usize) -> usize {
        let writes = self.hints.writes;
        let Some(slot_bytes) = writes.whole_bytes() else {
            let length = self.hints.fed_length(&self.bytes[at..]);
            return length.max(self.fed_slot(at, writes.edge_bytes()));
        };
        self.fed_slot(at, slot_bytes)
    }

    /// How many bytes there are to the end of their slot, if all of it is one part of what fed the writes.
    fn fed_slot(&self, at: usize, slot_bytes: u64) -> usize {
        let place = self.offset + at as u64;
        let start = place / slot_bytes * slot_bytes;
        let before = usize::try_from(place - start).unwrap_or(usize::MAX).min(at);
        let left = usize::try_from(start + slot_bytes - place).unwrap_or(usize::MAX);
        let end = self.bytes.len().min(at.saturating_add(left));
        if self.hints.fed_whole(&self.bytes[at - before..end]) { end - at } else { 0 }
    }

    /// How many bytes count to the end of their slot. What lies outside of what is looked at may be anything:
    /// a table that reaches into what is wanted does not.
    fn slot(&self, at: usize) -> usize {
        let Some(slot_bytes) = self.hints.writes.slot_bytes() else { return 0 };
        let place = self.offset + at as u64;
        let start = place / slot_bytes * slot_bytes;
        let left = usize::try_from(start + slot_bytes - place).unwrap_or(usize::MAX);
        let phase = greatest_common_divisor(slot_bytes, COUNT_BYTES);
        let is_begun = place == start.max(self.offset)
            && place.wrapping_sub(u64::from(self.bytes[at])).is_multiple_of(phase);
        let is_whole = left <= self.bytes.len() - at || !self.is_at_end;
        let bytes = &self.bytes[at..];
        let bytes = &bytes[..bytes.len().min(left)];
        let is_ours = is_begun && is_whole && counting(bytes) == bytes.len();
        if is_ours { bytes.len() } else { 0 }
    }

    /// Whether zeros, or by chance what the file was created with, were written into a piece that goes on
    /// behind them as if they were not there. A run of ours does that only with so short I/Os, or with I/Os
    /// that overlap so.
    fn splits(&self, gap: &Piece, before: Option<Piece>) -> bool {
        let (writes, start) = (self.hints.writes, self.offset + gap.start as u64);
        let is_whole = |bytes: u64| bytes.is_multiple_of(writes.step_bytes);
        let is_blank = gap.kind == Kind::Zeros;
        let may_be_ours =
            (writes.may_blank() || !is_blank) && is_whole(start) && is_whole(gap.length as u64);
        (is_blank || gap.kind == Kind::Created)
            && gap.length < PIECE_BYTES_MIN
            && !may_be_ours
            && (self.is_too_small(gap)
                || before.is_some_and(|before| self.goes_on_behind(gap, &before)))
    }

    /// Whether no I/Os of ours leave so few zeros between other bytes.
    fn is_too_small(&self, gap: &Piece) -> bool {
        let has_begun = gap.start.checked_sub(1).is_some_and(|before| self.bytes[before] != 0);
        gap.kind == Kind::Zeros
            && has_begun
            && gap.end() < self.bytes.len()
            && self.hints.is_marked
            && self.hints.writes.leave_no_short_pieces()
    }

    /// Whether the piece before another one goes on behind it: what lies between was written over it.
    fn goes_on_behind(&self, gap: &Piece, before: &Piece) -> bool {
        let on = gap.end()..gap.end() + ON_BYTES;
        let Some(behind) = self.bytes.get(on.clone()) else { return false };
        before.end() == gap.start
            && self.would_hold(before, on).is_some_and(|expected| expected == behind)
    }

    /// What would stand here if a piece had not ended before.
    fn would_hold(&self, piece: &Piece, range: Range<usize>) -> Option<Vec<u8>> {
        let at = |place: usize| place - piece.start;
        Some(match piece.kind {
            Kind::Chain(first, phase) => {
                let word = |at: usize| (at / WORD_BYTES) as u64;
                let byte = |at: usize| {
                    let counter = first.wrapping_add(WRITE_STEP.wrapping_mul(word(at)));
                    mix(counter).to_le_bytes()[at % WORD_BYTES]
                };
                range.map(|place| at(place).checked_sub(phase).map(byte)).collect::<Option<_>>()?
            }
            Kind::Created => {
                created(self.hints.content?, self.offset + range.start as u64, range.len())
            }
            Kind::Repeated(word) => range.map(|place| word[at(place) % WORD_BYTES]).collect(),
            Kind::Counting | Kind::Zeros | Kind::Fed => return None,
        })
        .filter(|held| held.len() == ON_BYTES && held[0] != 0)
    }
}

/// What a file was created with from an offset on, up to the end of the block.
fn created(content: Content, offset: u64, bytes: usize) -> Vec<u8> {
    let block = offset / BLOCK_BYTES as u64 * BLOCK_BYTES as u64;
    let skipped = usize::try_from(offset - block).unwrap_or(0);
    let mut expected = vec![0; (skipped + bytes).min(BLOCK_BYTES)];
    content.fill(block, &mut expected);
    expected.split_off(skipped)
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + WORD_BYTES).map(noise::to_word)
}

/// The random data at the first byte, which may stand within a word of them.
fn chained(bytes: &[u8]) -> Option<(Kind, usize)> {
    (0..WORD_BYTES).find_map(|phase| chained_from(bytes, phase))
}

fn chained_from(bytes: &[u8], phase: usize) -> Option<(Kind, usize)> {
    let first = unmix(word(bytes, phase)?);
    let step = unmix(word(bytes, phase + WORD_BYTES)?).wrapping_sub(first);
    // What a file was created with is known by its seed: others use the same generator.
    if step != WRITE_STEP {
        return None;
    }
    let earlier = mix(first.wrapping_sub(step)).to_le_bytes();
    let begins = bytes[..phase] == earlier[WORD_BYTES - phase..];
    begins.then(|| (Kind::Chain(first, phase), phase + chain_length(&bytes[phase..], first)))
}

/// How many bytes are those of a counter's words.
fn chain_length(bytes: &[u8], mut counter: u64) -> usize {
    let mut length = 0;
    for chunk in bytes.chunks(WORD_BYTES) {
        let expected = mix(counter).to_le_bytes();
        let same = chunk.iter().zip(&expected).take_while(|(one, other)| one == other).count();
        length += same;
        if same < WORD_BYTES {
            break;
        }
        counter = counter.wrapping_add(WRITE_STEP);
    }
    length
}

/// How many bytes repeat a word.
fn repeats(bytes: &[u8], word: [u8; WORD_BYTES]) -> usize {
    let same = bytes.iter().zip(word.iter().cycle());
    same.take_while(|(one, other)| one == other).count()
}

/// The repeated part of a grain at the first byte, which may stand within a word of it.
fn repeated(bytes: &[u8]) -> Option<(Kind, usize)> {
    let found: [u8; WORD_BYTES] = *bytes.first_chunk()?;
    let is_ours = (0..u64::BITS / 8)
        .any(|turned| noise::is_repeated_word(u64::from_le_bytes(found).rotate_right(8 * turned)));
    let length = repeats(bytes, found);
    (is_ours && length >= PIECE_BYTES_MIN).then_some((Kind::Repeated(found), length))
}

/// The rest of a grain behind random data with which it began.
fn rest_of_grain(bytes: &[u8], last: Option<Piece>) -> Option<(Kind, usize)> {
    let last = last?;
    let Kind::Chain(first, 0) = last.kind else { return None };
    let left = Reduction::GRAIN_BYTES.checked_sub(last.length)?;
    let repeated = turned(noise::repeated_word(first), last.length);
    let length = repeats(&bytes[..bytes.len().min(left)], repeated);
    let is_enough = length >= ON_BYTES || (length == left && length >= REPEATED_BYTES_MIN);
    is_enough.then_some((Kind::Repeated(repeated), length))
}

/// One word of random data, and parts of the next: the start of a grain, which is known by the repeated word
/// before or behind it.
fn lone(bytes: &[u8], last: Option<Piece>) -> Option<(Kind, usize)> {
    let first = unmix(word(bytes, 0)?);
    let length = chain_length(bytes, first);
    let repeated = noise::repeated_word(first);
    let is_behind = last.is_some_and(|last| {
        let is_same = |turn| Kind::Repeated(turned(repeated, turn)) == last.kind;
        (0..WORD_BYTES).any(is_same)
    });
    let follows = repeats(&bytes[length..], turned(repeated, length)) >= ON_BYTES;
    (is_behind || follows).then_some((Kind::Chain(first, 0), length))
}

/// A repeated word as it stands that many bytes behind its first one.
fn turned(word: u64, bytes: usize) -> [u8; WORD_BYTES] {
    let mut turned = word.to_le_bytes();
    turned.rotate_left(bytes % WORD_BYTES);
    turned
}
