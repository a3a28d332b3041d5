//! I/Os of each interval by their latency, coarsely: what a heat map of latency over time is drawn from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fields per power of two, as bits: four fields, each at most a quarter wider than its least latency.
const FIELD_BITS: u32 = 2;
const FIELDS_PER_OCTAVE: usize = 1 << FIELD_BITS;
/// What is faster than 2^8 ns counts as if it took that long: no device is.
const FIRST_OCTAVE: u32 = 8;
/// What takes longer than 2^34 ns, 17 s, counts as the last field.
const OCTAVES: usize = 26;
const FIELDS: usize = OCTAVES * FIELDS_PER_OCTAVE;

/// Counters of all intervals of one direction of one target of one thread, made before the first I/O.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalFields {
    counts: Vec<u32>,
}

/// One interval's I/Os by latency; fields without any are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalLatency {
    /// Least latency of each field, rising; a field ends where the next of four in its power of two begins.
    pub bucket_lower_ns: Vec<u64>,
    /// I/Os of each field.
    pub bucket_counts: Vec<u64>,
}

impl IntervalFields {
    /// Memory that each interval takes.
    pub const BYTES_EACH: usize = FIELDS * size_of::<u32>();

    /// Counters of so many intervals.
    #[must_use]
    pub fn new(intervals: usize) -> Self {
        Self { counts: vec![0; intervals.saturating_mul(FIELDS)] }
    }

    /// Counts one I/O; one in an interval that is not kept is left out.
    #[inline]
    pub fn record(&mut self, interval: usize, latency_ns: u64) {
        if let Some(count) = self.counts.get_mut(interval * FIELDS + field(latency_ns)) {
            *count = count.saturating_add(1);
        }
    }

    /// The first so many intervals, each with its fields.
    #[must_use]
    pub fn first(&self, intervals: usize) -> Vec<IntervalLatency> {
        self.counts.chunks_exact(FIELDS).take(intervals).map(interval).collect()
    }
}

fn interval(counts: &[u32]) -> IntervalLatency {
    let filled = || counts.iter().enumerate().filter(|(_, count)| **count > 0);
    IntervalLatency {
        bucket_lower_ns: filled().map(|(field, _)| lower_ns(field)).collect(),
        bucket_counts: filled().map(|(_, &count)| u64::from(count)).collect(),
    }
}

#[inline]
fn field(latency_ns: u64) -> usize {
    let latency_ns = latency_ns.max(1 << FIRST_OCTAVE);
    let octave = latency_ns.ilog2();
    // The highest bits, of which the first is always set.
    let highest = latency_ns >> (octave - FIELD_BITS);
    let field = u64::from(octave - FIRST_OCTAVE) * FIELDS_PER_OCTAVE as u64 + highest;
    usize::try_from(field).map_or(FIELDS - 1, |field| (field - FIELDS_PER_OCTAVE).min(FIELDS - 1))
}

fn lower_ns(field: usize) -> u64 {
    let (octave, within) = (field / FIELDS_PER_OCTAVE, field % FIELDS_PER_OCTAVE);
    ((FIELDS_PER_OCTAVE + within) as u64) << (octave + (FIRST_OCTAVE - FIELD_BITS) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_latency_lies_in_its_field() {
        for latency_ns in (256..1 << 20).step_by(37).chain([1 << 33, (1 << 34) - 1]) {
            let at = field(latency_ns);
            assert!(lower_ns(at) <= latency_ns, "{latency_ns}");
            assert!(at == FIELDS - 1 || latency_ns < lower_ns(at + 1), "{latency_ns}");
        }
    }

    #[test]
    fn what_lies_beyond_the_ends_counts_at_the_ends() {
        assert_eq!((field(0), lower_ns(0)), (0, 256));
        assert_eq!(field(u64::MAX), FIELDS - 1);
    }

    #[test]
    fn intervals_keep_their_own_and_what_is_behind_the_last_is_left_out() {
        let mut fields = IntervalFields::new(2);
        for (interval, latency_ns) in [(0, 100_000), (0, 101_000), (1, 5_000_000), (2, 1)] {
            fields.record(interval, latency_ns);
        }
        let found = fields.first(2);
        assert_eq!(found[0].bucket_counts, [2]);
        assert_eq!(found[1].bucket_counts, [1]);
        assert!(found[1].bucket_lower_ns[0] <= 5_000_000);
        assert_eq!(fields.first(1).len(), 1);
    }
}
