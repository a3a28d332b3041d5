//! The making of a journal: beside its place, without a name where the file system can do that. It gets there
//! when it is whole: a run that ends before has written nothing, and what stood there stays.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fathom_sys::access::{is_mounted_alone, may_make_in, may_replace};
use fathom_sys::contract::file::{FileFacts, FileKind, PositionedIo};
use fathom_sys::held::{Directory, Held, Removal, name_aside};
use fathom_sys::identity;
use fathom_sys::places::folder_of;
use fathom_sys::space;
use fathom_sys::words::{LockedFile, SharedWords};

use super::fixed::{FIXED_BYTES, Fixed, fixed};
use super::journal::{Head, Journal, JournalError, WORD_BYTES, failed, locked, words_at};
use super::origin::ORIGIN_WORDS;
use super::window::Window;
use super::word::encode;
use crate::prepare::{PrepareError, kind_in_words, room_for};

/// The place of a journal, and what stands there.
struct Place {
    folder: Directory,
    name: OsString,
    earlier: Option<Earlier>,
}

/// The journal of a run that has ended, or an empty file; locked.
struct Earlier {
    held: Held,
    file: Arc<LockedFile>,
}

/// Makes the journal of a run and maps its windows, all of which are 0. The file stays locked until they are
/// dropped. It takes the place of the journal of a run that has ended; every other file is left alone. It is
/// none if `go_on`, which is asked now and then, says no.
pub fn create(
    path: &Path,
    head: &Head,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<SharedWords>, JournalError> {
    let place = look(path, head)?;
    let (file, mut hidden) = new_file(path, &place.folder)?;
    let identity = identity::of_open(&file).map_err(failed(path, "look at"))?;
    let made = mapped(path, file, head, go_on).and_then(|words| {
        if let Some(file) = words.as_ref().and_then(SharedWords::file) {
            put(path, &place, file, &mut hidden)?;
            // All of it was flushed before; this is for its name. Where it fails, closing the journal will.
            let _flushed = file.sync_all();
        }
        Ok(words)
    });
    if let (Ok(None) | Err(_), Some(hidden)) = (&made, hidden) {
        // The first error tells more than one of tidying up.
        let _removed = place.folder.remove(&hidden, identity);
    }
    made
}

/// Whether [`create`] would put the journal in the place of an earlier one. Nothing is made or changed.
pub fn foresee(path: &Path, head: &Head) -> Result<bool, JournalError> {
    let earlier = look(path, head)?.earlier;
    let metadata = earlier.map(|earlier| earlier.file.metadata()).transpose();
    Ok(metadata.map_err(failed(path, "look at"))?.is_some_and(|found| found.len() > 0))
}

/// Looks at what stands in the place, and whether a journal can be made there.
fn look(path: &Path, head: &Head) -> Result<Place, JournalError> {
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        let what = "the name of a folder";
        return Err(JournalError::NotAFile { path: path.to_owned(), what });
    }
    let place = place_of(path);
    let folder = folder_of(&place);
    let opened = Directory::take(folder).map_err(failed(path, "open the folder of"))?;
    let name = place.file_name().ok_or_else(|| JournalError::NotOurs(path.to_owned()))?.to_owned();
    let found = match opened.hold(&name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        found => Some(found.map_err(failed(path, "look at"))?),
    };
    let earlier = found.map(|found| earlier(path, &place, found)).transpose()?;
    may_make_in(folder).map_err(|why| failed(path, "create")(why.into()))?;
    let words_at = words_at(FIXED_BYTES, head.json().len() as u64);
    room_for(&place, head.file_bytes(words_at)).map_err(|why| no_room(path, &why))?;
    Ok(Place { folder: opened, name, earlier })
}

