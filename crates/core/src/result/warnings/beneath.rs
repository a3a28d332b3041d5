//! Figures that no device made, by what the layers beneath the targets counted.

use super::super::beneath::{SEEN, is_of_all};
use super::super::{AnsweredBy, LayerUse, TargetOrigin, Warning, WarningKind};
use super::Seen;
use super::caching::{BESIDE_THE_FILE_SYSTEM, WITH_THE_CACHE, is_past_the_cache};
use super::words::{either, rate, size};
use crate::beneath::{HIDDEN, LayerKind};
use crate::engine::offsets::Reach;
use crate::units::MIB;

/// Doubts about the origin of each target's figures.
pub(super) fn warnings(seen: &Seen) -> Vec<Warning> {
    let Some(beneath) = &seen.measured.beneath else { return Vec::new() };
    let origins = beneath.targets.iter();
    origins.filter_map(|origin| warning(seen, origin).or_else(|| small(seen, origin))).collect()
}

/// A cache of a device may hold what is not larger than this ...
const CACHE_BYTES: u64 = 64 * MIB;
/// ... and does, where it was read so often.
const TIMES_OVER: f64 = 16.0;

/// ... of at least this share of the reads.
const MOST: f64 = 0.5;

/// The warning about so little that was read so often that a cache of the device may hold it: all that the
/// load can touch, or the places that get most of its reads.
fn small(seen: &Seen, origin: &TargetOrigin) -> Option<Warning> {
    let index = origin.target as usize;
    let target = seen.span.targets.get(index)?;
    let read_bytes = origin.asked.read_bytes as f64;
    let offsets = target.read_offsets();
    let range_bytes = offsets.end_bytes.saturating_sub(offsets.base_bytes);
    if read_bytes == 0.0 || range_bytes == 0 || !origin.answered_by.is_device() {
        return None;
    }
    let reach = Reach::of(seen.span, index);
    let times = |(share, bytes): (f64, u64)| read_bytes * share / bytes.max(1) as f64;
    let is_small =
        |&most: &(f64, u64)| (1..=CACHE_BYTES).contains(&most.1) && times(most) >= TIMES_OVER;
    let all = Some((1.0, reach.bytes())).filter(is_small);
    let (used, remedy) = if let Some(all) = all {
        all_used(all.1, range_bytes, times(all))
    } else {
        let most = Some(reach.most_read(MOST)).filter(is_small)?;
        most_used(most, times(most))
    };
    let evidence = format!(
        "{used}: it is possible that a cache of the device, or of what lies beneath it, held all of them"
    );
    Some(seen.about(target, seen.warning(WarningKind::SmallWorkingSet, evidence, remedy)))
}

/// What is said where all that the load can touch is little, and what to do.
fn all_used(bytes: u64, range_bytes: u64, times: f64) -> (String, String) {
    let is_range = bytes.saturating_mul(2) > range_bytes;
    let (of, steps) = if is_range {
        (String::new(), "")
    } else {
        let of = format!(", of a range of {},", size(range_bytes));
        (of, ", with a stride or alignment that leaves less out (-s, -r)")
    };
    let used =
        format!("the {} that were used{of} were read {} times over", size(bytes), rate(times));
    (used, format!("use far more than such a cache may hold (-c, -f){steps}"))
}

/// What is said where most of the reads go to little, and what to do.
fn most_used((share, bytes): (f64, u64), times: f64) -> (String, String) {
    let used = format!(
        "{:.1} % of the reads went to {} alone, which were read {} times over",
        share * 100.0,
        size(bytes),
        rate(times)
    );
    let remedy = "read the figures as those of this skew and not of the device alone, or spread the reads \
                  over far more than such a cache may hold";
    (used, remedy.to_owned())
}

fn warning(seen: &Seen, origin: &TargetOrigin) -> Option<Warning> {
    let target = seen.span.targets.get(origin.target as usize)?;
    let asked = origin.asked;
    if asked.read_ios + asked.write_ios == 0 {
        return None;
    }
    let (kind, remedy) = match origin.answered_by {
        AnsweredBy::NotCounted if has_cached_loop(seen, origin) => {
            (WarningKind::PageCache, reach(seen, origin))
        }
        AnsweredBy::NotCounted if is_served(seen, origin) => {
            (WarningKind::DeviceUnseen, reach(seen, origin))
        }
        AnsweredBy::Device | AnsweredBy::NotCounted => return None,
        AnsweredBy::Unseen if is_hidden(seen, origin) => (
            WarningKind::DeviceUnseen,
            "measure it in the mount namespace where that file system is mounted, or read the figures as those \
             of the file system, whatever it lies on"
                .to_owned(),
        ),
        AnsweredBy::Unseen if has_cached_loop(seen, origin) => (
            WarningKind::DeviceUnseen,
            format!(
                "{}, to measure whoever serves the file system; measure where it is served to know its device",
                reach(seen, origin)
            ),
        ),
        AnsweredBy::Unseen if target.location.served().is_some() || is_over_network(seen, origin) => (
            WarningKind::ServerAnswered,
            "read the figures as those of the server with its cache; use far more than its memory to get past \
             that, or measure on the server to know its device"
                .to_owned(),
        ),
        AnsweredBy::Unseen if is_on_overlay(seen, origin) => (
            WarningKind::DeviceUnseen,
            "measure the file by its path in the layer that holds it (upperdir or lowerdir of the mount), whose \
             device can be seen, or read the figures as those of the file system"
                .to_owned(),
        ),
        AnsweredBy::Unseen => (
            WarningKind::DeviceUnseen,
            "read the figures as those of the file system and of whoever serves it; measure where it is \
             served to know its device"
                .to_owned(),
        ),
        AnsweredBy::Nothing => (
            WarningKind::NotTheDevice,
            "read the figures as the cost of this tool; leave --engine=null out to measure storage"
                .to_owned(),
        ),
        AnsweredBy::Memory => (
            WarningKind::NotTheDevice,
            "read the figures as those of memory and of the kernel, or choose a target on a disk".to_owned(),
        ),
        AnsweredBy::PartlyDevice | AnsweredBy::AboveDevice => {
            (WarningKind::NotTheDevice, reach(seen, origin))
        }
    };
    Some(seen.about(target, seen.warning(kind, origin.sentence.clone(), remedy)))
}

