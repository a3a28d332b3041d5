//! The windows of all blocks of all targets of a run, shared by its threads without a lock.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use fathom_sys::identity::{self as objects, Identity};
use fathom_sys::places::whole_path;
use fathom_sys::words::SharedWords;

use super::check::Owner;
use super::journal::{self, Head, JournalError, JournalTarget};
use super::making;
use super::origin::{ORIGIN_WORDS, Origin};
use super::stamp::identity;
use super::tally::Tally;
use super::window::Window;
use super::word;
use crate::measure::EventSink;
use crate::plan::{VerifyPlan, VerifyTarget};
use crate::storage::Location;
use crate::supervise::{Doing, within, within_steps};

/// The windows of a run.
#[derive(Debug)]
pub struct Tables {
    seed: u64,
    words: SharedWords,
    targets: Vec<Entry>,
    journal: Option<PathBuf>,
}

#[derive(Debug)]
struct Entry {
    target: VerifyTarget,
    identity: u64,
    first_word: usize,
    tally: Mutex<Tally>,
}

/// The windows of one target.
#[derive(Debug, Clone, Copy)]
pub struct TargetTable<'a> {
    words: &'a [AtomicU64],
    /// The place of the first of them in the table.
    first_place: u64,
    start_bytes: u64,
    block_bytes: u64,
    owner: Owner,
    tally: &'a Mutex<Tally>,
}

impl Tables {
    /// Windows that end with the process; nothing is written.
    pub fn in_memory(targets: &[VerifyTarget], seed: u64) -> io::Result<Self> {
        let words = SharedWords::in_memory(count(targets))?;
        for (word, place) in words.words().iter().zip(0..) {
            word.store(word::encode(Window::default(), place), Ordering::Relaxed);
        }
        let tables = Self { seed, words, targets: entries(targets), journal: None };
        for entry in &tables.targets {
            tables.store_origin(entry, [0; ORIGIN_WORDS]);
        }
        Ok(tables)
    }

    /// Windows that stand in the journal that the plan names; the file is made. What may hang is reported to
    /// `sink`. None if `stop` turns true before it is made.
    ///
    /// # Errors
    /// If the file cannot be made, or is something else that must not be lost.
    pub fn in_journal(
        plan: &VerifyPlan,
        seed: u64,
        stop: &AtomicBool,
        sink: EventSink<'_>,
    ) -> Result<Option<Self>, JournalError> {
        let doing = format!("make the journal '{}'", plan.journal.display());
        let words = within_steps(sink, doing, |step| {
            let go_on = || {
                step();
                !stop.load(Ordering::Relaxed)
            };
            check_place(plan)?;
            let words = making::create(&plan.journal, &head_of(plan, seed), &go_on)?;
            // Names can differ and still lead to one file; now that the journal is there, that shows. What
            // was there before was looked at: this one is new.
            if let Some(words) = &words
                && plan.targets.iter().any(|target| is_same_file(target, &plan.journal))
            {
                making::take_back(&plan.journal, words);
                return Err(JournalError::IsTarget(plan.journal.clone()));
            }
            Ok(words)
        })?;
        let Some(words) = words else { return Ok(None) };
        let journal = Some(plan.journal.clone());
        let tables = Self { seed, words, targets: entries(&plan.targets), journal };
        for target in &plan.targets {
            let doing = format!("look at what '{}' holds", target.name);
            within(sink, Doing::at(&target.location, doing), || {
                tables.learn(&target.location, false);
            });
        }
        Ok(Some(tables))
    }

