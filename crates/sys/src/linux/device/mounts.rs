//! The mounts that this process sees, as `/proc/self/mountinfo` lists them; see proc(5).

use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::super::{kernel_text, statx};

/// File systems that another host serves.
const REMOTE: [&str; 20] = [
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "fuse.ceph",
    "fuse.cephfs",
    "fuse.glusterfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.sshfs",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "orangefs",
    "pvfs2",
    "smb3",
    "smbfs",
];

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// What the kernel calls it.
    pub id: u64,
    /// Major and minor number of the device, or a number of its own.
    pub number: (u32, u32),
    /// What of the file system is mounted.
    pub root: PathBuf,
    /// Where it is mounted.
    pub place: PathBuf,
    /// What is mounted: a path of a device, or a word.
    pub source: String,
    /// Type of the file system.
    pub file_system: String,
    /// The mount or the file system takes no writes.
    pub is_read_only: bool,
    /// The options of the file system, as the kernel writes them.
    pub options: String,
}

impl Mount {
    /// Whether `path` lies under the place. The last mount for which this is so holds the path, unless
    /// another one was mounted above its place later: [`find`] knows that.
    pub fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.place)
    }

    /// The directories that an overlay is made of, the one that takes the writes first; none of another
    /// file system.
    pub fn layers(&self) -> Vec<PathBuf> {
        let Overlay { upper, lower, data } = self.overlay();
        upper.into_iter().chain(lower).chain(data).collect()
    }

    /// The directories of an overlay by their use; none of another file system. A colon within a name stands
    /// behind a backslash, and two colons begin what holds only data (`overlayfs.rst` of the kernel).
    pub fn overlay(&self) -> Overlay {
        let mut found = Overlay::default();
        if self.file_system != "overlay" {
            return found;
        }
        for (name, value) in self.options.split(',').filter_map(|option| option.split_once('=')) {
            match name {
                "upperdir" => found.upper = Some(unescape(value)),
                "lowerdir+" => found.lower.push(unescape(value)),
                "datadir+" => found.data.push(unescape(value)),
                // The kernel escapes the backslash, too.
                "lowerdir" => found.add_lower(&value.replace("\\134:", "\0").replace("\\:", "\0")),
                _ => {}
            }
        }
        found
    }

    /// Whether a layer of an overlay has a name that does not begin at the root: it may have meant another
    /// folder to whoever mounted it.
    pub fn has_relative_layers(&self) -> bool {
        self.layers().iter().any(|layer| layer.is_relative())
    }

    /// Where something stands in the file system that is mounted, by its path here; nothing if it does not
    /// lie under the place.
    pub fn inside(&self, path: &Path) -> Option<PathBuf> {
        let within = path.strip_prefix(&self.place).ok()?;
        let is_root = within.as_os_str().is_empty();
        Some(if is_root { self.root.clone() } else { self.root.join(within) })
    }

    /// Whether its file system writes all data to its journal first: it does so through the page cache.
    pub fn journals_data(&self) -> bool {
        self.options.split(',').any(|option| option == "data=journal")
    }

    /// Whether another host serves it.
    pub fn is_remote(&self) -> bool {
        REMOTE.contains(&self.file_system.as_str())
    }
}

/// The directories of an overlay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overlay {
    /// What takes the writes, if anything does.
    pub upper: Option<PathBuf>,
    /// What is merged below it, the highest first.
    pub lower: Vec<PathBuf>,
    /// What has only data, for files of the others that have only the rest.
    pub data: Vec<PathBuf>,
}

impl Overlay {
    /// Directories with colons between them, as the kernel writes them; a NUL stands for a colon of a name.
    fn add_lower(&mut self, marked: &str) {
        let (merged, data) = marked.split_once("::").unwrap_or((marked, ""));
        let split = |text: &str| -> Vec<PathBuf> {
            let parts = text.split(':').filter(|part| !part.is_empty());
            parts.map(|part| unescape(&part.replace('\0', ":"))).collect()
        };
        self.lower.extend(split(merged));
        self.data.extend(split(data));
    }
}

