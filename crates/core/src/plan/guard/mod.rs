//! Nothing of value is written over: asked of every target before any is opened for writing.
//!
//! Data that look like somebody's are written over only with `--overwrite`. A device that is in
//! use is never written to, whatever is given: there is no test for which that would be meant.

mod device;
#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::prepare;
use super::signature::{self, Recognised, Samples};
use super::{EngineKind, FilePlan, Plan, SpanPlan, TargetKind};
use crate::profile::RunOptions;

/// Why nothing was opened for writing: every target in question, not only the first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", in_lines(.0))]
pub struct Refusals(pub Vec<Refusal>);

/// Why one target is not written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The path as it was given.
    pub target: PathBuf,
    /// What was found there.
    pub finding: Finding,
}

/// What was found in place of something that may be written over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// A file with data that look like somebody's.
    FileWithData(Recognised),
    /// A device with data that look like somebody's.
    DeviceWithData(Recognised),
    /// A device that somebody uses; how, in words.
    DeviceInUse(String),
    /// Something that a test cannot write to; its kind, with article.
    WrongKind(&'static str),
    /// Something that could not be looked at; why, in words.
    Unreadable(String),
}

impl Refusal {
    /// What to do about it, as one clause.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self.finding {
            Finding::FileWithData(_) => {
                "name another file, or give --overwrite if its data may be lost"
            }
            Finding::DeviceWithData(_) => {
                "name another device, or give --overwrite if all data on it may be lost"
            }
            Finding::DeviceInUse(_) => {
                "release the device first, or name another; no option overrides this"
            }
            Finding::WrongKind(_) => "name a regular file or a block device",
            Finding::Unreadable(_) => {
                "use an account that may read it, so that its data are known to be safe"
            }
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FileWithData(found) => {
                write!(out, "the file looks like {found}, and this run would write over it")
            }
            Self::DeviceWithData(found) => {
                write!(out, "the device looks like {found}, and this run would write over it")
            }
            Self::DeviceInUse(how) => write!(out, "the device is in use: {how}"),
            Self::WrongKind(kind) => write!(out, "it is {kind}, and this run would write to it"),
            Self::Unreadable(why) => {
                write!(out, "it cannot be examined before it is written: {why}")
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}; {}", self.target.display(), self.finding, self.remedy())
    }
}

fn in_lines(refusals: &[Refusal]) -> String {
    refusals.iter().map(Refusal::to_string).collect::<Vec<_>>().join("\n")
}

/// Checks every target that `plan` would write to or create; those that are only read pass.
pub fn check(plan: &Plan, options: &RunOptions) -> Result<(), Refusals> {
    let refuse = |(path, intent): (&PathBuf, &Intent)| {
        let finding = examine(path, *intent, options.overwrite)?;
        Some(Refusal { target: path.clone(), finding })
    };
    let refusals: Vec<Refusal> = intents(plan).iter().filter_map(refuse).collect();
    if refusals.is_empty() { Ok(()) } else { Err(Refusals(refusals)) }
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
    let written = span.targets.iter().enumerate().filter(|(index, target)| {
        (target.write_percent > 0 || target.open.write)
            && target.kind != TargetKind::Virtual
            && !is_untouched(span, *index)
    });
    written.map(|(_, target)| target.path.clone())
}

/// Whether only null engines use a target: these complete at once and touch nothing.
pub(crate) fn is_untouched(span: &SpanPlan, target: usize) -> bool {
    let has_use = |thread: &&super::ThreadPlan| {
        thread.assignments.iter().any(|use_of| use_of.target == target)
    };
    let mut threads = span.threads.iter().filter(has_use).peekable();
    threads.peek().is_some() && threads.all(|thread| thread.engine == EngineKind::Null)
}

/// What speaks against writing to `path`; symbolic links are followed to the object itself.
fn examine(path: &Path, intent: Intent, overwrite: bool) -> Option<Finding> {
    let metadata = match fs::metadata(path) {
        // What is not there cannot be lost.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some(Finding::Unreadable(error.to_string())),
        Ok(metadata) => metadata,
    };
    let kind = metadata.file_type();
    if kind.is_file() {
        examine_file(path, metadata.len(), overwrite)
    } else if kind.is_block_device() && intent == Intent::Write {
        examine_device(path, &metadata, overwrite)
    } else {
        Some(Finding::WrongKind(prepare::kind_in_words(kind)))
    }
}

fn examine_file(path: &Path, size_bytes: u64, overwrite: bool) -> Option<Finding> {
    if overwrite || size_bytes == 0 {
        return None;
    }
    match data_of_file(path, size_bytes) {
        Ok(found) => found.map(Finding::FileWithData),
        Err(error) => Some(Finding::Unreadable(error.to_string())),
    }
}

fn data_of_file(path: &Path, size_bytes: u64) -> io::Result<Option<Recognised>> {
    let file = File::open(path)?;
    if prepare::is_ours(&file, size_bytes)? {
        return Ok(None);
    }
    Ok(signature::recognise(&Samples::read(&file, size_bytes)?))
}

fn examine_device(path: &Path, metadata: &fs::Metadata, overwrite: bool) -> Option<Finding> {
    match device::use_in_words(path, metadata) {
        Ok(Some(how)) => return Some(Finding::DeviceInUse(how)),
        Ok(None) if overwrite => return None,
        Ok(None) => {}
        Err(error) => return Some(Finding::Unreadable(error.to_string())),
    }
    match data_of_device(path) {
        Ok(found) => found.map(Finding::DeviceWithData),
        Err(error) => Some(Finding::Unreadable(error.to_string())),
    }
}

fn data_of_device(path: &Path) -> io::Result<Option<Recognised>> {
    let mut device = File::open(path)?;
    let size_bytes = device.seek(SeekFrom::End(0))?;
    Ok(signature::recognise(&Samples::read(&device, size_bytes)?))
}
