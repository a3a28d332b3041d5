//! The pieces of which data are made where I/Os began and ended at any byte.

use std::ops::Range;

use super::content::{BLOCK_BYTES, Content};
use super::proof::Hints;
use crate::noise::{self, WORD_BYTES, WRITE_STEP, mix, unmix};

/// Shorter pieces prove nothing, other than zeros and what the file was created with.
const PIECE_BYTES_MIN: usize = 16;
/// Shorter pieces that count upwards prove nothing where no mark says that this file was written by us:
/// alphabets and tables of characters count, too.
const UNMARKED_COUNT_BYTES_MIN: usize = 512;

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

/// The offset of the first byte of `wanted` that belongs to no piece of ours. `bytes` begin at `offset`, and
/// stand around the wanted ones.
pub(super) fn first_unknown(
    offset: u64,
    bytes: &[u8],
    wanted: Range<usize>,
    hints: &Hints,
) -> Option<u64> {
    let counted_min = if hints.is_marked { PIECE_BYTES_MIN } else { UNMARKED_COUNT_BYTES_MIN };
    // A piece may have begun before what is wanted; how far its data reach is what counts.
    let mut at = before(wanted.start, counted_min);
    while at < wanted.end.min(bytes.len()) {
        let place = offset + at as u64;
        let length =
            piece(&bytes[at..], counted_min).max(created(hints.content, place, &bytes[at..]));
        if length == 0 && at >= wanted.start {
            return Some(place);
        }
        at += length.max(1);
    }
    None
}

/// Where to begin, so that a piece that reaches into what is wanted is seen with its first words.
fn before(wanted: usize, counted_min: usize) -> usize {
    wanted.saturating_sub(2 * counted_min + WORD_BYTES)
}

/// Length of the piece at the first byte; 0 if it is none.
fn piece(bytes: &[u8], counted_min: usize) -> usize {
    let chained = chained(bytes);
    if chained > 0 {
        return chained;
    }
    let counted = counting(bytes);
    if counted >= counted_min {
        return counted;
    }
    bytes.iter().take_while(|&&byte| byte == 0).count()
}

/// Length of the random data at the first byte, which may stand within a word of them.
fn chained(bytes: &[u8]) -> usize {
    (0..WORD_BYTES).find_map(|phase| chained_from(bytes, phase)).unwrap_or(0)
}

fn chained_from(bytes: &[u8], phase: usize) -> Option<usize> {
    let word = |at: usize| bytes.get(at..at + WORD_BYTES).map(noise::to_word);
    let first = unmix(word(phase)?);
    let step = unmix(word(phase + WORD_BYTES)?).wrapping_sub(first);
    // What a file was created with is known by its seed: others use the same generator.
    if step != WRITE_STEP {
        return None;
    }
    let earlier = mix(first.wrapping_sub(step)).to_le_bytes();
    if bytes[..phase] != earlier[WORD_BYTES - phase..] {
        return None;
    }
    let mut counter = first;
    let mut length = phase;
    for chunk in bytes[phase..].chunks(WORD_BYTES) {
        let expected = mix(counter).to_le_bytes();
        let same = chunk.iter().zip(&expected).take_while(|(one, other)| one == other).count();
        length += same;
        if same < WORD_BYTES {
            break;
        }
        counter = counter.wrapping_add(step);
    }
    Some(length)
}

/// How many bytes are those that the file was created with.
fn created(content: Option<Content>, offset: u64, bytes: &[u8]) -> usize {
    let Some(content) = content else { return 0 };
    let block = offset / BLOCK_BYTES as u64 * BLOCK_BYTES as u64;
    let skipped = usize::try_from(offset - block).unwrap_or(0);
    let mut expected = vec![0; (skipped + bytes.len()).min(BLOCK_BYTES)];
    content.fill(block, &mut expected);
    let same = bytes.iter().zip(&expected[skipped..]);
    same.take_while(|(one, other)| one == other).count()
}
