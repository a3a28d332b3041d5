//! The page cache between the load and the device.

use std::fs::File;
use std::path::Path;

use fathom_sys::residency as pages;

use super::super::{AnsweredBy, LayerUse, TargetOrigin, Warning, WarningKind};
use super::words::{count, either, percent, size};
use super::{Counts, Seen, number};
use crate::beneath::LayerKind;
use crate::control_groups;
use crate::engine::offsets::Reach;
use crate::measure::EventSink;
use crate::plan::{Plan, SpanPlan, TargetPlan, limits};
use crate::supervise::within;
use crate::tree::Tree;

/// With a smaller share than this in the cache, in percent, it served next to nothing.
const RESIDENT_PERCENT_MIN: f64 = 1.0;

/// What to do where the file system of a target refuses I/O past the page cache.
pub(super) const BESIDE_THE_FILE_SYSTEM: &str = "measure the block device itself past the page cache (-Su), \
    which the file system cannot bypass";
/// What to do beside that.
pub(super) const WITH_THE_CACHE: &str = "drop the caches before, and use far more than the memory";

/// How much of a target the page cache held after a time span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetResidency {
    /// Position of the time span, from 0.
    pub time_span: u32,
    /// Position of the target in its time span, from 0.
    pub target: u32,
    /// Bytes of the range that were used: what a stride or an alignment leaves out is none of them.
    pub range_bytes: u64,
    /// Bytes of these that the page cache held.
    pub resident_bytes: u64,
    /// Memory that the page cache may take, in bytes: that of the host, or what a control group allows.
    pub memory_bytes: u64,
    /// The directory of the control group that allows less than the host has, if one does.
    pub memory_group: Option<String>,
    /// The target cannot be used past the page cache.
    pub refuses_direct: bool,
}

/// The targets of a time span, open for [`residency()`] where the limit of open files has room, in order.
pub type CachedTargets = Vec<Option<File>>;

/// Opens each target that is used through the page cache, before the load.
///
/// Some file systems (FUSE, those of networks) empty the cache of a file when it is opened, so that a look
/// that opens it behind the load finds nothing. Where the limit of open files has no room beside what the
/// load opens, that look has to do. Each opening that may hang is reported to `sink`.
#[must_use]
pub fn cached_targets(plan: &Plan, span: &SpanPlan, sink: EventSink<'_>) -> CachedTargets {
    let room =
        limits::spare_now(plan).map_or(usize::MAX, |left| left.try_into().unwrap_or(usize::MAX));
    span.targets.iter().take(room).map(|target| open(target, sink)).collect()
}

/// Opens a target, unless nothing of it can be in the page cache.
fn open(target: &TargetPlan, sink: EventSink<'_>) -> Option<File> {
    if !target.kind.is_local() || is_past_the_cache(target) {
        return None;
    }
    let doing = format!("open '{}' to look what the page cache holds of it", target.name);
    within(sink, doing, || File::open(target.path()).ok())
}

/// Whether I/Os of a target bypass the page cache.
pub(in crate::result) fn is_past_the_cache(target: &TargetPlan) -> bool {
    target.open.direct && !target.open.mapped
}

/// How much of each target of a time span that is used through the page cache this holds now.
///
/// Targets that cannot be asked are left out. Each look that may hang is reported to `sink`.
#[must_use]
pub fn residency(
    span: &SpanPlan,
    targets: CachedTargets,
    sink: EventSink<'_>,
) -> Vec<TargetResidency> {
    let host_bytes = fathom_sys::host::memory_bytes().unwrap_or(0);
    let group = control_groups::tightest_memory(&Tree::new(Path::new("/")));
    let group = group.filter(|&(_, limit)| limit < host_bytes);
    let memory_bytes = group.as_ref().map_or(host_bytes, |&(_, limit)| limit);
    let memory_group = group.map(|(folder, _)| folder);
    let mut kept = targets.into_iter();
    let ask = |(index, target): (usize, &TargetPlan)| {
        let file = kept.next().flatten().or_else(|| open(target, sink))?;
        let range = target.offsets.base_bytes..target.offsets.end_bytes;
        let range_bytes = range.end.checked_sub(range.start)?;
        let range_bytes = Reach::of(span, index).bytes().min(range_bytes);
        let doing = format!("look how much of '{}' the page cache holds", target.name);
        // The file is closed in there, too, which may hang as well.
        let look = move || {
            let resident_bytes = pages::resident_bytes(&file, range).ok()?;
            Some((resident_bytes, pages::refuses_direct(&file)))
        };
        let (resident_bytes, refuses_direct) = within(sink, doing, look)?;
        let resident_bytes = resident_bytes.min(range_bytes);
        let (time_span, target) = (number(span.index), number(index));
        let memory_group = memory_group.clone();
        Some(TargetResidency {
            time_span,
            target,
            range_bytes,
            resident_bytes,
            memory_bytes,
            memory_group,
            refuses_direct,
        })
    };
    span.targets.iter().enumerate().filter_map(ask).collect()
}

