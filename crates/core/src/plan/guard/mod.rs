//! Nothing of value is written over: asked of every target before any is opened for writing.
//!
//! Data that look like somebody's are written over only with `--overwrite`, and a device only if it is
//! named by what is written on it (`--allow-write`). What is in use is never written to, whatever is
//! given: there is no test for which that would be meant. docs/data-safety.md tells what is found how.

mod blocks;
mod checked;
mod contents;
mod finding;
#[cfg(test)]
pub(crate) mod fixture;
mod machine;
mod mounts;
mod reach;
#[cfg(test)]
mod tests;
mod token;
#[cfg(test)]
mod tree_tests;
mod uses;
mod writers;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use fathom_sys::blkid;
use fathom_sys::holders::Claim;
use fathom_sys::identity::Identity;
use fathom_sys::kernel_files;

use super::prepare;
use super::{EngineKind, FilePlan, Plan, SpanPlan, TargetKind};
use crate::attend::within;
use crate::measure::EventSink;
use crate::profile::RunOptions;
pub use checked::Checked;
pub use finding::{Finding, Refusal, Refusals};
use machine::Machine;
pub use token::DeviceLabel;
use uses::Sight;
pub use uses::Use;

/// Leave to write: the claims on all block devices that are written, held as long as this is kept.
#[must_use = "nobody else is kept off the devices once this is dropped"]
#[derive(Debug)]
pub struct Leave {
    /// Kept and not looked at: a claim ends when it is dropped.
    _claims: Vec<Claim>,
    /// What each path led to.
    pub checked: Checked,
}

/// What the guard says of one path that would be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What speaks against it; nothing if it may be written.
    pub finding: Option<Finding>,
    /// The device, if it is one.
    pub label: Option<DeviceLabel>,
}

/// What the guard says of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Of each path that would be written.
    pub verdicts: BTreeMap<PathBuf, Verdict>,
    /// What could not be seen, as sentences.
    pub unseen: Vec<String>,
}

/// Checks every target that `plan` would write to or create; those that are only read pass. Each look that
/// may hang is told to `sink`.
pub fn check(plan: &Plan, options: &RunOptions, sink: EventSink<'_>) -> Result<Leave, Refusals> {
    let machine = Machine::this();
    let intents = intents(plan);
    let guard = Guard::new(&machine, &intents, options, sink);
    let (mut claims, mut checked) = (Claims::default(), Checked::default());
    let refuse = |(path, intent): (&PathBuf, &Intent)| {
        let doing = format!("look at what '{}' holds", path.display());
        let finding = within(sink, doing, || {
            // Before anything else: what is put there later is not what was looked at.
            checked.note(path, machine.identity(path));
            guard.examine(path, *intent, &mut claims)
        });
        Some(Refusal { target: path.clone(), finding: finding? })
    };
    let refusals: Vec<Refusal> = intents.iter().filter_map(refuse).collect();
    let leave = Leave { _claims: claims.0.into_values().collect(), checked };
    if refusals.is_empty() { Ok(leave) } else { Err(Refusals(refusals)) }
}

/// What [`check`] would say now, of each path; all claims are given back at once.
#[must_use]
pub fn judge(plan: &Plan, options: &RunOptions) -> Judgement {
    let machine = Machine::this();
    let intents = intents(plan);
    let guard = Guard::new(&machine, &intents, options, &|_| {});
    let mut claims = Claims::default();
    let verdicts = intents.iter().map(|(path, intent)| {
        let finding = guard.examine(path, *intent, &mut claims);
        (path.clone(), Verdict { finding, label: guard.label(path) })
    });
    Judgement { verdicts: verdicts.collect(), unseen: guard.unseen() }
}

/// The label of the device that a path leads to, or that the file behind it lies on; none if that cannot
/// be told.
#[must_use]
pub fn label_of(path: &Path) -> Option<DeviceLabel> {
    let (machine, options) = (Machine::this(), RunOptions::default());
    Guard::new(&machine, &BTreeMap::new(), &options, &|_| {}).label(path)
}

/// What a run means to do with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Intent {
    Write,
    /// Create also writes, and only a regular file can be created.
    Create,
}

fn intents(plan: &Plan) -> BTreeMap<PathBuf, Intent> {
    let mut intents = BTreeMap::new();
    for span in &plan.spans {
        for path in written_paths(span) {
            intents.insert(path, Intent::Write);
        }
    }
    let spans = plan.spans.iter().flat_map(|span| &span.create);
    for FilePlan { path, .. } in plan.precreate.iter().chain(spans) {
        intents.insert(path.clone(), Intent::Create);
    }
    intents
}

fn written_paths(span: &SpanPlan) -> impl Iterator<Item = PathBuf> {
    let written = (0..span.targets.len()).filter(|index| is_written(span, *index));
    written.map(|index| span.targets[index].path.clone())
}

/// Whether a time span writes to one of its targets.
pub(crate) fn is_written(span: &SpanPlan, index: usize) -> bool {
    let target = &span.targets[index];
    (target.write_percent > 0 || target.open.write)
        && target.kind != TargetKind::Virtual
        && !is_untouched(span, index)
}

/// Whether only null engines use a target: these complete at once and touch nothing.
pub(crate) fn is_untouched(span: &SpanPlan, target: usize) -> bool {
    let has_use = |thread: &&super::ThreadPlan| {
        thread.assignments.iter().any(|use_of| use_of.target == target)
    };
    let mut threads = span.threads.iter().filter(has_use).peekable();
    threads.peek().is_some() && threads.all(|thread| thread.engine == EngineKind::Null)
}

