//! Threads that do not come back from the kernel, and the I/Os that they wait for.

use std::ops::Range;

use super::super::worker::WorkerOutcome;
use super::shared::Shared;
use crate::measure::{OutstandingIo, STRETCH_NS_MIN, keep_longest};
use crate::plan::{TargetPlan, ThreadPlan};
use crate::storage::Answering;
use crate::supervise::ENDED_PATIENCE_NS;
use crate::units::NANOS_PER_SEC;

/// How much longer than its limit a thread that stays away is waited for behind the load: one that has lost
/// its connection says so then.
const GRACE_NS: u64 = NANOS_PER_SEC / 2;

/// A thread that stays away for so long and comes back has stalled ...
const STALL_NS: u64 = NANOS_PER_SEC / 2;
/// ... or for such a part of the measured time ...
const STALL_PART: u64 = 10;
/// ... but never for less than this.
pub(super) const STALL_NS_MIN: u64 = STRETCH_NS_MIN;
/// More stalls than this are not kept; the longest are.
pub(super) const STALLS_MAX: usize = 64;

/// From which length on a standstill of this measured time is reported.
pub(super) fn told_from_ns(measured_ns: u64) -> u64 {
    (measured_ns / STALL_PART).clamp(STALL_NS_MIN, STALL_NS)
}

/// Looks whether threads still come and go.
pub(super) struct Watchdog {
    threads: Vec<Seen>,
    /// Stretches in which a thread stayed away, on the clock.
    stretches: Vec<(usize, Range<u64>)>,
    /// When the run was to end early, if it was.
    ended_ns: Option<u64>,
}

#[derive(Clone, Copy, Default)]
struct Seen {
    moves: u64,
    since_ns: u64,
    was_away: bool,
    has_left: bool,
}

impl Watchdog {
    pub(super) fn new(threads: usize) -> Self {
        let threads = vec![Seen::default(); threads];
        Self { threads, stretches: Vec::new(), ended_ns: None }
    }

    /// Begins again for all threads.
    pub(super) fn forgive(&mut self, now_ns: u64) {
        self.threads.iter_mut().for_each(|seen| seen.since_ns = now_ns);
    }

    /// The stretches in which a thread stayed away, on the clock.
    pub(super) fn stretches(&self, thread: usize) -> impl Iterator<Item = &Range<u64>> {
        let of_thread = self.stretches.iter().filter(move |(index, _)| *index == thread);
        of_thread.map(|(_, stretch)| stretch)
    }

    /// A thread has ended.
    pub(super) fn has_left(&mut self, thread: usize, now_ns: u64) {
        self.enter_away(thread, now_ns);
        self.threads[thread].has_left = true;
    }

    /// The load has ended: who is away has been so until now, whether it comes back or not.
    pub(super) fn end_load(&mut self, now_ns: u64) {
        (0..self.threads.len()).for_each(|thread| self.enter_away(thread, now_ns));
    }

    /// The run is to end early: nobody is waited for much longer.
    pub(super) fn end_early(&mut self, now_ns: u64) {
        self.ended_ns.get_or_insert(now_ns);
    }

    /// Nobody is waited for any longer: who has not come back is away until now.
    pub(super) fn end_wait(&mut self, now_ns: u64) {
        for thread in 0..self.threads.len() {
            if !self.threads[thread].has_left {
                self.enter_away(thread, now_ns);
            }
        }
    }

    /// Enters the stretch in which a thread is away, if it is long; what of it was entered before is a part.
    fn enter_away(&mut self, index: usize, now_ns: u64) {
        let Seen { since_ns: from_ns, was_away, .. } = self.threads[index];
        let length_ns = now_ns.saturating_sub(from_ns);
        if was_away && from_ns > 0 && length_ns >= STALL_NS_MIN {
            let stretch = (index, from_ns..now_ns);
            self.stretches.retain(|(other, one)| *other != index || one.start != from_ns);
            keep_longest(&mut self.stretches, stretch, STALLS_MAX, |(_, one)| one.end - one.start);
        }
    }

    /// Whether any thread has been in the kernel for so long.
    pub(super) fn is_any_stuck(&mut self, shared: &Shared, now_ns: u64, limit_ns: u64) -> bool {
        self.look(shared, now_ns, limit_ns).into_iter().any(|is_stuck| is_stuck)
    }

