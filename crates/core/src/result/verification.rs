//! What verification found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verify::check::{FaultKind, Found};
use crate::verify::stamp::Unstamped;
use crate::verify::tally::{FAULTS_LISTED, ListedFault, Tally};
use crate::verify::window::Legal;

/// What the reads of a verified run found, or those of a later pass over its targets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// The file that says which writes may stand where; absent if there is none.
    pub journal: Option<String>,
    /// The journal is of a version whose words do not check themselves, so that damage to it would show as
    /// faults of the target.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub journal_lacks_checks: bool,
    /// The targets.
    pub targets: Vec<VerifiedTarget>,
    /// The first faults of each target, at most 20 in all and each block once.
    pub first_faults: Vec<VerificationFault>,
}

/// Counts of one target. Each read of a block counts, in warm-up and cool-down too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerifiedTarget {
    /// Name as it was given.
    pub path: String,
    /// Bytes of a block; every I/O consists of whole blocks.
    pub block_bytes: u32,
    /// Blocks that are what was written.
    pub verified_blocks: u64,
    /// Blocks that no verified run has written, so that nobody knows what should stand there.
    pub unverifiable_blocks: u64,
    /// Blocks whose data have changed, or that hold no data of a verified run where such were written; those
    /// that the target does not reach any more are among them.
    pub corrupt_blocks: u64,
    /// Blocks whose data belong to another place.
    pub misdirected_blocks: u64,
    /// Blocks in which an earlier write stands where a later one has completed.
    pub stale_blocks: u64,
    /// Blocks that are made of pieces of several writes.
    pub torn_blocks: u64,
    /// Blocks whose data are whole and in place, but newer than the journal.
    pub newer_blocks: u64,
    /// Blocks that had writes in flight when the journal ended, or writes that failed, so that the data before
    /// and after these count as right; 0 during a run.
    pub in_flight_blocks: u64,
    /// Words of the journal that are damaged. Their blocks are among the unverifiable ones, and blame nobody.
    #[serde(default)]
    pub journal_damaged_words: u64,
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerificationFault {
    /// In which way the block is wrong.
    pub kind: FaultKind,
    /// Name of the target.
    pub path: String,
    /// The block, from the start of the target.
    pub offset_bytes: u64,
    /// The first sector of 512 bytes that shows the fault, from the start of the target.
    pub sector_offset_bytes: u64,
    /// What should stand there, in words.
    pub expected: String,
    /// What stands there, in words.
    pub found: String,
}

impl Verification {
    /// Blocks that are wrong in any way, over all targets.
    #[must_use]
    pub fn faulty_blocks(&self) -> u64 {
        self.targets.iter().map(VerifiedTarget::faulty_blocks).sum()
    }

    /// Words of the journal that are damaged, over all targets.
    #[must_use]
    pub fn damaged_words(&self) -> u64 {
        self.targets.iter().map(|target| target.journal_damaged_words).sum()
    }

    /// Adds what was found on one target.
    pub fn add(&mut self, path: &str, block_bytes: u32, in_flight_blocks: u64, tally: &Tally) {
        self.targets.push(VerifiedTarget {
            path: path.to_owned(),
            block_bytes,
            verified_blocks: tally.verified,
            unverifiable_blocks: tally.unverifiable,
            corrupt_blocks: tally.faulty(FaultKind::Corrupt),
            misdirected_blocks: tally.faulty(FaultKind::Misdirected),
            stale_blocks: tally.faulty(FaultKind::Stale),
            torn_blocks: tally.faulty(FaultKind::Torn),
            newer_blocks: tally.faulty(FaultKind::Newer),
            in_flight_blocks,
            journal_damaged_words: tally.journal_damaged,
        });
        let room = FAULTS_LISTED - self.first_faults.len().min(FAULTS_LISTED);
        let faults = tally.listed.iter().take(room);
        self.first_faults.extend(faults.map(|fault| told(path, fault)));
    }
}

impl VerifiedTarget {
    /// Blocks that are wrong in any way.
    #[must_use]
    pub fn faulty_blocks(&self) -> u64 {
        self.faults().map(|(_, count)| count).iter().sum()
    }

    /// The counts of faults with their kinds, in the order in which results list them.
    #[must_use]
    pub fn faults(&self) -> [(FaultKind, u64); 5] {
        [
            (FaultKind::Corrupt, self.corrupt_blocks),
            (FaultKind::Misdirected, self.misdirected_blocks),
            (FaultKind::Stale, self.stale_blocks),
            (FaultKind::Torn, self.torn_blocks),
            (FaultKind::Newer, self.newer_blocks),
        ]
    }
}

fn told(path: &str, listed: &ListedFault) -> VerificationFault {
    VerificationFault {
        kind: listed.fault.kind,
        path: path.to_owned(),
        offset_bytes: listed.offset_bytes,
        sector_offset_bytes: listed.fault.sector_bytes,
        expected: expected(listed.legal),
        found: found(listed.fault.found),
    }
}

fn expected(legal: Legal) -> String {
    match (legal.oldest, legal.newest) {
        (0, 0) => "what was there before this run".to_owned(),
        (0, newest) => {
            format!("what was there before this run, or its write {newest} or an earlier one")
        }
        (oldest, newest) if oldest == newest => format!("write {newest} of the block"),
        (oldest, newest) => format!("write {oldest} to {newest} of the block"),
    }
}

fn found(found: Found) -> String {
    match found {
        Found::Stamp(stamp) => format!(
            "write {} of the sector at offset {} of target {:016x}, in blocks of {} bytes, by the run with \
             seed {:016x}",
            stamp.generation, stamp.offset_bytes, stamp.target, stamp.block_bytes, stamp.seed
        ),
        Found::Original => "the data that the file was made with".to_owned(),
        Found::BehindEnd(size_bytes) => {
            format!("nothing: the target ends before, it has {size_bytes} bytes")
        }
        Found::Unstamped(Unstamped::Missing) => "data without a stamp".to_owned(),
        Found::Unstamped(Unstamped::BadChecksum { stored, computed }) => {
            format!("a stamp with checksum {stored:08x} on data with checksum {computed:08x}")
        }
    }
}
