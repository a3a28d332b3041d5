//! Settings of a target that `DiskSpd` has no word for. All are off unless they are given.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Target;

/// What a target's load has beyond `DiskSpd`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Extensions {
    /// How the shares of writes and trims are kept; absent: exactly if a direction has a pattern of its
    /// own, and drawn otherwise, as in `DiskSpd`.
    pub ratio: Option<Ratio>,
    /// Where reads go, in an order of their own.
    pub read_pattern: Option<Pattern>,
    /// Where writes and trims go, in an order of their own.
    pub write_pattern: Option<Pattern>,
    /// Sizes of reads and writes with their shares; empty if all have the block size.
    pub block_mix: Vec<BlockShare>,
    /// Sizes of reads; empty if they have none of their own.
    pub read_block_mix: Vec<BlockShare>,
    /// Sizes of writes and trims; empty if they have none of their own.
    pub write_block_mix: Vec<BlockShare>,
    /// Writes are brought to stable storage again and again.
    pub sync: Option<SyncCadence>,
    /// Share of I/Os that give their block back instead of reading or writing it, 0 to 100.
    pub trim_percent: Option<u32>,
    /// Share of the data that a compressor saves, 0 to 100.
    pub compress_percent: Option<u32>,
    /// Share of the writes whose data repeat an earlier write's, 0 to 100.
    pub dedupe_percent: Option<u32>,
}

/// How a share is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ratio {
    /// Each I/O is drawn, so that the share varies as chance does.
    Drawn,
    /// After any number of I/Os of a thread the share is right to one I/O.
    Exact,
}

/// The order of one direction's offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pattern {
    /// The order.
    pub order: PatternOrder,
    /// Bytes per I/O; the target's if absent.
    pub block_bytes: Option<u32>,
    /// Alignment of random offsets, or stride of sequential ones, in bytes.
    pub align_bytes: Option<u64>,
    /// The part of the target that is used; the target's own range if absent.
    pub range: Option<ByteRange>,
}

/// Orders that one direction can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PatternOrder {
    /// Random offsets.
    Random,
    /// Each thread walks on from its own start.
    Sequential,
    /// All threads take the next offset from one walk.
    Interlocked,
}

/// A range of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ByteRange {
    /// First byte, from the start of the target.
    pub base_bytes: u64,
    /// Length in bytes; 0 means up to the end.
    pub length_bytes: u64,
}

/// A size of I/Os and its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockShare {
    /// Bytes per I/O.
    pub block_bytes: u32,
    /// Share of the I/Os, in percent; those of a mix add up to 100.
    pub io_percent: u32,
}

/// How often writes are brought to stable storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyncCadence {
    /// One sync behind this many writes of a thread to the target.
    pub every_writes: u32,
    /// `fdatasync` instead of `fsync`.
    pub data_only: bool,
}

impl Extensions {
    /// Takes over every setting that `given` has.
    pub fn override_with(&mut self, given: &Self) {
        let Self { ratio, read_pattern, write_pattern, sync, .. } = given.clone();
        self.ratio = ratio.or(self.ratio);
        self.read_pattern = read_pattern.or(self.read_pattern);
        self.write_pattern = write_pattern.or(self.write_pattern);
        self.sync = sync.or(self.sync);
        self.trim_percent = given.trim_percent.or(self.trim_percent);
        self.compress_percent = given.compress_percent.or(self.compress_percent);
        self.dedupe_percent = given.dedupe_percent.or(self.dedupe_percent);
        for (mine, given) in [
            (&mut self.block_mix, &given.block_mix),
            (&mut self.read_block_mix, &given.read_block_mix),
            (&mut self.write_block_mix, &given.write_block_mix),
        ] {
            if !given.is_empty() {
                mine.clone_from(given);
            }
        }
    }

    /// Whether operations are mixed in a way that `DiskSpd` has no word for.
    #[must_use]
    pub fn mixes_operations(&self) -> bool {
        let plain = Self {
            compress_percent: self.compress_percent,
            dedupe_percent: self.dedupe_percent,
            ..Self::default()
        };
        *self != plain
    }

    /// Whether reads and writes take their offsets from orders of their own.
    #[must_use]
    pub fn has_patterns(&self) -> bool {
        self.read_pattern.is_some() || self.write_pattern.is_some()
    }
}

impl Target {
    /// Share of I/Os that are trims, 0 to 100.
    #[must_use]
    pub fn trim_percent(&self) -> u32 {
        self.extensions.trim_percent.unwrap_or(0)
    }