    /// Whether all threads that have not left have been in the kernel for so long, or for long enough since
    /// the run was to end.
    pub(super) fn are_all_stuck(&mut self, shared: &Shared, now_ns: u64, limit_ns: u64) -> bool {
        let limit_ns = limit_ns.saturating_add(GRACE_NS);
        self.look(shared, now_ns, limit_ns).into_iter().all(|is_stuck| is_stuck)
    }

    /// For each thread that has not left, whether it is stuck.
    fn look(&mut self, shared: &Shared, now_ns: u64, limit_ns: u64) -> Vec<bool> {
        let mut found = Vec::with_capacity(self.threads.len());
        for index in 0..self.threads.len() {
            if self.threads[index].has_left {
                continue;
            }
            let Some((moves, is_away)) = shared.moves(index) else { continue };
            if moves != self.threads[index].moves || self.threads[index].since_ns == 0 {
                self.enter_away(index, now_ns);
                let seen = &mut self.threads[index];
                *seen = Seen { moves, since_ns: now_ns, ..*seen };
            }
            self.threads[index].was_away = is_away;
            found.push(is_away && self.is_over(index, now_ns, limit_ns));
        }
        found
    }

    /// Whether the patience with a thread that is away is over. What went away behind the early end has its
    /// time, too.
    fn is_over(&self, thread: usize, now_ns: u64, limit_ns: u64) -> bool {
        let since_ns = self.threads[thread].since_ns;
        let since_end_ns = self.ended_ns.map(|ended_ns| now_ns - ended_ns.max(since_ns));
        now_ns - since_ns >= limit_ns || since_end_ns.is_some_and(|ns| ns >= ENDED_PATIENCE_NS)
    }
}

/// What a thread waits for in vain. Times are those of the coordinator, `start_ns` that of the load.
pub(in super::super) fn outstanding(
    thread: &ThreadPlan,
    outcome: &WorkerOutcome,
    start_ns: u64,
    now_ns: u64,
) -> Vec<OutstandingIo> {
    let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
    let told = outcome.unfinished.iter().map(|io| OutstandingIo {
        thread: number(thread.index),
        target: number(thread.assignments[io.stream].target),
        operation: io.operation.name().to_owned(),
        offset_bytes: io.offset_bytes,
        bytes: io.bytes,
        submitted_ns: io.submitted_ns.saturating_sub(start_ns),
        waited_ns: now_ns.saturating_sub(io.submitted_ns),
    });
    told.collect()
}

/// One sentence about the I/Os of a thread to one target; nothing if there are none.
pub(super) fn describe(target: &TargetPlan, ios: &[&OutstandingIo]) -> Option<String> {
    let oldest = ios.iter().max_by_key(|io| io.waited_ns)?;
    let (thread, count) = (oldest.thread, ios.len());
    let seconds = oldest.waited_ns as f64 / NANOS_PER_SEC as f64;
    let name = &target.name;
    let look = Answering::of([&target.location]).look_at();
    Some(format!(
        "thread {thread}: {count} I/Os to '{name}' have not come back; the oldest is a {} of {} bytes at \
         offset {}, outstanding for {seconds:.1} s. The run was ended without them: {look}, \
         or wait longer with --io-timeout",
        oldest.operation, oldest.bytes, oldest.offset_bytes
    ))
}

#[cfg(test)]
mod tests {
    use super::super::stalls::Stalls;
    use super::super::still::Sleeper;
    use super::*;
    use crate::beneath::Stall;
    use crate::guard::fixture::{span, thread};
    use crate::plan::EngineKind;

    fn away_since(from_ns: u64) -> Watchdog {
        let away = Seen { moves: 1, since_ns: from_ns, was_away: true, has_left: false };
        let here = Seen { was_away: false, ..away };
        Watchdog { threads: vec![away, here], stretches: Vec::new(), ended_ns: None }
    }

