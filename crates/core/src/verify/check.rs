//! What a block that was read says about the writes that went to it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::origin::Origin;
use super::stamp::{SECTOR_BYTES, Stamp, Unstamped};
use super::window::Legal;

/// Ways in which a block can be wrong.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// Data have changed, or are no data of a verified run where such were written; or nothing is there any
    /// more.
    Corrupt,
    /// The data belong to another place.
    Misdirected,
    /// An earlier write stands where a later one has completed.
    Stale,
    /// The block is made of pieces of several writes.
    Torn,
    /// The data are whole and in their place, but newer than any write that is known of.
    Newer,
}

impl FaultKind {
    /// All of them, in the order in which results list them.
    pub const ALL: [Self; 5] =
        [Self::Corrupt, Self::Misdirected, Self::Stale, Self::Torn, Self::Newer];

    /// The name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Corrupt => "corrupt",
            Self::Misdirected => "misdirected",
            Self::Stale => "stale",
            Self::Torn => "torn",
            Self::Newer => "newer",
        }
    }
}

/// Whose stamps are expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// Identity of the target.
    pub target: u64,
    /// Seed of the run.
    pub seed: u64,
    /// What was there before the run, if that is known.
    pub origin: Option<Origin>,
}

/// A block that was read.
#[derive(Debug, Clone, Copy)]
pub struct ReadBlock<'a> {
    /// Its bytes: whole sectors.
    pub bytes: &'a [u8],
    /// Where it was read.
    pub offset_bytes: u64,
    /// The generations that were right at some time while it was read.
    pub legal: Legal,
}

/// What was found in a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// A stamp that fits its sector.
    Stamp(Stamp),
    /// No stamp, or one that does not fit.
    Unstamped(Unstamped),
    /// The data that the file was made with.
    Original,
    /// Nothing: the target ends there, at this size.
    BehindEnd(u64),
}

/// What is wrong with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// In which way.
    pub kind: FaultKind,
    /// Offset of the first sector that shows it, from the start of the target.
    pub sector_bytes: u64,
    /// What stands there.
    pub found: Found,
}

/// What a block is found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// All of it is what was written.
    Verified,
    /// Nobody knows what should stand there: no verified run has written it.
    Unverifiable,
    /// Something is wrong.
    Faulty(Fault),
}

/// What one sector says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sector {
    /// A write of this run that may stand here.
    Current,
    /// In its place, from an earlier run or from the making of the file, before this run's first write.
    Earlier,
    /// Nothing that can be checked: before this run's first write, or in pieces while one is in flight.
    Unknown,
    /// Something that should have been overwritten: by which run and write it is.
    /// 0 is the making of the file.
    Old { seed: u64, generation: u64 },
    /// Wrong in this way.
    Wrong(FaultKind),
}

/// Judges a block.
#[inline]
#[must_use]
pub fn check(block: &ReadBlock<'_>, owner: Owner) -> Verdict {
    let mut offset_bytes = block.offset_bytes;
    for sector in block.bytes.chunks_exact(SECTOR_BYTES) {
        if judge(sector, offset_bytes, owner, block.legal) != Sector::Current {
            return examine(block, owner);
        }
        offset_bytes += SECTOR_BYTES as u64;
    }
    Verdict::Verified
}

#[inline]
fn judge(sector: &[u8], offset_bytes: u64, owner: Owner, legal: Legal) -> Sector {
    let unwritten = legal.oldest == 0;
    let stamp = match Stamp::read(sector) {
        Ok(stamp) => stamp,
        Err(why) => {
            let origin = owner.origin;
            let original = origin.is_some_and(|origin| origin.holds(offset_bytes, sector));
            return judge_unstamped(why, original, owner, legal);
        }
    };
    let (ours, here) = (stamp.seed == owner.seed, stamp.target == owner.target);
    match (ours, here && stamp.offset_bytes == offset_bytes) {
        (true, true) if legal.holds(stamp.generation) => Sector::Current,
        (true, true) if stamp.generation > legal.newest => Sector::Wrong(FaultKind::Newer),
        (true, false) => Sector::Wrong(FaultKind::Misdirected),
        // Another target's stamps of another run are a copy of it, or a device with a new name.
        (false, false) if here => Sector::Wrong(FaultKind::Misdirected),
        (false, false) if unwritten => Sector::Unknown,
        (false, true) if unwritten => Sector::Earlier,
        _ => Sector::Old { seed: stamp.seed, generation: stamp.generation },
    }
}

