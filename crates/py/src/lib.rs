//! The Python module `fathom._fathom`: it translates between Python and `fathom_core`, and nothing else.
//!
//! The interpreter lock is released while a run is under way; a Python signal such as Ctrl-C ends it.
#![forbid(unsafe_code)]

mod events;
mod logins;
mod threads;
mod words;

use std::collections::BTreeMap;
use std::ffi::CString;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use fathom_core::dialect::diskspd::flags;
use fathom_core::dialect::diskspd::parse::{
    Act, Invocation, Outside, ParseError, RunCommand, check, parse,
};
use fathom_core::dialect::diskspd::profile_xml;
use fathom_core::explain::explain;
use fathom_core::measure::EndedBy;
use fathom_core::report::json;
use fathom_core::request::{self, Job};
use fathom_core::result::RunResult;
use fathom_core::result::merge::give_back_memory;
use fathom_core::run::{Finished, Next, RunError, RunHandle, Stop, Unfit, adopt};
use fathom_core::{guard, prepare, storage};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyUserWarning};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use threads::{detached, is_first_thread};
use words::{beside_the_request, place_of};

create_exception!(fathom, FathomError, PyException, "Base of all errors of this package.");
create_exception!(fathom, InvalidRequestError, FathomError, "The request is wrong.");
create_exception!(fathom, RefusedError, FathomError, "Refused, to protect data.");

/// How often Python's signals are looked at while a run is under way.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// The version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// What is requested: a request as JSON with the words that it is known by, or `DiskSpd` arguments.
#[derive(FromPyObject)]
enum Asked {
    // A list is no tuple, so that two arguments are never taken for this.
    Request((String, String)),
    Words(Vec<String>),
}

/// Checks what is requested; returns the whole request as JSON. Words that no request can hold are refused.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
fn request_of(py: Python<'_>, asked: Asked) -> PyResult<String> {
    let (job, act) = job_of(py, &asked)?;
    let beside = beside_the_request(&job, act);
    if beside.is_empty() {
        Ok(json::write_request(&job.request))
    } else {
        Err(InvalidRequestError::new_err(beside.join("\n")))
    }
}

/// The load of arguments that are run as they are, as JSON: what else they say is looked at by the run.
#[pyfunction]
fn load_of(py: Python<'_>, words: Vec<String>) -> PyResult<String> {
    Ok(json::write_request(&job_of(py, &Asked::Words(words))?.0.request))
}

/// The profile of what is requested, as `DiskSpd`'s XML.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
fn profile_xml_of(py: Python<'_>, asked: Asked) -> PyResult<String> {
    Ok(profile_xml::write(job_of(py, &asked)?.0.profile()))
}

/// What is handed to Python: the result as JSON, why the run failed, sentence by sentence, and what a
/// signal's handler raised meanwhile.
type Outcome = (String, Vec<String>, Option<PyErr>);

/// What a person has typed for this run: that data may be written over, which devices may be written, what
/// must not be, and that a run whose targets cannot be seen whole is refused.
type Permission = (bool, Vec<String>, Vec<PathBuf>, bool);

/// Whether an argument lets data be destroyed.
#[pyfunction]
fn is_permission(argument: &str) -> bool {
    flags::is_permission(argument)
}

/// Whether an argument is typed for one run, and no part of the request.
#[pyfunction]
fn is_for_one_run(argument: &str) -> bool {
    flags::is_for_one_run(argument)
}

/// The options that stand for the settings of a request, which is given as JSON.
#[pyfunction]
fn option_words(request: &str) -> PyResult<Vec<String>> {
    let request = json::read_request(request);
    let request = request.map_err(|error| InvalidRequestError::new_err(error.to_string()))?;
    Ok(flags::option_words(&request.options))
}

/// Why nothing may be put at a path, whatever is given: the policy of the machine forbids it, or it is a
/// store of this user, or one of `stores`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
fn forbidden_path(py: Python<'_>, path: PathBuf, stores: Vec<PathBuf>) -> Option<String> {
    let found = detached(py, || guard::forbidden_path(&path, &[], &stores));
    found.map(|finding| finding.to_string())
}

/// Whether a file or block device can be read and written past the page cache, as far as its file system
/// says.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
fn bypasses_page_cache(py: Python<'_>, path: PathBuf) -> bool {
    detached(py, || storage::bypasses_page_cache(&path))
}

