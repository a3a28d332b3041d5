//! Makes target files: real, incompressible data in every block, or nothing at all.
//!
//! A file that is not complete is not there: whatever goes wrong once its old content is gone, the file is
//! removed, or emptied if it was there before this run. A complete file of the right size that an earlier
//! run made is kept.

mod adopt;
mod ahead;
mod before;
mod compressed;
mod content;
mod counted;
mod created;
mod data;
mod entrusted;
mod error;
mod fed;
mod fill;
mod mark;
mod marks;
mod pieces;
mod proof;
mod removal;
mod reserve;
mod room;
pub(crate) mod served;
mod source;
mod sum;
mod together;

#[cfg(test)]
mod drawn_tests;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use fathom_sys::contract::file::{FileFacts, FileKind};
use fathom_sys::held::{Held, Removal, replaced};
use fathom_sys::identity;
use fathom_sys::kernel_files;
use fathom_sys::places::{folder_of, real_path};
use fathom_sys::{extents, space};

use crate::guard::{Alone, Checked, Finding, Found, Place};
use crate::measure::{Event, EventSink};
use crate::plan::{FilePlan, Reduction};
use crate::signature;
pub use adopt::{Seen, adopt};
use before::Before;
pub(crate) use content::Content;
pub(crate) use entrusted::Entrusted;
pub use error::{Partial, PrepareError};
use fill::{Filled, Filling};
use mark::Mark;
pub(crate) use marks::{Marks, look_again, look_before, settle, settle_written};
pub(crate) use proof::Whose;
pub(crate) use removal::remove_file;
pub use removal::remove_made;
use sum::Sum;
pub use together::{check_room, foresee_room};

/// Asks whether a new file of so many bytes fits at `path`.
pub(crate) fn room_for(path: &Path, bytes: u64) -> Result<(), PrepareError> {
    room::check(path, bytes, 0)
}

/// Whose data `file` of `size_bytes` holds.
pub(crate) fn whose(file: &File, size_bytes: u64) -> io::Result<Whose> {
    if size_bytes == 0 {
        return Ok(Whose::Empty);
    }
    let mark = Mark::of(file);
    // On file systems in memory, a write through a mapping leaves no trace in the state.
    let tells =
        || Ok::<_, io::Error>(!space::is_in_memory(file)? && !signature::may_have_volume(file));
    if mark.holds(file)? && (mark.is_adopted || tells()?) {
        return Ok(Whose::Ours);
    }
    if let Some(sum) = mark.sum
        && Sum::of(file, size_bytes)? == Some(sum)
    {
        return Ok(Whose::Ours);
    }
    proof::look(file, size_bytes, mark.hints(file)?)
}

/// Why a run may not write over what `file` of `size_bytes` holds, if it may not.
pub(crate) fn finding(file: &File, size_bytes: u64) -> io::Result<Option<Finding>> {
    Ok(match whose(file, size_bytes)? {
        Whose::Ours | Whose::Empty => None,
        Whose::Untold(_) => Some(Finding::FileUntold),
        Whose::Theirs(at) => Some(Finding::FileWithData(signature::name(file, size_bytes, at))),
    })
}

/// The data that `file` of `size_bytes` was made with, if this tool has made it: by its mark, or by what it
/// holds. Runs may have written to it since.
pub(crate) fn content_of(file: &File, size_bytes: u64) -> io::Result<Option<Content>> {
    match Mark::of(file).content.filter(|content| content.size_bytes == size_bytes) {
        Some(content) => Ok(Some(content)),
        None => content::proven(file, size_bytes, Reduction::default()),
    }
}

/// What was written to a file that is not complete is read again up to so many bytes before it is removed
/// or emptied, where it is not certain that nobody else has written to it.
const LOOKED_BYTES_MAX: u64 = 2 << 30;
/// What a new file may be used for, less what the process masks (`umask(2)`).
const NEW_FILE_MODE: u32 = 0o666;

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// It was there already: complete, of the right size, and made by this tool.
    Kept,
    /// It did not exist and was made.
    Made,
    /// It held test data or was of another size, and was made again.
    Remade,
}