/// Where something lies, as the kernel tells it of the object, whatever its path looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// What the kernel calls the mount that it was reached by; absent before Linux 5.8.
    pub mount: Option<u64>,
    /// The number of its file system. Subvolumes of Btrfs have numbers of their own, which no mount shows.
    pub number: (u32, u32),
}

/// Where a path leads to, with symbolic links followed.
///
/// # Errors
/// If nothing is there, or it may not be looked at.
pub fn standing(path: &Path) -> io::Result<Standing> {
    let wanted = libc::STATX_TYPE | libc::STATX_MNT_ID;
    let answer = statx::of_path(path, libc::AT_STATX_DONT_SYNC, wanted)?;
    let is_told = answer.stx_mask & libc::STATX_MNT_ID != 0;
    Ok(Standing {
        mount: is_told.then_some(answer.stx_mnt_id),
        number: (answer.stx_dev_major, answer.stx_dev_minor),
    })
}

/// What distinguishes a directory from others, and from itself in another mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    /// What the kernel calls the mount.
    pub mount: u64,
    /// The number of its file system.
    pub number: (u32, u32),
    /// Its inode.
    pub inode: u64,
}

/// Which directory a path leads to. Nothing before Linux 5.8, which does not tell the mount.
///
/// # Errors
/// If nothing is there, or it may not be looked at.
pub fn spot(path: &Path) -> io::Result<Option<Spot>> {
    let wanted = libc::STATX_INO | libc::STATX_MNT_ID;
    let answer = statx::of_path(path, libc::AT_STATX_DONT_SYNC, wanted)?;
    let is_told = answer.stx_mask & libc::STATX_MNT_ID != 0;
    Ok(is_told.then_some(Spot {
        mount: answer.stx_mnt_id,
        number: (answer.stx_dev_major, answer.stx_dev_minor),
        inode: answer.stx_ino,
    }))
}

/// The mount among `mounts` that holds a path: the one that the kernel names. The text of a path names the
/// wrong one where a mount lies hidden beneath another. Nothing if the mount is none of these.
#[must_use]
pub fn find<'a>(mounts: &'a [Mount], path: &Path, standing: Option<Standing>) -> Option<&'a Mount> {
    let by_path = || mounts.iter().rfind(|mount| mount.holds(path));
    let Some(standing) = standing else { return by_path() };
    let is_it = |mount: &&Mount| mount.number == standing.number;
    let by_number = || {
        mounts
            .iter()
            .filter(is_it)
            .rfind(|mount| mount.holds(path))
            .or_else(|| mounts.iter().rfind(is_it))
    };
    match standing.mount {
        Some(id) => mounts.iter().find(|mount| mount.id == id).or_else(by_number),
        None => by_number().or_else(by_path),
    }
}

/// The mount that a path of this process lies on.
#[must_use]
pub fn of(path: &Path) -> Option<Mount> {
    find(&read(), path, standing(path).ok()).cloned()
}

/// All mounts, the deepest and latest last.
#[must_use]
pub fn read() -> Vec<Mount> {
    parse(&kernel_text::read(Path::new("/proc/self/mountinfo")).unwrap_or_default())
}

/// The mounts that a text of `mountinfo` lists, the deepest and latest last.
pub fn parse(text: &str) -> Vec<Mount> {
    let mut mounts = in_order(text);
    mounts.sort_by_key(|mount| mount.place.components().count());
    mounts
}

/// The same in the order of the text, the latest last.
#[must_use]
pub fn in_order(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let id = left.split(' ').next()?.parse().ok()?;
    let [number, root, place, options] = fields(left.splitn(7, ' ').skip(2))?;
    // Whoever mounts may name no source: then nothing stands between two spaces.
    let (file_system, right) = right.split_once(' ')?;
    let (source, super_options) = right.split_once(' ')?;
    let (major, minor) = number.split_once(':')?;
    let is_read_only =
        options.split(',').chain(super_options.split(',')).any(|option| option == "ro");
    Some(Mount {
        id,
        number: (major.parse().ok()?, minor.parse().ok()?),
        root: unescape(root),
        place: unescape(place),
        source: unescape(source).to_string_lossy().into_owned(),
        file_system: file_system.to_owned(),
        is_read_only,
        options: super_options.to_owned(),
    })
}

