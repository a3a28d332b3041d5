//! Several threads that read the same sequential blocks.

use super::super::{Warning, WarningKind};
use super::Seen;
use super::words::{either, size};
use crate::plan::{OffsetPlan, Order, TargetPlan};
use crate::units::MIB;

/// What one thread read this recently, the cache of any drive may still hold for the next.
const NEAR_BYTES: u64 = 16 * MIB;

/// Doubts about sequential readers that follow one another closely.
pub(super) fn warnings(seen: &Seen) -> Vec<Warning> {
    let sequential = |(_, target): &(usize, &TargetPlan)| {
        matches!(target.read_offsets().order, Order::Sequential | Order::SameOffset)
    };
    let found = seen.real_targets().filter(sequential);
    found.filter_map(|(index, target)| shared_blocks(seen, index, target)).collect()
}

/// Where a thread began, and how far it came.
struct Walk {
    start_bytes: u64,
    length_bytes: u64,
}

fn shared_blocks(seen: &Seen, index: usize, target: &TargetPlan) -> Option<Warning> {
    let mut walks = walks(seen, index, target);
    walks.sort_unstable_by_key(|walk| walk.start_bytes);
    let offsets = target.read_offsets();
    let range_bytes = offsets.end_bytes.saturating_sub(offsets.base_bytes);
    let fair_bytes = range_bytes / (walks.len() as u64).max(1);
    let near_bytes = NEAR_BYTES.min(fair_bytes / 2).max(1);
    // The next thread ahead that comes to the same places.
    let behind = |at: usize| {
        let distances =
            walks[..at].iter().rev().map(|one| (one, walks[at].start_bytes - one.start_bytes));
        let (one, distance) =
            distances.into_iter().find(|&(_, distance)| meet(target, distance))?;
        (one.length_bytes > distance && distance < near_bytes).then_some(distance)
    };
    let distances: Vec<u64> = (0..walks.len()).filter_map(behind).collect();
    let evidence = format!(
        "{} of {} threads read sequentially what another thread, starting at most {} away, read \
         as well, so that a cache may have served them",
        distances.len(),
        walks.len(),
        size(*distances.iter().max()?),
    );
    let remedy = remedy(seen, target, fair_bytes);
    let warning = seen.warning(WarningKind::SharedSequentialBlocks, evidence, remedy);
    Some(seen.about(target, warning))
}

/// Whether two walks whose starts are so far apart come to the same bytes. A stride leaves gaps, in which
/// another thread may read, and each walk keeps its places of the stride from pass to pass; one of several
/// sizes comes to any place.
fn meet(target: &TargetPlan, distance_bytes: u64) -> bool {
    if target.mix.as_ref().is_some_and(|mix| mix.read.sizes.len() > 1) {
        return true;
    }
    let &OffsetPlan { align_bytes, block_bytes, .. } = target.read_offsets();
    let step_bytes = align_bytes.max(1);
    let ahead_bytes = distance_bytes % step_bytes;
    ahead_bytes < block_bytes || step_bytes - ahead_bytes < block_bytes
}

/// The walks of the threads that read the target.
fn walks(seen: &Seen, index: usize, target: &TargetPlan) -> Vec<Walk> {
    let mut walks = Vec::new();
    for (thread, used) in seen.uses(index).filter(|(_, used)| used.read.ios > 0) {
        let planned =
            seen.span.threads.iter().find(|plan| super::number(plan.index) == thread.index);
        let assignment =
            planned.and_then(|plan| plan.assignments.iter().find(|use_of| use_of.target == index));
        // Reads with offsets of their own walk by themselves.
        let is_alone = target.mix.as_ref().is_some_and(|mix| mix.separate);
        let ios = used.read.ios + if is_alone { 0 } else { used.write.ios };
        walks.extend(assignment.map(|assignment| Walk {
            start_bytes: assignment.start_bytes,
            length_bytes: ios.saturating_mul(target.read_offsets().align_bytes),
        }));
    }
    walks
}

/// A stride is that of all targets: one that another is too small for would be refused.
fn remedy(seen: &Seen, target: &TargetPlan, fair_bytes: u64) -> String {
    let has_own_order = target.mix.as_ref().is_some_and(|mix| mix.separate);
    let option = if has_own_order { "--read-pattern=interlocked" } else { "-si" };
    let mut remedies = vec![format!("let the threads share one position ({option})")];
    let block_bytes = target.read_offsets().block_bytes.max(1);
    let stride_bytes = fair_bytes / block_bytes * block_bytes;
    if stride_bytes > 0 && seen.real_targets().all(|one| has_room(seen, one, stride_bytes)) {
        remedies.push(format!("start each in a part of its own (-T{stride_bytes})"));
    }
    either(&remedies)
}

/// Whether the last thread of a target could still begin within its range.
fn has_room(seen: &Seen, (index, target): (usize, &TargetPlan), stride_bytes: u64) -> bool {
    let used = seen.span.threads.iter().flat_map(|thread| &thread.assignments);
    let threads = used.filter(|assignment| assignment.target == index).count() as u64;
    let last_bytes = stride_bytes.saturating_mul(threads.saturating_sub(1));
    [target.read_offsets(), target.write_offsets()].into_iter().all(|offsets| {
        let room_bytes = offsets.end_bytes.saturating_sub(offsets.base_bytes);
        last_bytes.saturating_add(offsets.block_bytes) <= room_bytes
    })
}
