//! What a created file holds: incompressible data that prove whose they are.
//!
//! Each block of 4 KiB is random data from a key, and its first eight bytes, undone, give that
//! key back. The key is the file's seed mixed with the number of the block (for the first block,
//! with the size of the file). So any block shows its seed, all blocks of one file show the same,
//! and yet there is no header, and no two files hold the same data that a device could store
//! once. The first block is written last, when all others are on stable storage: a file whose
//! first block is in place is complete.

use std::io;

use super::data::{Data, read_exact_at};
use crate::noise::{CREATE_STEP as STEP, WORD_BYTES, fill_chain, mix, repeat, unmix};
use crate::plan::Reduction;

/// Bytes of a block, which has one key.
pub(super) const BLOCK_BYTES: usize = 4096;
pub(super) const BLOCK: u64 = BLOCK_BYTES as u64;

/// Repeats are of one of so many blocks at the start of the file.
pub(super) const REPEATED_MAX: u64 = 4096;
/// Bits of a seed that are drawn; the others sign them.
const DRAWN_BITS: u32 = 40;

/// Signs the seeds of files, so that what other programs draw from the same generator shows none of ours.
const SIGNATURE: u64 = 0x6661_7468_6f6d_2031;

/// The data of one file, given by its seed, its size, and how far they compress and repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) seed: u64,
    pub(crate) size_bytes: u64,
    pub(crate) reduction: Reduction,
}

impl Content {
    /// A seed of drawn bits that is known for one of ours.
    pub(super) const fn signed(drawn: u64) -> u64 {
        let drawn = drawn & ((1 << DRAWN_BITS) - 1);
        drawn | (mix(drawn ^ SIGNATURE) & !((1 << DRAWN_BITS) - 1))
    }

    pub(super) const fn is_signed(self) -> bool {
        self.seed == Self::signed(self.seed)
    }

    fn key(self, block: u64) -> u64 {
        self.plain_key(self.original(block))
    }

    /// The key of a block that repeats no other.
    pub(super) fn plain_key(self, block: u64) -> u64 {
        let place = if block == 0 { mix(self.size_bytes ^ STEP) } else { block.wrapping_mul(STEP) };
        mix(self.seed.wrapping_add(place))
    }

    /// The block whose data stand in this one: itself, unless it is one of those that repeat another. The
    /// repeats are spread evenly, so that their share is right to one block.
    fn original(self, block: u64) -> u64 {
        if !self.is_repeat(block) {
            return block;
        }
        let mut original = mix(block) % block.min(REPEATED_MAX);
        while self.is_repeat(original) {
            original -= 1;
        }
        original
    }

    fn is_repeat(self, block: u64) -> bool {
        let percent = u128::from(self.reduction.dedupe_percent.min(100));
        let before = |block: u64| u128::from(block) * percent / 100;
        block > 0 && before(block) > before(block - 1)
    }

    fn fill_block(self, block: u64, bytes: &mut [u8]) {
        fill_block(self.key(block), bytes, self.reduction);
    }

    /// The content of a file of `size_bytes` of which this is the start of a block.
    fn of_block(bytes: &[u8], block: u64, size_bytes: u64, reduction: Reduction) -> Option<Self> {
        let first = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
        let blank = Self { seed: 0, size_bytes, reduction };
        let place = unmix(blank.key(block));
        let seed = unmix(unmix(first)).wrapping_sub(place);
        Some(Self { seed, ..blank })
    }

    /// Fills `buffer` with what the file holds from `offset` on, which is the start of a block.
    pub(crate) fn fill(self, offset: u64, buffer: &mut [u8]) {
        debug_assert_eq!(offset % BLOCK, 0);
        let first = offset / BLOCK;
        for (block, bytes) in (first..).zip(buffer.chunks_mut(BLOCK_BYTES)) {
            self.fill_block(block, bytes);
        }
    }

    /// Whether the file holds these bytes from `offset` on, a multiple of 8; they lie within one block, and
    /// what is left of whole words is not looked at.
    pub(crate) fn holds_at(self, offset: u64, bytes: &[u8]) -> bool {
        if self.reduction != Reduction::default() {
            let (block, skipped) = (offset / BLOCK, (offset % BLOCK) as usize);
            let whole = bytes.len() / 8 * 8;
            let mut expected = vec![0; skipped + whole];
            self.fill_block(block, &mut expected);
            return expected[skipped..] == bytes[..whole];
        }
        let key = self.key(offset / BLOCK);
        let word = |index: u64| mix(key.wrapping_add(STEP.wrapping_mul(index))).to_le_bytes();
        let words = bytes.chunks_exact(8).zip(offset % BLOCK / 8..);
        words.into_iter().all(|(bytes, index)| bytes == word(index))
    }

