//! A whole run: job → facts → plan → guard → files → time spans → result.
//!
//! All that touches a target is done by a thread of its own (`core/supervise.rs`), since a target may hang.
//! What it has found stands in a record, from which the result is made here, also if the thread never
//! comes back.

mod handle;
mod loan;
mod record;
mod spans;
mod stop;
mod unfit;
mod verify_only;

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fathom_sys::event::EventError;
use thiserror::Error;

use crate::engine::start_gate::StartGate;
use crate::errors::Failure;
use crate::events::RunEvents;
use crate::guard::{self, Checked, Refusal, Refusals};
use crate::measure::EventSink;
use crate::plan::Plan;
use crate::plan::facts::{self, EngineAvailability, HostFacts};
use crate::plan::limits::{TooManyFiles, check_open_files};
use crate::plan::resolve::{ResolveError, Resolved, resolve};
use crate::prepare;
use crate::request::{Job, Profile};
use crate::result::assemble::Provenance;
use crate::result::{RunResult, SystemReport, Warning, WarningKind};
use crate::supervise::{supervise, within};
use crate::verify::Tables;
use crate::verify::journal::JournalError;
pub use handle::{Next, RunHandle};
pub use loan::Loan;
use record::Shared;
use spans::Runner;
pub use stop::Stop;
pub use unfit::Unfit;
pub(crate) use unfit::{log_in, resolved};
pub use verify_only::verify_only;

/// Why nothing was run. A run that began and failed is a [`RunResult`] that says so.
#[derive(Debug, Error)]
pub enum RunError {
    /// The request does not fit this host, or a target is wrong, and perhaps refused besides.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// A target holds data that must not be lost, or is in use.
    #[error("{0}")]
    Refused(Refusals),
    /// The run needs more open files than it may have.
    #[error(transparent)]
    TooManyFiles(#[from] TooManyFiles),
    /// There may be no more threads.
    #[error(
        "cannot start the thread of the run: {0}. Raise the limit of processes (ulimit -u, pids.max of the \
         control group)"
    )]
    NoThread(#[from] std::io::Error),
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
    /// What is lent to another program, if that was requested and nothing failed.
    pub loan: Option<Loan>,
}

/// Runs a job to its end, or until that is wanted (`stop`). A target that hangs ends it too, with a failure.
/// The load begins when `gate` says.
///
/// # Errors
/// If nothing was run: the request does not fit the host, or a target is protected.
fn run(
    job: &Job,
    stop: &Stop,
    gate: &Arc<StartGate>,
    sink: EventSink<'_>,
) -> Result<Finished, RunError> {
    let started_at_unix_s = jiff::Timestamp::now().as_second();
    let host = facts::of_host(job.profile(), availability());
    let provenance =
        Provenance { command_line: job.command_line.clone(), started_at_unix_s, host: host.host() };
    let record = Arc::new(Shared::default());
    let done = {
        let work = if job.is_lent { loan::without_load(job) } else { job.clone() };
        let (record, job, gate) = (Arc::clone(&record), Arc::new(work), Arc::clone(gate));
        let patience_ns = patience_ns(job.profile());
        supervise(patience_ns, &|now_ns| stop.is_due(now_ns), sink, move |stop, sink| {
            carry_out(&job, host, &record, (stop, &gate, sink))
        })
    };
    match done {
        Ok(outcome) => outcome?,
        Err(timed_out) => record.of().give_up(&timed_out, job, stop.is_wanted()),
    }
    Ok(record.take().finish(provenance, &job.request, stop.by()))
}

/// How long the run may wait for a target: the shortest of what its time spans say; forever if none does.
#[must_use]
pub fn patience_ns(profile: &Profile) -> Option<u64> {
    profile.time_spans.iter().filter_map(|span| span.faults.io_timeout_ns()).min()
}