    /// A thread that had ended the load by staying away for --io-timeout was waited for as long again: the
    /// run ended after 4 s instead of 2.
    #[test]
    fn a_thread_that_is_stuck_was_waited_for_twice_as_long_as_it_may_stay() {
        let (second, limit_ns) = (NANOS_PER_SEC, 2 * NANOS_PER_SEC);
        let mut watchdog = away_since(second);
        assert!(!watchdog.is_over(0, 3 * second - 1, limit_ns));
        assert!(watchdog.is_over(0, 3 * second, limit_ns));
        watchdog.end_early(3 * second);
        watchdog.end_load(3 * second);
        assert!(watchdog.is_over(0, 3 * second + GRACE_NS, limit_ns + GRACE_NS));
    }

    #[test]
    fn once_the_run_is_to_end_five_seconds_are_enough_and_each_thread_has_them() {
        let (second, limit_ns) = (NANOS_PER_SEC, 120 * NANOS_PER_SEC);
        let mut watchdog = away_since(second);
        watchdog.end_load(60 * second);
        assert!(!watchdog.is_over(0, 60 * second, limit_ns));
        watchdog.end_early(70 * second);
        watchdog.end_early(72 * second);
        assert!(!watchdog.is_over(0, 75 * second - 1, limit_ns));
        assert!(watchdog.is_over(0, 75 * second, limit_ns));
        // It has come back since, and gone again.
        watchdog.threads[0].since_ns = 74 * second;
        assert!(!watchdog.is_over(0, 79 * second - 1, limit_ns));
        assert!(watchdog.is_over(0, 79 * second, limit_ns));
    }

    /// A disk hung for the last 2.4 of 4 s, and `beneath.stalls` was empty: a stall was kept only when
    /// something came back.
    #[test]
    fn a_stall_that_lasts_until_the_end_of_the_load_is_kept() {
        let end_ns = 5 * NANOS_PER_SEC;
        let mut watchdog = away_since(2 * NANOS_PER_SEC);
        watchdog.end_load(end_ns + 3);
        let found: Vec<_> = watchdog.stretches(0).collect();
        assert_eq!(found, [&(2 * NANOS_PER_SEC..end_ns + 3)]);
        let (plan, sleeper) = (span(Vec::new()), Sleeper::default());
        let measured = NANOS_PER_SEC..end_ns;
        let mut stalls = Stalls { plan: &plan, measured, sleeper: &sleeper, found: Vec::new() };
        stalls.add_seen(&thread(0, EngineKind::Uring, 0), watchdog.stretches(0));
        let (from_ns, length_ns) = (NANOS_PER_SEC, 3 * NANOS_PER_SEC);
        let stall = Stall { thread: 0, target: Some(0), from_ns, length_ns };
        assert_eq!(stalls.longest(), [stall]);
    }

    /// A server stopped for good, and the run was ended after --io-timeout=2: the measured time ended 4.1 s
    /// after the last I/O came back, and the stall was one of 2 s that was over.
    #[test]
    fn a_stall_that_ended_the_load_was_cut_where_the_wait_for_its_thread_began() {
        let mut watchdog = away_since(2 * NANOS_PER_SEC);
        watchdog.end_load(4 * NANOS_PER_SEC);
        watchdog.end_wait(6 * NANOS_PER_SEC);
        let found: Vec<_> = watchdog.stretches(0).collect();
        assert_eq!(found, [&(2 * NANOS_PER_SEC..6 * NANOS_PER_SEC)]);
        // One that comes back late was away until then.
        let mut watchdog = away_since(2 * NANOS_PER_SEC);
        watchdog.end_load(4 * NANOS_PER_SEC);
        watchdog.has_left(0, 5 * NANOS_PER_SEC);
        watchdog.end_wait(6 * NANOS_PER_SEC);
        let found: Vec<_> = watchdog.stretches(0).collect();
        assert_eq!(found, [&(2 * NANOS_PER_SEC..5 * NANOS_PER_SEC)]);
    }

    #[test]
    fn a_thread_that_was_away_for_a_moment_at_the_end_has_not_stalled() {
        let end_ns = 5 * NANOS_PER_SEC;
        let mut watchdog = away_since(end_ns - STALL_NS_MIN + 1);
        watchdog.end_load(end_ns);
        assert_eq!(watchdog.stretches(0).count(), 0);
    }
}
