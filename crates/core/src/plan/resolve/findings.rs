//! What is found wrong or doubtful while a request is resolved: all of it, not only the first.

use std::fmt;

use crate::errors::{Failure, Kind};
use crate::request::Target;
use crate::result::{Warning, WarningKind};

/// Everything that keeps a request from being run on this host; at least one entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", in_lines(.0))]
pub struct ResolveErrors(pub Vec<ResolveError>);

impl ResolveErrors {
    /// Whether the request itself is wrong for this host, and not only a target.
    #[must_use]
    pub fn has_request_error(&self) -> bool {
        self.0.iter().any(|error| error.class == ErrorClass::Request)
    }
}

fn in_lines(errors: &[ResolveError]) -> String {
    errors.iter().map(ResolveError::to_string).collect::<Vec<_>>().join("\n")
}

/// Whose fault an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// The request asks for what this host or this version does not have.
    Request,
    /// A target is not what the request takes it for.
    Target,
}

/// One reason why a request cannot be run on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolveError {
    /// Whose fault it is.
    pub class: ErrorClass,
    /// What kind of fault it is.
    pub kind: Kind,
    /// What was found, and where, as one sentence without a full stop.
    pub message: String,
    /// What to do about it, as one clause.
    pub remedy: String,
}

impl fmt::Display for ResolveError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}; {}", self.message, self.remedy)
    }
}

impl ResolveError {
    /// As it stands in a result.
    pub(crate) fn failure(&self) -> Failure {
        Failure::new(self.kind, self.to_string())
    }
}

/// What has been found so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) errors: Vec<ResolveError>,
    pub(super) warnings: Vec<Warning>,
}

impl Findings {
    /// Notes that the request is wrong for this host. What is wrong twice is said once.
    pub(super) fn request(&mut self, message: impl Into<String>, remedy: impl Into<String>) {
        self.add((ErrorClass::Request, Kind::Invalid), message.into(), remedy.into());
    }

    /// Notes that a target is not what the request takes it for.
    pub(super) fn target(&mut self, message: impl Into<String>, remedy: impl Into<String>) {
        self.target_is(Kind::Invalid, message, remedy);
    }

    /// The same of another kind than that it does not suit.
    pub(super) fn target_is(
        &mut self,
        kind: Kind,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.add((ErrorClass::Target, kind), message.into(), remedy.into());
    }

    fn add(&mut self, (class, kind): (ErrorClass, Kind), message: String, remedy: String) {
        let error = ResolveError { class, kind, message, remedy };
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    /// Notes that something that was requested changes nothing.
    pub(super) fn no_effect(&mut self, evidence: &str, remedy: &str) {
        self.warnings.push(Warning {
            kind: WarningKind::NoEffect,
            target: None,
            time_span: None,
            evidence: evidence.to_owned(),
            remedy: remedy.to_owned(),
        });
    }

    /// Notes a doubt about one target.
    pub(super) fn warn(
        &mut self,
        kind: WarningKind,
        place: Place<'_>,
        evidence: String,
        remedy: &str,
    ) {
        let warning = Warning {
            kind,
            target: Some(place.target.path.to_string()),
            time_span: u32::try_from(place.span_index).ok(),
            evidence,
            remedy: remedy.to_owned(),
        };
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// One target of one time span of the request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) span_index: usize,
    pub(super) target: &'a Target,
}