fn fields<'a, const N: usize>(mut from: impl Iterator<Item = &'a str>) -> Option<[&'a str; N]> {
    let fields = std::array::from_fn(|_| from.next().unwrap_or(""));
    fields.iter().all(|field| !field.is_empty()).then_some(fields)
}

/// Puts back what the kernel writes as a backslash and three octal digits: space, tab, newline
/// and the backslash.
pub fn unescape(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let octal = tail.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if first == b'\\' => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bind mount of `/real` over `/m` hides the tmpfs at `/m/a/b`.
    const HIDING: &str = "\
21 1 8:1 / / rw - ext4 /dev/sda1 rw
40 21 0:60 / /m/a/b rw - tmpfs t1 rw
41 21 8:17 /real /m/a rw - xfs /dev/sdb1 rw
";

    fn found(mount: Option<u64>, number: (u32, u32)) -> Option<u64> {
        let path = Path::new("/m/a/b/f.dat");
        find(&parse(HIDING), path, Some(Standing { mount, number })).map(|mount| mount.id)
    }

    #[test]
    fn a_mount_that_another_hides_holds_nothing() {
        assert_eq!(found(Some(41), (8, 17)), Some(41));
        assert_eq!(found(None, (8, 17)), Some(41), "by the number of the file system");
        assert_eq!(found(Some(40), (0, 60)), Some(40));
        // Another namespace has its own mounts of the same file system.
        assert_eq!(found(Some(77), (8, 17)), Some(41));
        assert_eq!(found(Some(77), (0, 1)), None, "and what is mounted nowhere has none");
        // A subvolume whose mount is not told: its path has to do.
        assert_eq!(found(None, (0, 99)), Some(40));
    }

    #[test]
    fn the_kernel_names_the_mount_of_a_file() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mount = of(file.path()).expect("a mount");
        let told = standing(file.path()).expect("a look");
        assert!(told.mount.is_none_or(|id| id == mount.id), "{told:?} {mount:?}");
    }

    /// Such a line was skipped, and what lies there was taken for what lies above it.
    #[test]
    fn a_mount_without_a_source_is_one() {
        let mounts = parse("30 21 0:45 / /m rw,relatime - tmpfs  rw,size=4k\n");
        assert_eq!((mounts[0].source.as_str(), mounts[0].options.as_str()), ("", "rw,size=4k"));
    }

    #[test]
    fn only_a_mount_that_journals_data_is_said_to_do_so() {
        let of = |options: &str| {
            parse(&format!("30 21 8:1 / /m rw - ext4 /dev/sda1 {options}\n"))[0].journals_data()
        };
        assert!(of("rw,nodelalloc,data=journal"));
        assert!(!of("rw") && !of("rw,data=ordered") && !of("rw,journal_path=/data=journal"));
    }

    #[test]
    fn directories_of_an_overlay_come_by_their_use() {
        let of = |options: &str| {
            parse(&format!("30 21 0:45 / /m rw - overlay overlay {options}\n"))[0].overlay()
        };
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let old = of("rw,lowerdir=/a\\134:b:/c::/d:/e,upperdir=/u,workdir=/w");
        assert_eq!(old.upper, Some("/u".into()));
        assert_eq!((old.lower, old.data), (paths(&["/a:b", "/c"]), paths(&["/d", "/e"])));
        let new = of("ro,lowerdir+=/a:b,lowerdir+=/c,datadir+=/d");
        assert_eq!(new.upper, None);
        assert_eq!((new.lower, new.data), (paths(&["/a:b", "/c"]), paths(&["/d"])));
    }
}