    /// The key of the block of which these are created data.
    pub(super) fn key_shown(offset: u64, bytes: &[u8]) -> u64 {
        let words = STEP.wrapping_mul(offset % BLOCK / WORD_BYTES as u64);
        unmix(bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))).wrapping_sub(words)
    }

    /// The content of a file of which a block has this key.
    pub(super) fn of_key(key: u64, block: u64, size_bytes: u64) -> Self {
        let blank = Self { seed: 0, size_bytes, reduction: Reduction::default() };
        let seed = unmix(key).wrapping_sub(unmix(blank.plain_key(block)));
        Self { seed, ..blank }
    }

    /// The size of the file of this seed whose first block has this key.
    pub(super) fn size_shown(self, key: u64) -> u64 {
        unmix(unmix(key).wrapping_sub(self.seed)) ^ STEP
    }

    fn holds(self, block: u64, bytes: &[u8]) -> bool {
        let mut expected = vec![0; bytes.len()];
        self.fill_block(block, &mut expected);
        expected == bytes
    }
}

/// Fills a block, or the start of one. What compresses is a repetition of the first word, so that this
/// word is there in any case.
fn fill_block(key: u64, bytes: &mut [u8], reduction: Reduction) {
    let first = mix(key).to_le_bytes();
    let mut state = key;
    for grain in bytes.chunks_mut(Reduction::GRAIN_BYTES) {
        let noise_bytes = reduction.incompressible_bytes().min(grain.len());
        let (noise, rest) = grain.split_at_mut(noise_bytes);
        fill_words(&mut state, noise);
        repeat(first, rest);
    }
}

pub(super) fn fill_words(state: &mut u64, bytes: &mut [u8]) {
    *state = fill_chain(*state, STEP, bytes);
}

/// Fewer bytes do not prove anything.
const PROOF_BYTES_MIN: u64 = 16;
/// Blocks that are looked at between the first and the last.
const PROOF_BLOCKS: u64 = 30;

/// The content of a file of `size_bytes`, if blocks at many places prove that it was completely
/// created by this tool and not written since.
pub(super) fn proven(
    file: &dyn Data,
    size_bytes: u64,
    reduction: Reduction,
) -> io::Result<Option<Content>> {
    if size_bytes < PROOF_BYTES_MIN {
        return Ok(None);
    }
    let first = read_block(file, 0, size_bytes)?;
    let content = Content::of_block(&first, 0, size_bytes, reduction);
    let Some(content) = content else { return Ok(None) };
    if !content.holds(0, &first) {
        return Ok(None);
    }
    for block in proof_blocks(size_bytes) {
        if !content.holds(block, &read_block(file, block, size_bytes)?) {
            return Ok(None);
        }
    }
    Ok(Some(content))
}

