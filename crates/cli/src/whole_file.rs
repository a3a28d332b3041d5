//! Files of results, which hold the old content or the new one as a whole, whatever ends the process.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fathom_sys::file::open_in_place;
use fathom_sys::words::try_lock;

/// Between looks at whether another process has written its result.
const PAUSE: Duration = Duration::from_millis(5);

/// A result names the host, its disks with their serial numbers, and the command line: it is its owner's.
const PRIVATE: u32 = 0o600;

/// Writes a file beside its place, flushes it, and puts it there in one step (rename(2)).
///
/// What is no regular file, such as a pipe, is written as it stands; so is a file whose folder takes no
/// other. A process that is killed leaves at most the unfinished file, which the next one takes over.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    // A link stays, and what it names is replaced.
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let before = fs::metadata(&place).ok();
    if before.as_ref().is_some_and(|found| !found.is_file()) {
        return fs::write(&place, content);
    }
    let mode = before.as_ref().map_or(PRIVATE, |found| found.mode() & PRIVATE);
    let name = unfinished(&place);
    let mut file = match claimed(&name) {
        Err(error) if is_no_room_beside(&error) => return in_place(&place, content),
        other => other?,
    };
    let written = finish(&mut file, content, mode).and_then(|()| fs::rename(&name, &place));
    if written.is_err() {
        // The first error tells more than one of tidying up.
        let _left = fs::remove_file(&name);
    }
    written
}

/// Writes a file whose folder takes no other one.
fn in_place(place: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(PRIVATE);
    options.open(place)?.write_all(content)
}

fn finish(file: &mut File, content: &[u8], mode: u32) -> io::Result<()> {
    // Of an unfinished file that somebody else's settings made, nothing is shown to others either. The mask
    // of the process still takes from what a new file gets, and what was stricter stays so.
    let private = file.metadata()?.mode() & mode;
    file.set_permissions(fs::Permissions::from_mode(private))?;
    file.set_len(0)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Opens the unfinished file for this process alone; another one that writes the same result is awaited.
fn claimed(name: &Path) -> io::Result<File> {
    loop {
        let file = open_in_place(name).map_err(|error| in_the_way(name).unwrap_or(error))?;
        // It is written through none of its other names either.
        if !is_plain(&file.metadata()?) {
            return Err(in_the_way(name).unwrap_or_else(|| refused(name, "is no plain file")));
        }
        while !try_lock(&file)? {
            std::thread::sleep(PAUSE);
        }
        // Whoever was awaited has put it in place: then this is the finished file, and not ours.
        let ours = file.metadata()?;
        let is_ours = |found: fs::Metadata| (found.dev(), found.ino()) == (ours.dev(), ours.ino());
        if fs::symlink_metadata(name).is_ok_and(is_ours) {
            return Ok(file);
        }
    }
}

/// Whether a file is written by this name alone; one that has just been put in place may have none here.
fn is_plain(found: &fs::Metadata) -> bool {
    found.is_file() && found.nlink() <= 1
}

/// What somebody has put where the unfinished file goes, so that this program would write elsewhere.
fn in_the_way(name: &Path) -> Option<io::Error> {
    let found = fs::symlink_metadata(name).ok()?;
    let what = match found.file_type() {
        kind if kind.is_symlink() => "is a symbolic link",
        kind if kind.is_dir() => "is a folder",
        kind if !kind.is_file() => "is a pipe, a socket or a device",
        _ if found.nlink() > 1 => "has another name, too (a hard link)",
        _ => return None,
    };
    Some(refused(name, what))
}

fn refused(name: &Path, what: &str) -> io::Error {
    io::Error::other(format!(
        "'{}', which it is written to first, {what}, and is not written through: remove it",
        name.display()
    ))
}

fn unfinished(place: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(place.file_name().unwrap_or_default());
    name.push(".unfinished");
    place.with_file_name(name)
}

fn is_no_room_beside(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | InvalidFilename)
}

#[cfg(test)]
mod tests {
    use super::*;

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
