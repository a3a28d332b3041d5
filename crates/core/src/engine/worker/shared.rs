//! Slots that the streams of a thread share.

use crate::engine::random::Random;

/// Slots that all streams draw from, each stream by its weight.
pub(super) struct SharedSlots {
    pub(super) free: Vec<u32>,
    cumulative: Vec<u64>,
}

impl SharedSlots {
    pub(super) fn new(slots: usize, weights: &[u32]) -> Self {
        let mut sum = 0;
        let cumulative = weights.iter().map(|&weight| {
            sum += u64::from(weight);
            sum
        });
        let cumulative = cumulative.collect();
        #[expect(clippy::cast_possible_truncation, reason = "slots are counted in u32")]
        let free = (0..slots as u32).rev().collect();
        Self { free, cumulative }
    }

    #[inline]
    pub(super) fn pick(&self, random: &mut Random) -> usize {
        let total = self.cumulative.last().copied().unwrap_or(1).max(1);
        let draw = random.below(total);
        self.cumulative.partition_point(|&bound| bound <= draw)
    }
}
