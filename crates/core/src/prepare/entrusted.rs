//! Files of ours that another program writes on our behalf, and who else writes to them meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use fathom_sys::kernel_files;
use fathom_sys::lease::{self, Writers};
use fathom_sys::watch::{Deed, Handle, Watch};

use super::mark::{self, Mark};

/// How often the end of the look is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long the program's files may still be open behind its end.
const TRIES: u32 = 50;

/// Files with a mark of ours, watched while another program writes them.
#[derive(Debug)]
pub struct Entrusted {
    files: Vec<(File, Handle)>,
    watch: Arc<Watch>,
    is_over: Arc<AtomicBool>,
    noting: Option<JoinHandle<Notes>>,
}

/// The files that others have written, each with the session (`setsid(2)`) of who did it: 0 if nothing is
/// known of who did, and no file for all of them.
type Notes = BTreeSet<(Option<Handle>, u32)>;

impl Entrusted {
    /// Watches those of the files that are ours in the state in which they are; of the others nothing will
    /// be vouched for.
    ///
    /// # Errors
    /// If there is no watch here.
    pub fn begin(paths: &[PathBuf]) -> io::Result<Self> {
        let watch = Arc::new(Watch::new()?);
        let files = paths.iter().filter_map(|path| watched(path, &watch)).collect();
        let is_over = Arc::new(AtomicBool::new(false));
        let noting = {
            let (watch, is_over) = (Arc::clone(&watch), Arc::clone(&is_over));
            std::thread::Builder::new().spawn(move || take_notes(&watch, &is_over))?
        };
        Ok(Self { files, watch, is_over, noting: Some(noting) })
    }

    /// Renews the marks of the files that nobody outside of `session` has written, which has ended. The
    /// others must prove by what they hold whose they are.
    pub fn end(mut self, session: u32) {
        mark::let_time_pass();
        self.is_over.store(true, Ordering::Relaxed);
        // Without the notes nothing is known.
        let Some(Ok(mut notes)) = self.noting.take().map(JoinHandle::join) else { return };
        notes.retain(|(_, by)| *by != session);
        for (file, handle) in &self.files {
            let mut mark = Mark::of(file);
            mark.written_by_another_tool();
            if self.is_untouched((file, handle), &mut notes) {
                mark.set(file);
                if !self.is_untouched((file, handle), &mut notes) {
                    mark.note(file);
                }
            }
        }
        mark::let_time_pass();
        for (file, handle) in &self.files {
            Mark::confirm(file, || self.is_untouched((file, handle), &mut notes));
        }
    }

    /// Whether nobody has the file open for writing, and nobody else has written to it.
    fn is_untouched(&self, (file, handle): (&File, &Handle), notes: &mut Notes) -> bool {
        let is_free = is_free(file);
        // Whoever wrote since the program has ended is not the program.
        let later = self.watch.deeds_of_others().unwrap_or_else(|_| vec![Deed::unknown()]);
        let later = later.into_iter().filter(|deed| deed.was_closed);
        notes.extend(later.map(|deed| (deed.file, 0)));
        is_free && !notes.iter().any(|(file, _)| file.as_ref().is_none_or(|file| file == handle))
    }
}

impl Drop for Entrusted {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// A file that is watched, if it is ours, in the state in which it was left, and nobody writes to it.
fn watched(path: &Path, watch: &Watch) -> Option<(File, Handle)> {
    let file = File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() || kernel_files::is_reached_by_others(&file) {
        return None;
    }
    let handle = watch.add(&file).ok()?;
    let is_ours = is_free(&file) && Mark::of(&file).holds(&file).ok()?;
    is_ours.then_some((file, handle))
}

fn take_notes(watch: &Watch, is_over: &AtomicBool) -> Notes {
    let (mut notes, mut sessions) = (Notes::new(), BTreeMap::new());
    loop {
        // Asked first, so that what was done until then is noted.
        let is_last = is_over.load(Ordering::Relaxed);
        watch.wait(if is_last { Duration::ZERO } else { LOOK_EVERY });
        for deed in watch.deeds_of_others().unwrap_or_else(|_| vec![Deed::unknown()]) {
            let session = session_noted(deed.pid, &mut sessions);
            if deed.was_closed {
                notes.insert((deed.file, session));
            }
        }
        if is_last {
            return notes;
        }
    }
}

/// The session of a process, as long as it was there once while it was looked at. While it opens a file
/// it is there; on a busy host it may be gone before anybody looks. Its own number is left then, which is
/// that of its session if it began one.
fn session_noted(pid: u32, sessions: &mut BTreeMap<u32, u32>) -> u32 {
    match session_of(pid) {
        Some(session) => {
            sessions.insert(pid, session);
            session
        }
        None => sessions.get(&pid).copied().unwrap_or(pid),
    }
}

fn is_free(file: &File) -> bool {
    for _ in 0..TRIES {
        if lease::writers(file) == Writers::None {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

/// The session of a process; none if it is gone or not named.
fn session_of(pid: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; then come state, parent, group and session (proc(5)).
    text.rsplit_once(')')?.1.split_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_program_that_ended_before_anybody_looked_is_still_known_by_its_number() {
        let mut sessions = BTreeMap::new();
        let mut other =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let (seen, mine) = (other.id(), session_of(std::process::id()).unwrap());
        assert_eq!(session_noted(seen, &mut sessions), mine);
        drop(other.stdin.take());
        other.wait().unwrap();
        assert_eq!(session_noted(seen, &mut sessions), mine);
        assert_eq!(session_noted(seen, &mut BTreeMap::new()), seen);
        // Of what the kernel lost nobody is known.
        assert_eq!(session_noted(Deed::unknown().pid, &mut sessions), 0);
    }
}
