//! The coordinator of a time span: sets all threads up, lets them start together, watches the phases
//! and collects what they saw.

mod place;
mod shared;
mod stalls;
mod still;
mod thread;
mod trial;
mod watchdog;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use fathom_sys::trace;

use super::clock::{Clock, RealClock, Schedule};
use super::setup;
use super::start_barrier::Readiness;
use super::start_gate::{StartGate, unix_ahead_ns};
use super::tracer::Tracer;
use super::worker::IoFault;
use crate::beneath::{Edge, Watch};
use crate::errors::{Failure, Kind};
use crate::guard::Checked;
use crate::measure::{
    AwayCpu, CpuTimes, Ending, Event, EventSink, OutstandingIo, Phase, SpanMeasurements, StopCause,
    cpu_difference,
};
use crate::network::ConnectionUse;
use crate::plan::{SpanPlan, ThreadPlan};
use crate::storage::Answering;
use crate::supervise::ENDED_PATIENCE_NS;
use crate::verify::Tables;
use shared::{Leaving, Report, Shared};
use stalls::Stalls;
use still::Sleeper;
use watchdog::Watchdog;
pub(super) use watchdog::outstanding;

/// The coordinator looks at least this often whether it must stop.
const WATCH_EVERY_NS: u64 = 10_000_000;
/// Threads start this long after the last of them is ready, so that all have woken up.
const START_DELAY_NS: u64 = 100_000;
/// Processes are looked at so long before an instant that was agreed on, as that takes a while where there
/// are many.
const LOOK_AHEAD_NS: u64 = 150_000_000;
/// Counters are read, and threads told of that instant, so long before it comes: they sleep until then by
/// themselves.
const TELL_AHEAD_NS: u64 = 30_000_000;
/// Counters are read so long after that instant, as several hosts may be one machine: whoever reads them
/// would take the CPU that a thread of load is to begin on.
const LET_BEGIN_NS: u64 = 500_000;

/// What a time span needs from outside.
pub struct Control<'a> {
    /// Ends the run early when it turns true.
    pub stop: &'a AtomicBool,
    /// Where events go.
    pub sink: EventSink<'a>,
    /// Time that each CPU has spent, by state.
    pub cpu_times: &'a (dyn Fn() -> Vec<CpuTimes> + Sync),
    /// Kernel events to count during the measured time.
    pub trace: Option<&'a trace::Request>,
    /// Each step is reported in words.
    pub verbose: bool,
    /// The figures of each second are reported while the run is under way.
    pub live: bool,
    /// Who reads the counters of what lies beneath the targets.
    pub watch: Option<&'a Watch>,
    /// What writes may be found where, if the run is verified.
    pub verification: Option<Arc<Tables>>,
    /// What each target that is written led to when it was checked.
    pub checked: &'a Checked,
    /// When the load begins; at once if absent.
    pub gate: Option<&'a StartGate>,
}

/// Runs one time span to its end.
#[must_use]
pub fn run_span(plan: &SpanPlan, control: &Control<'_>) -> SpanMeasurements {
    let is_stamped = control.verification.is_some();
    let sources = setup::make_sources(plan, is_stamped, control.sink);
    let measurements = match (sources, Tracer::open(control.trace)) {
        (Ok(sources), Ok(tracer)) => {
            let (events, told) = mpsc::channel();
            let shared = Arc::new(Shared::new(plan, control, sources, events));
            Coordinator::new(control, shared, told, tracer).run()
        }
        (Err(error), _) => failed(error.into()),
        (_, Err(error)) => failed(error.to_string().into()),
    };
    (control.sink)(Event::Finished { span: plan.index });
    measurements
}

fn failed(reason: Failure) -> SpanMeasurements {
    SpanMeasurements::nothing(Ending::Failed(reason))
}

/// What the CPUs spent, and which of them were away.
type CpuUse = (Vec<CpuTimes>, Vec<AwayCpu>);

struct Coordinator<'a> {
    control: &'a Control<'a>,
    shared: Arc<Shared>,
    /// What the threads tell; passed on by the coordinator, so that a thread may outlive it.
    told: mpsc::Receiver<Event>,
    watchdog: RefCell<Watchdog>,
    sleeper: RefCell<Sleeper>,
    tracer: Tracer,
    /// When the load was to begin, by the clock that all hosts share.
    began_unix_ns: Cell<Option<u64>>,
    /// Whether the measured time was over before the threads were halted, if they were.
    is_measured_whole: Cell<bool>,
}

