//! Verification afterwards: reads all that a journal is about, in order and in large pieces.
//!
//! Blocks that had writes in flight when the journal ended may hold either data; everything else must be what
//! the journal says. Nothing is written, neither to the targets nor to the journal.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fathom_sys::buffers::{Buffers, PageKind};
use thiserror::Error;

use super::check::{Fault, Found, Owner, ReadBlock, Verdict, check};
use super::journal::{Journal, JournalError, JournalTarget};
use super::stamp::SECTOR_BYTES;
use super::tally::Tally;
use super::window::Window;
use crate::errors::{Failure, Kind};
use crate::measure::{Event, EventSink};
use crate::plan::resolve::remedy_of_served;
use crate::result::Verification;
use crate::storage::contract::Source;
use crate::storage::{Facts, Location, Target};
use crate::supervise::{Doing, within};

/// Bytes that are read at once, if blocks are not greater.
const PIECE_BYTES: usize = 1 << 20;
/// The longest time for making a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// Why nothing was verified.
#[derive(Debug, Error)]
pub enum PassError {
    /// The credentials for servers cannot be used.
    #[error("{0}")]
    Credentials(Failure),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The targets on the command line are not as many as those of the journal.
    #[error(
        "name as many targets as the journal has, in its order, or none: it has {known}, and {given} {} named",
        if *given == 1 { "is" } else { "are" }
    )]
    Targets {
        /// Targets of the journal.
        known: usize,
        /// Targets on the command line.
        given: usize,
    },
    /// A target is not there, or not what it was.
    #[error("the target '{name}' {why}; {remedy}")]
    Target {
        /// Its name.
        name: String,
        /// What is wrong.
        why: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// Too little memory for a piece.
    #[error("cannot allocate {0} bytes to read into: {1}")]
    Memory(usize, io::Error),
}

/// What a pass found.
#[derive(Debug)]
pub struct Passed {
    /// The counts and faults.
    pub verification: Verification,
    /// What could not be read, in words.
    pub failures: Vec<String>,
}

/// What a pass has found so far, target by target. Whoever supervises it may look at any time.
#[derive(Debug, Default)]
pub struct Findings {
    targets: Mutex<Vec<TargetFound>>,
    /// The words of the journal do not check themselves.
    lacks_checks: AtomicBool,
}

/// What was found on one target so far.
#[derive(Debug, Clone)]
struct TargetFound {
    name: String,
    block_bytes: u32,
    in_flight: u64,
    tally: Tally,
    /// What it has, if that is less than what the journal is about.
    shorter: Option<Shorter>,
    /// Why it could not be read to its end, if so.
    failure: Option<String>,
}

/// A target that does not reach as far as its journal any more.
#[derive(Debug, Clone, Copy)]
struct Shorter {
    /// What it has.
    size_bytes: u64,
    /// Where the last block of the journal ends.
    known_bytes: u64,
}

impl Shorter {
    fn in_words(self, name: &str, is_faulty: bool) -> String {
        let Self { size_bytes, known_bytes } = self;
        let consequence = if is_faulty {
            "What was written behind its end is lost, and counts as corrupt; give the target its length and \
             data back, or name another one"
        } else {
            "No fault was found before its end, and nothing that the journal knows to be written is missed \
             behind it: its run may have ended before it made the target that long"
        };
        format!(
            "'{name}' is shorter than the journal: it has {size_bytes} bytes, and the journal is about \
             {known_bytes}. {consequence}"
        )
    }
}

/// What to do about a target that cannot be opened.
fn remedy(path: &str, kind: Kind) -> &'static str {
    let is_served = Location::named(path, CONNECT_WITHIN).served().is_some();
    match kind {
        Kind::NotFound => "name the targets behind --verify-only=JOURNAL if they have moved",
        Kind::Unreachable | Kind::TimedOut if is_served => {
            "start its server, or name the targets behind --verify-only=JOURNAL if they are served elsewhere now"
        }
        kind if is_served => remedy_of_served(&Target::from(path), kind, false),
        Kind::Denied => "use an account that may read it",
        _ => "name the targets behind --verify-only=JOURNAL if they have moved",
    }
}

