//! Counts of what reads found, kept per thread and merged afterwards.

use super::check::{Fault, FaultKind, ReadBlock, Verdict};
use super::window::Legal;

/// So many faults are reported one by one; the others are counted.
pub const FAULTS_LISTED: usize = 20;

/// A fault that is reported one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedFault {
    /// When it was found, on any clock that all threads share.
    pub at_ns: u64,
    /// The block, from the start of the target.
    pub offset_bytes: u64,
    /// The generations that would have been right.
    pub legal: Legal,
    /// What is wrong.
    pub fault: Fault,
}

/// What reads found. A block that is read twice counts twice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Blocks that are what was written.
    pub verified: u64,
    /// Blocks of which nobody knows what should stand there.
    pub unverifiable: u64,
    /// Blocks of these whose word in the journal is damaged.
    pub journal_damaged: u64,
    /// Blocks that are wrong, in the order of [`FaultKind::ALL`].
    faulty: [u64; FaultKind::ALL.len()],
    /// The first faults, each block once.
    pub listed: Vec<ListedFault>,
}

impl Tally {
    /// Enters the verdict on one block.
    #[inline]
    pub fn add(&mut self, verdict: Verdict, block: &ReadBlock<'_>, at_ns: u64) {
        match verdict {
            Verdict::Verified => self.verified += 1,
            Verdict::Unverifiable => self.unverifiable += 1,
            Verdict::Faulty(fault) => {
                let (offset_bytes, legal) = (block.offset_bytes, block.legal);
                self.add_fault(ListedFault { at_ns, offset_bytes, legal, fault });
            }
        }
    }

    /// Enters a block about which the journal is damaged: nobody knows what should stand there.
    #[cold]
    pub fn add_damaged(&mut self) {
        self.unverifiable += 1;
        self.journal_damaged += 1;
    }

    #[cold]
    fn add_fault(&mut self, fault: ListedFault) {
        self.faulty[fault.fault.kind as usize] += 1;
        self.list(fault);
    }

    fn list(&mut self, fault: ListedFault) {
        let known = self.listed.iter().any(|one| one.offset_bytes == fault.offset_bytes);
        if self.listed.len() < FAULTS_LISTED && !known {
            self.listed.push(fault);
        }
    }

    /// Blocks that are wrong in this way.
    #[must_use]
    pub fn faulty(&self, kind: FaultKind) -> u64 {
        self.faulty[kind as usize]
    }

    /// Blocks that are wrong in any way.
    #[must_use]
    pub fn all_faulty(&self) -> u64 {
        self.faulty.iter().sum()
    }

    /// Adds what another thread found.
    pub fn merge(&mut self, other: &Self) {
        self.verified += other.verified;
        self.unverifiable += other.unverifiable;
        self.journal_damaged += other.journal_damaged;
        for (sum, count) in self.faulty.iter_mut().zip(other.faulty) {
            *sum += count;
        }
        let mut all: Vec<ListedFault> = self.listed.drain(..).chain(other.listed.clone()).collect();
        all.sort_by_key(|fault| fault.at_ns);
        for fault in all {
            self.list(fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::Found;
    use super::super::stamp::Unstamped;
    use super::*;

    fn faulty(tally: &mut Tally, at_ns: u64, offset_bytes: u64) {
        let legal = Legal { oldest: 1, newest: 1, is_settled: true };
        let block = ReadBlock { bytes: &[], offset_bytes, legal };
        let found = Found::Unstamped(Unstamped::Missing);
        let fault = Fault { kind: FaultKind::Stale, sector_bytes: offset_bytes, found };
        tally.add(Verdict::Faulty(fault), &block, at_ns);
    }

    #[test]
    fn the_first_faults_of_all_threads_are_listed_and_all_are_counted() {
        let (mut one, mut other) = (Tally::default(), Tally::default());
        for at in 0..30 {
            faulty(&mut one, 2 * at, at * 4096);
            faulty(&mut other, 2 * at + 1, (at + 100) * 4096);
        }
        one.merge(&other);
        assert_eq!((one.faulty(FaultKind::Stale), one.all_faulty()), (60, 60));
        assert_eq!(one.faulty(FaultKind::Torn), 0);
        let times: Vec<u64> = one.listed.iter().map(|fault| fault.at_ns).collect();
        assert_eq!(times, (0..20).collect::<Vec<u64>>());
    }

    #[test]
    fn a_block_that_is_read_again_and_again_is_listed_once() {
        let mut tally = Tally::default();
        for at in 0..100 {
            faulty(&mut tally, at, 4096);
        }
        assert_eq!((tally.all_faulty(), tally.listed.len()), (100, 1));
    }
}
