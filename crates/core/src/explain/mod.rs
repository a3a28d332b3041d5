//! What a run would do, and whether it may: told without doing any of it.

mod amount;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fathom_sys::device::{self, PathKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::Kind;
use crate::guard::{self, DeviceLabel, Finding, Judgement, Refusal};
use crate::measure::EventSink;
use crate::plan::facts;
use crate::plan::resolve::{ErrorClass, ResolveError, ResolveErrors, Resolved};
use crate::plan::{FilePlan, Plan, SpanPlan, TargetPlan};
use crate::prepare::{self, Created};
use crate::request::Job;
use crate::result::Tool;
use crate::run::{Unfit, patience_ns, resolved};
use crate::storage::Location;
use crate::supervise::{Doing, supervise, within};
use crate::verify::table::foresee;
pub use amount::WriteAmount;

/// Version of this format. It grows with each change that an older reader would misread.
pub const SCHEMA_VERSION: u32 = 1;

/// What a run would do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Version of this format.
    pub schema_version: u32,
    /// The tool that tells.
    pub tool: Tool,
    /// The command line.
    pub command_line: String,
    /// Whether the run would go ahead; otherwise it would be refused.
    pub would_run: bool,
    /// The longest time that it takes, warm-up and cool-down included, without making files, in seconds.
    pub duration_s: f64,
    /// The files that would be made.
    pub files: Vec<FileToMake>,
    /// The targets of all time spans.
    pub targets: Vec<ExplainedTarget>,
    /// What speaks against the journal of the verification, or stands in its place, and what could not be
    /// seen, as sentences.
    pub notes: Vec<String>,
}

/// A file that would be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileToMake {
    /// Its path.
    pub path: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// What becomes of it.
    pub fate: Fate,
    /// Bytes that are written to make it.
    pub write_bytes: u64,
    /// Whether it is removed again when the run ends (`--remove-created`): only a file that is made.
    #[serde(default)]
    pub is_removed: bool,
    /// What the guard says.
    pub verdict: ExplainedVerdict,
}

/// What becomes of a file that is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It is there: complete, of the right size, and made by this tool.
    Kept,
    /// Nothing is there, and it is made.
    Made,
    /// What is there is replaced.
    Replaced,
}

/// A target of one time span.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedTarget {
    /// The time span, from 1.
    pub time_span: usize,
    /// The name as it was given.
    pub name: String,
    /// The object itself, with all symbolic links resolved.
    pub path: String,
    /// `file`, `block_device`, `network`, or `none` if nothing is there yet.
    pub kind: String,
    /// Its size in bytes, once it is made.
    pub size_bytes: u64,
    /// The device that it is or lies on; absent if the system does not tell.
    pub device: Option<ExplainedDevice>,
    /// Whether it would be written.
    pub is_written: bool,
    /// First byte of the range that is used.
    pub range_start_bytes: u64,
    /// End of the range, exclusive.
    pub range_end_bytes: u64,
    /// How much would be written.
    pub writes: WriteAmount,
    /// What the guard says.
    pub verdict: ExplainedVerdict,
}

/// A device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedDevice {
    /// Its path by the kernel's name.
    pub path: String,
    /// Model of the disk, where it has one.
    pub model: Option<String>,
    /// Serial number of the disk, where it has one.
    pub serial: Option<String>,
    /// World-wide name of the disk, where it has one.
    pub wwn: Option<String>,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// The words of `--allow-write` that permit writing to it, the first one preferred.
    pub allow_write: Vec<String>,
}

/// What the guard says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedVerdict {
    /// Whether it would be refused.
    pub is_refused: bool,
    /// Why, as a clause; empty if it is not refused.
    pub reason: String,
    /// What to do about it, as a clause; empty if it is not refused.
    pub remedy: String,
}

