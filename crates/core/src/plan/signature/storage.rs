//! File systems, volumes and partition tables, on devices and in images of them.

use super::Samples;

/// The name of the first on-disk structure that is found.
pub(super) fn recognise(samples: &Samples) -> Option<&'static str> {
    by_magic(samples)
        .or_else(|| swap(samples))
        .or_else(|| lvm(samples))
        .or_else(|| software_raid(samples))
        .or_else(|| zfs(samples))
        .or_else(|| ext(samples))
        .or_else(|| fat(samples))
        .or_else(|| partition_tables(samples))
}

fn by_magic(samples: &Samples) -> Option<&'static str> {
    let stands =
        |&&(offset, magic, _): &&(u64, &[u8], _)| samples.at(offset, magic.len()) == Some(magic);
    SUPERBLOCKS.iter().find(stands).map(|entry| entry.2)
}

/// Offset from the start, magic number, name.
const SUPERBLOCKS: &[(u64, &[u8], &str)] = &[
    (0, b"XFSB", "an XFS file system"),
    (0, b"LUKS\xBA\xBE", "a LUKS encrypted volume"),
    (16_384, b"SKUL\xBA\xBE", "a LUKS encrypted volume"),
    (0, b"bluestore block device", "a Ceph store"),
    (0, b"hsqs", "a SquashFS file system"),
    (0, b"\x45\x3D\xCD\x28", "a cramfs file system"),
    (3, b"NTFS    ", "an NTFS file system"),
    (3, b"EXFAT   ", "an exFAT file system"),
    (3, b"-FVE-FS-", "a BitLocker encrypted volume"),
    (3, b"ReFS\0\0\0\0", "a ReFS file system"),
    (32, b"NXSB", "an APFS container"),
    (32, b"ORCLDISK", "an Oracle ASM disk"),
    (1024, b"\x10\x20\xF5\xF2", "an F2FS file system"),
    (1024, b"\xE2\xE1\xF5\xE0", "an EROFS file system"),
    (1024, b"H+\0\x04", "an HFS+ file system"),
    (1024, b"HX\0\x05", "an HFS+ file system"),
    (
        4120,
        b"\xC6\x85\x73\xF6\x4E\x1A\x45\xCA\x82\x65\xF5\x7F\x48\xBA\x6D\x81",
        "a bcache or bcachefs device",
    ),
    (
        4120,
        b"\xC6\x85\x73\xF6\x66\xCE\x90\xA9\xD9\x6A\x60\xCF\x80\x3D\xF7\xEF",
        "a bcachefs file system",
    ),
    (8192, b"OCFSV2", "an OCFS2 file system"),
    (32_768, b"JFS1", "a JFS file system"),
    (32_769, b"CD001", "an ISO 9660 image"),
    (32_769, b"BEA01", "a UDF file system"),
    (65_536, b"\x01\x16\x19\x70", "a GFS2 file system"),
    (65_588, b"ReIsEr", "a ReiserFS file system"),
    (65_600, b"_BHRfS_M", "a Btrfs file system"),
    (1 << 20, b"\x0D\xD0\x01\xC0", "a VMFS volume"),
];

/// The signature stands at the end of the first page, and pages differ between machines.
fn swap(samples: &Samples) -> Option<&'static str> {
    let ends = [4096, 8192, 16_384, 65_536].map(|page| samples.at(page - 10, 10));
    let found = ends.contains(&Some(b"SWAPSPACE2")) || ends.contains(&Some(b"SWAP-SPACE"));
    found.then_some("a swap area")
}

/// The label stands in one of the first four sectors.
fn lvm(samples: &Samples) -> Option<&'static str> {
    let labelled = |sector: u64| {
        samples.at(sector * 512, 8) == Some(b"LABELONE")
            && samples.at(sector * 512 + 24, 8) == Some(b"LVM2 001")
    };
    (0..4).any(labelled).then_some("an LVM physical volume")
}

