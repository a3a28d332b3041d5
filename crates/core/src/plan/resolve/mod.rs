//! A request becomes a plan: every notion of the request turned into numbers of this host.
//!
//! This is a pure function of the request and the facts, and it tells all that is wrong at once.

mod checks;
mod cpus;
mod disks;
mod engines;
mod files;
mod findings;
mod locked;
mod mix;
mod ranges;
mod rates;
mod remote;
mod targets;
#[cfg(test)]
mod tests;
mod threads;
mod tracing;
mod tuning;
mod verify;
mod workers;

use super::facts::{self, HostFacts};
use super::{EngineKind, Plan, SpanPlan};
use crate::request::{EngineChoice, Profile, RunOptions, TimeSpan};
use crate::result::Warning;
use crate::units::{NANOS_PER_MILLI, NANOS_PER_SEC};
use files::Files;
pub use findings::{ErrorClass, ResolveError, ResolveErrors};
use findings::{Findings, Place};
pub(crate) use remote::remedy as remedy_of_served;

/// A plan, and what a reader of its results must know.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// What will be done.
    pub plan: Plan,
    /// What is doubtful about it already.
    pub warnings: Vec<Warning>,
}

/// Turns a request into numbers of one host.
///
/// Fails with everything that keeps the request from being run there; nothing has been touched
/// then, and nothing is touched here.
pub fn resolve(
    profile: &Profile,
    options: &RunOptions,
    facts: &HostFacts,
) -> Result<Resolved, ResolveErrors> {
    let mut resolver = Resolver { profile, options, facts, findings: Findings::default() };
    resolver.refuse_what_is_missing();
    let mut files = Files::new(profile, facts, resolver.is_virtual());
    let spans = profile.time_spans.iter().enumerate();
    let mut spans: Vec<SpanPlan> =
        spans.map(|(index, span)| resolver.span(index, span, &mut files)).collect();
    let verify = resolver.verify(&mut spans);
    let precreate = files.precreate();
    if options.remove_created
        && precreate.is_empty()
        && spans.iter().all(|one| one.create.is_empty())
    {
        let remedy = "leave it out, or let the run make its file with -c";
        resolver.findings.no_effect("--remove-created: this run makes no file", remedy);
    }
    let Findings { errors, warnings } = resolver.findings;
    if !errors.is_empty() {
        return Err(ResolveErrors(errors));
    }
    Ok(Resolved {
        plan: Plan { precreate, spans, verify, usable_cpu_count: facts.usable_cpus.len() },
        warnings,
    })
}

/// A resolution under way.
struct Resolver<'a> {
    profile: &'a Profile,
    options: &'a RunOptions,
    facts: &'a HostFacts,
    findings: Findings,
}

impl Resolver<'_> {
    /// Whether nothing real is touched, so that no target needs to exist.
    fn is_virtual(&self) -> bool {
        self.options.engine == Some(EngineChoice::Null)
    }

    fn refuse_what_is_missing(&mut self) {
        self.check_tracing();
        let events = &self.profile.events;
        let named = [&events.start, &events.finish, &events.wait, &events.stop];
        for name in named.into_iter().flatten() {
            if let Err(error) = fathom_sys::event::check_name(name) {
                self.findings.request(error.to_string(), "choose another name");
            }
        }
    }

    /// The plan of a time span. It is whole only if no error is found anywhere.
    fn span(&mut self, index: usize, span: &TimeSpan, files: &mut Files) -> SpanPlan {
        let create = files.create(span, self.facts);
        let mut targets = Vec::with_capacity(span.targets.len());
        for target in &span.targets {
            let place = Place { span_index: index, target };
            targets.push(self.target(place, files.size_bytes(target, self.facts)));
        }
        let mut threads = self.threads(index, span, &targets);
        self.apply_rates(span, &mut threads);
        let is_shared = span.thread_count > 0;
        SpanPlan {
            index,
            create,
            warm_up_ns: u64::from(span.warm_up_s) * NANOS_PER_SEC,
            measured_ns: u64::from(span.duration_s) * NANOS_PER_SEC,
            stop: span.stop,
            faults: span.faults,
            cool_down_ns: u64::from(span.cool_down_s) * NANOS_PER_SEC,
            interval_ns: interval_ns(span),
            measure_latency: span.measure_latency,
            interval_latency: self.options.interval_latency,
            progress_every_ios: u64::from(self.profile.progress_every_ios),
            shared_outstanding: if is_shared { span.request_count } else { 0 },
            targets: targets.into_iter().flatten().collect(),
            threads,
        }
    }
}

fn interval_ns(span: &TimeSpan) -> u64 {
    if span.interval_series { u64::from(span.interval_ms) * NANOS_PER_MILLI } else { 0 }
}

/// The kind of engine that a choice names.
fn kind_of(choice: EngineChoice) -> EngineKind {
    match choice {
        EngineChoice::Uring => EngineKind::Uring,
        EngineChoice::Aio => EngineKind::Aio,
        EngineChoice::Sync => EngineKind::Sync,
        EngineChoice::Mapped => EngineKind::Mapped,
        EngineChoice::Null => EngineKind::Null,
    }
}