    /// The windows of the target with this path; none if it is not verified.
    #[must_use]
    pub fn of(&self, path: &Path) -> Option<TargetTable<'_>> {
        self.words_of(path).map(|(entry, origin, words)| {
            let origin = std::array::from_fn(|index| origin[index].load(Ordering::Acquire));
            // What was damaged is not known.
            let origin = Origin::from_words(origin, entry.first_word as u64).flatten();
            TargetTable {
                words,
                first_place: entry.first_block() as u64,
                start_bytes: entry.target.start_bytes,
                block_bytes: u64::from(entry.target.block_bytes),
                owner: Owner { target: entry.identity, seed: self.seed, origin },
                tally: &entry.tally,
            }
        })
    }

    /// The entry of a target, the words of its origin, and those of its blocks.
    fn words_of(&self, path: &Path) -> Option<(&Entry, &[AtomicU64], &[AtomicU64])> {
        let entry = self.targets.iter().find(|entry| entry.target.path() == path)?;
        let words = &self.words.words()[entry.first_word..entry.first_word + entry.words()];
        let (origin, blocks) = words.split_at(ORIGIN_WORDS);
        Some((entry, origin, blocks))
    }

    /// Looks what a file that nobody has written in this run was made with; `is_whole` if this run has made
    /// it. A file that cannot be looked at is one of which nothing is known.
    pub fn learn(&self, location: &Location, is_whole: bool) {
        let origin = location.storage().origin(is_whole);
        if let Some((entry, ..)) = self.words_of(location.path()) {
            self.store_origin(entry, Origin::to_words(origin, entry.first_word as u64));
        }
    }

    /// While it is stored, it counts as unknown.
    fn store_origin(&self, entry: &Entry, origin: [u64; ORIGIN_WORDS]) {
        let words = &self.words.words()[entry.first_word..entry.first_block()];
        let (check, bare) = (&words[ORIGIN_WORDS - 1], &words[..ORIGIN_WORDS - 1]);
        check.store(0, Ordering::Release);
        for (word, value) in bare.iter().zip(origin) {
            word.store(value, Ordering::Release);
        }
        check.store(origin[ORIGIN_WORDS - 1], Ordering::Release);
    }

    /// Forgets what was written to a target, because its file was made again.
    pub fn forget(&self, path: &Path) {
        let Some((entry, _, blocks)) = self.words_of(path) else { return };
        for (word, place) in blocks.iter().zip(entry.first_block() as u64..) {
            word.store(word::encode(Window::default(), place), Ordering::Release);
        }
    }

    /// The targets and what reads of each have found so far.
    pub fn tallies(&self) -> impl Iterator<Item = (&VerifyTarget, Tally)> {
        let tally = |entry: &Entry| lock(&entry.tally).clone();
        self.targets.iter().map(move |entry| (&entry.target, tally(entry)))
    }

    /// The file that holds the windows, if there is one.
    #[must_use]
    pub fn journal(&self) -> Option<&Path> {
        self.journal.as_deref()
    }

    /// Says in the journal that the run has ended, and puts all of it on stable storage.
    pub fn close(&self) -> Result<(), JournalError> {
        match &self.journal {
            Some(path) => journal::close(path, &self.words),
            None => Ok(()),
        }
    }
}

/// The identity of the target with this path.
#[must_use]
pub fn identity_of(path: &Path) -> u64 {
    identity(path.as_os_str().as_encoded_bytes())
}

/// What the making of the journal would find in its place: whether an earlier one is written over. Nothing is
/// made or changed.
///
/// # Errors
/// If the run would be refused, or fail, for what stands there.
pub(crate) fn foresee(plan: &VerifyPlan) -> Result<bool, JournalError> {
    check_place(plan)?;
    making::foresee(&plan.journal, &head_of(plan, 0))
}

/// What the journal of a run is about.
fn head_of(plan: &VerifyPlan, seed: u64) -> Head {
    let targets = plan.targets.iter().map(|target| JournalTarget {
        name: target.name.clone(),
        path: target.path().to_string_lossy().into_owned(),
        identity: identity_of(target.path()),
        block_bytes: target.block_bytes,
        start_bytes: target.start_bytes,
        blocks: target.blocks(),
    });
    Head { seed, targets: targets.collect() }
}

/// Refuses the place of a target, also of one that is not made yet: nothing of it may be changed.
fn check_place(plan: &VerifyPlan) -> Result<(), JournalError> {
    if plan.targets.iter().any(|target| is_same_file(target, &plan.journal)) {
        return Err(JournalError::IsTarget(plan.journal.clone()));
    }
    Ok(())
}

/// Whether both lead to one file, by whatever name, or to one place where there is none yet.
fn is_same_file(target: &VerifyTarget, other: &Path) -> bool {
    let Some(path) = target.location.local() else { return false };
    let is_one = |one: Identity| one != Identity::Other && objects::of(other).ok() == Some(one);
    whole_path(path).is_some_and(|one| whole_path(other) == Some(one))
        || objects::of(path).is_ok_and(is_one)
}

/// Words of one target.
fn words(target: &VerifyTarget) -> usize {
    usize::try_from(target.blocks()).unwrap_or(usize::MAX).saturating_add(ORIGIN_WORDS)
}

fn count(targets: &[VerifyTarget]) -> usize {
    targets.iter().map(words).fold(0, usize::saturating_add)
}