impl<'a> Coordinator<'a> {
    fn new(
        control: &'a Control<'a>,
        shared: Arc<Shared>,
        told: mpsc::Receiver<Event>,
        tracer: Tracer,
    ) -> Self {
        let watchdog = RefCell::new(Watchdog::new(shared.plan.threads.len()));
        let sleeper = RefCell::default();
        let (began_unix_ns, is_measured_whole) = (Cell::default(), Cell::default());
        Self { control, shared, told, watchdog, sleeper, tracer, began_unix_ns, is_measured_whole }
    }

    /// Threads are not joined but report, since one that is stuck in the kernel would be waited for without
    /// end. They own all that they use together.
    fn run(&self) -> SpanMeasurements {
        let plan = &self.shared.plan;
        self.step(|| format!("Generating requests for timespan {}.", plan.index + 1));
        let (ready, readiness) = mpsc::channel();
        let (leave, reports) = mpsc::channel();
        let mut refused = None;
        for thread in &plan.threads {
            self.step(|| format!("creating thread {}", thread.index));
            self.tell_targets(thread);
            let ready = Readiness(Some(ready.clone()));
            let leaving = Leaving::new(thread.index, leave.clone());
            if let Err(error) = Shared::start(&self.shared, thread.index, ready, leaving) {
                let words = format!(
                    "cannot start thread {}: {error}. Use fewer threads, or raise the limit \
                     of processes (ulimit -u, pids.max of the control group)",
                    thread.index
                );
                refused = Some(Failure::new(Kind::Limit, words));
                break;
            }
        }
        drop((ready, leave));
        if let Some(reason) = refused.or_else(|| self.await_ready(&readiness)) {
            self.shared.barrier.cancel();
            self.pass_on();
            return failed(reason);
        }
        let (cpus, schedule) = self.watch();
        let failure = self.await_reports(&reports);
        self.look_beneath(Edge::AfterLoad);
        self.pass_on();
        failure.map_or_else(|| self.collect(cpus, schedule), failed)
    }

    /// Waits until every thread is ready; the first failure, if any.
    fn await_ready(&self, readiness: &mpsc::Receiver<Result<(), Failure>>) -> Option<Failure> {
        let (mut failure, mut waiting) = (None, self.shared.plan.threads.len());
        let began_ns = RealClock.now_ns();
        while waiting > 0 {
            match readiness.recv_timeout(Duration::from_nanos(WATCH_EVERY_NS)) {
                Ok(report) => {
                    waiting -= 1;
                    failure = failure.or(report.err());
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    self.pass_on();
                    let limit_ns = self.patience_ns();
                    if RealClock.now_ns() - began_ns >= limit_ns {
                        let seconds = limit_ns / 1_000_000_000;
                        let targets = &self.shared.plan.targets;
                        let who = Answering::of(targets.iter().map(|one| &one.location));
                        let words = format!(
                            "{waiting} threads were not ready after {seconds} s: opening a target, or \
                             making the buffers, does not end: {}, or wait longer with --io-timeout",
                            who.look_at()
                        );
                        return failure.or(Some(Failure::new(Kind::TimedOut, words)));
                    }
                }
            }
        }
        failure
    }

    /// Waits until each thread has reported, or until those that have not are stuck in the kernel; the
    /// first failure, if any.
    fn await_reports(&self, reports: &mpsc::Receiver<Report>) -> Option<Failure> {
        let (mut failure, mut waiting) = (None, self.shared.plan.threads.len());
        self.watchdog.borrow_mut().end_load(RealClock.now_ns());
        while waiting > 0 {
            match reports.recv_timeout(Duration::from_nanos(WATCH_EVERY_NS)) {
                Ok(Report { thread, word }) => {
                    waiting -= 1;
                    self.watchdog.borrow_mut().has_left(thread, RealClock.now_ns());
                    failure = failure.or(word.err());
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    self.pass_on();
                    if self.control.stop.load(Ordering::Relaxed) {
                        self.shared.halt.store(true, Ordering::Relaxed);
                    }
                    let mut watchdog = self.watchdog.borrow_mut();
                    let now_ns = RealClock.now_ns();
                    if self.shared.halt.load(Ordering::Relaxed) {
                        watchdog.end_early(now_ns);
                    }
                    if watchdog.are_all_stuck(&self.shared, now_ns, self.limit_ns()) {
                        break;
                    }
                }
            }
        }
        failure
    }