/// Makes one file, or keeps it if it is there already.
///
/// Only with `overwrite` is a file replaced that holds data of others, and only the one that was
/// checked; one that is made here is noted as such. When `stop` becomes true the partial file is
/// removed, or emptied if it was there before. Progress goes to `sink`, at most ten times a second.
pub fn create(
    file: &FilePlan,
    overwrite: bool,
    checked: &mut Checked,
    stop: &AtomicBool,
    sink: EventSink,
) -> Result<Created, PrepareError> {
    let path = real_path(file.path());
    let (size_bytes, reduction) = (file.size_bytes, file.reduction);
    let making = Making { path: &path, size_bytes, reduction, stop, sink };
    match checked.look(file.path()) {
        Found::Unreadable(kind, why) => {
            Err(refused(&path, "look at the file", io::Error::new(kind, why)))
        }
        Found::There(held) => {
            // The guard has looked before other files were made, which takes as long as it takes.
            if checked.alone.has_foreign_writer(&held, &path) {
                return Err(PrepareError::InUse { path });
            }
            // The mark notes this run by now. What the guard has let pass is not asked again.
            let may = overwrite || is_as_checked(&held, &path, &checked.alone);
            let (file, alone) = (open_existing(&path, &held)?, &checked.alone);
            let done = making.keep_or_remake(&file, (may, true), alone)?;
            if done == Created::Remade {
                seal(&path, &held, checked);
            }
            Ok(done)
        }
        Found::Nothing(place) => {
            // This run may have made it by another name.
            if let Some(held) = checked.made_at(file.path()) {
                let file = open_existing(&path, &held)?;
                return making.keep_or_remake(&file, (overwrite, false), &checked.alone);
            }
            let place = place.ok_or_else(|| missing_directory(&path))?;
            let (created, made) = making.make_new(&place, &checked.alone)?;
            let noted = checked.made(file.path(), place, made);
            let held = noted.map_err(|error| refused(&path, "look at the file", error))?;
            seal(&path, &held, checked);
            Ok(created)
        }
    }
}

/// Whether it is certain that nobody has written to a file since the guard has looked at it.
fn is_as_checked(held: &Held, path: &Path, alone: &Alone) -> bool {
    held.open_to_read(path).is_ok_and(|file| alone.is_alone(&file))
}

/// Marks a file that is complete and no longer open for writing in the state in which it is.
fn seal(path: &Path, held: &Held, checked: &Checked) {
    // What cannot be marked proves by its content whose it is.
    let Ok(file) = held.open_to_read(path) else { return };
    let mark = Mark::of(&file);
    if !mark.holds(&file).unwrap_or(false) {
        mark.seal(&file, &checked.alone);
    }
}

/// What [`create`] would do with a file, unless it is refused; nothing is changed.
pub fn fate(file: &FilePlan) -> Result<Created, PrepareError> {
    let path = real_path(file.path());
    let look = |error| refused(&path, "read the file", error);
    let existing = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let is_possible = fs::metadata(folder_of(&path)).is_ok();
            return if is_possible { Ok(Created::Made) } else { Err(missing_directory(&path)) };
        }
        opened => opened.map_err(look)?,
    };
    let (size_bytes, reduction) = (file.size_bytes, file.reduction);
    let never = AtomicBool::new(false);
    let making = Making { path: &path, size_bytes, reduction, stop: &never, sink: &|_| {} };
    let is_kept = making.is_complete(&existing).map_err(look)?;
    Ok(if is_kept { Created::Kept } else { Created::Remade })
}

fn missing_directory(path: &Path) -> PrepareError {
    let directory = folder_of(path).to_owned();
    match fs::metadata(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            PrepareError::MissingDirectory { path: path.to_owned(), directory }
        }
        Err(error) => refused(path, "look at its directory", error),
        // It was made a moment ago.
        Ok(_) => PrepareError::MissingDirectory { path: path.to_owned(), directory },
    }
}

fn open_existing(path: &Path, held: &Held) -> Result<File, PrepareError> {
    let metadata = held.metadata(path).map_err(|error| refused(path, "look at the file", error))?;
    // Asked before it is opened: opening a pipe or a device may itself have effects.
    if !metadata.is_file() {
        let kind = kind_in_words(metadata.kind());
        return Err(PrepareError::NotAFile { path: path.to_owned(), kind });
    }
    held.open_to_write(path).map_err(|error| refused(path, "open the file for writing", error))
}

/// What a file that is no regular file is, with article.
pub(crate) fn kind_in_words(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Folder => "a directory",
        FileKind::BlockDevice => "a block device",
        FileKind::CharacterDevice => "a character device",
        FileKind::Pipe => "a named pipe",
        FileKind::Socket => "a socket",
        FileKind::File | FileKind::Link | FileKind::Other => "not a regular file",
    }
}

fn refused(path: &Path, step: &'static str, source: io::Error) -> PrepareError {
    let remedy = match source.kind() {
        io::ErrorKind::PermissionDenied => "use an account that may, or name another file",
        io::ErrorKind::ReadOnlyFilesystem => "name a file on a file system that can be written",
        io::ErrorKind::NotADirectory => "a part of the path is a file: correct the path",
        _ => "check the file system and the system's log",
    };
    PrepareError::Io { path: path.to_owned(), step, remedy, source, partial: None }
}