/// The job with its permission, which stands beside what is requested: this may come from a file, a store or
/// another program, and is refused if it has one.
fn permitted(
    py: Python<'_>,
    asked: &Asked,
    permission: Permission,
    stores: Vec<PathBuf>,
) -> PyResult<(Job, Act)> {
    if let Asked::Words(words) = asked
        && let Some(found) = words.iter().find(|argument| flags::is_permission(argument))
    {
        let words =
            "among arguments that may come from a file: it is typed by a person, for one run";
        return Err(RefusedError::new_err(format!("{found} stands {words}")));
    }
    let (mut job, act) = job_of(py, asked)?;
    let (overwrite, allow_write, protect, strict) = permission;
    let strict = strict || job.permission.strict;
    job.permission.protect.extend(protect);
    job.permission =
        request::Permission { overwrite, allow_write, stores, strict, ..job.permission };
    Ok((job, act))
}

/// Tells what would be done, as JSON; nothing is created or written.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
fn explain_job(
    py: Python<'_>,
    asked: Asked,
    permission: Permission,
    stores: Vec<PathBuf>,
) -> PyResult<String> {
    let (job, _) = permitted(py, &asked, permission, stores)?;
    let interruption = Mutex::new(None);
    let is_first = is_first_thread(py);
    // A signal is looked for only where somebody waits.
    let is_due = || {
        let look = || Python::attach(|py| py.check_signals().err());
        let signal = is_first.then(look).flatten();
        let is_wanted = signal.is_some();
        if is_wanted {
            *interruption.lock().unwrap_or_else(PoisonError::into_inner) = signal;
        }
        is_wanted
    };
    let explained = detached(py, || explain(&job, &is_due));
    if let Some(error) = interruption.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let wrong = |unfit: Unfit| translate(unfit.into());
    Ok(json::write_explanation(&explained.map_err(wrong)?))
}

/// Runs what is requested. The stores are never written. A callback gets the events of the run,
/// each as a name and a dictionary; what it raises ends the run.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
fn run_job(
    py: Python<'_>,
    asked: Asked,
    permission: Permission,
    stores: Vec<PathBuf>,
    on_event: Option<Py<PyAny>>,
) -> PyResult<Outcome> {
    let (mut job, act) = permitted(py, &asked, permission, stores)?;
    if let Some(reason) = not_here(&job, act) {
        return Err(InvalidRequestError::new_err(reason));
    }
    job.live = on_event.is_some();
    let handle = RunHandle::open(job, Arc::default()).map_err(translate)?;
    handle.start_at_once();
    let (finished, interruption) = followed(py, handle, on_event.as_ref())?;
    let text = json::write(&finished.result);
    // A signal of the last moment would otherwise be raised in place of this result.
    let late = py.check_signals().err();
    Ok((text, finished.failures, interruption.or(late)))
}

/// One result of several that were measured together, all as JSON. With each text stands the name that its
/// host has in the whole, or none, and by how many nanoseconds the clock of that host is ahead.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
fn merge_results(py: Python<'_>, parts: Vec<Part>, tolerance: f64) -> PyResult<String> {
    detached(py, || {
        let merged = RunResult::merge_within(results_of(&parts)?, tolerance);
        let text = merged.map(|merged| json::write_compact(&merged));
        give_back_memory();
        text.map_err(|error| error.to_string())
    })
    .map_err(|words: String| FathomError::new_err(words))
}

/// Raises an error if a text is no result.
#[pyfunction]
fn check_result(py: Python<'_>, text: &str) -> PyResult<()> {
    let read = detached(py, || json::read(text).map(drop));
    read.map_err(|error| FathomError::new_err(error.to_string()))
}

/// The text of a result, the name of its host in the whole, and how far the clock of that host is ahead in
/// nanoseconds.
type Part = (PyBackedStr, Option<String>, i64);

