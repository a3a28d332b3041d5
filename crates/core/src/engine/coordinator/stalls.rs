//! The stalls of the measured time: of each target by itself where a thread has several or a schedule, and of
//! the thread otherwise.

use std::ops::Range;

use super::still::Sleeper;
use super::watchdog::{STALLS_MAX, told_from_ns};
use crate::beneath::Stall;
use crate::measure::{DirectionRecord, Stretches, TargetRecord};
use crate::plan::{SpanPlan, ThreadPlan};

/// Of I/Os that wait for their turn there are so many for each stall: slow ones are not stalls.
const IOS_PER_STALL: u64 = 20;

/// Collects the stalls of all threads of a time span.
pub(super) struct Stalls<'a> {
    pub(super) plan: &'a SpanPlan,
    pub(super) measured: Range<u64>,
    pub(super) sleeper: &'a Sleeper,
    pub(super) found: Vec<Stall>,
}

impl Stalls<'_> {
    /// Enters those of a thread that the coordinator saw, which has one target only.
    pub(super) fn add_seen<'b>(
        &mut self,
        thread: &ThreadPlan,
        seen: impl Iterator<Item = &'b Range<u64>>,
    ) {
        let target = match thread.assignments.as_slice() {
            [only] => Some(number(only.target)),
            _ => None,
        };
        seen.for_each(|stretch| self.add(thread, target, stretch.clone()));
    }

    /// Enters those of a thread that saw them itself, for each of its targets.
    pub(super) fn add_streams(
        &mut self,
        thread: &ThreadPlan,
        records: &[TargetRecord],
        stretches: &[Stretches],
    ) {
        let streams = thread.assignments.iter().zip(records).zip(stretches);
        for ((assignment, record), stretches) in streams {
            let waits = thread.takes_turns(assignment, self.plan.shared_outstanding);
            if waits && completed(record) < IOS_PER_STALL * stretches.count() {
                continue;
            }
            for stretch in stretches.longest() {
                let awake = self.sleeper.awake(stretch);
                self.add(thread, Some(number(assignment.target)), awake);
            }
        }
    }

    /// What of a stretch lies in the measured time.
    fn add(&mut self, thread: &ThreadPlan, target: Option<u32>, stretch: Range<u64>) {
        let Range { start, end } = self.measured;
        let from_ns = stretch.start.max(start);
        let length_ns = stretch.end.min(end).saturating_sub(from_ns);
        if length_ns >= told_from_ns(end.saturating_sub(start)) {
            let thread = number(thread.index);
            self.found.push(Stall { thread, target, from_ns: from_ns - start, length_ns });
        }
    }

    /// The longest, by thread and in their order.
    pub(super) fn longest(mut self) -> Vec<Stall> {
        self.found.sort_by_key(|stall| std::cmp::Reverse(stall.length_ns));
        self.found.truncate(STALLS_MAX);
        self.found.sort_by_key(|stall| (stall.thread, stall.from_ns, stall.target));
        self.found
    }
}

fn completed(record: &TargetRecord) -> u64 {
    let of = |one: &DirectionRecord| one.ios + one.errors + one.short_ios;
    of(&record.read) + of(&record.write) + of(&record.sync) + of(&record.trim)
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
