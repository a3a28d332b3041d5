//! The pieces of which data are made where I/Os began and ended at any byte.

use std::ops::Range;

use super::content::{BLOCK_BYTES, Content};
use super::proof::Hints;
use crate::noise::{self, WORD_BYTES, WRITE_STEP, mix, unmix};
use crate::plan::Reduction;

/// Shorter pieces prove nothing, other than zeros and what the file was created with.
const PIECE_BYTES_MIN: usize = 16;
/// Shorter pieces that count upwards prove nothing where no mark says that this file was written by us:
/// alphabets and tables of characters count, too.
const UNMARKED_COUNT_BYTES_MIN: usize = 512;
/// So many bytes show that a piece goes on behind others.
const ON_BYTES: usize = 8;
/// The repeated part of a grain is not shorter, unless the grain is cut.
const REPEATED_BYTES_MIN: usize = 5;

/// The pattern begins anew after so many bytes.
const COUNT_BYTES: u64 = 256;

/// Where the I/Os of runs began, and how long they were: what of a counting pattern may be theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Writes {
    /// Each began at a multiple of this.
    pub(super) step_bytes: u64,
    /// None was shorter.
    pub(super) least_bytes: u64,
}

impl Writes {
    /// Of runs that are not known.
    pub(super) const ANY: Self = Self { step_bytes: 1, least_bytes: PIECE_BYTES_MIN as u64 };

    /// What is true of these and of others.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            step_bytes: common(self.step_bytes, other.step_bytes),
            least_bytes: self.least_bytes.min(other.least_bytes),
        }
    }
}

/// The greatest number of which both are multiples.
pub(super) fn common(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// Whether the bytes at this offset are the counting pattern of I/Os that begin at multiples of 256.
pub(super) fn counts_from_offset(offset: u64, bytes: &[u8]) -> bool {
    let first = offset.to_le_bytes()[0];
    bytes.first() == Some(&first) && counting(bytes) == bytes.len()
}

/// How many bytes from the first on count upwards.
fn counting(bytes: &[u8]) -> usize {
    let pairs = bytes.iter().zip(bytes.iter().skip(1));
    let steps = pairs.take_while(|(before, after)| before.wrapping_add(1) == **after).count();
    bytes.len().min(steps + 1)
}

/// What a piece is, which tells each of its bytes and those that would follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Zeros,
    Counting(u8),
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

/// Bytes that count upwards.
struct Count {
    /// In the file.
    start: u64,
    length: u64,
    /// The first one is zero, as that of each I/O.
    begins: bool,
}

/// Bytes that are looked at.
struct Walk<'a> {
    bytes: &'a [u8],
    /// Where they begin in the file.
    offset: u64,
    counted_min: usize,
    hints: &'a Hints,
}

