//! What a file or device holds, as far as it is recognisable: by libblkid, and by our own table.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use fathom_sys::blkid::{self, Signature};
use fathom_sys::extents;

use crate::plan::signature::{self, Samples};

/// In a regular file a shorter magic number counts for nothing: random test data meet it by chance. Our
/// own table looks deeper for those that are shorter.
const MAGIC_BYTES_MIN: usize = 4;
/// Nothing that libblkid 2.41 knows stands farther from an end: VMFS at 2 MiB, a LUKS header up to 4 MiB.
const LOOKED_AT_BYTES: u64 = 4 << 20;
/// Stretches of data behind holes that are looked at, spread over the file.
const STRETCHES: usize = 64;

/// What a device looks like; none if it may be test data. The device is only read.
pub(super) fn of_device(mut device: &File) -> io::Result<Option<String>> {
    let size_bytes = device.seek(SeekFrom::End(0))?;
    if let Some(words) = known(device, 0) {
        return Ok(Some(words));
    }
    match sampled(device, size_bytes)? {
        None if blkid::library().is_err() => unasked(device, size_bytes),
        found => Ok(found),
    }
}

/// Where libblkid is missing, a device passes only if nothing stands where it would look: our own table
/// knows a part of what it knows.
fn unasked(device: &File, size_bytes: u64) -> io::Result<Option<String>> {
    let length = LOOKED_AT_BYTES.min(size_bytes);
    for offset in [0, size_bytes - length] {
        if !is_zero(device, offset, length)? {
            return Ok(Some("data that only libblkid could tell, which is not here".to_owned()));
        }
    }
    Ok(None)
}

fn is_zero(device: &File, offset: u64, length: u64) -> io::Result<bool> {
    let mut bytes = vec![0_u8; usize::try_from(length).unwrap_or(0)];
    device.read_exact_at(&mut bytes, offset)?;
    Ok(bytes.iter().all(|byte| *byte == 0))
}

/// What a file looks like; none if it may be test data.
pub(super) fn of_file(file: &File, size_bytes: u64) -> io::Result<Option<String>> {
    if let Some(words) = known(file, MAGIC_BYTES_MIN) {
        return Ok(Some(words));
    }
    match sampled(file, size_bytes)? {
        None => behind_holes(file, size_bytes),
        found => Ok(found),
    }
}

/// By samples that are spread over all of it: as one, and each of those between the ends by itself.
fn sampled(file: &File, size_bytes: u64) -> io::Result<Option<String>> {
    let samples = Samples::read(file, size_bytes)?;
    if let Some(found) = signature::recognise(&samples) {
        return Ok(Some(found.name.to_owned()));
    }
    let within = samples.middle().find_map(|(offset_bytes, sample)| {
        let found = signature::recognise(&sample)?;
        Some(at_offset(found.name, offset_bytes))
    });
    Ok(within)
}

/// A file in which holes stand before data is looked at where the data begin: what was copied to a place
/// of its own within it begins there.
fn behind_holes(file: &File, size_bytes: u64) -> io::Result<Option<String>> {
    // A file system that tells no holes has none that could be looked behind.
    let stretches = extents::stretches(file, size_bytes, STRETCHES).unwrap_or_default();
    for (offset_bytes, bytes) in stretches {
        let part = Samples::part_of(file, offset_bytes, bytes)?;
        if let Some(found) = signature::recognise(&part) {
            return Ok(Some(at_offset(found.name, offset_bytes)));
        }
    }
    Ok(None)
}

fn at_offset(name: &str, offset_bytes: u64) -> String {
    format!("{name}, at offset {offset_bytes}")
}

/// What libblkid finds; nothing where it is missing or cannot read.
fn known(file: &File, magic_bytes_min: usize) -> Option<String> {
    let found = blkid::library().ok()?.signatures(file).ok()?;
    let strong = found.iter().filter(|one| one.magic_bytes >= magic_bytes_min);
    let words: Vec<String> = strong.map(in_words).collect();
    (!words.is_empty()).then(|| words.join(" and "))
}

/// A signature in words, with label and identifier.
fn in_words(found: &Signature) -> String {
    let name = match found.label.as_deref() {
        Some(label) => format!(" named {label}"),
        None => String::new(),
    };
    let uuid = found.uuid.as_ref().map(|uuid| format!(", UUID {uuid}")).unwrap_or_default();
    let kind = found.kind.as_str();
    if found.is_partition_table {
        return format!("{}{uuid}", table_in_words(kind));
    }
    match kind {
        "swap" => format!("a swap area{name}{uuid}"),
        "LVM2_member" => format!("an LVM physical volume{uuid}"),
        "crypto_LUKS" => format!("a LUKS encrypted volume{name}{uuid}"),
        "linux_raid_member" => format!("a member of the software RAID (md){name}{uuid}"),
        "zfs_member" => format!("a member of the ZFS pool{name}{uuid}"),
        "bcache" => format!("a bcache device{name}{uuid}"),
        "xfs" => format!("an XFS file system{name}{uuid}"),
        "btrfs" => format!("a Btrfs file system{name}{uuid}"),
        "ext2" | "ext3" | "ext4" => format!("an {kind} file system{name}{uuid}"),
        "vfat" => format!("a FAT file system{name}{uuid}"),
        "ntfs" => format!("an NTFS file system{name}{uuid}"),
        _ => format!("{}{name}{uuid}", other_in_words(found)),
    }
}

fn table_in_words(kind: &str) -> String {
    match kind {
        "gpt" => "a GPT partition table".to_owned(),
        "dos" => "an MBR partition table".to_owned(),
        other => format!("a partition table of type {other}"),
    }
}

fn other_in_words(found: &Signature) -> String {
    let what = match found.usage.as_str() {
        "filesystem" => "a file system",
        "raid" => "a member of a volume or RAID",
        "crypto" => "an encrypted volume",
        _ => "a volume",
    };
    format!("{what} of type {}", found.kind)
}
