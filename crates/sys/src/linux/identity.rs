//! Which object a path leads to, whatever it is called.

use std::fs::File;
use std::io;
use std::path::Path;

use super::statx;

/// What tells one object from others.
const WANTED: u32 = libc::STATX_TYPE | libc::STATX_INO | libc::STATX_BTIME;

/// A regular file: the device number of its file system, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    /// Major and minor number.
    pub device: (u32, u32),
    /// The inode.
    pub inode: u64,
}

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Identity {
    /// A block device, by major and minor number.
    Device((u32, u32)),
    /// A regular file.
    File(FileId),
    /// Neither.
    Other,
}

/// An object, told from one that later gets its number.
#[derive(Debug, Clone, Copy)]
pub struct Object {
    /// What it is.
    pub identity: Identity,
    /// When it was born, in seconds and nanoseconds; nothing where the file system does not tell.
    born: Option<(i64, u32)>,
}

impl PartialEq for Object {
    /// A device is the same whatever node stands for it.
    fn eq(&self, other: &Self) -> bool {
        let is_device = matches!(self.identity, Identity::Device(_));
        self.identity == other.identity && (is_device || self.born == other.born)
    }
}

impl Eq for Object {}

/// The object behind `path`, with symbolic links followed.
///
/// What the kernel remembers is enough (`AT_STATX_DONT_SYNC`): a file server that does not answer
/// must not hold up a look at what other processes have open.
pub fn of(path: &Path) -> io::Result<Identity> {
    Ok(object(&statx::of_path(path, libc::AT_STATX_DONT_SYNC, WANTED)?).identity)
}

/// The object that is open, whatever its path leads to by now.
pub fn of_open(file: &File) -> io::Result<Identity> {
    Ok(object_of(file)?.identity)
}

/// The object that is open, told from others that ever have its number.
pub fn object_of(file: &File) -> io::Result<Object> {
    statx::of_open(file, libc::AT_STATX_DONT_SYNC, WANTED).map(|answer| object(&answer))
}

fn object(answer: &libc::statx) -> Object {
    let has_birth = answer.stx_mask & libc::STATX_BTIME != 0;
    let born = has_birth.then_some((answer.stx_btime.tv_sec, answer.stx_btime.tv_nsec));
    let identity = match u32::from(answer.stx_mode) & libc::S_IFMT {
        libc::S_IFBLK => Identity::Device((answer.stx_rdev_major, answer.stx_rdev_minor)),
        libc::S_IFREG => Identity::File(FileId {
            device: (answer.stx_dev_major, answer.stx_dev_minor),
            inode: answer.stx_ino,
        }),
        _ => Identity::Other,
    };
    Object { identity, born }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_what_it_leads_to() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let (file, hard, soft) =
            (home.path().join("file"), home.path().join("hard"), home.path().join("soft"));
        std::fs::write(&file, "x").expect("a file");
        std::fs::hard_link(&file, &hard).expect("a hard link");
        std::os::unix::fs::symlink(&file, &soft).expect("a symbolic link");
        let identity = of(&file).expect("a look");
        assert!(matches!(identity, Identity::File(_)));
        assert_eq!(of(&hard).expect("a look"), identity);
        assert_eq!(of(&soft).expect("a look"), identity);
        assert_eq!(of(home.path()).expect("a look"), Identity::Other);
        assert!(of(&home.path().join("nothing")).is_err());
    }

    #[test]
    fn what_is_open_stays_what_it_was_when_its_path_leads_elsewhere() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let (path, other) = (home.path().join("file"), home.path().join("other"));
        std::fs::write(&path, "x").expect("a file");
        std::fs::write(&other, "y").expect("a file");
        let (open, identity) = (File::open(&path).expect("open"), of(&path).expect("a look"));
        std::fs::rename(&other, &path).expect("replaced");
        assert_eq!(of_open(&open).expect("a look"), identity);
        assert_ne!(of(&path).expect("a look"), identity);
    }
}
