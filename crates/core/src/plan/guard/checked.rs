//! What was checked is what is written: a path may lead elsewhere between the check and the opening.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use fathom_sys::identity::{self, Identity};

/// What each path that may be written led to when it was checked. A path that nobody has checked, because
/// it is only read, may lead anywhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    known: BTreeMap<PathBuf, Option<Identity>>,
    /// Files that this run has made, whatever they are called, and where each was made.
    made: BTreeMap<Identity, PathBuf>,
}

impl Checked {
    /// Notes what was found; nothing if there was nothing.
    pub(super) fn note(&mut self, path: &Path, found: Option<Identity>) {
        self.known.insert(path.to_owned(), found);
    }

    /// Notes a file that this run has made.
    pub(in crate::plan) fn made(&mut self, path: &Path, file: &File) -> io::Result<()> {
        self.made.insert(identity::of_open(file)?, path.to_owned());
        Ok(())
    }

    /// The files that this run has made, and where.
    pub(in crate::plan) fn made_files(&self) -> impl Iterator<Item = (Identity, &Path)> {
        self.made.iter().map(|(file, path)| (*file, path.as_path()))
    }

    /// Refuses what was opened at a path if it is not what was checked there.
    ///
    /// # Errors
    /// If it is another object, or if the kernel does not say what it is.
    pub fn approve(&self, path: &Path, opened: &File) -> io::Result<()> {
        let Some(known) = self.known.get(path) else { return Ok(()) };
        let found = identity::of_open(opened)?;
        if *known == Some(found) || self.made.contains_key(&found) {
            return Ok(());
        }
        Err(io::Error::other(
            "since it was checked, another file or device has taken its place; nothing was written to \
             it. Find out who changes the path, and run it again",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> (tempfile::TempDir, PathBuf, File) {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = home.path().join("t.dat");
        std::fs::write(&path, "test data").expect("a file");
        let file = File::open(&path).expect("an open file");
        (home, path, file)
    }

    #[test]
    fn only_what_was_checked_is_approved() {
        let (home, path, file) = files();
        let mut checked = Checked::default();
        checked.note(&path, identity::of(&path).ok());
        assert!(checked.approve(&path, &file).is_ok());
        let other = home.path().join("other");
        std::fs::write(&other, "somebody's").expect("a file");
        let other = File::open(&other).expect("an open file");
        let error = checked.approve(&path, &other).expect_err("it is another one");
        assert!(error.to_string().contains("another file or device"), "{error}");
    }

    #[test]
    fn what_was_not_there_must_be_made_by_this_run() {
        let (_home, path, file) = files();
        let mut checked = Checked::default();
        checked.note(&path, None);
        assert!(checked.approve(&path, &file).is_err());
        checked.made(&path, &file).expect("noted");
        assert!(checked.approve(&path, &file).is_ok());
    }

    #[test]
    fn what_is_only_read_may_be_anything() {
        let (_home, path, file) = files();
        assert!(Checked::default().approve(&path, &file).is_ok());
    }
}