/// The offset of the first byte of `wanted` that belongs to no piece of ours. `bytes` begin at `offset`, and
/// stand around the wanted ones.
pub(super) fn first_unknown(
    offset: u64,
    bytes: &[u8],
    wanted: Range<usize>,
    hints: &Hints,
) -> Option<u64> {
    let counted_min = if hints.is_marked { PIECE_BYTES_MIN } else { UNMARKED_COUNT_BYTES_MIN };
    let walk = Walk { bytes, offset, counted_min, hints };
    // A piece may have begun before what is wanted; how far its data reach is what counts.
    let mut at = before(wanted.start, counted_min);
    let mut last: Option<Piece> = None;
    while at < wanted.end.min(bytes.len()) {
        let found = walk.piece(at, last).or_else(|| walk.reaching_over(at, last?));
        let is_split = |gap: &Piece| {
            gap.end() > wanted.start
                && (walk.splits(gap, last) || walk.is_no_count_of_ours(gap, last))
        };
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

/// Where to begin, so that a piece that reaches into what is wanted is seen with its first words.
fn before(wanted: usize, counted_min: usize) -> usize {
    wanted.saturating_sub(2 * counted_min + WORD_BYTES)
}

impl Walk<'_> {
    /// The piece at a byte, behind another one.
    fn piece(&self, at: usize, last: Option<Piece>) -> Option<Piece> {
        let bytes = &self.bytes[at..];
        let counted = Some(counting(bytes)).filter(|counted| *counted >= self.counted_min);
        let counted = counted.filter(|_| self.may_count(at));
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        let kinds = [
            (Kind::Zeros, zeros),
            (Kind::Counting(bytes[0]), counted.unwrap_or(0)),
            (Kind::Created, self.created(at)),
            (Kind::Fed, self.hints.fed_length(bytes)),
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
    /// come next in the piece before, which was taken for longer than it is.
    fn reaching_over(&self, at: usize, last: Piece) -> Option<Piece> {
        let starts = (last.start..at).rev().take(WORD_BYTES);
        let mut pieces = starts.filter_map(|start| self.piece(start, None));
        pieces.find(|piece| piece.end() > at)
    }

    /// How many bytes are those that the file was created with.
    fn created(&self, at: usize) -> usize {
        let Some(content) = self.hints.content else { return 0 };
        let expected = created(content, self.offset + at as u64, self.bytes.len() - at);
        let same = self.bytes[at..].iter().zip(&expected);
        same.take_while(|(one, other)| one == other).count()
    }

    /// Whether an I/O of our runs may have written a counting pattern with this phase here.
    fn may_count(&self, at: usize) -> bool {
        let is_aligned = |writes: &Writes| writes.step_bytes.is_multiple_of(COUNT_BYTES);
        let place = (self.offset + at as u64).to_le_bytes()[0];
        !self.hints.writes.as_ref().is_some_and(is_aligned) || place == self.bytes[at]
    }

    /// Whether zeros were written into a piece that goes on behind them as if they were not there. No run of
    /// ours that can be told does that: it would be a write of fewer bytes than prove anything.
    fn splits(&self, gap: &Piece, before: Option<Piece>) -> bool {
        gap.kind == Kind::Zeros
            && gap.length < PIECE_BYTES_MIN
            && before.is_some_and(|before| self.goes_on_behind(gap, &before))
    }

    /// Whether the piece before another one goes on behind it: what lies between was written over it.
    fn goes_on_behind(&self, gap: &Piece, before: &Piece) -> bool {
        let on = gap.end()..gap.end() + ON_BYTES;
        let Some(behind) = self.bytes.get(on.clone()) else { return false };
        before.end() == gap.start
            && self.would_hold(before, on).is_some_and(|expected| expected == behind)
    }

    /// Whether bytes count upwards where no I/O of ours can have left such a piece.
    fn is_no_count_of_ours(&self, gap: &Piece, before: Option<Piece>) -> bool {
        let Kind::Counting(first) = gap.kind else { return false };
        let before = before.filter(|piece| piece.end() == gap.start);
        // Its first bytes may be what would have come next in the piece before, by chance.
        let taken =
            if before.is_some() && usize::from(first) < ON_BYTES { first.into() } else { 0 };
        let (start, length) = (self.offset + (gap.start - taken) as u64, gap.length + taken);
        let count = Count { start, length: length as u64, begins: usize::from(first) == taken };
        let is_cut = gap.end() == self.bytes.len();
        let has_begun_before = before.is_none() && start > 0;
        match self.hints.writes.filter(|writes| writes.step_bytes.is_multiple_of(COUNT_BYTES)) {
            _ if has_begun_before => false,
            // All pieces begin and end at multiples.
            Some(writes) => {
                let is_short = !is_cut && count.length < writes.step_bytes;
                is_short || !count.start.is_multiple_of(writes.step_bytes)
            }
            None => self.is_no_odd_count(gap, before, &count),
        }
    }

    /// The same where I/Os may begin anywhere. Each begins with zero, so that another first byte is seen only
    /// where a later I/O wrote over the start. Nothing did that at the start of the file, and behind what
    /// the file was created with; and what lies over an I/O that was there before is whole.
    fn is_no_odd_count(&self, gap: &Piece, before: Option<Piece>, count: &Count) -> bool {
        let least = self.hints.writes.unwrap_or(Writes::ANY).least_bytes;
        let is_behind = |kind| before.is_some_and(|before| before.kind == kind);
        let are_zeros_behind = self.bytes[gap.end()..].starts_with(&[0; ON_BYTES]);
        let is_over = (is_behind(Kind::Zeros) && are_zeros_behind)
            || before.is_some_and(|before| self.goes_on_behind(gap, &before));
        let has_start = before.is_none() || is_behind(Kind::Created) || is_behind(Kind::Zeros);
        (has_start && !count.begins) || (is_over && !(count.begins && count.length >= least))
    }

    /// What would stand here if a piece had not ended before.
    fn would_hold(&self, piece: &Piece, range: Range<usize>) -> Option<Vec<u8>> {
        let at = |place: usize| place - piece.start;
        Some(match piece.kind {
            // I/Os begin with zero: these may be of another one.
            Kind::Counting(first) => {
                let counted = |place| first.wrapping_add(at(place).to_le_bytes()[0]);
                range.map(counted).collect::<Vec<u8>>()
            }
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
            Kind::Repeated(_) | Kind::Zeros | Kind::Fed => return None,
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
