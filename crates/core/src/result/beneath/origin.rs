//! Whether the figures of a target are a device's, and if not, whose.

use super::{AnsweredBy, Asked, Beneath, LayerUse, TargetOrigin};
use crate::beneath::{Counters, LayerKind};
use crate::plan::SpanPlan;
use crate::result::TimeSpanResult;
use crate::result::warnings::caching::ends_in_cache;
use crate::result::warnings::words::{grouped, size};

/// From this share of the bytes on, a device saw the load; the rest is what lies at the edges of the time.
const SEEN: f64 = 0.9;
/// Below this share, something else answered nearly all of it.
const HARDLY: f64 = 0.1;
/// From so many times the bytes on, a disk below a cache was used by others, too.
const MASKED: f64 = 1.1;
/// File systems whose bytes are not moved on account of the process that reads, beside those that are served.
const ON_OTHER_ACCOUNTS: [&str; 1] = ["bcachefs"];

/// One direction of I/O, asked and seen.
#[derive(Debug, Clone, Copy, Default)]
struct Direction {
    name: &'static str,
    ios: u64,
    bytes: u64,
    /// I/Os that the lowest devices saw; absent where bytes alone are known.
    seen_ios: Option<u64>,
    /// The bytes are those that this process fetched.
    is_fetched: bool,
    seen_bytes: u64,
    /// Bytes that the lowest devices saw of everybody.
    seen_at_devices: u64,
    /// Share of the bytes that were seen.
    share: f64,
}

/// Says of each target where its figures come from.
pub(super) fn judge(beneath: &mut Beneath, plan: &SpanPlan, span: &TimeSpanResult) {
    let judged: Vec<(AnsweredBy, String)> = (0..beneath.targets.len())
        .map(|target| Case { beneath, plan, span, target }.judge())
        .collect();
    for (origin, (answered_by, sentence)) in beneath.targets.iter_mut().zip(judged) {
        origin.answered_by = answered_by;
        origin.sentence = sentence;
    }
}

struct Case<'a> {
    beneath: &'a Beneath,
    plan: &'a SpanPlan,
    span: &'a TimeSpanResult,
    target: usize,
}

