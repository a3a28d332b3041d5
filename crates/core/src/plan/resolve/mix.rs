//! Mixed operations become streams of offsets and sizes, one per direction.

use fathom_sys::device::PathKind;

use super::checks::Found;
use super::{Place, Resolver};
use crate::plan::mix::{MixPlan, SizePlan, StreamPlan};
use crate::plan::{OffsetPlan, Order, TargetKind};
use crate::request::{BlockShare, Caching, Pattern, PatternOrder, Ratio, Target};

/// One direction of a target's mix.
#[derive(Clone, Copy)]
struct Direction<'a> {
    name: &'static str,
    pattern: Option<Pattern>,
    sizes: &'a [BlockShare],
}

impl Resolver<'_> {
    /// The mix of a target over its whole range; none if it has nothing but a share of writes.
    pub(super) fn mix(
        &mut self,
        place: Place<'_>,
        found: &Found,
        whole: &OffsetPlan,
    ) -> Option<MixPlan> {
        let target = place.target;
        let extensions = &target.extensions;
        if !extensions.mixes_operations() {
            return None;
        }
        self.check_trims(target, found);
        let (read_sizes, write_sizes) = (target.read_sizes(), target.write_sizes());
        let [reads, writes] = target.direction_shares();
        let read =
            Direction { name: "reads", pattern: extensions.read_pattern, sizes: &read_sizes };
        let write =
            Direction { name: "writes", pattern: extensions.write_pattern, sizes: &write_sizes };
        // The sizes of a direction that is not used do not have to fit.
        let (read, write) = match (reads, writes) {
            (0, _) => (write, write),
            (_, 0) => (read, read),
            _ => (read, write),
        };
        let exact = match extensions.ratio {
            Some(ratio) => ratio == Ratio::Exact,
            None => extensions.has_patterns(),
        };
        Some(MixPlan {
            exact,
            trim_percent: target.trim_percent(),
            sync: extensions.sync,
            separate: extensions.has_patterns(),
            read: self.stream(place, found, whole, read),
            write: self.stream(place, found, whole, write),
        })
    }

    fn stream(
        &mut self,
        place: Place<'_>,
        found: &Found,
        whole: &OffsetPlan,
        direction: Direction<'_>,
    ) -> StreamPlan {
        let target = place.target;
        let order = direction.pattern.map_or(whole.order, |pattern| order(pattern.order));
        let (base_bytes, end_bytes) = range(whole, direction.pattern);
        let aligned = alignment(target, whole.order, direction);
        let sizes = direction.sizes.iter().map(|size| SizePlan {
            block_bytes: size.block_bytes,
            share: size.io_percent,
            align_bytes: aligned.unwrap_or(u64::from(size.block_bytes)),
        });
        let sizes: Vec<SizePlan> = sizes.collect();
        let largest = sizes.iter().map(|size| u64::from(size.block_bytes)).max().unwrap_or(1);
        let follows_ranges = matches!(order, Order::Random | Order::Mixed { .. });
        let offsets = OffsetPlan {
            base_bytes,
            end_bytes,
            block_bytes: largest,
            align_bytes: aligned.unwrap_or(largest),
            order,
            ranges: if follows_ranges { whole.ranges.clone() } else { Vec::new() },
            skew: self.options.skew.filter(|_| follows_ranges),
        };
        let stream = StreamPlan { offsets, sizes };
        self.check_stream_room(place, direction.name, &stream);
        let is_unbuffered =
            target.caching == Caching::Unbuffered && found.kind != TargetKind::Virtual;
        if is_unbuffered || found.kind == TargetKind::Network {
            self.check_stream_sectors(target, found.sector_bytes, direction, &stream);
        }
        stream
    }

    /// Whether the greatest I/O of each thread fits where its stream begins.
    fn check_stream_room(&mut self, place: Place<'_>, direction: &str, stream: &StreamPlan) {
        let target = place.target;
        let offsets = &stream.offsets;
        let threads = match self.profile.time_spans[place.span_index].thread_count {
            0 => target.threads,
            shared => shared,
        };
        let is_walk = offsets.order == Order::Sequential;
        let last_thread = if is_walk { u64::from(threads.saturating_sub(1)) } else { 0 };
        let ahead = target.thread_stride_bytes.saturating_mul(last_thread);
        let start = offsets.base_bytes.saturating_add(ahead);
        if start.saturating_add(offsets.block_bytes) <= offsets.end_bytes {
            return;
        }
        let message = format!(
            "{direction} of {} bytes from offset {start} do not fit into the range of '{}', which \
             ends at {}",
            offsets.block_bytes, target.path, offsets.end_bytes
        );
        self.findings.target(message, "give a wider range, smaller blocks, or a larger target");
    }

    fn check_stream_sectors(
        &mut self,
        target: &Target,
        sector_bytes: u32,
        direction: Direction<'_>,
        stream: &StreamPlan,
    ) {
        let sector_bytes = u64::from(sector_bytes.max(1));
        let sizes = stream.sizes.iter().flat_map(|size| {
            [("size", u64::from(size.block_bytes)), ("alignment or stride", size.align_bytes)]
        });
        for (what, bytes) in sizes.chain([("first offset", stream.offsets.base_bytes)]) {
            if bytes % sector_bytes != 0 {
                let message = format!(
                    "the {what} of the {} of '{}' is {bytes} bytes, but I/O past the page cache \
                     needs multiples of the sector, which is {sector_bytes} bytes",
                    direction.name, target.path
                );
                let remedy = format!(
                    "give a multiple of {sector_bytes}, or leave -Su and -Sh out to use the cache"
                );
                self.findings.target(message, remedy);
            }
        }
    }

    /// Whether the target can give blocks back at all.
    fn check_trims(&mut self, target: &Target, found: &Found) {
        if target.trim_percent() == 0 || found.kind != TargetKind::BlockDevice {
            return;
        }
        let known = self.facts.here(target);
        let Some(known) = known.filter(|known| known.kind == PathKind::BlockDevice) else { return };
        let name = &target.path;
        let Some(granularity) = known.discard_granularity_bytes else {
            let message = format!("the device '{name}' cannot discard, as --trim asks");
            self.findings.target(message, "leave --trim out, or name another target");
            return;
        };
        let unit = granularity.max(known.logical_sector_bytes);
        for size in target.write_sizes() {
            if size.block_bytes % unit != 0 {
                let message = format!(
                    "trims of {} bytes are not made of whole units that the device '{name}' \
                     discards, which are {unit} bytes",
                    size.block_bytes
                );
                self.findings.target(message, format!("give blocks that are multiples of {unit}"));
            }
        }
    }
}