/// Reads all parts, on as many CPUs as there are.
fn results_of(parts: &[Part]) -> Result<Vec<RunResult>, String> {
    let cpus = thread::available_parallelism().map_or(1, NonZero::get);
    let shares: Vec<Result<Vec<RunResult>, String>> = thread::scope(|scope| {
        let share = parts.len().div_ceil(cpus).max(1);
        let readers: Vec<_> = parts
            .chunks(share)
            .map(|some| scope.spawn(move || some.iter().map(part_of).collect()))
            .collect();
        let panicked = || Err("a result could not be read".to_owned());
        readers.into_iter().map(|one| one.join().unwrap_or_else(|_| panicked())).collect()
    });
    Ok(shares.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

fn part_of((text, name, ahead_ns): &Part) -> Result<RunResult, String> {
    let mut result = json::read(text).map_err(|error| error.to_string())?;
    if let Some(name) = name {
        result.host.name.clone_from(name);
    }
    for began_ns in result.time_spans.iter_mut().filter_map(|span| span.began_unix_ns.as_mut()) {
        *began_ns = began_ns.saturating_add_signed(ahead_ns.saturating_neg());
    }
    Ok(result)
}

/// The sum of histograms, each as the lower ends of its buckets in nanoseconds and their counts; in order.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
fn sum_histograms(histograms: Vec<(Vec<u64>, Vec<u64>)>) -> BTreeMap<u64, u64> {
    let mut sums = BTreeMap::new();
    for (lower_ns, count) in histograms.iter().flat_map(|(lower, counts)| lower.iter().zip(counts))
    {
        *sums.entry(*lower_ns).or_default() += count;
    }
    sums
}

/// A run that is under way, or is to begin.
#[pyclass(frozen)]
struct Run(Mutex<Option<Arc<RunHandle>>>);

#[pymethods]
impl Run {
    /// Begins to prepare it. With a lease it ends itself unless it is renewed so often, in seconds.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
    fn new(
        py: Python<'_>,
        asked: Asked,
        permission: Permission,
        stores: Vec<PathBuf>,
        live: bool,
        lease_s: Option<f64>,
    ) -> PyResult<Self> {
        let (mut job, act) = permitted(py, &asked, permission, stores)?;
        if let Some(reason) = not_here(&job, act) {
            return Err(InvalidRequestError::new_err(reason));
        }
        let lease = lease_s.map(Duration::try_from_secs_f64).transpose();
        let lease = lease.map_err(|error| InvalidRequestError::new_err(error.to_string()))?;
        job.live = live;
        let stop = Arc::new(Stop::new(Arc::default(), lease));
        let handle = RunHandle::open(job, stop).map_err(translate)?;
        Ok(Self(Mutex::new(Some(Arc::new(handle)))))
    }

    /// A word that no other run has.
    fn name(&self) -> PyResult<String> {
        Ok(self.handle()?.name().to_owned())
    }

    /// The load begins at this instant, in nanoseconds since 1970-01-01T00:00:00Z.
    fn start(&self, at_unix_ns: u64) -> PyResult<()> {
        self.handle()?.start(at_unix_ns);
        Ok(())
    }

    /// Ends it, if it is not over.
    fn stop(&self, reason: String) {
        if let Ok(handle) = self.handle() {
            handle.stop(EndedBy::Holder { reason });
        }
    }

    /// The lease begins again.
    fn renew(&self) -> PyResult<()> {
        self.handle()?.renew();
        Ok(())
    }

    /// The next event as JSON, after at most 50 ms; empty if there was none, nothing once the run is over.
    fn next_event(&self, py: Python<'_>) -> Option<String> {
        let Ok(handle) = self.handle() else { return None };
        match detached(py, || handle.next(SIGNAL_CHECK)) {
            Next::Event(told) => Some(json::write_event(&told)),
            Next::Nothing => Some(String::new()),
            Next::Over => None,
        }
    }

    /// Ends it without its result, if that was not given.
    fn close(&self, py: Python<'_>) {
        let handle = self.0.lock().ok().and_then(|mut handle| handle.take());
        detached(py, || drop(handle));
    }

    /// The result as JSON, once the run is over, and why it failed, sentence by sentence.
    fn result(&self, py: Python<'_>) -> PyResult<(String, Vec<String>)> {
        let handle = self.handle()?;
        let finished = detached(py, || handle.finish()).ok_or_else(given)?;
        drop(self.0.lock().ok().and_then(|mut held| held.take()));
        let finished = finished.map_err(translate)?;
        Ok((json::write(&finished.result), finished.failures))
    }
}

impl Run {
    fn handle(&self) -> PyResult<Arc<RunHandle>> {
        self.0.lock().ok().and_then(|handle| handle.clone()).ok_or_else(given)
    }
}

fn given() -> PyErr {
    FathomError::new_err("this run is over: its result was given, or it was let go without one")
}

/// A file as a person was shown it.
#[pyclass(frozen)]
struct Seen(prepare::Seen);

#[pymethods]
impl Seen {
    /// Looks at the file, and watches it from now on.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(Self(detached(py, || prepare::Seen::look(&path))?))
    }
}

/// Makes scratch files of the targets that would be written, if they are as they were seen. The stores are
/// refused.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
fn adopt_targets(
    py: Python<'_>,
    asked: Asked,
    stores: Vec<PathBuf>,
    seen: &Bound<'_, Seen>,
) -> PyResult<()> {
    let (job, _) = permitted(py, &asked, Permission::default(), stores)?;
    let seen = seen.get();
    detached(py, || adopt(&job, &seen.0)).map_err(translate)
}

/// The permission to write what a request writes, held while another program does so.
#[pyclass]
struct Loan(Option<fathom_core::run::Loan>);

#[pymethods]
impl Loan {
    /// Gives it back. The program has ended, all of which ran in `session`; 0 if that is not known, and
    /// what the files hold then decides whose they are.
    fn end(&mut self, py: Python<'_>, session: u32) {
        let Some(loan) = self.0.take() else { return };
        detached(py, || if session == 0 { drop(loan) } else { loan.end(session) });
    }
}

/// Guards and prepares the targets of what is requested, as a run would, for another program that makes
/// the load. The result has no load.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
fn lend_job(
    py: Python<'_>,
    asked: Asked,
    permission: Permission,
    stores: Vec<PathBuf>,
) -> PyResult<(String, Vec<String>, Option<PyErr>, Loan)> {
    let (mut job, act) = permitted(py, &asked, permission, stores)?;
    if let Some(reason) = not_here(&job, act) {
        return Err(InvalidRequestError::new_err(reason));
    }
    job.is_lent = true;
    let handle = RunHandle::open(job, Arc::default()).map_err(translate)?;
    handle.start_at_once();
    let (mut finished, interruption) = followed(py, handle, None)?;
    let late = py.check_signals().err();
    let loan = Loan(finished.loan.take());
    Ok((json::write(&finished.result), finished.failures, interruption.or(late), loan))
}

/// What only the command `diskspd` does, which would go without a word here.
fn not_here(job: &Job, act: Act) -> Option<&'static str> {
    match act {
        Act::Run => {}
        Act::ShowProfile => {
            return Some("-Rp shows a profile and runs nothing: use parse instead");
        }
        Act::Explain => {
            let words = "--explain tells what a run would do and runs nothing: use explain instead";
            return Some(words);
        }
    }
    if job.json_file.is_some() {
        return Some(
            "--json=FILE belongs to the command diskspd: write Result.raw to a file instead",
        );
    }
    if job.lease_s.is_some() {
        return Some(
            "--lease belongs to the command diskspd: use RunHandle(..., lease_s=10) instead",
        );
    }
    job.live.then_some("--live belongs to the command diskspd: leave it out here")
}

