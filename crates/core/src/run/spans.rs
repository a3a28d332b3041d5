//! The time spans of a run, in order, with the files that they need.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::record::{Shared, not_begun};
use crate::beneath::{Layers, Watch};
use crate::engine::coordinator::{Control, run_span};
use crate::engine::start_gate::StartGate;
use crate::errors::{Failure, Kind};
use crate::events::RunEvents;
use crate::guard::Checked;
use crate::measure::{CpuTimes, Ending, Event, EventSink, SpanMeasurements};
use crate::network::RoundTrip;
use crate::plan::{FilePlan, Plan, SpanPlan, TargetPlan, tracing};
use crate::prepare;
use crate::prepare::{Created, Marks};
use crate::request::Job;
use crate::result::warnings;
use crate::storage::contract::Creation;
use crate::supervise::{Doing, within};
use crate::verify::Tables;

pub(super) struct Runner<'a> {
    pub(super) job: &'a Job,
    pub(super) plan: &'a Plan,
    pub(super) events: &'a RunEvents,
    pub(super) tables: Option<&'a Arc<Tables>>,
    pub(super) checked: Checked,
    pub(super) marks: &'a Marks,
    pub(super) record: &'a Shared,
    pub(super) stop: &'a AtomicBool,
    pub(super) gate: &'a StartGate,
    pub(super) sink: EventSink<'a>,
}

