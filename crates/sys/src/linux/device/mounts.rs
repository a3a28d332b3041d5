//! The mounts that this process sees, as `/proc/self/mountinfo` lists them; see proc(5).

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

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
    /// Whether `path` lies under the place. The last mount for which this is so holds the path.
    pub fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.place)
    }

    /// The directories that an overlay is made of, the one that takes the writes first; none of another
    /// file system. A colon within a name stands behind a backslash (`overlayfs.rst` of the kernel).
    pub fn layers(&self) -> Vec<PathBuf> {
        if self.file_system != "overlay" {
            return Vec::new();
        }
        let options = self.options.split(',').filter_map(|option| option.split_once('='));
        let named = |wanted: &'static [&'static str]| {
            let of = options.clone().filter(move |(name, _)| wanted.contains(name));
            of.map(|(_, value)| unescape(value).to_string_lossy().into_owned())
        };
        let several = named(&["lowerdir", "lowerdir+", "datadir+"]);
        let several = several.flat_map(|text| {
            let text = text.replace("\\:", "\u{0}");
            let parts = text.split(':').filter(|part| !part.is_empty());
            parts.map(|part| part.replace('\u{0}', ":")).collect::<Vec<_>>()
        });
        named(&["upperdir"]).chain(several).map(PathBuf::from).collect()
    }

    /// Whether another host serves it.
    pub fn is_remote(&self) -> bool {
        REMOTE.contains(&self.file_system.as_str())
    }
}

/// All mounts, the deepest and latest last.
#[must_use]
pub fn read() -> Vec<Mount> {
    parse(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
}

/// The mounts that a text of `mountinfo` lists, the deepest and latest last.
pub fn parse(text: &str) -> Vec<Mount> {
    let mut mounts: Vec<Mount> = text.lines().filter_map(parse_line).collect();
    mounts.sort_by_key(|mount| mount.place.components().count());
    mounts
}

fn parse_line(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let id = left.split(' ').next()?.parse().ok()?;
    let [number, root, place, options] = fields(left.splitn(7, ' ').skip(2))?;
    let [file_system, source, super_options] = fields(right.split(' '))?;
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
