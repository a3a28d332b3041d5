//! A histogram of latencies: HDR layout, three significant digits, mergeable without loss.
//!
//! The layout is that of `HdrHistogram`: values below 2048 ns have a bucket each, and each further
//! power of two is cut into 1024 equal buckets, so that no value is off by more than 1/1024.
//! Memory grows by use, one power of two at a time. The mean, the standard deviation, the least and
//! the greatest value are kept beside the buckets and are exact.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const SUB_BITS: u32 = 10;
const SUB_COUNT: usize = 1 << SUB_BITS;
/// 2^42 ns is 1 h 13 min; greater values go into the last bucket.
const VALUE_BITS: u32 = 42;
const PAGES: usize = (VALUE_BITS - SUB_BITS + 1) as usize;

/// A histogram of latencies in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "StoredHistogram", try_from = "StoredHistogram")]
#[schemars(with = "StoredHistogram")]
pub struct LatencyHistogram {
    /// Pages 0 and 1 hold the linear part; page p >= 1 holds values of p + `SUB_BITS` significant bits.
    pages: [Option<Box<[u64; SUB_COUNT]>>; PAGES],
    count: u64,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
    /// The first value; squares are of the distances from it, so that great latencies that differ little
    /// do not lose their deviation in the rounding of their squares.
    origin_ns: u64,
    squared_distances: f64,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyHistogram {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        Self {
            pages: [const { None }; PAGES],
            count: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
            origin_ns: 0,
            squared_distances: 0.0,
        }
    }

    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.record_all(std::iter::once(value_ns));
    }

    /// Adds values. Their sums are taken in registers, after the buckets: each bucket that is written might
    /// be one of the sums, for all that the compiler knows.
    #[inline]
    pub fn record_all(&mut self, values_ns: impl Iterator<Item = u64> + Clone) {
        for value_ns in values_ns.clone() {
            let (page, sub) = place(value_ns);
            if let Some(counts) = &mut self.pages[page] {
                counts[sub] += 1;
            } else {
                self.count_on_new_page(page, sub, value_ns);
            }
        }
        let Self { mut count, mut min_ns, mut max_ns, mut sum_ns, .. } = *self;
        let mut squared_distances = self.squared_distances;
        for value_ns in values_ns {
            count += 1;
            min_ns = min_ns.min(value_ns);
            max_ns = max_ns.max(value_ns);
            sum_ns += u128::from(value_ns);
            // Signed, as the processor turns only such numbers into floating ones in one step.
            let distance_ns = value_ns.abs_diff(self.origin_ns).min(i64::MAX as u64);
            let distance = distance_ns.cast_signed() as f64;
            squared_distances += distance * distance;
        }
        (self.count, self.min_ns, self.max_ns) = (count, min_ns, max_ns);
        (self.sum_ns, self.squared_distances) = (sum_ns, squared_distances);
    }

    /// Adds one value several times.
    pub fn record_several(&mut self, value_ns: u64, times: u64) {
        let Some(others) = times.checked_sub(1) else { return };
        self.record(value_ns);
        let (page, sub) = place(value_ns);
        self.grow(page)[sub] += others;
        self.count += others;
        self.sum_ns += u128::from(value_ns) * u128::from(others);
        let distance = value_ns.abs_diff(self.origin_ns) as f64;
        self.squared_distances += distance * distance * others as f64;
    }

    /// Adds all of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (page, counts) in other.pages.iter().enumerate() {
            let Some(counts) = counts else { continue };
            let mine = self.grow(page);
            for (mine, theirs) in mine.iter_mut().zip(counts.iter()) {
                *mine += theirs;
            }
        }
        if self.count == 0 {
            self.origin_ns = other.origin_ns;
        }
        self.squared_distances += other.squared_distances_from(self.origin_ns);
        self.count += other.count;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
    }

    /// The values above a bound. Those of a bucket have its middle, but for the ends, which stay exact.
    #[must_use]
    pub fn above(&self, bound_ns: u64) -> Self {
        let mut above = Self::new();
        let mut left = self.count;
        for (lower_ns, upper_ns, count) in self.buckets() {
            let middle_ns = lower_ns + (upper_ns - lower_ns) / 2;
            let value_ns = middle_ns.clamp(self.min_ns, self.max_ns);
            left -= count;
            let is_last = left == 0 && self.max_ns > bound_ns;
            let others = count - u64::from(is_last);
            if value_ns > bound_ns {
                above.record_several(value_ns, others);
            }
            if is_last {
                above.record(self.max_ns);
            }
        }
        above
    }

    /// The sum of all values in nanoseconds, exact.
    #[must_use]
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Values recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The least value in nanoseconds, exact; 0 if empty.
    #[must_use]
    pub fn min_ns(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min_ns }
    }

    /// The greatest value in nanoseconds, exact; 0 if empty.
    #[must_use]
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The arithmetic mean in nanoseconds, exact; 0 if empty.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }

    /// The standard deviation of the population in nanoseconds; 0 if empty.
    #[must_use]
    pub fn stddev_ns(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let count = self.count as f64;
        let apart = self.sum_of_distances() / count;
        (self.squared_distances / count - apart * apart).max(0.0).sqrt()
    }

    /// The sum of the signed distances from the origin, exact up to its conversion.
    fn sum_of_distances(&self) -> f64 {
        let origins = u128::from(self.count) * u128::from(self.origin_ns);
        if self.sum_ns >= origins {
            (self.sum_ns - origins) as f64
        } else {
            -((origins - self.sum_ns) as f64)
        }
    }

    /// The sum of the squared distances from another origin.
    fn squared_distances_from(&self, origin_ns: u64) -> f64 {
        let shift = self.origin_ns.abs_diff(origin_ns) as f64;
        let shift = if self.origin_ns >= origin_ns { shift } else { -shift };
        let crossed = 2.0 * shift * self.sum_of_distances();
        self.squared_distances + crossed + self.count as f64 * shift * shift
    }

    /// The least recorded value, within a bucket, that `quantile` (0 to 1) of the values do not exceed;
    /// 0 if empty. The ends are exact.
    #[must_use]
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        let rank = self.rank(quantile);
        if rank <= 1 {
            return self.min_ns();
        }
        if rank >= self.count {
            return self.max_ns;
        }
        let mut seen = 0;
        for (lower_ns, upper_ns, count) in self.buckets() {
            seen += count;
            if seen >= rank {
                return (lower_ns + (upper_ns - lower_ns) / 2).clamp(self.min_ns, self.max_ns);
            }
        }
        self.max_ns
    }

    /// How many values a quantile covers: ceil(quantile * count), without the error of a product
    /// that lands a hair above a whole number.
    fn rank(&self, quantile: f64) -> u64 {
        let exact = quantile.clamp(0.0, 1.0) * self.count as f64;
        let nearest = exact.round();
        let rank =
            if (exact - nearest).abs() < 1e-9 * exact.max(1.0) { nearest } else { exact.ceil() };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 <= rank <= count"
        )]
        let rank = rank as u64;
        rank.min(self.count)
    }

    /// The buckets that hold something, ascending: least and greatest value in nanoseconds, and how many.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let pages = self.pages.iter().enumerate();
        let filled = pages.filter_map(|(page, counts)| Some((page, counts.as_deref()?)));
        filled.flat_map(|(page, counts)| {
            let filled = counts.iter().enumerate().filter(|(_, count)| **count > 0);
            filled.map(move |(sub, count)| {
                let (lower_ns, upper_ns) = bounds(page, sub);
                (lower_ns, upper_ns, *count)
            })
        })
    }

    /// The first value comes this way, too.
    #[cold]
    fn count_on_new_page(&mut self, page: usize, sub: usize, value_ns: u64) {
        let is_first = self.pages.iter().all(Option::is_none);
        if is_first {
            self.origin_ns = value_ns;
        }
        self.grow(page)[sub] += 1;
    }

    #[cold]
    fn grow(&mut self, page: usize) -> &mut [u64; SUB_COUNT] {
        self.pages[page].get_or_insert_with(|| Box::new([0; SUB_COUNT]))
    }
}

