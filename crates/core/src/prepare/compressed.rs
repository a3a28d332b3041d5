//! Created data that compress, in a file that no mark tells the seed of.

use super::content::{BLOCK, Content, fill_words};
use super::proof::SECTOR_BYTES;
use crate::noise::{CREATE_STEP as STEP, WORD_BYTES, mix, step_of, unmix};
use crate::plan::Reduction;

/// What a sector shows of the block that it is part of.
#[derive(Debug, Clone, Copy)]
struct Shown {
    key: u64,
    /// Of each sector; the rest repeats the first word of the block.
    noise_bytes: usize,
}

impl Shown {
    /// The word that the sector repeats gives the key, and all others follow. One such word proves nothing:
    /// any word that is repeated is one.
    fn by(offset: u64, sector: &[u8]) -> Option<Self> {
        let last = sector.last_chunk::<WORD_BYTES>()?;
        let longest = sector.len() - WORD_BYTES;
        let lengths = (longest - repeated_bytes(sector)).max(2 * WORD_BYTES)..=longest;
        lengths.map(|noise_bytes| Self::with(*last, sector.len(), noise_bytes)).find(|shown| {
            let is_begun = sector[..WORD_BYTES] == mix(shown.state(offset)).to_le_bytes();
            is_begun && shown.is_at(offset, sector)
        })
    }

    /// What a sector of so many bytes shows that ends with this word.
    fn with(last: [u8; WORD_BYTES], sector_bytes: usize, noise_bytes: usize) -> Self {
        let mut first = last;
        first.rotate_right((sector_bytes - WORD_BYTES - noise_bytes) % WORD_BYTES);
        Self { key: unmix(u64::from_le_bytes(first)), noise_bytes }
    }

    /// Of the generator at the start of a sector.
    const fn state(self, offset: u64) -> u64 {
        let grain = offset % BLOCK / Reduction::GRAIN_BYTES as u64;
        let words = self.noise_bytes.div_ceil(WORD_BYTES) as u64;
        self.key.wrapping_add(STEP.wrapping_mul(words * grain))
    }

    fn is_at(self, offset: u64, sector: &[u8]) -> bool {
        let (noise, rest) = sector.split_at(self.noise_bytes.min(sector.len()));
        let mut expected = vec![0; noise.len()];
        fill_words(&mut self.state(offset), &mut expected);
        let first = mix(self.key).to_le_bytes();
        noise == expected && rest.chunks(WORD_BYTES).all(|word| first.starts_with(word))
    }

    /// What stands in the block behind this one, if that repeats no other.
    fn next(self, block: u64, size_bytes: u64) -> Option<Self> {
        let content = Content::of_key(self.key, block, size_bytes);
        content.is_signed().then(|| Self { key: content.plain_key(block + 1), ..self })
    }
}

/// How many bytes before the last word repeat what stands a word behind them.
fn repeated_bytes(sector: &[u8]) -> usize {
    let behind = sector.iter().rev();
    behind.clone().skip(WORD_BYTES).zip(behind).take_while(|(one, later)| one == later).count()
}

/// Whether the bytes are a sector of some file that was created with data that compress.
pub(super) fn is_at(offset: u64, sector: &[u8]) -> bool {
    Shown::by(offset, sector).is_some()
}

/// Whether `end` is the end of a file of `size_bytes`, less than a sector, that was created with data that
/// compress: it shows that itself, or the sector before does.
pub(super) fn is_end(size_bytes: u64, before: &[u8], end: &[u8]) -> bool {
    let offset = size_bytes - end.len() as u64;
    let is_shown_before =
        || shown_by(size_bytes, offset, before).is_some_and(|shown| shown.is_at(offset, end));
    !end.is_empty() && (is_at(offset, end) || is_begun(size_bytes, end) || is_shown_before())
}

/// What the sector before `offset` shows of what stands there, in its own block or in the next one.
fn shown_by(size_bytes: u64, offset: u64, before: &[u8]) -> Option<Shown> {
    let before = before.last_chunk::<SECTOR_BYTES>()?;
    let at = offset - SECTOR_BYTES as u64;
    let shown = Shown::by(at, before)?;
    if offset.is_multiple_of(BLOCK) { shown.next(at / BLOCK, size_bytes) } else { Some(shown) }
}

/// Whether the end of a file, of which too little compresses to show it, is of a signed seed.
fn is_begun(size_bytes: u64, end: &[u8]) -> bool {
    let offset = size_bytes - end.len() as u64;
    let words = &end[..end.len() / WORD_BYTES * WORD_BYTES];
    let Some(first) = words.first_chunk().filter(|_first| is_noise(words)) else { return false };
    let state = unmix(u64::from_le_bytes(*first));
    (2 * WORD_BYTES..=SECTOR_BYTES).any(|noise_bytes| {
        let blank = Shown { key: 0, noise_bytes };
        let shown = Shown { key: state.wrapping_sub(blank.state(offset)), noise_bytes };
        let content = Content::of_key(shown.key, offset / BLOCK, size_bytes);
        content.is_signed() && shown.is_at(offset, end)
    })
}

/// Whether the first words are created data, as far as they may be noise.
fn is_noise(words: &[u8]) -> bool {
    words.get(..2 * WORD_BYTES).and_then(step_of) == Some(STEP)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::prepare::proof::{Hints, Whose, look};
    use proptest::prelude::*;

    fn whole(size_bytes: usize, compress_percent: u32, dedupe_percent: u32) -> Vec<u8> {
        let reduction = Reduction { compress_percent, dedupe_percent };
        let content =
            Content { seed: Content::signed(17), size_bytes: size_bytes as u64, reduction };
        let mut whole = vec![0; size_bytes];
        content.fill(0, &mut whole);
        whole
    }

    #[test]
    fn every_sector_is_known_without_its_seed() {
        for compress_percent in 3..=96 {
            let mut whole = whole(20_480, compress_percent, 20);
            for (index, sector) in whole.chunks_mut(512).enumerate() {
                let offset = index as u64 * 512;
                assert!(is_at(offset, sector), "{compress_percent} {index}");
                sector[index * 7 % 512] ^= 1;
                assert!(!is_at(offset, sector), "{compress_percent} {index}");
            }
        }
    }

    proptest! {
        /// A copy of a file whose size is no multiple of a sector was somebody's.
        #[test]
        fn the_end_of_a_file_is_known_without_its_seed(
            size_bytes in 520_usize..20_000,
            compress_percent in 3_u32..=96,
            change in any::<prop::sample::Index>(),
        ) {
            let mut whole = whole(size_bytes, compress_percent, 0);
            let last = size_bytes / 512 * 512;
            prop_assume!(last < size_bytes);
            let is_known = |whole: &[u8]| {
                is_end(size_bytes as u64, &whole[..last], &whole[last..])
            };
            prop_assert!(is_known(&whole));
            let at = last + change.index(size_bytes - last);
            whole[at] ^= 1;
            prop_assert!(!is_known(&whole));
        }

        #[test]
        fn a_copy_of_a_file_of_any_size_is_ours(
            size_bytes in 16_usize..100_000,
            compress_percent in 3_u32..=96,
        ) {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&whole(size_bytes, compress_percent, 0)).unwrap();
            let found = look(&file, size_bytes as u64, Hints::new(None, false)).unwrap();
            prop_assert_eq!(found, Whose::Ours);
        }
    }
}
