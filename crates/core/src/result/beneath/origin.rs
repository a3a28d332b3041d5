//! Whether the figures of a target are a device's, and if not, whose.

use super::{AnsweredBy, Asked, Beneath, LayerUse, TargetOrigin};
use crate::beneath::{Counters, LayerKind};
use crate::plan::SpanPlan;
use crate::result::TimeSpanResult;
use crate::result::warnings::caching::ends_in_cache;
use crate::result::warnings::words::{grouped, size};

/// From this share of the bytes on, a device saw the load; the rest is what lies at the edges of the time.
pub(in crate::result) const SEEN: f64 = 0.9;
/// Below this share, something else answered nearly all of it.
const HARDLY: f64 = 0.1;
/// From so many times the bytes on, a disk below a cache was used by others, too.
const MASKED: f64 = 1.1;
/// Begins what is known of several targets together.
const OF_ALL: &str = "of all targets on the same devices";
/// File systems whose bytes are not moved on account of the process that reads, beside those that are served.
const ON_OTHER_ACCOUNTS: [&str; 1] = ["bcachefs"];

/// One direction of I/O, asked and seen.
#[derive(Debug, Clone, Copy)]
struct Direction {
    /// What was asked of all targets on the same devices.
    together: Flow,
    /// Bytes that these devices saw of everybody.
    seen_at_devices: u64,
    /// What saw the smallest share of what was asked through it.
    least: Witness,
}

/// I/Os of one direction.
#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    name: &'static str,
    ios: u64,
    bytes: u64,
}

/// What a counter saw, beside what it should have seen: the I/Os of those targets that go through it, and no
/// others.
#[derive(Debug, Clone, Copy)]
struct Witness {
    asked: Flow,
    /// No other target goes through it.
    is_alone: bool,
    /// I/Os that it saw; absent where bytes alone are known.
    seen_ios: Option<u64>,
    /// The bytes are those that this process fetched.
    is_fetched: bool,
    seen_bytes: u64,
    /// Share of the bytes that were seen.
    share: f64,
}

