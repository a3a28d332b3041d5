//! The counting pattern of I/Os: which bytes that count upwards can be what is left of one of ours.

use super::lengths::Lengths;
use crate::divisor::greatest_common_divisor;

/// The pattern starts again after so many bytes.
const COUNT_BYTES: u64 = 256;
const SECTOR_BYTES: u64 = 512;
/// So many bytes at the start or end of a piece may be by chance what another one goes on with.
pub(super) const CHANCE_BYTES: u64 = 3;
/// I/Os at multiples of fewer bytes tell too little about what of a counting pattern is theirs.
const TELLING_BYTES: u64 = 8;

/// Where the I/Os of runs began, and how long they were: what of a counting pattern may be theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Writes {
    /// Each began and ended at a multiple of this.
    pub(super) step_bytes: u64,
    /// Those that wrote the counting pattern; absent if none did.
    pub(super) counted: Option<Counted>,
    /// Bytes of the shortest one that wrote zeros or trimmed; absent if none did.
    pub(super) zeros: Option<u64>,
    /// Bytes of the shortest one that wrote other data; absent if none did.
    pub(super) others: Option<u64>,
    /// How those may have ended that a killed run had begun.
    pub(super) torn: Torn,
}

/// The I/Os that wrote the counting pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    /// Each began at a multiple of so many bytes.
    pub(super) step: u64,
    pub(super) lengths: Lengths,
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
    /// Of runs that are not known.
    pub(super) const ANY: Self = Self {
        step_bytes: 1,
        counted: Some(Counted { step: 1, lengths: Lengths::between(16, u64::MAX) }),
        zeros: None,
        others: Some(1),
        torn: Torn::AtSectors,
    };

    /// What is true of these and of others.
    pub(super) fn and(self, other: Self) -> Self {
        let both = self.counted.zip(other.counted).map(|(one, other)| one.and(other));
        Self {
            step_bytes: greatest_common_divisor(self.step_bytes, other.step_bytes),
            counted: both.or(self.counted).or(other.counted),
            zeros: self.zeros.into_iter().chain(other.zeros).min(),
            others: self.others.into_iter().chain(other.others).min(),
            torn: self.torn.max(other.torn),
        }
    }

    /// As it stands in a mark: one word.
    pub(super) fn to_text(self) -> String {
        let (step, lengths) = self
            .counted
            .map_or((0, Lengths::between(0, 0)), |counted| (counted.step, counted.lengths));
        let Lengths { least, most, .. } = lengths;
        let (has_zeros, torn) = (u8::from(self.zeros.is_some()), self.torn as u8);
        let (zeros, others) = (self.zeros.unwrap_or(0), self.others.unwrap_or(0));
        let mut text = format!(
            "{}:{step}:{least}:{most}:{has_zeros}:{torn}:{zeros}:{others}",
            self.step_bytes
        );
        for length in lengths.known().filter(|_| least < most) {
            text.push_str(&format!(":{length}"));
        }
        text
    }

    /// What a word says; none if it says that there were none, and any if it is not understood.
    pub(super) fn parse(word: &str) -> Option<Self> {
        if word == "-" {
            return None;
        }
        let numbers = word.split(':').map(|number| number.parse::<u64>().ok());
        let numbers = numbers.collect::<Option<Vec<u64>>>().unwrap_or_default();
        let &[step_bytes @ 1..=u64::MAX, step, least, most, has_zeros, torn, ref more @ ..] =
            numbers.as_slice()
        else {
            return Some(Self::ANY);
        };
        // Earlier versions did not tell more.
        let (zeros, others, known) = match *more {
            [] => (1, 1, &[][..]),
            [zeros, others, ref known @ ..] => (zeros, others, known),
            [_] => return Some(Self::ANY),
        };
        let lengths = match known {
            [] => Lengths::between(least, most),
            known => Lengths::of(known.iter().copied()),
        };
        if (lengths.least, lengths.most) != (least, most) {
            return Some(Self::ANY);
        }
        let counted = Counted { step, lengths };
        let torn = match torn {
            0 => Torn::Nowhere,
            1 => Torn::AtSectors,
            _ => Torn::Anywhere,
        };
        let counted = Some(counted).filter(|_| step > 0);
        let zeros = Some(zeros).filter(|_| has_zeros > 0);
        let others = Some(others).filter(|others| *others > 0);
        Some(Self { step_bytes, counted, zeros, others, torn })
    }

    /// Whether it tells enough of where I/Os began.
    pub(super) const fn tell(&self) -> bool {
        self.step_bytes >= TELLING_BYTES
    }

    /// Whether an I/O may end at a place, or a few bytes before it, as its process was killed.
    pub(super) const fn is_torn_at(&self, place: u64) -> bool {
        match self.torn {
            Torn::Nowhere => false,
            Torn::AtSectors => place % SECTOR_BYTES <= CHANCE_BYTES,
            Torn::Anywhere => true,
        }
    }

    /// Whether an I/O may end so within a piece: another one may go on behind it as it would have.
    pub(super) const fn is_torn_within(&self, start: u64, end: u64) -> bool {
        match self.torn {
            Torn::Nowhere => false,
            Torn::AtSectors => start / SECTOR_BYTES < end / SECTOR_BYTES,
            Torn::Anywhere => true,
        }
    }

    /// Whether zeros of theirs may stand over what they wrote before.
    pub(super) const fn may_blank(&self) -> bool {
        self.zeros.is_some() && self.tell()
    }
}