/// Where the journal goes: a link stays, and what it names is replaced.
fn place_of(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// An earlier journal stays until there is a new one, so that it gives no room.
fn no_room(path: &Path, why: &PrepareError) -> JournalError {
    let words = match why {
        PrepareError::NoSpace { needed_bytes, free_bytes, .. } => {
            format!(
                "{needed_bytes} bytes are needed beside what is there, and {free_bytes} are free"
            )
        }
        PrepareError::TooLarge { needed_bytes, limit, .. } => {
            format!("{needed_bytes} bytes are needed, and {limit} allows fewer")
        }
        other => other.to_string(),
    };
    JournalError::Room { path: path.to_owned(), why: words, kind: why.kind() }
}

/// Opens what stands in the place. What is looked at is what is opened, whatever the name stands for by then.
fn earlier(path: &Path, place: &Path, held: Held) -> Result<Earlier, JournalError> {
    // Asked before it is opened: opening a device or a pipe may itself have effects.
    let found = held.metadata(path).map_err(failed(path, "look at"))?;
    if !found.is_file() {
        return Err(not_a_file(path, found.kind()));
    }
    may_replace(place).map_err(|why| failed(path, "replace")(why.into()))?;
    if is_mounted_alone(place) {
        let what = "mounted by itself, so that nothing can take its place,";
        return Err(JournalError::NotAFile { path: path.to_owned(), what });
    }
    let file = held.open_to_read(path).map_err(failed(path, "open"))?;
    Ok(Earlier { held, file: lock_ended(path, file)? })
}

/// A new file in a folder; and the name that it has meanwhile, if it has one.
fn new_file(path: &Path, folder: &Directory) -> Result<(File, Option<OsString>), JournalError> {
    const PRIVATE: u32 = 0o600;
    match folder.create_unnamed(PRIVATE) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            let hidden = name_aside("journal");
            let file = folder.create_new(&hidden, PRIVATE).map_err(failed(path, "create"))?;
            Ok((file, Some(hidden)))
        }
        unnamed => Ok((unnamed.map_err(failed(path, "create"))?, None)),
    }
}