    /// How long a thread may stay away without a completion.
    fn limit_ns(&self) -> u64 {
        self.shared.plan.faults.io_timeout_ns().unwrap_or(u64::MAX)
    }

    /// How long the threads may take to be ready.
    fn patience_ns(&self) -> u64 {
        let limit_ns = self.limit_ns();
        let is_ended = self.control.stop.load(Ordering::Relaxed);
        if is_ended || self.shared.halt.load(Ordering::Relaxed) {
            limit_ns.min(ENDED_PATIENCE_NS)
        } else {
            limit_ns
        }
    }

    /// Tells what the threads have told.
    fn pass_on(&self) {
        self.told.try_iter().for_each(|event| (self.control.sink)(event));
    }

    fn tell_targets(&self, thread: &ThreadPlan) {
        for assignment in &thread.assignments {
            let (index, relative) = (thread.index, assignment.relative_thread);
            let name = &self.shared.plan.targets[assignment.target].name;
            self.step(|| format!("thread {index} is relative thread {relative} for {name}"));
        }
    }

    /// Opens the barrier and follows the phases; returns the CPU times of the measured time.
    fn watch(&self) -> (CpuUse, Schedule) {
        let at_ns = self.await_start();
        self.look_beneath(Edge::BeforeLoad);
        let now_ns = RealClock.now_ns();
        let mut schedule = Schedule::new(&self.shared.plan, at_ns.max(now_ns + START_DELAY_NS));
        let let_begin_ns = if schedule.start_ns == at_ns { LET_BEGIN_NS } else { 0 };
        self.began_unix_ns.set(Some(schedule.start_ns + unix_ahead_ns()));
        self.shared.finish.open(schedule.measure_until_ns);
        self.shared.barrier.open(schedule);
        if self.shared.plan.warm_up_ns > 0 {
            self.phase(Phase::WarmUp, self.shared.plan.warm_up_ns);
        }
        self.sleep_until(|| schedule.measure_from_ns.max(schedule.start_ns + let_begin_ns));
        let before = (self.control.cpu_times)();
        self.look_beneath(Edge::Begin);
        self.tracer.begin();
        self.phase(Phase::Measured, self.shared.plan.measured_ns);
        self.sleep_until(|| self.shared.finish.until_ns());
        schedule.end_measured_at(self.shared.finish.until_ns());
        self.is_measured_whole.set(!self.shared.halt.load(Ordering::Relaxed));
        self.tracer.end();
        self.look_beneath(Edge::End);
        let after = (self.control.cpu_times)();
        self.tell_measured(&schedule);
        if self.shared.plan.cool_down_ns > 0 && !self.shared.halt.load(Ordering::Relaxed) {
            self.phase(Phase::CoolDown, self.shared.plan.cool_down_ns);
        }
        self.sleep_until(|| schedule.stop_ns);
        (cpu_difference(&before, &after), schedule)
    }

    /// Waits until it is known when the load begins, and until shortly before that; the instant on the
    /// clock of the threads. What takes a while is done before.
    fn await_start(&self) -> u64 {
        let Some(gate) = self.control.gate else { return 0 };
        let (mut is_told, mut has_looked) = (false, false);
        while !self.control.stop.load(Ordering::Relaxed) {
            let now_ns = RealClock.now_ns();
            let at_ns = gate.at_unix_ns().map(|at_ns| at_ns.saturating_sub(unix_ahead_ns()));
            let left_ns = at_ns.map(|at_ns| at_ns.saturating_sub(now_ns));
            match left_ns {
                Some(left_ns) if left_ns <= TELL_AHEAD_NS => return now_ns + left_ns,
                Some(left_ns) if left_ns <= LOOK_AHEAD_NS && !has_looked => {
                    has_looked = true;
                    self.control.watch.inspect(|watch| watch.look_at_processes());
                    continue;
                }
                Some(_) => {}
                None if is_told => {}
                None => {
                    is_told = true;
                    (self.control.sink)(Event::Ready);
                }
            }
            self.pass_on();
            let wait_ns = left_ns.map_or(WATCH_EVERY_NS, |left_ns| left_ns - TELL_AHEAD_NS);
            self.sleeper.borrow_mut().sleep_until_ns(now_ns + wait_ns.min(WATCH_EVERY_NS));
        }
        0
    }