/// All of a run that touches its targets.
fn carry_out(
    job: &Job,
    mut host: HostFacts,
    record: &Shared,
    (stop, gate, sink): (&AtomicBool, &StartGate, EventSink<'_>),
) -> Result<(), RunError> {
    // Where it cannot be raised, opening the targets tells which one is beyond the limit.
    let limit = fathom_sys::limits::raise_open_files();
    unfit::log_in(job, sink)?;
    host.look_at_targets(job.profile(), sink);
    let plan = match resolved(job, &host, sink) {
        Ok(Resolved { plan, warnings }) => {
            record.of().warnings = warnings;
            Arc::new(plan)
        }
        Err(unfit) => return unresolved(record, unfit),
    };
    record.of().plan = Some(Arc::clone(&plan));
    let open = fathom_sys::limits::open_files();
    let grant = guard::check(&plan, &job.permission, sink).map_err(RunError::Refused)?;
    if let (Ok(limit), Ok(open)) = (limit, open) {
        check_open_files(&plan, limit.saturating_sub(open))?;
    }
    record.of().warnings.extend(users_unseen(&grant.unseen));
    let events = RunEvents::new(&job.profile().events)?;
    let overwrite = job.permission.overwrite;
    prepare::look_again(&plan, overwrite, &grant.checked, sink).map_err(RunError::Refused)?;
    let tables = tables(&plan, stop, sink)?;
    if plan.verify.is_some() && tables.is_none() {
        // It was to end before its journal was made: nothing is written without one.
        return Ok(());
    }
    record.of().tables.clone_from(&tables);
    let marks = prepare::Marks::begin(&plan, overwrite, &grant.checked, sink);
    let mut runner = Runner {
        job,
        plan: &plan,
        events: &events,
        tables: tables.as_ref(),
        checked: grant.checked.clone(),
        marks: &marks,
        record,
        stop,
        gate,
        sink,
    };
    runner.run_watched();
    let checked = runner.checked;
    if let Some(tables) = &tables {
        let closed = within(sink, "close the journal".to_owned(), || tables.close());
        record.of().failures.extend(closed.err().map(|error| error.to_string().into()));
    }
    if !hangs(record) {
        let is_whole = record.of().failures.is_empty();
        marks.end(is_whole, &checked, sink);
    }
    if job.is_lent {
        if record.of().is_whole() {
            let loan = Loan::new(&plan, grant);
            record.of().loan = Some(loan);
        }
    } else if job.request.options.remove_created {
        remove_made(&checked, record, sink);
    }
    Ok(())
}

/// What would be refused of a job that is not run, because its result has no place. A target that hangs
/// tells nothing.
pub fn refusals(job: &Job, stop: &AtomicBool) -> Vec<Refusal> {
    let (patience_ns, job) = (patience_ns(job.profile()), Arc::new(job.clone()));
    let wanted = |_| stop.load(Ordering::Relaxed);
    let found = supervise(patience_ns, &wanted, &|_| {}, move |_, sink| {
        if unfit::log_in(&job, sink).is_err() {
            return Vec::new();
        }
        let host = facts::gather(job.profile(), availability(), sink);
        unfit::refusals(&job, &host, sink)
    });
    found.unwrap_or_default()
}

/// One warning for all that could not be seen of those who may use the targets.
fn users_unseen(unseen: &[String]) -> Option<Warning> {
    (!unseen.is_empty()).then(|| Warning {
        kind: WarningKind::UsersUnseen,
        target: None,
        time_span: None,
        evidence: unseen.join(" "),
        remedy: "make sure that nobody else uses the targets; --strict refuses such a run"
            .to_owned(),
    })
}

fn tables(
    plan: &Plan,
    stop: &AtomicBool,
    sink: EventSink<'_>,
) -> Result<Option<Arc<Tables>>, JournalError> {
    let Some(verify) = &plan.verify else { return Ok(None) };
    Ok(Tables::in_journal(verify, stamp_seed(), stop, sink)?.map(Arc::new))
}

/// A request that is wrong for this host, or whose targets would be refused besides, is not run; a target
/// that cannot be used makes a run that failed before it began, with a report, as in `DiskSpd`.
fn unresolved(record: &Shared, unfit: Unfit) -> Result<(), RunError> {
    if unfit.errors.has_request_error() || !unfit.refusals.is_empty() {
        return Err(unfit.into());
    }
    record.of().fail_before_plan(unfit.errors.0.iter().map(ResolveError::failure).collect());
    Ok(())
}

fn hangs(record: &Shared) -> bool {
    record.of().spans.iter().any(|span| !span.outstanding.is_empty())
}

/// Removes what the run has made; a target that hangs is not touched any more.
fn remove_made(checked: &Checked, record: &Shared, sink: EventSink<'_>) {
    let told: Vec<Failure> = if hangs(record) {
        vec!["files that this run has made were not removed, because I/Os hang".into()]
    } else {
        prepare::remove_made(checked, sink)
    };
    record.of().failures.extend(told);
}

/// Makes scratch files of the targets that a request would write: from now on their data may be lost.
///
/// # Errors
/// If the request does not fit the host, or a target is in use, protected, no file that can be marked, or
/// not as it was `seen`.
pub fn adopt(job: &Job, seen: &prepare::Seen) -> Result<(), RunError> {
    unfit::log_in(job, &|_| {})?;
    let options = job.options();
    let host = facts::gather(job.profile(), availability(), &|_| {});
    // Data of others are what it is for, and speak against nothing.
    let unfit = |errors| Unfit { errors, refusals: Vec::new() };
    let plan = resolve(job.profile(), &options, &host).map_err(unfit)?.plan;
    unfit::protect_nothing(job).map_or(Ok(()), |errors| Err(unfit(errors)))?;
    prepare::adopt(&plan, &job.permission, seen).map_err(RunError::Refused)
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

/// Which engines this process may use.
pub(crate) fn availability() -> EngineAvailability {
    EngineAvailability {
        uring: fathom_sys::ring::probe().map_err(|error| error.to_string()),
        aio: fathom_sys::aio::probe().map_err(|error| error.to_string()),
        uring_discard: fathom_sys::discard::probe_uring(),
    }
}
