//! By which way something was reached that is held: the mount, and the path there.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use super::held::{Directory, Held, link_of};

/// A mount, and a path on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// What the kernel calls the mount in `/proc/self/mountinfo`.
    pub mount: u64,
    /// The path as the kernel tells it in this mount namespace.
    pub path: PathBuf,
}

/// How an object was reached; none where no descriptor is kept, or where there is no `/proc`.
#[must_use]
pub fn object(held: &Held) -> Option<Reached> {
    of(held.descriptor()?)
}

/// How a directory was reached; none where there is no `/proc`.
#[must_use]
pub fn directory(held: &Directory) -> Option<Reached> {
    of(held.descriptor())
}

fn of(file: &File) -> Option<Reached> {
    let descriptor = file.as_raw_fd();
    // proc(5): the mount is reported since Linux 3.15.
    let told = fs::read_to_string(format!("/proc/thread-self/fdinfo/{descriptor}")).ok()?;
    let mount = told.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()?;
    Some(Reached { mount, path: fs::read_link(link_of(descriptor)).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::mounts;

    #[test]
    fn what_is_held_lies_on_a_mount_that_is_listed() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let place = home.path().canonicalize().expect("a path");
        fs::write(place.join("file"), "x").expect("a file");
        let file = object(&Held::take(&place.join("file")).expect("held")).expect("a mount");
        let folder = directory(&Directory::take(&place).expect("held")).expect("a mount");
        assert_eq!((file.path, folder.path), (place.join("file"), place.clone()));
        assert_eq!(file.mount, folder.mount);
        let mounts = mounts::read();
        let mount = mounts.iter().find(|mount| mount.id == file.mount).expect("listed");
        assert!(mount.holds(&place));
    }
}
