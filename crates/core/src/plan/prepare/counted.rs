//! The counting pattern of I/Os: which bytes that count upwards can be what is left of one of ours.

use crate::plan::divisor::greatest_common_divisor;

/// The pattern starts again after so many bytes.
const COUNT_BYTES: u64 = 256;
const SECTOR_BYTES: u64 = 512;
/// So many bytes at the start or end of a piece may be by chance what another one goes on with.
const CHANCE_BYTES: u64 = 3;
/// I/Os at multiples of fewer bytes tell too little about what of a counting pattern is theirs.
const TELLING_BYTES: u64 = 8;

/// Where the I/Os of runs began, and how long they were: what of a counting pattern may be theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Writes {
    /// Each began and ended at a multiple of this.
    pub(super) step_bytes: u64,
    /// Those that wrote the counting pattern; absent if none did.
    pub(super) counted: Option<Counted>,
    /// Zeros were among what they wrote, or they trimmed.
    pub(super) has_zeros: bool,
    /// How those may have ended that a killed run had begun.
    pub(super) torn: Torn,
}

/// The I/Os that wrote the counting pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    /// Each began at a multiple of so many bytes.
    pub(super) step: u64,
    /// Bytes of the shortest one, and of the longest one.
    pub(super) least: u64,
    pub(super) most: u64,
}

/// Where an I/O ends that was cut short as its process was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Torn {
    /// All were whole.
    Nowhere,
    AtSectors,
    /// In a mapping.
    Anywhere,
}

impl Writes {
    /// Of runs that are not known.
    pub(super) const ANY: Self = Self {
        step_bytes: 1,
        counted: Some(Counted { step: 1, least: 16, most: u64::MAX }),
        has_zeros: false,
        torn: Torn::AtSectors,
    };

    /// What is true of these and of others.
    pub(super) fn and(self, other: Self) -> Self {
        let both = self.counted.zip(other.counted).map(|(one, other)| one.and(other));
        Self {
            step_bytes: greatest_common_divisor(self.step_bytes, other.step_bytes),
            counted: both.or(self.counted).or(other.counted),
            has_zeros: self.has_zeros || other.has_zeros,
            torn: self.torn.max(other.torn),
        }
    }

    /// As it stands in a mark: one word.
    pub(super) fn to_text(self) -> String {
        let counted =
            self.counted.map_or([0; 3], |counted| [counted.step, counted.least, counted.most]);
        let [step, least, most] = counted;
        let (zeros, torn) = (u8::from(self.has_zeros), self.torn as u8);
        format!("{}:{step}:{least}:{most}:{zeros}:{torn}", self.step_bytes)
    }

    /// What a word says; none if it says that there were none, and any if it is not understood.
    pub(super) fn parse(word: &str) -> Option<Self> {
        if word == "-" {
            return None;
        }
        let numbers = word.split(':').map(|number| number.parse::<u64>().ok());
        let numbers = numbers.collect::<Option<Vec<u64>>>().unwrap_or_default();
        let &[step_bytes @ 1..=u64::MAX, step, least, most, zeros, torn] = numbers.as_slice()
        else {
            return Some(Self::ANY);
        };
        let counted = Counted { step, least, most };
        let torn = match torn {
            0 => Torn::Nowhere,
            1 => Torn::AtSectors,
            _ => Torn::Anywhere,
        };
        let counted = Some(counted).filter(|_| step > 0);
        Some(Self { step_bytes, counted, has_zeros: zeros > 0, torn })
    }

    /// Whether it tells enough of where I/Os began.
    pub(super) const fn tell(&self) -> bool {
        self.step_bytes >= TELLING_BYTES
    }

    /// Whether zeros of theirs may stand over what they wrote before.
    pub(super) const fn may_blank(&self) -> bool {
        self.has_zeros && self.tell()
    }
}