impl Counted {
    fn and(self, other: Self) -> Self {
        Self {
            step: greatest_common_divisor(self.step, other.step),
            lengths: self.lengths.and(other.lengths),
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
        let reaching = begins.take_while(|begin| place - begin < self.lengths.most);
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
        let most = counted.lengths.most;
        let is_short = most >= COUNT_BYTES || self.first + self.length <= most + CHANCE_BYTES;
        is_at(self.start, 0, writes)
            && counted.has(self.start, self.first)
            && is_short
            && (self.is_cut || is_at(self.start + self.length, CHANCE_BYTES, writes))
    }

    /// Whether they may be the start of an I/O.
    pub(super) const fn begins(&self) -> bool {
        self.first == 0
    }

    /// Whether they may be the end of an I/O, or of one that was cut short as the process was killed.
    pub(super) fn ends(&self, writes: Writes) -> bool {
        let Some(Counted { step, lengths }) = writes.counted else { return false };
        let end = self.start + self.length;
        // The last ones may be by chance the first ones of what stands behind.
        let ends = (0..=CHANCE_BYTES).filter(|more| (end - more).is_multiple_of(writes.step_bytes));
        let behind = |more: u64| self.first.wrapping_add(self.length - more) % COUNT_BYTES;
        let is_end = |more| lengths.leave(behind(more), COUNT_BYTES, step);
        self.is_cut || writes.is_torn_at(end) || ends.into_iter().any(is_end)
    }

    /// Whether a whole I/O may be among them, or one that was cut short as the process was killed.
    pub(super) fn have_whole(&self, writes: Writes) -> bool {
        let least = writes.counted.map_or(u64::MAX, |counted| counted.lengths.least);
        let is_torn = writes.is_torn_within(self.start, self.start + self.length);
        self.is_cut || is_torn || self.length >= least
    }

    /// Whether they may be one or several whole I/Os.
    pub(super) fn is_whole(&self, writes: Writes) -> bool {
        self.begins() && self.ends(writes) && self.have_whole(writes)
    }
}

/// Whether I/Os may begin or end at a place, or so many bytes before it.
fn is_at(place: u64, slack: u64, writes: Writes) -> bool {
    place % writes.step_bytes <= slack
        || match writes.torn {
            Torn::Nowhere => false,
            Torn::AtSectors => place % SECTOR_BYTES <= slack,
            Torn::Anywhere => true,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTED: Counted = Counted { step: 16, lengths: Lengths::between(48, 528) };

    #[test]
    fn writes_read_as_they_were_written() {
        let known = Counted { lengths: Lengths::of([48, 64, 528]), ..COUNTED };
        for counted in [None, Some(COUNTED), Some(known)] {
            for torn in [Torn::Nowhere, Torn::AtSectors, Torn::Anywhere] {
                for (zeros, others) in [(None, Some(24)), (Some(48), None)] {
                    let writes = Writes { step_bytes: 8, counted, zeros, others, torn };
                    assert_eq!(Writes::parse(&writes.to_text()), Some(writes));
                }
            }
        }
        assert_eq!(Writes::parse("-"), None);
        for other in
            ["", "16", "0:1:1:1:0:0", "16:1:1:1:0:x", "16:1:1:1:0:0:0", "16:1:1:9:0:0:1:1:7"]
        {
            assert_eq!(Writes::parse(other), Some(Writes::ANY), "{other}");
        }
    }

    #[test]
    fn only_a_killed_run_leaves_an_io_that_ends_where_a_sector_does() {
        let step_bytes = 1000;
        let counted = Some(Counted { step: 1000, lengths: Lengths::of([1000]) });
        let whole = Writes { step_bytes, counted, zeros: None, others: None, torn: Torn::Nowhere };
        let count = |start, length| Count { start, length, first: 0, is_cut: false };
        assert!(count(3000, 1000).can_be_of(whole));
        assert!(!count(3000, 72).can_be_of(whole));
        assert!(count(3000, 72).can_be_of(Writes { torn: Torn::AtSectors, ..whole }));
        assert!(!count(3000, 71).can_be_of(Writes { torn: Torn::AtSectors, ..whole }));
        assert!(count(3000, 71).can_be_of(Writes { torn: Torn::Anywhere, ..whole }));
    }
}
