//! The whole disks of this host, in an order that stays.

use std::cmp::Reverse;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::mounts::{self, Mount};
use super::{number_in, size_bytes};
use crate::linux::holders::device_number;
use crate::linux::kernel_text;

/// Major and minor number.
type Number = (u32, u32);

/// A whole disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Disk {
    /// The kernel's name, such as `nvme0n1`.
    pub name: String,
    /// The path of its device.
    pub path: PathBuf,
    /// Model, where it has one.
    pub model: Option<String>,
    /// Serial number, where it has one.
    pub serial: Option<String>,
    /// Size in bytes; 0 without a medium.
    pub size_bytes: u64,
    /// Where it and its partitions are mounted.
    pub mount_points: Vec<PathBuf>,
    /// The volumes that are built on it and its partitions.
    pub holders: Vec<String>,
    /// The system swaps to it or to one of its partitions.
    pub is_swap: bool,
}

/// All whole disks: hardware first, then loop devices, volumes and the like, each by name.
///
/// Attaching a loop device or making a volume thus never changes the number of a disk. Those
/// without a size, which are slots and not disks, are left out.
#[must_use]
pub fn disks() -> Vec<Disk> {
    let swaps = kernel_text::read(Path::new("/proc/swaps")).unwrap_or_default();
    disks_in(Path::new("/sys/block"), &mounts::read(), &swaps, &number_of_path)
}

pub(super) fn disks_in(
    sys: &Path,
    mounts: &[Mount],
    swaps: &str,
    number_of: &dyn Fn(&str) -> Option<Number>,
) -> Vec<Disk> {
    let swaps = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    let uses = Uses { mounts, swaps: swaps.filter_map(number_of).collect(), number_of };
    let mut found = Vec::new();
    for entry in fs::read_dir(sys).into_iter().flatten().flatten() {
        let directory = entry.path();
        let is_hardware = directory.join("device").exists();
        let bytes = size_bytes(&directory).unwrap_or(0);
        // A hidden device is one path of several to a disk, and cannot be opened.
        let is_hidden = number_in(&directory.join("hidden")) == Some(1);
        if !is_hidden && (is_hardware || bytes > 0) {
            let name = entry.file_name().to_string_lossy().into_owned();
            found.push((is_hardware, uses.disk(name, &directory, bytes)));
        }
    }
    found.sort_by_cached_key(|(is_hardware, disk)| (Reverse(*is_hardware), natural(&disk.name)));
    found.into_iter().map(|(_, disk)| disk).collect()
}

/// What may use a disk.
struct Uses<'a> {
    mounts: &'a [Mount],
    swaps: Vec<Number>,
    number_of: &'a dyn Fn(&str) -> Option<Number>,
}

impl Uses<'_> {
    fn disk(&self, name: String, directory: &Path, size_bytes: u64) -> Disk {
        let parts = parts(directory);
        let numbers: Vec<Number> = parts.iter().filter_map(|part| number(part)).collect();
        let is_on_disk = |mount: &&Mount| {
            let source = Some(mount.source.as_str()).filter(|source| source.starts_with('/'));
            // File systems that span devices show a number of their own, so the source counts too.
            let shown = [Some(mount.number), source.and_then(self.number_of)];
            shown.into_iter().flatten().any(|number| numbers.contains(&number))
        };
        let mut mount_points: Vec<PathBuf> =
            self.mounts.iter().filter(is_on_disk).map(|mount| mount.place.clone()).collect();
        mount_points.dedup();
        Disk {
            // Sysfs writes the slash of a name such as `cciss/c0d0` as an exclamation mark.
            path: Path::new("/dev").join(name.replace('!', "/")),
            name,
            model: model(directory),
            serial: serial(directory),
            size_bytes,
            mount_points,
            holders: parts.iter().flat_map(|part| names_in(&part.join("holders"))).collect(),
            is_swap: self.swaps.iter().any(|swap| numbers.contains(swap)),
        }
    }
}

/// The directories of a disk and of its partitions.
fn parts(disk: &Path) -> Vec<PathBuf> {
    let partitions = names_in(disk).into_iter().map(|name| disk.join(name));
    let partitions = partitions.filter(|path| path.join("partition").exists());
    std::iter::once(disk.to_owned()).chain(partitions).collect()
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn number(directory: &Path) -> Option<Number> {
    let text = fs::read_to_string(directory.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn number_of_path(path: &str) -> Option<Number> {
    let metadata = fs::metadata(path).ok()?;
    metadata.file_type().is_block_device().then(|| device_number(metadata.rdev()))
}

/// What is written on a disk, as far as it has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Label {
    /// Its model.
    pub model: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// Its world-wide name, such as `naa.5000c500a1b2c3d4` or `eui.0025385b71b0a1c2`.
    pub wwn: Option<String>,
}

/// What is written on the disk with this directory in sysfs.
#[must_use]
pub fn label(disk: &Path) -> Label {
    let wwn = first_text(&[disk.join("wwid"), disk.join("device/wwid")]);
    Label { model: model(disk), serial: serial(disk), wwn }
}

/// The model of the disk with this directory.
pub(super) fn model(disk: &Path) -> Option<String> {
    first_text(&[disk.join("device/model"), disk.join("device/name")])
}

/// The serial number of the disk with this directory.
pub(super) fn serial(disk: &Path) -> Option<String> {
    first_text(&[disk.join("serial"), disk.join("device/serial")])
        .or_else(|| scsi_serial(&fs::read(disk.join("device/vpd_pg80")).ok()?))
}

/// The unit serial number page of SCSI: a header of four bytes, then the number.
pub(super) fn scsi_serial(page: &[u8]) -> Option<String> {
    let text: String = String::from_utf8_lossy(page.get(4..)?)
        .chars()
        .filter(|letter| !letter.is_control())
        .collect();
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn first_text(paths: &[PathBuf]) -> Option<String> {
    let texts = paths.iter().filter_map(|path| fs::read_to_string(path).ok());
    texts.map(|text| text.trim().to_owned()).find(|text| !text.is_empty())
}

/// Orders `sda` before `sdaa` and `nvme2n1` before `nvme10n1`: numbers by value, and the letters
/// that count by length first.
pub(super) fn natural(name: &str) -> Vec<(usize, String)> {
    let is_number = |letter: &char| letter.is_ascii_digit();
    let letters: Vec<char> = name.chars().collect();
    let (family, rest) = letters.split_at(letters.len().min(2));
    let mut key = vec![(0, family.iter().collect())];
    let runs = rest.chunk_by(|a, b| is_number(a) == is_number(b));
    key.extend(runs.map(|run| (run.len(), run.iter().collect())));
    key
}
