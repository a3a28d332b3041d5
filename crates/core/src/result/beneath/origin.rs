//! Whether the figures of a target are a device's, and if not, whose.

use super::answers::of_all;
use super::flows::{Came, Direction, Flow, HARDLY, SEEN, Witness};
use super::{AnsweredBy, Asked, Beneath, LayerUse, TargetOrigin};
use crate::beneath::LayerKind;
use crate::plan::SpanPlan;
use crate::result::TimeSpanResult;
use crate::result::warnings::words::size;

/// What is missing up to this share is not worth a word.
const ALL: f64 = 0.99;
/// File systems whose bytes are not moved on account of the process that reads, beside those that are served.
const ON_OTHER_ACCOUNTS: [&str; 1] = ["bcachefs"];

/// Layers that count, and the targets whose I/Os they see.
pub(super) struct Group {
    pub(super) layers: Vec<u32>,
    pub(super) targets: Vec<usize>,
}

/// Says of each target where its figures come from.
pub(super) fn judge(beneath: &mut Beneath, plan: &SpanPlan, span: &TimeSpanResult, has_swap: bool) {
    let judged: Vec<(AnsweredBy, String)> = (0..beneath.targets.len())
        .map(|target| Case { beneath, plan, span, target, has_swap }.judge())
        .collect();
    for (origin, (answered_by, sentence)) in beneath.targets.iter_mut().zip(judged) {
        origin.answered_by = answered_by;
        origin.sentence = sentence;
    }
}

pub(super) struct Case<'a> {
    beneath: &'a Beneath,
    pub(super) plan: &'a SpanPlan,
    span: &'a TimeSpanResult,
    pub(super) target: usize,
    has_swap: bool,
}

