//! Created data in a file that no mark tells the seed of.
//!
//! Other programs use the same generator, and any of its words shows some seed. A seed that this version
//! draws is signed. One of an earlier version proves itself where two blocks of a file show the same.

use std::collections::HashSet;

use super::content::{BLOCK_BYTES, Content, REPEATED_MAX};

/// Blocks whose seed is not known to be ours; with more, the file is somebody's.
const OPEN_MAX: usize = 64;
/// No file is longer.
const FILE_BYTES_MAX: u64 = 1 << 50;

/// The blocks of a file that are created data.
#[derive(Debug, Default)]
pub(super) struct Created {
    open: Vec<Block>,
    /// Keys of the blocks that others may repeat, with the seed that they are of.
    repeated: Option<(u64, HashSet<u64>)>,
}

#[derive(Debug, Clone, Copy)]
struct Block {
    offset: u64,
    number: u64,
    key: u64,
    shown: Content,
}

impl Created {
    /// Whether a sector that is one chain of created data may be ours, as far as can be told by now;
    /// `content` becomes what it shows the file to be created with.
    pub(super) fn may_be(
        &mut self,
        content: &mut Option<Content>,
        offset: u64,
        sector: &[u8],
        size_bytes: u64,
    ) -> bool {
        let (number, key) = (offset / BLOCK_BYTES as u64, Content::key_shown(offset, sector));
        let shown = Content::of_key(key, number, size_bytes);
        // Where all blocks repeat the first one, no other shows its own key.
        let signed =
            [shown, Content::of_key(key, 0, size_bytes)].into_iter().find(|one| one.is_signed());
        if let Some(signed) = signed {
            // The mark may be that of a file that another one of ours was copied into.
            if content.is_none_or(|content| content.seed != signed.seed) {
                *content = Some(signed);
            }
            return true;
        }
        let block = Block { offset, number, key, shown };
        if self.fits(*content, block) || self.open.iter().any(|one| one.is_same(block)) {
            return true;
        }
        if self.open.iter().any(|one| one.shown.seed == shown.seed) {
            self.open.retain(|one| one.shown.seed != shown.seed);
            *content = Some(shown);
            return true;
        }
        self.open.push(block);
        self.open.len() <= OPEN_MAX
    }

    /// Where the first block is that turned out not to be ours.
    pub(super) fn first_foreign(&mut self, content: Option<Content>) -> Option<u64> {
        let open = std::mem::take(&mut self.open);
        open.into_iter().find(|block| !self.fits(content, *block)).map(|block| block.offset)
    }

    /// Whether a block is one of this content: at its place, as a repeat of another, or the first one from
    /// before the file was cut.
    fn fits(&mut self, content: Option<Content>, block: Block) -> bool {
        let Some(content) = content else { return false };
        let is_of_other_size =
            || block.number == 0 && content.size_shown(block.key) < FILE_BYTES_MAX;
        content.seed == block.shown.seed || is_of_other_size() || self.repeats(content, block.key)
    }

    fn repeats(&mut self, content: Content, key: u64) -> bool {
        if self.repeated.as_ref().is_none_or(|(seed, _)| *seed != content.seed) {
            let keys = (0..REPEATED_MAX).map(|number| content.plain_key(number));
            self.repeated = Some((content.seed, keys.collect()));
        }
        self.repeated.as_ref().is_some_and(|(_, keys)| keys.contains(&key))
    }
}

impl Block {
    const fn is_same(self, other: Self) -> bool {
        self.number == other.number && self.key == other.key
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise;
    use crate::plan::Reduction;

    const SIZE: u64 = 1 << 20;

    fn sector(seed: u64, block: u64) -> Vec<u8> {
        let content = Content { seed, size_bytes: SIZE, reduction: Reduction::default() };
        let mut bytes = vec![0; 512];
        content.fill(block * BLOCK_BYTES as u64, &mut bytes);
        bytes
    }

    fn look(sectors: &[(u64, Vec<u8>)]) -> Option<u64> {
        let (mut created, mut content) = (Created::default(), None);
        for (block, bytes) in sectors {
            let offset = block * BLOCK_BYTES as u64;
            assert_eq!(noise::step_of(bytes), Some(noise::CREATE_STEP));
            if !created.may_be(&mut content, offset, bytes, SIZE) {
                return Some(offset);
            }
        }
        created.first_foreign(content)
    }

    #[test]
    fn a_signed_seed_proves_itself_and_another_by_a_second_block() {
        let signed = Content::signed(77);
        assert_eq!(look(&[(3, sector(signed, 3))]), None);
        assert_eq!(look(&[(3, sector(77, 3))]), Some(3 * 4096));
        assert_eq!(look(&[(3, sector(77, 3)), (9, sector(77, 9))]), None);
        assert_eq!(look(&[(3, sector(77, 3)), (9, sector(78, 9))]), Some(3 * 4096));
        let foreign_within = [(0, sector(signed, 0)), (3, sector(signed, 3)), (9, sector(78, 9))];
        assert_eq!(look(&foreign_within), Some(9 * 4096));
    }

    #[test]
    fn a_repeat_and_the_first_block_of_a_file_that_was_cut_are_ours() {
        let seed = Content::signed(5);
        assert_eq!(look(&[(4, sector(seed, 4)), (900, sector(seed, 4))]), None);
        assert_eq!(look(&[(900, sector(seed, 4))]), Some(900 * 4096));
        // Of a file with one block that all others repeat, a copy in which only such a one was left.
        assert_eq!(look(&[(900, sector(seed, 0))]), None);
        let longer = Content { seed, size_bytes: 2 * SIZE, reduction: Reduction::default() };
        let mut first = vec![0; 512];
        longer.fill(0, &mut first);
        assert_eq!(look(&[(0, first.clone()), (3, sector(seed, 3))]), None);
        assert_eq!(look(&[(1, first), (3, sector(seed, 3))]), Some(4096));
    }

    #[test]
    fn many_blocks_of_many_seeds_are_somebodys() {
        let many: Vec<_> = (0..100).map(|block| (block, sector(block * 31 + 7, block))).collect();
        assert!(look(&many).is_some());
    }
}
