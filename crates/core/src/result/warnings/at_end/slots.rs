//! What the slots of a time span did until its end, and which of them wait for longer than is usual there.

use std::collections::{BTreeMap, BTreeSet};

use super::super::super::{DirectionResult, ThreadResult, ThreadTargetResult, TimeSpanResult};
use crate::measure::{Edges, InFlight, Slots};

/// An I/O in flight at the end is reported if it is at least so old ...
pub(super) const OLD_NS: u64 = 100_000_000;
/// ... and so many times as old as one takes otherwise.
const OLD_FACTOR: f64 = 10.0;
/// Where nothing comes back any more, that shows earlier: so many completions are missing ...
const QUIET_FACTOR: f64 = 20.0;
/// ... and so many latencies have passed, as many I/Os may complete at once.
const QUIET_LATENCIES: f64 = 3.0;
/// A kind that never completed is reported only if it is in flight for such a part of the measured time ...
const NEVER_PART: u64 = 10;
/// ... and a target that answered nothing at all, if it is for such a part.
const SILENT_PART: u64 = 2;

/// A target and an operation.
pub(super) type Kind = (u32, &'static str);

/// One kind of operation of one thread on one target.
pub(super) struct Part<'a> {
    pub(super) thread: u32,
    pub(super) target: u32,
    pub(super) operation: &'static str,
    pub(super) direction: &'a DirectionResult,
}

impl Part<'_> {
    /// What came back, in whatever way.
    pub(super) fn completed(&self) -> u64 {
        self.direction.ios + self.direction.errors + self.direction.short_ios
    }

    pub(super) fn at_end(&self) -> &InFlight {
        &self.direction.edges.at_end
    }

    pub(super) fn kind(&self) -> Kind {
        (self.target, self.operation)
    }
}

/// The parts of one thread on one target.
fn parts_of(thread: u32, row: &ThreadTargetResult) -> impl Iterator<Item = Part<'_>> {
    let all = [
        ("read", Some(&row.read)),
        ("write", Some(&row.write)),
        ("sync", row.sync.as_deref()),
        ("trim", row.trim.as_deref()),
    ];
    all.into_iter().filter_map(move |(operation, direction)| {
        Some(Part { thread, target: row.target, operation, direction: direction? })
    })
}

/// All I/Os of one kind on one target, over all threads.
#[derive(Default)]
pub(super) struct Alike {
    /// How many came back, in whatever way.
    pub(super) completed: u64,
    ios: u64,
    latency_ns: Option<u128>,
}

impl Alike {
    fn add(&mut self, part: &Part) {
        self.completed += part.completed();
        self.ios += part.direction.ios;
        if let Some(latency) = &part.direction.latency {
            let ages_ns = u128::from(part.direction.edges.at_least_ns);
            let mine_ns = latency.sum_ns().saturating_sub(ages_ns);
            self.latency_ns = Some(self.latency_ns.unwrap_or_default() + mine_ns);
        }
    }

    /// How long those took that completed; not known without latency.
    fn mean_ns(&self) -> Option<f64> {
        let (sum_ns, ios) = self.latencies()?;
        Some(sum_ns / ios as f64)
    }

    /// The sum of their latencies, and how many they are.
    pub(super) fn latencies(&self) -> Option<(f64, u64)> {
        let sum_ns = self.latency_ns.filter(|_| self.ios > 0)?;
        Some((sum_ns as f64, self.ios))
    }
}

/// Slots that are judged together, and the places of their parts.
#[derive(Default)]
pub(super) struct Group {
    parts: Vec<usize>,
    slots: Slots,
}

impl Group {
    fn add(&mut self, parts: &[usize], slots: Slots) {
        self.parts.extend(parts);
        self.slots.count += slots.count;
        self.slots.idle_ns = self.slots.idle_ns.saturating_add(slots.idle_ns);
    }
}

/// A time span by its slots. Where targets share those of a thread, they have none of their own.
pub(super) struct Span<'a> {
    pub(super) parts: Vec<Part<'a>>,
    pub(super) measured_ns: u64,
    pub(super) alike: BTreeMap<Kind, Alike>,
    streams: Vec<Group>,
    threads: Vec<Group>,
    targets: BTreeMap<u32, Group>,
    all: Group,
}

impl<'a> Span<'a> {
    pub(super) fn new(measured: &'a TimeSpanResult) -> Self {
        let mut span = Self {
            parts: Vec::new(),
            measured_ns: measured.measured_ns,
            alike: BTreeMap::new(),
            streams: Vec::new(),
            threads: Vec::new(),
            targets: BTreeMap::new(),
            all: Group::default(),
        };
        measured.threads.iter().for_each(|thread| span.add(thread));
        span
    }

