//! Threads: how many, where each of them runs, and what it does to which target.

use std::collections::BTreeSet;

use super::engines::Load;
use super::locked::Rings;
use super::{EngineKind, Place, Resolver, workers};
use crate::divisor::greatest_common_divisor;
use crate::measure::{IntervalCell, IntervalFields};
use crate::plan::{Assignment, Burst, Pace, TargetPlan, ThreadPlan};
use crate::request::{Rate, Target, TimeSpan, WriteSource};
use crate::units::{NANOS_PER_MILLI, NANOS_PER_SEC};

/// More threads than this are a slip of the finger, and a danger to the host.
const THREADS_MAX: u64 = 65_536;

/// Which targets a thread uses: index of the target, position among its threads, and weight.
pub(super) type Use = (usize, u32, u32);

impl Resolver<'_> {
    /// The threads of a time span. A target without a plan has been found wrong.
    pub(super) fn threads(
        &mut self,
        span_index: usize,
        span: &TimeSpan,
        targets: &[Option<TargetPlan>],
    ) -> Vec<ThreadPlan> {
        self.check_network(span);
        self.check_engine(span);
        self.check_tuning(span_index, span);
        let pins = self.pins(span_index, span);
        if !self.check_thread_count(span) {
            return Vec::new();
        }
        let uses = if span.thread_count > 0 { self.shared(span) } else { own(span) };
        self.check_starts(span, targets, &uses);
        let buffers_bytes = self.check_memory(span, &uses);
        self.check_series(span, &uses);
        let rings = self.rings(span, &uses, buffers_bytes);
        let idle = self.idle_cpus(&pins, uses.len());
        let mut threads = Vec::with_capacity(uses.len());
        for (index, uses) in uses.iter().enumerate() {
            let (engine, engine_fallback) =
                self.thread_engine(span_index, span, (index, uses), &rings);
            let cpu = pins.get(index % pins.len().max(1)).copied();
            let outstanding = outstanding(span, uses);
            threads.push(ThreadPlan {
                index,
                cpu,
                worker_cpus: workers::cpus(cpu, &idle),
                engine,
                tries_ways: engine == EngineKind::Uring && self.may_try(span, uses),
                registers_buffers: rings.register_buffers,
                engine_fallback,
                tuning: self.tuning(span, engine, outstanding),
                seed: u64::from(span.random_seed) + index as u64,
                assignments: uses.iter().map(|&one| assignment(span, one)).collect(),
            });
        }
        threads
    }

    fn check_thread_count(&mut self, span: &TimeSpan) -> bool {
        let own = span.targets.iter().map(|target| u64::from(target.threads)).sum();
        let count = if span.thread_count > 0 { u64::from(span.thread_count) } else { own };
        let is_sane = (1..=THREADS_MAX).contains(&count);
        if !is_sane {
            let message = format!("{count} threads cannot be run");
            let remedy = format!("ask for at least 1 and at most {THREADS_MAX} threads");
            self.findings.request(message, remedy);
        }
        is_sane
    }

    /// The uses of threads that share the targets.
    fn shared(&mut self, span: &TimeSpan) -> Vec<Vec<Use>> {
        let mut threads = Vec::new();
        for thread in 0..span.thread_count {
            let mut uses = Vec::new();
            for (index, target) in span.targets.iter().enumerate() {
                // DiskSpd starts a shared thread by its number, whoever else uses the target.
                if let Some(weight) = shared_weight(target, thread) {
                    uses.push((index, thread, weight));
                }
            }
            if uses.is_empty() {
                let message = format!("thread {thread} has no target");
                self.findings.request(message, "let a target name the thread, or ask for fewer");
            } else if span.request_count > 0 && uses.iter().all(|one| one.2 == 0) {
                let message = format!("all targets of thread {thread} have the weight 0");
                self.findings.request(message, "give at least one of them a greater weight");
            }
            threads.push(uses);
        }
        for target in &span.targets {
            let mut named = target.thread_targets.iter().map(|named| named.thread);
            if let Some(thread) = named.find(|&thread| thread >= span.thread_count) {
                let message = format!(
                    "the target '{}' names thread {thread}, but there are only {} threads",
                    target.path, span.thread_count
                );
                self.findings.request(message, "number threads from 0");
            }
        }
        threads
    }

    /// Whether the first I/O of each thread lies within its target; the first that does not is reported.
    fn check_starts(
        &mut self,
        span: &TimeSpan,
        targets: &[Option<TargetPlan>],
        threads: &[Vec<Use>],
    ) {
        let mut told = BTreeSet::new();
        for &(index, relative_thread, _) in threads.iter().flatten() {
            let (target, Some(plan)) = (&span.targets[index], &targets[index]) else { continue };
            let end = start_bytes(target, relative_thread).checked_add(plan.offsets.block_bytes);
            let fits = end.is_some_and(|end| end <= plan.offsets.end_bytes);
            if !fits && told.insert(index) {
                self.too_small(target, relative_thread, plan.size_bytes);
            }
        }
    }

    /// Whether the buffers of all outstanding I/Os, and those that writes take their data from, fit
    /// into the host's memory. Returns the bytes that rings would register.
    fn check_memory(&mut self, span: &TimeSpan, threads: &[Vec<Use>]) -> u64 {
        let block = |one: &Use| u64::from(span.targets[one.0].largest_block_bytes());
        let per_thread = |uses: &Vec<Use>| match shared_outstanding(span) {
            Some(count) => u64::from(count) * uses.iter().map(block).max().unwrap_or(0),
            None => uses
                .iter()
                .map(|one| block(one).saturating_mul(u64::from(span.targets[one.0].outstanding)))
                .fold(0, u64::saturating_add),
        };
        let of_ios = threads.iter().map(per_thread).fold(0, u64::saturating_add);
        let of_data = span.targets.iter().map(data_buffer_bytes).fold(0, u64::saturating_add);
        let needed = of_ios.saturating_add(of_data);
        if let Some(allowed) = self.lacks_memory(needed) {
            let message = format!(
                "the buffers need {needed} bytes ({of_ios} for outstanding I/Os, {of_data} for \
                 write data), but {allowed}"
            );
            let remedy = "ask for smaller blocks, for fewer outstanding I/Os or threads, or for a \
                          smaller buffer of write data";
            self.findings.request(message, remedy);
        }
        // Each thread registers the write data, too.
        of_ios.saturating_add(of_data.saturating_mul(threads.len() as u64))
    }

    /// Whether the intervals of the series, which are made before the first I/O, fit into the memory.
    fn check_series(&mut self, span: &TimeSpan, threads: &[Vec<Use>]) {
        if !span.interval_series {
            return;
        }
        let fields =
            if self.options.interval_latency { IntervalFields::BYTES_EACH } else { 0 } as u64;
        // Reads and writes have series of their own.
        let each = 2 * (size_of::<IntervalCell>() as u64 + fields);
        let streams = threads.iter().map(Vec::len).sum::<usize>() as u64;
        let intervals =
            (u64::from(span.duration_s) * 1000).div_ceil(u64::from(span.interval_ms).max(1));
        let needed = intervals.saturating_mul(each).saturating_mul(streams);
        if let Some(allowed) = self.lacks_memory(needed) {
            let message =
                format!("the {intervals} intervals (-D) need {needed} bytes, but {allowed}");
            let remedy = "ask for longer intervals, a shorter time or fewer threads, or leave \
                          --interval-latency out";
            self.findings.request(message, remedy);
        }
    }

    /// What there is of memory, in words, if it is not so much. Beyond the limit of a control group the
    /// kernel ends the process instead of refusing memory.
    fn lacks_memory(&self, needed: u64) -> Option<String> {
        let facts = self.facts;
        if let Some(bytes) = facts.memory_bytes.filter(|bytes| needed > *bytes) {
            return Some(format!("this host has {bytes} bytes of memory"));
        }
        let left = facts.memory_left.as_ref().filter(|left| needed > left.left_bytes)?;
        Some(format!(
            "the control group {} has {} of its {} bytes of memory left",
            left.group, left.left_bytes, left.limit_bytes
        ))
    }

    fn thread_engine(
        &mut self,
        span_index: usize,
        span: &TimeSpan,
        (thread, uses): (usize, &[Use]),
        rings: &Rings,
    ) -> (EngineKind, Option<String>) {
        let targets = || uses.iter().map(|one| &span.targets[one.0]);
        let mapped = targets().filter(|target| target.memory_mapped).count();
        if mapped > 0 && mapped < uses.len() && !self.is_virtual() {
            let message = format!("thread {thread} has targets with and without a memory mapping");
            self.findings.request(message, "use -Sm for all targets that a thread shares, or none");
        }
        let outstanding = outstanding(span, uses);
        if let Some(kind) = self.network_engine((span_index, span), (thread, uses), outstanding) {
            for target in targets() {
                let asked = shared_outstanding(span).unwrap_or(target.outstanding);
                self.check_outstanding(Place { span_index, target }, kind, asked);
            }
            return (kind, None);
        }
        let trims = || targets().filter(|target| target.trim_percent() > 0);
        let load = Load {
            is_mapped: mapped > 0,
            targets: uses.len(),
            outstanding,
            trims: trims().next().is_some(),
            trims_devices: trims().any(|target| self.is_device(target)),
        };
        let (kind, fallback) = self.engine(span, load, rings);
        for target in targets() {
            let asked = shared_outstanding(span).unwrap_or(target.outstanding);
            self.check_outstanding(Place { span_index, target }, kind, asked);
            self.warn_of_depth(span, Place { span_index, target }, kind);
        }
        (kind, fallback)
    }
}