impl Findings {
    fn of(&self) -> MutexGuard<'_, Vec<TargetFound>> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of it; `journal` is where it was found what to look for.
    #[must_use]
    pub fn passed(&self, journal: &Path) -> Passed {
        let shown = Some(journal.display().to_string());
        let lacks_checks = self.lacks_checks.load(Ordering::Relaxed);
        let verification = Verification {
            journal: shown,
            journal_lacks_checks: lacks_checks,
            ..Verification::default()
        };
        let mut passed = Passed { verification, failures: Vec::new() };
        for found in self.of().iter() {
            let TargetFound { name, block_bytes, in_flight, tally, shorter, failure } = found;
            passed.verification.add(name, *block_bytes, *in_flight, tally);
            passed.failures.extend(failure.clone());
            if let Some(shorter) = shorter {
                passed.failures.push(shorter.in_words(name, tally.all_faulty() > 0));
            } else if tally.verified == 0 && tally.all_faulty() > 0 {
                passed.failures.push(format!(
                    "no block of '{name}' is what the journal says: is it the target of this journal?"
                ));
            }
        }
        passed
    }
}

/// Verifies the targets of a journal, or `names` in their places, until `stop` turns true. What it finds it
/// enters into `findings` as it goes; what may hang is reported to `sink`.
///
/// # Errors
/// If nothing was verified.
pub fn run(
    journal: &Path,
    names: &[String],
    (stop, sink): (&AtomicBool, EventSink<'_>),
    findings: &Findings,
) -> Result<(), PassError> {
    let opening = format!("open the journal '{}'", journal.display());
    let journal = within(sink, opening, || Journal::open(journal))?;
    findings.lacks_checks.store(!journal.has_checks, Ordering::Relaxed);
    let known = &journal.head.targets;
    if !names.is_empty() && names.len() != known.len() {
        return Err(PassError::Targets { known: known.len(), given: names.len() });
    }
    let mut readings = Vec::with_capacity(known.len());
    for (index, target) in known.iter().enumerate() {
        let path = names.get(index).unwrap_or(&target.path);
        let name = names.get(index).unwrap_or(&target.name);
        let open = || Reading::new(&journal, index, name, path);
        let doing = Doing::at(&Location::named(path, CONNECT_WITHIN), format!("open '{name}'"));
        readings.push(within(sink, doing, open)?);
    }
    for mut reading in readings {
        findings.of().push(reading.found(None));
        let doing = Doing::at(&reading.location, format!("verify '{}'", reading.name));
        let outcome = within(sink, doing, || reading.run(stop, sink, findings));
        reading.enter(findings, outcome.err());
    }
    Ok(())
}

/// The pass over one target.
struct Reading<'a> {
    journal: &'a Journal,
    index: usize,
    target: &'a JournalTarget,
    owner: Owner,
    name: &'a str,
    location: Location,
    source: Box<dyn Source>,
    buffer: Buffers,
    tally: Tally,
    in_flight: u64,
    shorter: Option<Shorter>,
}

