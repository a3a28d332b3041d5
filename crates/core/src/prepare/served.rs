//! Files that another host serves, made by the same rules as those of this host.
//!
//! No mark goes over the network, so that what such a file holds is the only proof of whose it is.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::Created;
use super::before::Before;
use super::content::{self, BLOCK, Content};
use super::data::Data;
use super::error::{Partial, PrepareError};
use super::fill::Progress;
use super::proof::{self, Hints, Whose};
use crate::errors::{Failure, Kind};
use crate::measure::{Event, EventSink};
use crate::network::{self, ServedFile};
use crate::plan::FilePlan;
use crate::supervise::{Doing, within, within_steps};

/// What a server has is read again up to so many bytes before it is removed or emptied.
const LOOKED_BYTES_MAX: u64 = 256 << 20;

/// A file whose reads are each told to whoever supervises: all of them together may take long.
struct Told<'a> {
    file: &'a ServedFile,
    name: String,
    sink: EventSink<'a>,
}

impl Data for Told<'_> {
    fn read_at(&self, into: &mut [u8], offset_bytes: u64) -> io::Result<usize> {
        let doing = looking(Path::new(&self.name));
        within(self.sink, doing, || self.file.read_at(into, offset_bytes))
    }

    fn data_after(&self, range: Range<u64>) -> io::Result<Option<Range<u64>>> {
        self.file.data_after(range)
    }
}

/// What is done while a target of this address is read, before anything is written to it.
pub(crate) fn looking(path: &Path) -> Doing {
    Doing::with(network::server(path), format!("look at what '{}' holds", path.display()))
}

/// Whose data the file of this address holds: all of them are read. One that is not there holds none.
pub(crate) fn whose(path: &Path, timeout: Duration, sink: EventSink<'_>) -> Result<Whose, Failure> {
    let Some(file) = ServedFile::open(path, timeout)? else { return Ok(Whose::Empty) };
    let found = whose_open(&file, path, sink)?;
    file.close();
    Ok(found)
}

fn whose_open(file: &ServedFile, path: &Path, sink: EventSink<'_>) -> Result<Whose, Failure> {
    let told = Told { file, name: path.display().to_string(), sink };
    let hints = Hints::new(None, false);
    proof::look(&told, file.size_bytes(), hints)
        .map_err(|error| Failure::of(&error, error.to_string()))
}

/// What the data of a file are called whose byte at an offset is the first that is not ours.
pub(crate) fn name(
    found: Whose,
    path: &Path,
    timeout: Duration,
    sink: EventSink<'_>,
) -> Option<String> {
    let Whose::Theirs(at) = found else { return None };
    let named = |step: &dyn Fn()| network::name(path, timeout, at, step);
    within_steps(sink, looking(path), named).ok().flatten()
}

/// What [`create`] would do with a file, unless it is refused; nothing is changed.
pub fn fate(file: &FilePlan, timeout: Duration) -> Result<Created, PrepareError> {
    let never = AtomicBool::new(false);
    Making { file, timeout, leave: None, stop: &never, sink: &|_| {} }.fate()
}

/// Makes one file, or keeps it if it is there already. What holds data of others is only replaced where
/// permission was given, for which `leave` is absent; else it is the option that gives it. Besides what was
/// done, what the server knows the file by.
pub fn create(
    file: &FilePlan,
    timeout: Duration,
    leave: Option<&str>,
    stop: &AtomicBool,
    sink: EventSink<'_>,
) -> Result<(Created, Option<Vec<u8>>), PrepareError> {
    Making { file, timeout, leave, stop, sink }.run()
}

/// Removes the file with this handle that this run has made, unless it holds somebody's data by now or its
/// name leads to another one; a sentence if it stays.
pub(crate) fn remove_made(
    path: &Path,
    handle: Option<&[u8]>,
    timeout: Duration,
    sink: EventSink<'_>,
) -> Result<(), String> {
    let name = path.display();
    let failed = |why: &dyn fmt::Display| {
        format!("cannot remove '{name}', which this run has made: {why}. Remove it by hand")
    };
    let Some(file) = ServedFile::open(path, timeout).map_err(|why| failed(&why))? else {
        return Ok(());
    };
    if file.handle().as_deref() != handle {
        return Err(format!(
            "'{name}' was not removed: another file has taken the place of the one that this run has made"
        ));
    }
    if whose_open(&file, path, sink).map_err(|why| failed(&why))?.theirs().is_some() {
        return Err(format!(
            "'{name}', which this run has made, was not removed: it holds data that the run did not write. \
             Look at it, and remove it by hand"
        ));
    }
    file.remove().map_err(|why| failed(&why))
}