/// Page and bucket of a value.
#[inline]
fn place(value_ns: u64) -> (usize, usize) {
    let value = value_ns.min((1 << VALUE_BITS) - 1);
    // Values below LINEAR share the exponent of LINEAR / 2, so that the linear part needs no branch.
    let exponent = (value | (SUB_COUNT as u64)).ilog2() - SUB_BITS;
    let shifted = (value >> exponent) as usize;
    let page = exponent as usize + (shifted >> SUB_BITS);
    (page, shifted & (SUB_COUNT - 1))
}

/// Least and greatest value of a bucket.
fn bounds(page: usize, sub: usize) -> (u64, u64) {
    if page == 0 {
        return (sub as u64, sub as u64);
    }
    let exponent = page - 1;
    let lower = ((SUB_COUNT + sub) as u64) << exponent;
    (lower, lower + (1 << exponent) - 1)
}

/// The form in files: only buckets that hold something.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LatencyHistogram")]
struct StoredHistogram {
    /// Values recorded.
    count: u64,
    /// Least value in nanoseconds; 0 if empty.
    min_ns: u64,
    /// Greatest value in nanoseconds; 0 if empty.
    max_ns: u64,
    /// Sum of all values in nanoseconds.
    sum_ns: u64,
    /// Sum of the squares of all values in square nanoseconds.
    sum_squares_ns2: f64,
    /// A value near all others, in nanoseconds; absent in results of older versions.
    #[serde(default)]
    origin_ns: Option<u64>,
    /// Sum of the squared distances from it, which keeps deviations that are small beside the values.
    #[serde(default)]
    squared_distances_ns2: Option<f64>,
    /// Least value of each bucket in nanoseconds, ascending.
    bucket_lower_ns: Vec<u64>,
    /// Values in each of these buckets.
    bucket_counts: Vec<u64>,
}