impl Case<'_> {
    fn origin(&self) -> &TargetOrigin {
        &self.beneath.targets[self.target]
    }

    fn layer(&self, index: u32) -> &LayerUse {
        &self.beneath.layers[index as usize]
    }

    /// The lowest layers, as positions.
    fn lowest_of(&self, origin: &TargetOrigin) -> Vec<u32> {
        let of = origin.layers.iter().copied();
        of.filter(|&index| self.layer(index).below.is_empty()).collect()
    }

    fn judge(&self) -> (AnsweredBy, String) {
        let lowest = self.lowest_of(self.origin());
        let find = |kind| lowest.iter().map(|&one| self.layer(one)).find(|one| one.kind == kind);
        if lowest.is_empty() {
            return (AnsweredBy::NotCounted, "what lies beneath it cannot be told".to_owned());
        }
        if let Some(layer) = find(LayerKind::Nothing) {
            let words = format!("no storage was touched: the {} answers by itself", layer.name);
            return (AnsweredBy::Nothing, words);
        }
        if let Some(layer) = find(LayerKind::Unseen) {
            let words = format!("no device can be seen beneath it: it lies on {}", in_words(layer));
            return (AnsweredBy::Unseen, words);
        }
        if lowest.iter().all(|&one| self.layer(one).kind == LayerKind::Memory) {
            return (AnsweredBy::Memory, self.memory_in_words(&lowest));
        }
        let (answered_by, words) = self.counted(&lowest);
        // The devices count the I/Os of all of them.
        let is_alone = self.asked_together(&lowest) == self.origin().asked;
        let words =
            if is_alone { words } else { format!("of all targets on the same devices: {words}") };
        (answered_by, words)
    }

    /// What lies in memory may have been moved to swap; the kernel fetches it on account of whoever uses it.
    fn memory_in_words(&self, lowest: &[u32]) -> String {
        let names: Vec<String> = lowest.iter().map(|&one| in_words(self.layer(one))).collect();
        let names = names.join(", ");
        let fetched = self.beneath.process.map_or(0, |own| own.read_bytes);
        let is_file_system =
            |one: &LayerUse| one.is_file_system_in_memory() || one.kind == LayerKind::FileSystem;
        let asked = self.asked_of(lowest);
        let least = HARDLY * asked.iter().map(|one| one.bytes as f64).sum::<f64>();
        // The process fetches its own code, too.
        if !self.beneath.layers.iter().all(is_file_system) || (fetched as f64) <= least {
            return format!("memory and no device answered: it lies on {names}");
        }
        let asked: Vec<String> = asked.iter().map(Direction::asked).collect();
        format!(
            "memory and swap answered: it lies on {names}, and of {}, {} had to be fetched from swap",
            asked.join(" and "),
            size(fetched),
        )
    }

    /// What was asked of all targets on these layers, of each direction in which there was any.
    fn asked_of(&self, lowest: &[u32]) -> Vec<Direction> {
        let Asked { read_ios, read_bytes, write_ios, write_bytes } = self.asked_together(lowest);
        let reads =
            Direction { name: "reads", ios: read_ios, bytes: read_bytes, ..Direction::default() };
        let writes = Direction {
            name: "writes",
            ios: write_ios,
            bytes: write_bytes,
            ..Direction::default()
        };
        [reads, writes].into_iter().filter(|one| one.ios > 0).collect()
    }

    /// What the counters of the lowest devices say.
    fn counted(&self, lowest: &[u32]) -> (AnsweredBy, String) {
        let names: Vec<&str> = lowest.iter().map(|&one| self.layer(one).name.as_str()).collect();
        let names = names.join(", ");
        let Some(directions) = self.directions(lowest) else {
            let words = format!(
                "whether {names} saw any of it cannot be told: its counters are off (queue/iostats)"
            );
            return (AnsweredBy::NotCounted, words);
        };
        let asked: Vec<Direction> = directions.into_iter().filter(|one| one.ios > 0).collect();
        let missed: Vec<&Direction> = asked.iter().filter(|one| self.is_missed(one)).collect();
        let Some(least) = missed.iter().map(|one| one.share).min_by(f64::total_cmp) else {
            let masked = self.masked(&asked, &names);
            return masked.map_or_else(
                || self.all_seen(&asked, &names),
                |words| (AnsweredBy::NotCounted, words),
            );
        };
        let told: Vec<String> = missed.iter().map(|one| one.in_words(&names)).collect();
        let answered_by =
            if least < HARDLY { AnsweredBy::AboveDevice } else { AnsweredBy::PartlyDevice };
        (answered_by, format!("{}{}", told.join("; "), self.who_answered(lowest)))
    }

    /// Nothing is missing. Of writes that end in the page cache, this does not say that they were among those
    /// that the devices saw.
    fn all_seen(&self, asked: &[Direction], names: &str) -> (AnsweredBy, String) {
        let ends_in_cache = self.plan.targets.get(self.target).is_some_and(ends_in_cache);
        let is_open = |one: &&Direction| ends_in_cache && one.name == "writes";
        let (open, all): (Vec<&Direction>, Vec<&Direction>) = asked.iter().partition(is_open);
        let all: Vec<String> = all.into_iter().map(Direction::asked).collect();
        let reached = format!("all of {} reached {names}", all.join(" and "));
        let Some(open) = open.first() else {
            let nothing = || format!("no I/O completed, and nothing is known of {names}");
            return (AnsweredBy::Device, if all.is_empty() { nothing() } else { reached });
        };
        let words = format!(
            "whether {} reached {names} cannot be told: they end in the page cache, and {names} saw {} of \
             everybody",
            open.asked(),
            size(open.seen_at_devices),
        );
        let words = if all.is_empty() { words } else { format!("{reached}; {words}") };
        (AnsweredBy::NotCounted, words)
    }

    /// The kernel reads the file of a loop device on nobody's account, and a process that serves a file
    /// system on its own, and a cache of either may answer: what others do on the disk meanwhile cannot be
    /// told from what the load did.
    fn masked(&self, asked: &[Direction], names: &str) -> Option<String> {
        let layers = || self.origin().layers.iter().map(|&layer| self.layer(layer));
        let cached = layers().find(|layer| layer.is_cached_loop());
        let served = layers().find(|layer| layer.is_served());
        let answers = match (served, cached) {
            (_, Some(layer)) => format!("the loop device {}", in_words(layer)),
            (Some(layer), None) => format!("the process that serves {}", layer.name),
            (None, None) => return None,
        };
        // What a server has to put on stable storage, it cannot keep.
        let is_through = |one: &Direction| {
            let target = self.plan.targets.get(self.target);
            one.name == "writes" && target.is_some_and(|target| target.open.write_through)
        };
        let is_more = |one: &&Direction| {
            one.seen_at_devices as f64 > MASKED * one.bytes as f64
                && (cached.is_some() || !is_through(one))
        };
        let one = asked.iter().find(is_more)?;
        Some(format!(
            "whether {} reached {names} cannot be told: {answers} answers, and {names} saw {} of everybody",
            one.asked(),
            size(one.seen_at_devices),
        ))
    }

    /// More is missing than what was in flight at the edges.
    fn is_missed(&self, one: &Direction) -> bool {
        let streams = self.plan.threads.iter().flat_map(|thread| &thread.assignments);
        let slots: u64 = streams.map(|assignment| u64::from(assignment.outstanding)).sum();
        let edge_bytes = (2 * slots + 2) as f64 * one.bytes as f64 / one.ios as f64;
        one.share < SEEN && (1.0 - one.share) * one.bytes as f64 > edge_bytes
    }

    /// Reads and writes of all targets on the same devices; nothing if nothing counts them.
    fn directions(&self, lowest: &[u32]) -> Option<[Direction; 2]> {
        let asked = self.asked_together(lowest);
        let process = self.beneath.process.filter(|_| self.is_on_own_account());
        let mut seen = Some((0, 0, 0, 0));
        for &layer in lowest {
            let counters = self.nearest_counted(layer);
            seen = seen.zip(counters).map(|((ri, rb, wi, wb), one)| {
                (ri + one.read_ios, rb + one.read_bytes, wi + one.write_ios, wb + one.write_bytes)
            });
        }
        // What this process fetched is known beside what the devices did for everybody. What it wrote may
        // still be in a cache, and counts where nothing else does.
        let fetched = process.map(|own| own.read_bytes);
        let written = process.map(|own| own.write_bytes).filter(|_| seen.is_none());
        // The window may be shorter than the measured time by what the coordinator came late.
        let late = self.span.measured_ns as f64 / self.beneath.counted_ns.max(1) as f64;
        let at_devices = seen.map_or((0, 0), |(_, read, _, written)| (read, written));
        let direction = |name, ios, bytes, seen_ios: Option<u64>, seen_bytes: u64| Direction {
            seen_at_devices: if name == "reads" { at_devices.0 } else { at_devices.1 },
            name,
            ios,
            bytes,
            seen_ios,
            is_fetched: name == "reads" && fetched == Some(seen_bytes),
            seen_bytes,
            share: if bytes == 0 { 1.0 } else { seen_bytes as f64 * late.max(1.0) / bytes as f64 },
        };
        let [read, write] = [|one: &Counters| one.read_bytes, |one: &Counters| one.write_bytes];
        let reads = fewest(
            seen.map(|(ios, bytes, ..)| (ios, bytes)),
            [self.narrowest(lowest, read), fetched],
        )?;
        let writes = fewest(
            seen.map(|(.., ios, bytes)| (ios, bytes)),
            [self.narrowest(lowest, write), written],
        )?;
        Some([
            direction("reads", asked.read_ios, asked.read_bytes, reads.0, reads.1),
            direction("writes", asked.write_ios, asked.write_bytes, writes.0, writes.1),
        ])
    }

    /// The fewest bytes that any loop device of a single chain saw, and any layer at all where nothing tells
    /// what is done for this process: what did not come through one did not reach the device either, whatever
    /// others did there.
    fn narrowest(&self, lowest: &[u32], bytes: fn(&Counters) -> u64) -> Option<u64> {
        let layers = self.origin().layers.iter().map(|&layer| self.layer(layer));
        let is_chain = lowest.len() == 1 && layers.clone().all(|layer| layer.below.len() <= 1);
        let is_on_own_account = self.is_on_own_account();
        let tells = |layer: &&LayerUse| layer.kind == LayerKind::Loop || !is_on_own_account;
        let seen = layers.filter(tells).filter_map(|layer| layer.seen.as_ref().map(bytes));
        seen.min().filter(|_| is_chain)
    }

    /// What was asked of all targets that lie on any of these devices.
    fn asked_together(&self, lowest: &[u32]) -> Asked {
        let shares = |origin: &&TargetOrigin| {
            self.lowest_of(origin).iter().any(|layer| lowest.contains(layer))
        };
        let all = self.beneath.targets.iter().filter(shares).map(|origin| origin.asked);
        all.fold(Asked::default(), |sum, one| Asked {
            read_ios: sum.read_ios + one.read_ios,
            read_bytes: sum.read_bytes + one.read_bytes,
            write_ios: sum.write_ios + one.write_ios,
            write_bytes: sum.write_bytes + one.write_bytes,
        })
    }

    /// The counters of a lowest device; where they are off, those of the layer above if that has no other.
    fn nearest_counted(&self, layer: u32) -> Option<Counters> {
        let mut at = layer;
        loop {
            if let Some(seen) = self.layer(at).seen {
                return Some(seen);
            }
            at = self
                .origin()
                .layers
                .iter()
                .copied()
                .find(|&above| self.layer(above).below == [at])?;
        }
    }

    /// Whether the kernel counts what the target moves on account of this process.
    fn is_on_own_account(&self) -> bool {
        let mut layers = self.origin().layers.iter().map(|&layer| self.layer(layer));
        !layers.any(|layer| layer.is_served() || ON_OTHER_ACCOUNTS.contains(&layer.name.as_str()))
    }

    /// The lowest layer that saw the load although the devices did not, if there is one.
    fn who_answered(&self, lowest: &[u32]) -> String {
        let asked = self.origin().asked;
        let saw = |layer: &&LayerUse| {
            let Some(seen) = layer.seen else { return false };
            seen.read_bytes as f64 >= SEEN * asked.read_bytes as f64
                && seen.write_bytes as f64 >= SEEN * asked.write_bytes as f64
        };
        let above = self.origin().layers.iter().filter(|layer| !lowest.contains(layer));
        let layers: Vec<&LayerUse> = above.map(|&layer| self.layer(layer)).collect();
        // What did not come through one layer, others brought to those below.
        let through = layers.into_iter().take_while(|layer| layer.seen.is_none() || saw(layer));
        let last = through.filter(saw).last();
        last.map_or_else(String::new, |layer| {
            let what = if layer.kind == LayerKind::Loop { "the loop device " } else { "" };
            format!("; {what}{} saw them", in_words(layer))
        })
    }
}

