//! A request that does not fit this host, and what the guard would say of its targets all the same.
//!
//! An error never hides a refusal: who mends the error alone would be refused next, or would think that
//! the file may be lost.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use fathom_sys::device::PathKind;

use crate::errors::{Failure, Kind};
use crate::guard::{self, Intent, Refusal};
use crate::measure::EventSink;
use crate::network::{self, RemotePlan};
use crate::plan::facts::{self, HostFacts};
use crate::plan::resolve::{ErrorClass, ResolveError, ResolveErrors, Resolved, resolve};
use crate::request::{EngineChoice, Job, Request, Target};
use crate::storage::Location;
use crate::supervise::{TimedOut, within};

/// Why a request cannot be run on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// What is wrong with it.
    pub errors: ResolveErrors,
    /// What would be refused if nothing were wrong with it.
    pub refusals: Vec<Refusal>,
}

impl std::error::Error for Unfit {}

impl Unfit {
    /// A look at a target was left alone.
    pub(crate) fn hanging(timed_out: &TimedOut) -> Self {
        let (message, remedy) = timed_out.clauses();
        let (class, kind) = (ErrorClass::Target, Kind::TimedOut);
        let errors = ResolveErrors(vec![ResolveError { class, kind, message, remedy }]);
        Self { errors, refusals: Vec::new() }
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for refusal in &self.refusals {
            writeln!(out, "{refusal}")?;
        }
        self.errors.fmt(out)
    }
}

/// Uses the credentials that a job names, before anything is asked of a server. The look at their file, which
/// may hang, is reported to `sink`.
///
/// # Errors
/// If they cannot be used.
pub(crate) fn log_in(job: &Job, sink: EventSink<'_>) -> Result<(), Unfit> {
    use_credentials(job.credentials.as_deref(), sink).map_err(|failure| {
        let remedy = "correct --credentials=FILE".to_owned();
        let (class, kind, message) = (ErrorClass::Request, failure.kind, failure.message);
        let errors = ResolveErrors(vec![ResolveError { class, kind, message, remedy }]);
        Unfit { errors, refusals: Vec::new() }
    })
}

/// Uses the credentials of a file from now on, or no longer. The look at it is reported to `sink`.
///
/// # Errors
/// If they cannot be used.
pub(super) fn use_credentials(file: Option<&Path>, sink: EventSink<'_>) -> Result<(), Failure> {
    let doing = file.map(|file| format!("read the credentials in '{}'", file.display()));
    let used = || network::use_credentials(file);
    doing.map_or_else(used, |doing| within(sink, doing, used))
}

/// Resolves a job; where that fails, its targets are asked about all the same. Each look that may hang
/// is reported to `sink`.
///
/// # Errors
/// If the request does not fit the host.
pub(crate) fn resolved(
    job: &Job,
    host: &HostFacts,
    sink: EventSink<'_>,
) -> Result<Resolved, Unfit> {
    let idle = || within(sink, "look at what is protected".to_owned(), || protect_nothing(job));
    let errors = match (resolve(job.profile(), &job.options(), host), idle()) {
        (Ok(resolved), None) => return Ok(resolved),
        (Ok(_), Some(errors)) | (Err(errors), None) => errors,
        (Err(ResolveErrors(errors)), Some(ResolveErrors(more))) => {
            ResolveErrors([errors, more].concat())
        }
    };
    Err(Unfit { errors, refusals: refusals(job, host, sink) })
}

/// What is wrong with what a person wants protected: where nothing is, nothing would be.
pub(crate) fn protect_nothing(job: &Job) -> Option<ResolveErrors> {
    let wrong = |(path, why): (&Path, io::Error)| ResolveError {
        class: ErrorClass::Request,
        kind: Kind::of(&why),
        message: format!("--protect={} protects nothing: {why}", path.display()),
        remedy: "name a file, folder or device that is there".to_owned(),
    };
    let errors: Vec<_> = guard::protect_nothing(&job.permission.protect).map(wrong).collect();
    (!errors.is_empty()).then_some(ResolveErrors(errors))
}

/// What would be refused of a job, whatever is wrong with it.
pub(super) fn refusals(job: &Job, host: &HostFacts, sink: EventSink<'_>) -> Vec<Refusal> {
    let (here, served) = (wished(&job.request, host), wished_served(&job.request, host));
    guard::refusals_of(&here, &served, &job.permission, sink)
}

/// What it would write if only its errors were mended. What no test can write to, such as a folder or
/// what takes no writes, is left to them: another target has to be named anyway.
fn wished(request: &Request, host: &HostFacts) -> BTreeMap<PathBuf, Intent> {
    changed(request).filter_map(|target| wish(target, host)).collect()
}

/// The same of what other hosts serve.
fn wished_served(request: &Request, host: &HostFacts) -> BTreeMap<PathBuf, Location> {
    let timeout = facts::patience(&request.profile);
    let wish = |target: &Target| {
        let known = host.served(target).filter(|known| !known.is_read_only)?;
        let plan = RemotePlan { facts: known.clone(), timeout, ..RemotePlan::default() };
        let location = Location::of(&target.path, &host.disks, plan).ok()?;
        Some((location.path().to_owned(), location))
    };
    changed(request).filter_map(wish).collect()
}

/// The targets that it writes or makes.
fn changed(request: &Request) -> impl Iterator<Item = &Target> {
    let touches = request.options.engine != Some(EngineChoice::Null);
    let targets = request.profile.time_spans.iter().flat_map(|span| &span.targets);
    targets.filter(move |target| touches && (creates(target) || target.is_changed()))
}

fn creates(target: &Target) -> bool {
    target.create_bytes.is_some_and(|bytes| bytes > 0)
}

fn wish(target: &Target, host: &HostFacts) -> Option<(PathBuf, Intent)> {
    let known = host.here(target).filter(|known| !known.is_read_only)?;
    let intent = match known.kind {
        PathKind::File | PathKind::Missing if creates(target) => Intent::Create,
        // A device is written without -c.
        PathKind::File | PathKind::BlockDevice => Intent::Write,
        _ => return None,
    };
    Some((known.path.clone(), intent))
}
