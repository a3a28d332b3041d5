//! What must be recognised, what must not, and how strong a test is.

use proptest::prelude::*;

use super::{Samples, recognise};
use crate::units::MIB;

fn name_of(data: &[u8]) -> Option<&'static str> {
    recognise(&Samples::of_bytes(data)).map(|found| found.name)
}

/// Data without any signature, with pieces put into it.
fn with(pieces: &[(usize, &[u8])]) -> Vec<u8> {
    let mut data = vec![0; 2 * usize::try_from(MIB).expect("fits")];
    data[2048] = 1;
    for (at, bytes) in pieces {
        data[*at..*at + bytes.len()].copy_from_slice(bytes);
    }
    data
}

/// Random data from a small generator (Marsaglia's xorshift), independent of the product's own.
fn random(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x2545_F491_4F6C_DD1D) | 1;
    let mut data = Vec::with_capacity(bytes + 8);
    while data.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        data.extend_from_slice(&state.wrapping_mul(0x2545_F491_4F6C_DD1D).to_le_bytes());
    }
    data.truncate(bytes);
    data
}

#[test]
fn file_systems_and_volumes_are_recognised() {
    let ext = [1, 1, 0, 0, 1, 1, 0, 0];
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (with(&[(1024, &ext), (1080, &[0x53, 0xEF, 1, 0])]), "an ext2, ext3 or ext4 file system"),
        (with(&[(0, b"XFSB")]), "an XFS file system"),
        (with(&[(65_600, b"_BHRfS_M")]), "a Btrfs file system"),
        (with(&[(3, b"NTFS    ")]), "an NTFS file system"),
        (with(&[(82, b"FAT32   "), (510, &[0x55, 0xAA])]), "a FAT file system"),
        (with(&[(512, b"EFI PART")]), "a GPT partition table"),
        (with(&[(2 * 1024 * 1024 - 512, b"EFI PART")]), "a GPT partition table"),
        (with(&[(512, b"LABELONE"), (536, b"LVM2 001")]), "an LVM physical volume"),
        (with(&[(0, b"LUKS\xBA\xBE")]), "a LUKS encrypted volume"),
        (with(&[(4096, &[0xFC, 0x4E, 0x2B, 0xA9, 1, 0, 0, 0])]), "a member of a software RAID"),
        (with(&[(4086, b"SWAPSPACE2")]), "a swap area"),
        (with(&[(132_096, &0x00BA_B10C_u64.to_le_bytes())]), "a ZFS pool member"),
    ];
    for (data, name) in cases {
        assert_eq!(name_of(&data), Some(name));
    }
}

#[test]
fn a_boot_record_counts_only_with_sensible_partitions() {
    let entry = [0x80, 1, 1, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 4, 0, 0];
    let table = with(&[(446, &entry), (510, &[0x55, 0xAA])]);
    assert_eq!(name_of(&table), Some("an MBR partition table"));
    assert_eq!(name_of(&with(&[(510, &[0x55, 0xAA])])), None);
    let mut nonsense = table.clone();
    nonsense[446] = 0x12;
    assert_eq!(name_of(&nonsense), None);
    let mut beyond = table;
    beyond[446 + 11] = 0xFF;
    assert_eq!(name_of(&beyond), None);
}

#[test]
fn the_ext_magic_alone_is_too_weak() {
    let bad_block_size = [1, 1, 0, 0, 1, 1, 0, 0];
    let pieces: [(usize, &[u8]); 3] =
        [(1024, &bad_block_size), (1048, &[9]), (1080, &[0x53, 0xEF, 1, 0])];
    assert_eq!(name_of(&with(&pieces)), None);
}

#[test]
fn databases_without_a_magic_number_are_recognised() {
    let page = [0, 0, 0, 0, 8, 1, 2, 3, 0, 0, 0, 0, 0x40, 0, 0x80, 0x10, 0, 0x20, 4, 0x20];
    let postgres = with(&[(0, &page), (8192, &page)]);
    assert_eq!(name_of(&postgres), Some("a PostgreSQL table or index"));
    assert_eq!(name_of(&with(&[(0, &page), (8192, b"something else")])), None);
    let innodb = with(&[(0, &[1, 2, 3, 4]), (24, &[0, 8]), (34, &[0, 0, 0, 5, 0, 0, 0, 5])]);
    assert_eq!(name_of(&innodb), Some("a MySQL InnoDB table space"));
    let server = with(&[(0, &[1, 15, 0, 0, 8]), (8192, &[1, 11]), (8224, &[1, 0, 0, 0])]);
    assert_eq!(name_of(&server), Some("a Microsoft SQL Server database"));
}