/// Nothing, if arguments ask for a run that can be made by a call; else what they ask for is refused.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 hands over owned values")]
fn check_run_words(words: Vec<String>) -> PyResult<()> {
    let RunCommand { job, act, .. } = command(&words)?;
    not_here(&job, act).map_or(Ok(()), |reason| Err(InvalidRequestError::new_err(reason)))
}

/// The job; what is doubtful about it becomes Python's warnings.
fn job_of(py: Python<'_>, asked: &Asked) -> PyResult<(Job, Act)> {
    let RunCommand { job, act, warnings } = match asked {
        Asked::Words(words) => command(words)?,
        Asked::Request((text, command_line)) => {
            let request = json::read_request(text)
                .map_err(|error| InvalidRequestError::new_err(error.to_string()))?;
            let place = |span, target| place_of(&request.profile, span, target);
            let warnings = check(&request, Act::Run, &place).map_err(|error| invalid(&error))?;
            let job = Job { request, command_line: command_line.clone(), ..Job::default() };
            RunCommand { job, act: Act::Run, warnings }
        }
    };
    for warning in &warnings {
        warn(py, warning)?;
    }
    Ok((job, act))
}

/// What `DiskSpd` arguments ask for, and what is doubtful about it.
fn command(words: &[String]) -> PyResult<RunCommand> {
    let outside = Outside { read_file: &profile_xml::read_file, fresh_seed: fresh_seed() };
    let Invocation::Run(command) = parse(words, &outside).map_err(|error| invalid(&error))? else {
        return Err(InvalidRequestError::new_err("the arguments ask for no run"));
    };
    Ok(*command)
}

fn invalid(error: &ParseError) -> PyErr {
    InvalidRequestError::new_err(error.to_string())
}

