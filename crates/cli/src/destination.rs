//! Where a result is to go: asked before anything is measured, so that a long test is not in vain and
//! nothing of value is written over.

use std::ffi::OsStr;
use std::fs::{self, File, FileType};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use fathom_core::guard::{forbidden_place, forbidden_to_overwrite};
use fathom_sys::access::{NoAccess, may_make_in, may_replace};
use fathom_sys::file::open_stream_to_write;
use fathom_sys::identity::{self, Identity};
use fathom_sys::places::{folder_of, real_path, whole_path};

use crate::output::{Code, complain};
use crate::patience::{self, Enter};
use crate::whole_file::Place;

/// Names of standard output, which is written to as it stands.
const STDOUT: [&str; 3] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Where Linux shows the descriptors of this process.
const DESCRIPTORS: [&str; 3] = ["/dev/fd", "/proc/self/fd", "/proc/thread-self/fd"];

/// `ENXIO` of Linux: nobody has opened the pipe for reading.
const NO_READER: i32 = 6;

/// What stands where a result is to go, as a clause.
const THEIRS: &str = "the file is there, and no result of this tool, as it wrote it";

/// What else of the run has a place.
#[derive(Debug, Clone, Default)]
pub struct Beside {
    /// Where the run keeps what it wrote to verify it.
    pub journal: Option<PathBuf>,
    /// What is there may be lost.
    pub may_overwrite: bool,
    /// Places where nothing is written, nor below them.
    pub protect: Vec<PathBuf>,
    /// How long a place that does not answer is waited for; forever, if absent.
    pub patience_ns: Option<u64>,
}

/// Why a result cannot go there.
#[derive(Debug, PartialEq, Eq)]
enum Obstacle {
    /// Something of value would be written over.
    Refused(String),
    /// It cannot be written at all.
    Wrong(String),
}

/// Where JSON goes.
#[derive(Debug)]
pub enum Destination {
    /// Nowhere: none was requested.
    None,
    /// To a file, which is held with its folder since before the run.
    File(Place),
    /// To a pipe or a device that takes text, open since before the run, so that a reader waits for it.
    Stream(PathBuf, File),
    /// To standard output, behind what else goes there.
    Stdout,
}

/// Where JSON goes that is to go to `path`. Complains, and gives the exit code, if it cannot.
pub fn destination<'a>(
    path: Option<&Path>,
    targets: impl IntoIterator<Item = &'a str>,
    beside: Beside,
) -> Result<Destination, ExitCode> {
    let Some(path) = path else { return Ok(Destination::None) };
    if STDOUT.iter().any(|name| path == Path::new(name)) {
        return Ok(Destination::Stdout);
    }
    let place = path.display();
    let targets: Vec<String> = targets.into_iter().map(str::to_owned).collect();
    let doing = looking(path);
    let (patience_ns, path) = (beside.patience_ns, path.to_owned());
    let looked =
        move |enter: Enter<'_>| look(&path, targets.iter().map(String::as_str), &beside, enter);
    match patience::wait(&doing, patience_ns, &AtomicBool::new(false), looked) {
        Ok(Ok(destination)) => Ok(destination),
        Err(timed_out) => {
            complain(&format!("ERROR: {timed_out}"));
            Err(Code::Failed.into())
        }
        Ok(Err(Obstacle::Refused(why))) => {
            complain(&format!("REFUSED: --json={place}: {why}"));
            Err(Code::Refused.into())
        }
        Ok(Err(Obstacle::Wrong(why))) => {
            complain(&format!("ERROR: cannot write the JSON result to '{place}': {why}"));
            Err(Code::Invalid.into())
        }
    }
}

