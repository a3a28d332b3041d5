//! What a file held before the first write of a run, where that is known: the data that this tool has made it
//! with, of which every sector can be computed.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::plan::Reduction;
use crate::prepare::{Content, content_of};

/// Words in which a journal keeps an origin, with the one that checks them.
pub const ORIGIN_WORDS: usize = 4;

/// The upper half of the check, so that no other word is taken for one.
const CHECKED: u64 = 0x4f52_4947 << 32;

/// Words of an origin by themselves, as journals of version 1 have them.
pub const ORIGIN_WORDS_1: usize = 3;

/// The data that a file was made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    content: Content,
    /// The run itself has made the file, so that every sector that it has not written holds these data.
    pub is_whole: bool,
}

impl Origin {
    /// The origin of a file, if this tool has made it; `is_whole` if that was in this run.
    pub fn of_file(path: &Path, is_whole: bool) -> io::Result<Option<Self>> {
        let metadata = std::fs::metadata(path)?;
        if !metadata.is_file() {
            return Ok(None);
        }
        let content = content_of(&File::open(path)?, metadata.len())?;
        Ok(content.map(|content| Self { content, is_whole }))
    }

    /// Whether a sector is what the file was made with.
    #[must_use]
    pub fn holds(self, offset_bytes: u64, sector: &[u8]) -> bool {
        self.content.holds_at(offset_bytes, sector)
    }

    /// As words for this place in the table.
    #[must_use]
    pub fn to_words(origin: Option<Self>, place: u64) -> [u64; ORIGIN_WORDS] {
        let bare = Self::to_bare_words(origin);
        [bare[0], bare[1], bare[2], check(bare, place)]
    }

    /// From words of this place; nothing if they are not what was written there. As long as nothing was
    /// written, they are 0.
    pub fn from_words(words: [u64; ORIGIN_WORDS], place: u64) -> Option<Option<Self>> {
        let bare = [words[0], words[1], words[2]];
        match words[3] {
            0 => Some(None),
            found if found == check(bare, place) => Some(Self::from_bare_words(bare)),
            _ => None,
        }
    }

    /// As words without a check, as older journals have them; all are 0 for none.
    #[must_use]
    pub fn to_bare_words(origin: Option<Self>) -> [u64; ORIGIN_WORDS_1] {
        origin.map_or([0; ORIGIN_WORDS_1], |origin| {
            let Content { seed, size_bytes, reduction } = origin.content;
            let Reduction { compress_percent, dedupe_percent } = reduction;
            let percents = u64::from(compress_percent) << 8 | u64::from(dedupe_percent) << 16;
            [(1 + u64::from(origin.is_whole)) | percents, seed, size_bytes]
        })
    }

    /// From words without a check.
    #[must_use]
    pub fn from_bare_words([state, seed, size_bytes]: [u64; ORIGIN_WORDS_1]) -> Option<Self> {
        let [whole, compress_percent, dedupe_percent, ..] = state.to_le_bytes().map(u32::from);
        let reduction = Reduction { compress_percent, dedupe_percent };
        let content = Content { seed, size_bytes, reduction };
        (state > 0).then_some(Self { content, is_whole: whole > 1 })
    }
}

fn check(bare: [u64; ORIGIN_WORDS_1], place: u64) -> u64 {
    let bytes = [bare[0], bare[1], bare[2], place].map(u64::to_le_bytes).concat();
    CHECKED | u64::from(crc32c::crc32c(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_keep_an_origin(
            (seed, size_bytes, is_whole) in any::<(u64, u64, bool)>(),
            (compress_percent, dedupe_percent) in (0..=100_u32, 0..=100_u32),
        ) {
            let reduction = Reduction { compress_percent, dedupe_percent };
            let origin = Some(Origin { content: Content { seed, size_bytes, reduction }, is_whole });
            let words = Origin::to_words(origin, 5);
            prop_assert_eq!(Origin::from_words(words, 5), Some(origin));
            prop_assert_eq!(Origin::from_words(words, 6), None);
            for bit in 0..256 {
                let mut flipped = words;
                flipped[bit / 64] ^= 1 << (bit % 64);
                prop_assert_eq!(Origin::from_words(flipped, 5), None);
            }
        }
    }

    #[test]
    fn no_origin_is_no_words() {
        assert_eq!(Origin::from_words(Origin::to_words(None, 1), 1), Some(None));
        assert_eq!(Origin::from_words([0; ORIGIN_WORDS], 1), Some(None));
    }
}