    fn tell_measured(&self, schedule: &Schedule) {
        let until_ns = RealClock.now_ns().min(schedule.measure_until_ns);
        let seconds = until_ns.saturating_sub(schedule.measure_from_ns) as f64 / 1e9;
        self.step(|| format!("stopped measurements, total measured time {seconds:.2}s..."));
    }

    fn look_beneath(&self, edge: Edge) {
        if let Some(watch) = self.control.watch {
            watch.look(edge);
        }
    }

    fn phase(&self, phase: Phase, planned_ns: u64) {
        let what = match phase {
            Phase::WarmUp => "warm up",
            Phase::Measured => "measurements",
            Phase::CoolDown => "cool down",
        };
        self.step(|| format!("starting {what} for {}s...", planned_ns / 1_000_000_000));
        (self.control.sink)(Event::PhaseStarted {
            span: self.shared.plan.index,
            phase,
            planned_ns,
        });
    }

    /// Sleeps until an instant that may move while it sleeps.
    fn sleep_until(&self, deadline_ns: impl Fn() -> u64) {
        loop {
            if self.control.stop.load(Ordering::Relaxed) {
                self.shared.halt.store(true, Ordering::Relaxed);
            }
            if let Some(board) = &self.shared.live {
                board.tell(self.control.sink, RealClock.now_ns());
            }
            self.pass_on();
            self.tracer.look();
            let now_ns = RealClock.now_ns();
            let limit_ns = self.limit_ns();
            if self.watchdog.borrow_mut().is_any_stuck(&self.shared, now_ns, limit_ns) {
                self.shared.halt.store(true, Ordering::Relaxed);
            }
            self.shared.finish.look(now_ns);
            let deadline_ns = deadline_ns();
            if now_ns >= deadline_ns || self.shared.halt.load(Ordering::Relaxed) {
                return;
            }
            let until_ns = deadline_ns.min(now_ns + WATCH_EVERY_NS);
            if self.sleeper.borrow_mut().sleep_until_ns(until_ns) {
                // The threads may not have run since, either.
                self.watchdog.borrow_mut().forgive(RealClock.now_ns());
            }
        }
    }

