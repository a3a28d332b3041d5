//! Write data of a given compressibility, of which a given share repeats.
//!
//! The data of one I/O are made from a key of that I/O alone (`core/noise.rs`), in one pass over the block,
//! so no two I/Os hold a word in common but by chance. In each 512 bytes the incompressible part comes first,
//! and one repeated word follows.
//!
//! A repeat is an I/O that uses the number of an earlier one, which gives the same key.

use std::hash::{BuildHasher, RandomState};

use super::random::Random;
use crate::noise;
use crate::plan::Reduction;

const GRAIN_BYTES: usize = Reduction::GRAIN_BYTES;
/// Repeats are of so many of a thread's earlier writes at most.
const REPEATED_MAX: u64 = 4096;

/// A number that no other run and no other target has, so that they share no data.
#[must_use]
pub fn new_nonce() -> u64 {
    RandomState::new().hash_one(0)
}

/// The data of one thread's writes to one target.
#[derive(Debug, Clone)]
pub struct ReducedData {
    noise_bytes: usize,
    seed: u64,
    dedupe_percent: u32,
    /// Hundredths of a repeat that are still owed.
    owed: u32,
    /// Writes so far that repeat nothing; their numbers are those from 0.
    distinct: u64,
    repeated_max: u64,
}

impl ReducedData {
    /// Data for writes. `blocks` is how many blocks the thread has to itself: a target of few blocks repeats
    /// few of them, so that the share is also that of what stands on the target once most originals have
    /// been written over.
    #[must_use]
    pub fn new(reduction: Reduction, blocks: u64, seed: u64) -> Self {
        Self {
            noise_bytes: reduction.incompressible_bytes(),
            seed,
            dedupe_percent: reduction.dedupe_percent,
            owed: 0,
            distinct: 0,
            repeated_max: (blocks / 256).clamp(1, REPEATED_MAX),
        }
    }

    /// The data of the next write.
    #[inline]
    pub fn fill(&mut self, block: &mut [u8], random: &mut Random) {
        let number = self.next_number(random);
        self.fill_numbered(block, number);
    }

    /// The number of the next write's data: a new one, or that of an earlier write.
    #[inline]
    fn next_number(&mut self, random: &mut Random) -> u64 {
        self.owed += self.dedupe_percent;
        if self.owed >= 100 && self.distinct > 0 {
            self.owed -= 100;
            return random.below(self.distinct.min(self.repeated_max));
        }
        self.distinct += 1;
        self.distinct - 1
    }

    #[inline]
    fn fill_numbered(&self, block: &mut [u8], number: u64) {
        let mut draws =
            Random::new(self.seed.wrapping_add(number.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        let key = draws.bits();
        for (number, grain) in (0..).zip(block.chunks_mut(GRAIN_BYTES)) {
            noise::fill_grain(key, number, self.noise_bytes, grain);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn data(compress_percent: u32, dedupe_percent: u32, blocks: u64, seed: u64) -> ReducedData {
        ReducedData::new(Reduction { compress_percent, dedupe_percent }, blocks, seed)
    }

    fn written(data: &mut ReducedData, writes: usize, block_bytes: usize) -> Vec<Vec<u8>> {
        let mut random = Random::new(9);
        let mut block = vec![0; block_bytes];
        let next = |_| {
            data.fill(&mut block, &mut random);
            block.clone()
        };
        (0..writes).map(next).collect()
    }

    #[test]
    fn the_share_of_repeats_is_exact_and_each_is_of_an_earlier_write() {
        for percent in [0, 1, 30, 50, 99, 100] {
            let blocks = written(&mut data(0, percent, 1 << 20, 5), 2_000, 512);
            let distinct: HashSet<&Vec<u8>> = blocks.iter().collect();
            let repeats = blocks.len() - distinct.len();
            let expected = 2_000 * percent as usize / 100;
            assert!(repeats.abs_diff(expected) <= 1, "{percent}: {repeats}");
        }
    }

    #[test]
    fn threads_and_runs_share_no_data_and_no_grain_stands_twice() {
        let mut one = written(&mut data(50, 0, 1 << 20, 5), 500, 65_536);
        one.extend(written(&mut data(50, 0, 1 << 20, 6), 500, 65_536));
        let grains = one.iter().flat_map(|block| block.chunks(GRAIN_BYTES));
        let distinct: HashSet<&[u8]> = grains.clone().collect();
        assert_eq!(distinct.len(), grains.count());
        assert_ne!(new_nonce(), new_nonce());
    }

    #[test]
    fn a_target_of_few_blocks_repeats_few_of_them() {
        let blocks = written(&mut data(0, 50, 1_024, 5), 10_000, 512);
        let mut counts = std::collections::HashMap::<&Vec<u8>, usize>::new();
        for block in &blocks {
            *counts.entry(block).or_default() += 1;
        }
        assert_eq!(counts.values().filter(|count| **count > 1).count(), 4);
    }

    #[test]
    fn the_incompressible_part_of_each_grain_is_as_long_as_asked() {
        for (percent, bytes) in [(0, 512), (25, 384), (50, 256), (90, 52), (100, 0)] {
            let reduction = Reduction { compress_percent: percent, ..Reduction::default() };
            assert_eq!(reduction.incompressible_bytes(), bytes);
            for block in written(&mut data(percent, 0, 1, 3), 50, 4_096) {
                for grain in block.chunks(GRAIN_BYTES) {
                    let rest = &grain[bytes.next_multiple_of(8)..];
                    assert!(rest.chunks(8).all(|word| word == &rest[..8]), "{percent}");
                    let words: HashSet<&[u8]> = grain[..bytes / 8 * 8].chunks(8).collect();
                    assert_eq!(words.len(), bytes / 8, "{percent}");
                }
            }
        }
    }

    #[test]
    fn every_grain_shows_whose_it_is() {
        for percent in 0..=100 {
            for block in written(&mut data(percent, 20, 1, 3), 20, 4_096) {
                for grain in block.chunks(GRAIN_BYTES) {
                    let is_ours = noise::is_grain(grain) || noise::step_of(grain).is_some();
                    assert!(is_ours, "{percent}");
                }
            }
        }
    }

    #[test]
    fn lengths_that_are_no_multiple_of_a_word_are_filled_to_the_end() {
        let mut data = data(0, 0, 1, 3);
        let blocks = written(&mut data, 64, 13);
        for at in 0..13 {
            assert!(blocks.iter().any(|block| block[at] != blocks[0][at]), "{at}");
        }
    }
}