impl From<LatencyHistogram> for StoredHistogram {
    fn from(histogram: LatencyHistogram) -> Self {
        let (bucket_lower_ns, bucket_counts) =
            histogram.buckets().map(|(lower, _, n)| (lower, n)).unzip();
        Self {
            count: histogram.count,
            min_ns: histogram.min_ns(),
            max_ns: histogram.max_ns,
            sum_ns: u64::try_from(histogram.sum_ns).unwrap_or(u64::MAX),
            sum_squares_ns2: histogram.squared_distances_from(0),
            origin_ns: Some(histogram.origin_ns),
            squared_distances_ns2: Some(histogram.squared_distances),
            bucket_lower_ns,
            bucket_counts,
        }
    }
}

impl TryFrom<StoredHistogram> for LatencyHistogram {
    type Error = String;

    fn try_from(stored: StoredHistogram) -> Result<Self, String> {
        let total = stored.bucket_counts.iter().try_fold(0_u64, |sum, n| sum.checked_add(*n));
        if stored.bucket_lower_ns.len() != stored.bucket_counts.len() || total != Some(stored.count)
        {
            return Err("the buckets of a latency histogram do not add up to its count".to_owned());
        }
        if stored.count > 0 && stored.min_ns > stored.max_ns {
            return Err("the least latency of a histogram is above its greatest".to_owned());
        }
        let mut histogram = Self::new();
        for (lower_ns, count) in stored.bucket_lower_ns.iter().zip(&stored.bucket_counts) {
            let (page, sub) = place(*lower_ns);
            histogram.grow(page)[sub] += count;
        }
        histogram.count = stored.count;
        histogram.min_ns = if stored.count == 0 { u64::MAX } else { stored.min_ns };
        histogram.max_ns = stored.max_ns;
        histogram.sum_ns = u128::from(stored.sum_ns);
        (histogram.origin_ns, histogram.squared_distances) =
            match (stored.origin_ns, stored.squared_distances_ns2) {
                (Some(origin_ns), Some(squares)) => (origin_ns, squares),
                _ => (0, stored.sum_squares_ns2),
            };
        Ok(histogram)
    }
}