fn look<'a>(
    path: &Path,
    targets: impl IntoIterator<Item = &'a str>,
    Beside { journal, may_overwrite, protect, .. }: &Beside,
    enter: Enter<'_>,
) -> Result<Destination, Obstacle> {
    let wrong = |error: io::Error| Obstacle::Wrong(format!("{error}; correct the path"));
    let forbidden = if *may_overwrite { forbidden_to_overwrite(THEIRS) } else { None };
    let may_overwrite = *may_overwrite && forbidden.is_none();
    let kind = match fs::metadata(path) {
        Ok(found) => Some(found.file_type()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(wrong(error)),
    };
    let is_open = is_descriptor(path);
    match kind {
        None if is_open => {
            let why = "nothing is open under this number; open it, as 3>FILE does, or name a file";
            return Err(Obstacle::Wrong(why.to_owned()));
        }
        None => check_folder(path)?,
        Some(_) => {}
    }
    let is_file = !is_open && kind.is_none_or(|kind| kind.is_file());
    if is_file {
        may_replace(&fs::canonicalize(path).unwrap_or_else(|_| real_path(path)))
            .map_err(|why| denied(&why))?;
    }
    let place = is_file.then(|| Place::look(path, may_overwrite)).transpose().map_err(wrong)?;
    // Before anything that was given is looked at.
    let opened = if is_open { identity::of(path).ok() } else { None };
    let object = opened.or_else(|| place.as_ref().and_then(Place::object));
    enter("look at what is protected");
    if let Some(finding) = forbidden_place(path, object, (protect, &[])) {
        return Err(Obstacle::Refused(format!("{finding}; name another file for the result")));
    }
    enter(&looking(path));
    // A target may hang: it is looked at only where its name, or what stands there, does not tell.
    let doubtful = place.as_ref().filter(|place| may_overwrite || place.is_empty());
    let object = opened.or_else(|| doubtful.and_then(Place::object));
    let is_named = |other: &Path| {
        enter(&format!("look whether '{}' is '{}'", other.display(), path.display()));
        is_same(path, other, object)
    };
    if targets.into_iter().any(|target| is_named(Path::new(target))) {
        let why = "it is a target of this run; name another file for the result";
        return Err(Obstacle::Refused(why.to_owned()));
    }
    if journal.as_ref().is_some_and(|journal| is_named(journal)) {
        let why = "it is the journal of this run's verification; name another file for the result";
        return Err(Obstacle::Refused(why.to_owned()));
    }
    enter(&looking(path));
    match (place, kind) {
        (Some(place), _) if place.may_be_replaced() => Ok(Destination::File(place)),
        (None, Some(kind)) => stream(path, kind),
        _ => {
            let why = forbidden.unwrap_or_else(|| THEIRS.to_owned());
            let more = ", or give --overwrite if it may be replaced";
            let more = if why == THEIRS { more } else { "" };
            Err(Obstacle::Refused(format!("{why}; name another file{more}")))
        }
    }
}

/// The look at a place, as a clause.
fn looking(path: &Path) -> String {
    format!("look at '{}', where the JSON result goes", path.display())
}

/// Opens what is no file, if it takes text. A pipe is not waited for: whoever is to read it is there, or
/// there is no use in running.
fn stream(path: &Path, kind: FileType) -> Result<Destination, Obstacle> {
    let wrong = |why: &str| Err(Obstacle::Wrong(why.to_owned()));
    if kind.is_block_device() {
        let why = "it is a block device, whose data would be lost; name a file for the result";
        return Err(Obstacle::Refused(why.to_owned()));
    }
    if kind.is_dir() {
        return wrong("it is a directory; name a file in it");
    }
    if kind.is_file() {
        return behind_what_is_there(path);
    }
    if kind.is_socket() {
        return wrong("it is a socket; name a file, or a pipe");
    }
    match open_stream_to_write(path) {
        Ok(stream) => Ok(Destination::Stream(path.to_owned(), stream)),
        Err(error) if kind.is_fifo() && error.raw_os_error() == Some(NO_READER) => {
            wrong("it is a pipe that nobody reads; start its reader first, or name a file")
        }
        Err(error) => wrong(&format!("{error}; name another place")),
    }
}

/// Whether a path names what this process was given open, such as `/dev/fd/3`.
fn is_descriptor(path: &Path) -> bool {
    let is_number = |name: &OsStr| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    let is_there = |folder: &Path| DESCRIPTORS.iter().any(|known| folder == Path::new(known));
    let is_one = path.parent().is_some_and(is_there) && path.file_name().is_some_and(is_number);
    is_one || path == Path::new("/dev/stderr")
}

/// Opens a file that this process was given open, as another program may: what is in it stays.
fn behind_what_is_there(path: &Path) -> Result<Destination, Obstacle> {
    /// `O_WRONLY` and `O_RDWR` of Linux.
    const WRITES: u32 = 0o3;
    let wrong = |why: &str| Obstacle::Wrong(format!("{why}; open it for writing, or name a file"));
    let name = path.file_name().filter(|name| *name != "stderr").unwrap_or("2".as_ref());
    let told = fs::read_to_string(Path::new("/proc/self/fdinfo").join(name)).unwrap_or_default();
    // proc(5): the flags of open(2), in octal digits.
    let flags = told.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    if flags.is_none_or(|flags| flags & WRITES == 0) {
        return Err(wrong("it is open for reading only"));
    }
    let opened = File::options().append(true).open(path);
    let opened = opened.map_err(|error| wrong(&error.to_string()))?;
    Ok(Destination::Stream(path.to_owned(), opened))
}

/// Whether both names lead to the same place, or, if that is doubtful, the target to this object.
fn is_same(path: &Path, target: &Path, doubtful: Option<Identity>) -> bool {
    whole_path(path).is_some_and(|place| whole_path(target) == Some(place))
        || doubtful.is_some_and(|object| identity::of(target).is_ok_and(|other| object == other))
}

/// Asks whether a file may be made at a path.
fn check_folder(path: &Path) -> Result<(), Obstacle> {
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        let why = "its name ends as that of a folder does; name a file in it";
        return Err(Obstacle::Wrong(why.to_owned()));
    }
    let path = real_path(path);
    let folder = folder_of(&path);
    if !folder.is_dir() {
        let shown = folder.display();
        let why = format!("there is no folder '{shown}'; make it, or correct the path");
        return Err(Obstacle::Wrong(why));
    }
    may_make_in(folder).map_err(|why| denied(&why))
}

