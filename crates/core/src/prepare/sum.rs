//! The sum of all that a file holds: the same sum, the same data, whatever was done to the file since.
//!
//! For files of which content alone does not prove whose they are. Holes and zeros are no data here either.

use std::fs::File;
use std::io;
use std::ops::Range;

use fathom_sys::extents;

use super::ahead::{self, read};
use super::proof::SECTOR_BYTES;
use crate::noise::{WORD_BYTES, mix};

/// Files with more data have no sum, as each run would read them whole at its end.
const DATA_BYTES_MAX: u64 = 1 << 30;

/// The sum of a file's data, their places and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sum(u64, u64);

impl Sum {
    /// Of a file of `size_bytes`; none if it holds too much.
    pub(super) fn of(file: &File, size_bytes: u64) -> io::Result<Option<Self>> {
        Self::of_at_most(file, size_bytes, DATA_BYTES_MAX)
    }

    fn of_at_most(file: &File, size_bytes: u64, most: u64) -> io::Result<Option<Self>> {
        if !extents::holds_at_most(file, size_bytes, most)? {
            return Ok(None);
        }
        let mut sum = Self::of_words([size_bytes]);
        ahead::find(file, size_bytes, |range| -> io::Result<Option<()>> {
            sum = sum.and_window(file, range)?;
            Ok(None)
        })?;
        Ok(Some(sum))
    }

    fn and_window(self, file: &File, range: Range<u64>) -> io::Result<Self> {
        let bytes = read(file, range.clone())?;
        let sectors = (range.start..).step_by(SECTOR_BYTES).zip(bytes.chunks(SECTOR_BYTES));
        let held = sectors.filter(|(_, sector)| *sector != &[0; SECTOR_BYTES][..sector.len()]);
        Ok(held.fold(self, |sum, (offset, sector)| sum.and(offset).and_bytes(sector)))
    }

    fn and_bytes(mut self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self = self.and(u64::from_le_bytes(*word));
        }
        if rest.is_empty() {
            return self;
        }
        let mut last = [0; WORD_BYTES];
        last[..rest.len()].copy_from_slice(rest);
        self.and(u64::from_le_bytes(last))
    }

    pub(super) fn of_words(words: impl IntoIterator<Item = u64>) -> Self {
        words.into_iter().fold(Self(1, 2), Self::and)
    }

    const fn and(self, word: u64) -> Self {
        Self(mix(self.0 ^ word), self.1.rotate_left(7).wrapping_add(mix(word)))
    }

    /// As it stands in a mark: one word.
    pub(super) fn to_text(self) -> String {
        format!("{:016x}{:016x}", self.0, self.1)
    }

    /// What a word says; none if it says that there is none, or is not understood.
    pub(super) fn parse(word: &str) -> Option<Self> {
        let half = |range| u64::from_str_radix(word.get(range)?, 16).ok();
        let sum = half(0..16).zip(half(16..32)).map(|(one, other)| Self(one, other));
        sum.filter(|sum| sum.to_text() == word)
    }
}

#[cfg(test)]
mod tests {
    use fathom_sys::contract::file::PositionedIo;

    use super::*;

    fn sum(bytes: &[u8], size_bytes: u64) -> Sum {
        let file = tempfile::tempfile().expect("a temporary file");
        file.write_all_at(bytes, 0).expect("a write");
        file.set_len(size_bytes).expect("a length");
        Sum::of(&file, size_bytes).expect("reads").expect("few data")
    }

    #[test]
    fn the_same_data_have_the_same_sum_and_no_others_have() {
        let mut bytes = vec![0; 9000];
        bytes[5000..5026].copy_from_slice(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        let first = sum(&bytes, 20_000);
        bytes.resize(20_000, 0);
        assert_eq!(sum(&bytes, 20_000), first);
        assert_ne!(sum(&bytes, 20_001), first);
        for at in [0, 4999, 5000, 5025, 5026, 19_999] {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_ne!(sum(&other, 20_000), first, "{at}");
        }
        bytes.rotate_right(512);
        assert_ne!(sum(&bytes, 20_000), first);
        assert_eq!(Sum::parse(&first.to_text()), Some(first));
        assert_eq!(Sum::parse("-"), None);
    }

    #[test]
    fn a_file_of_many_data_has_none() {
        let file = tempfile::tempfile().expect("a temporary file");
        file.write_all_at(&[7; 8192], 4096).expect("a write");
        let is_summed = |most| Sum::of_at_most(&file, 12_288, most).expect("reads").is_some();
        assert!(is_summed(12_288));
        assert!(!is_summed(4096));
    }
}