/// Layers that count, and the targets whose I/Os they see.
struct Group {
    layers: Vec<u32>,
    targets: Vec<usize>,
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
        self.origin_of(self.target)
    }

    fn origin_of(&self, target: usize) -> &TargetOrigin {
        &self.beneath.targets[target]
    }

    fn layer(&self, index: u32) -> &LayerUse {
        &self.beneath.layers[index as usize]
    }

    /// The layers beneath the target.
    fn layers(&self) -> impl Iterator<Item = &LayerUse> {
        self.origin().layers.iter().map(|&layer| self.layer(layer))
    }

    /// The loop device beneath it that goes through the page cache, if there is one.
    fn cached_loop(&self) -> Option<&LayerUse> {
        self.layers().find(|layer| layer.is_cached_loop())
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
            let before = self.answers_before();
            let words =
                format!("no device can be seen beneath it: it lies on {}{before}", in_words(layer));
            return (AnsweredBy::Unseen, words);
        }
        if lowest.iter().all(|&one| self.layer(one).kind == LayerKind::Memory) {
            return (AnsweredBy::Memory, self.memory_in_words(&lowest));
        }
        self.counted(&lowest)
    }

    /// What is known to hold data above a layer beneath which nothing can be seen.
    fn answers_before(&self) -> String {
        self.cached_loop().map_or_else(String::new, |layer| {
            format!("; the loop device {} may answer before it", in_words(layer))
        })
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
        let asked: Vec<String> = asked.into_iter().map(Flow::in_words).collect();
        format!(
            "memory and swap answered: it lies on {names}, and of {}, {} had to be fetched from swap",
            asked.join(" and "),
            size(fetched),
        )
    }

    /// What was asked of all targets on these layers, of each direction in which there was any.
    fn asked_of(&self, lowest: &[u32]) -> Vec<Flow> {
        let flows = Flow::both(self.asked(&self.through(lowest)));
        flows.into_iter().filter(|one| one.ios > 0).collect()
    }

    /// What the counters of the lowest devices say.
    fn counted(&self, lowest: &[u32]) -> (AnsweredBy, String) {
        let group = self.group(lowest);
        let layers = group.as_ref().map_or(lowest, |group| &group.layers);
        let names = self.names(layers);
        let Some(directions) = self.directions(lowest, group.as_ref()) else {
            let words = format!(
                "whether {names} saw any of it cannot be told: its counters are off (queue/iostats)"
            );
            return (AnsweredBy::NotCounted, words);
        };
        let asked: Vec<Direction> =
            directions.into_iter().filter(|one| one.together.ios > 0).collect();
        let missed: Vec<Witness> =
            asked.iter().map(|one| one.least).filter(|one| self.is_missed(one)).collect();
        let Some(least) = missed.iter().map(|one| one.share).min_by(f64::total_cmp) else {
            let masked = self.masked(&asked, &names);
            let (answered_by, words) = masked.map_or_else(
                || self.all_seen(&asked, &names),
                |words| (AnsweredBy::NotCounted, words),
            );
            let is_alone = group.is_none_or(|group| self.is_alone(&group.targets));
            return (answered_by, if is_alone { words } else { of_all(&words) });
        };
        let (own, all): (Vec<Witness>, Vec<Witness>) =
            missed.into_iter().partition(|one| one.is_alone);
        let told = |some: &[Witness]| {
            some.iter().map(|one| one.in_words(&names)).collect::<Vec<_>>().join("; ")
        };
        let (own, all) = (told(&own), told(&all));
        let parts = [own, if all.is_empty() { all } else { of_all(&all) }];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let answered_by =
            if least < HARDLY { AnsweredBy::AboveDevice } else { AnsweredBy::PartlyDevice };
        (answered_by, format!("{}{}", parts.join("; "), self.who_answered(lowest)))
    }

    fn names(&self, layers: &[u32]) -> String {
        let names: Vec<&str> = layers.iter().map(|&one| self.layer(one).name.as_str()).collect();
        names.join(", ")
    }

    /// Nothing is missing. Of writes that end in the page cache, this does not say that they were among those
    /// that the devices saw.
    fn all_seen(&self, asked: &[Direction], names: &str) -> (AnsweredBy, String) {
        let ends_in_cache = self.plan.targets.get(self.target).is_some_and(ends_in_cache);
        let is_open = |one: &&Direction| ends_in_cache && one.together.name == "writes";
        let (open, all): (Vec<&Direction>, Vec<&Direction>) = asked.iter().partition(is_open);
        let all: Vec<String> = all.into_iter().map(|one| one.together.in_words()).collect();
        let reached = format!("all of {} reached {names}", all.join(" and "));
        let Some(open) = open.first() else {
            let nothing = || format!("no I/O completed, and nothing is known of {names}");
            return (AnsweredBy::Device, if all.is_empty() { nothing() } else { reached });
        };
        let words = format!(
            "whether {} reached {names} cannot be told: they end in the page cache, and {names} saw {} of \
             everybody",
            open.together.in_words(),
            size(open.seen_at_devices),
        );
        let words = if all.is_empty() { words } else { format!("{reached}; {words}") };
        (AnsweredBy::NotCounted, words)
    }

    /// The kernel reads the file of a loop device on nobody's account, and a process that serves a file
    /// system on its own, and a cache of either may answer: what others do on the disk meanwhile cannot be
    /// told from what the load did.
    fn masked(&self, asked: &[Direction], names: &str) -> Option<String> {
        let cached = self.cached_loop();
        let served = self.layers().find(|layer| layer.is_served());
        let answers = match (served, cached) {
            (_, Some(layer)) => format!("the loop device {}", in_words(layer)),
            (Some(layer), None) => format!("the process that serves {}", layer.name),
            (None, None) => return None,
        };
        // What a server has to put on stable storage, it cannot keep.
        let is_through = |one: &Direction| {
            let target = self.plan.targets.get(self.target);
            one.together.name == "writes" && target.is_some_and(|target| target.open.write_through)
        };
        let is_more = |one: &&Direction| {
            one.seen_at_devices as f64 > MASKED * one.together.bytes as f64
                && (cached.is_some() || !is_through(one))
        };
        let one = asked.iter().find(is_more)?;
        Some(format!(
            "whether {} reached {names} cannot be told: {answers} answers, and {names} saw {} of everybody",
            one.together.in_words(),
            size(one.seen_at_devices),
        ))
    }

    /// More is missing than what was in flight at the edges.
    fn is_missed(&self, one: &Witness) -> bool {
        let streams = self.plan.threads.iter().flat_map(|thread| &thread.assignments);
        let slots: u64 = streams.map(|assignment| u64::from(assignment.outstanding)).sum();
        let Flow { ios, bytes, .. } = one.asked;
        let edge_bytes = (2 * slots + 2) as f64 * bytes as f64 / ios as f64;
        one.share < SEEN && (1.0 - one.share) * bytes as f64 > edge_bytes
    }

    /// Reads and writes of all targets on the same devices; nothing if nothing counts them.
    fn directions(&self, lowest: &[u32], group: Option<&Group>) -> Option<[Direction; 2]> {
        let together = group.map_or_else(|| self.through(lowest), |group| group.targets.clone());
        let together = Flow::both(self.asked(&together));
        let direction = |together: Flow| {
            let at_devices = group.map(|group| self.at_devices(group, together.name));
            let seen_at_devices = at_devices.map_or(0, |witness| witness.seen_bytes);
            let account = self.on_account(lowest, together.name, at_devices.is_some());
            let layers = self.telling(lowest).into_iter();
            let layers = layers.filter_map(|layer| self.at_layer(layer, together.name));
            let all = at_devices.into_iter().chain(account).chain(layers);
            let least = all.reduce(|one, two| if two.share < one.share { two } else { one })?;
            Some(Direction { together, seen_at_devices, least })
        };
        let [reads, writes] = together.map(direction);
        Some([reads?, writes?])
    }

    /// What was seen, beside what these targets were to send there.
    fn witness(&self, name: &str, targets: &[usize], seen: (Option<u64>, u64)) -> Witness {
        let [reads, writes] = Flow::both(self.asked(targets));
        let asked = if name == reads.name { reads } else { writes };
        let (seen_ios, seen_bytes) = seen;
        // The window may be shorter than the measured time by what the coordinator came late.
        let late = self.span.measured_ns as f64 / self.beneath.counted_ns.max(1) as f64;
        let share = seen_bytes as f64 * late.max(1.0) / asked.bytes as f64;
        Witness {
            asked,
            is_alone: self.is_alone(targets),
            seen_ios,
            is_fetched: false,
            seen_bytes,
            share: if asked.bytes == 0 { 1.0 } else { share },
        }
    }

    fn at_devices(&self, group: &Group, name: &str) -> Witness {
        let counters = group.layers.iter().filter_map(|&layer| self.layer(layer).seen);
        let seen = counters.map(|one| seen_of(&one, name));
        let (ios, bytes) = seen.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        self.witness(name, &group.targets, (Some(ios), bytes))
    }

    /// What this process fetched is known beside what the devices did for everybody. What it wrote may still
    /// be in a cache, and counts where nothing else does.
    fn on_account(&self, lowest: &[u32], name: &str, has_devices: bool) -> Option<Witness> {
        let own = self.beneath.process.filter(|_| self.is_on_own_account(self.target))?;
        let is_read = name == "reads";
        let bytes = if is_read { own.read_bytes } else { own.write_bytes };
        let mut targets = self.through(lowest);
        targets.retain(|&target| self.is_on_own_account(target));
        let witness = self.witness(name, &targets, (None, bytes));
        (is_read || !has_devices).then_some(Witness { is_fetched: is_read, ..witness })
    }

    /// Each loop device of a single chain, and each layer at all where nothing tells what is done for this
    /// process: what did not come through one did not reach the device either, whatever others did there.
    fn telling(&self, lowest: &[u32]) -> Vec<u32> {
        let layers = || self.origin().layers.iter().copied();
        let is_chain = lowest.len() == 1 && layers().all(|at| self.layer(at).below.len() <= 1);
        let is_on_own_account = self.is_on_own_account(self.target);
        let tells = |&at: &u32| self.layer(at).kind == LayerKind::Loop || !is_on_own_account;
        layers().filter(tells).filter(|_| is_chain).collect()
    }

    fn at_layer(&self, layer: u32, name: &str) -> Option<Witness> {
        let (_, bytes) = seen_of(&self.layer(layer).seen?, name);
        Some(self.witness(name, &self.through(&[layer]), (None, bytes)))
    }

    /// The targets that lie on any of these layers.
    fn through(&self, layers: &[u32]) -> Vec<usize> {
        let lies = |&target: &usize| {
            self.origin_of(target).layers.iter().any(|layer| layers.contains(layer))
        };
        (0..self.beneath.targets.len()).filter(lies).collect()
    }

    /// What was asked of these targets.
    fn asked(&self, targets: &[usize]) -> Asked {
        let all = targets.iter().map(|&target| self.origin_of(target).asked);
        all.fold(Asked::default(), |sum, one| Asked {
            read_ios: sum.read_ios + one.read_ios,
            read_bytes: sum.read_bytes + one.read_bytes,
            write_ios: sum.write_ios + one.write_ios,
            write_bytes: sum.write_bytes + one.write_bytes,
        })
    }

    /// Whether all of the I/Os of these targets are those of this one.
    fn is_alone(&self, targets: &[usize]) -> bool {
        self.asked(targets) == self.origin().asked
    }

    /// The lowest layers that count, with all targets on them, and all layers that count for these in turn:
    /// what was asked of a target over two disks may have gone to the other one. Nothing if one of them
    /// counts nothing.
    fn group(&self, lowest: &[u32]) -> Option<Group> {
        let mut layers = self.counting(self.target, lowest)?;
        loop {
            let targets = self.through(&layers);
            let mut more = Vec::new();
            for &target in &targets {
                let counting = self.counting(target, &self.lowest_of(self.origin_of(target)))?;
                more.extend(counting);
            }
            let known = layers.len();
            for layer in more {
                if !layers.contains(&layer) {
                    layers.push(layer);
                }
            }
            if layers.len() == known {
                return Some(Group { layers, targets });
            }
        }
    }

    /// The lowest layers of a target; where the counters of one are off, the layer above if that has no
    /// other.
    fn counting(&self, target: usize, lowest: &[u32]) -> Option<Vec<u32>> {
        let layers = &self.origin_of(target).layers;
        let nearest = |&layer: &u32| {
            let mut at = layer;
            while self.layer(at).seen.is_none() {
                at = layers.iter().copied().find(|&above| self.layer(above).below == [at])?;
            }
            Some(at)
        };
        lowest.iter().map(nearest).collect()
    }

    /// Whether the kernel counts what a target moves on account of this process.
    fn is_on_own_account(&self, target: usize) -> bool {
        let mut layers = self.origin_of(target).layers.iter().map(|&layer| self.layer(layer));
        !layers.any(|layer| layer.is_served() || ON_OTHER_ACCOUNTS.contains(&layer.name.as_str()))
    }

    /// The lowest layer that saw the load although the devices did not, if there is one.
    fn who_answered(&self, lowest: &[u32]) -> String {
        let saw = |&layer: &u32| {
            let Some(seen) = self.layer(layer).seen else { return false };
            let asked = self.asked(&self.through(&[layer]));
            seen.read_bytes as f64 >= SEEN * asked.read_bytes as f64
                && seen.write_bytes as f64 >= SEEN * asked.write_bytes as f64
        };
        let above = self.origin().layers.iter().copied().filter(|layer| !lowest.contains(layer));
        // What did not come through one layer, others brought to those below.
        let through = above.take_while(|at| self.layer(*at).seen.is_none() || saw(at));
        let last = through.filter(saw).last().map(|at| self.layer(at));
        last.map_or_else(String::new, |layer| {
            let what = if layer.kind == LayerKind::Loop { "the loop device " } else { "" };
            format!("; {what}{} saw them", in_words(layer))
        })
    }
}