/// Whether a loop device beneath a target goes through the page cache.
fn has_cached_loop(seen: &Seen, origin: &TargetOrigin) -> bool {
    layers(seen, origin).any(LayerUse::is_cached_loop)
}

/// Whether a process of this host serves the file system of a target.
fn is_served(seen: &Seen, origin: &TargetOrigin) -> bool {
    layers(seen, origin).any(LayerUse::is_served)
}

/// Whether a file system of the network is mounted where a target lies.
fn is_over_network(seen: &Seen, origin: &TargetOrigin) -> bool {
    layers(seen, origin).any(LayerUse::is_over_network)
}

/// Whether an overlay lies beneath a target whose layers cannot be seen.
fn is_on_overlay(seen: &Seen, origin: &TargetOrigin) -> bool {
    layers(seen, origin).any(|layer| layer.name == "overlay" && layer.kind == LayerKind::Unseen)
}

/// Whether a target lies on a file system that is mounted only where this process cannot see it, or nowhere
/// any more.
fn is_hidden(seen: &Seen, origin: &TargetOrigin) -> bool {
    layers(seen, origin).any(|layer| layer.kind == LayerKind::Unseen && layer.about == HIDDEN)
}

/// The layers beneath a target.
fn layers<'a>(seen: &'a Seen, origin: &'a TargetOrigin) -> impl Iterator<Item = &'a LayerUse> {
    let beneath = seen.measured.beneath.iter();
    beneath.flat_map(|beneath| origin.layers.iter().map(|&at| &beneath.layers[at as usize]))
}

/// The file system that kept back what did not come as far as the first layer beneath it that counts. No
/// layer further down can have kept it, whatever is set there.
fn kept_back_by<'a>(seen: &'a Seen, origin: &'a TargetOrigin) -> Option<&'a str> {
    let system = layers(seen, origin).next().filter(|one| one.kind == LayerKind::FileSystem)?;
    let first = layers(seen, origin).find_map(|one| one.seen)?;
    let asked = origin.asked;
    // Over several devices, each gets a copy.
    let copies = if system.below.len() == 1 { system.copies() } else { 1 };
    let written = asked.write_bytes * copies;
    let both = [(asked.read_bytes, first.read_bytes), (written, first.write_bytes)];
    let came = |&(asked, seen): &(u64, u64)| asked > 0 && seen as f64 >= SEEN * asked as f64;
    (!is_of_all(origin) && !both.iter().any(came)).then_some(system.name.as_str())
}

/// What to do where a file system kept back what was asked of it past the page cache.
fn reach_past(system: &str) -> String {
    let step = if system == "btrfs" {
        "measure a file that was written whole and without compression (chattr +m before it is written, or a \
         mount without compress)"
    } else {
        "write the whole range once with random data (-w100 -Zr)"
    };
    either(&[step.to_owned(), format!("read the figures as those of {system}")])
}

/// What lets I/Os reach the device, as far as it is not done already.
fn reach(seen: &Seen, origin: &TargetOrigin) -> String {
    let target = &seen.span.targets[origin.target as usize];
    let kept_back = kept_back_by(seen, origin).filter(|_| is_past_the_cache(target));
    if let Some(system) = kept_back
        && !is_served(seen, origin)
    {
        return reach_past(system);
    }
    let refuses = seen.refuses_direct(origin.target as usize);
    let mut steps = Vec::new();
    if refuses {
        steps.push(BESIDE_THE_FILE_SYSTEM);
    } else if !is_past_the_cache(target) {
        steps.push("bypass the page cache (-Su)");
    }
    // Its own cache is another one: who bypasses only one of them measures the other.
    if has_cached_loop(seen, origin) {
        steps.push("attach the loop device with losetup --direct-io=on");
    }
    if !steps.is_empty() {
        let steps = steps.join(", and ");
        return if refuses { either(&[steps, WITH_THE_CACHE.to_owned()]) } else { steps };
    }
    if is_served(seen, origin) {
        return "read the figures as those of the process that serves the file system, with its cache; mount \
                it with a driver of the kernel (ntfs3, exfat), or use far more than the memory, to reach the \
                device"
            .to_owned();
    }
    if is_of_all(origin) {
        return "measure one target at a time to know whose I/Os did not reach the device"
            .to_owned();
    }
    either(&[
        "write the whole range once with random data (-w100 -Zr)".to_owned(),
        "read the figures as those of the layers above the device".to_owned(),
    ])
}
