//! A run: signals, progress, result, exit code.

use std::fmt::Display;
use std::io::{self, BufRead};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fathom_core::dialect::diskspd::warned;
use fathom_core::explain::explain as explain_job;
use fathom_core::measure::Event;
use fathom_core::report::json;
use fathom_core::request::{Job, ResultFormat, VerifyRequest};
use fathom_core::result::Outcome;
use fathom_core::run::{
    Finished, RunError, RunHandle, Stop, Unfit, patience_ns, refusals,
    verify_only as verify_request,
};
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

use crate::destination::{self, Beside, Destination};
use crate::leave;
use crate::login;
use crate::output::{self, Code, complain, print};
use crate::progress::Progress;
use crate::question::{Interrupted, Questions};

/// Signals that end a run: Ctrl-C, a wish to end, and a terminal that has gone.
const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// A seed that differs from run to run.
pub fn fresh_seed() -> u32 {
    u32::try_from(fathom_sys::clock::now_ns() & u64::from(u32::MAX)).unwrap_or(0)
}

/// Tells what the job would do, and gives the exit code: whether it would be refused.
pub fn explain(job: &Job) -> ExitCode {
    let destination = match destination(job) {
        Ok(destination) => destination,
        Err(code) => return code,
    };
    let stop = stop_flag();
    if login::ask(job, &Questions::new(&stop)).is_err() {
        return interrupted();
    }
    let explained = explain_job(job, &|| stop.load(Ordering::Relaxed));
    // What was not looked at any more is no fault of a target.
    if stop.load(Ordering::Relaxed) {
        return interrupted();
    }
    let explanation = match explained {
        Ok(explanation) => explanation,
        Err(unfit) => return unfitting(&unfit),
    };
    let printed = print(&output::explanation(&explanation, job.profile().format));
    let text = json::write_explanation(&explanation);
    if let Some(code) = output::save(destination, &text, &stop) {
        return code;
    }
    if explanation.would_run { printed } else { Code::Refused.into() }
}

/// Runs the job, prints its result, and gives the exit code.
pub fn run(job: &Job) -> ExitCode {
    let destination = match destination(job) {
        Ok(destination) => destination,
        Err(code) => return code,
    };
    let stop = stop_flag();
    let for_people = job.profile().format == ResultFormat::Text;
    let progress = Progress::new(for_people, job.profile().verbose);
    let questions = Questions::new(&stop);
    if login::ask(job, &questions).is_err() {
        return interrupted();
    }
    let attempt = |job: &Job| follow(job, &stop, &progress);
    let mut outcome = attempt(job);
    if let Err(RunError::Refused(refusals)) = &outcome {
        match leave::ask(refusals, &questions) {
            Err(Interrupted) => return interrupted(),
            Ok(None) => {}
            Ok(Some(words)) => {
                let mut job = job.clone();
                job.permission.allow_write.extend(words);
                outcome = attempt(&job);
            }
        }
    }
    match outcome {
        Ok(finished) => report(job, &finished, destination, &stop),
        Err(RunError::Unfit(unfit)) => unfitting(&unfit),
        Err(error @ (RunError::TooManyFiles(_) | RunError::NoThread(_) | RunError::Event(_))) => {
            complain(&format!("ERROR: {error}"));
            Code::Failed.into()
        }
        Err(RunError::Journal(error)) if error.is_refusal() => {
            complain(&format!("REFUSED: {error}"));
            Code::Refused.into()
        }
        Err(RunError::Journal(error)) => {
            complain(&format!("ERROR: {error}"));
            Code::Failed.into()
        }
        Err(RunError::Refused(refusals)) => {
            complain_all("REFUSED", &refusals.0);
            Code::Refused.into()
        }
    }
}

/// Nothing was measured, since the person at the terminal ended the program at a question.
fn interrupted() -> ExitCode {
    complain("ERROR: ended by the user; nothing was measured");
    Code::Interrupted.into()
}

/// Runs the job, and shows what happens meanwhile.
fn follow(job: &Job, stop: &Arc<AtomicBool>, progress: &Progress) -> Result<Finished, RunError> {
    let lease = job.lease_s.map(|seconds| Duration::from_secs(seconds.into()));
    let stop = Arc::new(Stop::new(Arc::clone(stop), lease));
    if lease.is_some() {
        renew_by_lines(Arc::clone(&stop));
    }
    let handle = RunHandle::open(job.clone(), stop)?;
    handle.start_at_once();
    for told in handle.events() {
        if job.live_as_json {
            complain(&json::write_event(&told));
        }
        // A line for people in between would be no JSON.
        if !(job.live_as_json && matches!(told.event, Event::Live { .. })) {
            progress.show(&told.event);
        }
    }
    handle.result()
}

/// Renews a lease with each line of standard input. Nobody waits for this thread, which may wait for a line
/// when the run is over; should there be none, the lease just runs out.
fn renew_by_lines(stop: Arc<Stop>) {
    // A line that is no UTF-8 is one, too.
    let renew = move || {
        io::stdin().lock().split(b'\n').map_while(Result::ok).for_each(|_| stop.renew());
    };
    let thread = std::thread::Builder::new().name("lease".to_owned()).spawn(renew);
    if let Err(error) = thread {
        complain(&format!(
            "WARNING: nobody can renew the lease, as no thread may be started: {error}"
        ));
    }
}

