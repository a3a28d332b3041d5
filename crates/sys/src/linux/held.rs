//! Objects that are held: what was looked at is what is opened, wherever its path leads by then.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::{File, Metadata, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::bare::{open_at, without_access};
use super::identity::{self, Identity, Object};

/// An object of a file system. As long as its descriptor (`O_PATH`) is kept, nobody else gets its inode;
/// it gives no access, and opening it has no effect on the object.
#[derive(Debug)]
pub struct Held {
    /// None where descriptors are short: then inode and time of birth tell it from others.
    descriptor: Option<File>,
    object: Object,
}

impl Held {
    /// Holds what a path leads to, with symbolic links followed.
    pub fn take(path: &Path) -> io::Result<Self> {
        Self::of(without_access(path, 0)?)
    }

    /// Holds what is open.
    pub fn of(file: File) -> io::Result<Self> {
        let object = identity::object_of(&file)?;
        Ok(Self { descriptor: Some(file), object })
    }

    /// Gives the descriptor back and remembers what it stood for.
    #[must_use]
    pub fn without_descriptor(self) -> Self {
        Self { descriptor: None, ..self }
    }

    /// Gives back whatever access the descriptor has: by itself, or, where there is no `/proc`, by its path
    /// if that still leads to it.
    #[must_use]
    pub fn without_access(self, path: &Path) -> Self {
        let Some(file) = &self.descriptor else { return self };
        let link = link_of(file.as_raw_fd());
        let bare = [link.as_path(), path].into_iter().find_map(|place| {
            let bare = Self::take(place).ok()?;
            (bare.object == self.object).then_some(bare)
        });
        bare.unwrap_or(self)
    }

    /// Whether a descriptor is kept.
    #[must_use]
    pub fn has_descriptor(&self) -> bool {
        self.descriptor.is_some()
    }

    /// What it is.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.object.identity
    }

    /// Its metadata; `path` is only asked where no descriptor is kept.
    pub fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let Some(file) = &self.descriptor else {
            let found = without_access(path, 0)?;
            self.same(&found)?;
            return found.metadata();
        };
        file.metadata()
    }

    /// Whether `path` leads to it now.
    #[must_use]
    pub fn is_at(&self, path: &Path) -> bool {
        let held = self.now();
        Self::take(path).is_ok_and(|found| held.is_ok_and(|held| found.object == held))
    }

    /// Opens it for reading. A pipe is not waited for.
    pub fn open_to_read(&self, path: &Path) -> io::Result<File> {
        self.open(path, false, libc::O_NONBLOCK | libc::O_NOCTTY)
    }

    /// Opens it for reading and writing. Nothing is created or cut.
    pub fn open_to_write(&self, path: &Path) -> io::Result<File> {
        self.open(path, true, libc::O_NONBLOCK | libc::O_NOCTTY)
    }

    /// Opens it through the descriptor (`/proc/thread-self/fd`, `proc(5)`), because a thread may have a
    /// table of its own. Where there is no `/proc`, or no descriptor was kept, its path is opened. In
    /// either case what was opened is compared, and given up if it is another object.
    pub(super) fn open(&self, path: &Path, write: bool, flags: libc::c_int) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(write).custom_flags(flags);
        let through = self.descriptor.as_ref().map(|file| options.open(link_of(file.as_raw_fd())));
        let file = match through {
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => None,
            Some(opened) => Some(opened?),
            None => None,
        };
        let file = match file {
            Some(file) => file,
            // Opening what is no file may have effects of its own.
            None if !self.is_at(path) => return Err(replaced()),
            None => options.open(path)?,
        };
        self.same(&file)?;
        Ok(file)
    }

    /// Fails if what was opened is another object.
    fn same(&self, opened: &File) -> io::Result<()> {
        if identity::object_of(opened)? == self.now()? { Ok(()) } else { Err(replaced()) }
    }

    /// What it is now: its number and its time of birth change when a file of an overlay is copied up.
    fn now(&self) -> io::Result<Object> {
        let now = self.descriptor.as_ref().map(identity::object_of).transpose()?;
        Ok(now.unwrap_or(self.object))
    }

    pub(super) fn descriptor(&self) -> Option<&File> {
        self.descriptor.as_ref()
    }

    /// The path that the kernel tells of it now, in this mount namespace; none where it was deleted, or
    /// where there is no `/proc`.
    #[must_use]
    pub fn path_now(&self) -> Option<PathBuf> {
        let link = link_of(self.descriptor.as_ref()?.as_raw_fd());
        let path = std::fs::read_link(link).ok()?;
        self.is_at(&path).then_some(path)
    }
}