/// Whether the file holds nothing but what was written into it here: nobody else can have written to it, or
/// all of its data show it. What is too much to read again while somebody waits may be anybody's.
fn is_still_ours(file: &File, alone: &Alone) -> bool {
    if alone.is_alone_writing(file) {
        return true;
    }
    // Who has it open may write to it yet, and is noted only when it is closed.
    if alone.is_seen_open_elsewhere(file) {
        return false;
    }
    let look = || -> io::Result<bool> {
        let size_bytes = file.metadata()?.len();
        if !extents::holds_at_most(file, size_bytes, LOOKED_BYTES_MAX)? {
            return Ok(false);
        }
        let held = proof::look(file, size_bytes, Mark::of(file).hints(file)?)?;
        Ok(held.theirs().is_none())
    };
    look().unwrap_or(false)
}

/// Removes a file from where it was made, whatever that folder is called by now; whether no name of it is
/// left.
fn remove(place: &Place, file: &File) -> io::Result<bool> {
    let names = file.metadata()?.name_count();
    let outcome = place.directory.remove(&place.name, identity::of_open(file)?)?;
    // What is still open keeps a hidden name where others serve the file.
    let is_hidden =
        names == 1 && outcome == Removal::Removed && kernel_files::is_reached_by_others(file);
    Ok(is_hidden || has_no_name(file))
}

fn has_no_name(file: &File) -> bool {
    file.metadata().is_ok_and(|found| found.name_count() == 0)
}

/// Whether a path leads to an open file.
fn is_at(path: &Path, file: &File) -> bool {
    let file = identity::of_open(file);
    Held::take(path).is_ok_and(|found| file.is_ok_and(|file| found.identity() == file))
}

/// What a file was before it was begun.
#[derive(Debug, Clone, Copy)]
enum Was<'a> {
    /// Nothing: it was made at this place.
    Made(&'a Place),
    There(Before),
}

/// The making of one file.
struct Making<'a> {
    path: &'a Path,
    size_bytes: u64,
    reduction: Reduction,
    stop: &'a AtomicBool,
    sink: EventSink<'a>,
}

