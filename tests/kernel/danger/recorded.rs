//! Superblocks whose makers need a kernel or tools that are not here, field by field after the formats'
//! own descriptions.

/// Offsets and what stands there.
pub type Pieces = Vec<(u64, Vec<u8>)>;

const UUID: [u8; 16] = *b"holiday-snaps-01";

/// Version 1.2: 4 KiB from the start (`md_p.h` of the kernel, struct `mdp_superblock_1`).
pub const MD_1_2: fn(u64) -> Pieces = |_| vec![(4096, md_1(4096))];

/// Version 1.0: at a multiple of 4 KiB, 8 KiB before the end at least.
pub const MD_1_0: fn(u64) -> Pieces = |size| {
    let offset = ((size / 512 - 16) & !7) * 512;
    vec![(offset, md_1(offset))]
};

fn md_1(offset: u64) -> Vec<u8> {
    let mut block = vec![0_u8; 256];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &0xA92B_4EFC_u32.to_le_bytes());
    put(4, &1_u32.to_le_bytes());
    put(16, &UUID);
    put(32, b"box:holiday");
    put(72, &1_u32.to_le_bytes()); // RAID 1
    put(80, &131_072_u64.to_le_bytes()); // sectors
    put(92, &2_u32.to_le_bytes()); // disks
    put(144, &(offset / 512).to_le_bytes());
    let sum = block
        .chunks_exact(4)
        .map(|word| u64::from(u32::from_le_bytes([word[0], word[1], word[2], word[3]])));
    let sum: u64 = sum.sum();
    let folded = (sum & 0xFFFF_FFFF) + (sum >> 32);
    block[216..220].copy_from_slice(&folded.to_le_bytes()[..4]);
    block
}

/// Version 0.90: in the last 64 KiB but one of whole ones (struct `mdp_superblock_s`).
pub const MD_0_90: fn(u64) -> Pieces = |size| {
    let mut block = vec![0_u8; 4096];
    block[..4].copy_from_slice(&0xA92B_4EFC_u32.to_le_bytes());
    block[8..12].copy_from_slice(&90_u32.to_le_bytes());
    block[20..24].copy_from_slice(&UUID[..4]);
    block[28..32].copy_from_slice(&1_u32.to_le_bytes());
    vec![((size & !0xFFFF) - 0x1_0000, block)]
};

/// Uberblocks in the second half of a label of 256 KiB, each with its magic number (ZFS on-disk
/// specification, chapter 1).
fn zfs_label(start: u64) -> Pieces {
    let uberblock = |slot: u64| {
        let mut block = vec![0_u8; 1024];
        block[..8].copy_from_slice(&0x00BA_B10C_u64.to_le_bytes());
        block[8..16].copy_from_slice(&5000_u64.to_le_bytes());
        (start + 131_072 + slot * 1024, block)
    };
    (0..32).map(uberblock).collect()
}

/// All four labels: two at the start, two at the end.
pub const ZFS: fn(u64) -> Pieces = |size| {
    let starts = [0, 262_144, size - 524_288, size - 262_144];
    starts.into_iter().flat_map(zfs_label).collect()
};

/// The two labels at the end.
pub const ZFS_END: fn(u64) -> Pieces =
    |size| [size - 524_288, size - 262_144].into_iter().flat_map(zfs_label).collect();

/// The superblock of a backing device, in sector 8 (`bcache.h` of the kernel, struct `cache_sb_disk`). Its
/// checksum is left out: a damaged superblock is somebody's too.
pub const BCACHE: fn(u64) -> Pieces = |_| {
    let mut block = vec![0_u8; 4096];
    block[8..16].copy_from_slice(&8_u64.to_le_bytes());
    block[16..24].copy_from_slice(&1_u64.to_le_bytes());
    block[24..40].copy_from_slice(&[
        0xC6, 0x85, 0x73, 0xF6, 0x4E, 0x1A, 0x45, 0xCA, 0x82, 0x65, 0xF5, 0x7F, 0x48, 0xBA, 0x6D,
        0x81,
    ]);
    block[40..56].copy_from_slice(&UUID);
    vec![(4096, block)]
};
