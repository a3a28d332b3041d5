//! What this process may do with a file or a folder, without opening it: who else looks for opened files sees
//! nothing of that.

use std::ffi::CString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use caps::{CapSet, Capability};

use super::places::folder_of;
use super::process::effective_user;
use super::{kernel_files, space, statx};

/// Why something may not be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoAccess {
    /// The kind of the kernel's answer.
    pub kind: ErrorKind,
    /// It in words, as a clause.
    pub words: String,
    /// What helps, or goes without it.
    pub remedy: &'static str,
}

const ANOTHER: &str = "name another";
const ANOTHER_ACCOUNT: &str = "use an account that may, or name another";

impl From<NoAccess> for io::Error {
    fn from(why: NoAccess) -> Self {
        Self::new(why.kind, why.words)
    }
}

/// Whether a file or device may be read.
///
/// # Errors
/// If it may not; why.
pub fn may_read(path: &Path) -> Result<(), NoAccess> {
    if is_closed_device(path) {
        let words = "it is a device node on a file system that opens none (nodev)".to_owned();
        let remedy = "name the node of the device in /dev";
        return Err(NoAccess { kind: ErrorKind::PermissionDenied, words, remedy });
    }
    may(path, libc::R_OK)
}

/// Whether a file or device may be written, at any offset.
///
/// # Errors
/// If it may not; why.
pub fn may_write(path: &Path) -> Result<(), NoAccess> {
    if has_attribute(path, libc::STATX_ATTR_APPEND) {
        let words = "it only takes what is appended to it (chattr +a)".to_owned();
        let remedy = "name another, or have it taken back with chattr -a";
        return Err(NoAccess { kind: ErrorKind::PermissionDenied, words, remedy });
    }
    may(path, libc::W_OK)
}

/// Whether files may be made in a folder.
///
/// # Errors
/// If they may not; why.
pub fn may_make_in(folder: &Path) -> Result<(), NoAccess> {
    if let Some(name) = kernel_files::file_system_of(folder) {
        let words = format!("its folder is of {name}, where nobody makes files");
        return Err(NoAccess { kind: ErrorKind::PermissionDenied, words, remedy: ANOTHER });
    }
    may(folder, libc::W_OK | libc::X_OK).map_err(|why| NoAccess {
        words: format!("its folder takes no new file: {}", why.words),
        ..why
    })
}

/// Whether a file may be put in the place of `path`, at which one may stand.
///
/// # Errors
/// If it may not; why.
pub fn may_replace(path: &Path) -> Result<(), NoAccess> {
    if has_attribute(folder_of(path), libc::STATX_ATTR_APPEND) {
        let words =
            "its folder takes new files, and nothing in it is renamed (chattr +a)".to_owned();
        return Err(NoAccess { kind: ErrorKind::PermissionDenied, words, remedy: ANOTHER });
    }
    let is_fixed = |attribute| has_attribute(path, attribute);
    if is_fixed(libc::STATX_ATTR_APPEND) || is_fixed(libc::STATX_ATTR_IMMUTABLE) {
        return may_write(path);
    }
    if is_kept_for_its_owner(path) {
        let words = "it is another account's, and its folder lets only that replace it (sticky)";
        let (kind, words) = (ErrorKind::PermissionDenied, words.to_owned());
        return Err(NoAccess { kind, words, remedy: ANOTHER });
    }
    match may(path, libc::W_OK) {
        Err(why) if why.kind == ErrorKind::ReadOnlyFilesystem => Err(why),
        _ => Ok(()),
    }
}

/// Whether a file is mounted by itself, as into a container: then it can be written, and nothing put in its
/// place.
#[must_use]
pub fn is_mounted_alone(path: &Path) -> bool {
    has_attribute(path, libc::STATX_ATTR_MOUNT_ROOT)
}

/// Whether a folder with the sticky bit keeps what stands at a path for its owner (`rename(2)`).
fn is_kept_for_its_owner(path: &Path) -> bool {
    let folder = fs::metadata(folder_of(path));
    let (Ok(file), Ok(folder)) = (fs::symlink_metadata(path), folder) else { return false };
    let own = effective_user();
    let is_free = caps::has_cap(None, CapSet::Effective, Capability::CAP_FOWNER).unwrap_or(false);
    folder.mode() & libc::S_ISVTX != 0 && !is_free && ![file.uid(), folder.uid()].contains(&own)
}

fn may(path: &Path, mode: libc::c_int) -> Result<(), NoAccess> {
    let Err(error) = access(path, mode) else { return Ok(()) };
    let (kind, words) = (error.kind(), error.to_string());
    match error.raw_os_error() {
        Some(libc::EPERM) if has_attribute(path, libc::STATX_ATTR_IMMUTABLE) => {
            let remedy = "name another, or have it taken back with chattr -i";
            Err(NoAccess { kind, words: "it is immutable (chattr +i)".to_owned(), remedy })
        }
        // An older kernel, and a sandbox that does not know the call: opening it will tell.
        Some(libc::EPERM | libc::ENOSYS) => Ok(()),
        Some(libc::EACCES) => Err(NoAccess { kind, words, remedy: ANOTHER_ACCOUNT }),
        _ => Err(NoAccess { kind, words, remedy: ANOTHER }),
    }
}

/// `faccessat2(2)` with the rights that count when something is opened. C libraries ask an older call where
/// the kernel does not have it, which leaves out the capabilities of an ordinary account.
fn access(path: &Path, mode: libc::c_int) -> io::Result<()> {
    let name = CString::new(path.as_os_str().as_encoded_bytes())?;
    let (folder, flags) = (libc::AT_FDCWD, libc::AT_EACCESS);
    // SAFETY: the path is a string that ends with 0 and lives until the call returns.
    let answer = unsafe { libc::syscall(libc::SYS_faccessat2, folder, name.as_ptr(), mode, flags) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether it is the node of a block device where nodes lead to nothing.
fn is_closed_device(path: &Path) -> bool {
    let is_device = fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device());
    is_device && space::has_mount_flag(path, libc::ST_NODEV)
}

/// Whether the file system says that something has an attribute (`STATX_ATTR_*`).
fn has_attribute(path: &Path, attribute: libc::c_int) -> bool {
    let found = statx::of_path(path, libc::AT_STATX_SYNC_AS_STAT, libc::STATX_TYPE);
    found.is_ok_and(|found| found.stx_attributes & u64::from(attribute.unsigned_abs()) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_may_be_used_and_what_is_not_says_so() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let file = home.path().join("file");
        fs::write(&file, "x").expect("a file");
        assert_eq!((may_read(&file), may_write(&file)), (Ok(()), Ok(())));
        assert_eq!(may_make_in(home.path()), Ok(()));
        let none = may_read(&home.path().join("none")).expect_err("nothing is there");
        assert_eq!(none.kind, ErrorKind::NotFound);
    }

    #[test]
    fn nobody_makes_files_among_those_of_the_kernel() {
        for (folder, name) in [("/proc/self", "proc"), ("/sys", "sysfs")] {
            let why = may_make_in(Path::new(folder)).expect_err("files of the kernel");
            assert!(why.words.contains(name), "{}", why.words);
            assert_eq!(why.remedy, "name another", "no account may");
        }
    }
}
