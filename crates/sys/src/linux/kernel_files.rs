//! File systems whose files are no storage but switches of the kernel.

use std::fs::File;
use std::io;
use std::path::Path;

use super::held::Held;
use super::space::{fstatfs, statfs};

/// File systems that the kernel makes up, by the number that `statfs(2)` tells (`linux/magic.h`). A write to
/// a file there sets something: on efivarfs it can leave a machine that does not start any more.
const FILE_SYSTEMS: &[(u32, &str)] = &[
    (0x0000_9FA0, "proc"),
    (0x6265_6572, "sysfs"),
    (0xDE5E_81E4, "efivarfs"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0xF97C_FF8C, "selinuxfs"),
    (0x4341_5D53, "smackfs"),
    (0x0027_E0EB, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x6265_6570, "configfs"),
    (0x4249_4E4D, "binfmt_misc"),
    (0xCAFE_4A11, "bpf"),
    (0x6165_676C, "pstore"),
    (0x6573_5543, "fusectl"),
    (0x0765_5821, "resctrl"),
    (0x0000_1CD1, "devpts"),
    (0x1980_0202, "mqueue"),
    (0x6E73_6673, "nsfs"),
];

/// File systems whose I/O a server answers, which may be a process of this machine, by the number that
/// `statfs(2)` tells (`linux/magic.h`, `fs/smb/client/cifsfs.h`, and the sources of those that lie
/// outside the kernel).
pub(super) const SERVED: &[(u32, &str)] = &[
    (0x6573_5546, "FUSE"),
    (0x0000_6969, "NFS"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB"),
    (0x0000_517B, "SMB"),
    (0x0102_1997, "9p"),
    (0x00C3_6400, "Ceph"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "AFS"),
    (0x0BD0_0BD0, "Lustre"),
    (0x786F_4256, "VirtualBox"),
    (0x2003_0528, "OrangeFS"),
    (0x1983_0326, "BeeGFS"),
    (0x4750_4653, "GPFS"),
    (0x7375_7245, "Coda"),
];

/// File systems on a device that other hosts use as well.
const SHARED: &[(u32, &str)] = &[(0x0116_1970, "GFS2"), (0x7461_636F, "OCFS2")];

/// An overlay (`linux/magic.h`): the layers of its files may be written without it.
const OVERLAY: u32 = 0x794C_7630;

/// Whether what others do to an open file may go past the kernel's notes of it: its file system is served,
/// shared, or an overlay, or cannot be told.
#[must_use]
pub fn is_reached_by_others(file: &File) -> bool {
    let mut of_others =
        [SERVED, SHARED].into_iter().flatten().map(|(magic, _)| *magic).chain([OVERLAY]);
    fstatfs(file).map_or(true, |answer| of_others.any(|other| other == kind(&answer)))
}

/// The file system that something held lies on, if others serve or share it.
pub fn served(held: &Held, path: &Path) -> io::Result<Option<&'static str>> {
    Ok(find(SERVED, held, path)?.or(find(SHARED, held, path)?))
}

/// The kernel's own file system that something held lies on; none if it lies on another.
pub fn file_system(held: &Held, path: &Path) -> io::Result<Option<&'static str>> {
    find(FILE_SYSTEMS, held, path)
}

/// The kernel's own file system that a path lies on; none if it lies on another, or cannot be asked.
#[must_use]
pub fn file_system_of(path: &Path) -> Option<&'static str> {
    named(FILE_SYSTEMS, &statfs(path).ok()?)
}

fn find(
    among: &'static [(u32, &'static str)],
    held: &Held,
    path: &Path,
) -> io::Result<Option<&'static str>> {
    let answer = match held.descriptor() {
        Some(file) => fstatfs(file)?,
        None => statfs(path)?,
    };
    Ok(named(among, &answer))
}

fn named(among: &[(u32, &'static str)], answer: &libc::statfs) -> Option<&'static str> {
    among.iter().find(|(magic, _)| *magic == kind(answer)).map(|(_, name)| *name)
}

/// The number of a file system's type. It has 32 bits; the field is a word of which each C library says
/// otherwise whether it is signed.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(super) fn kind(answer: &libc::statfs) -> u32 {
    answer.f_type as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_of_the_kernel_are_told_from_files() {
        let told = |path: &str| {
            let path = Path::new(path);
            file_system(&Held::take(path).expect("held"), path).expect("a look")
        };
        assert_eq!(told("/proc/self/oom_score_adj"), Some("proc"));
        assert_eq!(told("/sys/kernel"), Some("sysfs"));
        let home = tempfile::NamedTempFile::new().expect("a file");
        assert_eq!(told(home.path().to_str().expect("a name")), None);
    }
}