impl Flow {
    fn both(asked: Asked) -> [Self; 2] {
        let Asked { read_ios, read_bytes, write_ios, write_bytes } = asked;
        [
            Self { name: "reads", ios: read_ios, bytes: read_bytes },
            Self { name: "writes", ios: write_ios, bytes: write_bytes },
        ]
    }

    fn in_words(self) -> String {
        let name = if self.ios == 1 { self.name.trim_end_matches('s') } else { self.name };
        format!("{} {name} ({})", grouped(self.ios), size(self.bytes))
    }
}

impl Witness {
    fn in_words(&self, names: &str) -> String {
        let Self { seen_ios, is_fetched, seen_bytes, .. } = *self;
        let asked = format!("of {}", self.asked.in_words());
        match seen_ios {
            Some(seen) if seen <= self.asked.ios => {
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

/// I/Os and bytes of one direction.
fn seen_of(counters: &Counters, name: &str) -> (u64, u64) {
    match name {
        "reads" => (counters.read_ios, counters.read_bytes),
        _ => (counters.write_ios, counters.write_bytes),
    }
}

fn of_all(words: &str) -> String {
    format!("{OF_ALL}: {words}")
}

/// Whether what is missing may be that of other targets on the same devices.
pub(in crate::result) fn is_of_all(origin: &TargetOrigin) -> bool {
    origin.sentence.contains(OF_ALL)
}

fn in_words(layer: &LayerUse) -> String {
    let LayerUse { name, about, .. } = layer;
    if about.is_empty() { name.clone() } else { format!("{name}, {about}") }
}