/// Judges a sector without a stamp that fits it; `original` if it is what the file was made with.
fn judge_unstamped(why: Unstamped, original: bool, owner: Owner, legal: Legal) -> Sector {
    let unwritten = legal.oldest == 0;
    // Where the run itself has made the file, every sector is known.
    let known = owner.origin.is_some_and(|origin| origin.is_whole);
    match (original, unwritten) {
        (true, true) => Sector::Earlier,
        (true, false) => Sector::Old { seed: owner.seed, generation: 0 },
        (false, _) if !legal.is_settled => Sector::Unknown,
        (false, true) if why == Unstamped::Missing && !known => Sector::Unknown,
        (false, _) => Sector::Wrong(FaultKind::Corrupt),
    }
}

/// The verdict on a block of which not every sector is what this run wrote.
#[cold]
fn examine(block: &ReadBlock<'_>, owner: Owner) -> Verdict {
    let bytes = block.bytes.chunks_exact(SECTOR_BYTES);
    let places = (block.offset_bytes..).step_by(SECTOR_BYTES);
    let mut seen = Seen::default();
    for (bytes, offset_bytes) in bytes.zip(places) {
        seen.add(judge(bytes, offset_bytes, owner, block.legal), offset_bytes);
    }
    let Some((sector_bytes, kind)) = seen.fault() else {
        return if seen.has_unknown { Verdict::Unverifiable } else { Verdict::Verified };
    };
    let start = usize::try_from(sector_bytes - block.offset_bytes).unwrap_or(usize::MAX);
    let found = match Stamp::read(&block.bytes[start..start + SECTOR_BYTES]) {
        Ok(stamp) => Found::Stamp(stamp),
        Err(_) if matches!(kind, FaultKind::Stale | FaultKind::Torn) => Found::Original,
        Err(why) => Found::Unstamped(why),
    };
    Verdict::Faulty(Fault { kind, sector_bytes, found })
}

/// What the sectors of a block say together.
#[derive(Default)]
struct Seen {
    /// The first sector that is wrong by itself in the worst way.
    worst: Option<(FaultKind, u64)>,
    /// The first sector that should have been overwritten.
    old: Option<(Sector, u64)>,
    /// Not all of the block is that old write.
    is_mixed: bool,
    has_unknown: bool,
    first: Option<Sector>,
}

impl Seen {
    fn add(&mut self, sector: Sector, offset_bytes: u64) {
        self.is_mixed |= *self.first.get_or_insert(sector) != sector;
        match sector {
            Sector::Wrong(kind) if self.worst.is_none_or(|(worst, _)| kind < worst) => {
                self.worst = Some((kind, offset_bytes));
            }
            Sector::Old { .. } => {
                self.old.get_or_insert((sector, offset_bytes));
            }
            Sector::Unknown => self.has_unknown = true,
            Sector::Wrong(_) | Sector::Current | Sector::Earlier => {}
        }
    }

