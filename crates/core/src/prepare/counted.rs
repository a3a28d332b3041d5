//! The counting pattern of I/Os: which bytes that count upwards are ours.
//!
//! A table of characters counts, too (`ABCDEF...`). So such bytes are ours only where no table can be: in
//! slots between two places where I/Os may begin or end, each of which one I/O has written as a whole. As no
//! table fills a slot, one that somebody wrote stands beside bytes that it does not go on from, or it changed
//! nothing.

use crate::divisor::greatest_common_divisor;

const SECTOR_BYTES: u64 = 512;
/// A table has one byte of each value at most. The next ones may go on by chance.
const TABLE_BYTES_MAX: u64 = 260;
/// Shorter pieces prove nothing.
const PIECE_BYTES_MIN: u64 = 16;
/// I/Os at multiples of fewer bytes tell too little about which zeros are theirs.
const TELLING_BYTES: u64 = 8;

/// Where the I/Os of runs began and ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Writes {
    /// Each did so at a multiple of this.
    pub(super) step_bytes: u64,
    /// Some wrote the counting pattern.
    pub(super) counted: bool,
    /// Some wrote zeros or trimmed.
    pub(super) zeros: bool,
    /// How those may have ended that a killed run had begun.
    pub(super) torn: Torn,
}

/// Where an I/O ends that was cut short as its process was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Torn {
    /// All were whole.
    Nowhere,
    AtSectors,
    /// In a mapping, where I/Os at the same time mix, too.
    Anywhere,
}

impl Writes {
    /// Of runs that are not known: as those of `DiskSpd` mostly are.
    pub(super) const ANY: Self =
        Self { step_bytes: SECTOR_BYTES, counted: true, zeros: false, torn: Torn::Nowhere };

    /// What is true of these and of others.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            step_bytes: greatest_common_divisor(self.step_bytes, other.step_bytes),
            counted: self.counted || other.counted,
            zeros: self.zeros || other.zeros,
            torn: self.torn.max(other.torn),
        }
    }

    /// As it stands in a mark: one word.
    pub(super) fn to_text(self) -> String {
        let (counted, zeros) = (u8::from(self.counted), u8::from(self.zeros));
        format!("{}:{counted}:{zeros}:{}", self.step_bytes, self.torn as u8)
    }

    /// What a word says; none if it says that there were none, and any if it is not understood.
    pub(super) fn parse(word: &str) -> Option<Self> {
        if word == "-" {
            return None;
        }
        let numbers = word.split(':').map(|number| number.parse::<u64>().ok());
        let numbers = numbers.collect::<Option<Vec<u64>>>().unwrap_or_default();
        let (step_bytes, counted, zeros, torn) = match *numbers.as_slice() {
            [step_bytes @ 1..=u64::MAX, counted, zeros, torn] => (step_bytes, counted, zeros, torn),
            // Marks of version 4 told more, and a step of one where nothing was known.
            [step_bytes @ 2..=u64::MAX, counted, _, _, zeros, torn, ..] => {
                (step_bytes, counted, zeros, torn)
            }
            _ => return Some(Self::ANY),
        };
        let torn = match torn {
            0 => Torn::Nowhere,
            1 => Torn::AtSectors,
            _ => Torn::Anywhere,
        };
        Some(Self { step_bytes, counted: counted > 0, zeros: zeros > 0, torn })
    }

    /// I/Os began and ended at multiples of so many bytes, also those that were cut short.
    pub(super) fn edge_bytes(&self) -> u64 {
        match self.torn {
            Torn::Nowhere => self.step_bytes,
            Torn::AtSectors => greatest_common_divisor(self.step_bytes, SECTOR_BYTES),
            Torn::Anywhere => 1,
        }
    }

    /// Whether no piece of fewer than 16 bytes lies between two of them, not even where a byte at an end is
    /// by chance that of the piece beside it.
    pub(super) fn leave_no_short_pieces(&self) -> bool {
        self.edge_bytes() >= 2 * PIECE_BYTES_MIN
    }

    /// Bytes of the slots each of which one I/O has written as a whole; none if they are too short to tell.
    pub(super) fn whole_bytes(&self) -> Option<u64> {
        Self { counted: true, ..*self }.slot_bytes()
    }

    /// Bytes of the slots in which what counts is ours; none if a table may fill one.
    pub(super) fn slot_bytes(&self) -> Option<u64> {
        let step_bytes = self.edge_bytes();
        let has_sectors = !self.counted || step_bytes.is_multiple_of(SECTOR_BYTES);
        let slot_bytes = if has_sectors { SECTOR_BYTES } else { step_bytes };
        (slot_bytes >= TABLE_BYTES_MAX).then_some(slot_bytes)
    }

    /// Whether whole sectors that count are ours, each by itself.
    pub(super) fn has_sectors(&self) -> bool {
        self.slot_bytes() == Some(SECTOR_BYTES)
    }

    /// Whether they leave pieces so short that nothing shows whose they are.
    pub(super) fn are_untold(&self) -> bool {
        self.step_bytes < PIECE_BYTES_MIN || self.slot_bytes().is_none()
    }

    /// Whether zeros of theirs may stand over what they wrote before.
    pub(super) const fn may_blank(&self) -> bool {
        self.zeros && self.step_bytes >= TELLING_BYTES
    }
}

/// Whether the bytes at this offset are the counting pattern of I/Os that begin at multiples of 256.
pub(super) fn counts_from_offset(offset: u64, bytes: &[u8]) -> bool {
    let first = offset.to_le_bytes()[0];
    bytes.first() == Some(&first) && counting(bytes) == bytes.len()
}

/// How many bytes from the first on count upwards.
pub(super) fn counting(bytes: &[u8]) -> usize {
    let pairs = bytes.iter().zip(bytes.iter().skip(1));
    let steps = pairs.take_while(|(before, after)| before.wrapping_add(1) == **after).count();
    bytes.len().min(steps + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_read_as_they_were_written() {
        for (counted, zeros) in [(false, true), (true, false)] {
            for torn in [Torn::Nowhere, Torn::AtSectors, Torn::Anywhere] {
                let writes = Writes { step_bytes: 8, counted, zeros, torn };
                assert_eq!(Writes::parse(&writes.to_text()), Some(writes));
            }
        }
        assert_eq!(Writes::parse("-"), None);
        for other in ["", "16", "0:1:1:1", "16:1:1", "16:1:1:x", "1:1:16:9:0:1:0:1"] {
            assert_eq!(Writes::parse(other), Some(Writes::ANY), "{other}");
        }
        let earlier = Writes { step_bytes: 16, counted: true, zeros: true, torn: Torn::AtSectors };
        assert_eq!(Writes::parse("16:48:16:48:1:1:48:0:16:48"), Some(earlier));
    }

    #[test]
    fn a_slot_is_longer_than_any_table() {
        let slot = |step_bytes, counted, torn| {
            Writes { step_bytes, counted, zeros: false, torn }.slot_bytes()
        };
        assert_eq!(slot(4096, true, Torn::AtSectors), Some(512));
        assert_eq!(slot(1000, true, Torn::Nowhere), Some(1000));
        assert_eq!(slot(1000, true, Torn::AtSectors), None);
        assert_eq!(slot(4096, true, Torn::Anywhere), None);
        assert_eq!(slot(256, true, Torn::Nowhere), None);
        assert_eq!(slot(16, true, Torn::Nowhere), None);
        // A table is no whole sector, whatever else was written beside it.
        assert_eq!(slot(16, false, Torn::Anywhere), Some(512));
    }
}