pub(super) fn link_of(descriptor: RawFd) -> PathBuf {
    PathBuf::from(format!("/proc/thread-self/fd/{descriptor}"))
}

/// Why something that was checked is not used: another object stands there by now.
#[must_use]
pub fn replaced() -> io::Error {
    io::Error::other(
        "since it was checked, another file or device has taken its place; nothing was written to it. Find \
         out who changes the path, and run it again",
    )
}

/// A directory that is held, so that all that is made and removed in it stays in it.
#[derive(Debug)]
pub struct Directory(File);

/// What became of a name that was to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// It is gone.
    Removed,
    /// There was none.
    Absent,
    /// It stands for another object by now, and was left alone.
    Replaced,
}

impl Directory {
    /// Holds the directory that a path leads to.
    pub fn take(path: &Path) -> io::Result<Self> {
        Ok(Self(without_access(path, libc::O_DIRECTORY)?))
    }

    /// Makes a file that must not be there yet, whatever stands in its place, and opens it for reading and
    /// writing.
    pub fn create_new(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
        self.open(name, flags, mode)
    }

    /// Makes a file without a name (`O_TMPFILE`), which is gone when it is closed, and opens it for reading
    /// and writing. `Unsupported` where the file system has none, or where it could get no name later.
    pub fn create_unnamed(&self, mode: u32) -> io::Result<File> {
        let opened = self.open(OsStr::new("."), libc::O_RDWR | libc::O_TMPFILE, mode);
        let file = opened.map_err(|error| match error.raw_os_error() {
            // A kernel or a file system that does not know the flag opens the directory.
            Some(libc::EISDIR | libc::EINVAL | libc::ENOENT) => io::ErrorKind::Unsupported.into(),
            _ => error,
        })?;
        match std::fs::symlink_metadata(link_of(file.as_raw_fd())) {
            Ok(_) => Ok(file),
            Err(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Gives a file that [has none](Self::create_unnamed) a name, at which nothing may stand
    /// (`AlreadyExists`).
    pub fn name(&self, file: &File, name: &OsStr) -> io::Result<()> {
        let link = CString::new(link_of(file.as_raw_fd()).as_os_str().as_bytes())?;
        let name = CString::new(name.as_bytes())?;
        let (at, flags) = (self.0.as_raw_fd(), libc::AT_SYMLINK_FOLLOW);
        // SAFETY: both names are NUL-terminated and outlive the call; the rest are integers.
        checked(
            unsafe { libc::linkat(libc::AT_FDCWD, link.as_ptr(), at, name.as_ptr(), flags) }.into(),
        )
    }

    /// Opens a file for writing as it stands, and makes it if there is none. No symbolic link is followed
    /// (`ELOOP`), and a pipe that nobody reads is not waited for (`ENXIO`).
    pub fn open_or_create(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_NOFOLLOW;
        self.open(name, flags | libc::O_NONBLOCK | libc::O_NOCTTY, mode)
    }

    /// Opens a file for reading as it stands. No symbolic link is followed, and no pipe waited for.
    pub fn open_to_read(&self, name: &OsStr) -> io::Result<File> {
        self.open(name, libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY, 0)
    }

    /// Holds what a name stands for; of a symbolic link the link itself.
    pub fn hold(&self, name: &OsStr) -> io::Result<Held> {
        Held::of(self.open(name, libc::O_PATH | libc::O_NOFOLLOW, 0)?)
    }

    /// Removes a name if it stands for `what`. It is moved aside first and looked at there, so that nothing
    /// that takes its place meanwhile is removed instead.
    pub fn remove(&self, name: &OsStr, what: Identity) -> io::Result<Removal> {
        match self.hold(name) {
            Ok(found) if found.identity() == what => {}
            Ok(_) => return Ok(Removal::Replaced),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Removal::Absent),
            Err(error) => return Err(error),
        }
        let aside = name_aside("removed");
        match self.rename(name, &aside, libc::RENAME_NOREPLACE) {
            // An old file system moves nothing without replacing: then the look a moment ago must do.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                return self.unlink(name).map(|()| Removal::Removed);
            }
            moved => moved?,
        }
        if self.hold(&aside)?.identity() == what {
            return self.unlink(&aside).map(|()| Removal::Removed);
        }
        self.rename(&aside, name, libc::RENAME_NOREPLACE).map(|()| Removal::Replaced)
    }

    /// Gives `from` the name `to`, at which nothing may stand (`AlreadyExists`).
    pub fn put(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match self.rename(from, to, libc::RENAME_NOREPLACE) {
            // An old file system moves nothing without replacing: then the look a moment ago must do.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => match self.hold(to) {
                Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
                Err(_) => self.rename(from, to, 0),
            },
            put => put,
        }
    }