/// Tells what a job would do. Nothing is created, written, or kept open. Whether nobody waits for it any more
/// is asked of `is_due` ten times a second.
///
/// # Errors
/// If the request does not fit the host, or a target cannot be used or does not answer.
pub fn explain(job: &Job, is_due: &dyn Fn() -> bool) -> Result<Explanation, Unfit> {
    let (patience_ns, job) = (patience_ns(job.profile()), job.clone());
    supervise(patience_ns, &|_| is_due(), &|_| {}, move |_, sink| explained(&job, sink))
        .unwrap_or_else(|timed_out| Err(Unfit::hanging(&timed_out)))
}

fn explained(job: &Job, sink: EventSink<'_>) -> Result<Explanation, Unfit> {
    crate::run::log_in(job, sink)?;
    let host = facts::gather(job.profile(), crate::run::availability(), sink);
    let Resolved { plan, .. } = resolved(job, &host, sink)?;
    let judgement = guard::judge(&plan, &job.permission, sink);
    let journal = journal(&plan, &judgement, sink)?;
    let room = prepare::foresee_room(plan.files(), sink);
    room.map_err(|why| unfit((why.kind(), &why.to_string()), &judgement))?;
    let labels = labels(&plan, &judgement, sink);
    let spans = plan.spans.iter();
    let targets = spans.clone().flat_map(|span| {
        let told = |(index, target): (usize, &TargetPlan)| {
            let look = || target_of(span, index, (target, &judgement, &labels));
            within(sink, looking(&target.location), look)
        };
        span.targets.iter().enumerate().map(told).collect::<Vec<_>>()
    });
    let tool =
        Tool { name: "Fathom diskspd".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    Ok(Explanation {
        schema_version: SCHEMA_VERSION,
        tool,
        command_line: job.command_line.clone(),
        would_run: journal.may_be_made
            && judgement.verdicts.values().all(|verdict| verdict.finding.is_none()),
        duration_s: spans.clone().map(amount::longest_ns).sum::<u64>() as f64 / 1e9,
        files: plan.files().map(|file| file_to_make(file, job, &judgement, sink)).collect(),
        targets: targets.collect(),
        notes: journal.words.into_iter().chain(judgement.unseen.clone()).collect(),
    })
}

fn looking(location: &Location) -> Doing {
    Doing::at(location, format!("look at '{}'", location.path().display()))
}

/// What becomes of the journal of the verification, if there is one.
struct Journal {
    may_be_made: bool,
    /// What stands in its place.
    words: Option<String>,
}

/// Looks at the place of the journal, as the run would behind the guard.
fn journal(plan: &Plan, judgement: &Judgement, sink: EventSink<'_>) -> Result<Journal, Unfit> {
    let refused = |why: String| Journal { may_be_made: false, words: Some(why) };
    let Some(verify) = &plan.verify else { return Ok(Journal { may_be_made: true, words: None }) };
    if let Some(refusal) = &judgement.journal {
        return Ok(refused(refusal.to_string()));
    }
    match within(sink, looking(&Location::here(&verify.journal)), || foresee(verify)) {
        Ok(replaces) => {
            let words = format!(
                "The journal '{}' takes the place of that of an earlier run, which has ended.",
                verify.journal.display()
            );
            Ok(Journal { may_be_made: true, words: replaces.then_some(words) })
        }
        Err(why) if why.is_refusal() => Ok(refused(why.to_string())),
        Err(why) => Err(unfit((why.kind(), &why.to_string()), judgement)),
    }
}

/// A journal or a file that cannot be made ends the run as a target does that cannot be used. It hides no
/// refusal.
fn unfit((kind, words): (Kind, &str), judgement: &Judgement) -> Unfit {
    let (message, remedy) = words.rsplit_once("; ").unwrap_or((words, "correct the path"));
    let (message, remedy) = (message.to_owned(), remedy.to_owned());
    let error = ResolveError { class: ErrorClass::Target, kind, message, remedy };
    let refusals = judgement.verdicts.iter().filter_map(|(target, verdict)| {
        Some(Refusal { target: target.clone(), finding: verdict.finding.clone()? })
    });
    Unfit { refusals: refusals.collect(), errors: ResolveErrors(vec![error]) }
}

fn file_to_make(
    file: &FilePlan,
    job: &Job,
    judgement: &Judgement,
    sink: EventSink<'_>,
) -> FileToMake {
    let fate = match within(sink, looking(&file.location), || file.location.storage().fate(file)) {
        Ok(Created::Kept) => Fate::Kept,
        Ok(Created::Made) => Fate::Made,
        // What cannot be looked at is refused by the guard.
        Ok(Created::Remade) | Err(_) => Fate::Replaced,
    };
    FileToMake {
        path: file.path().display().to_string(),
        size_bytes: file.size_bytes,
        fate,
        write_bytes: if fate == Fate::Kept { 0 } else { file.size_bytes },
        is_removed: fate == Fate::Made && job.request.options.remove_created,
        verdict: verdict_of(judgement, file.path()),
    }
}

/// The devices of targets.
type Labels = BTreeMap<PathBuf, DeviceLabel>;

/// The devices of all targets: those of what is written were looked at as they were judged.
fn labels(plan: &Plan, judgement: &Judgement, sink: EventSink<'_>) -> Labels {
    let judged = judgement.verdicts.iter();
    let known = judged.filter_map(|(path, verdict)| Some((path.clone(), verdict.label.clone()?)));
    let mut labels: Labels = known.collect();
    let targets = || plan.spans.iter().flat_map(|span| &span.targets);
    let served = targets().filter_map(|target| target.location.served());
    labels.extend(served.map(|served| (served.path().to_owned(), served.device())));
    let paths = targets().map(TargetPlan::path);
    let others: BTreeSet<&Path> = paths.filter(|path| !labels.contains_key(*path)).collect();
    if !others.is_empty() {
        let look = || guard::labels_of(others.into_iter());
        labels.extend(within(sink, "look at the targets".to_owned(), look));
    }
    labels
}

fn target_of(
    span: &SpanPlan,
    index: usize,
    (target, judgement, labels): (&TargetPlan, &Judgement, &Labels),
) -> ExplainedTarget {
    let is_written = guard::is_written(span, index);
    let label = labels.get(target.path()).cloned();
    // A file of a server is no device: how much of one is written for it nobody knows here.
    let is_file = target.location.served().is_some_and(|served| served.plan.facts.is_file);
    let device_bytes = label.as_ref().map(|label| label.size_bytes).filter(|_| !is_file);
    ExplainedTarget {
        time_span: span.index + 1,
        name: target.name.clone(),
        path: target.path().display().to_string(),
        kind: target.location.local().map_or("network", kind_in_words).to_owned(),
        size_bytes: target.size_bytes,
        device: label.map(device_of),
        is_written,
        range_start_bytes: target.offsets.base_bytes,
        range_end_bytes: target.offsets.end_bytes,
        writes: amount::of(span, index, is_written, device_bytes),
        verdict: verdict_of(judgement, target.path()),
    }
}

fn kind_in_words(path: &Path) -> &'static str {
    match device::look(path).map(|facts| facts.kind) {
        Ok(PathKind::File) => "file",
        Ok(PathKind::BlockDevice) => "block_device",
        _ => "none",
    }
}

fn device_of(label: DeviceLabel) -> ExplainedDevice {
    let DeviceLabel { path, model, serial, wwn, size_bytes, tokens } = label;
    ExplainedDevice { path, model, serial, wwn, size_bytes, allow_write: tokens }
}

fn verdict_of(judgement: &Judgement, path: &Path) -> ExplainedVerdict {
    let finding = judgement.verdicts.get(path).and_then(|verdict| verdict.finding.as_ref());
    ExplainedVerdict {
        is_refused: finding.is_some(),
        reason: finding.map(Finding::to_string).unwrap_or_default(),
        remedy: finding.map(Finding::remedy).unwrap_or_default(),
    }
}