impl Direction {
    /// What was asked, in words.
    fn asked(&self) -> String {
        let name = if self.ios == 1 { self.name.trim_end_matches('s') } else { self.name };
        format!("{} {name} ({})", grouped(self.ios), size(self.bytes))
    }

    fn in_words(self, names: &str) -> String {
        let Self { ios, seen_ios, is_fetched, seen_bytes, .. } = self;
        let asked = format!("of {}", self.asked());
        match seen_ios {
            Some(seen) if seen <= ios => {
                format!("{asked}, {} ({}) reached {names}", grouped(seen), size(seen_bytes))
            }
            // I/Os were divided on their way: bytes tell.
            Some(_) => format!("{asked}, {} reached {names}", size(seen_bytes)),
            None if is_fetched => {
                format!("{asked}, {} came from any device", size(seen_bytes))
            }
            None => format!("{asked}, {} reached any device", size(seen_bytes)),
        }
    }
}

/// The fewest bytes that any of these counted, with the I/Os of the devices if these saw no more.
fn fewest(seen: Option<(u64, u64)>, others: [Option<u64>; 2]) -> Option<(Option<u64>, u64)> {
    let least = others.into_iter().flatten().min();
    match (seen, least) {
        (Some((_, bytes)), Some(least)) if least < bytes => Some((None, least)),
        (Some((ios, bytes)), _) => Some((Some(ios), bytes)),
        (None, least) => least.map(|bytes| (None, bytes)),
    }
}

fn in_words(layer: &LayerUse) -> String {
    let LayerUse { name, about, .. } = layer;
    if about.is_empty() { name.clone() } else { format!("{name}, {about}") }
}
