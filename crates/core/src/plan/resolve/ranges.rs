//! Distributions of random offsets: shares of the range of a target turned into bytes.
//!
//! Offsets in here count from the start of the range. The rounding is `DiskSpd`'s, so that the
//! effective distribution of a result reads the same: limits are rounded down to the alignment, and
//! a share without an aligned offset of its own goes to a neighbour.

use crate::plan::EffectiveRange;
use crate::request::{Distribution, DistributionRange};

/// The range of a target that I/Os may go to.
#[expect(
    clippy::struct_field_names,
    reason = "units come last in names, and all of these are bytes"
)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// First byte, from the start of the target.
    pub(super) base_bytes: u64,
    /// End, exclusive.
    pub(super) end_bytes: u64,
    /// Bytes per I/O; at least one block fits into the room.
    pub(super) block_bytes: u64,
    /// Alignment of random offsets; not 0.
    pub(super) align_bytes: u64,
}

impl Room {
    fn bytes(&self) -> u64 {
        self.end_bytes - self.base_bytes
    }

    fn align_down(&self, bytes: u64) -> u64 {
        bytes - bytes % self.align_bytes
    }

    /// The end of the last aligned place at which a block may start.
    fn aligned_bytes(&self) -> u64 {
        let last = self.align_down(self.bytes().saturating_sub(self.block_bytes));
        last.saturating_add(self.align_bytes)
    }
}

/// A share of the I/Os and where it falls.
#[derive(Debug, Clone, Copy)]
struct Placed {
    share: u32,
    start: u64,
    end: u64,
}

/// Where the I/Os of a distribution fall in this room; empty if none of its ranges lies there.
pub(super) fn effective(distribution: &Distribution, room: Room) -> Vec<EffectiveRange> {
    let placed = match distribution {
        Distribution::Percent(ranges) => percent(ranges, room),
        Distribution::Absolute(ranges) => absolute(ranges, room),
    };
    let sum: u64 = placed.iter().map(|range| u64::from(range.share)).sum();
    let limit = |bytes: u64| room.base_bytes.saturating_add(bytes).min(room.end_bytes);
    let rescale = |range: &Placed| EffectiveRange {
        io_percent: f64::from(range.share) * 100.0 / sum as f64,
        start_bytes: limit(range.start),
        end_bytes: limit(range.end.max(range.start.saturating_add(room.align_bytes))),
    };
    placed.iter().map(rescale).collect()
}

/// Ranges with their start, holes left out; the first one starts at 0.
fn with_starts(ranges: &[DistributionRange]) -> impl Iterator<Item = (u64, &DistributionRange)> {
    let starts = ranges.iter().scan(0_u64, |next, range| {
        let start = *next;
        *next = start.saturating_add(range.length);
        Some((start, range))
    });
    starts.filter(|(_, range)| range.io_percent > 0)
}

fn percent(ranges: &[DistributionRange], room: Room) -> Vec<Placed> {
    let size = room.aligned_bytes();
    let part = |percent: u64| scale(size, percent);
    let mut placing = Placing { room, size, placed: Vec::new(), carried: 0 };
    for (from, range) in with_starts(ranges) {
        let start = part(from);
        let is_last = from.saturating_add(range.length) >= 100;
        let end = if is_last { size } else { start.saturating_add(part(range.length)) };
        placing.place(range.io_percent, start, end.min(size));
    }
    placing.finish()
}