/// Doubts about reads that the page cache served, and writes that ended there.
pub(super) fn warnings(seen: &Seen) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (index, target) in seen.real_targets() {
        if is_past_the_cache(target) {
            continue;
        }
        // Another warning says that of a file in memory.
        if lies_in_page_cache(seen, index) {
            continue;
        }
        let is_unseen =
            origin(seen, index).is_some_and(|origin| origin.answered_by == AnsweredBy::Unseen);
        let counts = seen.counts(index);
        let bypass = (!seen.refuses_direct(index)).then(|| bypass(target));
        let found = [
            cached_reads(&counts, seen.resident(index), is_unseen, bypass.clone()),
            cached_writes(target, &counts, is_unseen, bypass),
        ];
        warnings.extend(found.into_iter().flatten().map(|warning| seen.about(target, warning)));
    }
    warnings
}

fn origin<'a>(seen: &'a Seen, target: usize) -> Option<&'a TargetOrigin> {
    let beneath = seen.measured.beneath.as_ref()?;
    beneath.targets.iter().find(|origin| origin.target == number(target))
}

/// Whether the page cache is all there is of a target.
pub(super) fn lies_in_page_cache(seen: &Seen, target: usize) -> bool {
    origin(seen, target).is_some_and(|origin| is_nothing_but_cache(seen, origin))
}

/// Whether no device lies beneath a target, but a file system in memory.
fn is_nothing_but_cache(seen: &Seen, origin: &TargetOrigin) -> bool {
    let layers = seen.measured.beneath.iter().flat_map(|beneath| &beneath.layers);
    let layers: Vec<&LayerUse> = layers.collect();
    let mine = || origin.layers.iter().filter_map(|&at| layers.get(at as usize));
    mine().any(|layer| layer.is_file_system_in_memory())
        && mine()
            .all(|layer| layer.is_file_system_in_memory() || layer.kind == LayerKind::FileSystem)
}

fn page_cache(evidence: String, remedy: String) -> Warning {
    Warning { kind: WarningKind::PageCache, target: None, time_span: None, evidence, remedy }
}

fn cached_reads(
    counts: &Counts,
    resident: Option<&TargetResidency>,
    is_unseen: bool,
    bypass: Option<String>,
) -> Option<Warning> {
    let share = resident.map(|found| percent(found.resident_bytes, found.range_bytes));
    if counts.read_ios == 0 || share.is_some_and(|share| share < RESIDENT_PERCENT_MIN) {
        return None;
    }
    let mut evidence = format!("{} went through the page cache", count(counts.read_ios, "read"));
    let beside = if is_unseen { WITH_THE_CACHE } else { BESIDE_THE_FILE_SYSTEM };
    let mut remedies = vec![bypass.unwrap_or_else(|| beside.to_owned())];
    if let (Some(found), Some(share)) = (resident, share) {
        let held = format!(
            ", which held {share:.1} % of the {} that were read from; {} {} of memory",
            size(found.range_bytes),
            found.memory_group.as_ref().map_or_else(
                || "the host has".to_owned(),
                |group| format!("the control group {group} allows"),
            ),
            size(found.memory_bytes),
        );
        evidence.push_str(&held);
        if found.range_bytes < found.memory_bytes.saturating_mul(2) {
            remedies.push(format!(
                "read from far more than the {} of memory",
                size(found.memory_bytes)
            ));
        }
    }
    Some(page_cache(evidence, either(&remedies)))
}

/// A log that syncs behind each write has it on the device before the next.
fn syncs_each_write(target: &TargetPlan) -> bool {
    let sync = target.mix.as_ref().and_then(|mix| mix.sync);
    sync.is_some_and(|cadence| cadence.every_writes == 1)
}

/// Whether writes are done when they are in the page cache, from where they reach the device some time later.
pub(in crate::result) fn ends_in_cache(target: &TargetPlan) -> bool {
    let open = target.open;
    let reaches_device = if open.mapped { open.flush.is_some() } else { open.write_through };
    !is_past_the_cache(target) && !reaches_device && !syncs_each_write(target)
}

/// Who serves a file system from elsewhere decides what becomes of writes.
fn cached_writes(
    target: &TargetPlan,
    counts: &Counts,
    is_unseen: bool,
    bypass: Option<String>,
) -> Option<Warning> {
    let open = target.open;
    if counts.write_ios == 0 || !ends_in_cache(target) {
        return None;
    }
    let (end, where_to) = if is_unseen {
        (
            "may have ended in the page cache, of this host or of who serves the file system",
            "a device",
        )
    } else {
        ("ended in the page cache", "the device")
    };
    let evidence = format!(
        "{} ({}) {end}, and {} {where_to} at some later time",
        count(counts.write_ios, "write"),
        size(counts.write_bytes),
        if counts.write_ios == 1 { "reaches" } else { "reach" },
    );
    let flushed = if open.mapped {
        "flush mapped writes (-Nv)"
    } else {
        "end each write only on stable storage (-Sw)"
    };
    let remedies: Vec<String> = bypass.into_iter().chain([flushed.to_owned()]).collect();
    Some(page_cache(evidence, either(&remedies)))
}

fn bypass(target: &TargetPlan) -> String {
    if target.open.mapped {
        "bypass the page cache (-Su) in place of the mapping (-Sm)".to_owned()
    } else {
        "bypass the page cache (-Su)".to_owned()
    }
}
