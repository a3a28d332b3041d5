//! The end of the measured time, and the rules that bring it forward.
//!
//! Rules that count are kept by the threads themselves: they take what may still be counted in portions
//! ([`pool`]), and the last thread that has used up its own ends the measured time. Rules that judge the
//! rate are looked at by the coordinator ([`judge`]), on counts that each thread hands over once per
//! interval ([`intervals`]). Threads learn of the end by one shared instant, which they read per batch.

pub mod intervals;
pub mod judge;
pub mod pool;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use self::intervals::{IntervalBoard, IntervalFeed};
use self::judge::Judge;
use self::pool::{Pool, UsedUp};
use super::offsets;
use crate::measure::{StopCause, StopReport};
use crate::plan::{Order, SpanPlan};
use crate::request::StopRules;

/// An end that is announced lies this far ahead, so that every thread has heard of it when it comes.
const AHEAD_NS: u64 = 1_000_000;

/// The end of the measured time of one time span.
#[derive(Debug)]
pub struct Finish {
    rules: StopRules,
    until_ns: AtomicU64,
    pool: Pool,
    /// Positions of the shared pass over each target that are left.
    shared_pass: Vec<AtomicU64>,
    board: Option<IntervalBoard>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    cause: Option<StopCause>,
    judge: Judge,
    /// Threads that have not used up their counts, and when the last of the others did.
    counting: usize,
    spent_ns: u64,
}

impl Finish {
    /// The end of a plan's measured time, for all its threads together.
    #[must_use]
    pub fn new(plan: &SpanPlan) -> Self {
        Self::with(plan, plan.stop, plan.threads.len(), pass_positions(plan))
    }

    /// The part of one thread of the plan, for threads that run one after the other: counts are divided
    /// among them, the first ones taking what is left over.
    #[must_use]
    pub fn of_thread(plan: &SpanPlan, index: usize) -> Self {
        let threads = plan.threads.len().max(1) as u64;
        let part = |all: u64| all / threads + u64::from((index as u64) < all % threads);
        let first = plan.threads[index].assignments.first();
        let block_bytes =
            first.map_or(1, |assignment| u64::from(plan.targets[assignment.target].block_bytes));
        let rules = StopRules {
            ios: plan.stop.ios.map(part),
            bytes: plan
                .stop
                .bytes
                .map(|bytes| part(bytes.div_ceil(block_bytes)).saturating_mul(block_bytes)),
            ..plan.stop
        };
        Self::with(plan, rules, 1, pass_positions(plan).into_iter().map(part).collect())
    }

    fn with(plan: &SpanPlan, rules: StopRules, threads: usize, pass: Vec<u64>) -> Self {
        let judge = Judge::new(&rules);
        Self {
            rules,
            until_ns: AtomicU64::new(u64::MAX),
            pool: Pool::new(rules.ios, rules.bytes),
            shared_pass: pass.into_iter().map(AtomicU64::new).collect(),
            board: plan.stop.judges().then(|| IntervalBoard::new(threads, judge.interval_ns())),
            state: Mutex::new(State { cause: None, judge, counting: threads, spent_ns: 0 }),
        }
    }

    /// Sets the instant that ends the measured time if no rule does so before.
    pub fn open(&self, until_ns: u64) {
        self.until_ns.store(until_ns, Ordering::Relaxed);
    }

    /// The instant that ends the measured time, as far as it is known.
    #[inline]
    pub fn until_ns(&self) -> u64 {
        self.until_ns.load(Ordering::Relaxed)
    }