impl Entry {
    /// Where the words of its blocks begin.
    fn first_block(&self) -> usize {
        self.first_word + ORIGIN_WORDS
    }

    fn words(&self) -> usize {
        words(&self.target)
    }
}

fn entries(targets: &[VerifyTarget]) -> Vec<Entry> {
    let mut next = 0;
    let entry = |target: &VerifyTarget| {
        let first_word = next;
        next += words(target);
        let identity = identity_of(target.path());
        Entry { target: target.clone(), identity, first_word, tally: Mutex::default() }
    };
    targets.iter().map(entry).collect()
}

fn lock(tally: &Mutex<Tally>) -> std::sync::MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TargetTable<'_> {
    /// Bytes of a block.
    #[inline]
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        usize::try_from(self.block_bytes).unwrap_or(usize::MAX)
    }

    /// Whose stamps stand in this target.
    #[inline]
    #[must_use]
    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// The word of a block, and its place in the table.
    #[inline]
    fn word(&self, offset_bytes: u64) -> (&AtomicU64, u64) {
        let index = (offset_bytes - self.start_bytes) / self.block_bytes;
        (&self.words[usize::try_from(index).unwrap_or(usize::MAX)], self.first_place + index)
    }

    /// The window of the block at this offset; [`Window::DAMAGED`] if its word is.
    #[inline]
    #[must_use]
    pub fn window(&self, offset_bytes: u64) -> Window {
        let (word, place) = self.word(offset_bytes);
        word::decode(word.load(Ordering::Acquire), place)
    }

    /// A write of the block at this offset is about to be issued; its generation. From now on the journal
    /// says that it may have reached the target.
    #[inline]
    #[must_use]
    pub fn begin_write(&self, offset_bytes: u64) -> u64 {
        let (word, place) = self.word(offset_bytes);
        let begin = |before| Some(word::step(before, place, Window::begin));
        let before = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, begin);
        match before.map(|before| word::decode(before, place)) {
            Ok(before) if before != Window::DAMAGED => before.begin().newest(),
            // Nobody can tell what this write must be; nor is it asked any more.
            _ => 1,
        }
    }

    /// A write of the block at this offset has completed.
    #[inline]
    pub fn end_write(&self, offset_bytes: u64) {
        let (word, place) = self.word(offset_bytes);
        let end = |before| Some(word::step(before, place, Window::end));
        let _ = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, end);
    }

    /// Adds what one thread found.
    pub fn hand_over(&self, tally: &Tally) {
        lock(self.tally).merge(tally);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(path: &str, start_bytes: u64, end_bytes: u64) -> VerifyTarget {
        VerifyTarget {
            location: Location::here(path),
            name: path.to_owned(),
            block_bytes: 4096,
            start_bytes,
            end_bytes,
        }
    }

    #[test]
    fn each_block_of_each_target_has_a_window_of_its_own() {
        let targets = [target("a", 0, 8192), target("b", 4096, 16_384)];
        let tables = Tables::in_memory(&targets, 1).unwrap();
        let (a, b) = (tables.of(Path::new("a")).unwrap(), tables.of(Path::new("b")).unwrap());
        assert_eq!((a.begin_write(4096), b.begin_write(4096), b.begin_write(4096)), (1, 1, 2));
        b.end_write(4096);
        assert_eq!((a.window(0).newest(), a.window(4096).in_flight()), (0, 1));
        assert_eq!((b.window(4096).newest(), b.window(4096).in_flight()), (2, 1));
        assert_eq!(b.window(12_288), Window::default());
        assert!(tables.of(Path::new("c")).is_none());
        tables.forget(Path::new("b"));
        assert_eq!((a.window(4096).newest(), b.window(4096).newest()), (1, 0));
    }

    #[test]
    fn no_write_of_any_thread_is_lost() {
        const WRITES: u64 = 20_000;
        let tables = Tables::in_memory(&[target("a", 0, 4096)], 1).unwrap();
        let table = tables.of(Path::new("a")).unwrap();
        let mut given: Vec<u64> = std::thread::scope(|scope| {
            let write = || {
                let write = |_| {
                    let generation = table.begin_write(0);
                    table.end_write(0);
                    generation
                };
                (0..WRITES).map(write).collect::<Vec<u64>>()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(write)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        given.sort_unstable();
        assert_eq!(given, (1..=4 * WRITES).collect::<Vec<u64>>());
        assert_eq!(table.window(0).in_flight(), 0);
        assert_eq!(table.window(0).newest(), 4 * WRITES);
    }
}
