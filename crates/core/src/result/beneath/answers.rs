//! Caches and processes that answer before a device, and what of its counters is theirs to explain.

use super::flows::{Direction, Flow, SEEN};
use super::origin::{Case, Group, in_words};
use crate::plan::{Order, TargetPlan};
use crate::result::warnings::caching::{ends_in_cache, is_past_the_cache};
use crate::result::warnings::words::{grouped, size};
use crate::result::{AnsweredBy, TargetOrigin};

/// Begins what is known of several targets together.
const OF_ALL: &str = "of all targets on the same devices";
/// From so many times the bytes on, a disk below a cache was used by others, too.
const MASKED: f64 = 1.1;

/// A layer that may answer what never comes to a device.
struct Answering {
    /// The targets on it.
    targets: Vec<usize>,
    is_loop: bool,
    words: String,
}

impl Case<'_> {
    /// Whether a layer beneath the target may answer, so that what the devices saw may be that of others.
    pub(super) fn has_answering(&self) -> bool {
        self.answering().is_some()
    }

    /// The kernel reads the file of a loop device on nobody's account, and a process that serves a file
    /// system on its own, and a cache of either may answer.
    fn answering(&self) -> Option<Answering> {
        let layers = || self.origin().layers.iter().copied();
        let cached = layers().find(|&at| self.layer(at).is_cached_loop());
        let at = cached.or_else(|| layers().find(|&at| self.layer(at).is_served()))?;
        let layer = self.layer(at);
        let words = if cached.is_some() {
            format!("the loop device {}", in_words(layer))
        } else {
            format!("the process that serves {}", layer.name)
        };
        Some(Answering { targets: self.through(&[at]), is_loop: cached.is_some(), words })
    }

    /// Where a layer may answer, what others do on the disk meanwhile cannot be told from what the load did,
    /// and what is missing may be all that was asked of this layer, however little that is of the whole.
    pub(super) fn masked(
        &self,
        asked: &[Direction],
        names: &str,
        group: Option<&Group>,
    ) -> Option<String> {
        let answering = self.answering()?;
        let all = group.map_or(&answering.targets, |group| &group.targets);
        let is_other = |target: &&usize| !answering.targets.contains(target);
        let others: Vec<usize> = all.iter().filter(is_other).copied().collect();
        // What a server has to put on stable storage, it cannot keep.
        let is_through = |one: &Direction| {
            one.together.name == "writes"
                && self.plan_of().is_some_and(|one| one.open.write_through)
        };
        let is_open = |one: &&Direction| {
            (answering.is_loop || !is_through(one)) && self.is_masked(one, &answering, &others)
        };
        let one = asked.iter().find(is_open)?;
        let own = Flow::of(self.asked(&answering.targets), one.together.name);
        let asked_of_others = Flow::of(self.asked(&others), one.together.name).bytes;
        let beside = if asked_of_others == 0 {
            String::new()
        } else {
            format!(", while other targets asked {} of it", size(asked_of_others))
        };
        let words = format!(
            "whether {} reached {names} cannot be told: {} answers, and {names} saw {} of everybody{beside}",
            own.in_words(),
            answering.words,
            size(one.seen_at_devices()),
        );
        Some(if self.is_alone(&answering.targets) { words } else { of_all(&words) })
    }

    /// Whether what the devices saw beside the other targets is not what was asked of this layer.
    fn is_masked(&self, one: &Direction, answering: &Answering, others: &[usize]) -> bool {
        let name = one.together.name;
        let own = Flow::of(self.asked(&answering.targets), name);
        // The devices also saw what was in flight at the end.
        let own_late = own.bytes_of(self.slots(&answering.targets) + 1);
        let own = own.bytes as f64;
        let of_others = Flow::of(self.asked(others), name);
        let left = one.seen_at_devices() as f64 * self.late() - of_others.bytes as f64;
        if of_others.ios == 0 {
            return left > MASKED * own + own_late;
        }
        let in_flight = of_others.bytes_of(self.slots(others) + 1);
        left - in_flight < SEEN * own || left > MASKED * own + in_flight + own_late
    }

    /// What fetched the reads, where fewer fetches did than there were reads: nothing but the page cache can
    /// have answered the others. Where reads follow each other, it reads ahead of them, and whether each
    /// waited for a device cannot be told.
    pub(super) fn fetched_ahead(
        &self,
        one: &Direction,
        names: &str,
        group: Option<&Group>,
    ) -> Option<(AnsweredBy, String)> {
        let (came, group) = (one.at_devices?.came?, group?);
        if one.together.name != "reads" || !self.reads_through_cache(self.target) {
            return None;
        }
        let (cached, past): (Vec<usize>, Vec<usize>) =
            group.targets.iter().partition(|&&target| self.reads_through_cache(target));
        let reads = Flow::of(self.asked(&cached), one.together.name).ios;
        let others = Flow::of(self.asked(&past), one.together.name).ios;
        let all = came.ios + came.merged;
        let fetches = all.saturating_sub(others) as f64 * self.late();
        let missing = reads as f64 - fetches;
        if fetches >= SEEN * reads as f64 || missing <= self.edge_ios() as f64 {
            return None;
        }
        let words = format!(
            "{} of {} from {names} served {}",
            if all == 1 { "1 fetch".to_owned() } else { format!("{} fetches", grouped(all)) },
            size(came.bytes),
            one.together.in_words()
        );
        let is_random = cached.iter().all(|&target| self.reads_at_random(target));
        Some(if is_random {
            (AnsweredBy::PartlyDevice, format!("{words}; the page cache answered the rest"))
        } else {
            (AnsweredBy::NotCounted, format!("{words}, as the page cache reads ahead"))
        })
    }

    /// Whether no read of a target follows another one, as the page cache could know.
    fn reads_at_random(&self, target: usize) -> bool {
        let plan = self.plan.targets.get(target);
        let is_read = Flow::of(self.origin_of(target).asked, "reads").ios > 0;
        !is_read || plan.is_some_and(|plan| plan.read_offsets().order == Order::Random)
    }

    /// Whether the page cache may answer reads of a target: that of the target itself, or of a file that a
    /// loop device beneath it reads.
    fn reads_through_cache(&self, target: usize) -> bool {
        let is_past = self.plan.targets.get(target).is_none_or(is_past_the_cache);
        let mut layers = self.origin_of(target).layers.iter();
        !is_past || layers.any(|&at| self.layer(at).is_cached_loop())
    }

    /// Whether I/Os of this direction end in the page cache: what devices saw may then be anybody's.
    pub(super) fn is_open(&self, name: &str) -> bool {
        name == "writes" && self.plan_of().is_some_and(ends_in_cache)
    }

    /// Trims beside the discards that the devices saw; nothing if there were none.
    pub(super) fn trims_in_words(&self, names: &str, group: Option<&Group>) -> Option<String> {
        let asked = self.origin().asked;
        let (ios, bytes) = (asked.trim_ios, asked.trim_bytes);
        if ios == 0 {
            return None;
        }
        let completed = Flow { name: "trims", ios, bytes }.in_words();
        let layers = || group.into_iter().flat_map(|group| &group.layers);
        let seen: Option<u64> =
            layers().map(|&layer| Some(self.layer(layer).seen?.discard_ios)).sum();
        let Some(seen) = seen.filter(|_| group.is_some()) else {
            return Some(format!("{completed} completed, and {names} counts no discards"));
        };
        let discards = if seen == 1 { "discard" } else { "discards" };
        Some(format!(
            "{completed} completed, and {names} saw {} {discards} of everybody: ranges are merged and \
             divided on their way, so that none can be followed by itself",
            grouped(seen)
        ))
    }

    fn plan_of(&self) -> Option<&TargetPlan> {
        self.plan.targets.get(self.target)
    }
}

pub(super) fn of_all(words: &str) -> String {
    format!("{OF_ALL}: {words}")
}

/// Whether what is missing may be that of other targets on the same devices.
pub(in crate::result) fn is_of_all(origin: &TargetOrigin) -> bool {
    origin.sentence.contains(OF_ALL)
}
