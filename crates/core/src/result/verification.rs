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
    /// Blocks that had writes in flight when the journal ended, or writes that failed, so that the data
    /// before and after these count as right; 0 during a run.
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
        self.list(tally.listed.iter().map(|fault| told(path, fault)).collect());
    }

    /// Adds what was found on the targets of another part of the run.
    pub fn merge(&mut self, other: Self) {
        self.targets.extend(other.targets);
        for of_target in other.first_faults.chunk_by(|one, two| one.path == two.path) {
            self.list(of_target.to_vec());
        }
    }

    /// Lists the faults of one more target. Where all are too many, the targets with most have fewer.
    fn list(&mut self, faults: Vec<VerificationFault>) {
        let known = std::mem::take(&mut self.first_faults);
        let known = known.chunk_by(|one, two| one.path == two.path).map(<[_]>::to_vec);
        let mut of_targets: Vec<Vec<VerificationFault>> = known.chain([faults]).collect();
        while of_targets.iter().map(Vec::len).sum::<usize>() > FAULTS_LISTED {
            if let Some(most) = of_targets.iter_mut().max_by_key(|faults| faults.len()) {
                most.pop();
            }
        }
        self.first_faults = of_targets.concat();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::check::{Fault, ReadBlock, Verdict};

    fn tally(faults: u64) -> Tally {
        let mut tally = Tally::default();
        for offset_bytes in (0..faults).map(|block| block * 4096) {
            let legal = Legal { oldest: 1, newest: 1, is_settled: true };
            let block = ReadBlock { bytes: &[], offset_bytes, legal };
            let found = Found::Unstamped(Unstamped::Missing);
            let fault = Fault { kind: FaultKind::Corrupt, sector_bytes: offset_bytes, found };
            tally.add(Verdict::Faulty(fault), &block, offset_bytes);
        }
        tally
    }

    fn found(targets: &[(&str, u64)]) -> Verification {
        let mut verification = Verification::default();
        for (path, faults) in targets {
            verification.add(path, 4096, 0, &tally(*faults));
        }
        verification
    }

    fn listed(verification: &Verification, path: &str) -> Vec<u64> {
        let faults = verification.first_faults.iter().filter(|fault| fault.path == path);
        faults.map(|fault| fault.offset_bytes / 4096).collect()
    }

    #[test]
    fn of_several_faulty_targets_the_faults_of_the_first_alone_were_listed() {
        let both = found(&[("a", 30), ("b", 30)]);
        assert_eq!(listed(&both, "a"), (0..10).collect::<Vec<u64>>());
        assert_eq!(listed(&both, "b"), (0..10).collect::<Vec<u64>>());
        let few = found(&[("a", 30), ("b", 2)]);
        assert_eq!((listed(&few, "a").len(), listed(&few, "b").len()), (18, 2));
        assert_eq!(listed(&found(&[("a", 30), ("b", 0)]), "a").len(), 20);
    }

    #[test]
    fn a_merged_result_listed_more_faults_than_any() {
        let mut merged = found(&[("a", 30), ("b", 3)]);
        merged.merge(found(&[("c", 30), ("d", 1)]));
        let counts = ["a", "b", "c", "d"].map(|path| listed(&merged, path).len());
        assert_eq!(counts, [8, 3, 8, 1]);
        assert_eq!(merged.targets.len(), 4);
    }
}