    /// Puts `from` in the place of `what`, which `may_go`, at `to`. They change places first, so that
    /// whatever else stands at `to` by then goes back there, and `from` keeps its name.
    pub fn replace(
        &self,
        from: &OsStr,
        to: &OsStr,
        what: &Held,
        may_go: impl Fn() -> bool,
    ) -> io::Result<Removal> {
        let is = |found: Held| what.now().is_ok_and(|what| found.object == what);
        let is_at = |name| self.hold(name).is_ok_and(is);
        if !is_at(to) || !may_go() {
            return Ok(Removal::Replaced);
        }
        match self.rename(from, to, libc::RENAME_EXCHANGE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Removal::Replaced),
            // As above.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                return self.rename(from, to, 0).map(|()| Removal::Removed);
            }
            exchanged => exchanged?,
        }
        if is_at(from) && may_go() {
            return self.unlink(from).map(|()| Removal::Removed);
        }
        self.rename(from, to, libc::RENAME_EXCHANGE).map(|()| Removal::Replaced)
    }

    pub(super) fn descriptor(&self) -> &File {
        &self.0
    }

    fn open(&self, name: &OsStr, flags: libc::c_int, mode: u32) -> io::Result<File> {
        open_at(self.0.as_raw_fd(), name, flags, mode)
    }

    fn rename(&self, from: &OsStr, to: &OsStr, flags: libc::c_uint) -> io::Result<()> {
        let (from, to) = (CString::new(from.as_bytes())?, CString::new(to.as_bytes())?);
        let at = self.0.as_raw_fd();
        // The call itself, as old C libraries have no function for it.
        // SAFETY: both names are NUL-terminated and outlive the call; the rest are integers.
        checked(unsafe {
            libc::syscall(libc::SYS_renameat2, at, from.as_ptr(), at, to.as_ptr(), flags)
        })
    }

    fn unlink(&self, name: &OsStr) -> io::Result<()> {
        let name = CString::new(name.as_bytes())?;
        let name: &CStr = &name;
        // SAFETY: the name is NUL-terminated and outlives the call.
        checked(unsafe { libc::unlinkat(self.0.as_raw_fd(), name.as_ptr(), 0) }.into())
    }
}