/// Tells what is wrong with a request. A refusal comes first, and decides: an error never hides it.
fn unfitting(unfit: &Unfit) -> ExitCode {
    complain_all("REFUSED", &unfit.refusals);
    complain_all("ERROR", &unfit.errors.0);
    if !unfit.refusals.is_empty() {
        Code::Refused.into()
    } else if unfit.errors.has_request_error() {
        Code::Invalid.into()
    } else {
        Code::Failed.into()
    }
}

/// Verifies what an earlier run has left, prints what it found, and gives the exit code.
pub fn verify_only(request: &VerifyRequest) -> ExitCode {
    let (file, targets) = (request.json_file.as_deref(), request.targets.iter());
    let beside = Beside { patience_ns: request.faults.io_timeout_ns(), ..Beside::default() };
    let destination = match destination::destination(file, targets.map(String::as_str), beside) {
        Ok(destination) => destination,
        Err(code) => return code,
    };
    let stop = stop_flag();
    let progress = Progress::new(request.format == ResultFormat::Text, false);
    match verify_request(request, &stop, &|event| progress.show(&event)) {
        Ok(finished) => {
            let printed = show(&finished, destination, &stop);
            exit_code(&finished, stop.load(Ordering::Relaxed), printed)
        }
        Err(error) => {
            complain(&format!("ERROR: {error}"));
            Code::Failed.into()
        }
    }
}

/// Where the JSON result goes. Complains, and gives the exit code, if it cannot go there; what would be
/// refused of the targets is reported then, too.
fn destination(job: &Job) -> Result<Destination, ExitCode> {
    let spans = job.profile().time_spans.iter();
    let targets = spans.flat_map(|span| &span.targets).map(|target| target.path.as_str());
    let (permission, options) = (&job.permission, job.options());
    let beside = Beside {
        journal: options.verify_journal.clone().filter(|_| options.verify),
        may_overwrite: permission.overwrite,
        protect: permission.protect.clone(),
        patience_ns: patience_ns(job.profile()),
    };
    let found = destination::destination(job.json_file.as_deref(), targets, beside);
    found.map_err(|code| {
        if code == Code::Failed.into() {
            // What was waited for in vain is not waited for again.
            return code;
        }
        let refusals = refusals(job, &stop_flag());
        complain_all("REFUSED", &refusals);
        if refusals.is_empty() { code } else { Code::Refused.into() }
    })
}

fn complain_all(word: &str, sentences: &[impl Display]) {
    for line in sentences {
        complain(&format!("{word}: {line}"));
    }
}

/// From now on a write beyond the limit of file sizes (`ulimit -f`) fails with an error; otherwise its signal
/// ends the process, and the result is lost without a word.
pub fn survive_file_size_limit() {
    // Where it cannot be caught, the signal ends the process as before.
    let _registered = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// From the moment that this is true, a signal ends the process at once.
pub fn leave_flag() -> Arc<AtomicBool> {
    let leave = Arc::new(AtomicBool::new(false));
    for signal in ENDING {
        // Where it cannot be caught, the signal ends the process anyway.
        let _registered = leaves_once(signal, &leave);
    }
    leave
}

/// Has a signal end the process once this is true.
fn leaves_once(signal: i32, is_so: &Arc<AtomicBool>) -> io::Result<SigId> {
    let code = i32::from(Code::Interrupted as u8);
    signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(is_so))
}

/// Turns true with the first SIGINT, SIGTERM or SIGHUP (the terminal has gone); the second one ends the
/// process at once.
pub fn stop_flag() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in ENDING {
        let second = leaves_once(signal, &stop);
        let first = signal_hook::flag::register(signal, Arc::clone(&stop));
        if second.and(first).is_err() {
            complain("WARNING: Ctrl-C cannot be caught; it will end the run without a result");
        }
    }
    stop
}

fn report(job: &Job, finished: &Finished, destination: Destination, stop: &AtomicBool) -> ExitCode {
    if job.profile().progress_every_ios > 0 && job.profile().format != ResultFormat::Text {
        // The text begins with a line of its own; what follows dots on standard error does not.
        complain("");
    }
    let interrupted = stop.load(Ordering::Relaxed) || finished.result.ended_by.is_some();
    let printed = show(finished, destination, stop);
    exit_code(finished, interrupted, printed)
}

/// Shows a result in all the forms that were requested. What `DiskSpd` warns of on standard error, it says in
/// `DiskSpd`'s words there, too.
fn show(finished: &Finished, destination: Destination, stop: &AtomicBool) -> ExitCode {
    for line in warned::lines(&finished.result) {
        complain(&format!("WARNING: {line}"));
    }
    for failure in &finished.failures {
        complain(&format!("ERROR: {failure}"));
    }
    let printed = print(&output::result(&finished.result));
    output::save(destination, &json::write(&finished.result), stop).unwrap_or(printed)
}

/// Wrong data weigh more than a run that did not end well.
fn exit_code(finished: &Finished, interrupted: bool, printed: ExitCode) -> ExitCode {
    let verification = finished.result.verification.as_ref();
    let failed = |outcome: &Outcome| matches!(outcome, Outcome::Failed(_));
    let spans = &finished.result.time_spans;
    if verification.is_some_and(|found| found.faulty_blocks() > 0) {
        Code::Faulty.into()
    } else if interrupted {
        Code::Interrupted.into()
    } else if !finished.failures.is_empty() || spans.iter().any(|span| failed(&span.outcome)) {
        Code::Failed.into()
    } else if verification.is_some_and(|found| found.damaged_words() > 0) {
        Code::JournalDamaged.into()
    } else if spans.iter().any(|span| span.outcome == Outcome::NoIo) {
        Code::NoIo.into()
    } else {
        printed
    }
}