    fn collect(&self, (cpus, away_cpus): CpuUse, schedule: Schedule) -> SpanMeasurements {
        if let Some(board) = &self.shared.live {
            board.tell_rest(self.control.sink);
        }
        let now_ns = RealClock.now_ns();
        self.watchdog.borrow_mut().end_wait(now_ns);
        let (mut threads, mut outstanding) = (Vec::new(), Vec::new());
        let statistics: Vec<_> = self
            .shared
            .plan
            .threads
            .iter()
            .map(|thread| self.shared.statistics(thread.index))
            .collect();
        let ended =
            statistics.iter().flatten().map(|statistics| statistics.ended_ns().unwrap_or(now_ns));
        let ended_ns = ended.fold(schedule.measure_from_ns, u64::max);
        // A thread that had no CPU at the end of the measured time, and is halted in the cool-down, has last
        // looked at the clock before that end.
        let is_over = self.is_measured_whole.get();
        let until_ns = if is_over { u64::MAX } else { ended_ns }.min(schedule.measure_until_ns);
        let measured = schedule.measure_from_ns..until_ns;
        let (sleeper, plan) = (self.sleeper.borrow(), &self.shared.plan);
        let mut stalls =
            Stalls { plan, measured: measured.clone(), sleeper: &sleeper, found: Vec::new() };
        let watchdog = self.watchdog.borrow();
        let mut is_lost = false;
        for (thread, statistics) in self.shared.plan.threads.iter().zip(statistics) {
            let Some(statistics) = statistics else {
                self.report_lost(thread.index);
                stalls.add_seen(thread, watchdog.stretches(thread.index));
                is_lost = true;
                continue;
            };
            let outcome = statistics.close(&measured);
            if outcome.stretches.is_empty() {
                stalls.add_seen(thread, watchdog.stretches(thread.index));
            }
            stalls.add_streams(thread, &outcome.targets, &outcome.stretches);
            self.report_fault(thread.index, outcome.fault, &outcome.backend.connections);
            let unfinished = watchdog::outstanding(thread, &outcome, schedule.start_ns, now_ns);
            self.report_outstanding(thread.index, &unfinished, &outcome.backend.connections);
            outstanding.extend(unfinished);
            threads.push(self.shared.measurements(thread, outcome));
        }
        self.control.watch.inspect(|watch| watch.stalled(stalls.longest()));
        let measured_ns = until_ns - schedule.measure_from_ns;
        let late_ns = self.shared.began.late_ns(schedule.start_ns);
        let is_whole = until_ns == schedule.measure_until_ns;
        self.step(|| "finished test...".to_owned());
        let otherwise = if is_whole { StopCause::Duration } else { StopCause::Interruption };
        for thread in &mut threads {
            thread.cut_series(measured_ns, self.shared.plan.interval_ns);
        }
        let is_complete = is_whole && outstanding.is_empty() && !is_lost;
        SpanMeasurements {
            ending: if is_complete { Ending::Complete } else { Ending::Interrupted },
            began_unix_ns: self.began_unix_ns.get().map(|planned_ns| planned_ns + late_ns),
            measured_ns,
            stop: self.shared.finish.report(otherwise, measured_ns),
            cpus,
            away_cpus,
            suspended: sleeper.of(&measured),
            kernel_events: self.tracer.counted(),
            outstanding,
            round_trips: Vec::new(),
            beneath: None,
            threads,
        }
    }

    fn report_lost(&self, thread: usize) {
        let streams = &self.shared.plan.threads[thread].assignments;
        let name = streams
            .first()
            .map(|assignment| self.shared.plan.targets[assignment.target].name.clone());
        let name = name.unwrap_or_default();
        let reason = format!(
            "thread {thread}: it does not come back from an I/O to '{name}', and what it measured \
             cannot be told"
        );
        let (kind, code) = (Kind::TimedOut, None);
        (self.control.sink)(Event::TargetFailed { name, reason, kind, code });
    }

    /// One sentence for each target that I/Os of a thread have not come back from.
    fn report_outstanding(
        &self,
        thread: usize,
        unfinished: &[OutstandingIo],
        connections: &[ConnectionUse],
    ) {
        let streams = &self.shared.plan.threads[thread].assignments;
        for (index, target) in self.shared.plan.targets.iter().enumerate() {
            let ios = unfinished.iter().filter(|io| io.target as usize == index);
            let Some(mut reason) = watchdog::describe(target, &ios.collect::<Vec<_>>()) else {
                continue;
            };
            let mut of_target =
                connections.iter().filter(|one| streams[one.stream].target == index);
            if let Some(lost) = of_target.find_map(|one| one.lost.as_ref()) {
                reason = format!("{reason}; {lost}");
            }
            let (name, kind, code) = (target.name.clone(), Kind::TimedOut, None);
            (self.control.sink)(Event::TargetFailed { name, reason, kind, code });
        }
    }

    fn report_fault(&self, thread: usize, fault: Option<IoFault>, connections: &[ConnectionUse]) {
        let Some(fault) = fault else { return };
        let assignment = &self.shared.plan.threads[thread].assignments[fault.stream];
        let target = &self.shared.plan.targets[assignment.target];
        let name = target.name.clone();
        let mut reason = fault.describe(thread, &name, target.size_bytes);
        let mut used = connections.iter().filter(|one| one.stream == fault.stream);
        if let Some(lost) = used.find_map(|one| one.lost.as_ref()) {
            reason = format!("{reason}; {lost}");
        }
        let (kind, code) = (fault.failure.kind(), fault.failure.code());
        (self.control.sink)(Event::TargetFailed { name, reason, kind, code });
    }

    fn step(&self, words: impl FnOnce() -> String) {
        if self.control.verbose {
            self.pass_on();
            (self.control.sink)(Event::Step(words()));
        }
    }
}