impl Making<'_> {
    fn make_new(&self, place: &Place, alone: &Alone) -> Result<(Created, File), PrepareError> {
        self.go_on()?;
        room::check(self.path, self.size_bytes, 0)?;
        let opened = place.directory.create_new(&place.name, NEW_FILE_MODE);
        let file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => refused(self.path, "create the file", replaced()),
            _ => refused(self.path, "create the file", error),
        })?;
        self.tell_beginning();
        let watched = self.watch(&file, alone);
        let filled = watched.and_then(|()| self.fill(&file));
        self.or_undo((&file, Was::Made(place)), alone, filled)?;
        self.tell("created");
        Ok((Created::Made, file))
    }

    /// Watches a file that was made just now. What others have written to it before is written over.
    fn watch(&self, file: &File, alone: &Alone) -> Result<(), PrepareError> {
        alone.add(file);
        let made = identity::of_open(file);
        alone.begin(made.map_err(|error| refused(self.path, "look at the file", error))?);
        Ok(())
    }

    /// Keeps a file that is as it is wanted. Otherwise it is made again, if it `may` or is not somebody's.
    fn keep_or_remake(
        &self,
        file: &File,
        (may, was_there): (bool, bool),
        alone: &Alone,
    ) -> Result<Created, PrepareError> {
        let look = |error| refused(self.path, "read the file", error);
        if self.is_complete(file).map_err(look)? {
            self.tell("kept, as an earlier run made it");
            return Ok(Created::Kept);
        }
        let metadata = file.metadata().map_err(look)?;
        let path = || self.path.to_owned();
        let whose = || whose(file, metadata.len()).map_err(look);
        match if may { Whose::Ours } else { whose()? } {
            Whose::Ours | Whose::Empty => {}
            Whose::Untold(_) => return Err(PrepareError::Untold { path: path() }),
            Whose::Theirs(at) => {
                let found = signature::name(file, metadata.len(), at);
                return Err(PrepareError::Theirs { path: path(), found });
            }
        }
        let before =
            if was_there { Before::of(file, metadata.len(), self.stop) } else { Before::Nothing };
        self.remake(file, &metadata, before, alone)
    }

    fn remake(
        &self,
        file: &File,
        metadata: &fs::Metadata,
        before: Before,
        alone: &Alone,
    ) -> Result<Created, PrepareError> {
        self.go_on()?;
        room::check(self.path, self.size_bytes, metadata.allocated_bytes())?;
        // A size that the file system cannot hold is refused here, while the old data stand.
        if self.size_bytes > metadata.len() {
            let grown = file.set_len(self.size_bytes);
            grown.map_err(|error| room::refused_size(self.path, self.size_bytes, error))?;
        }
        if let Err(error) = file.set_len(0) {
            // Its data stand: all that may be done is to give it its length again.
            let _ = file.set_len(metadata.len());
            return Err(refused(self.path, "empty the file", error));
        }
        // The old mark goes behind the data that it proves: a kill between leaves none that nothing proves.
        let unmarked = mark::remove(file);
        let unmarked = unmarked.map_err(|error| refused(self.path, "remove the old mark", error));
        self.or_undo((file, Was::There(before)), alone, unmarked.and_then(|()| self.fill(file)))?;
        self.tell("created again");
        Ok(Created::Remade)
    }

    /// Whether the file is ours, of the right size, and all of it is real data.
    fn is_complete(&self, file: &File) -> io::Result<bool> {
        let size_bytes = self.size_bytes;
        if file.metadata()?.len() != size_bytes {
            return Ok(false);
        }
        if size_bytes == 0 {
            return Ok(true);
        }
        if whose(file, size_bytes)? != Whose::Ours {
            return Ok(false);
        }
        let is_as_asked = match Mark::of(file).content {
            Some(content) => {
                content.reduction == self.reduction && content.size_bytes == size_bytes
            }
            None => content::proven(file, size_bytes, self.reduction)?.is_some(),
        };
        if !is_as_asked {
            return Ok(false);
        }
        // Runs may have punched holes or written zeros since.
        let unbacked =
            extents::backing(file, 0..size_bytes).is_ok_and(|sum| sum.unbacked_bytes() > 0);
        Ok(!unbacked && !content::has_zeros(file, size_bytes)?)
    }

    fn fill(&self, file: &File) -> Result<(), PrepareError> {
        let seed = Content::signed(RandomState::new().hash_one(self.path));
        let content = Content { seed, size_bytes: self.size_bytes, reduction: self.reduction };
        self.reserve(file)?;
        // Before the first byte: parts of data that compress are known by what they are parts of. That the
        // file is complete is shown by its first block.
        Mark::created(content).note(file);
        let filling = Filling::new(file, self.path, content, self.stop, self.sink);
        match filling.run() {
            Ok(Filled::Whole) => Ok(()),
            Ok(Filled::Stopped) => Err(self.interrupted(filling.done_bytes())),
            Err(error) => Err(self.broken_off(filling.done_bytes(), error)),
        }
    }

    /// Asked before anything is changed: who ended the run meanwhile wants no file any more.
    fn go_on(&self) -> Result<(), PrepareError> {
        let path = self.path.to_owned();
        if self.stop.load(Ordering::Relaxed) {
            Err(PrepareError::NotBegun { path })
        } else {
            Ok(())
        }
    }

    fn interrupted(&self, done_bytes: u64) -> PrepareError {
        let path = self.path.to_owned();
        let (needed_bytes, partial) = (self.size_bytes, Partial::Removed);
        PrepareError::Interrupted { path, done_bytes, needed_bytes, partial }
    }

    fn broken_off(&self, done_bytes: u64, error: io::Error) -> PrepareError {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => PrepareError::RanOut {
                path: self.path.to_owned(),
                done_bytes,
                needed_bytes: self.size_bytes,
                partial: Partial::Removed,
            },
            _ => refused(self.path, "write the file", error),
        }
    }

    /// Undoes a file that is not complete; whatever has taken its place stays, and so does a file to which
    /// somebody else has written meanwhile.
    fn or_undo(
        &self,
        (file, was): (&File, Was<'_>),
        alone: &Alone,
        outcome: Result<(), PrepareError>,
    ) -> Result<(), PrepareError> {
        outcome.map_err(|why| why.with(self.undo(file, was, alone)))
    }

    fn undo(&self, file: &File, was: Was<'_>, alone: &Alone) -> Partial {
        if !is_still_ours(file, alone) {
            return Partial::Kept;
        }
        let before = match was {
            Was::Made(place) if remove(place, file).is_ok_and(|is_gone| is_gone) => {
                return Partial::Removed;
            }
            Was::Made(_) => Before::Nothing,
            Was::There(before) => before,
        };
        let became = before.restore(|size_bytes| file.set_len(size_bytes));
        if became == Partial::Left {
            return became;
        }
        // A mark that stays is void: it tells of another state.
        let _ = mark::remove(file);
        match () {
            () if has_no_name(file) => Partial::Removed,
            () if is_at(self.path, file) => became,
            () => Partial::Elsewhere,
        }
    }

    fn tell(&self, what: &str) {
        (self.sink)(Event::Step(format!(
            "{}: {what} ({} bytes)",
            self.path.display(),
            self.size_bytes
        )));
    }
}