/// A seed that differs from run to run, also within one process: the standard library's hasher has new
/// keys each time.
fn fresh_seed() -> u32 {
    let random = RandomState::new().hash_one(std::process::id());
    u32::try_from(random & u64::from(u32::MAX)).unwrap_or(0)
}

/// Warns whoever called the function of the package that called this module.
fn warn(py: Python<'_>, message: &str) -> PyResult<()> {
    const CALLER_OF_THE_PACKAGE: i32 = 2;
    let message = CString::new(message)?;
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, CALLER_OF_THE_PACKAGE)
}

/// Follows a run to its end, and looks at Python's signals meanwhile. A signal whose handler raises ends the
/// run, and so does a callback that raises; what was raised is returned beside the partial result.
fn followed(
    py: Python<'_>,
    handle: RunHandle,
    on_event: Option<&Py<PyAny>>,
) -> PyResult<(Finished, Option<PyErr>)> {
    let mut interruption = None;
    loop {
        let told = match detached(py, || handle.next(SIGNAL_CHECK)) {
            Next::Over => break,
            Next::Nothing => Ok(()),
            Next::Event(told) => {
                on_event.map_or(Ok(()), |callback| events::tell(py, callback, &told.event))
            }
        };
        if let Err(error) = told.and_then(|()| py.check_signals()) {
            handle.stop(if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                EndedBy::Signal
            } else {
                EndedBy::Holder { reason: error.to_string() }
            });
            interruption.get_or_insert(error);
        }
    }
    match (detached(py, || handle.result()), interruption) {
        (Ok(finished), interruption) => Ok((finished, interruption)),
        (Err(_), Some(interruption)) => Err(interruption),
        (Err(error), None) => Err(translate(error)),
    }
}

fn translate(error: RunError) -> PyErr {
    match error {
        RunError::Unfit(unfit) if unfit.refusals.is_empty() => {
            InvalidRequestError::new_err(unfit.to_string())
        }
        RunError::Unfit(unfit) => RefusedError::new_err(unfit.to_string()),
        RunError::TooManyFiles(error) => FathomError::new_err(error.to_string()),
        error @ RunError::NoThread(_) => FathomError::new_err(error.to_string()),
        RunError::Event(error) => FathomError::new_err(error.to_string()),
        RunError::Journal(error) if error.is_refusal() => RefusedError::new_err(error.to_string()),
        RunError::Journal(error) => FathomError::new_err(error.to_string()),
        RunError::Refused(refusals) => RefusedError::new_err(refusals.to_string()),
    }
}

/// The module.
#[pymodule]
fn _fathom(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(request_of, module)?)?;
    module.add_function(wrap_pyfunction!(profile_xml_of, module)?)?;
    module.add_function(wrap_pyfunction!(is_permission, module)?)?;
    module.add_function(wrap_pyfunction!(is_for_one_run, module)?)?;
    module.add_function(wrap_pyfunction!(option_words, module)?)?;
    module.add_function(wrap_pyfunction!(logins::check_credentials, module)?)?;
    module.add_function(wrap_pyfunction!(logins::login_wanted, module)?)?;
    module.add_function(wrap_pyfunction!(logins::log_in, module)?)?;
    module.add_function(wrap_pyfunction!(forbidden_path, module)?)?;
    module.add_function(wrap_pyfunction!(bypasses_page_cache, module)?)?;
    module.add_function(wrap_pyfunction!(explain_job, module)?)?;
    module.add_function(wrap_pyfunction!(run_job, module)?)?;
    module.add_function(wrap_pyfunction!(lend_job, module)?)?;
    module.add_function(wrap_pyfunction!(check_run_words, module)?)?;
    module.add_function(wrap_pyfunction!(load_of, module)?)?;
    module.add_function(wrap_pyfunction!(adopt_targets, module)?)?;
    module.add_function(wrap_pyfunction!(merge_results, module)?)?;
    module.add_function(wrap_pyfunction!(check_result, module)?)?;
    module.add_function(wrap_pyfunction!(sum_histograms, module)?)?;
    module.add_class::<Run>()?;
    module.add_class::<Loan>()?;
    module.add_class::<Seen>()?;
    let py = module.py();
    module.add("FathomError", py.get_type::<FathomError>())?;
    module.add("InvalidRequestError", py.get_type::<InvalidRequestError>())?;
    module.add("RefusedError", py.get_type::<RefusedError>())
}