/// Locks the file, makes it a whole journal, and maps its words.
fn mapped(
    path: &Path,
    file: File,
    head: &Head,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<SharedWords>, JournalError> {
    let file = locked(path, file)?;
    let Some(words_at) = fill(path, &file, head, go_on)? else { return Ok(None) };
    let count = usize::try_from(head.words().unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    SharedWords::in_file(file, words_at, count).map(Some).map_err(failed(path, "map"))
}

/// Gives a whole journal its place, if that is as it was looked at. To change places with an earlier one it
/// needs a name.
fn put(
    path: &Path,
    Place { folder, name, earlier }: &Place,
    file: &File,
    hidden: &mut Option<OsString>,
) -> Result<(), JournalError> {
    if earlier.is_some() && hidden.is_none() {
        let aside = name_aside("journal");
        folder.name(file, &aside).map_err(failed(path, "put in place"))?;
        *hidden = Some(aside);
    }
    let put = match (earlier, hidden) {
        (Some(earlier), Some(hidden)) => return replace(path, folder, (hidden, name), earlier),
        (_, Some(hidden)) => folder.put(hidden, name),
        (_, None) => folder.name(file, name),
    };
    match put {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(JournalError::Replaced(path.to_owned()))
        }
        put => put.map_err(failed(path, "put in place")),
    }
}

fn replace(
    path: &Path,
    folder: &Directory,
    (hidden, name): (&OsStr, &OsStr),
    earlier: &Earlier,
) -> Result<(), JournalError> {
    let has_ended = || examine(path, &earlier.file).is_ok();
    match folder.replace(hidden, name, &earlier.held, has_ended) {
        Ok(Removal::Removed) => Ok(()),
        Ok(_) => Err(JournalError::Replaced(path.to_owned())),
        Err(error) => Err(failed(path, "put in place")(error)),
    }
}

/// Takes a journal away that turned out to be in the place of something else.
pub fn take_back(path: &Path, words: &SharedWords) {
    let place = place_of(path);
    let folder = Directory::take(folder_of(&place));
    let (Ok(folder), Some(name), Some(file)) = (folder, place.file_name(), words.file()) else {
        return;
    };
    if let Ok(identity) = identity::of_open(file) {
        let _removed = folder.remove(name, identity);
    }
}

fn not_a_file(path: &Path, kind: FileKind) -> JournalError {
    let what = match kind {
        FileKind::Link => "a symbolic link that leads to no file",
        other => kind_in_words(other),
    };
    JournalError::NotAFile { path: path.to_owned(), what }
}

/// Locks a file that is wholly the journal of a run that has ended, or empty; refuses any other.
fn lock_ended(path: &Path, file: File) -> Result<Arc<LockedFile>, JournalError> {
    let own = identity::of_open(&file).map_err(failed(path, "look at"))?;
    let is_output = |place: &str| identity::of(Path::new(place)).is_ok_and(|output| output == own);
    if ["/dev/stdout", "/dev/stderr"].into_iter().any(is_output) {
        return Err(JournalError::IsOutput(path.to_owned()));
    }
    let file = Arc::new(locked(path, file)?);
    examine(path, &file)?;
    Ok(file)
}

/// Refuses a file that is not wholly the journal of a run that has ended.
fn examine(path: &Path, file: &Arc<LockedFile>) -> Result<(), JournalError> {
    let look = failed(path, "look at");
    if file.metadata().map_err(&look)?.len() == 0 {
        return Ok(());
    }
    match Fixed::read(file) {
        Ok(fixed) if !fixed.is_closed => return Err(JournalError::Unfinished(path.to_owned())),
        Ok(_) => {}
        Err(_) => return Err(JournalError::NotOurs(path.to_owned())),
    }
    let others = |why| JournalError::NotWhole { path: path.to_owned(), why };
    let journal = Journal::read(Arc::clone(file)).map_err(others)?;
    let why = "there are data between its head and its words".to_owned();
    if journal.has_clean_gap().map_err(&look)? { Ok(()) } else { Err(others(why)) }
}

/// Writes the head and reserves the windows; returns where they begin, or nothing if `go_on` said no.
fn fill(
    path: &Path,
    file: &File,
    head: &Head,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<u64>, JournalError> {
    let json = head.json();
    let words_at = words_at(FIXED_BYTES, json.len() as u64);
    let reserved = reserve(file, head.file_bytes(words_at), go_on);
    if !reserved.map_err(failed(path, "reserve the space of"))? {
        return Ok(None);
    }
    // Before the head, so that a journal that has one is whole.
    let written = write_words(file, words_at, head, go_on);
    if !written.map_err(failed(path, "write the words of"))? {
        return Ok(None);
    }
    let json_bytes = u32::try_from(json.len()).unwrap_or(u32::MAX);
    let bytes = [fixed(json_bytes, crc32c::crc32c(&json)).as_slice(), &json].concat();
    file.write_all_at(&bytes, 0).and_then(|()| file.sync_all()).map_err(failed(path, "write"))?;
    Ok(Some(words_at))
}

/// Takes all blocks now, because a mapped page that finds no room later ends the process; false if `go_on`
/// said no.
fn reserve(file: &File, bytes: u64, go_on: &dyn Fn() -> bool) -> io::Result<bool> {
    match space::reserve(file, 0..bytes) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            const PIECE: usize = 1 << 20;
            let zeros = vec![0; PIECE];
            for offset in (0..bytes).step_by(PIECE) {
                if !go_on() {
                    return Ok(false);
                }
                let length = usize::try_from(bytes - offset).unwrap_or(PIECE).min(PIECE);
                file.write_all_at(&zeros[..length], offset)?;
            }
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            if go_on() {
                reserve(file, bytes, go_on)
            } else {
                Ok(false)
            }
        }
        outcome => outcome.map(|()| true),
    }
}

/// The words of blocks that nobody has written; false if `go_on` said no. Those of a target's making stay 0,
/// which says that it is not known.
fn write_words(
    file: &File,
    words_at: u64,
    head: &Head,
    go_on: &dyn Fn() -> bool,
) -> io::Result<bool> {
    const PIECE_WORDS: usize = 1 << 16;
    // One flush of all of a large journal could take longer than the run waits for anything.
    const PIECES_PER_FLUSH: usize = 256;
    let mut first = 0;
    for target in &head.targets {
        let (from, until) =
            (first + ORIGIN_WORDS as u64, first + ORIGIN_WORDS as u64 + target.blocks);
        for (number, start) in (from..until).step_by(PIECE_WORDS).enumerate() {
            if !go_on() {
                return Ok(false);
            }
            let places = start..until.min(start + PIECE_WORDS as u64);
            let words = places.flat_map(|place| encode(Window::default(), place).to_ne_bytes());
            file.write_all_at(&words.collect::<Vec<u8>>(), words_at + start * WORD_BYTES)?;
            if number % PIECES_PER_FLUSH == PIECES_PER_FLUSH - 1 {
                file.sync_data()?;
            }
        }
        first = until;
    }
    Ok(true)
}