    fn add(&mut self, thread: &'a ThreadResult) {
        let first = self.parts.len();
        for row in &thread.targets {
            let from = self.parts.len();
            self.parts.extend(parts_of(thread.index, row));
            let parts: Vec<usize> = (from..self.parts.len()).collect();
            self.targets.entry(row.target).or_default().add(&parts, row.slots);
            self.streams.push(Group { parts, slots: row.slots });
        }
        for part in &self.parts[first..] {
            self.alike.entry(part.kind()).or_default().add(part);
        }
        let parts: Vec<usize> = (first..self.parts.len()).collect();
        self.all.add(&parts, thread.slots);
        self.threads.push(Group { parts, slots: thread.slots });
    }

    fn of<'b>(&'b self, group: &'b Group) -> impl Iterator<Item = &'b Part<'a>> {
        group.parts.iter().map(|&index| &self.parts[index])
    }

    /// Time in which I/Os of a group were in flight that completed, and how many these are: what is in flight
    /// at the end is no part of it.
    pub(super) fn busy(&self, group: &Group) -> (f64, u64) {
        let (mut completed, mut others_ns) = (0, group.slots.idle_ns as f64);
        for part in self.of(group) {
            let Edges { at_start, at_end, .. } = part.direction.edges;
            completed += part.completed();
            others_ns += at_end.age_ns_sum as f64 - at_start.age_ns_sum as f64;
        }
        let whole_ns = group.slots.count as f64 * self.measured_ns as f64;
        ((whole_ns - others_ns).max(0.0), completed)
    }

    /// The slots of a target, or of all where it shares them.
    pub(super) fn slots_of(&self, target: u32) -> &Group {
        self.targets.get(&target).filter(|group| group.slots.count > 0).unwrap_or(&self.all)
    }

    /// From which age on I/Os of each kind on each target have stalled.
    fn limits(&self) -> BTreeMap<Kind, f64> {
        let limit = |kind: &Kind| (*kind, self.limit_ns(*kind));
        self.alike.keys().map(limit).collect()
    }

    fn limit_ns(&self, kind: Kind) -> f64 {
        let part_of_time = |part: u64| self.measured_ns as f64 / part as f64;
        let (target, _) = kind;
        let of_target = self.alike.range((target, "")..(target + 1, ""));
        if of_target.map(|(_, alike)| alike.completed).sum::<u64>() == 0 {
            return part_of_time(SILENT_PART);
        }
        let alike = &self.alike[&kind];
        if let Some(mean_ns) = alike.mean_ns() {
            return OLD_FACTOR * mean_ns;
        }
        let (busy_ns, completed) = self.busy(self.slots_of(target));
        // All of that time may have been that of this kind.
        let most_ns = match alike.completed {
            0 => part_of_time(NEVER_PART),
            alike => busy_ns / alike as f64,
        };
        (OLD_FACTOR * busy_ns / completed as f64).max(most_ns)
    }

    /// Whether all slots of a group wait, and that for longer than they did before.
    fn is_quiet(&self, group: &Group) -> bool {
        let mut at_end = InFlight::default();
        self.of(group).for_each(|part| at_end.merge(part.at_end()));
        let (busy_ns, completed) = self.busy(group);
        if group.slots.count == 0 || at_end.ios < group.slots.count || completed == 0 {
            return false;
        }
        let in_flight = self.of(group).filter(|part| part.at_end().ios > 0);
        let of_kinds = in_flight.filter_map(|part| self.alike[&part.kind()].mean_ns());
        let usual_ns = of_kinds.fold(busy_ns / completed as f64, f64::max);
        let quiet_ns = at_end.age_ns_min as f64;
        let gap_ns = (self.measured_ns as f64 - quiet_ns).max(0.0) / completed as f64;
        let is_long = quiet_ns >= QUIET_FACTOR * gap_ns && quiet_ns >= QUIET_LATENCIES * usual_ns;
        is_long && at_end.age_ns_min >= OLD_NS
    }

    /// The places of parts with I/Os in flight that have stalled.
    pub(super) fn stalled(&self) -> BTreeSet<usize> {
        let groups = self.streams.iter().chain(&self.threads).chain(self.targets.values());
        let quiet = groups.chain([&self.all]).filter(|group| self.is_quiet(group));
        let mut found: BTreeSet<usize> = quiet.flat_map(|group| group.parts.clone()).collect();
        let limits = self.limits();
        let is_old = |part: &Part| {
            let age_ns = part.at_end().age_ns_max;
            age_ns >= OLD_NS && age_ns as f64 >= limits[&part.kind()]
        };
        found.extend((0..self.parts.len()).filter(|&index| is_old(&self.parts[index])));
        found.retain(|&index| self.parts[index].at_end().ios > 0);
        found
    }
}
