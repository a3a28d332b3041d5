//! What a run has found so far, and the result that is made of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Finished, Loan};
use crate::errors::{Failure, Kind};
use crate::measure::{EndedBy, Ending, SpanMeasurements};
use crate::plan::Plan;
use crate::request::{Job, Request};
use crate::result::assemble::{Provenance, assemble};
use crate::result::{Outcome, TimeSpanResult, Verification, Warning, WarningKind, warnings};
use crate::supervise::TimedOut;
use crate::units::NANOS_PER_SEC;
use crate::verify::Tables;

/// The record, shared by the thread that runs and the one that supervises it. It is held for moments
/// only, and never while a target is touched.
#[derive(Default)]
pub(super) struct Shared(Mutex<RunRecord>);

impl Shared {
    pub(super) fn of(&self) -> MutexGuard<'_, RunRecord> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was found. A thread that was given up does not get it back.
    pub(super) fn take(&self) -> RunRecord {
        std::mem::take(&mut *self.of())
    }
}

/// What a run has found so far.
#[derive(Default)]
pub(super) struct RunRecord {
    /// The plan, once there is one.
    pub(super) plan: Option<Arc<Plan>>,
    /// The time spans that have ended, in order.
    pub(super) spans: Vec<SpanMeasurements>,
    pub(super) residency: Vec<warnings::TargetResidency>,
    pub(super) warnings: Vec<Warning>,
    /// Why the run failed, fault by fault.
    pub(super) failures: Vec<Failure>,
    /// What is verified, if anything is.
    pub(super) tables: Option<Arc<Tables>>,
    /// What is lent to another program.
    pub(super) loan: Option<Loan>,
    /// How the run ended if it did so before there was a plan.
    before_plan: Option<Outcome>,
}

impl RunRecord {
    /// The run failed before there was a plan.
    pub(super) fn fail_before_plan(&mut self, failures: Vec<Failure>) {
        let words: Vec<_> = failures.iter().map(|one| one.message.as_str()).collect();
        self.before_plan = Some(Outcome::Failed(words.join("; ")));
        self.failures = failures;
    }

    /// The run was left alone; what it was about to measure is reported as not measured.
    pub(super) fn give_up(&mut self, timed_out: &TimedOut, job: &Job, interrupted: bool) {
        let reason = timed_out.to_string();
        let failure = Failure::new(Kind::TimedOut, reason.clone());
        self.failures.push(failure.clone());
        match &self.plan {
            None if interrupted => {
                self.before_plan = Some(Outcome::Interrupted);
                self.warnings.push(not_to_its_end(reason));
            }
            None => self.before_plan = Some(Outcome::Failed(reason)),
            Some(plan) if self.is_on_its_way(plan) => {
                self.spans.push(not_begun(interrupted, failure));
            }
            // All was measured that could be, and only the looks afterwards are missing.
            Some(_) => self.warnings.push(not_to_its_end(reason)),
        }
        if self.plan.is_some() && job.request.options.remove_created {
            let words = "files that this run has made were not removed, because a target hangs";
            self.failures.push(words.into());
        }
    }

    /// Whether all went as it was to go.
    pub(super) fn is_whole(&self) -> bool {
        let are_complete = self.spans.iter().all(|span| span.ending == Ending::Complete);
        are_complete && self.failures.is_empty() && self.before_plan.is_none()
    }

    /// Whether another time span was to come.
    fn is_on_its_way(&self, plan: &Plan) -> bool {
        let are_complete = self.spans.iter().all(|span| span.ending == Ending::Complete);
        are_complete && self.spans.len() < plan.spans.len()
    }

    /// The result of all that.
    pub(super) fn finish(
        mut self,
        provenance: Provenance,
        request: &Request,
        ended_by: Option<EndedBy>,
    ) -> Finished {
        let plan = self.plan.unwrap_or_default();
        let spans: Vec<_> = plan.spans.iter().zip(self.spans).collect();
        let mut result = assemble(provenance, request, spans);
        result.time_spans.extend(self.before_plan.map(nothing_measured));
        self.warnings.extend(warnings::after(&plan, &result, &self.residency));
        warnings::explain(&mut self.warnings);
        self.warnings.extend(ended_by.as_ref().and_then(ended_from_outside));
        result.ended_by = ended_by;
        result.warnings = self.warnings.into_iter().map(Warning::in_sentences).collect();
        result.verification = self.tables.as_deref().map(verification);
        let failures = self.failures.iter().map(Failure::to_string).collect();
        result.failures = self.failures;
        Finished { result, failures, loan: self.loan }
    }
}

/// The warning about a run that a lease or its holder ended; whoever pressed Ctrl-C knows that.
fn ended_from_outside(by: &EndedBy) -> Option<Warning> {
    let (evidence, remedy) = match by {
        EndedBy::Signal => return None,
        EndedBy::Lease { lease_ns } => (
            format!(
                "the run ended itself: its lease was not renewed for {} s",
                *lease_ns as f64 / NANOS_PER_SEC as f64
            ),
            "look why whoever renewed it stopped: a process that has ended, or a network that is down",
        ),
        EndedBy::Holder { reason } if reason.is_empty() => {
            ("whoever held the run ended it".to_owned(), "run it to its end")
        }
        EndedBy::Holder { reason } => {
            (format!("whoever held the run ended it: {reason}"), "run it to its end")
        }
    };
    let remedy = remedy.to_owned();
    let kind = WarningKind::Interrupted;
    Some(Warning { kind, target: None, time_span: None, evidence, remedy })
}

/// A time span that did not begin.
pub(super) fn not_begun(interrupted: bool, reason: Failure) -> SpanMeasurements {
    let ending = if interrupted { Ending::Interrupted } else { Ending::Failed(reason) };
    SpanMeasurements::nothing(ending)
}

/// The warning about a run that was left alone after its last measurement.
pub(super) fn not_to_its_end(evidence: String) -> Warning {
    Warning {
        kind: WarningKind::Interrupted,
        target: None,
        time_span: None,
        evidence,
        remedy: "run it again once the target answers".to_owned(),
    }
}

fn nothing_measured(outcome: Outcome) -> TimeSpanResult {
    TimeSpanResult {
        outcome,
        began_unix_ns: None,
        measured_ns: 0,
        stop: None,
        thread_count: 0,
        request_count: 0,
        interval_ns: 0,
        last_interval_ns: 0,
        cpu: Vec::new(),
        cost: None,
        kernel_events: None,
        outstanding: Vec::new(),
        beneath: None,
        network: Vec::new(),
        targets: Vec::new(),
        threads: Vec::new(),
    }
}

fn verification(tables: &Tables) -> Verification {
    let journal = tables.journal().map(|path| path.display().to_string());
    let mut verification = Verification { journal, ..Verification::default() };
    for (target, tally) in tables.tallies() {
        verification.add(&target.name, target.block_bytes, 0, &tally);
    }
    verification
}