    /// The first sector that shows the fault, and its kind. If all of the block is one old write it is stale;
    /// otherwise a write has reached a part of it only.
    fn fault(&self) -> Option<(u64, FaultKind)> {
        let outdated = if self.is_mixed { FaultKind::Torn } else { FaultKind::Stale };
        let worst = self.worst.map(|(kind, offset_bytes)| (offset_bytes, kind));
        worst.or(self.old.map(|(_, offset_bytes)| (offset_bytes, outdated)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Reduction;
    use crate::prepare::Content;

    const BLOCK: usize = 4096;
    const OWNER: Owner = Owner { target: 7, seed: 99, origin: None };
    const AT: u64 = 5 * BLOCK as u64;

    fn stamped(owner: Owner, offset_bytes: u64, generation: u64) -> Vec<u8> {
        let mut bytes = vec![0x5A; BLOCK];
        for (sector, offset_bytes) in
            bytes.chunks_exact_mut(SECTOR_BYTES).zip((offset_bytes..).step_by(SECTOR_BYTES))
        {
            let (target, seed) = (owner.target, owner.seed);
            let block_bytes = u32::try_from(BLOCK).unwrap();
            Stamp { target, offset_bytes, generation, seed, block_bytes }.write(sector);
        }
        bytes
    }

    fn verdict(bytes: &[u8], oldest: u64, newest: u64) -> Verdict {
        let legal = Legal { oldest, newest, is_settled: oldest == newest };
        check(&ReadBlock { bytes, offset_bytes: AT, legal }, OWNER)
    }

    fn kind(bytes: &[u8], oldest: u64, newest: u64) -> Option<(FaultKind, u64)> {
        match verdict(bytes, oldest, newest) {
            Verdict::Faulty(fault) => Some((fault.kind, fault.sector_bytes - AT)),
            _ => None,
        }
    }

    #[test]
    fn what_may_stand_there_is_verified() {
        let block = stamped(OWNER, AT, 3);
        assert_eq!(verdict(&block, 3, 3), Verdict::Verified);
        assert_eq!(verdict(&block, 2, 5), Verdict::Verified);
        // Two writes were in flight together: each sector may be of either.
        let mut mixed = stamped(OWNER, AT, 4);
        mixed[..1024].copy_from_slice(&block[..1024]);
        assert_eq!(verdict(&mixed, 3, 4), Verdict::Verified);
    }

    #[test]
    fn each_kind_of_fault_is_told_with_its_first_sector() {
        let block = stamped(OWNER, AT, 3);
        assert_eq!(kind(&block, 4, 4), Some((FaultKind::Stale, 0)));
        assert_eq!(kind(&block, 1, 2), Some((FaultKind::Newer, 0)));
        let mut flipped = block.clone();
        flipped[2 * 512 + 300] ^= 4;
        assert_eq!(kind(&flipped, 3, 3), Some((FaultKind::Corrupt, 1024)));
        let elsewhere = stamped(OWNER, AT + 4096, 3);
        assert_eq!(kind(&elsewhere, 3, 3), Some((FaultKind::Misdirected, 0)));
        let other = Owner { target: 8, ..OWNER };
        assert_eq!(kind(&stamped(other, AT, 3), 3, 3), Some((FaultKind::Misdirected, 0)));
        let mut torn = stamped(OWNER, AT, 4);
        torn[3584..].copy_from_slice(&block[3584..]);
        assert_eq!(kind(&torn, 4, 4), Some((FaultKind::Torn, 3584)));
        assert_eq!(kind(&torn, 5, 5), Some((FaultKind::Torn, 0)));
        assert_eq!(kind(&[0; BLOCK], 1, 1), Some((FaultKind::Corrupt, 0)));
    }

    #[test]
    fn a_write_that_never_arrived_leaves_the_data_of_an_earlier_run_which_are_stale() {
        let earlier = Owner { seed: 1, ..OWNER };
        assert_eq!(kind(&stamped(earlier, AT, 9), 1, 1), Some((FaultKind::Stale, 0)));
        let copied = Owner { seed: 1, target: 1, ..OWNER };
        assert_eq!(kind(&stamped(copied, AT, 9), 1, 1), Some((FaultKind::Stale, 0)));
    }

    #[test]
    fn blocks_that_this_run_has_not_written_are_checked_as_far_as_they_tell() {
        assert_eq!(verdict(&[0; BLOCK], 0, 0), Verdict::Unverifiable);
        let earlier = Owner { seed: 1, ..OWNER };
        let block = stamped(earlier, AT, 9);
        assert_eq!(verdict(&block, 0, 0), Verdict::Verified);
        let mut flipped = block.clone();
        flipped[4000] ^= 1;
        assert_eq!(kind(&flipped, 0, 0), Some((FaultKind::Corrupt, 3584)));
        assert_eq!(kind(&stamped(earlier, AT - 512, 9), 0, 0), Some((FaultKind::Misdirected, 0)));
        assert_eq!(kind(&stamped(OWNER, AT + 512, 1), 0, 0), Some((FaultKind::Misdirected, 0)));
        assert_eq!(kind(&stamped(OWNER, AT, 1), 0, 0), Some((FaultKind::Newer, 0)));
        let copied = Owner { seed: 1, target: 1, ..OWNER };
        assert_eq!(verdict(&stamped(copied, AT, 9), 0, 0), Verdict::Unverifiable);
    }

    #[test]
    fn the_data_that_a_file_was_made_with_are_known_too() {
        let content = Content { seed: 5, size_bytes: 1 << 20, reduction: Reduction::default() };
        let mut made = vec![0; BLOCK];
        content.fill(AT, &mut made);
        let seen = |bytes: &[u8], (oldest, newest), is_whole: bool| {
            let origin = Origin::from_bare_words([1 + u64::from(is_whole), 5, 1 << 20]);
            let legal = Legal { oldest, newest, is_settled: oldest == newest };
            let block = ReadBlock { bytes, offset_bytes: AT, legal };
            match check(&block, Owner { origin, ..OWNER }) {
                Verdict::Faulty(fault) => Err((fault.kind, fault.sector_bytes - AT, fault.found)),
                verdict => Ok(verdict),
            }
        };
        let mut changed = made.clone();
        changed[1000] ^= 1;
        for is_whole in [false, true] {
            assert_eq!(seen(&made, (0, 0), is_whole), Ok(Verdict::Verified));
            assert_eq!(seen(&made, (0, 1), is_whole), Ok(Verdict::Verified));
            let stale = Err((FaultKind::Stale, 0, Found::Original));
            assert_eq!(seen(&made, (1, 1), is_whole), stale);
            let mut torn = stamped(OWNER, AT, 1);
            torn[1024..2048].copy_from_slice(&made[1024..2048]);
            let torn = seen(&torn, (1, 1), is_whole);
            assert_eq!(torn, Err((FaultKind::Torn, 1024, Found::Original)));
            assert_eq!(seen(&changed, (0, 1), is_whole), Ok(Verdict::Unverifiable));
        }
        // Only where this run has made the file can nothing else have been there.
        assert_eq!(seen(&changed, (0, 0), false), Ok(Verdict::Unverifiable));
        let missing = Found::Unstamped(Unstamped::Missing);
        assert_eq!(seen(&changed, (0, 0), true), Err((FaultKind::Corrupt, 512, missing)));
    }

    #[test]
    fn while_the_first_write_is_in_flight_what_was_there_before_is_right_too() {
        let new = stamped(OWNER, AT, 1);
        assert_eq!(verdict(&new, 0, 1), Verdict::Verified);
        assert_eq!(verdict(&[0; BLOCK], 0, 1), Verdict::Unverifiable);
        let mut half = new.clone();
        half[2048..].fill(0);
        assert_eq!(verdict(&half, 0, 1), Verdict::Unverifiable);
        assert_eq!(verdict(&stamped(OWNER, AT, 2), 0, 1), wrong(FaultKind::Newer, OWNER, 2));
    }

    fn wrong(kind: FaultKind, owner: Owner, generation: u64) -> Verdict {
        let block = stamped(owner, AT, generation);
        let found = Found::Stamp(Stamp::read(&block[..SECTOR_BYTES]).unwrap());
        Verdict::Faulty(Fault { kind, sector_bytes: AT, found })
    }

    #[test]
    fn a_sector_in_pieces_is_a_fault_only_if_no_write_was_in_flight() {
        let mut pieces = stamped(OWNER, AT, 4);
        pieces[700..900].copy_from_slice(&stamped(OWNER, AT + 512, 3)[700..900]);
        pieces[1030] ^= 1;
        assert_eq!(kind(&pieces, 4, 4), Some((FaultKind::Corrupt, 1024)));
        assert_eq!(verdict(&pieces, 3, 4), Verdict::Unverifiable);
        assert_eq!(kind(&pieces, 5, 6), Some((FaultKind::Torn, 0)));
    }
}
