//! What a path leads to, and which disks there are. Nothing is opened for writing, and devices
//! are asked through sysfs, so that looking at one has no effect on it.

mod disks;
pub mod mounts;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::access::{NoAccess, may_make_in, may_read, may_write};
use super::holders::device_number;
use super::identity::{self, Identity};
use super::places::{folder_of, real_path};
use super::statx;
pub use disks::{Disk, Label, disks, label};

/// What kind of object a path leads to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PathKind {
    /// A regular file.
    File,
    /// A block device.
    BlockDevice,
    /// A directory.
    Directory,
    /// A character device.
    CharacterDevice,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// Nothing, yet.
    #[default]
    Missing,
}

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathFacts {
    /// The object itself, with all symbolic links resolved; if nothing is there, its name in the
    /// directory that would hold it, with all symbolic links to the directory resolved.
    pub path: PathBuf,
    /// What tells it from all others, whatever it is called; absent for what can be no target.
    pub identity: Option<Identity>,
    /// What it is.
    pub kind: PathKind,
    /// Its size in bytes; 0 for what has none.
    pub size_bytes: u64,
    /// It is a device that `/sys` does not show, so that its size is not known.
    pub is_unsized: bool,
    /// The unit of I/O past the page cache.
    pub logical_sector_bytes: u32,
    /// The unit in which the device writes.
    pub physical_sector_bytes: u32,
    /// Whether I/O past the page cache is possible; absent if the system does not tell.
    pub is_direct_possible: Option<bool>,
    /// The file system writes all data to its journal first.
    pub is_journalled: bool,
    /// Whether its device completes I/O that is polled for; absent if the system does not tell.
    pub is_polling_possible: Option<bool>,
    /// Type of the file system that holds it, such as `ext4`; empty for a device.
    pub file_system: String,
    /// Nothing is there, and it would lie where the names of devices are: a file, in memory.
    pub is_among_devices: bool,
    /// The file system is served by another host.
    pub is_remote: bool,
    /// The unit in which a device discards, in bytes; absent if it cannot, and for what is no device.
    pub discard_granularity_bytes: Option<u32>,
    /// The device, or the mount of the file system, takes no writes.
    pub is_read_only: bool,
    /// Why this process may not read it; absent if it may.
    pub unreadable: Option<NoAccess>,
    /// Why this process may not write to it, or make it where nothing is; absent if it may.
    pub unwritable: Option<NoAccess>,
    /// The device has turning platters; absent if the system does not tell.
    pub is_rotational: Option<bool>,
    /// Model of the device, where it has one.
    pub model: Option<String>,
    /// Serial number of the device, where it has one.
    pub serial: Option<String>,
}

impl Default for PathFacts {
    fn default() -> Self {
        Self {
            path: PathBuf::new(),
            identity: None,
            kind: PathKind::default(),
            size_bytes: 0,
            is_unsized: false,
            logical_sector_bytes: 512,
            physical_sector_bytes: 4096,
            is_direct_possible: None,
            is_journalled: false,
            is_polling_possible: None,
            file_system: String::new(),
            is_among_devices: false,
            is_remote: false,
            discard_granularity_bytes: None,
            is_read_only: false,
            unreadable: None,
            unwritable: None,
            is_rotational: None,
            model: None,
            serial: None,
        }
    }
}

/// Looks at what `path` leads to.
///
/// A path to nothing is no error: the facts are then those of the directory that would hold it.
/// Fails with `NotFound`, naming the directory, if that is not there either.
pub fn look(path: &Path) -> io::Result<PathFacts> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return look_at_missing(path),
        Err(error) => return Err(error),
    };
    let kind = kind_of(metadata.file_type());
    // A path that cannot be resolved any more was removed at this moment; it still has a name.
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if kind == PathKind::BlockDevice {
        return Ok(with_access(look_at_device(real, device_number(metadata.rdev())), path));
    }
    let size_bytes = if kind == PathKind::File { metadata.len() } else { 0 };
    let mut facts = PathFacts { path: real.clone(), kind, size_bytes, ..PathFacts::default() };
    fill_from_file_system(&mut facts, &real, &metadata);
    if let (PathKind::File, Some(alignment)) = (kind, direct_alignment(&real)) {
        facts.is_direct_possible = Some(alignment != 0);
        facts.logical_sector_bytes = alignment.max(1);
    }
    Ok(with_access(facts, path))
}

/// Which object it is and what this process may do with it, if it can be a target.
fn with_access(facts: PathFacts, path: &Path) -> PathFacts {
    if !matches!(facts.kind, PathKind::File | PathKind::BlockDevice) {
        return facts;
    }
    let (unreadable, unwritable) = (may_read(path).err(), may_write(path).err());
    PathFacts { identity: identity::of(path).ok(), unreadable, unwritable, ..facts }
}

fn kind_of(kind: fs::FileType) -> PathKind {
    match () {
        () if kind.is_file() => PathKind::File,
        () if kind.is_block_device() => PathKind::BlockDevice,
        () if kind.is_char_device() => PathKind::CharacterDevice,
        () if kind.is_fifo() => PathKind::Fifo,
        () if kind.is_socket() => PathKind::Socket,
        () => PathKind::Directory,
    }
}