/// The uses of threads that each belong to one target.
fn own(span: &TimeSpan) -> Vec<Vec<Use>> {
    let of_target = |(index, target): (usize, &Target)| {
        let weight = target.weight;
        (0..target.threads).map(move |relative| vec![(index, relative, weight)])
    };
    span.targets.iter().enumerate().flat_map(of_target).collect()
}

/// The weight of a target for one of the threads that share the targets; none if the thread does
/// not use it.
fn shared_weight(target: &Target, thread: u32) -> Option<u32> {
    if target.thread_targets.is_empty() {
        return Some(target.weight);
    }
    let named = target.thread_targets.iter().find(|named| named.thread == thread)?;
    Some(if named.weight == 0 { target.weight } else { named.weight })
}

/// I/Os that a thread with these uses has outstanding in all.
pub(super) fn outstanding(span: &TimeSpan, uses: &[Use]) -> u64 {
    let each = || uses.iter().map(|one| u64::from(span.targets[one.0].outstanding)).sum();
    shared_outstanding(span).map_or_else(each, u64::from)
}

/// I/Os outstanding per thread over all its targets, where they are counted so.
fn shared_outstanding(span: &TimeSpan) -> Option<u32> {
    (span.thread_count > 0 && span.request_count > 0).then_some(span.request_count)
}