impl Counted {
    fn and(self, other: Self) -> Self {
        Self {
            step: greatest_common_divisor(self.step, other.step),
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }

    /// The value of a byte less its place is a multiple of this.
    pub(super) fn phase(self) -> u64 {
        greatest_common_divisor(self.step, COUNT_BYTES)
    }

    /// Whether a byte at this place may have this value: one of the I/Os that reach it began so far before.
    fn has(self, place: u64, value: u64) -> bool {
        let last = place / self.step * self.step;
        // Behind so many the values come again.
        let begins = (0..=COUNT_BYTES).map_while(|back| last.checked_sub(back * self.step));
        let reaching = begins.take_while(|begin| place - begin < self.most);
        reaching.into_iter().any(|begin| (place - begin) % COUNT_BYTES == value)
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

/// Bytes that count upwards.
#[derive(Debug)]
pub(super) struct Count {
    /// In the file.
    pub(super) start: u64,
    pub(super) length: u64,
    /// With a first byte of zero, each I/O begins.
    pub(super) first: u64,
    /// What comes behind them is not known.
    pub(super) is_cut: bool,
}

impl Count {
    /// Whether an I/O can have left them: it and those over it begin and end at multiples, or where the
    /// process was killed.
    pub(super) fn can_be_of(&self, writes: Writes) -> bool {
        let Some(counted) = writes.counted else { return false };
        let is_short =
            counted.most >= COUNT_BYTES || self.first + self.length <= counted.most + CHANCE_BYTES;
        is_at(self.start, 0, writes)
            && counted.has(self.start, self.first)
            && is_short
            && (self.is_cut || self.ends_at_one(writes))
    }

    fn ends_at_one(&self, writes: Writes) -> bool {
        writes.torn == Torn::Anywhere || is_at(self.start + self.length, CHANCE_BYTES, writes)
    }

    /// Whether they may be a whole I/O, or one that was cut short as the process was killed.
    pub(super) fn is_whole(&self, writes: Writes) -> bool {
        let least = writes.counted.map_or(u64::MAX, |counted| counted.least);
        let is_torn = match writes.torn {
            Torn::Nowhere => false,
            Torn::AtSectors => (self.start + self.length) % SECTOR_BYTES <= CHANCE_BYTES,
            Torn::Anywhere => true,
        };
        self.first == 0 && (self.is_cut || is_torn || self.length >= least)
    }
}

/// Whether I/Os may begin or end at a place, or so many bytes before it.
fn is_at(place: u64, slack: u64, writes: Writes) -> bool {
    let has_sectors = writes.torn > Torn::Nowhere;
    place % writes.step_bytes <= slack || (has_sectors && place % SECTOR_BYTES <= slack)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTED: Counted = Counted { step: 16, least: 48, most: 528 };

    #[test]
    fn writes_read_as_they_were_written() {
        for counted in [None, Some(COUNTED)] {
            for torn in [Torn::Nowhere, Torn::AtSectors, Torn::Anywhere] {
                let writes = Writes { step_bytes: 8, counted, has_zeros: true, torn };
                assert_eq!(Writes::parse(&writes.to_text()), Some(writes));
            }
        }
        assert_eq!(Writes::parse("-"), None);
        for other in ["", "16", "0:1:1:1:0:0", "16:1:1:1:0:x", "16:1:1:1:0:0:0"] {
            assert_eq!(Writes::parse(other), Some(Writes::ANY), "{other}");
        }
    }

    #[test]
    fn only_a_killed_run_leaves_an_io_that_ends_where_a_sector_does() {
        let step_bytes = 1000;
        let counted = Some(Counted { step: 1000, least: 1000, most: 1000 });
        let whole = Writes { step_bytes, counted, has_zeros: false, torn: Torn::Nowhere };
        let count = |start, length| Count { start, length, first: 0, is_cut: false };
        assert!(count(3000, 1000).can_be_of(whole));
        assert!(!count(3000, 72).can_be_of(whole));
        assert!(count(3000, 72).can_be_of(Writes { torn: Torn::AtSectors, ..whole }));
        assert!(!count(3000, 71).can_be_of(Writes { torn: Torn::AtSectors, ..whole }));
        assert!(count(3000, 71).can_be_of(Writes { torn: Torn::Anywhere, ..whole }));
    }
}
