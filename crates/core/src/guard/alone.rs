//! Whether nobody else has written to a file since it was looked at.
//!
//! Two things tell it together, and neither costs anything per I/O. The kernel notes whoever closes a file
//! that was open for writing (`sys/watch.rs`); and by a lease it tells whether somebody still has it open
//! so, by a mapping or a descriptor on its way too (`sys/lease.rs`). Where one of them is not to be had, or
//! others reach the file on ways that are not seen from here, nothing is vouched for; whether it was changed
//! is then told by its state: length, and the time of the last change of its data.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fathom_sys::file_state::{self, COARSE_NS, FileState, TICK_NS, clock_ns};
use fathom_sys::identity::{self, Identity};
use fathom_sys::kernel_files;
use fathom_sys::lease::{self, Writers};
use fathom_sys::watch::{Deed, Handle, Watch};

use super::Guard;
use super::layers::Layer;

/// How often in all, and how long each time, it is waited for this process to have a file open no more: the
/// kernel closes some files behind it.
const PAUSES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(2);
/// Behind it, the time of the last change is older than a tick.
const SETTLING: Duration = Duration::from_millis(12);

/// The files that a run may write, watched.
#[derive(Debug, Default)]
pub struct Alone {
    watch: Option<Watch>,
    files: Mutex<BTreeMap<Identity, Watched>>,
    /// The state in which each file was when it was looked at, or when this run was done with it.
    states: Mutex<BTreeMap<Identity, Stood>>,
    /// What stands for a file in other layers of an overlay.
    layers: Mutex<BTreeMap<Identity, Vec<Layer>>>,
    pauses: AtomicU32,
}

/// The state of a file, when it was looked at.
#[derive(Debug, Clone, Copy)]
struct Stood {
    state: FileState,
    at_ns: i64,
}

impl Stood {
    fn now(file: &File) -> Option<Self> {
        let state = file_state::of(file).ok()?;
        Some(Self { state, at_ns: clock_ns() })
    }

    /// Whether a file is as it was, and a change would show. What was changed within the last tick before
    /// the look may have been changed again behind it, with the same time.
    fn is_now(&self, file: &File) -> bool {
        let FileState { inode, born_ns, size_bytes, modified_ns, .. } = self.state;
        let is_same = |now: FileState| {
            (now.inode, now.born_ns, now.size_bytes, now.modified_ns)
                == (inode, born_ns, size_bytes, modified_ns)
        };
        self.at_ns - modified_ns > TICK_NS
            && modified_ns % COARSE_NS != 0
            && file_state::of(file).is_ok_and(is_same)
    }
}

#[derive(Debug)]
struct Watched {
    handle: Handle,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nobody has looked yet.
    Unknown,
    /// At one instant nobody else had it open for writing, and nobody has written to it since.
    Clean,
    /// Others may have written to it since.
    Touched,
}

impl Alone {
    /// A watch over nothing yet. Where there is none, nothing will be vouched for.
    pub(super) fn new() -> Self {
        Self { watch: Watch::new().ok(), ..Self::default() }
    }

    /// Watches a file from now on.
    pub(crate) fn add(&self, file: &File) {
        self.note_state(file);
        let Some(watch) = &self.watch else { return };
        let is_file = file.metadata().is_ok_and(|found| found.is_file());
        // Others reach these on ways that the watch does not see.
        if !is_file || kernel_files::is_reached_by_others(file) {
            return;
        }
        if let (Ok(identity), Ok(handle)) = (identity::of_open(file), watch.add(file)) {
            let watched = Watched { handle, state: State::Unknown };
            self.files().entry(identity).or_insert(watched);
        }
    }

    /// Notes the state in which a file is, which has just been looked at.
    fn note_state(&self, file: &File) {
        if let (Ok(identity), Some(stood)) = (identity::of_open(file), Stood::now(file)) {
            lock(&self.states).insert(identity, stood);
        }
    }

