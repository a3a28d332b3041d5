//! One target of the request becomes one target of the plan.

use std::path::PathBuf;

use fathom_sys::device::PathKind;

use super::checks::Found;
use super::ranges::{self, Room};
use super::{Place, Resolver, files, kind_of};
use crate::errors::Kind;
use crate::plan::{EngineKind, OffsetPlan, OpenPlan, Order, PayloadPlan, TargetKind, TargetPlan};
use crate::request::{Access, Caching, Target, WriteSource};
use crate::result::WarningKind;
use crate::storage::{Facts, Location};
use crate::units::GIB;

/// Size in bytes of the range of a target that need not exist.
const VIRTUAL_BYTES: u64 = GIB;

/// What one call of read(2) or write(2), and so any I/O, moves at most (`MAX_RW_COUNT`, `linux/fs.h`, with
/// pages of 4 KiB).
const TRANSFER_BYTES: u32 = 0x7fff_f000;

/// How a target over the network is named, where a path looks like what `mount` is given as its source.
fn mounted_from(path: &str) -> Option<&'static str> {
    if path.starts_with("//") {
        return Some("correct the path; a file on a share is named smb://HOST/SHARE/FILE");
    }
    let (host, _) = path.split_once(":/")?;
    let is_host = !host.is_empty() && !host.contains('/');
    is_host.then_some("correct the path; a file on an NFS export is named nfs://HOST/EXPORT/FILE")
}