/// Tells that what it stands beside is over, also if that panics.
struct AtEnd<'a>(&'a AtomicBool);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Runner<'_> {
    /// Runs the time spans, while a thread of its own follows the event that ends the run if there is one.
    pub(super) fn run_watched(&mut self) {
        if !self.events.can_stop() {
            return self.run_all();
        }
        let (events, stop, over) = (self.events, self.stop, AtomicBool::new(false));
        std::thread::scope(|scope| {
            let _at_end = AtEnd(&over);
            let thread = std::thread::Builder::new().name("events".to_owned());
            match thread.spawn_scoped(scope, || events.watch(stop, &over)) {
                Ok(_) => self.run_all(),
                Err(error) => self.cannot_begin(Failure::of(&error, format!(
                    "cannot start the thread that waits for the event of -yp: {error}. Raise the limit of \
                     processes (ulimit -u, pids.max of the control group), or leave -yp out"
                ))),
            }
        });
    }

    /// Runs the time spans in order; the first that does not complete ends the run.
    fn run_all(&mut self) {
        let room = prepare::check_room(self.plan.files(), self.sink);
        let room = room.map_err(|error| Failure::from(&error));
        if let Err(reason) = room.and_then(|()| self.create(&self.plan.precreate)) {
            return self.cannot_begin(reason);
        }
        for (index, span) in self.plan.spans.iter().enumerate() {
            if let Err(reason) = self.create(&span.create) {
                return self.cannot_begin(reason);
            }
            if !self.events.wait_for_start(self.stop) {
                return self.cannot_begin(ended_before());
            }
            if let Err(reason) = self.look_before(span) {
                return self.cannot_begin(reason);
            }
            if !self.span(span) {
                return;
            }
            if index + 1 < self.plan.spans.len() {
                prepare::settle_written(span, &self.checked, self.sink);
            }
        }
    }

    fn create(&mut self, files: &[FilePlan]) -> Result<(), Failure> {
        let mut made = Vec::new();
        for file in files {
            let path = file.path().display();
            self.step(|| format!("Creating file '{path}' of size {}.", file.size_bytes));
            let (permission, tables) = (&self.job.permission, self.tables);
            let (checked, stop, sink) = (&mut self.checked, self.stop, self.sink);
            let mut with = Creation { permission, checked, marks: self.marks, stop, sink };
            let doing = Doing::at(&file.location, format!("create the file '{path}'"));
            let created = within(sink, doing, || {
                let created = file.location.storage().create(file, &mut with)?;
                made.extend((created != Created::Kept).then(|| file.path().to_owned()));
                if let Some(tables) = tables.filter(|_| created != Created::Kept) {
                    tables.forget(file.path());
                    tables.learn(&file.location, true);
                }
                Ok(())
            });
            created.map_err(|error: prepare::PrepareError| self.failure_of(&error))?;
        }
        prepare::settle(made.into_iter(), &self.checked, self.sink);
        Ok(())
    }

    /// What was looked at before other files were made, an event came, or other time spans ran, is looked at
    /// again.
    fn look_before(&self, span: &SpanPlan) -> Result<(), Failure> {
        let overwrite = self.job.permission.overwrite;
        let found = prepare::look_before(span, overwrite, &self.checked, self.sink);
        found.map_err(|refusals| Failure::new(Kind::Denied, refusals.to_string()))
    }

    /// An error as it stands in the result. Who interrupts a run knows why it ended, but not that a file
    /// stays.
    fn failure_of(&self, error: &prepare::PrepareError) -> Failure {
        let failure = Failure::from(error);
        if error.keeps_the_file() && self.stop.load(Ordering::Relaxed) {
            self.record.of().failures.push(failure.clone());
        }
        failure
    }

    fn step(&self, words: impl FnOnce() -> String) {
        if self.job.profile().verbose {
            (self.sink)(Event::Step(words()));
        }
    }

    fn cannot_begin(&self, reason: Failure) {
        let (interrupted, mut record) = (self.stop.load(Ordering::Relaxed), self.record.of());
        if !interrupted {
            record.failures.push(reason.clone());
        }
        record.spans.push(not_begun(interrupted, reason));
    }

    /// Runs one time span, with a look at its targets before and after; whether it is complete.
    fn span(&self, span: &SpanPlan) -> bool {
        let found = warnings::before_span(self.plan, span, self.sink);
        self.record.of().warnings.extend(found);
        let places = warnings::places(span, self.sink);
        let blocks = warnings::allocated(span, self.sink);
        let cached = warnings::cached_targets(self.plan, span, self.sink);
        let round_trips = self.round_trips(span);
        if has_servers(span) && self.stop.load(Ordering::Relaxed) {
            // The load would connect before it sees that it is to end, which takes a slow server its time.
            self.cannot_begin(ended_before());
            return false;
        }
        let measurements = SpanMeasurements { round_trips, ..self.measure(span) };
        let found = warnings::cpus(span, &measurements).into_iter();
        let found = found.chain(warnings::suspended(span, &measurements));
        self.record.of().warnings.extend(found);
        let is_complete = measurements.ending == Ending::Complete;
        let hangs = !measurements.outstanding.is_empty();
        let held_on = measurements.beneath.as_ref().map(|seen| warnings::held_on(&seen.layers));
        self.record.of().spans.push(measurements);
        if hangs {
            // A target that hangs may not be looked at, nor closed.
            std::mem::forget(cached);
        } else {
            // Before anything opens the file, which may empty the cache.
            let found = warnings::residency(span, cached, self.sink);
            self.record.of().residency.extend(found);
            let found =
                warnings::changed(span, &places, &held_on.unwrap_or_default(), &blocks, self.sink);
            self.record.of().warnings.extend(found);
        }
        is_complete
    }

    /// The shortest round trip to each target over the network. A server that does not answer shows when the
    /// load connects.
    fn round_trips(&self, span: &SpanPlan) -> Vec<Option<RoundTrip>> {
        let measure = |target: &TargetPlan| {
            let is_due = self.stop.load(Ordering::Relaxed);
            let location = Some(&target.location).filter(|_| !self.job.is_lent && !is_due)?;
            location.storage().round_trip(&target.name, (self.stop, self.sink))
        };
        span.targets.iter().map(measure).collect()
    }

    /// Who reads the counters of what lies beneath the targets.
    pub(super) fn watch(&self, span: &SpanPlan) -> Watch {
        let name = span.targets.first().map_or("", |target| target.name.as_str());
        let doing = format!("look at what lies beneath '{name}'");
        Watch::new(within(self.sink, doing, || Layers::of(span)))
    }

    fn measure(&self, span: &SpanPlan) -> SpanMeasurements {
        if self.job.is_lent {
            return self.lend(span);
        }
        let faults = std::sync::Mutex::new(Vec::new());
        let sink = |event: Event| {
            if let Event::TargetFailed { reason, kind, code, .. } = &event
                && let Ok(mut faults) = faults.lock()
            {
                let (kind, code, message) = (*kind, code.clone(), reason.clone());
                faults.push(Failure { code, ..Failure::new(kind, message) });
            }
            self.events.follow(&event);
            (self.sink)(event);
        };
        let cpu_times = || cpu_times();
        let trace = tracing::request(self.job.profile());
        let watch = self.watch(span);
        let control = Control {
            stop: self.stop,
            sink: &sink,
            cpu_times: &cpu_times,
            trace: trace.as_ref(),
            verbose: self.job.profile().verbose,
            live: self.job.live,
            watch: Some(&watch),
            verification: self.tables.cloned(),
            checked: &self.checked,
            gate: Some(self.gate),
        };
        let mut measurements = run_span(span, &control);
        measurements.beneath = Some(watch.take());
        let mut record = self.record.of();
        record.failures.extend(faults.into_inner().unwrap_or_default());
        if let Ending::Failed(reason) = &measurements.ending {
            record.failures.push(reason.clone());
        }
        measurements
    }
}

impl Runner<'_> {
    fn lend(&self, span: &SpanPlan) -> SpanMeasurements {
        let measurements = self.try_targets(span);
        if let Ending::Failed(reason) = &measurements.ending {
            self.record.of().failures.push(reason.clone());
        }
        measurements
    }
}

fn ended_before() -> Failure {
    Failure::new(Kind::Interrupted, "the run was ended before it started")
}

fn has_servers(span: &SpanPlan) -> bool {
    span.targets.iter().any(|target| target.location.served().is_some())
}

/// Time that each CPU has spent, by state; nothing if the kernel does not tell.
fn cpu_times() -> Vec<CpuTimes> {
    let times = fathom_sys::cpu::times().unwrap_or_default();
    let convert = |cpu: fathom_sys::cpu::CpuTimes| CpuTimes {
        os_id: cpu.os_id as usize,
        user: cpu.user,
        kernel: cpu.kernel,
        idle: cpu.idle,
        steal: cpu.steal,
        online_mark: cpu.online_mark,
    };
    times.into_iter().map(convert).collect()
}