pub(super) fn checked(status: libc::c_long) -> io::Result<()> {
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A name that nobody else uses, for what has no place of its own yet or any more; `what` says what that is.
#[must_use]
pub fn name_aside(what: &str) -> OsString {
    let process = std::process::id();
    let unique = RandomState::new().hash_one(process);
    format!(".fathom-{what}-{process}-{unique:016x}").into()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    fn two() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let home = tempfile::tempdir().expect("a temporary directory");
        let (one, other) = (home.path().join("one"), home.path().join("other"));
        fs::write(&one, "one").expect("a file");
        fs::write(&other, "other").expect("a file");
        (home, one, other)
    }

    #[test]
    fn what_is_held_is_opened_wherever_its_path_leads() {
        let (_home, one, other) = two();
        let held = Held::take(&one).expect("held");
        assert!(held.is_at(&one) && !held.is_at(&other));
        fs::rename(&other, &one).expect("replaced");
        let mut opened = held.open_to_write(&one).expect("opened");
        opened.write_all(b"ONE").expect("written");
        assert_eq!(fs::read_to_string(&one).expect("read"), "other");
        assert_eq!(
            io::read_to_string(held.open_to_read(&one).expect("open")).expect("read"),
            "ONE"
        );
        assert!(!held.is_at(&one) && held.path_now().is_none());
    }

    #[test]
    fn without_a_descriptor_another_object_is_refused() {
        let (_home, one, other) = two();
        let held = Held::take(&one).expect("held").without_descriptor();
        assert!(held.open_to_write(&one).is_ok() && held.metadata(&one).is_ok());
        fs::rename(&other, &one).expect("replaced");
        let error = held.open_to_write(&one).expect_err("another one").to_string();
        assert!(error.contains("another file or device has taken its place"), "{error}");
        assert!(held.metadata(&one).is_err());
    }

    #[test]
    fn an_inode_that_is_used_again_is_another_object() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = home.path().join("file");
        fs::write(&path, "ours").expect("a file");
        let held = Held::take(&path).expect("held").without_descriptor();
        fs::remove_file(&path).expect("removed");
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(&path, "theirs").expect("a file");
        assert!(held.open_to_write(&path).is_err());
    }

    #[test]
    fn what_is_made_in_a_directory_stays_there_and_only_that_is_removed() {
        let (home, one, other) = two();
        let directory = Directory::take(home.path()).expect("held");
        let name = OsStr::new("new");
        let made = directory.create_new(name, 0o600).expect("made");
        assert!(directory.create_new(name, 0o600).is_err(), "twice");
        let made = identity::of_open(&made).expect("a look");
        assert_eq!(directory.remove(OsStr::new("one"), made).expect("a look"), Removal::Replaced);
        assert_eq!(directory.remove(name, made).expect("removed"), Removal::Removed);
        assert_eq!(directory.remove(name, made).expect("a look"), Removal::Absent);
        std::os::unix::fs::symlink(&one, home.path().join("link")).expect("a link");
        assert!(directory.create_new(OsStr::new("link"), 0o600).is_err());
        assert!(directory.open_or_create(OsStr::new("link"), 0o600).is_err());
        assert!(one.exists() && other.exists());
        assert_eq!(fs::read_dir(home.path()).expect("a folder").count(), 3);
    }

    #[test]
    fn a_file_gets_its_name_when_it_is_whole_and_takes_no_place_of_another() {
        let (home, one, _) = two();
        let directory = Directory::take(home.path()).expect("held");
        let mut made = match directory.create_unnamed(0o600) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => return,
            made => made.expect("made"),
        };
        made.write_all(b"whole").expect("written");
        assert_eq!(fs::read_dir(home.path()).expect("a folder").count(), 2);
        let taken = directory.name(&made, OsStr::new("one")).expect_err("taken");
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&one).expect("read"), "one");
        directory.name(&made, OsStr::new("new")).expect("named");
        assert_eq!(fs::read_to_string(home.path().join("new")).expect("read"), "whole");
    }

    #[test]
    fn what_takes_a_place_meanwhile_goes_back_to_it() {
        let (home, one, other) = two();
        let directory = Directory::take(home.path()).expect("held");
        let (new, name) = (OsStr::new("new"), OsStr::new("one"));
        fs::write(home.path().join(new), "new").expect("a file");
        let held = directory.hold(name).expect("held");
        assert!(directory.put(new, name).is_err());
        let changes_in_the_last_moment = std::cell::Cell::new(0);
        let may_go = || changes_in_the_last_moment.replace(1) == 0;
        for refused in [
            directory.replace(new, OsStr::new("other"), &held, || true),
            directory.replace(new, name, &held, || false),
            directory.replace(new, name, &held, may_go),
        ] {
            assert_eq!(refused.expect("a look"), Removal::Replaced);
            for (file, holds) in [(&one, "one"), (&other, "other"), (&home.path().join(new), "new")]
            {
                assert_eq!(fs::read_to_string(file).expect("read"), holds);
            }
        }
        let done = directory.replace(new, name, &held, || true);
        assert_eq!(done.expect("replaced"), Removal::Removed);
        assert_eq!(fs::read_to_string(&one).expect("read"), "new");
        assert_eq!(fs::read_dir(home.path()).expect("a folder").count(), 2);
    }
}
