//! Targets lent to another program: guarded and prepared as for a run of ours, and held while it works.

use std::path::{Path, PathBuf};

use super::spans::Runner;
use crate::beneath::Edge;
use crate::guard::WriteGrant;
use crate::measure::{Ending, SpanMeasurements};
use crate::plan::{Plan, SpanPlan};
use crate::prepare::Entrusted;
use crate::request::{Job, StopRules};
use crate::supervise::{Doing, within};

/// The permission to write what a job writes, in the hands of another program. The claims on block devices
/// and the hold on files last until this is dropped.
#[must_use = "nobody else is kept off the devices once this is dropped"]
#[derive(Debug)]
pub struct Loan {
    /// Kept and not looked at.
    _grant: WriteGrant,
    /// Who else writes to the files of ours meanwhile; absent where there is no watch.
    entrusted: Option<Entrusted>,
}

impl Loan {
    /// Lends what a plan writes. What the files hold must be entered in their marks by now.
    pub(super) fn new(plan: &Plan, grant: WriteGrant) -> Self {
        Self { _grant: grant, entrusted: Entrusted::begin(&written(plan)).ok() }
    }

    /// The program has ended, all of which ran in `session` (`setsid(2)`): what it wrote is as much ours as
    /// what we write. Of a loan that is dropped instead, what the files hold decides.
    pub fn end(self, session: u32) {
        if let Some(entrusted) = self.entrusted {
            entrusted.end(session);
        }
    }
}

fn written(plan: &Plan) -> Vec<PathBuf> {
    let targets = plan.spans.iter().flat_map(|span| &span.targets);
    let written = targets.filter(|target| target.open.write);
    written.filter_map(|target| target.location.local()).map(Path::to_owned).collect()
}

/// The same job without any load: another program makes it, in its own time.
pub(super) fn without_load(job: &Job) -> Job {
    let mut job = job.clone();
    for span in &mut job.request.profile.time_spans {
        (span.warm_up_s, span.duration_s, span.cool_down_s) = (0, 0, 0);
        span.stop = StopRules::default();
    }
    job
}

impl Runner<'_> {
    /// Opens each target as its load would, and lets go of it: what cannot be opened here is not lent.
    pub(super) fn try_targets(&self, span: &SpanPlan) -> SpanMeasurements {
        let watch = self.watch(span);
        let opened = span.targets.iter().try_for_each(|target| {
            let doing = format!("open '{}'", target.path().display());
            let storage = target.location.storage();
            within(self.sink, Doing::at(&target.location, doing), || {
                storage.try_open(target, &self.checked)
            })
        });
        let ending = match opened {
            Ok(()) => Ending::Complete,
            Err(failure) => Ending::Failed(failure),
        };
        // The layers beneath stand in the result; nothing is counted, as the load is not ours.
        watch.look(Edge::BeforeLoad);
        watch.look(Edge::AfterLoad);
        let beneath = Some(watch.take());
        SpanMeasurements { beneath, ..SpanMeasurements::nothing(ending) }
    }
}
