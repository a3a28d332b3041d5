//! Where a result is to go: asked before anything is measured, so that a long test is not in vain and
//! nothing of value is written over.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fathom_core::report::json;
use fathom_sys::file::{may_write, open_pipe_to_write};
use fathom_sys::identity;

use crate::output::{Code, complain};

/// Names of standard output, which is written to as it stands.
const STDOUT: [&str; 3] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

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
    /// Nowhere: none was asked for.
    None,
    /// To a file, or a device that takes text.
    File(PathBuf),
    /// To a pipe, which is open since before the run, so that its reader waits for what comes.
    Pipe(PathBuf, File),
    /// To standard output, behind what else goes there.
    Stdout,
}

/// Where JSON goes that is to go to `path`. Complains, and gives the exit code, if it cannot.
pub fn destination<'a>(
    path: Option<&Path>,
    targets: impl IntoIterator<Item = &'a str>,
    may_overwrite: bool,
) -> Result<Destination, ExitCode> {
    let Some(path) = path else { return Ok(Destination::None) };
    if STDOUT.iter().any(|name| path == Path::new(name)) {
        return Ok(Destination::Stdout);
    }
    let place = path.display();
    let found = look(path, targets, may_overwrite);
    match found.map_or_else(|| opened(path), Err) {
        Ok(destination) => Ok(destination),
        Err(Obstacle::Refused(why)) => {
            complain(&format!("REFUSED: --json={place}: {why}"));
            Err(Code::Refused.into())
        }
        Err(Obstacle::Wrong(why)) => {
            complain(&format!("ERROR: cannot write the JSON result to '{place}': {why}"));
            Err(Code::Invalid.into())
        }
    }
}

/// Opens a pipe, which nobody waits for: whoever is to read it is there, or there is no use in running.
fn opened(path: &Path) -> Result<Destination, Obstacle> {
    if !fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo()) {
        return Ok(Destination::File(path.to_owned()));
    }
    let pipe = open_pipe_to_write(path).map_err(|error| {
        Obstacle::Wrong(match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => error.to_string(),
            _ => {
                "it is a pipe that nobody reads; start its reader first, or name a file".to_owned()
            }
        })
    })?;
    Ok(Destination::Pipe(path.to_owned(), pipe))
}

fn look<'a>(
    path: &Path,
    targets: impl IntoIterator<Item = &'a str>,
    may_overwrite: bool,
) -> Option<Obstacle> {
    let found = match fs::metadata(path) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Some(Obstacle::Wrong(format!("{error}; correct the path"))),
    };
    let kind = found.as_ref().map(fs::Metadata::file_type);
    // A target may hang: it is looked at only where its name, or what stands there, does not tell.
    let is_doubtful =
        found.is_some_and(|found| found.is_file() && (may_overwrite || found.len() == 0));
    if targets.into_iter().any(|target| is_same(path, Path::new(target), is_doubtful)) {
        let why = "it is a target of this run; name another file for the result";
        return Some(Obstacle::Refused(why.to_owned()));
    }
    let Some(kind) = kind else { return without_folder(path) };
    if kind.is_block_device() {
        let why = "it is a block device, whose data would be lost; name a file for the result";
        return Some(Obstacle::Refused(why.to_owned()));
    }
    if kind.is_dir() {
        return Some(Obstacle::Wrong("it is a directory; name a file in it".to_owned()));
    }
    if kind.is_socket() {
        return Some(Obstacle::Wrong("it is a socket; name a file, or a pipe".to_owned()));
    }
    let is_others = kind.is_file() && !may_overwrite && !is_result(path);
    is_others.then(|| {
        let why = "the file is there, and no result of this tool; name another file, or give --overwrite \
                   if it may be replaced";
        Obstacle::Refused(why.to_owned())
    })
}

/// Whether both names lead to the same place, or, if that is doubtful, to the same object.
fn is_same(path: &Path, target: &Path, is_doubtful: bool) -> bool {
    let folder = |path| fs::canonicalize(folder_of(path)).ok();
    let is_named_so = path.file_name() == target.file_name()
        && folder(path).is_some_and(|place| folder(target) == Some(place));
    is_named_so
        || is_doubtful
            && identity::of(path)
                .is_ok_and(|object| identity::of(target).is_ok_and(|other| object == other))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn without_folder(path: &Path) -> Option<Obstacle> {
    let folder = folder_of(path);
    let shown = folder.display();
    if !folder.is_dir() {
        let why = format!("there is no folder '{shown}'; make it, or correct the path");
        return Some(Obstacle::Wrong(why));
    }
    let error = may_write(folder).err()?;
    let why = format!("its folder may not be written to ({error}); name another place");
    Some(Obstacle::Wrong(why))
}

/// Whether a file holds a result of ours with nothing added, or nothing at all. One that may not be read,
/// such as a drop box, is none of ours.
fn is_result(path: &Path) -> bool {
    fs::read(path).is_ok_and(|text| text.is_empty() || json::is_ours(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &Path, target: &Path, may_overwrite: bool) -> Option<Obstacle> {
        look(path, [target.to_str().unwrap()], may_overwrite)
    }

    fn is_refused(found: Option<&Obstacle>, words: &str) -> bool {
        matches!(found, Some(Obstacle::Refused(why)) if why.contains(words))
    }

    #[test]
    fn a_result_takes_the_place_of_a_result_only() {
        let home = tempfile::tempdir().unwrap();
        let (place, target) = (home.path().join("r.json"), home.path().join("t.dat"));
        assert_eq!(found(&place, &target, false), None, "nothing is there");
        let ours = include_str!("../../../tests/python/fixtures/result.json");
        for ours in ["", ours] {
            fs::write(&place, ours).unwrap();
            assert_eq!(found(&place, &target, false), None, "an earlier result");
        }
        let with_notes = ours.replacen("\"tool\":{", "\"tool\":{\"notes\":\"mine\",", 1);
        assert_ne!(with_notes, ours);
        let with_key = ours.replacen('{', "{\n  \"mine\": 1,", 1);
        let behind = format!("{ours}\nmy notes");
        for others in
            [&with_notes, &with_key, &behind, "Dear Ada", "[1]", "{\"tool\":{}}", "\0\0\0"]
        {
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
