//! How long the I/Os of runs were.

use crate::divisor::greatest_common_divisor;

/// Of more lengths only the shortest and the longest one are kept.
const KNOWN_MAX: usize = 8;

/// The lengths of I/Os, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lengths {
    /// Of the shortest one, and of the longest one.
    pub(super) least: u64,
    pub(super) most: u64,
    /// All of them in order, with zeros behind; zeros alone if they are not known.
    known: [u64; KNOWN_MAX],
}

impl Lengths {
    /// Those between two, of which no other is known.
    pub(super) const fn between(least: u64, most: u64) -> Self {
        let mut known = [0; KNOWN_MAX];
        if least == most {
            known[0] = least;
        }
        Self { least, most, known }
    }

    /// These and no others.
    pub(super) fn of(lengths: impl IntoIterator<Item = u64>) -> Self {
        let each = lengths.into_iter().map(|length| Self::between(length, length));
        each.reduce(Self::and).unwrap_or(Self::between(1, u64::MAX))
    }

    /// These and others.
    pub(super) fn and(self, other: Self) -> Self {
        let (least, most) = (self.least.min(other.least), self.most.max(other.most));
        let mut all: Vec<u64> = self.known().chain(other.known()).collect();
        all.sort_unstable();
        all.dedup();
        let are_known = self.are_known() && other.are_known() && all.len() <= KNOWN_MAX;
        let mut known = [0; KNOWN_MAX];
        if are_known {
            known[..all.len()].copy_from_slice(&all);
        }
        Self { least, most, known }
    }

    const fn are_known(&self) -> bool {
        self.known[0] > 0
    }

    /// Each of them, if they are known.
    pub(super) fn known(self) -> impl Iterator<Item = u64> {
        self.known.into_iter().take_while(|length| *length > 0)
    }

    /// Whether one of them, a multiple of `step`, leaves this rest when it is divided.
    pub(super) fn leave(&self, rest: u64, divisor: u64, step: u64) -> bool {
        if self.are_known() {
            return self.known().any(|length| length % divisor == rest);
        }
        let first = self.least.div_ceil(step);
        // Behind so many the rests come again.
        let all = (first..).take(usize::try_from(divisor).unwrap_or(usize::MAX));
        let lengths = all.map_while(|number| number.checked_mul(step));
        rest.is_multiple_of(greatest_common_divisor(step, divisor))
            && lengths.take_while(|length| *length <= self.most).any(|one| one % divisor == rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_lengths_are_known_and_of_many_the_shortest_and_the_longest_one() {
        let few = Lengths::of([4096, 48, 4096]);
        assert_eq!((few.least, few.most), (48, 4096));
        assert_eq!(few.known().collect::<Vec<_>>(), [48, 4096]);
        let many = few.and(Lengths::of((1..=7).map(|number| number * 16)));
        assert_eq!((many.least, many.most), (16, 4096));
        assert_eq!(many.known().count(), 8);
        let most = many.and(Lengths::of([8192]));
        assert_eq!((most.least, most.most, most.known().count()), (16, 8192, 0));
        assert_eq!(most.and(few).known().count(), 0);
    }

    #[test]
    fn a_length_leaves_a_rest() {
        let known = Lengths::of([48, 4096]);
        let between = Lengths::between(48, 4096);
        for (rest, of_known, of_others) in
            [(48, true, true), (0, true, true), (128, false, true), (8, false, false)]
        {
            assert_eq!(known.leave(rest, 256, 16), of_known, "{rest}");
            assert_eq!(between.leave(rest, 256, 16), of_others, "{rest}");
        }
        assert!(!Lengths::between(48, 96).leave(112, 256, 16));
    }
}