/// The claims that were taken, each device once.
#[derive(Default)]
struct Claims(BTreeMap<Identity, Claim>);

struct Guard<'a> {
    machine: &'a Machine,
    sight: Sight<'a>,
    options: &'a RunOptions,
}

impl<'a> Guard<'a> {
    fn new(
        machine: &'a Machine,
        intents: &BTreeMap<PathBuf, Intent>,
        options: &'a RunOptions,
        sink: EventSink<'_>,
    ) -> Self {
        let identity = |path: &PathBuf| {
            within(sink, format!("look at '{}'", path.display()), || machine.identity(path))
        };
        let found = intents.keys().filter_map(identity);
        let targets: Vec<Identity> = found.filter(|found| *found != Identity::Other).collect();
        // What other processes have open is looked at, and may hang like any target.
        let sight = within(sink, "look who uses the targets".to_owned(), || {
            Sight::of(machine, &targets, &options.protect)
        });
        Self { machine, sight, options }
    }

    /// What speaks against writing to `path`; symbolic links are followed to the object itself.
    fn examine(&self, path: &Path, intent: Intent, claims: &mut Claims) -> Option<Finding> {
        let metadata = match fs::metadata(path) {
            // What is not there cannot be lost.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return Some(Finding::Unreadable(error.to_string())),
            Ok(metadata) => metadata,
        };
        let kind = metadata.file_type();
        let looked = if kind.is_file() {
            self.examine_file(path, metadata.len())
        } else if kind.is_block_device() && intent == Intent::Write {
            self.examine_device(path, claims)
        } else {
            Ok(Some(Finding::WrongKind(prepare::kind_in_words(kind))))
        };
        looked.unwrap_or_else(|error| Some(Finding::Unreadable(error.to_string())))
    }

    fn examine_file(&self, path: &Path, size_bytes: u64) -> io::Result<Option<Finding>> {
        if let Some(name) = kernel_files::file_system(path)? {
            return Ok(Some(Finding::KernelFile(name)));
        }
        let identity = fathom_sys::identity::of(path)?;
        if let Some(how) = self.sight.gravest(identity) {
            return Ok(Some(in_use(how, Finding::FileInUse)));
        }
        if self.options.overwrite || size_bytes == 0 {
            return Ok(None);
        }
        let file = File::open(path)?;
        still(identity, &file)?;
        if prepare::is_ours(&file, size_bytes)? {
            return Ok(None);
        }
        Ok(contents::of_file(&file, size_bytes)?.map(Finding::FileWithData))
    }

    /// The claim comes before the look at what it holds, so that nobody can put anything there between.
    fn examine_device(&self, path: &Path, claims: &mut Claims) -> io::Result<Option<Finding>> {
        let identity = fathom_sys::identity::of(path)?;
        if let Some(how) = self.sight.gravest(identity) {
            return Ok(Some(in_use(how, Finding::DeviceInUse)));
        }
        if let std::collections::btree_map::Entry::Vacant(entry) = claims.0.entry(identity) {
            let Some(claim) = Claim::take(path)? else {
                return Ok(Some(Finding::DeviceInUse(claimed(path))));
            };
            still(identity, claim.file())?;
            entry.insert(claim);
        }
        let label = self.label(path).unwrap_or_default();
        let is_allowed = label.is_allowed_by(&self.options.allow_write);
        if !self.options.overwrite
            && let Some(claim) = claims.0.get(&identity)
            && let Some(found) = contents::of_device(claim.file())?
        {
            let more = (!is_allowed).then(|| label.option());
            return Ok(Some(Finding::DeviceWithData(found, more)));
        }
        Ok((!is_allowed).then_some(Finding::NeedsLeave(label)))
    }

    fn label(&self, path: &Path) -> Option<DeviceLabel> {
        match self.machine.identity(path)? {
            Identity::Device(number) => {
                Some(token::label(self.machine, &self.sight.blocks, number))
            }
            Identity::File(file) => {
                let is_real = self.sight.blocks.directory(file.device).is_some();
                is_real.then(|| token::label(self.machine, &self.sight.blocks, file.device))
            }
            Identity::Other => None,
        }
    }

    /// What could not be seen, as sentences.
    fn unseen(&self) -> Vec<String> {
        let mut unseen = Vec::new();
        let hidden = self.sight.hidden_processes();
        if hidden > 0 {
            unseen.push(format!(
                "The open files of {hidden} processes of other accounts cannot be seen: run it as root \
                 to know that none of them writes to a target."
            ));
        }
        if let Err(reason) = blkid::library() {
            unseen.push(format!(
                "libblkid is not here ({reason}): signatures are looked up in the built-in table alone."
            ));
        }
        unseen
    }
}

/// Fails if what was opened is not what the path led to before.
fn still(identity: Identity, opened: &File) -> io::Result<()> {
    if fathom_sys::identity::of_open(opened)? == identity {
        return Ok(());
    }
    Err(io::Error::other("it was replaced while it was looked at"))
}

fn in_use(how: Use, otherwise: fn(Use) -> Finding) -> Finding {
    match how {
        Use::Protected(_) => Finding::Protected(how),
        _ => otherwise(how),
    }
}

/// Who holds a device that the system names no user of. What it holds may tell.
fn claimed(path: &Path) -> Use {
    let found = File::open(path).and_then(|device| contents::of_device(&device));
    let more = match found {
        Ok(Some(found)) => format!("; it looks like {found}"),
        _ => String::new(),
    };
    Use::Claimed(format!("the kernel or another program has claimed it{more}"))
}
