//! Nothing of value is written over: asked of every target before any is opened for writing.
//!
//! Data that look like somebody's are written over only with `--overwrite`, and a device only if it is
//! named by what is written on it (`--allow-write`). What is in use is never written to, whatever is
//! given: there is no test for which that would be meant. docs/data-safety.md tells what is found how.

pub(crate) mod blocks;
mod checked;
mod contents;
mod finding;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod machine;
pub(crate) mod mounts;
mod reach;
#[cfg(test)]
mod tests;
mod token;
#[cfg(test)]
mod tree_tests;
mod uses;
mod writers;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use fathom_sys::blkid;
use fathom_sys::held::Held;
use fathom_sys::holders::Claim;
use fathom_sys::identity::Identity;
use fathom_sys::kernel_files;

use super::{EngineKind, FilePlan, Plan, SpanPlan, TargetKind};
use super::{limits, prepare};
use crate::attend::within;
use crate::measure::EventSink;
use crate::profile::RunOptions;
pub use checked::{Checked, Found, Place};
pub(in crate::plan) use checked::{MadeFile, folder_of, real_path};
pub use finding::{Finding, Refusal, Refusals};
use machine::Machine;
pub use token::DeviceLabel;
use uses::Sight;
pub use uses::Use;

/// Permission to write: what was checked, and the claims on all block devices, held as long as this is kept.
#[must_use = "nobody else is kept off the devices once this is dropped"]
#[derive(Debug)]
pub struct WriteGrant {
    /// Kept and not looked at: a claim ends when it is dropped.
    _claims: Vec<Claim>,
    /// What each path led to, held.
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
pub fn check(
    plan: &Plan,
    options: &RunOptions,
    sink: EventSink<'_>,
) -> Result<WriteGrant, Refusals> {
    let machine = Machine::this();
    let intents = intents(plan);
    let (mut checked, mut claims) = (Checked::with_descriptors(spare(plan)), Claims::default());
    let found = look(&mut checked, &intents, sink);
    let guard = Guard::new(&machine, &found, options, sink);
    let refuse = |target: &Target<'_>| {
        let doing = format!("look at what '{}' holds", target.path.display());
        let finding = within(sink, doing, || guard.examine(target, &mut claims));
        Some(Refusal { target: target.path.to_owned(), finding: finding? })
    };
    let refusals: Vec<Refusal> = found.iter().filter_map(refuse).collect();
    let grant = WriteGrant { _claims: claims.0.into_values().collect(), checked };
    if refusals.is_empty() { Ok(grant) } else { Err(Refusals(refusals)) }
}

/// What [`check`] would say now, of each path; all claims are given back at once.
#[must_use]
pub fn judge(plan: &Plan, options: &RunOptions) -> Judgement {
    let machine = Machine::this();
    let intents = intents(plan);
    let (mut checked, mut claims) = (Checked::with_descriptors(spare(plan)), Claims::default());
    let found = look(&mut checked, &intents, &|_| {});
    let guard = Guard::new(&machine, &found, options, &|_| {});
    let verdicts = found.iter().map(|target| {
        let finding = guard.examine(target, &mut claims);
        let label = target.identity().and_then(|identity| guard.label(identity));
        (target.path.to_owned(), Verdict { finding, label })
    });
    Judgement { verdicts: verdicts.collect(), unseen: guard.unseen(&checked) }
}

/// The label of the device that a path leads to, or that the file behind it lies on; none if that cannot
/// be told.
#[must_use]
pub fn label_of(path: &Path) -> Option<DeviceLabel> {
    let (machine, options) = (Machine::this(), RunOptions::default());
    let identity = machine.identity(path)?;
    Guard::new(&machine, &[], &options, &|_| {}).label(identity)
}

/// Something that would be written, held.
struct Target<'a> {
    path: &'a Path,
    intent: Intent,
    found: Found,
}

impl Target<'_> {
    fn identity(&self) -> Option<Identity> {
        match &self.found {
            Found::There(held) => Some(held.identity()),
            _ => None,
        }
    }
}

/// Takes hold of all paths before anything else is asked: what is put there later is not looked at.
fn look<'a>(
    checked: &mut Checked,
    intents: &'a BTreeMap<PathBuf, Intent>,
    sink: EventSink<'_>,
) -> Vec<Target<'a>> {
    let mut take = |(path, intent): (&'a PathBuf, &Intent)| {
        let doing = format!("look at '{}'", path.display());
        let found = within(sink, doing, || checked.look(path));
        Target { path, intent: *intent, found }
    };
    intents.iter().map(&mut take).collect()
}

