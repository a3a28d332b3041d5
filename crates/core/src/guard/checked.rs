//! What was checked is what is written: it is held from the check on, so that no path decides again.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::alone::Alone;
use fathom_sys::held::{Directory, Held, replaced};
use fathom_sys::identity::{self, Identity};
use fathom_sys::places::{folder_of, real_path};

use crate::storage::{Location, Served};

/// What a path led to when it was looked at.
#[derive(Debug, Clone)]
pub enum Found {
    /// Something that is there.
    There(Arc<Held>),
    /// Nothing yet; where it would be made.
    Nothing(Option<Place>),
    /// It could not be looked at; why, as its kind and in words.
    Unreadable(io::ErrorKind, String),
}

/// A name in a directory that is held.
#[derive(Debug, Clone)]
pub struct Place {
    pub(crate) directory: Arc<Directory>,
    pub(crate) name: OsString,
}

/// A file that this run has made.
#[derive(Debug, Clone)]
pub(crate) struct MadeFile {
    /// With symbolic links followed in its last part.
    pub(crate) path: PathBuf,
    /// As the plan names it.
    given: PathBuf,
    pub(crate) place: Place,
    pub(crate) held: Arc<Held>,
}

/// What each path that may be written led to when it was checked. A path that nobody has checked, because
/// it is only read, may lead anywhere.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    known: BTreeMap<PathBuf, Found>,
    /// Files that this run has made, whatever they are called.
    made: BTreeMap<Identity, MadeFile>,
    /// Which of them was made for a path, as the plan names it.
    made_by: BTreeMap<PathBuf, Identity>,
    /// Files that this run has made on other hosts, by their addresses.
    served: BTreeMap<PathBuf, (Served, Option<Vec<u8>>)>,
    directories: BTreeMap<PathBuf, Arc<Directory>>,
    /// Descriptors that may still be kept; without bound if absent.
    spare: Option<u64>,
    /// Who else writes to the files.
    pub(crate) alone: Arc<Alone>,
}

impl Checked {
    /// Keeps at most so many descriptors; of what is found beyond that, only what it was is remembered.
    #[must_use]
    pub fn with_descriptors(spare: Option<u64>) -> Self {
        Self { spare, ..Self::default() }
    }

    /// Watches from now on what others do to the files, if a descriptor may be kept for that.
    pub(crate) fn watched(mut self) -> Self {
        if self.spare.is_none_or(|spare| spare > 0) {
            self.spare = self.spare.map(|spare| spare - 1);
            self.alone = Arc::new(Alone::new());
        }
        self
    }

    /// What a path leads to, looked at when it is first requested, and held from then on.
    pub(crate) fn look(&mut self, path: &Path) -> Found {
        if let Some(found) = self.known.get(path) {
            return found.clone();
        }
        let found = match Held::take(path) {
            Ok(held) => Found::There(Arc::new(self.affordable(held))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Found::Nothing(self.place(&real_path(path)))
            }
            Err(error) => Found::Unreadable(error.kind(), error.to_string()),
        };
        self.known.insert(path.to_owned(), found.clone());
        found
    }

    fn affordable(&mut self, held: Held) -> Held {
        match &mut self.spare {
            Some(0) => held.without_descriptor(),
            Some(left) => {
                *left -= 1;
                held
            }
            None => held,
        }
    }

    /// The directory and the name of a path without links in its last part; none if there is no such
    /// directory.
    pub(crate) fn place(&mut self, path: &Path) -> Option<Place> {
        let name = path.file_name()?.to_owned();
        let parent = folder_of(path);
        let directory = if let Some(directory) = self.directories.get(parent) {
            Arc::clone(directory)
        } else {
            let directory = Arc::new(Directory::take(parent).ok()?);
            self.directories.insert(parent.to_owned(), Arc::clone(&directory));
            directory
        };
        Some(Place { directory, name })
    }

    /// How many objects are distinguished by inode and time of birth alone, as descriptors are short.
    pub(super) fn without_descriptor(&self) -> usize {
        let is_bare =
            |found: &&Found| matches!(found, Found::There(held) if !held.has_descriptor());
        self.known.values().filter(is_bare).count()
    }

