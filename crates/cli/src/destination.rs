//! Where a result is to go: asked before anything is measured, so that a long test is not in vain and
//! nothing of value is written over.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::ExitCode;

use fathom_sys::file::may_write;
use fathom_sys::identity;

use crate::output::{Code, complain};

/// The beginning of a file in which a result of ours names its schema.
const HEAD_BYTES: usize = 4096;

/// Why a result cannot go there.
#[derive(Debug, PartialEq, Eq)]
enum Obstacle {
    /// Something of value would be written over.
    Refused(String),
    /// It cannot be written at all.
    Wrong(String),
}

/// Complains, and gives the exit code, if JSON cannot go to `path`.
pub fn obstacle<'a>(
    path: Option<&Path>,
    targets: impl IntoIterator<Item = &'a str>,
    may_overwrite: bool,
) -> Option<ExitCode> {
    let path = path?;
    let place = path.display();
    match look(path, targets, may_overwrite)? {
        Obstacle::Refused(why) => {
            complain(&format!("REFUSED: --json={place}: {why}"));
            Some(Code::Refused.into())
        }
        Obstacle::Wrong(why) => {
            complain(&format!("ERROR: cannot write the JSON result to '{place}': {why}"));
            Some(Code::Invalid.into())
        }
    }
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

/// Whether a file holds a result of ours, with nothing behind it, or nothing at all. One that may not be
/// read, such as a drop box, is none of ours.
fn is_result(path: &Path) -> bool {
    let Ok(bytes) = fs::read(path) else { return false };
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let text = String::from_utf8_lossy(head);
    let is_whole = || serde_json::from_slice::<serde_json::Value>(&bytes).is_ok();
    bytes.is_empty()
        || text.trim_start().starts_with('{') && text.contains("\"tool\"") && is_whole()
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
        for ours in ["", "{\n  \"schema_version\": 1,\n  \"tool\": {}}", "{\"tool\":{}}"] {
            fs::write(&place, ours).unwrap();
            assert_eq!(found(&place, &target, false), None, "{ours}");
        }
        for others in
            ["Dear Ada", "[1]", "{\"tool\":{}}\nmy notes", "{\"name\": \"package\"}", "\0\0\0"]
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