fn denied(why: &NoAccess) -> Obstacle {
    Obstacle::Wrong(format!("{}; name another place", why.words))
}

#[cfg(test)]
mod tests {
    use fathom_core::report::json;

    use super::*;

    fn found(path: &Path, target: &Path, may_overwrite: bool) -> Option<Obstacle> {
        let beside = Beside { may_overwrite, ..Beside::default() };
        look(path, [target.to_str().unwrap()], &beside, &|_| {}).err()
    }

    fn is_refused(found: Option<&Obstacle>, words: &str) -> bool {
        matches!(found, Some(Obstacle::Refused(why)) if why.contains(words))
    }

    #[test]
    fn a_result_takes_the_place_of_a_result_only() {
        let home = tempfile::tempdir().unwrap();
        let (place, target) = (home.path().join("r.json"), home.path().join("t.dat"));
        assert_eq!(found(&place, &target, false), None, "nothing is there");
        let result = json::read(include_str!("../../../tests/python/fixtures/result.json"));
        let of_earlier_version = &json::write(&result.unwrap());
        let ours = &json::sealed(of_earlier_version);
        for ours in ["", ours] {
            fs::write(&place, ours).unwrap();
            assert_eq!(found(&place, &target, false), None, "an earlier result");
        }
        let with_notes = ours.replacen("\"tool\": {", "\"tool\": {\"notes\":\"mine\",", 1);
        assert_ne!(with_notes, *ours);
        let with_key = ours.replacen('{', "{\n  \"mine\": 1,", 1);
        let behind = format!("{ours}\nmy notes");
        let doubled = ours.replacen('{', "{\n  \"command_line\": \"my notes\",", 1);
        let edited = ours.replacen("\"command_line\"", "\"command_line\" ", 1);
        for others in [
            &with_notes,
            &with_key,
            &behind,
            &doubled,
            &edited,
            of_earlier_version,
            "Dear Ada",
            "[1]",
            "{\"tool\":{}}",
            "\0\0\0",
        ] {
            fs::write(&place, others).unwrap();
            assert!(is_refused(found(&place, &target, false).as_ref(), "--overwrite"), "{others}");
            assert_eq!(found(&place, &target, true), None, "{others}");
        }
    }

    #[test]
    fn a_target_is_no_place_for_a_result_whatever_it_is_called() {
        let home = tempfile::tempdir().unwrap();
        let (target, link) = (home.path().join("t.dat"), home.path().join("link"));
        let round_about = home.path().join(".").join("t.dat");
        assert!(is_refused(found(&round_about, &target, true).as_ref(), "target"), "not made yet");
        fs::write(&target, "").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        for place in [&target, &link, &round_about] {
            assert!(is_refused(found(place, &target, true).as_ref(), "target"), "{place:?}");
        }
    }

    #[test]
    fn what_cannot_be_written_is_told_before_the_run() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("t.dat");
        let wrong = |place: &Path| matches!(found(place, &target, false), Some(Obstacle::Wrong(_)));
        assert!(wrong(home.path()));
        assert!(wrong(&home.path().join("missing/r.json")));
        fs::write(&target, "").unwrap();
        assert!(wrong(&target.join("r.json")));
        assert!(!wrong(Path::new("/dev/null")));
    }
}