impl<'a> Reading<'a> {
    fn new(
        journal: &'a Journal,
        index: usize,
        name: &'a str,
        path: &str,
    ) -> Result<Self, PassError> {
        let target = &journal.head.targets[index];
        let wrong = |why: String, kind: Kind| {
            let (name, remedy) = (name.to_owned(), remedy(path, kind));
            PassError::Target { name, why, remedy }
        };
        let mut tally = Tally::default();
        let origin = match journal.origin(index) {
            // Then blocks that this run has not written are known as little as those of other files.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                tally.journal_damaged += 1;
                Ok(None)
            }
            origin => origin,
        };
        let origin = origin.map_err(|error| PassError::Target {
            name: name.to_owned(),
            why: format!("is not in the journal: {error}"),
            remedy: "name another journal",
        })?;
        let owner = Owner { target: target.identity, seed: journal.head.seed, origin };
        let location = Location::named(path, CONNECT_WITHIN);
        let source = location.storage().open().map_err(|why| wrong(why.message, why.kind))?;
        let block_bytes = target.block_bytes as usize;
        let bytes = (PIECE_BYTES / block_bytes).max(1) * block_bytes;
        let buffer = Buffers::new(&[bytes], PageKind::Normal);
        let buffer = buffer.map_err(|error| PassError::Memory(bytes, error))?;
        Ok(Self {
            journal,
            index,
            target,
            owner,
            name,
            location,
            source,
            buffer,
            tally,
            in_flight: 0,
            shorter: None,
        })
    }

    fn found(&self, failure: Option<String>) -> TargetFound {
        TargetFound {
            name: self.name.to_owned(),
            block_bytes: self.target.block_bytes,
            in_flight: self.in_flight,
            tally: self.tally.clone(),
            shorter: self.shorter,
            failure,
        }
    }

    /// Brings what stands in the findings about this target, which is the last of them, up to date.
    fn enter(&self, findings: &Findings, failure: Option<String>) {
        if let Some(last) = findings.of().last_mut() {
            *last = self.found(failure);
        }
    }

    fn run(
        &mut self,
        stop: &AtomicBool,
        sink: EventSink<'_>,
        findings: &Findings,
    ) -> Result<(), String> {
        let block_bytes = u64::from(self.target.block_bytes);
        let piece_blocks = self.buffer.slot(0).len() as u64 / block_bytes;
        let mut first = 0;
        while first < self.target.blocks && !stop.load(Ordering::Relaxed) {
            let count = piece_blocks.min(self.target.blocks - first);
            self.piece(first, count)?;
            first += count;
            self.enter(findings, None);
            sink(Event::Verifying {
                name: self.name.to_owned(),
                done_bytes: first * block_bytes,
                total_bytes: self.target.blocks * block_bytes,
            });
        }
        Ok(())
    }

    fn piece(&mut self, first: u64, count: u64) -> Result<(), String> {
        let block_bytes = self.target.block_bytes as usize;
        let offset_bytes = self.target.start_bytes + first * block_bytes as u64;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let windows = self.journal.windows(self.index, first, count);
        let windows = windows.map_err(|error| format!("cannot read the journal: {error}"))?;
        self.read(offset_bytes, count * block_bytes).map_err(|error| {
            format!("cannot read '{}' at offset {offset_bytes}: {error}", self.name)
        })?;
        let blocks = self.buffer.slot(0).chunks_exact(block_bytes);
        for ((window, bytes), offset_bytes) in
            windows.into_iter().zip(blocks).zip((offset_bytes..).step_by(block_bytes))
        {
            if window == Window::DAMAGED {
                self.tally.add_damaged();
                continue;
            }
            self.in_flight += u64::from(window.in_flight() > 0);
            let block = ReadBlock { bytes, offset_bytes, legal: window.legal_until(window) };
            let verdict = behind_end(check(&block, self.owner), self.shorter);
            self.tally.add(verdict, &block, offset_bytes);
        }
        Ok(())
    }

    /// Reads a piece; what the target no longer has reads as zeros, which carry no stamp.
    fn read(&mut self, offset_bytes: u64, length: usize) -> Result<(), Failure> {
        let mut done = 0;
        while done < length {
            let rest = &mut self.buffer.slot_mut(0)[done..length];
            match self.source.read_at(rest, offset_bytes + done as u64)? {
                0 => {
                    rest.fill(0);
                    self.ends_at(offset_bytes + done as u64);
                    return Ok(());
                }
                bytes => done += bytes,
            }
        }
        Ok(())
    }

    /// Notes that the target ends before the last block of the journal: here, or before.
    fn ends_at(&mut self, offset_bytes: u64) {
        if self.shorter.is_some() {
            return;
        }
        let JournalTarget { start_bytes, blocks, block_bytes, .. } = *self.target;
        let known_bytes = start_bytes + blocks * u64::from(block_bytes);
        let size_bytes = match self.location.storage().look(false) {
            Ok(Facts::Here(facts)) => facts.size_bytes,
            Ok(Facts::Served(facts)) => facts.size_bytes,
            Err(_) => offset_bytes,
        };
        let size_bytes = size_bytes.min(offset_bytes);
        self.shorter = Some(Shorter { size_bytes, known_bytes });
    }
}

/// The same verdict, but a sector that the target does not reach holds nothing.
fn behind_end(verdict: Verdict, shorter: Option<Shorter>) -> Verdict {
    match (verdict, shorter) {
        (Verdict::Faulty(fault), Some(Shorter { size_bytes, .. }))
            if fault.sector_bytes + SECTOR_BYTES as u64 > size_bytes =>
        {
            Verdict::Faulty(Fault { found: Found::BehindEnd(size_bytes), ..fault })
        }
        (verdict, _) => verdict,
    }
}
