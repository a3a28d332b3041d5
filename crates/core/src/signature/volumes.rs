//! File systems, volumes and partition tables, as libblkid knows them.

use std::fs::File;
use std::io;

use fathom_sys::blkid::{self, Signature};

/// What libblkid finds; nothing where it is missing.
pub(super) fn known(file: &File, magic_bytes_min: usize) -> io::Result<Option<String>> {
    let Ok(library) = blkid::library() else { return Ok(None) };
    let found = library.signatures(file)?;
    let strong = found.iter().filter(|one| one.magic_bytes >= magic_bytes_min);
    let words: Vec<String> = strong.map(in_words).collect();
    Ok((!words.is_empty()).then(|| words.join(" and ")))
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
