//! Verification of what an earlier run has left, instead of a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Finished, availability, record, unfit};
use crate::errors::{Failure, Kind};
use crate::measure::EventSink;
use crate::plan::facts;
use crate::request::{Profile, Request, RunOptions, VerifyRequest};
use crate::result::assemble::{Provenance, assemble};
use crate::supervise::supervise;
use crate::verify::pass::{self, Findings, PassError};

/// Verifies what an earlier run has left, until `stop` turns true. The result has no time spans. A target
/// that hangs ends it, with a failure and what was found until then.
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
    let host = facts::of_host(&profile, availability()).host();
    let command_line = request.command_line.clone();
    let provenance = Provenance { command_line, started_at_unix_s, host };
    let findings = Arc::new(Findings::default());
    let limit_ns = request.faults.io_timeout_ns();
    let done = {
        let (request, findings) = (request.clone(), Arc::clone(&findings));
        let wanted = |_| stop.load(Ordering::Relaxed);
        supervise(limit_ns, &wanted, sink, move |stop, sink| {
            let used = unfit::use_credentials(request.credentials.as_deref(), sink);
            used.map_err(PassError::Credentials)?;
            pass::run(&request.journal, &request.targets, (stop, sink), &findings)
        })
    };
    let mut result =
        assemble(provenance, &Request::new(profile, RunOptions::default()), Vec::new());
    let timed_out = match done {
        Ok(outcome) => {
            outcome?;
            None
        }
        Err(timed_out) => Some(timed_out.to_string()),
    };
    let passed = findings.passed(&request.journal);
    result.verification = Some(passed.verification);
    let warn = |reason: &String| record::not_to_its_end(reason.clone()).in_sentences();
    result.warnings.extend(timed_out.as_ref().map(warn));
    let timed_out = timed_out.map(|words| Failure::new(Kind::TimedOut, words));
    result.failures = passed.failures.into_iter().map(Failure::from).chain(timed_out).collect();
    let failures = result.failures.iter().map(Failure::to_string).collect();
    Ok(Finished { result, failures, loan: None })
}