impl Resolver<'_> {
    /// The plan of a target whose size this run will have set to `made_bytes`, if it makes it.
    /// None if something about it is wrong, which is then among the findings.
    pub(super) fn target(
        &mut self,
        place: Place<'_>,
        made_bytes: Option<u64>,
    ) -> Option<TargetPlan> {
        if let Some((what, remedy)) = place.target.path.obstacle() {
            self.findings.request(format!("the target '{}' {what}", place.target.path), remedy);
            return None;
        }
        if place.target.block_bytes == 0 {
            let message = format!("the block size of '{}' is 0", place.target.path);
            self.findings.request(message, "give a block size of at least 1 byte");
            return None;
        }
        if place.target.largest_block_bytes() > TRANSFER_BYTES && !self.is_virtual() {
            let message = format!(
                "the block size of '{}' is {} bytes, and Linux moves at most {TRANSFER_BYTES} in one I/O \
                 (read(2)): the rest of each would be cut off",
                place.target.path,
                place.target.largest_block_bytes()
            );
            self.findings.request(message, "use smaller blocks (-b), such as -b1G");
            return None;
        }
        self.check_data_file(place.target);
        let found = self.find(place, made_bytes)?;
        let offsets = self.offsets(place, &found)?;
        let mix = self.mix(place, &found, &offsets);
        Some(TargetPlan { mix, ..self.target_plan(place.target, found, offsets) })
    }

    fn target_plan(&self, target: &Target, found: Found, offsets: OffsetPlan) -> TargetPlan {
        TargetPlan {
            location: found.location,
            name: target.path.to_string(),
            kind: found.kind,
            size_bytes: found.size_bytes,
            sector_bytes: found.sector_bytes,
            open: self.open(target),
            block_bytes: target.largest_block_bytes(),
            offsets,
            write_percent: target.write_percent,
            mix: None,
            payload: payload(target),
            huge_pages: target.large_pages,
            priority: target.priority,
        }
    }

    /// What the target is, or will be when the time span starts.
    fn find(&mut self, place: Place<'_>, made_bytes: Option<u64>) -> Option<Found> {
        let target = place.target;
        let name = &target.path;
        if self.is_virtual() {
            return Some(self.virtual_target(target));
        }
        if let Some(remote) = name.remote() {
            return self.find_served(remote, place, made_bytes);
        }
        let facts = self.facts;
        let known = match facts.targets.get(name.as_str()) {
            Some(Ok(Facts::Here(known))) => known,
            Some(Err(_)) if name.disk_number().is_some_and(|n| n >= facts.disks.len()) => {
                self.unknown_disk(name.as_str());
                return None;
            }
            outcome => {
                let why = outcome.and_then(|facts| facts.as_ref().err());
                let kind = why.map_or(Kind::Other, |why| why.kind);
                let why = why.map_or("it was not looked at", |why| why.message.as_str());
                let message = format!("the target '{name}' cannot be examined: {why}");
                let remedy = mounted_from(name.as_str())
                    .unwrap_or("correct the path, or use an account that may");
                self.findings.target_is(kind, message, remedy);
                return None;
            }
        };
        let kind = self.check_kind(target, known, made_bytes.is_some())?;
        let size_bytes = made_bytes.unwrap_or(known.size_bytes);
        self.check_creation(place, made_bytes.is_some());
        self.check_access(target, known);
        self.check_caching(target, known);
        let sector_bytes = known.logical_sector_bytes;
        let location = Location::here(&known.path);
        Some(Found { location, kind, size_bytes, sector_bytes })
    }

    /// A target of which only the name is real.
    fn virtual_target(&self, target: &Target) -> Found {
        let known = self.facts.here(target);
        let real_bytes = known.map(|facts| facts.size_bytes).filter(|&bytes| bytes > 0);
        let limit_bytes = Some(target.limit_bytes).filter(|&bytes| bytes > 0);
        let size_bytes = files::create_bytes(target)
            .or(real_bytes)
            .or(limit_bytes)
            .unwrap_or_else(|| target.base_bytes.saturating_add(VIRTUAL_BYTES));
        Found {
            location: Location::here(target.path.as_str()),
            kind: TargetKind::Virtual,
            size_bytes,
            sector_bytes: 1,
        }
    }

    fn open(&self, target: &Target) -> OpenPlan {
        let is_mapped_by_choice = self.options.engine.map(kind_of) == Some(EngineKind::Mapped);
        OpenPlan {
            write: target.is_changed(),
            // Past the page cache of a remote file system's client means past all of it here; an export or
            // LUN has none on this host.
            direct: target.caching != Caching::Cached || target.path.remote().is_some(),
            write_through: target.write_through,
            mapped: target.memory_mapped || is_mapped_by_choice,
            flush: target.flush,
            hints: target.hints,
        }
    }

    fn offsets(&mut self, place: Place<'_>, found: &Found) -> Option<OffsetPlan> {
        let target = place.target;
        let room = self.room(place, found)?;
        let order = order(target);
        let follows_ranges = matches!(order, Order::Random | Order::Mixed { .. });
        let distribution = target.distribution.as_ref().filter(|_| follows_ranges);
        let ranges = distribution.map(|given| ranges::effective(given, room)).unwrap_or_default();
        if distribution.is_some() && ranges.is_empty() {
            let message = format!(
                "no range of the distribution of '{}' lies within its {} bytes",
                target.path, found.size_bytes
            );
            self.findings
                .target(message, "give ranges that the target has, or use a larger target");
            return None;
        }
        Some(OffsetPlan {
            base_bytes: room.base_bytes,
            end_bytes: room.end_bytes,
            block_bytes: room.block_bytes,
            align_bytes: room.align_bytes,
            order,
            ranges,
            skew: self.options.skew.filter(|_| follows_ranges),
        })
    }

    /// The range that I/Os may go to; none if the target ends before it.
    fn room(&mut self, place: Place<'_>, found: &Found) -> Option<Room> {
        let target = place.target;
        let limit_bytes = target.limit_bytes;
        if limit_bytes > found.size_bytes {
            let evidence =
                format!("file size {} is less than MaxFileSize {limit_bytes}", found.size_bytes);
            let remedy = "Give an end within the target, or use a larger target.";
            self.findings.warn(WarningKind::RangeBeyondTarget, place, evidence, remedy);
        }
        let limit_bytes = if limit_bytes == 0 { u64::MAX } else { limit_bytes };
        let room = Room {
            base_bytes: target.base_bytes,
            end_bytes: found.size_bytes.min(limit_bytes),
            block_bytes: u64::from(target.largest_block_bytes()),
            align_bytes: target.access.align_bytes.max(1),
        };
        self.check_room(place, found, room).then_some(room)
    }
}

fn order(target: &Target) -> Order {
    let Access { random_percent, interlocked, .. } = target.access;
    match random_percent {
        _ if interlocked => Order::Interlocked,
        _ if target.parallel_same_offset => Order::SameOffset,
        0 => Order::Sequential,
        1..=99 => Order::Mixed { random_percent },
        _ => Order::Random,
    }
}

fn payload(target: &Target) -> PayloadPlan {
    let data = &target.write_data;
    if let Some(reduction) = files::reduction(target) {
        return PayloadPlan::Reduced(reduction);
    }
    if data.fresh_random {
        return PayloadPlan::FreshRandom;
    }
    match &data.source {
        WriteSource::CountingPattern => PayloadPlan::CountingPattern,
        WriteSource::Zero => PayloadPlan::Zero,
        WriteSource::Buffer { bytes, file } => {
            PayloadPlan::Buffer { bytes: *bytes, file: file.as_ref().map(PathBuf::from) }
        }
    }
}

/// Whether a path leads to something that can be made again.
pub(super) fn is_file_or_missing(kind: PathKind) -> bool {
    matches!(kind, PathKind::File | PathKind::Missing)
}