    /// Notes a file that this run has made on another host, and what the server knows it by.
    pub(crate) fn note_served(&mut self, served: &Served, handle: Option<Vec<u8>>) {
        self.served.insert(served.path().to_owned(), (served.clone(), handle));
    }

    /// What the server knows a file by that this run has made.
    pub(crate) fn served_handle(&self, served: &Served) -> Option<&[u8]> {
        self.served.get(served.path()).and_then(|(_, handle)| handle.as_deref())
    }

    /// Notes a file that this run has made at a path.
    pub(crate) fn made(&mut self, path: &Path, place: Place, file: File) -> io::Result<Arc<Held>> {
        let identity = identity::of_open(&file)?;
        // It is open for writing no longer than it is written.
        let held = Arc::new(self.affordable(Held::of(file)?.without_access(path)));
        self.known.insert(path.to_owned(), Found::There(Arc::clone(&held)));
        let given = path.to_owned();
        self.made_by.insert(given.clone(), identity);
        let made = MadeFile { path: real_path(path), given, place, held: Arc::clone(&held) };
        self.made.insert(identity, made);
        Ok(held)
    }

    /// Where the files lie that this run has made.
    pub(crate) fn made_files(&self) -> impl Iterator<Item = Location> {
        let here = self.made.values().map(|made| Location::here(&made.given));
        here.chain(self.served.values().map(|(served, _)| Location::Served(served.clone())))
    }

    /// The file that this run has made for a path of this host, as the plan names it.
    pub(crate) fn made_for(&self, given: &Path) -> Option<(Identity, &MadeFile)> {
        let file = *self.made_by.get(given)?;
        self.made.get(&file).filter(|made| made.given == given).map(|made| (file, made))
    }

    /// What was checked at a path that is to be written: itself, or a file that this run has made there.
    /// Nothing if nobody has checked the path.
    ///
    /// # Errors
    /// If the path leads elsewhere by now.
    pub fn held(&self, path: &Path) -> io::Result<Option<Arc<Held>>> {
        let held = match self.known.get(path) {
            None => return Ok(None),
            Some(Found::There(held)) => Some(Arc::clone(held)),
            Some(_) => self.made_at(path),
        };
        match held.filter(|held| held.is_at(path)) {
            Some(held) => Ok(Some(held)),
            None => self.made_at(path).map(Some).ok_or_else(replaced),
        }
    }

    /// A file that this run has made, and that stands at a path now.
    pub(crate) fn made_at(&self, path: &Path) -> Option<Arc<Held>> {
        let found = Held::take(path).ok()?.identity();
        self.made.get(&found).map(|made| Arc::clone(&made.held))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn files() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = home.path().join("t.dat");
        (home, path)
    }

    #[test]
    fn break_4_only_what_was_checked_is_given_out() {
        for spare in [None, Some(0)] {
            let (home, path) = files();
            fs::write(&path, "test data").expect("a file");
            let mut checked = Checked::with_descriptors(spare);
            assert!(matches!(checked.look(&path), Found::There(_)));
            assert_eq!(checked.without_descriptor(), usize::from(spare.is_some()));
            assert!(checked.held(&path).expect("as it was").is_some());
            let other = home.path().join("other");
            fs::write(&other, "somebody's").expect("a file");
            fs::rename(&other, &path).expect("replaced");
            let error = checked.held(&path).expect_err("it is another one");
            assert!(error.to_string().contains("another file or device"), "{error}");
        }
    }

    #[test]
    fn what_was_not_there_must_be_made_by_this_run() {
        let (_home, path) = files();
        let mut checked = Checked::default();
        let Found::Nothing(Some(place)) = checked.look(&path) else { panic!("nothing is there") };
        fs::write(&path, "somebody's").expect("a file");
        assert!(checked.held(&path).is_err());
        assert!(place.directory.create_new(&place.name, 0o600).is_err(), "it is in the way");
        fs::remove_file(&path).expect("removed");
        let file = place.directory.create_new(&place.name, 0o600).expect("made");
        checked.made(&path, place, file).expect("noted");
        assert!(checked.held(&path).expect("made").is_some());
    }

    #[test]
    fn what_is_only_read_may_be_anything() {
        let (_home, path) = files();
        assert!(Checked::default().held(&path).expect("not asked").is_none());
    }
}