fn look_at_missing(path: &Path) -> io::Result<PathFacts> {
    let path = real_path(path);
    let directory = folder_of(&path);
    let explain = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            let words = format!("the directory '{}' does not exist", directory.display());
            io::Error::new(io::ErrorKind::NotFound, words)
        }
        _ => error,
    };
    let real = fs::canonicalize(directory).map_err(explain)?;
    let metadata = fs::metadata(&real)?;
    let whole = path.file_name().map_or_else(|| path.clone(), |name| real.join(name));
    let unwritable = may_make_in(&real).err();
    let is_among_devices = is_among_devices(&real, &metadata);
    let mut facts = PathFacts { path: whole, is_among_devices, unwritable, ..PathFacts::default() };
    fill_from_file_system(&mut facts, &real, &metadata);
    Ok(facts)
}

/// Whether a folder is one of those with the names of devices. What is mounted below, such as `/dev/shm`, is
/// another place.
fn is_among_devices(folder: &Path, metadata: &fs::Metadata) -> bool {
    let devices = Path::new("/dev");
    let number = |path: &Path| fs::metadata(path).map(|found| found.dev()).ok();
    let is_mounted = number(devices) != number(Path::new("/"));
    let is_there = is_mounted && number(devices) == Some(metadata.dev());
    folder == devices || (is_there && !folder.starts_with("/dev/shm"))
}

/// Fills in what the mount and the device under it tell.
fn fill_from_file_system(facts: &mut PathFacts, real: &Path, metadata: &fs::Metadata) {
    let device = sys_directory(device_number(metadata.dev()));
    fill_from_queue(facts, &device);
    if let Some(mount) = mounts::of(real) {
        facts.is_remote = mount.is_remote();
        facts.is_read_only = mount.is_read_only;
        facts.is_journalled = mount.journals_data();
        // A file that is not there yet will be such a one.
        facts.is_direct_possible = facts.is_journalled.then_some(false);
        facts.file_system = mount.file_system;
    }
}

fn look_at_device(path: PathBuf, number: (u32, u32)) -> PathFacts {
    let directory = sys_directory(number);
    let kind = PathKind::BlockDevice;
    let mut facts =
        PathFacts { path, kind, is_direct_possible: Some(true), ..PathFacts::default() };
    fill_from_queue(&mut facts, &directory);
    let size_bytes = size_bytes(&directory);
    facts.is_unsized = size_bytes.is_none();
    facts.size_bytes = size_bytes.unwrap_or(0);
    facts.is_read_only = number_in(&directory.join("ro")) == Some(1);
    facts.discard_granularity_bytes = discard_granularity(disk_of(&directory));
    facts
}

/// The disk that a partition lies on, or the device itself.
fn disk_of(directory: &Path) -> &Path {
    let is_partition = directory.join("partition").exists();
    if is_partition { directory.parent().unwrap_or(directory) } else { directory }
}

/// The unit in which a disk discards; a disk that discards at most 0 bytes at once cannot
/// (Documentation/ABI/stable/sysfs-block of the kernel).
fn discard_granularity(disk: &Path) -> Option<u32> {
    let limit = |name: &str| number_in::<u64>(&disk.join("queue").join(name));
    limit("discard_max_bytes").filter(|bytes| *bytes > 0)?;
    u32::try_from(limit("discard_granularity")?).ok()
}

fn sys_directory((major, minor): (u32, u32)) -> PathBuf {
    let link = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    fs::canonicalize(&link).unwrap_or(link)
}

/// Fills in what the queue of a device, or of the disk that a partition lies on, tells.
fn fill_from_queue(facts: &mut PathFacts, directory: &Path) {
    let disk = disk_of(directory);
    let limit = |name: &str| number_in(&disk.join("queue").join(name));
    if let Some(bytes) = limit("logical_block_size") {
        facts.logical_sector_bytes = bytes;
        facts.physical_sector_bytes = limit("physical_block_size").unwrap_or(bytes);
    }
    facts.is_polling_possible = limit("io_poll").map(|flag| flag == 1);
    facts.is_rotational = limit("rotational").map(|flag| flag == 1);
    facts.model = disks::model(disk);
    facts.serial = disks::serial(disk);
}

/// Size of a device in bytes; sysfs counts it in units of 512 bytes, whatever the sector.
fn size_bytes(directory: &Path) -> Option<u64> {
    number_in::<u64>(&directory.join("size")).map(|units| units.saturating_mul(512))
}

/// The number that a file of the kernel holds.
pub(super) fn number_in<T: FromStr>(path: &Path) -> Option<T> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Alignment of I/O past the page cache in bytes, 0 if it is impossible; absent if the file system
/// or the kernel (before 6.1) does not tell.
fn direct_alignment(path: &Path) -> Option<u32> {
    let answer = statx::of_path(path, 0, libc::STATX_DIOALIGN).ok()?;
    (answer.stx_mask & libc::STATX_DIOALIGN != 0).then_some(answer.stx_dio_offset_align)
}