/// Whether any of the blocks at many places holds nothing but zeros.
pub(super) fn has_zeros(file: &dyn Data, size_bytes: u64) -> io::Result<bool> {
    for block in proof_blocks(size_bytes) {
        if read_block(file, block, size_bytes)?.iter().all(|&byte| byte == 0) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn proof_blocks(size_bytes: u64) -> impl Iterator<Item = u64> {
    let count = size_bytes.div_ceil(BLOCK);
    let step = (count / PROOF_BLOCKS).max(1);
    (0..count).step_by(usize::try_from(step).unwrap_or(usize::MAX)).chain(count.checked_sub(1))
}

fn read_block(file: &dyn Data, block: u64, size_bytes: u64) -> io::Result<Vec<u8>> {
    let offset = block * BLOCK;
    let length = BLOCK.min(size_bytes - offset);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(BLOCK_BYTES)];
    read_exact_at(file, &mut bytes, offset)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use fathom_sys::contract::file::PositionedIo;

    use super::*;
    use proptest::prelude::*;

    const PLAIN: Reduction = Reduction { compress_percent: 0, dedupe_percent: 0 };

    proptest! {
        #[test]
        fn any_block_shows_its_seed(
            seed in any::<u64>(),
            block in 0_u64..1 << 50,
            compress_percent in 0_u32..=100,
        ) {
            let reduction = Reduction { compress_percent, dedupe_percent: 0 };
            let content = Content { seed, size_bytes: 1 << 62, reduction };
            let mut bytes = [0; 64];
            content.fill_block(block, &mut bytes);
            let found = Content::of_block(&bytes, block, 1 << 62, reduction);
            prop_assert_eq!(found, Some(content));
        }
    }

    fn file_of(content: Content) -> File {
        let file = tempfile::tempfile().expect("a temporary file");
        let mut data = vec![0; usize::try_from(content.size_bytes).expect("small")];
        content.fill(0, &mut data);
        file.write_all_at(&data, 0).expect("a write");
        file
    }

    #[test]
    fn a_complete_file_is_proven() {
        for size_bytes in [16, 100, 4096, 4099, 8192, 1_000_003] {
            let content = Content { seed: 99, size_bytes, reduction: PLAIN };
            assert_eq!(proven(&file_of(content), size_bytes, PLAIN).expect("reads"), Some(content));
        }
    }

    #[test]
    fn a_missing_block_a_changed_size_or_other_data_prove_nothing() {
        let size_bytes = 100_000;
        let content = Content { seed: 5, size_bytes, reduction: PLAIN };
        let without = |offset: u64| {
            let file = file_of(content);
            file.write_all_at(&[0; 8], offset).expect("a write");
            proven(&file, size_bytes, PLAIN).expect("reads")
        };
        assert_eq!(without(0), None);
        assert_eq!(without(40_960), None);
        assert_eq!(without(99_990), None);
        let file = file_of(content);
        file.set_len(90_112).expect("a length");
        assert_eq!(proven(&file, 90_112, PLAIN).expect("reads"), None);
        file.set_len(0).expect("a length");
        file.set_len(size_bytes).expect("a length");
        assert_eq!(proven(&file, size_bytes, PLAIN).expect("reads"), None);
        assert_eq!(proven(&file, 4, PLAIN).expect("reads"), None);
    }

    #[test]
    fn pieces_agree_with_the_whole() {
        let content = Content { seed: 1, size_bytes: 20_000, reduction: PLAIN };
        let mut whole = vec![0; 20_000];
        content.fill(0, &mut whole);
        let mut piece = vec![0; 9000];
        content.fill(8192, &mut piece);
        assert_eq!(piece, whole[8192..17_192]);
    }

    #[test]
    fn every_sector_of_reduced_data_is_known_too() {
        let reduction = Reduction { compress_percent: 60, dedupe_percent: 20 };
        let content = Content { seed: 17, size_bytes: 20_480, reduction };
        let mut whole = vec![0; 20_480];
        content.fill(0, &mut whole);
        for (index, sector) in whole.chunks_mut(512).enumerate() {
            assert!(content.holds_at(index as u64 * 512, sector));
            sector[index * 7 % 512] ^= 1;
            assert!(!content.holds_at(index as u64 * 512, sector));
        }
    }

    #[test]
    fn every_sector_is_known_and_no_changed_one_passes() {
        let content = Content { seed: 17, size_bytes: 20_480, reduction: Reduction::default() };
        let mut whole = vec![0; 20_480];
        content.fill(0, &mut whole);
        for (index, sector) in whole.chunks_mut(512).enumerate() {
            let offset = index as u64 * 512;
            assert!(content.holds_at(offset, sector));
            assert!(!content.holds_at((offset + 512) % 20_480, sector));
            sector[index * 7 % 512] ^= 1;
            assert!(!content.holds_at(offset, sector));
        }
    }

    #[test]
    fn two_files_share_no_block() {
        let mut blocks = std::collections::HashSet::new();
        for seed in 0..4 {
            let mut data = vec![0; 64 * BLOCK_BYTES];
            Content { seed, size_bytes: 1 << 30, reduction: PLAIN }.fill(0, &mut data);
            blocks.extend(data.chunks(BLOCK_BYTES).map(<[u8]>::to_vec));
        }
        assert_eq!(blocks.len(), 4 * 64);
    }

    #[test]
    fn the_share_of_repeats_is_exact_and_the_file_is_still_proven() {
        for dedupe_percent in [1, 30, 50, 99, 100] {
            let reduction = Reduction { compress_percent: 40, dedupe_percent };
            let content = Content { seed: 7, size_bytes: 10_001 * BLOCK, reduction };
            let originals: std::collections::HashSet<u64> =
                (0..10_001).map(|block| content.original(block)).collect();
            assert!((0..10_001).all(|block| content.original(block) <= block));
            assert_eq!(10_001 - originals.len(), 100 * dedupe_percent as usize);
            let small = Content { size_bytes: 1_000_003, ..content };
            let file = file_of(small);
            assert_eq!(proven(&file, 1_000_003, reduction).expect("reads"), Some(small));
            assert_eq!(proven(&file, 1_000_003, PLAIN).expect("reads"), None);
        }
    }
}