    /// Whether a run changes what the target holds.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.write_percent > 0 || self.trim_percent() > 0
    }

    /// Whether any of its I/Os go to random offsets.
    #[must_use]
    pub fn has_random_io(&self) -> bool {
        let patterns = [self.extensions.read_pattern, self.extensions.write_pattern];
        patterns.iter().any(|pattern| match pattern {
            Some(pattern) => pattern.order == PatternOrder::Random,
            None => self.access.random_percent > 0,
        })
    }

    /// The sizes of reads, with their shares.
    #[must_use]
    pub fn read_sizes(&self) -> Vec<BlockShare> {
        self.sizes(&self.extensions.read_block_mix, self.extensions.read_pattern)
    }

    /// The sizes of writes and trims, with their shares.
    #[must_use]
    pub fn write_sizes(&self) -> Vec<BlockShare> {
        self.sizes(&self.extensions.write_block_mix, self.extensions.write_pattern)
    }

    fn sizes(&self, own: &[BlockShare], pattern: Option<Pattern>) -> Vec<BlockShare> {
        if !own.is_empty() {
            return own.to_vec();
        }
        let all = |block_bytes| vec![BlockShare { block_bytes, io_percent: 100 }];
        match pattern.and_then(|pattern| pattern.block_bytes) {
            Some(block_bytes) => all(block_bytes),
            None if self.extensions.block_mix.is_empty() => all(self.block_bytes),
            None => self.extensions.block_mix.clone(),
        }
    }

    /// Share of I/Os of each direction, in hundredths of a percent: reads, and writes with trims.
    #[must_use]
    pub fn direction_shares(&self) -> [u64; 2] {
        let (trims, writes) = (u64::from(self.trim_percent()), u64::from(self.write_percent));
        let reads = (100 - trims.min(100)) * (100 - writes.min(100));
        [reads, 10_000 - reads]
    }

    /// The sizes of those directions that are used.
    fn used_sizes(&self) -> impl Iterator<Item = BlockShare> {
        let [reads, writes] = self.direction_shares();
        let read = if reads > 0 { self.read_sizes() } else { Vec::new() };
        let write = if writes > 0 { self.write_sizes() } else { Vec::new() };
        read.into_iter().chain(write)
    }

    /// Bytes of the greatest I/O.
    #[must_use]
    pub fn largest_block_bytes(&self) -> u32 {
        let sizes = self.used_sizes().map(|size| size.block_bytes);
        sizes.max().unwrap_or(self.block_bytes)
    }

    /// Bytes of the mean I/O, in millionths of a byte: a rate in bytes counts I/Os with it.
    #[must_use]
    pub fn mean_block_micro_bytes(&self) -> u64 {
        let mean = |sizes: Vec<BlockShare>| -> u64 {
            let part = |size: &BlockShare| u64::from(size.block_bytes) * u64::from(size.io_percent);
            sizes.iter().map(part).sum()
        };
        let [reads, writes] = self.direction_shares();
        reads * mean(self.read_sizes()) + writes * mean(self.write_sizes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mix(list: &[(u32, u32)]) -> Vec<BlockShare> {
        let share = |&(block_bytes, io_percent)| BlockShare { block_bytes, io_percent };
        list.iter().map(share).collect()
    }

    #[test]
    fn the_sizes_of_a_direction_win_over_those_of_all() {
        let pattern = Pattern {
            order: PatternOrder::Sequential,
            block_bytes: Some(512),
            align_bytes: None,
            range: None,
        };
        let mut target = Target { write_percent: 50, ..Target::default() };
        assert_eq!(target.read_sizes(), mix(&[(65_536, 100)]));
        target.extensions.block_mix = mix(&[(4096, 50), (8192, 50)]);
        assert_eq!(target.largest_block_bytes(), 8192);
        target.extensions.write_pattern = Some(pattern);
        assert_eq!(target.write_sizes(), mix(&[(512, 100)]));
        target.extensions.write_block_mix = mix(&[(1 << 20, 1), (4096, 99)]);
        assert_eq!(target.largest_block_bytes(), 1 << 20);
        target.write_percent = 0;
        assert_eq!(target.largest_block_bytes(), 8192);
    }

    #[test]
    fn the_mean_counts_each_direction_by_its_share() {
        let mut target = Target { block_bytes: 4096, write_percent: 25, ..Target::default() };
        assert_eq!(target.mean_block_micro_bytes(), 4096 * 1_000_000);
        target.extensions.write_block_mix = mix(&[(8192, 50), (16_384, 50)]);
        let mean = 0.75 * 4096.0 + 0.25 * 12_288.0;
        assert!((target.mean_block_micro_bytes() as f64 / 1e6 - mean).abs() < 1e-6);
        target.extensions.trim_percent = Some(40);
        let mean = 0.45 * 4096.0 + 0.55 * 12_288.0;
        assert!((target.mean_block_micro_bytes() as f64 / 1e6 - mean).abs() < 1e-6);
    }

    #[test]
    fn what_is_given_overrides_what_is_there() {
        let mut mine = Extensions {
            trim_percent: Some(5),
            block_mix: mix(&[(4096, 100)]),
            ..Extensions::default()
        };
        let given = Extensions {
            sync: Some(SyncCadence { every_writes: 8, data_only: true }),
            trim_percent: Some(0),
            ..Extensions::default()
        };
        mine.override_with(&given);
        assert_eq!(mine.trim_percent, Some(0));
        assert_eq!((mine.sync, mine.block_mix.len()), (given.sync, 1));
        assert!(mine.mixes_operations());
        let data = Extensions { compress_percent: Some(50), ..Extensions::default() };
        assert!(!data.mixes_operations());
    }
}
