//! Which bytes of a target the reads of a plan can touch, and which of them get most: what a cache would have
//! to hold. The range alone does not say it, as a stride, an alignment or a skew leave most of it out.

use super::places::{Grid, shares};
use crate::plan::mix::StreamPlan;
use crate::plan::{OffsetPlan, Order, SpanPlan, TargetPlan};

/// More places than this are not laid beside each other: what they have in common counts more than once.
const PLACES_MAX: u64 = 1 << 16;

/// What the reads of a target can touch.
#[derive(Debug, Clone, PartialEq)]
pub struct Reach {
    parts: Vec<Part>,
}

/// Places that are equally likely, and the share of the bytes that are read there.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Part {
    grid: Grid,
    block_bytes: u64,
    share: f64,
}

impl Reach {
    /// What the threads of a time span can touch of a target.
    #[must_use]
    pub fn of(span: &SpanPlan, target: usize) -> Self {
        let plan = &span.targets[target];
        let mut starts: Vec<u64> = span
            .threads
            .iter()
            .flat_map(|thread| &thread.assignments)
            .filter(|assignment| assignment.target == target)
            .map(|assignment| assignment.start_bytes)
            .collect();
        starts.sort_unstable();
        starts.dedup();
        let mut parts = Vec::new();
        for (offsets, share) in streams(plan) {
            let found = parts_of(&offsets, plan.offsets.base_bytes, &starts);
            let whole: f64 = found.iter().map(|(part, _)| *part).sum();
            parts.extend(found.into_iter().map(|(part, grid)| Part {
                grid,
                block_bytes: offsets.block_bytes,
                share: share * part / whole,
            }));
        }
        let density =
            |part: &Part| part.share / (part.grid.positions as f64 * part.block_bytes as f64);
        parts.sort_by(|one, two| density(two).total_cmp(&density(one)));
        Self { parts }
    }

    /// How many bytes there are, each once.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        bytes(&self.parts)
    }

    /// The places that get most of the reads for their size, so many of them that they get at least this
    /// share: what share they get, and how many bytes they are.
    #[must_use]
    pub fn most_read(&self, least_share: f64) -> (f64, u64) {
        let mut share = 0.0;
        let mut count = 0;
        for part in &self.parts {
            if share >= least_share {
                break;
            }
            share += part.share;
            count += 1;
        }
        (share, bytes(&self.parts[..count]))
    }
}

/// The offsets of the reads, by their sizes, with their shares of the bytes.
fn streams(plan: &TargetPlan) -> Vec<(OffsetPlan, f64)> {
    let Some(mix) = &plan.mix else { return vec![(plan.offsets.clone(), 1.0)] };
    let reads = &mix.read;
    let weight = |size: &crate::plan::mix::SizePlan| {
        f64::from(size.share.max(1)) * f64::from(size.block_bytes)
    };
    let whole: f64 = reads.sizes.iter().map(weight).sum();
    let is_one = reads.sizes.len() == 1 && (mix.separate || reads.sizes == mix.write.sizes);
    let of_size = |size: &crate::plan::mix::SizePlan| {
        let offsets = reads.offsets_of(*size);
        let offsets = if is_one || reads.offsets.order == Order::Random {
            offsets
        } else {
            between_sizes(reads, offsets)
        };
        (offsets, weight(size) / whole)
    };
    reads.sizes.iter().map(of_size).collect()
}

/// A walk goes on behind I/Os of any size, so that it comes to any place.
fn between_sizes(reads: &StreamPlan, offsets: OffsetPlan) -> OffsetPlan {
    let OffsetPlan { base_bytes, end_bytes, .. } = reads.offsets;
    OffsetPlan { base_bytes, end_bytes, align_bytes: 1, order: Order::Interlocked, ..offsets }
}

/// The places of one stream, with their shares; `starts` are those of the threads, of a target whose range
/// begins at `base_bytes`.
fn parts_of(offsets: &OffsetPlan, base_bytes: u64, starts: &[u64]) -> Vec<(f64, Grid)> {
    let whole = || Grid::new(offsets, offsets.base_bytes, offsets.end_bytes);
    match offsets.order {
        Order::Random => shares(offsets),
        Order::Interlocked => vec![(1.0, whole())],
        // A run goes on from a random place, in steps of whole alignments, up to the end.
        Order::Mixed { .. } => {
            let align_bytes = offsets.align_bytes.max(1);
            let has_gaps = align_bytes >= offsets.block_bytes;
            let step_bytes = if has_gaps { align_bytes } else { 1 };
            let dense = OffsetPlan { align_bytes: step_bytes, ..offsets.clone() };
            vec![(1.0, Grid::new(&dense, offsets.base_bytes, offsets.end_bytes))]
        }
        Order::Sequential | Order::SameOffset => {
            let step_bytes = offsets.align_bytes.max(1);
            let ahead = |start: &u64| start.saturating_sub(base_bytes) % step_bytes;
            let mut aheads: Vec<u64> = starts.iter().map(ahead).collect();
            aheads.sort_unstable();
            aheads.dedup();
            let last_bytes = offsets.end_bytes.saturating_sub(offsets.block_bytes);
            let walk = |ahead: u64| {
                let first_bytes = offsets.base_bytes + ahead;
                let positions = last_bytes.saturating_sub(first_bytes) / step_bytes + 1;
                (1.0, Grid { first_bytes, step_bytes, positions })
            };
            aheads.into_iter().map(walk).collect()
        }
    }
}