fn order(pattern: PatternOrder) -> Order {
    match pattern {
        PatternOrder::Random => Order::Random,
        PatternOrder::Sequential => Order::Sequential,
        PatternOrder::Interlocked => Order::Interlocked,
    }
}

/// The part of the whole range that a pattern uses: first byte and end. A pattern never widens the range.
fn range(whole: &OffsetPlan, pattern: Option<Pattern>) -> (u64, u64) {
    let Some(range) = pattern.and_then(|pattern| pattern.range) else {
        return (whole.base_bytes, whole.end_bytes);
    };
    let end_bytes = match range.length_bytes {
        0 => u64::MAX,
        length => range.base_bytes.saturating_add(length),
    };
    (range.base_bytes.max(whole.base_bytes), end_bytes.min(whole.end_bytes))
}

/// The alignment or stride that was requested; none if each size is its own. That of the target counts
/// for a pattern of the same kind, unless it is the block size, which is what `DiskSpd` takes without one.
fn alignment(target: &Target, whole: Order, direction: Direction<'_>) -> Option<u64> {
    let is_random = |order| matches!(order, Order::Random | Order::Mixed { .. });
    let own = direction.pattern.and_then(|pattern| pattern.align_bytes);
    let same_kind =
        direction.pattern.is_none_or(|pattern| is_random(order(pattern.order)) == is_random(whole));
    let of_target = target.access.align_bytes.max(1);
    let asked = same_kind && of_target != u64::from(target.block_bytes);
    own.or(asked.then_some(of_target))
}