/// Bytes of the buffer that the writes to a target take pieces of.
fn data_buffer_bytes(target: &Target) -> u64 {
    if super::files::reduction(target).is_some() && target.write_percent > 0 {
        return crate::units::MIB + u64::from(target.largest_block_bytes());
    }
    match target.write_data.source {
        WriteSource::Buffer { bytes, .. } if target.write_percent > 0 => bytes,
        _ => 0,
    }
}

fn start_bytes(target: &Target, relative_thread: u32) -> u64 {
    let ahead = target.thread_stride_bytes.saturating_mul(u64::from(relative_thread));
    target.base_bytes.saturating_add(ahead)
}

fn assignment(span: &TimeSpan, (index, relative_thread, weight): Use) -> Assignment {
    let target = &span.targets[index];
    Assignment {
        target: index,
        relative_thread,
        outstanding: target.outstanding,
        weight,
        start_bytes: start_bytes(target, relative_thread),
        pace: target.rate.and_then(|rate| pace(rate, target.mean_block_micro_bytes())),
        burst: burst(span, target),
    }
}

/// A rate as an exact ratio; none for a rate of 0, which limits nothing.
fn pace(rate: Rate, mean_micro_bytes: u64) -> Option<Pace> {
    let pace = match rate {
        Rate::Iops(ios) => Pace::constant(u64::from(ios), NANOS_PER_SEC),
        Rate::BytesPerMs(bytes) => {
            // Micro-bytes of an I/O over bytes of a millisecond are nanoseconds per I/O.
            let (ios, per_ns) = (u64::from(bytes), mean_micro_bytes);
            let divisor = greatest_common_divisor(ios, per_ns).max(1);
            Pace::constant(ios / divisor, per_ns / divisor)
        }
    };
    (pace.ios > 0).then_some(pace)
}

/// The part that one thread has of its target's burst: `DiskSpd` divides it among the threads. Each
/// has at least one I/O of it, as a thread of `DiskSpd` that has none pauses after each I/O too.
fn burst(span: &TimeSpan, target: &Target) -> Option<Burst> {
    let ios = target.burst_ios.filter(|&ios| ios > 0)?;
    let gap_ns = u64::from(target.think_ms?) * NANOS_PER_MILLI;
    let threads = match (span.thread_count, target.thread_targets.len()) {
        (0, _) => target.threads,
        (count, 0) => count,
        (_, named) => u32::try_from(named).unwrap_or(u32::MAX),
    };
    Some(Burst { ios: (ios / threads.max(1)).max(1), gap_ns })
}
