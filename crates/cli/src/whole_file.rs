//! Files of results, which hold the old content or the new one as a whole, whatever ends the process.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fathom_core::report::json;
use fathom_sys::access::is_mounted_alone;
use fathom_sys::held::{Directory, Held, Removal};
use fathom_sys::identity::{self, Identity};
use fathom_sys::places::{folder_of, real_path};
use fathom_sys::words::LockedFile;

/// Between looks at whether another process has written its result.
const PAUSE: Duration = Duration::from_millis(5);

/// A result names the host, its disks with their serial numbers, and the command line: it is its owner's.
const PRIVATE: u32 = 0o600;

/// Where a result goes: a name in a folder that is held, and the file that was looked at there.
#[derive(Debug)]
pub struct Place {
    /// As it was requested.
    path: PathBuf,
    directory: Directory,
    name: OsString,
    found: Option<Held>,
    may_overwrite: bool,
}

impl Place {
    /// Looks at the file that stands at a path, if there is one, and holds it and its folder. A link stays,
    /// and what it names is looked at.
    pub fn look(path: &Path, may_overwrite: bool) -> io::Result<Self> {
        let real = fs::canonicalize(path).unwrap_or_else(|_| real_path(path));
        let name = real.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_owned();
        let directory = Directory::take(folder_of(&real))?;
        let found = match directory.hold(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            found => Some(found?),
        };
        let place = Self { path: path.to_owned(), directory, name, found, may_overwrite };
        match place.metadata()? {
            Some(found) if !found.is_file() => Err(io::Error::other("it is no file any longer")),
            _ => Ok(place),
        }
    }

    /// The path that was requested.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that was looked at, if there is one.
    pub fn object(&self) -> Option<Identity> {
        self.found.as_ref().map(Held::identity)
    }

    fn metadata(&self) -> io::Result<Option<fs::Metadata>> {
        self.found.as_ref().map(|found| found.metadata(&self.path)).transpose()
    }

    /// Whether the file itself is mounted, so that no other one can take its place.
    fn is_mounted(&self) -> bool {
        let real = || fs::canonicalize(&self.path).unwrap_or_else(|_| real_path(&self.path));
        self.found.is_some() && is_mounted_alone(&real())
    }

    /// Whether the file has no content now.
    pub fn is_empty(&self) -> bool {
        matches!(self.metadata(), Ok(Some(found)) if found.len() == 0)
    }

    /// Whether the file may be replaced, as it is now: it is a result of ours with nothing added, or empty,
    /// or was said to be worth nothing. One that may not be read, such as a drop box, is none of ours.
    pub fn may_be_replaced(&self) -> bool {
        let Some(found) = self.found.as_ref().filter(|_| !self.may_overwrite) else { return true };
        let read = |mut file: File| {
            let mut text = Vec::new();
            io::Read::read_to_end(&mut file, &mut text).map(|_| text)
        };
        let text = found.open_to_read(&self.path).and_then(read);
        text.is_ok_and(|text| text.is_empty() || json::is_ours(&text))
    }

    /// Writes a file beside the place, flushes it, and puts it there in one step (`renameat2(2)`), if what
    /// was looked at still stands there; if something else does, that stays, and the result has another name.
    ///
    /// A file whose folder takes no other, or that is mounted there by itself, is written as it stands. A
    /// process that is killed leaves at most the unfinished file, which the next one takes over.
    pub fn write(&self, content: &[u8]) -> io::Result<()> {
        if self.is_mounted() {
            return self.in_place(content);
        }
        let mode = self.metadata()?.map_or(PRIVATE, |found| found.mode() & PRIVATE);
        let name = unfinished(&self.name);
        let file = match self.claimed(&name) {
            Err(error) if is_no_room_beside(&error) => return self.in_place(content),
            other => other?,
        };
        let ours = identity::of_open(&file)?;
        let ready = finish(&file, content, mode).and_then(|()| self.set_aside(&name, ours));
        let aside = ready.inspect_err(|_| {
            // The first error tells more than one of tidying up.
            let _left = self.directory.remove(&name, ours);
        })?;
        if self.put(&aside)? { self.say_where(&file) } else { Err(self.kept(&aside)) }
    }

    /// Gives the finished file a name that nobody takes over; tells which.
    fn set_aside(&self, name: &OsStr, ours: Identity) -> io::Result<OsString> {
        let unique = RandomState::new().hash_one(name);
        let aside = OsString::from(format!("fathom-result-{unique:016x}.json"));
        self.directory.put(name, &aside)?;
        if self.directory.hold(&aside)?.identity() == ours {
            return Ok(aside);
        }
        self.directory.put(&aside, name)?;
        Err(refused(name, "has been replaced meanwhile"))
    }