/// `percent` of `bytes`, rounded down.
fn scale(bytes: u64, percent: u64) -> u64 {
    let scaled = u128::from(bytes) * u128::from(percent) / 100;
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Percentages being placed, in ascending order.
struct Placing {
    room: Room,
    size: u64,
    placed: Vec<Placed>,
    /// The share of ranges too small for an aligned offset, until a neighbour takes it.
    carried: u32,
}

impl Placing {
    fn place(&mut self, share: u32, start: u64, end: u64) {
        let end = self.room.align_down(end);
        if end < start {
            // No aligned offset lies in between.
            match self.placed.last_mut() {
                Some(last) if last.start == end => last.share += share,
                _ => self.carried += share,
            }
            return;
        }
        let start = self.room.align_down(start);
        match self.placed.last() {
            Some(last) if start < end && last.start == start => self.place_behind(share, end),
            _ => self.push(share, start, end),
        }
    }

    /// Places a range whose first offset is taken by the one before it, which has only that one.
    fn place_behind(&mut self, share: u32, end: u64) {
        let Some(last) = self.placed.last_mut() else { return };
        last.end = last.start + self.room.align_bytes;
        let start = last.end;
        if start >= self.size {
            self.carried += share;
        } else if start == end {
            last.share += share;
        } else {
            self.push(share, start, end);
        }
    }

    /// What is carried goes to the smaller neighbour.
    fn push(&mut self, share: u32, start: u64, end: u64) {
        let carried = std::mem::take(&mut self.carried);
        match self.placed.last_mut() {
            Some(last) if carried > 0 && last.share < share => {
                last.share += carried;
                self.placed.push(Placed { share, start, end });
            }
            _ => self.placed.push(Placed { share: share + carried, start, end }),
        }
    }

    fn finish(mut self) -> Vec<Placed> {
        if self.carried > 0 {
            let (carried, end) = (self.carried, self.size);
            match self.placed.last_mut() {
                Some(last) => {
                    last.share += carried;
                    last.end = end;
                }
                None => self.placed.push(Placed { share: carried, start: 0, end }),
            }
        }
        self.placed
    }
}

/// Ranges in bytes are taken as they are, and cut at the end of the room.
fn absolute(ranges: &[DistributionRange], room: Room) -> Vec<Placed> {
    let mut placed = Vec::new();
    for (start, range) in with_starts(ranges) {
        let Some(left) = room.bytes().checked_sub(start).filter(|&left| left > 0) else { break };
        let is_cut = range.length == 0 || range.length > left;
        if is_cut && left < room.block_bytes {
            break;
        }
        let end = start + if is_cut { left } else { range.length };
        placed.push(Placed { share: range.io_percent, start, end });
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{GIB, KIB, MIB, TIB};

    fn room(size_bytes: u64) -> Room {
        Room { base_bytes: 0, end_bytes: size_bytes, block_bytes: 4 * KIB, align_bytes: 4 * KIB }
    }

    fn ranges(list: &[(u32, u64)]) -> Vec<DistributionRange> {
        let range = |&(io_percent, length)| DistributionRange { io_percent, length };
        list.iter().map(range).collect()
    }

    /// Share, start and end, in units of `unit`.
    fn shown(effective: &[EffectiveRange], unit: u64) -> Vec<(f64, u64, u64)> {
        let show = |range: &EffectiveRange| {
            assert_eq!((range.start_bytes % unit, range.end_bytes % unit), (0, 0));
            (range.io_percent, range.start_bytes / unit, range.end_bytes / unit)
        };
        effective.iter().map(show).collect()
    }

    fn of_100_kib(list: &[(u32, u64)]) -> Vec<(f64, u64, u64)> {
        shown(&effective(&Distribution::Percent(ranges(list)), room(100 * KIB)), KIB)
    }

    fn of_bytes(list: &[(u32, u64)], size_bytes: u64, unit: u64) -> Vec<(f64, u64, u64)> {
        shown(&effective(&Distribution::Absolute(ranges(list)), room(size_bytes)), unit)
    }

    #[test]
    fn percentages_are_rounded_down_and_holes_left_out() {
        // As the recorded run 18 shows it: 816KiB, 1.60MiB, 3.20MiB, 8MiB.
        let list = [(90, 10), (0, 10), (5, 20), (5, 60)];
        let placed = effective(&Distribution::Percent(ranges(&list)), room(8 * MIB));
        let expected = [(90.0, 0, 204), (5.0, 409, 819), (5.0, 819, 2048)];
        assert_eq!(shown(&placed, 4 * KIB), expected);
        let expected = [(10.0, 0, 8), (10.0, 8, 20), (80.0, 28, 100)];
        assert_eq!(of_100_kib(&[(10, 10), (10, 10), (0, 10), (80, 70)]), expected);
    }

    #[test]
    fn a_range_of_one_offset_keeps_it() {
        let expected = [(10.0, 0, 8), (10.0, 8, 20), (10.0, 20, 24), (70.0, 24, 100)];
        assert_eq!(of_100_kib(&[(10, 10), (10, 10), (10, 1), (70, 79)]), expected);
    }

    #[test]
    fn a_range_without_an_offset_gives_its_share_to_a_neighbour() {
        assert_eq!(of_100_kib(&[(10, 96), (10, 3), (80, 1)]), [(10.0, 0, 96), (90.0, 96, 100)]);
        assert_eq!(of_100_kib(&[(10, 5), (10, 1), (80, 94)]), [(20.0, 0, 4), (80.0, 4, 100)]);
        assert_eq!(of_100_kib(&[(10, 1), (10, 1), (80, 98)]), [(20.0, 0, 4), (80.0, 4, 100)]);
        let small = [(10, 1), (10, 1), (10, 1), (10, 1), (10, 1), (50, 95)];
        assert_eq!(of_100_kib(&small), [(40.0, 0, 4), (10.0, 4, 8), (50.0, 8, 100)]);
        // A hole before it, so that there is no neighbour but the one behind.
        assert_eq!(of_100_kib(&[(0, 5), (10, 1), (90, 94)]), [(100.0, 4, 100)]);
    }

    #[test]
    fn no_share_is_lost_and_no_range_leaves_the_room() {
        for size in 1..60 {
            for first in 1..99 {
                let list = ranges(&[(30, first), (30, 1), (40, 99 - first)]);
                let room = Room { base_bytes: 512, ..room(512 + size * 4 * KIB) };
                let placed = effective(&Distribution::Percent(list), room);
                let sum: f64 = placed.iter().map(|range| range.io_percent).sum();
                assert!((sum - 100.0).abs() < 1e-9, "{size} {first}: {sum}");
                assert!(placed.iter().all(|range| {
                    range.start_bytes >= 512
                        && range.start_bytes < range.end_bytes
                        && range.end_bytes <= room.end_bytes
                }));
                assert!(placed.is_sorted_by(|a, b| a.end_bytes <= b.start_bytes));
            }
        }
    }

    #[test]
    fn bytes_are_taken_as_they_are() {
        // As the recorded run 20 shows it.
        let list = [(60, 4 * MIB), (0, MIB), (30, 2 * MIB), (10, 0)];
        let expected = [(60.0, 0, 4), (30.0, 5, 7), (10.0, 7, 8)];
        assert_eq!(of_bytes(&list, 8 * MIB, MIB), expected);
    }

    #[test]
    fn bytes_are_cut_at_the_end() {
        // As the recorded run 22 shows it.
        let list = [(50, 3 * MIB), (20, 4 * MIB), (30, GIB)];
        let expected = [(50.0, 0, 3), (20.0, 3, 7), (30.0, 7, 8)];
        assert_eq!(of_bytes(&list, 8 * MIB, MIB), expected);
        let list = [(10, GIB), (10, GIB), (0, 100 * GIB), (80, TIB)];
        let expected = [(10.0, 0, 1), (10.0, 1, 2), (80.0, 102, 200)];
        assert_eq!(of_bytes(&list, 200 * GIB, GIB), expected);
    }

    #[test]
    fn ranges_beyond_the_end_leave_their_share_to_the_others() {
        let expected = [(50.0, 0, 100), (50.0, 100, 200)];
        assert_eq!(
            of_bytes(&[(10, 100 * GIB), (10, 100 * GIB), (80, 0)], 200 * GIB, GIB),
            expected
        );
        assert_eq!(
            of_bytes(&[(10, 100 * GIB), (10, 200 * GIB), (80, 0)], 200 * GIB, GIB),
            expected
        );
        // No whole block is left for the last one.
        let list = [(10, 8 * KIB), (90, 0)];
        let placed = effective(&Distribution::Absolute(ranges(&list)), room(10 * KIB));
        assert_eq!(shown(&placed, KIB), [(100.0, 0, 8)]);
        assert!(of_bytes(&[(0, GIB), (100, 0)], GIB, 1).is_empty());
    }
}
