//! A file of somebody's becomes a scratch file, because a person has said so.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use fathom_sys::file_state::{self, FileState};
use fathom_sys::identity;
use fathom_sys::lease::{self, Writers};
use fathom_sys::watch::{Handle, Watch};

use super::mark::{self, Mark};
use crate::guard::{self, Finding, Refusal, Refusals};
use crate::plan::Plan;
use crate::request::Permission;

/// A file as a person was shown it, held open and watched until they have decided.
#[derive(Debug)]
pub struct Seen {
    file: File,
    state: FileState,
    /// None where the kernel keeps no such notes: then its state alone tells.
    watch: Option<(Watch, Handle)>,
}

impl Seen {
    /// Looks at the file of this name; what is shown of it is to be read after this call.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn look(path: &Path) -> io::Result<Self> {
        if !path.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let file = File::open(path)?;
        let watch = Watch::new().and_then(|watch| watch.add(&file).map(|handle| (watch, handle)));
        // Whoever changes it from now on leaves another time than who changed it before.
        mark::let_time_pass();
        let state = file_state::of(&file)?;
        Ok(Self { file, state, watch: watch.ok() })
    }

    /// Whether `file` is the one that was seen, and nobody has changed anything of it since.
    fn is_still(&self, file: &File) -> io::Result<bool> {
        Ok(file_state::of(file)?.changed_ns == self.state.changed_ns && self.has_its_data(file)?)
    }

    /// The same, but for what is kept beside the data, such as our mark.
    fn has_its_data(&self, file: &File) -> io::Result<bool> {
        let now = FileState { changed_ns: self.state.changed_ns, ..file_state::of(file)? };
        let is_it = identity::of_open(file)? == identity::of_open(&self.file)?;
        Ok(is_it && now == self.state && !self.was_written())
    }

    fn was_written(&self) -> bool {
        let Some((watch, handle)) = &self.watch else { return false };
        let is_it = |file: Option<&Handle>| file.is_none_or(|file| file == handle);
        // Without the notes nothing is known.
        watch.deeds_of_others().map_or(true, |deeds| {
            deeds.iter().any(|deed| deed.was_closed && is_it(deed.file.as_ref()))
        })
    }
}

/// Marks each file that `plan` would write as one whose data may be lost, in the state in which it is; not a
/// byte of it is written. What is in use, protected or no file is refused, and then none is marked. So
/// is what has changed since it was `seen`.
///
/// # Errors
/// If one of them cannot be marked.
pub fn adopt(plan: &Plan, permission: &Permission, seen: &Seen) -> Result<(), Refusals> {
    let verdicts = guard::judge(plan, permission, &|_| {}).verdicts;
    let refuse = |(path, verdict): (_, guard::Verdict)| match verdict.finding {
        None | Some(Finding::FileWithData(_) | Finding::FileUntold) => None,
        Some(finding) => Some(Refusal { target: path, finding }),
    };
    let paths: Vec<_> = verdicts.keys().cloned().collect();
    let refusals: Vec<Refusal> = verdicts.into_iter().filter_map(refuse).collect();
    if !refusals.is_empty() {
        return Err(Refusals(refusals));
    }
    mark::let_time_pass();
    let adopted: Vec<_> = paths.iter().map(|path| (path, adopt_one(path, seen))).collect();
    mark::let_time_pass();
    let refuse = |(path, adopted): (&PathBuf, io::Result<_>)| {
        let error = adopted.and_then(|(file, left)| confirm(&file, left, seen)).err()?;
        Some(Refusal { target: path.clone(), finding: Finding::NotMarked(error.to_string()) })
    };
    let failed: Vec<Refusal> = adopted.into_iter().filter_map(refuse).collect();
    if failed.is_empty() { Ok(()) } else { Err(Refusals(failed)) }
}

fn changed() -> io::Error {
    io::Error::other("it was changed or replaced after it was shown: look again")
}

/// Marks a file, and gives the state behind that.
fn adopt_one(path: &Path, seen: &Seen) -> io::Result<(File, FileState)> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() || identity::of_open(&file)? != identity::of(path)? {
        return Err(io::Error::other("it is not a regular file, or was replaced just now"));
    }
    if !seen.is_still(&file)? {
        return Err(changed());
    }
    mark::try_to_set(&file)?;
    let mark = Mark::adopted();
    mark.set(&file);
    let left = file_state::of(&file)?;
    if lease::writers(&file) == Writers::Some {
        mark.note(&file);
        return Err(io::Error::other("somebody has just opened it for writing"));
    }
    if !seen.has_its_data(&file)? {
        mark.note(&file);
        return Err(changed());
    }
    if Mark::of(&file).holds(&file)? {
        return Ok((file, left));
    }
    Err(io::Error::other("the time stamps of its file system are coarse"))
}

/// Fails if anybody has changed the file since it was marked, however soon.
fn confirm(file: &File, left: FileState, seen: &Seen) -> io::Result<()> {
    if file_state::of(file)? == left && seen.has_its_data(file)? {
        return Ok(());
    }
    Mark::of(file).note(file);
    Err(changed())
}