impl Case<'_> {
    pub(super) fn origin(&self) -> &TargetOrigin {
        self.origin_of(self.target)
    }

    pub(super) fn origin_of(&self, target: usize) -> &TargetOrigin {
        &self.beneath.targets[target]
    }

    pub(super) fn layer(&self, index: u32) -> &LayerUse {
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
        let is_own_code = asked.is_empty() || (fetched as f64) <= least;
        if !self.has_swap || is_own_code || !self.beneath.layers.iter().all(is_file_system) {
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
        let is_asked = |one: &Direction| Flow::of(self.origin().asked, one.together.name).ios > 0;
        let asked: Vec<Direction> = directions.into_iter().filter(is_asked).collect();
        let trims = self.trims_in_words(&names, group.as_ref());
        if asked.is_empty() {
            let nothing = || {
                (AnsweredBy::Device, format!("no I/O completed, and nothing is known of {names}"))
            };
            return trims.map_or_else(nothing, |trims| (AnsweredBy::NotCounted, trims));
        }
        let (missed, rest): (Vec<Direction>, Vec<Direction>) =
            asked.into_iter().partition(|one| self.lacks(&one.least, SEEN));
        let (answered_by, words) = if missed.is_empty() {
            self.reached(&rest, &names, lowest, group.as_ref())
        } else {
            self.missed(&missed, &rest, &names, lowest, group.as_ref())
        };
        (answered_by, trims.map_or_else(|| words.clone(), |trims| format!("{words}; {trims}")))
    }

    /// Some of it is missing. Of writes that end in the page cache, what the devices saw says no more than
    /// how many can have come there.
    fn missed(
        &self,
        missed: &[Direction],
        rest: &[Direction],
        names: &str,
        lowest: &[u32],
        group: Option<&Group>,
    ) -> (AnsweredBy, String) {
        let is_open = |one: &Witness| self.is_open(one.asked.name) && one.share >= HARDLY;
        let all = || missed.iter().map(|one| one.least);
        let told = |is_alone: bool| {
            let some = all().filter(|one| one.is_alone == is_alone);
            some.map(|one| self.missed_in_words(&one, names)).collect::<Vec<_>>().join("; ")
        };
        let (own, of_several) = (told(true), told(false));
        let of_several = if of_several.is_empty() { of_several } else { of_all(&of_several) };
        let sure = all().filter(|one| !is_open(one)).map(|one| one.share).min_by(f64::total_cmp);
        let Some(least) = sure else {
            let rest = (!rest.is_empty()).then(|| self.reached(rest, names, lowest, group));
            let (answered_by, rest) = rest.unwrap_or((AnsweredBy::NotCounted, String::new()));
            let is_partly = answered_by == AnsweredBy::PartlyDevice;
            let words = joined([rest, own, of_several]);
            return (if is_partly { answered_by } else { AnsweredBy::NotCounted }, words);
        };
        let answered_by =
            if least < HARDLY { AnsweredBy::AboveDevice } else { AnsweredBy::PartlyDevice };
        (answered_by, format!("{}{}", joined([own, of_several]), self.who_answered(lowest)))
    }

    fn missed_in_words(&self, one: &Witness, names: &str) -> String {
        let is_of_others = one.came.is_some() && self.has_answering() && one.share >= HARDLY;
        let is_open = self.is_open(one.asked.name) && one.seen_bytes > 0;
        if is_of_others || is_open { one.at_most_in_words(names) } else { one.in_words(names) }
    }

    /// Nothing is missing but what may have been in flight.
    fn reached(
        &self,
        asked: &[Direction],
        names: &str,
        lowest: &[u32],
        group: Option<&Group>,
    ) -> (AnsweredBy, String) {
        if let Some(words) = self.masked(asked, names, group) {
            return (AnsweredBy::NotCounted, words);
        }
        let is_told = |one: &&Direction| !self.is_open(one.together.name);
        let at_edges = asked.iter().filter(is_told).find(|one| one.least.share < SEEN);
        let (answered_by, words) = if let Some(one) = at_edges {
            let words = at_edges_in_words(&one.least, names);
            (AnsweredBy::NotCounted, format!("{words}{}", self.who_answered(lowest)))
        } else {
            self.all_seen(asked, names, group)
        };
        let is_alone = group.is_none_or(|group| self.is_alone(&group.targets));
        (answered_by, if is_alone { words } else { of_all(&words) })
    }

    fn names(&self, layers: &[u32]) -> String {
        let names: Vec<&str> = layers.iter().map(|&one| self.layer(one).name.as_str()).collect();
        names.join(", ")
    }

    /// Nothing is missing. Of writes that end in the page cache, this does not say that they were among those
    /// that the devices saw.
    fn all_seen(
        &self,
        asked: &[Direction],
        names: &str,
        group: Option<&Group>,
    ) -> (AnsweredBy, String) {
        let (mut all, mut parts) = (Vec::new(), Vec::new());
        let mut answers = Vec::new();
        for one in asked {
            if let Some((answered_by, words)) = self.fetched_ahead(one, names, group) {
                answers.push(answered_by);
                parts.push(words);
            } else if self.is_open(one.together.name) {
                answers.push(AnsweredBy::NotCounted);
                parts.push(open_in_words(one, names));
            } else if self.lacks(&one.least, ALL) {
                parts.push(one.least.in_words(names));
            } else {
                all.push(one.together.in_words());
            }
        }
        if !all.is_empty() {
            parts.insert(0, format!("all of {} reached {names}", all.join(" and ")));
        }
        let is_partly = answers.contains(&AnsweredBy::PartlyDevice);
        let first = answers.first().copied().unwrap_or(AnsweredBy::Device);
        (if is_partly { AnsweredBy::PartlyDevice } else { first }, parts.join("; "))
    }

    /// Whether less than a share came, and more is missing than what was in flight at the edges.
    fn lacks(&self, one: &Witness, share: f64) -> bool {
        one.share < share && one.missing_bytes() > one.asked.bytes_of(self.edge_ios())
    }

    /// I/Os that were in flight when the layers were counted. Where the counted time holds the load, there
    /// are none at that end.
    pub(super) fn edge_ios(&self) -> u64 {
        let times = [self.plan.warm_up_ns, self.plan.cool_down_ns];
        let edges = times.into_iter().filter(|&time_ns| time_ns > 0).count() as u64;
        let all: Vec<usize> = (0..self.plan.targets.len()).collect();
        edges * (self.slots(&all) + 1)
    }

    /// I/Os of these targets that may be in flight at once.
    pub(super) fn slots(&self, targets: &[usize]) -> u64 {
        let streams = self.plan.threads.iter().flat_map(|thread| &thread.assignments);
        let own = streams.filter(|assignment| targets.contains(&assignment.target));
        own.map(|assignment| u64::from(assignment.outstanding)).sum()
    }

    /// The window may be shorter than the measured time by what the coordinator came late.
    pub(super) fn late(&self) -> f64 {
        (self.span.measured_ns as f64 / self.beneath.counted_ns.max(1) as f64).max(1.0)
    }

    /// Reads and writes of all targets on the same devices; nothing if nothing counts them.
    fn directions(&self, lowest: &[u32], group: Option<&Group>) -> Option<[Direction; 2]> {
        let together = group.map_or_else(|| self.through(lowest), |group| group.targets.clone());
        let together = Flow::both(self.asked(&together));
        let direction = |together: Flow| {
            let at_devices = group.map(|group| self.at_devices(group, together.name));
            let account = self.on_account(lowest, together.name, at_devices.is_some());
            let layers = self.telling(lowest).into_iter();
            let layers = layers.filter_map(|layer| self.at_layer(layer, together.name));
            let all = at_devices.into_iter().chain(account).chain(layers);
            let least = all.reduce(|one, two| if two.share < one.share { two } else { one })?;
            Some(Direction { together, at_devices, least })
        };
        let [reads, writes] = together.map(direction);
        Some([reads?, writes?])
    }

    /// What was seen, beside what these targets were to send there.
    fn witness(&self, name: &str, targets: &[usize], seen_bytes: u64) -> Witness {
        let asked = Flow::of(self.asked(targets), name);
        let share = seen_bytes as f64 * self.late() / asked.bytes as f64;
        Witness {
            asked,
            copies: 1,
            is_alone: self.is_alone(targets),
            came: None,
            is_fetched: false,
            seen_bytes,
            share: if asked.bytes == 0 { 1.0 } else { share },
        }
    }

    fn at_devices(&self, group: &Group, name: &str) -> Witness {
        let counters = group.layers.iter().filter_map(|&layer| self.layer(layer).seen);
        let came = counters.map(|one| Came::of(&one, name)).fold(Came::default(), Came::and);
        let copies = |&target: &usize| {
            let nearest = self.origin_of(target).layers.first();
            nearest.map_or(1, |&layer| self.copies_beneath(layer))
        };
        let least = group.targets.iter().map(copies).min().unwrap_or(1);
        let witness = self.witness(name, &group.targets, came.bytes);
        Witness { came: Some(came), ..witness.with_copies(least) }
    }

    /// How often each byte that a layer writes comes to the lowest devices, at least.
    fn copies_beneath(&self, layer: u32) -> u64 {
        let layer = self.layer(layer);
        let least = layer.below.iter().map(|&below| self.copies_beneath(below)).min();
        layer.copies() * least.unwrap_or(1)
    }

    /// How often each byte of these targets comes to a layer beneath them all, at least.
    fn copies_above(&self, targets: &[usize], layer: u32) -> u64 {
        let copies = |&target: &usize| -> u64 {
            let layers = self.origin_of(target).layers.iter();
            layers.take_while(|&&above| above != layer).map(|&at| self.layer(at).copies()).product()
        };
        targets.iter().map(copies).min().unwrap_or(1)
    }

    /// What this process fetched is known beside what the devices did for everybody. What it wrote may still
    /// be in a cache, and counts where nothing else does.
    fn on_account(&self, lowest: &[u32], name: &str, has_devices: bool) -> Option<Witness> {
        let own = self.beneath.process.filter(|_| self.is_on_own_account(self.target))?;
        let is_read = name == "reads";
        let bytes = if is_read { own.read_bytes } else { own.write_bytes };
        let mut targets = self.through(lowest);
        targets.retain(|&target| self.is_on_own_account(target));
        let witness = self.witness(name, &targets, bytes);
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
        let Came { bytes, .. } = Came::of(&self.layer(layer).seen?, name);
        let targets = self.through(&[layer]);
        let copies = self.copies_above(&targets, layer);
        Some(self.witness(name, &targets, bytes).with_copies(copies))
    }

    /// The targets that lie on any of these layers.
    pub(super) fn through(&self, layers: &[u32]) -> Vec<usize> {
        let lies = |&target: &usize| {
            self.origin_of(target).layers.iter().any(|layer| layers.contains(layer))
        };
        (0..self.beneath.targets.len()).filter(lies).collect()
    }

    /// What was asked of these targets.
    pub(super) fn asked(&self, targets: &[usize]) -> Asked {
        targets.iter().map(|&target| self.origin_of(target).asked).sum()
    }

    /// Whether all of the I/Os of these targets are those of this one.
    pub(super) fn is_alone(&self, targets: &[usize]) -> bool {
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

/// So few I/Os that what is missing may have been done before the measured time, or after it.
fn at_edges_in_words(one: &Witness, names: &str) -> String {
    format!(
        "whether {} reached {names} cannot be told: {}, and the rest may have been in flight at the edges of \
         the measured time",
        one.asked.in_words(),
        one.seen_in_words(names),
    )
}

/// What is said of writes that end in the page cache, where the devices saw as many of everybody.
fn open_in_words(one: &Direction, names: &str) -> String {
    format!(
        "whether {} reached {names} cannot be told: they end in the page cache, and {names} saw {} of \
         everybody",
        one.together.in_words(),
        size(one.seen_at_devices()),
    )
}

/// Sentences that say something, one behind the other.
fn joined<const N: usize>(parts: [String; N]) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

pub(super) fn in_words(layer: &LayerUse) -> String {
    let LayerUse { name, about, .. } = layer;
    if about.is_empty() { name.clone() } else { format!("{name}, {about}") }
}