#[test]
fn short_magic_numbers_count_with_their_structure() {
    let jfif: &[u8] = &[0xFF, 0xD8, 0xFF, 0xE0, 0, 16];
    let mut mp3 = with(&[]);
    (0..8).for_each(|frame| mp3[frame * 417..frame * 417 + 3].copy_from_slice(&[0xFF, 0xFB, 0x90]));
    let mut stream = with(&[(1, b"ab")]);
    (0..9).for_each(|packet| stream[packet * 188] = 0x47);
    let cases = [
        (with(&[(0, jfif), (20, &[0xFF, 0xDB])]), "a JPEG image"),
        (with(&[(0, &[0x1F, 0x8B, 8, 8, 1, 2, 3, 4, 0, 3])]), "a gzip archive"),
        (with(&[(0, b"MZ"), (60, &[0x80]), (0x80, b"PE\0\0")]), "a Windows executable"),
        (with(&[(0, b"BM\x36\x10\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0")]), "a BMP image"),
        (with(&[(0, b"BZh51AY&SY")]), "a bzip2 archive"),
        (with(&[(0, b"ID3\x03\0\0\0\0\x21\x76")]), "an MP3 audio file"),
        (with(&[(0, b"\xA7\x0D\x0D\x0A\0\0\0\0\x61\x62")]), "compiled Python"),
        (with(&[(0, b"\0\x01\0\0\0\x0C\0\x80\0\x03")]), "a font"),
        (mp3, "an MP3 audio file"),
        (stream, "an MPEG transport stream"),
    ];
    for (data, name) in cases {
        assert_eq!(name_of(&data), Some(name));
    }
}

#[test]
fn short_magic_numbers_alone_do_not_count() {
    let weak: [&[u8]; 9] = [
        b"MZ",
        b"BM",
        b"\xFF\xD8\xFF\xE0",
        b"\x1F\x8B\x08\xFF",
        b"\xFF\xFB\x90",
        b"ID3\xFF",
        b"BZh9",
        b"\xFF\xF1\x50",
        b"0\x82\x01\x02",
    ];
    for magic in weak {
        let mut data = random(7, 65_536);
        data[..magic.len()].copy_from_slice(magic);
        assert_eq!(name_of(&data), None, "{magic:?}");
    }
}

#[test]
fn documents_at_the_end_or_behind_a_stub_are_recognised() {
    let end = 2 * 1024 * 1024 - 22;
    assert_eq!(name_of(&with(&[(end, b"PK\x05\x06")])), Some("a ZIP archive"));
    assert_eq!(name_of(&with(&[(end - 1, b"PK\x05\x06")])), None);
    assert_eq!(name_of(&with(&[(100, b"%PDF-1.7")])), Some("a PDF document"));
    let certificate = [&[0x30, 0x82, 1, 0, 0x30][..], &random(3, 255)].concat();
    assert_eq!(name_of(&certificate), Some("a certificate or key in DER form"));
}

#[test]
fn test_data_is_not_recognised() {
    let counting: Vec<u8> = (0..=255).cycle().take(3 << 20).collect();
    assert_eq!(name_of(&counting), None);
    assert_eq!(name_of(&[]), None);
    for byte in 0..=255 {
        assert_eq!(name_of(&vec![byte; 70_000]), None, "{byte}");
    }
    // DiskSpd leaves zeros where it did not write and its pattern where it did.
    let mut half = vec![0; 3 << 20];
    half[1 << 20..].copy_from_slice(&counting[..2 << 20]);
    assert_eq!(name_of(&half), None);
    for length in [1, 2, 3, 511, 512, 513, 4095, 4096, 65_537] {
        assert_eq!(name_of(&counting[..length]), None, "{length}");
    }
}

#[test]
fn zeros_with_random_blocks_are_not_recognised() {
    for seed in 0..200 {
        let mut data = vec![0; 400_000];
        let at = usize::try_from(seed % 90).expect("small") * 4096;
        data[at..at + 4096].copy_from_slice(&random(seed, 4096));
        assert_eq!(name_of(&data), None, "{seed}");
    }
}

#[test]
fn random_data_is_never_recognised() {
    for seed in 0..20_000 {
        let bytes = [64, 512, 4096, 10_240][usize::try_from(seed % 4).expect("small")];
        assert_eq!(name_of(&random(seed, bytes)), None, "{seed}");
    }
    for seed in 0..64 {
        assert_eq!(name_of(&random(seed, 512 << 10)), None, "{seed}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nothing_panics(mut data in proptest::collection::vec(any::<u8>(), 0..300), magic in 0..12_usize) {
        let starts: [&[u8]; 12] = [
            b"PK\x03\x04", b"MZ", b"\xFF\xD8\xFF\xE0", b"\xFF\xFB\x90", b"\xFF\xF1", b"ID3",
            b"\x1F\x8B\x08", b"BM", b"FWS", b"\x30\x82", b"\x50\x2A\x4D\x18", b"\xFF\xFE",
        ];
        data.splice(0..0, starts[magic].iter().copied());
        let _ = name_of(&data);
    }
}