    /// Puts the file in its place, unless something stands there that was not looked at.
    fn put(&self, aside: &OsStr) -> io::Result<bool> {
        let found = self.found.as_ref().filter(|_| self.directory.hold(&self.name).is_ok());
        let put = match found {
            Some(found) => {
                let may_go = || self.may_be_replaced();
                let removal = self.directory.replace(aside, &self.name, found, may_go);
                removal.map(|removal| removal == Removal::Removed)
            }
            // Nobody's is lost either if what was looked at is gone.
            None => match self.directory.put(aside, &self.name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
                put => put.map(|()| true),
            },
        };
        put.map_err(|error| io::Error::other(format!("{error}; {}", self.told(aside))))
    }

    /// Fails if the path leads elsewhere by now, and tells where the result is.
    fn say_where(&self, file: &File) -> io::Result<()> {
        let written = Held::of(file.try_clone()?)?;
        let elsewhere = (!written.is_at(&self.path)).then(|| written.path_now()).flatten();
        let Some(elsewhere) = elsewhere else { return Ok(()) };
        Err(io::Error::other(format!(
            "since it was looked at, its folder was moved, or a link leads elsewhere; the result is in '{}': \
             look at it there",
            elsewhere.display()
        )))
    }

    fn kept(&self, aside: &OsStr) -> io::Error {
        io::Error::other(format!(
            "since it was looked at, it was changed or another file has taken its place, which stays; {}",
            self.told(aside)
        ))
    }

    fn told(&self, aside: &OsStr) -> String {
        let now = self.directory.hold(aside).ok().and_then(|file| file.path_now());
        let path = now.unwrap_or_else(|| self.path.with_file_name(aside));
        format!("the result is in '{}': look at both, and rename the one you want", path.display())
    }

    /// Writes a file whose folder takes no other one.
    fn in_place(&self, content: &[u8]) -> io::Result<()> {
        let mut file = match &self.found {
            None => self.directory.create_new(&self.name, PRIVATE)?,
            Some(found) if found.is_at(&self.path) && self.may_be_replaced() => {
                found.open_to_write(&self.path)?
            }
            Some(_) => {
                return Err(io::Error::other(
                    "since it was looked at, it was changed or another file has taken its place, which \
                     stays; its folder takes no other file: the result is on standard output only",
                ));
            }
        };
        file.set_len(0)?;
        file.write_all(content)
    }

    /// Opens the unfinished file for this process alone; another one that writes the same result is awaited.
    fn claimed(&self, name: &OsStr) -> io::Result<LockedFile> {
        loop {
            let opened = self.directory.open_or_create(name, PRIVATE);
            let file = opened.map_err(|error| self.in_the_way(name).unwrap_or(error))?;
            // It is written through none of its other names either.
            if !is_plain(&file.metadata()?) {
                let why = self.in_the_way(name);
                return Err(why.unwrap_or_else(|| refused(name, "is no plain file")));
            }
            let Some(file) = LockedFile::try_lock(file)? else {
                std::thread::sleep(PAUSE);
                continue;
            };
            // Whoever was awaited has put it in place: then this is the finished file, and not ours.
            let ours = identity::of_open(&file)?;
            if self.directory.hold(name).is_ok_and(|found| found.identity() == ours) {
                return Ok(file);
            }
        }
    }

    /// What somebody has put where the unfinished file goes, so that this program would write elsewhere.
    fn in_the_way(&self, name: &OsStr) -> Option<io::Error> {
        let found = self.directory.hold(name).and_then(|found| found.metadata(&self.path)).ok()?;
        let what = match found.file_type() {
            kind if kind.is_symlink() => "is a symbolic link",
            kind if kind.is_dir() => "is a folder",
            kind if !kind.is_file() => "is a pipe, a socket or a device",
            _ if found.nlink() > 1 => "has another name, too (a hard link)",
            _ => return None,
        };
        Some(refused(name, what))
    }
}

