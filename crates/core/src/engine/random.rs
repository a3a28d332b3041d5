//! Random numbers for the hot path: xoshiro256++ without division.
//!
//! Source: D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators", 2021;
//! bounded numbers by D. Lemire, "Fast random integer generation in an interval", 2019.

use crate::noise;

/// A fast generator of good quality; the same seed gives the same numbers on every host.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// A generator whose state is spread from `seed` by `SplitMix64`, as its authors advise.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut counter = seed;
        let state = std::array::from_fn(|_| {
            counter = counter.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (counter ^ (counter >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        });
        Self { state }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let [s0, s1, s2, s3] = self.state;
        let result = s0.wrapping_add(s3).rotate_left(23).wrapping_add(s0);
        let s2 = s2 ^ s0;
        let s3 = s3 ^ s1;
        self.state = [s0 ^ s3, s1 ^ s2, s2 ^ (s1 << 17), s3.rotate_left(45)];
        result
    }

    /// A number from 0 to `bound` - 1, each as likely as the others; 0 if `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        let mut product = u128::from(self.bits()) * u128::from(bound);
        if low(product) < bound {
            product = self.reject(product, bound);
        }
        high(product)
    }

    /// An index from 0 to `length` - 1 and a fraction of 2^64 that is independent of it, both from one draw.
    /// The index is off by less than `length` / 2^64, which no run can show.
    #[inline]
    pub fn index_and_fraction(&mut self, length: usize) -> (usize, u64) {
        let product = u128::from(self.bits()) * length as u128;
        #[expect(clippy::cast_possible_truncation, reason = "the index is below `length`")]
        let index = high(product) as usize;
        (index, low(product))
    }

    /// The rare second half of [`Random::below`]: draws again while the draw is biased.
    #[cold]
    fn reject(&mut self, mut product: u128, bound: u64) -> u128 {
        let threshold = bound.wrapping_neg().checked_rem(bound).unwrap_or(0);
        while low(product) < threshold {
            product = u128::from(self.bits()) * u128::from(bound);
        }
        product
    }

    /// True in `percent` of 100 cases.
    #[inline]
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < u64::from(percent)
    }

    /// Fills the bytes with random ones that show whose they are, for the price of one draw.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        noise::fill(self.bits(), bytes);
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low half is what is requested")]
fn low(product: u128) -> u64 {
    product as u64
}

#[inline]
fn high(product: u128) -> u64 {
    (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs for the state 1, 2, 3, 4, computed by the authors' own C program.
    #[test]
    fn the_sequence_is_that_of_the_reference_implementation() {
        let mut random = Random { state: [1, 2, 3, 4] };
        let first: Vec<u64> = (0..4).map(|_| random.bits()).collect();
        let expected = [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386];
        assert_eq!(first, expected);
    }

    #[test]
    fn numbers_below_a_bound_are_uniform() {
        let mut random = Random::new(7);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[usize::try_from(random.below(10)).unwrap()] += 1;
        }
        let chi_square: f64 =
            counts.iter().map(|&count| (f64::from(count) - 10_000.0).powi(2) / 10_000.0).sum();
        // The critical value for 9 degrees of freedom at a chance of one in a million.
        assert!(chi_square < 45.08, "{chi_square}");
    }

    #[test]
    fn huge_bounds_are_not_biased_to_the_low_half() {
        let mut random = Random::new(3);
        let bound = (1_u64 << 63) + (1 << 62);
        let low = (0..30_000).filter(|_| random.below(bound) < bound / 2).count();
        assert!((14_500..15_500).contains(&low), "{low}");
    }

    #[test]
    fn the_edges_hold() {
        let mut random = Random::new(0);
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
        assert!(!random.percent(0) && random.percent(100));
        let mut bytes = [0_u8; 13];
        random.fill(&mut bytes);
        assert!(bytes.iter().any(|&byte| byte != 0));
    }
}
