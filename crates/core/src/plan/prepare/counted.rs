//! The counting pattern of I/Os: which bytes that count upwards can be what is left of one of ours.

/// The pattern begins anew after so many bytes.
const COUNT_BYTES: u64 = 256;
const SECTOR_BYTES: u64 = 512;
/// So many bytes at the start or end of a piece may be by chance what another one goes on with.
const CHANCE_BYTES: u64 = 3;
/// I/Os at multiples of fewer bytes tell too little about what of a counting pattern is theirs.
pub(super) const TELLING_BYTES: u64 = 8;

/// Where the I/Os of runs began, and how long they were: what of a counting pattern may be theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Writes {
    /// Each began and ended at a multiple of this.
    pub(super) step_bytes: u64,
    /// None was shorter.
    pub(super) least_bytes: u64,
    /// Zeros were among what they wrote, or they trimmed.
    pub(super) has_zeros: bool,
    /// Some went through mappings: one that was cut short may end anywhere.
    pub(super) is_mapped: bool,
}

impl Writes {
    /// Of runs that are not known.
    pub(super) const ANY: Self =
        Self { step_bytes: 1, least_bytes: 16, has_zeros: false, is_mapped: false };

    /// What is true of these and of others.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            step_bytes: common(self.step_bytes, other.step_bytes),
            least_bytes: self.least_bytes.min(other.least_bytes),
            has_zeros: self.has_zeros || other.has_zeros,
            is_mapped: self.is_mapped || other.is_mapped,
        }
    }

    /// Each piece of a counting pattern of theirs begins with a multiple of this.
    pub(super) fn phase(self) -> u64 {
        common(self.step_bytes, COUNT_BYTES)
    }

    /// Whether zeros of theirs may stand over what they wrote before.
    pub(super) fn may_blank(self) -> bool {
        self.has_zeros && self.phase() >= TELLING_BYTES
    }
}

/// The greatest number of which both are multiples.
pub(super) fn common(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
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
    /// Whether an I/O can have left them: it and those over it begin and end at multiples, or at a sector
    /// where the process was killed.
    pub(super) fn can_be_of(&self, writes: Writes) -> bool {
        let is_at =
            |place: u64, slack| place % writes.step_bytes <= slack || place % SECTOR_BYTES <= slack;
        is_at(self.start, 0)
            && self.first.is_multiple_of(writes.phase())
            && (self.is_cut || writes.is_mapped || is_at(self.start + self.length, CHANCE_BYTES))
    }

    /// Whether they may be a whole I/O, or one that was cut short as the process was killed.
    pub(super) fn is_whole(&self, writes: Writes) -> bool {
        let is_torn = (self.start + self.length) % SECTOR_BYTES <= CHANCE_BYTES;
        self.first == 0
            && (self.is_cut || is_torn || writes.is_mapped || self.length >= writes.least_bytes)
    }
}