/// Superblocks of version 1 lie at the start or 8 KiB before the end, those of 0.90 in the last 64 KiB.
fn software_raid(samples: &Samples) -> Option<&'static str> {
    const MAGIC: u32 = 0xA92B_4EFC;
    let sectors = samples.size_bytes() / 512;
    let last_v1 = sectors.checked_sub(16).map(|sector| (sector & !7) * 512);
    let last_v0 = (samples.size_bytes() & !0xFFFF).checked_sub(0x1_0000);
    let places = [(Some(0), 1), (Some(4096), 1), (last_v1, 1), (last_v0, 0)];
    let stands = |(place, version): (Option<u64>, u32)| {
        place.is_some_and(|at| {
            samples.u32_at(at) == Some(MAGIC) && samples.u32_at(at + 4) == Some(version)
        })
    };
    places.into_iter().any(stands).then_some("a member of a software RAID")
}

/// The second half of each label is an array of uberblocks; the first label lies at the start.
fn zfs(samples: &Samples) -> Option<&'static str> {
    const MAGIC: u64 = 0x00BA_B10C;
    let uberblock = |slot: u64| {
        let bytes = samples.at(131_072 + slot * 1024, 8);
        bytes == Some(&MAGIC.to_le_bytes()) || bytes == Some(&MAGIC.to_be_bytes())
    };
    (0..128).any(uberblock).then_some("a ZFS pool member")
}

/// The magic number has two bytes only, so the fields around it must make sense as well.
fn ext(samples: &Samples) -> Option<&'static str> {
    let sensible = samples.u16_at(1024 + 56)? == 0xEF53
        && samples.u32_at(1024)? != 0
        && samples.u32_at(1024 + 4)? != 0
        && samples.u32_at(1024 + 24)? <= 6
        && samples.u16_at(1024 + 58)? < 16
        && samples.u32_at(1024 + 72)? <= 4
        && samples.u32_at(1024 + 76)? <= 1;
    sensible.then_some("an ext2, ext3 or ext4 file system")
}

fn fat(samples: &Samples) -> Option<&'static str> {
    let named = samples.at(54, 5) == Some(b"FAT12")
        || samples.at(54, 5) == Some(b"FAT16")
        || samples.at(82, 5) == Some(b"FAT32");
    (named && has_boot_mark(samples)).then_some("a FAT file system")
}

fn has_boot_mark(samples: &Samples) -> bool {
    samples.at(510, 2) == Some(&[0x55, 0xAA])
}

fn partition_tables(samples: &Samples) -> Option<&'static str> {
    let starts = [512, 4096].map(|at| samples.at(at, 8));
    let ends = [512, 4096].map(|from_end| samples.at_end(from_end, 8));
    if starts.contains(&Some(b"EFI PART")) || ends.contains(&Some(b"EFI PART")) {
        return Some("a GPT partition table");
    }
    master_boot_record(samples)
}

/// What an entry of a master boot record says.
enum Entry {
    Empty,
    Partition,
    Nonsense,
}

fn master_boot_record(samples: &Samples) -> Option<&'static str> {
    if !has_boot_mark(samples) {
        return None;
    }
    let table = samples.at(446, 64)?;
    let sectors = samples.size_bytes() / 512;
    let mut partitions = 0;
    for entry in table.chunks_exact(16) {
        match read_entry(entry, sectors) {
            Entry::Empty => {}
            Entry::Partition => partitions += 1,
            Entry::Nonsense => return None,
        }
    }
    (partitions > 0).then_some("an MBR partition table")
}

fn read_entry(entry: &[u8], sectors: u64) -> Entry {
    let number = |at: usize| {
        u64::from(u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]]))
    };
    let (first, count) = (number(8), number(12));
    // A protective entry may claim more sectors than there are, so only the start must lie inside.
    let sensible = matches!(entry[0], 0 | 0x80) && entry[4] != 0 && first > 0 && count > 0;
    if entry.iter().all(|&byte| byte == 0) {
        Entry::Empty
    } else if sensible && first < sectors {
        Entry::Partition
    } else {
        Entry::Nonsense
    }
}