/// How many bytes lie at these places, each once as far as it can be told.
fn bytes(parts: &[Part]) -> u64 {
    let is_dense = |part: &&Part| part.grid.step_bytes <= part.block_bytes;
    let scattered = parts.iter().filter(|part| !is_dense(part));
    let places = scattered.clone().fold(0_u64, |sum, part| sum.saturating_add(part.grid.positions));
    let dense = parts.iter().filter(is_dense).map(|part| {
        let Grid { first_bytes, step_bytes, positions } = part.grid;
        (first_bytes, first_bytes + (positions - 1) * step_bytes + part.block_bytes)
    });
    let mut stretches: Vec<(u64, u64)> = dense.collect();
    let mut apart = 0;
    for part in scattered {
        let Grid { first_bytes, step_bytes, positions } = part.grid;
        if places > PLACES_MAX {
            apart += positions * part.block_bytes;
            continue;
        }
        let place = |index: u64| first_bytes + index * step_bytes;
        let blocks = (0..positions).map(place).map(|at| (at, at + part.block_bytes));
        stretches.extend(blocks);
    }
    stretches.sort_unstable();
    let mut end = 0;
    let once = stretches.into_iter().map(|(from, to)| {
        let new = to.saturating_sub(from.max(end));
        end = end.max(to);
        new
    });
    apart + once.sum::<u64>()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::engine::offsets::{Offsets, SharedOffsets};
    use crate::engine::random::Random;
    use crate::guard::fixture::{span, target, thread};
    use crate::plan::mix::{MixPlan, SizePlan};
    use crate::plan::{EffectiveRange, EngineKind, Skew};
    use crate::units::{GIB, KIB, MIB};

    /// Blocks of 64 KiB in 256 MiB, for threads whose starts lie so far apart.
    fn plan(order: Order, align_bytes: u64, threads: u64, apart_bytes: u64) -> SpanPlan {
        let mut one = target(Path::new("/x.dat"), 0);
        one.block_bytes = 65_536;
        one.offsets = OffsetPlan {
            end_bytes: 256 * MIB,
            block_bytes: 64 * KIB,
            align_bytes,
            order,
            ..one.offsets
        };
        let mut span = span(vec![one]);
        let starts = (0..threads).map(|index| index * apart_bytes);
        let threads = starts.enumerate();
        span.threads =
            threads.map(|(index, start)| thread(index, EngineKind::Uring, start)).collect();
        span
    }

    /// The bytes that a long load really touches.
    fn walked(span: &SpanPlan) -> u64 {
        let plan = &span.targets[0].offsets;
        let shared = SharedOffsets::new(plan);
        let mut random = Random::new(7);
        let mut sectors = vec![false; (256 * MIB / 4096) as usize];
        for thread in &span.threads {
            let start_bytes = thread.assignments[0].start_bytes;
            let mut offsets = Offsets::new(plan, start_bytes, 2, &shared);
            for index in 0..40_000 {
                let at = offsets.next(index % 2, &mut random);
                let blocks = (at / 4096) as usize..((at + plan.block_bytes) / 4096) as usize;
                sectors[blocks].fill(true);
            }
        }
        sectors.iter().filter(|&&touched| touched).count() as u64 * 4096
    }

    /// A stride of 300 MiB read one block 20,000 times, and the working set was said to be all of 256 MiB.
    #[test]
    fn what_a_stride_or_an_alignment_leaves_out_is_no_part_of_the_working_set() {
        let runs = Order::Mixed { random_percent: 30 };
        for (order, align_bytes, threads, apart_bytes, expected) in [
            (Order::Sequential, 300 * MIB, 1, 0, 64 * KIB),
            (Order::Sequential, 128 * MIB, 2, 0, 128 * KIB),
            (Order::Sequential, 16 * MIB, 1, 0, MIB),
            (Order::Sequential, 16 * MIB, 2, 16 * MIB, MIB),
            (Order::Sequential, 16 * MIB, 2, 32 * KIB, 3 * MIB / 2),
            (Order::Sequential, 16 * MIB, 3, MIB, 3 * MIB),
            (Order::Sequential, 64 * KIB, 2, 0, 256 * MIB),
            (Order::SameOffset, 16 * MIB, 2, MIB, 2 * MIB),
            (Order::Interlocked, 16 * MIB, 2, MIB, MIB),
            (Order::Random, 16 * MIB, 2, 0, MIB),
            (Order::Random, 300 * MIB, 2, 0, 64 * KIB),
            (Order::Random, 64 * KIB, 2, 0, 256 * MIB),
            (Order::Random, 32 * KIB, 2, 0, 256 * MIB),
            (runs, 16 * MIB, 2, 0, MIB),
            (runs, 64 * KIB, 2, 0, 256 * MIB),
        ] {
            let span = plan(order, align_bytes, threads, apart_bytes);
            let case = format!("{order:?} {align_bytes} {threads} {apart_bytes}");
            assert_eq!(Reach::of(&span, 0).bytes(), expected, "{case}");
            assert_eq!(walked(&span), expected, "{case}");
        }
    }

    #[test]
    fn a_base_and_a_range_move_the_places_and_cut_them() {
        for order in [Order::Sequential, Order::Random, Order::Interlocked] {
            let mut span = plan(order, 16 * MIB, 1, 0);
            span.targets[0].offsets.base_bytes = 100 * MIB;
            span.targets[0].offsets.end_bytes = 132 * MIB + 64 * KIB;
            span.threads[0].assignments[0].start_bytes = 100 * MIB;
            assert_eq!(Reach::of(&span, 0).bytes(), 192 * KIB, "{order:?}");
            assert_eq!(walked(&span), 192 * KIB, "{order:?}");
        }
    }

    #[test]
    fn places_that_get_most_of_the_reads_are_told_with_their_share() {
        let mut span = plan(Order::Random, 64 * KIB, 1, 0);
        let uniform = Reach::of(&span, 0);
        assert_eq!(uniform.most_read(0.5), (1.0, 256 * MIB));
        span.targets[0].offsets.skew = Some(Skew::Zipf { theta_milli: 3_000 });
        let (share, bytes) = Reach::of(&span, 0).most_read(0.5);
        assert_eq!(bytes, 64 * KIB);
        assert!((share - 0.832).abs() < 0.001, "{share}");
        span.targets[0].offsets.skew = None;
        let part = |io_percent, start_bytes, end_bytes| EffectiveRange {
            io_percent,
            start_bytes,
            end_bytes,
        };
        span.targets[0].offsets.ranges =
            vec![part(10.0, 0, 128 * MIB), part(90.0, 128 * MIB, 144 * MIB)];
        let reach = Reach::of(&span, 0);
        assert_eq!((reach.bytes(), reach.most_read(0.5)), (144 * MIB, (0.9, 16 * MIB)));
    }

    #[test]
    fn sizes_that_are_mixed_share_their_places() {
        let size = |block_bytes, align_bytes| SizePlan { block_bytes, share: 50, align_bytes };
        let mixed = |order, sizes: Vec<SizePlan>| {
            let mut span = plan(order, 16 * MIB, 1, 0);
            let offsets = span.targets[0].offsets.clone();
            let read = StreamPlan { offsets, sizes };
            span.targets[0].mix = Some(MixPlan {
                exact: false,
                trim_percent: 0,
                sync: None,
                separate: false,
                write: read.clone(),
                read,
            });
            Reach::of(&span, 0).bytes()
        };
        let both = || vec![size(4096, 16 * MIB), size(65_536, 16 * MIB)];
        assert_eq!(mixed(Order::Random, both()), MIB);
        assert_eq!(mixed(Order::Random, vec![size(4096, 16 * MIB)]), 64 * KIB);
        assert_eq!(mixed(Order::Sequential, vec![size(4096, 16 * MIB)]), 64 * KIB);
        assert_eq!(mixed(Order::Sequential, both()), 256 * MIB);
    }

    #[test]
    fn the_places_of_a_huge_target_are_not_counted_one_by_one() {
        let mut span = plan(Order::Random, 4096, 1, 0);
        span.targets[0].offsets.end_bytes = 1 << 20 << 20 << 10;
        assert_eq!(Reach::of(&span, 0).bytes(), GIB << 20);
        span.targets[0].offsets.align_bytes = 128 * KIB;
        assert_eq!(Reach::of(&span, 0).bytes(), GIB << 19);
    }
}