/// How many descriptors may be kept beside those that the plan opens; nothing if that cannot be told.
fn spare(plan: &Plan) -> Option<u64> {
    let limit = fathom_sys::limits::raise_open_files().ok()?;
    let open = fathom_sys::limits::open_files().ok()?;
    Some(limits::spare(plan, limit.saturating_sub(open)))
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
        found: &[Target<'_>],
        options: &'a RunOptions,
        sink: EventSink<'_>,
    ) -> Self {
        let identities = found.iter().filter_map(Target::identity);
        let targets: Vec<Identity> = identities.filter(|one| *one != Identity::Other).collect();
        // What other processes have open is looked at, and may hang like any target.
        let sight = within(sink, "look who uses the targets".to_owned(), || {
            Sight::of(machine, &targets, &options.protect)
        });
        Self { machine, sight, options }
    }

    /// What speaks against writing to a target. All that is asked is asked of what is held.
    fn examine(&self, target: &Target<'_>, claims: &mut Claims) -> Option<Finding> {
        let held = match &target.found {
            // What is not there cannot be lost.
            Found::Nothing(_) => return None,
            Found::Unreadable(_, why) => return Some(Finding::Unreadable(why.clone())),
            Found::There(held) => held,
        };
        let looked = held.metadata(target.path).and_then(|metadata| {
            let kind = metadata.file_type();
            if kind.is_file() {
                self.examine_file(held, target.path, metadata.len())
            } else if kind.is_block_device() && target.intent == Intent::Write {
                self.examine_device(held, target.path, claims)
            } else {
                Ok(Some(Finding::WrongKind(prepare::kind_in_words(kind))))
            }
        });
        looked.unwrap_or_else(|error| Some(Finding::Unreadable(error.to_string())))
    }

    fn examine_file(
        &self,
        held: &Held,
        path: &Path,
        size_bytes: u64,
    ) -> io::Result<Option<Finding>> {
        if let Some(name) = kernel_files::file_system(held, path)? {
            return Ok(Some(Finding::KernelFile(name)));
        }
        if let Some(how) = self.sight.gravest(held.identity()) {
            return Ok(Some(in_use(how, Finding::FileInUse)));
        }
        if self.options.overwrite || size_bytes == 0 {
            return Ok(None);
        }
        examine_content(&held.open_to_read(path)?)
    }

    /// The claim comes before the look at what it holds, so that nobody can put anything there between.
    fn examine_device(
        &self,
        held: &Held,
        path: &Path,
        claims: &mut Claims,
    ) -> io::Result<Option<Finding>> {
        let identity = held.identity();
        if let Some(how) = self.sight.gravest(identity) {
            return Ok(Some(in_use(how, Finding::DeviceInUse)));
        }
        if let std::collections::btree_map::Entry::Vacant(entry) = claims.0.entry(identity) {
            let Some(claim) = Claim::take(held, path)? else {
                return Ok(Some(Finding::DeviceInUse(claimed(held, path))));
            };
            entry.insert(claim);
        }
        let label = self.label(identity).unwrap_or_default();
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

    fn label(&self, identity: Identity) -> Option<DeviceLabel> {
        match identity {
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
    fn unseen(&self, checked: &Checked) -> Vec<String> {
        let mut unseen = Vec::new();
        let hidden = self.sight.hidden_processes();
        if hidden > 0 {
            unseen.push(format!(
                "The open files of {hidden} processes of other accounts cannot be seen: run it as root \
                 to know that none of them writes to a target."
            ));
        }
        let bare = checked.without_descriptor();
        if bare > 0 {
            unseen.push(format!(
                "The limit of open files is too low to hold {bare} of the targets: they are told from others \
                 by inode and time of birth alone. Raise the hard limit (ulimit -Hn)."
            ));
        }
        if let Err(reason) = blkid::library() {
            unseen.push(format!(
                "libblkid is not here ({reason}): signatures are looked up in the built-in \
                 table alone, and a device passes only if both ends of it are zeros."
            ));
        }
        unseen
    }
}

/// What a file holds that nobody uses. It is open for reading, and is the one that will be written.
fn examine_content(file: &File) -> io::Result<Option<Finding>> {
    let size_bytes = file.metadata()?.len();
    if prepare::is_ours(file, size_bytes)? {
        return Ok(None);
    }
    Ok(contents::of_file(file, size_bytes)?.map(Finding::FileWithData))
}

fn in_use(how: Use, otherwise: fn(Use) -> Finding) -> Finding {
    match how {
        Use::Protected(_) => Finding::Protected(how),
        _ => otherwise(how),
    }
}

/// Who holds a device that the system names no user of. What it holds may tell.
fn claimed(held: &Held, path: &Path) -> Use {
    let found = held.open_to_read(path).and_then(|device| contents::of_device(&device));
    let more = match found {
        Ok(Some(found)) => format!("; it looks like {found}"),
        _ => String::new(),
    };
    Use::Claimed(format!("the kernel or another program has claimed it{more}"))
}