/// The making of one file.
struct Making<'a> {
    file: &'a FilePlan,
    timeout: Duration,
    leave: Option<&'a str>,
    stop: &'a AtomicBool,
    sink: EventSink<'a>,
}

impl Making<'_> {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn open(&self) -> Result<Option<ServedFile>, PrepareError> {
        let opened = ServedFile::open(self.path(), self.timeout);
        opened.map_err(|why| self.failed("look at the file", why))
    }

    fn fate(&self) -> Result<Created, PrepareError> {
        let Some(file) = self.open()? else { return Ok(Created::Made) };
        let is_kept = self.is_complete(&file)?;
        file.close();
        Ok(if is_kept { Created::Kept } else { Created::Remade })
    }

    fn run(&self) -> Result<(Created, Option<Vec<u8>>), PrepareError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(PrepareError::NotBegun { path: self.path().to_owned() });
        }
        let Some(file) = self.open()? else {
            let made = ServedFile::create(self.path(), self.timeout);
            let made = made.map_err(|why| self.failed("create the file", why))?;
            let handle = made.handle();
            self.fill(made, Before::Nothing)?;
            self.tell("created");
            return Ok((Created::Made, handle));
        };
        if self.is_complete(&file)? {
            let handle = file.handle();
            file.close();
            self.tell("kept, as an earlier run made it");
            return Ok((Created::Kept, handle));
        }
        let before = self.check(&file)?;
        self.empty(&file)?;
        let handle = file.handle();
        self.fill(file, before)?;
        self.tell("created again");
        Ok((Created::Remade, handle))
    }

    /// Empties a file whose data may be lost; they stand where that fails.
    fn empty(&self, file: &ServedFile) -> Result<(), PrepareError> {
        let step = "set the size of the file";
        let size_bytes = file.size_bytes();
        // A size that the server cannot hold is refused here, while the old data stand.
        if self.file.size_bytes > size_bytes {
            file.resize(self.file.size_bytes).map_err(|why| self.failed(step, why))?;
        }
        file.resize(0).map_err(|why| {
            // All that may be done is to give it its length again.
            let _ = file.resize(size_bytes);
            self.failed(step, why)
        })
    }

    /// Refuses what holds somebody's data; they may have come since the guard looked. With permission nothing
    /// is read.
    fn check(&self, file: &ServedFile) -> Result<Before, PrepareError> {
        let size_bytes = file.size_bytes();
        let Some(leave) = self.leave.filter(|_| size_bytes > 0) else {
            let is_empty = size_bytes == 0;
            return Ok(if is_empty { Before::Zeros(0) } else { Before::Data });
        };
        let found = whose_open(file, self.path(), self.sink);
        let found = found.map_err(|why| self.failed("read the file", why))?;
        match found {
            Whose::Empty => return Ok(Before::Zeros(size_bytes)),
            Whose::Ours => return Ok(Before::Data),
            Whose::Theirs(_) | Whose::Untold(_) => {}
        }
        Err(PrepareError::ServedTheirs {
            path: self.path().to_owned(),
            found: name(found, self.path(), self.timeout, self.sink),
            leave: leave.to_owned(),
        })
    }

    /// Whether the file is as this tool made it, of the right size, and no run has written to it since.
    fn is_complete(&self, file: &ServedFile) -> Result<bool, PrepareError> {
        let size_bytes = self.file.size_bytes;
        if file.size_bytes() != size_bytes {
            return Ok(false);
        }
        let look = || {
            let proven = content::proven(file, size_bytes, self.file.reduction)?;
            let is_ours = proven.is_some_and(Content::is_signed);
            Ok(is_ours && !content::has_zeros(file, size_bytes)?)
        };
        look().map_err(|error: io::Error| {
            self.failed("read the file", Failure::of(&error, error.to_string()))
        })
    }

    /// Fills an empty file; one that is not complete becomes what it was before, as far as possible.
    fn fill(&self, file: ServedFile, before: Before) -> Result<(), PrepareError> {
        let progress = Progress::new(self.path(), self.file.size_bytes, self.sink);
        progress.add(0);
        let filled = self.write(&file, &progress);
        let handle = file.handle();
        file.close();
        let why = match filled.and_then(|is_whole| self.confirm(is_whole)) {
            Ok(true) => return Ok(()),
            Ok(false) => None,
            Err(why) => Some(why),
        };
        let (path, done_bytes) = (self.path().to_owned(), progress.done_bytes());
        let (needed_bytes, partial) = (self.file.size_bytes, self.undo(before, handle.as_deref()));
        Err(match why {
            None => PrepareError::Interrupted { path, done_bytes, needed_bytes, partial },
            Some(why) if why.kind == Kind::NoSpace => {
                PrepareError::RanOut { path, done_bytes, needed_bytes, partial }
            }
            Some(failure) => {
                let (step, partial) = ("write the file", Some(partial));
                PrepareError::Served { path, step, failure: Box::new(failure), partial }
            }
        })
    }

    /// Writes all data, the first block last; whether all were written.
    fn write(&self, file: &ServedFile, progress: &Progress<'_>) -> Result<bool, Failure> {
        let FilePlan { size_bytes, reduction, .. } = *self.file;
        let seed = Content::signed(RandomState::new().hash_one(self.path()));
        let content = Content { seed, size_bytes, reduction };
        let make = |offset: u64, bytes: &mut [u8]| content.fill(offset, bytes);
        let went_on = |bytes: u64| {
            progress.add(bytes);
            !self.stop.load(Ordering::Relaxed)
        };
        let first = BLOCK.min(size_bytes);
        if !file.write(first..size_bytes, &make, &went_on)? {
            return Ok(false);
        }
        file.flush()?;
        let is_whole = file.write(0..first, &make, &went_on)?;
        file.flush()?;
        Ok(is_whole)
    }

    /// Whether the server says that the file has its size.
    fn confirm(&self, is_whole: bool) -> Result<bool, Failure> {
        if !is_whole {
            return Ok(false);
        }
        let found = ServedFile::open(self.path(), self.timeout)?;
        let size_bytes = found.as_ref().map_or(0, ServedFile::size_bytes);
        if let Some(file) = found {
            file.close();
        }
        let wanted = self.file.size_bytes;
        if size_bytes == wanted {
            return Ok(true);
        }
        let words = format!("the server says that it has {size_bytes} bytes instead of {wanted}");
        Err(Failure::new(Kind::Short, words))
    }

    /// Removes a file that is not complete, or brings it back to what it was, over a connection of its own,
    /// as the first one may be lost. What the name leads to must still be that file, and hold nothing of
    /// others: one that is too long to be read while somebody waits stays.
    fn undo(&self, before: Before, handle: Option<&[u8]>) -> Partial {
        let Ok(Some(file)) = ServedFile::open(self.path(), self.timeout) else {
            return Partial::Left;
        };
        if file.handle().as_deref() != handle || file.size_bytes() > LOOKED_BYTES_MAX {
            return Partial::Kept;
        }
        match whose_open(&file, self.path(), self.sink) {
            Ok(found) if found.theirs().is_some() => return Partial::Kept,
            Err(_) => return Partial::Left,
            Ok(_) => {}
        }
        if before == Before::Nothing {
            return if file.remove().is_ok() { Partial::Removed } else { Partial::Left };
        }
        let became = before.restore(|size_bytes| file.resize(size_bytes));
        file.close();
        became
    }

    fn failed(&self, step: &'static str, failure: Failure) -> PrepareError {
        let path = self.path().to_owned();
        PrepareError::Served { path, step, failure: Box::new(failure), partial: None }
    }

    fn tell(&self, what: &str) {
        let (name, bytes) = (self.path().display(), self.file.size_bytes);
        (self.sink)(Event::Step(format!("{name}: {what} ({bytes} bytes)")));
    }
}
