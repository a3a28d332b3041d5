//! The conductor of a time span: sets all threads up, lets them start together, watches the phases
//! and collects what they saw.

mod thread;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use fathom_sys::trace;

use super::clock::{Clock, RealClock, Schedule};
use super::gate::{Gate, Readiness, await_all};
use super::lane::SharedTarget;
use super::live::LiveBoard;
use super::setup::{self, Sources};
use super::stop::Finish;
use super::tracer::Tracer;
use super::worker::{IoFault, Tolerance};
use crate::measure::{
    CpuTimes, Ending, Event, EventSink, Phase, SpanMeasurements, StopCause, ThreadMeasurements,
};
use crate::plan::{SpanPlan, ThreadPlan};
use crate::verify::Tables;

/// The conductor looks at least this often whether it must stop.
const WATCH_EVERY_NS: u64 = 10_000_000;
/// Threads start this long after the last of them is ready, so that all have woken up.
const START_DELAY_NS: u64 = 100_000;

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
    /// Each step is told in words.
    pub verbose: bool,
    /// The figures of each second are told while the run is under way.
    pub live: bool,
    /// What writes may be found where, if the run is verified.
    pub verification: Option<&'a Tables>,
}

/// Runs one time span to its end.
#[must_use]
pub fn run_span(plan: &SpanPlan, control: &Control<'_>) -> SpanMeasurements {
    let measurements = match (setup::make_sources(plan), Tracer::open(control.trace)) {
        (Ok(sources), Ok(tracer)) => Conductor::new(plan, control, sources, tracer).run(),
        (Err(error), _) => failed(error.to_string()),
        (_, Err(error)) => failed(error.to_string()),
    };
    (control.sink)(Event::Finished { span: plan.index });
    measurements
}

fn failed(reason: String) -> SpanMeasurements {
    SpanMeasurements {
        ending: Ending::Failed(reason),
        measured_ns: 0,
        stop: None,
        cpus: Vec::new(),
        kernel_events: None,
        threads: Vec::new(),
    }
}

type ThreadResult = Result<Option<(ThreadMeasurements, Option<IoFault>, u64)>, String>;

struct Conductor<'a> {
    plan: &'a SpanPlan,
    control: &'a Control<'a>,
    sources: Sources,
    targets: Vec<SharedTarget>,
    gate: Gate,
    live: Option<LiveBoard>,
    finish: Finish,
    tolerance: Tolerance,
    tracer: Tracer,
    /// Ends all threads: set when the run must stop, and by a thread whose I/O failed.
    halt: AtomicBool,
}

impl<'a> Conductor<'a> {
    fn new(plan: &'a SpanPlan, control: &'a Control<'a>, sources: Sources, tracer: Tracer) -> Self {
        Self {
            plan,
            control,
            sources,
            targets: plan.targets.iter().map(SharedTarget::new).collect(),
            gate: Gate::default(),
            live: control.live.then(|| LiveBoard::new(plan.threads.len())),
            finish: Finish::new(plan),
            tolerance: Tolerance::new(plan.faults),
            tracer,
            halt: AtomicBool::new(false),
        }
    }

    fn run(&self) -> SpanMeasurements {
        self.step(|| format!("Generating requests for timespan {}.", self.plan.index + 1));
        std::thread::scope(|scope| {
            let (ready, readiness) = mpsc::channel();
            let mut handles = Vec::with_capacity(self.plan.threads.len());
            let mut refused = None;
            for thread in &self.plan.threads {
                self.step(|| format!("creating thread {}", thread.index));
                self.tell_targets(thread);
                let ready = Readiness(Some(ready.clone()));
                let builder = std::thread::Builder::new().name(format!("load {}", thread.index));
                match builder.spawn_scoped(scope, move || self.thread(thread, ready)) {
                    Ok(handle) => handles.push(handle),
                    Err(error) => {
                        refused = Some(format!(
                            "cannot start thread {}: {error}. Use fewer threads, or raise the limit \
                             of processes (ulimit -u, pids.max of the control group)",
                            thread.index
                        ));
                        break;
                    }
                }
            }
            drop(ready);
            let failure = refused.or_else(|| await_all(&readiness, handles.len()));
            let (cpus, schedule) = match failure {
                None => self.watch(),
                Some(reason) => {
                    self.gate.cancel();
                    return failed(reason);
                }
            };
            let outcomes: Vec<ThreadResult> = handles
                .into_iter()
                .map(|handle| handle.join().unwrap_or_else(|_| Err("a thread panicked".into())))
                .collect();
            self.collect(outcomes, cpus, schedule)
        })
    }

    fn tell_targets(&self, thread: &ThreadPlan) {
        for lane in &thread.assignments {
            let (index, relative) = (thread.index, lane.relative_thread);
            let name = &self.plan.targets[lane.target].name;
            self.step(|| format!("thread {index} is relative thread {relative} for {name}"));
        }
    }