    /// Takes note of files that this run has written to, and is done with for now: what is changed from now
    /// on was changed by others. Those of which the kernel takes notes need no time for that.
    pub(crate) fn settle<'a>(&self, files: impl Iterator<Item = &'a File>) {
        let is_unknown = |file: &&File| {
            identity::of_open(file).is_ok_and(|one| self.state(one) == State::Unknown)
        };
        let files: Vec<&File> = files.filter(is_unknown).collect();
        if !files.is_empty() {
            std::thread::sleep(SETTLING);
            for file in files {
                self.note_state(file);
            }
        }
    }

    /// Notes what stands for a file in other layers.
    fn note_layers(&self, file: Identity, layers: &[Layer]) {
        lock(&self.layers).insert(file, layers.to_vec());
    }

    pub(super) fn layers_of(&self, file: Identity) -> Vec<Layer> {
        lock(&self.layers).get(&file).cloned().unwrap_or_default()
    }

    /// From now on it counts what others do to a file: nobody else has it open for writing now.
    pub(crate) fn begin(&self, file: Identity) {
        self.take_notes();
        if let Some(watched) = self.files().get_mut(&file) {
            watched.state = State::Clean;
        }
    }

    /// Whether others may have written to a file since [`Alone::begin`].
    pub(crate) fn is_touched(&self, file: Identity) -> bool {
        self.state(file) == State::Touched
    }

    /// Whether others may have written to a file that is open, since it was looked at.
    pub(crate) fn may_be_touched(&self, file: &File) -> bool {
        let Ok(identity) = identity::of_open(file) else { return true };
        match self.state(identity) {
            State::Clean => false,
            State::Touched => true,
            State::Unknown => {
                let stood = lock(&self.states).get(&identity).copied();
                stood.is_none_or(|stood| !stood.is_now(file))
            }
        }
    }

    /// Whether it is certain that nobody else has written to `file`, which is open for reading, and that
    /// nobody can without opening it again. Whoever of this process has it open for writing counts, too.
    pub(crate) fn is_alone(&self, file: &File) -> bool {
        self.is_clean(file, |file| self.is_free(file))
    }

    /// The same of `file` that is open for writing here, by this descriptor alone; nobody may have it open
    /// for reading either.
    pub(crate) fn is_alone_writing(&self, file: &File) -> bool {
        self.is_clean(file, lease::is_open_here_alone)
    }

    fn is_clean(&self, file: &File, is_free: impl FnOnce(&File) -> bool) -> bool {
        let Ok(identity) = identity::of_open(file) else { return false };
        // The kernel notes that a file is closed before it counts it as closed.
        self.state(identity) == State::Clean
            && is_free(file)
            && self.state(identity) == State::Clean
    }

    /// Whether nobody at all has a file open for writing.
    fn is_free(&self, file: &File) -> bool {
        loop {
            match lease::writers(file) {
                Writers::None => return true,
                Writers::Some if self.pauses.fetch_add(1, Ordering::Relaxed) < PAUSES => {
                    std::thread::sleep(PAUSE);
                }
                _ => return false,
            }
        }
    }

    fn state(&self, file: Identity) -> State {
        self.take_notes();
        self.files().get(&file).map_or(State::Unknown, |watched| watched.state)
    }

    fn take_notes(&self) {
        let Some(watch) = &self.watch else { return };
        let deeds = watch.deeds_of_others().unwrap_or_else(|_| vec![Deed::unknown()]);
        let mut files = self.files();
        for deed in deeds.iter().filter(|deed| deed.was_closed) {
            let is_meant = |watched: &&mut Watched| {
                deed.file.as_ref().is_none_or(|one| *one == watched.handle)
            };
            for watched in files.values_mut().filter(is_meant) {
                watched.state = State::Touched;
            }
        }
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<Identity, Watched>> {
        lock(&self.files)
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Guard<'_> {
    /// Watches a file before anything is asked of it, where it will be written.
    pub(super) fn watch(&self, identity: Identity, file: Option<&File>) {
        let Some(alone) = &self.alone else { return };
        if let Some(found) = self.layers.get(&identity) {
            alone.note_layers(identity, &found.layers);
        }
        if let Some(file) = file {
            alone.add(file);
        }
    }

    /// Nobody has a file open for writing now: from now on it is known whether others write to it, unless it
    /// stands for one in another layer of an overlay.
    pub(super) fn vouch_from_now_on(&self, file: Identity) {
        let has_one_name = |layered: &super::Layered| layered.layers.is_empty();
        if let Some(alone) = &self.alone
            && self.layers.get(&file).is_none_or(has_one_name)
        {
            alone.begin(file);
        }
    }
}