fn finish(mut file: &File, content: &[u8], mode: u32) -> io::Result<()> {
    // Of an unfinished file that somebody else's settings made, nothing is shown to others either. The mask
    // of the process still takes from what a new file gets, and what was stricter stays so.
    let private = file.metadata()?.mode() & mode;
    file.set_permissions(fs::Permissions::from_mode(private))?;
    file.set_len(0)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Whether a file is written by this name alone; one that has just been put in place may have none here.
fn is_plain(found: &fs::Metadata) -> bool {
    found.is_file() && found.nlink() <= 1
}

fn refused(name: &OsStr, what: &str) -> io::Error {
    io::Error::other(format!(
        "'{}' in its folder, which it is written to first, {what}, and is not written through: remove it",
        name.display()
    ))
}

fn unfinished(name: &OsStr) -> OsString {
    let mut unfinished = OsString::from(".");
    unfinished.push(name);
    unfinished.push(".unfinished");
    unfinished
}

fn is_no_room_beside(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | InvalidFilename)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, content: &[u8]) -> io::Result<()> {
        Place::look(path, true)?.write(content)
    }

    fn unfinished(place: &Path) -> PathBuf {
        place.with_file_name(super::unfinished(place.file_name().unwrap()))
    }

    fn folder(name: &str) -> PathBuf {
        let made = std::env::temp_dir().join(format!("whole-file-{name}-{}", std::process::id()));
        fs::create_dir_all(&made).unwrap();
        made
    }

    #[test]
    fn the_old_file_is_replaced_and_never_written_into() {
        let folder = folder("replaced");
        let place = folder.join("result.json");
        fs::write(&place, "old").unwrap();
        let mut old = File::open(&place).unwrap();
        write(&place, b"new").unwrap();
        assert_eq!(io::read_to_string(&mut old).unwrap(), "old");
        assert_eq!(fs::read_to_string(&place).unwrap(), "new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    /// Break 12: results carry serial numbers, the host's name and the command line.
    #[test]
    fn a_result_could_be_read_by_everybody() {
        let folder = folder("mode");
        let place = folder.join("result.json");
        let mode = || fs::metadata(&place).unwrap().mode() & 0o777;
        write(&place, b"{}").unwrap();
        assert_eq!(mode(), 0o600, "new");
        for (before, after) in [(0o644, 0o600), (0o666, 0o600), (0o400, 0o400), (0o600, 0o600)] {
            fs::set_permissions(&place, fs::Permissions::from_mode(before)).unwrap();
            write(&place, b"{}").unwrap();
            assert_eq!(mode(), after, "{before:o}");
        }
        fs::write(unfinished(&place), "of a killed process").unwrap();
        fs::set_permissions(unfinished(&place), fs::Permissions::from_mode(0o666)).unwrap();
        fs::remove_file(&place).unwrap();
        write(&place, b"{}").unwrap();
        assert_eq!(mode(), 0o600, "taken over");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_a_killed_process_left_is_taken_over() {
        let folder = folder("left");
        let place = folder.join("result.json");
        fs::write(unfinished(&place), "{\"half of a very long").unwrap();
        write(&place, b"{}").unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "{}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = folder("link");
        fs::write(folder.join("real.json"), "old").unwrap();
        std::os::unix::fs::symlink("real.json", folder.join("link.json")).unwrap();
        write(&folder.join("link.json"), b"new").unwrap();
        assert!(fs::symlink_metadata(folder.join("link.json")).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(folder.join("real.json")).unwrap(), "new");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_link_planted_where_the_unfinished_file_goes_was_written_through() {
        use std::os::unix::fs::symlink;
        let plant: [fn(&Path, &Path); 3] = [
            |victim, at| symlink(victim, at).unwrap(),
            |victim, at| symlink(victim.with_file_name("nothing yet"), at).unwrap(),
            |victim, at| fs::hard_link(victim, at).unwrap(),
        ];
        for (number, plant) in plant.iter().enumerate() {
            let folder = folder(&format!("planted-{number}"));
            let (place, victim) = (folder.join("result.json"), folder.join("victim"));
            fs::write(&victim, "precious").unwrap();
            fs::write(&place, "old").unwrap();
            plant(&victim, &unfinished(&place));
            let error = write(&place, b"new").unwrap_err().to_string();
            assert!(
                error.contains(".result.json.unfinished") && error.contains("remove it"),
                "{error}"
            );
            assert!(error.contains("link"), "{error}");
            assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
            assert_eq!(fs::read_to_string(&place).unwrap(), "old");
            assert!(!folder.join("nothing yet").exists());
            fs::remove_dir_all(folder).unwrap();
        }
    }

    #[test]
    fn a_pipe_where_the_unfinished_file_goes_is_not_waited_for() {
        let folder = folder("pipe");
        let place = folder.join("result.json");
        let made = std::process::Command::new("mkfifo").arg(unfinished(&place)).status().unwrap();
        assert!(made.success());
        let error = write(&place, b"new").unwrap_err().to_string();
        assert!(error.contains("is a pipe"), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }
}
