//! A whole run: request → facts → plan → guard → files → time spans → result.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fathom_sys::event::EventError;
use thiserror::Error;

use crate::diskspd::parse::{Request, VerifyRequest};
use crate::diskspd::profile_xml::TEXT_LIMIT_BYTES;
use crate::engine::conductor::{Control, run_span};
use crate::events::RunEvents;
use crate::measure::{CpuTimes, Ending, Event, EventSink, SpanMeasurements, StoodStill};
use crate::plan::facts::{self, EngineAvailability};
use crate::plan::guard::{self, Checked, Refusals};
use crate::plan::limits::{TooManyFiles, check_open_files};
use crate::plan::prepare::Created;
use crate::plan::resolve::{self, ResolveErrors, Resolved};
use crate::plan::{Plan, SpanPlan, prepare, tracing};
use crate::profile::{Profile, RunOptions};
use crate::result::assemble::{Provenance, assemble};
use crate::result::{
    Outcome, RunResult, SystemReport, TimeSpanResult, Verification, Warning, doubts,
};
use crate::verify::Tables;
use crate::verify::journal::JournalError;
use crate::verify::pass::{self, PassError};

/// Why nothing was run. A run that began and failed is a [`RunResult`] that says so.
#[derive(Debug, Error)]
pub enum RunError {
    /// The request does not fit this host.
    #[error("{0}")]
    Invalid(ResolveErrors),
    /// A target holds data that must not be lost, or is in use.
    #[error("{0}")]
    Refused(Refusals),
    /// The run needs more open files than it may have.
    #[error(transparent)]
    TooManyFiles(#[from] TooManyFiles),
    /// A named event cannot be used.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The journal of the verification cannot be made.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// A run that began: its result, and what went wrong, in words.
#[derive(Debug)]
pub struct Finished {
    /// The result; partial if the run failed or was interrupted.
    pub result: RunResult,
    /// Why the run failed, one sentence per fault; empty if it did not.
    pub failures: Vec<String>,
}

/// Runs a request to its end, or until `stop` turns true.
///
/// # Errors
/// If nothing was run: the request does not fit the host, or a target is protected.
pub fn run(
    request: &Request,
    stop: &AtomicBool,
    sink: EventSink<'_>,
) -> Result<Finished, RunError> {
    // Where it cannot be raised, opening the targets tells which one is beyond the limit.
    let limit = fathom_sys::limits::raise_open_files();
    let started_at_unix_s = jiff::Timestamp::now().as_second();
    let host = facts::gather(&request.profile, &request.options, availability());
    let provenance = Provenance {
        command_line: request.command_line.clone(),
        started_at_unix_s,
        host: host.host(),
    };
    let Resolved { plan, warnings } =
        match resolve::resolve(&request.profile, &request.options, &host) {
            Ok(resolved) => resolved,
            Err(errors) => return unresolved(request, provenance, errors),
        };
    if let (Ok(limit), Ok(open)) = (limit, fathom_sys::limits::open_files()) {
        check_open_files(&plan, limit.saturating_sub(open))?;
    }
    let leave = guard::check(&plan, &request.options).map_err(RunError::Refused)?;
    let events = RunEvents::new(&request.profile.events)?;
    let tables = plan.verify.as_ref().map(|verify| Tables::in_journal(verify, stamp_seed()));
    let tables = tables.transpose()?.map(Arc::new);
    let halt = AtomicBool::new(false);
    let stop_run = if events.can_stop() { &halt } else { stop };
    let mut runner = Runner {
        request,
        plan: &plan,
        events: &events,
        tables: tables.as_ref(),
        checked: leave.checked.clone(),
        stop: stop_run,
        sink,
        failures: Vec::new(),
    };
    let mut found = warnings;
    let (spans, residency) = runner.run_watched((stop, &halt), &mut found);
    let spans: Vec<_> = plan.spans.iter().zip(spans).collect();
    let mut result = assemble(provenance, &request.profile, &spans);
    found.extend(doubts::after(&plan, &result, &residency));
    result.warnings = found.into_iter().map(Warning::in_sentences).collect();
    let (mut failures, checked) = (runner.failures, runner.checked);
    if let Some(tables) = &tables {
        failures.extend(tables.close().err().map(|error| error.to_string()));
        result.verification = Some(verification(tables));
    }
    if request.options.remove_created {
        let hangs = result.time_spans.iter().any(|span| !span.outstanding.is_empty());
        failures.extend(remove_made(&checked, hangs));
    }
    Ok(Finished { result, failures })
}

/// Removes what the run has made; a target that hangs is not touched any more.
fn remove_made(checked: &Checked, hangs: bool) -> Vec<String> {
    if hangs {
        return vec!["files that this run has made were not removed, because I/Os hang".to_owned()];
    }
    prepare::remove_made(checked)
}

/// Verifies what an earlier run has left, until `stop` turns true. The result has no time spans.
///
/// # Errors
/// If nothing was verified.
pub fn verify_only(
    request: &VerifyRequest,
    stop: &AtomicBool,
    sink: EventSink<'_>,
) -> Result<Finished, PassError> {
    let started_at_unix_s = jiff::Timestamp::now().as_second();
    let profile = Profile { format: request.format, time_spans: Vec::new(), ..Profile::default() };
    let passed = pass::run(&request.journal, &request.targets, stop, sink)?;
    let host = facts::gather(&profile, &RunOptions::default(), availability());
    let command_line = request.command_line.clone();
    let provenance = Provenance { command_line, started_at_unix_s, host: host.host() };
    let mut result = assemble(provenance, &profile, &[]);
    result.verification = Some(passed.verification);
    Ok(Finished { result, failures: passed.failures })
}

/// Reads a profile file, and of a file that is larger than any profile no more than shows that it is.
///
/// # Errors
/// Those of opening and reading the file.
pub fn read_profile(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = TEXT_LIMIT_BYTES as u64 + 1;
    std::fs::File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Looks at this host without a run.
#[must_use]
pub fn look_at_system() -> SystemReport {
    facts::system(jiff::Timestamp::now().as_second())
}

/// What the stamps of one run have in common: it differs from run to run, also within one process, because
/// the standard library's hasher has new keys each time.
fn stamp_seed() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

fn verification(tables: &Tables) -> Verification {
    let journal = tables.journal().map(|path| path.display().to_string());
    let mut verification = Verification { journal, ..Verification::default() };
    for (target, tally) in tables.tallies() {
        verification.add(&target.name, target.block_bytes, 0, &tally);
    }
    verification
}

/// Which engines this process may use.
pub(crate) fn availability() -> EngineAvailability {
    EngineAvailability {
        uring: fathom_sys::ring::probe().map_err(|error| error.to_string()),
        aio: fathom_sys::aio::probe().map_err(|error| error.to_string()),
        uring_discard: fathom_sys::discard::probe_uring(),
    }
}

/// A request that is wrong for this host is refused; a target that cannot be used makes a run that
/// failed before it began, with a report, as in `DiskSpd`.
fn unresolved(
    request: &Request,
    provenance: Provenance,
    errors: ResolveErrors,
) -> Result<Finished, RunError> {
    if errors.has_request_error() {
        return Err(RunError::Invalid(errors));
    }
    let failures: Vec<String> = errors.0.iter().map(ToString::to_string).collect();
    let mut result = assemble(provenance, &request.profile, &[]);
    result.time_spans.push(TimeSpanResult {
        outcome: Outcome::Failed(failures.join("; ")),
        measured_ns: 0,
        stop: None,
        thread_count: 0,
        request_count: 0,
        interval_ns: 0,
        cpu: Vec::new(),
        cost: None,
        kernel_events: None,
        outstanding: Vec::new(),
        targets: Vec::new(),
        threads: Vec::new(),
    });
    Ok(Finished { result, failures })
}

struct Runner<'a> {
    request: &'a Request,
    plan: &'a Plan,
    events: &'a RunEvents,
    tables: Option<&'a Arc<Tables>>,
    checked: Checked,
    stop: &'a AtomicBool,
    sink: EventSink<'a>,
    failures: Vec<String>,
}

impl Runner<'_> {
    /// Runs the time spans, while a thread of its own follows the event that ends the run if there is one:
    /// it turns `halt` true, as `stop` does.
    fn run_watched(
        &mut self,
        (stop, halt): (&AtomicBool, &AtomicBool),
        warnings: &mut Vec<Warning>,
    ) -> (Vec<SpanMeasurements>, Vec<doubts::TargetResidency>) {
        let (events, over) = (self.events, AtomicBool::new(false));
        if !events.can_stop() {
            return self.run_all(warnings);
        }
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("events".to_owned());
            let done = match thread.spawn_scoped(scope, || events.watch(stop, halt, &over)) {
                Ok(_) => self.run_all(warnings),
                Err(error) => {
                    let reason = format!(
                        "cannot start the thread that waits for the event of -yp: {error}. Raise the limit \
                         of processes (ulimit -u, pids.max of the control group), or leave -yp out"
                    );
                    (vec![self.not_begun(reason)], Vec::new())
                }
            };
            over.store(true, Ordering::Relaxed);
            done
        })
    }

    /// Runs the time spans in order; the first that does not complete ends the run.
    fn run_all(
        &mut self,
        warnings: &mut Vec<Warning>,
    ) -> (Vec<SpanMeasurements>, Vec<doubts::TargetResidency>) {
        let mut measured = Vec::new();
        let mut residency = Vec::new();
        let made = self.plan.spans.iter().flat_map(|span| &span.create);
        let room = prepare::check_room(self.plan.precreate.iter().chain(made));
        let room = room.map_err(|error| error.to_string());
        if let Err(reason) = room.and_then(|()| self.create(&self.plan.precreate)) {
            measured.push(self.not_begun(reason));
            return (measured, residency);
        }
        for span in &self.plan.spans {
            let measurements = match self.create(&span.create) {
                Ok(()) if !self.events.wait_for_start(self.stop) => {
                    self.not_begun("the run was ended before it started".to_owned())
                }
                Ok(()) => {
                    warnings.extend(doubts::before_span(self.plan, span));
                    let places = doubts::places(span);
                    let measurements = self.span(span);
                    warnings.extend(doubts::cpus(span, &measurements));
                    warnings.extend(doubts::stood_still(span, &measurements));
                    // A target that hangs may not be looked at either.
                    if measurements.outstanding.is_empty() {
                        warnings.extend(doubts::replaced(span, &places));
                    }
                    measurements
                }
                Err(reason) => self.not_begun(reason),
            };
            if measurements.outstanding.is_empty() {
                residency.extend(doubts::residency(span));
            }
            let complete = measurements.ending == Ending::Complete;
            measured.push(measurements);
            if !complete {
                break;
            }
        }
        (measured, residency)
    }

    fn create(&mut self, files: &[crate::plan::FilePlan]) -> Result<(), String> {
        for file in files {
            self.step(|| {
                let (path, bytes) = (file.path.display(), file.size_bytes);
                format!("Creating file '{path}' of size {bytes}.")
            });
            let overwrite = self.request.options.overwrite;
            let created = prepare::create(file, overwrite, &mut self.checked, self.stop, self.sink)
                .map_err(|error| error.to_string())?;
            if let (Some(tables), false) = (self.tables, created == Created::Kept) {
                tables.forget(&file.path);
                tables.learn(&file.path, true);
            }
        }
        Ok(())
    }

    fn step(&self, words: impl FnOnce() -> String) {
        if self.request.profile.verbose {
            (self.sink)(Event::Step(words()));
        }
    }

    fn not_begun(&mut self, reason: String) -> SpanMeasurements {
        let interrupted = self.stop.load(Ordering::Relaxed);
        if !interrupted {
            self.failures.push(reason.clone());
        }
        SpanMeasurements {
            ending: if interrupted { Ending::Interrupted } else { Ending::Failed(reason) },
            measured_ns: 0,
            stop: None,
            cpus: Vec::new(),
            away_cpus: Vec::new(),
            stood_still: StoodStill::default(),
            kernel_events: None,
            outstanding: Vec::new(),
            threads: Vec::new(),
        }
    }

    fn span(&mut self, span: &SpanPlan) -> SpanMeasurements {
        let faults = std::sync::Mutex::new(Vec::new());
        let sink = |event: Event| {
            if let Event::TargetFailed { reason, .. } = &event
                && let Ok(mut faults) = faults.lock()
            {
                faults.push(reason.clone());
            }
            self.events.follow(&event);
            (self.sink)(event);
        };
        let verbose = self.request.profile.verbose;
        let cpu_times = || cpu_times();
        let live = self.request.options.live;
        let trace = tracing::request(&self.request.profile);
        let control = Control {
            stop: self.stop,
            sink: &sink,
            cpu_times: &cpu_times,
            trace: trace.as_ref(),
            verbose,
            live,
            verification: self.tables.cloned(),
            checked: &self.checked,
        };
        let measurements = run_span(span, &control);
        self.failures.extend(faults.into_inner().unwrap_or_default());
        if let Ending::Failed(reason) = &measurements.ending {
            self.failures.push(reason.clone());
        }
        measurements
    }
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