    /// Opens the gate and follows the phases; returns the CPU times of the measured time.
    fn watch(&self) -> (Vec<CpuTimes>, Schedule) {
        let mut schedule = Schedule::new(self.plan, RealClock.now_ns() + START_DELAY_NS);
        self.finish.open(schedule.measure_until_ns);
        self.gate.open(schedule);
        if self.plan.warm_up_ns > 0 {
            self.phase(Phase::WarmUp, self.plan.warm_up_ns);
        }
        self.sleep_until(|| schedule.measure_from_ns);
        let before = (self.control.cpu_times)();
        self.tracer.begin();
        self.phase(Phase::Measured, self.plan.measured_ns);
        self.sleep_until(|| self.finish.until_ns());
        schedule.end_measured_at(self.finish.until_ns());
        self.tracer.end();
        let after = (self.control.cpu_times)();
        if self.plan.cool_down_ns > 0 && !self.halt.load(Ordering::Relaxed) {
            self.phase(Phase::CoolDown, self.plan.cool_down_ns);
        }
        self.sleep_until(|| schedule.stop_ns);
        (difference(&before, &after), schedule)
    }

    fn phase(&self, phase: Phase, planned_ns: u64) {
        let what = match phase {
            Phase::WarmUp => "warm up",
            Phase::Measured => "measurements",
            Phase::CoolDown => "cool down",
        };
        self.step(|| format!("starting {what} for {}s...", planned_ns / 1_000_000_000));
        (self.control.sink)(Event::PhaseStarted { span: self.plan.index, phase, planned_ns });
    }

    /// Sleeps until an instant that may move while it sleeps.
    fn sleep_until(&self, deadline_ns: impl Fn() -> u64) {
        loop {
            if self.control.stop.load(Ordering::Relaxed) {
                self.halt.store(true, Ordering::Relaxed);
            }
            if let Some(board) = &self.live {
                board.tell(self.control.sink);
            }
            self.tracer.look();
            let now_ns = RealClock.now_ns();
            self.finish.look(now_ns);
            let deadline_ns = deadline_ns();
            if now_ns >= deadline_ns || self.halt.load(Ordering::Relaxed) {
                return;
            }
            RealClock.sleep_until_ns(deadline_ns.min(now_ns + WATCH_EVERY_NS));
        }
    }

    fn collect(
        &self,
        outcomes: Vec<ThreadResult>,
        cpus: Vec<CpuTimes>,
        schedule: Schedule,
    ) -> SpanMeasurements {
        if let Some(board) = &self.live {
            board.tell_rest(self.control.sink);
        }
        let mut threads = Vec::with_capacity(outcomes.len());
        let mut ended_ns = schedule.measure_from_ns;
        for outcome in outcomes {
            match outcome {
                Ok(Some((thread, fault, thread_ended_ns))) => {
                    ended_ns = ended_ns.max(thread_ended_ns);
                    self.report_fault(&thread, fault);
                    threads.push(thread);
                }
                Ok(None) => {}
                Err(reason) => return failed(reason),
            }
        }
        let until_ns = ended_ns.min(schedule.measure_until_ns);
        let measured_ns = until_ns - schedule.measure_from_ns;
        let complete = until_ns == schedule.measure_until_ns;
        let seconds = measured_ns as f64 / 1e9;
        self.step(|| format!("stopped measurements, total measured time {seconds:.2}s..."));
        let (ending, otherwise) = if complete {
            (Ending::Complete, StopCause::Duration)
        } else {
            (Ending::Interrupted, StopCause::Interruption)
        };
        for thread in &mut threads {
            thread.cut_series(measured_ns, self.plan.interval_ns);
        }
        let stop = self.finish.report(otherwise);
        let kernel_events = self.tracer.counted();
        SpanMeasurements { ending, measured_ns, stop, cpus, kernel_events, threads }
    }

    fn report_fault(&self, thread: &ThreadMeasurements, fault: Option<IoFault>) {
        let Some(fault) = fault else { return };
        let lane = &self.plan.threads[thread.index].assignments[fault.lane];
        let name = self.plan.targets[lane.target].name.clone();
        let reason = fault.describe(thread.index, &name);
        (self.control.sink)(Event::TargetFailed { name, reason });
    }

    fn step(&self, words: impl FnOnce() -> String) {
        if self.control.verbose {
            (self.control.sink)(Event::Step(words()));
        }
    }
}

fn difference(before: &[CpuTimes], after: &[CpuTimes]) -> Vec<CpuTimes> {
    let since = |later: &CpuTimes| {
        let earlier = before.iter().find(|earlier| earlier.os_id == later.os_id);
        let earlier = earlier.copied().unwrap_or(*later);
        CpuTimes {
            os_id: later.os_id,
            user: later.user.saturating_sub(earlier.user),
            kernel: later.kernel.saturating_sub(earlier.kernel),
            idle: later.idle.saturating_sub(earlier.idle),
            steal: later.steal.saturating_sub(earlier.steal),
        }
    };
    after.iter().map(since).collect()
}