    /// Whether a rule counts I/Os.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.rules.counts()
    }

    /// Whether each stream makes one pass.
    #[must_use]
    pub fn is_pass(&self) -> bool {
        self.rules.pass
    }

    /// The I/Os that threads may still issue.
    #[must_use]
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Takes at most `wanted` positions of the pass that all threads of a target make together.
    pub fn take_of_pass(&self, target: usize, wanted: u64) -> u64 {
        let take = |left: u64| Some(left - left.min(wanted));
        let left =
            self.shared_pass[target].fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        left.unwrap_or_default().min(wanted)
    }

    /// A thread's feed of its counts per interval, if a rule judges them.
    #[must_use]
    pub fn feed(&self, from_ns: u64) -> Option<IntervalFeed<'_>> {
        self.board.as_ref().map(|board| board.feed(from_ns))
    }

    /// A thread has used up all that it may count, and completed it at `now_ns`. The last one ends the
    /// measured time.
    pub fn spent(&self, now_ns: u64) {
        let mut state = self.state();
        state.counting = state.counting.saturating_sub(1);
        state.spent_ns = state.spent_ns.max(now_ns);
        if state.counting == 0 {
            let cause = match self.pool.used_up() {
                Some(UsedUp::Ios) => StopCause::Ios,
                Some(UsedUp::Bytes) => StopCause::Bytes,
                None => StopCause::Pass,
            };
            self.end(&mut state, cause, |state| state.spent_ns);
        }
    }

    /// Judges what the threads have handed over, and ends the measured time if a rule is met.
    pub fn look(&self, now_ns: u64) {
        let Some(board) = &self.board else { return };
        // What comes later is judged by `report`, if it belongs to the measured time.
        if now_ns >= self.until_ns() {
            return;
        }
        let counts = board.take();
        if counts.is_empty() {
            return;
        }
        let mut state = self.state();
        for ios in counts {
            if let Some(cause) = state.judge.next(ios) {
                self.end(&mut state, cause, |_| now_ns + AHEAD_NS);
                return;
            }
        }
    }

    /// Judges the last intervals of a measured time that no rule has ended: they close with it, when nobody
    /// looks any more, and a run of exactly the least time needs them.
    fn judge_rest(&self, state: &mut State, measured_ns: u64) {
        let Some(board) = &self.board else { return };
        for ios in board.take() {
            let ended_ns = (state.judge.intervals() as u64 + 1) * state.judge.interval_ns();
            if state.cause.is_some() || ended_ns > measured_ns {
                return;
            }
            state.cause = state.judge.next(ios);
        }
    }

    fn end(&self, state: &mut State, cause: StopCause, at_ns: impl Fn(&State) -> u64) {
        if state.cause.is_none() {
            state.cause = Some(cause);
            self.until_ns.fetch_min(at_ns(state), Ordering::Relaxed);
        }
    }

    /// The intervals that one thread alone has seen.
    pub fn take_intervals(&self) -> Vec<u64> {
        self.board.as_ref().map(IntervalBoard::take).unwrap_or_default()
    }

    /// What ended the measured time, as far as a rule did.
    pub fn cause(&self) -> Option<StopCause> {
        self.state().cause
    }

    /// Why a measured time of this length ended; nothing if there were no rules. `otherwise` ended it if
    /// none did.
    pub fn report(&self, otherwise: StopCause, measured_ns: u64) -> Option<StopReport> {
        let mut state = self.state();
        if otherwise == StopCause::Duration {
            self.judge_rest(&mut state, measured_ns);
        }
        self.rules
            .any()
            .then(|| report(state.cause.unwrap_or(otherwise), &self.rules, &state.judge))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a measured time ended, with what a judge has found.
#[must_use]
pub fn report(cause: StopCause, rules: &StopRules, judge: &Judge) -> StopReport {
    StopReport {
        cause,
        interval_ns: if rules.judges() { judge.interval_ns() } else { 0 },
        intervals: judge.intervals() as u64,
        steady: judge.steady_evidence(),
        confidence: judge.confidence_evidence(),
        awaited: judge.awaited(),
    }
}

/// Positions of one pass over each target that its threads make together; without limit for the others.
fn pass_positions(plan: &SpanPlan) -> Vec<u64> {
    let targets = plan.targets.iter().map(|target| &target.offsets);
    let shared = |offsets: &crate::plan::OffsetPlan| match offsets.order {
        Order::Interlocked => offsets::positions(offsets),
        _ => u64::MAX,
    };
    targets.map(shared).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::fixture::span;

    fn finish(threads: usize, rules: StopRules) -> Finish {
        let finish = Finish::with(&span(Vec::new()), rules, threads, Vec::new());
        finish.open(1_000_000);
        finish
    }

    #[test]
    fn the_last_thread_that_is_spent_ends_the_measured_time() {
        let finish = finish(2, StopRules { ios: Some(5), ..StopRules::default() });
        assert_eq!(finish.pool().take(9, 1), 5);
        finish.spent(700);
        assert_eq!((finish.until_ns(), finish.cause()), (1_000_000, None));
        finish.spent(600);
        assert_eq!((finish.until_ns(), finish.cause()), (700, Some(StopCause::Ios)));
    }

    #[test]
    fn an_end_never_lies_behind_the_duration() {
        let finish = finish(1, StopRules { pass: true, ..StopRules::default() });
        finish.spent(2_000_000);
        assert_eq!(finish.until_ns(), 1_000_000);
    }

    #[test]
    fn without_rules_there_is_nothing_to_report() {
        assert_eq!(finish(1, StopRules::default()).report(StopCause::Duration, 1), None);
        let ios = StopRules { ios: Some(5), ..StopRules::default() };
        let report = finish(1, ios).report(StopCause::Duration, 1).unwrap();
        assert_eq!((report.cause, report.interval_ns), (StopCause::Duration, 0));
    }

    /// A finish whose one thread handed over intervals of 10 ms with 100 I/Os each, of which the last one
    /// ends with the duration of 2 s, and so was looked at by nobody.
    fn of_two_seconds(intervals: u64) -> Finish {
        let rules = StopRules {
            confidence: Some(crate::request::ConfidenceRule {
                level_milli: 95_000,
                precision_milli: 2_000,
            }),
            interval_ms: Some(10),
            ..StopRules::default()
        };
        let mut plan = span(Vec::new());
        plan.stop = rules;
        let finish = Finish::with(&plan, rules, 1, Vec::new());
        finish.open(2_000_000_000);
        let mut feed = finish.feed(0).unwrap();
        (0..200).for_each(|index| feed.add(index * 10_000_000, 100));
        finish.look(1_995_000_000);
        (200..=intervals).for_each(|index| feed.add(index * 10_000_000, 100));
        finish.look(2_000_000_000);
        finish
    }

    #[test]
    fn a_run_of_exactly_the_least_time_can_meet_the_rule_about_the_mean() {
        let report = of_two_seconds(200).report(StopCause::Duration, 2_000_000_000).unwrap();
        assert_eq!((report.cause, report.intervals), (StopCause::Confidence, 200));
        assert_eq!(report.awaited, None);
    }

    #[test]
    fn what_completed_behind_the_measured_time_is_not_judged() {
        let report = of_two_seconds(205).report(StopCause::Duration, 1_990_000_000).unwrap();
        assert_eq!((report.cause, report.intervals), (StopCause::Duration, 199));
        // Somebody ended it: what is known by then stays as it is.
        let report = of_two_seconds(200).report(StopCause::Interruption, 2_000_000_000).unwrap();
        assert_eq!((report.cause, report.intervals), (StopCause::Interruption, 199));
    }
}
