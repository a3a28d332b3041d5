//! Formats whose magic number is too short to count alone: the structure behind it must fit.

use super::{Samples, audio, openpgp};

/// The name of the first format whose structure fits.
pub(super) fn recognise(samples: &Samples) -> Option<&'static str> {
    STRUCTURES.iter().find(|(test, _)| test(samples).unwrap_or(false)).map(|entry| entry.1)
}

type Test = fn(&Samples) -> Option<bool>;

const STRUCTURES: &[(Test, &str)] = &[
    (innodb, "a MySQL InnoDB table space"),
    (postgres_relation, "a PostgreSQL table or index"),
    (postgres_log, "a PostgreSQL write-ahead log"),
    (sql_server, "a Microsoft SQL Server database"),
    (windows_executable, "a Windows executable"),
    (jpeg, "a JPEG image"),
    (gzip, "a gzip archive"),
    (bzip2, "a bzip2 archive"),
    (lzma, "an LZMA archive"),
    (late_zip, "a ZIP archive"),
    (late_pdf, "a PDF document"),
    (bitmap, "a BMP image"),
    (icon, "a Windows icon"),
    (flash, "a Flash file"),
    (der, "a certificate or key in DER form"),
    (openpgp::keys, "an OpenPGP key"),
    (openpgp::message, "a file encrypted by OpenPGP"),
    (python, "compiled Python"),
    (true_type, "a font"),
    (transport_stream, "an MPEG transport stream"),
    (program_stream, "an MPEG program stream"),
    (audio::tagged_mp3, "an MP3 audio file"),
    (audio::mp3, "an MP3 audio file"),
    (audio::aac, "an AAC audio file"),
];

fn starts_with(samples: &Samples, magic: &[u8]) -> bool {
    samples.head().starts_with(magic)
}

/// Page 0 has number 0 and type 8, and names its table space twice (`fil0types.h` of its source).
fn innodb(samples: &Samples) -> Option<bool> {
    let is_header_page = samples.at(4, 4)? == [0; 4] && samples.at(24, 2)? == [0, 8];
    Some(is_header_page && samples.at(34, 4)? == samples.at(38, 4)?)
}

/// Pages of 8 KiB whose header fits (`bufpage.h` of its source); fresh ones are zeros.
fn postgres_relation(samples: &Samples) -> Option<bool> {
    if !samples.size_bytes().is_multiple_of(8192) || !postgres_page(samples, 0)? {
        return Some(false);
    }
    let second = samples.at(8192, 24);
    Some(second.is_none_or(|header| header == [0; 24]) || postgres_page(samples, 8192)?)
}

fn postgres_page(samples: &Samples, at: u64) -> Option<bool> {
    let flags = samples.u16_at(at + 10)?;
    let (lower, upper) = (samples.u16_at(at + 12)?, samples.u16_at(at + 14)?);
    let (special, version) = (samples.u16_at(at + 16)?, samples.u16_at(at + 18)?);
    let ordered = 24 <= lower && lower <= upper && upper <= special && special <= 8192;
    Some(version == 0x2004 && flags <= 7 && ordered)
}

/// The long header of a segment names its segment and page sizes (`xlog_internal.h`).
fn postgres_log(samples: &Samples) -> Option<bool> {
    let segment_bytes = samples.u32_at(32)?;
    let sized = segment_bytes >= 1 << 20 && segment_bytes.is_power_of_two();
    Some(samples.u16_at(0)? >> 8 == 0xD1 && sized && samples.u32_at(36)? == 8192)
}

/// Page 0 is a file header, page 1 a page of free space that knows its own number.
fn sql_server(samples: &Samples) -> Option<bool> {
    let file_header = starts_with(samples, &[1, 15, 0, 0]);
    Some(file_header && samples.at(8192, 2)? == [1, 11] && samples.u32_at(8192 + 32)? == 1)
}

fn windows_executable(samples: &Samples) -> Option<bool> {
    if !starts_with(samples, b"MZ") {
        return Some(false);
    }
    let header = samples.at(u64::from(samples.u32_at(60)?), 4)?;
    Some(header == b"PE\0\0" || header.starts_with(b"NE") || header.starts_with(b"LE"))
}

/// A segment follows the start of the image, and another marker follows the segment.
fn jpeg(samples: &Samples) -> Option<bool> {
    let head = samples.at(0, 6)?;
    let is_marker = |byte: u8| matches!(byte, 0xC0..=0xCF | 0xDA..=0xEF | 0xFE);
    if head[..3] != [0xFF, 0xD8, 0xFF] || !is_marker(head[3]) {
        return Some(false);
    }
    let length = u64::from(u16::from_be_bytes([head[4], head[5]]));
    let next = samples.at(4 + length, 2)?;
    Some(length >= 2 && next[0] == 0xFF && is_marker(next[1]))
}

/// Reserved flags are 0, and level and system are among those that RFC 1952 names.
fn gzip(samples: &Samples) -> Option<bool> {
    let head = samples.at(0, 10)?;
    let known =
        head[3] & 0xE0 == 0 && matches!(head[8], 0 | 2 | 4) && matches!(head[9], 0..=13 | 255);
    Some(head[..3] == [0x1F, 0x8B, 8] && known)
}

fn bzip2(samples: &Samples) -> Option<bool> {
    let head = samples.at(0, 10)?;
    let level = head[3].is_ascii_digit();
    Some(
        head.starts_with(b"BZh")
            && level
            && (&head[4..] == b"1AY&SY" || &head[4..] == b"\x17rE8P\x90"),
    )
}

/// The usual properties, a dictionary of at most 4 GiB, and an unknown length.
fn lzma(samples: &Samples) -> Option<bool> {
    let head = samples.at(0, 13)?;
    Some(head[..3] == [0x5D, 0, 0] && head[5..] == [0xFF; 8])
}

/// An archive behind a program that unpacks it: its directory's end stands at the end of the file.
fn late_zip(samples: &Samples) -> Option<bool> {
    let tail = samples.tail();
    if tail.len() < 22 {
        return None;
    }
    let tail = &tail[tail.len().saturating_sub(65_557)..];
    let is_end = |at: usize| {
        let comment = tail.get(at + 20..at + 22)?;
        let comment_bytes = usize::from(u16::from_le_bytes([comment[0], comment[1]]));
        Some(at + 22 + comment_bytes == tail.len())
    };
    let mut windows = tail.windows(4).enumerate();
    Some(windows.any(|(at, four)| four == b"PK\x05\x06" && is_end(at) == Some(true)))
}

/// Readers accept a document that starts within the first kibibyte (ISO 32000-1, annex H).
fn late_pdf(samples: &Samples) -> Option<bool> {
    let start = samples.head().chunks(1024).next()?;
    Some(start.windows(5).any(|five| five == b"%PDF-"))
}

fn bitmap(samples: &Samples) -> Option<bool> {
    let reserved_is_zero = samples.u32_at(6)? == 0;
    let known_header = matches!(samples.u32_at(14)?, 12 | 40 | 52 | 56 | 64 | 108 | 124);
    Some(starts_with(samples, b"BM") && reserved_is_zero && known_header)
}

fn icon(samples: &Samples) -> Option<bool> {
    let images = samples.u16_at(4)?;
    let counted = (1..=64).contains(&images);
    let first_offset = samples.u32_at(18)?;
    let starts = starts_with(samples, &[0, 0, 1, 0]) || starts_with(samples, &[0, 0, 2, 0]);
    Some(starts && counted && first_offset == 6 + 16 * u32::from(images))
}

fn flash(samples: &Samples) -> Option<bool> {
    let plain =
        starts_with(samples, b"FWS") && u64::from(samples.u32_at(4)?) == samples.size_bytes();
    let packed =
        starts_with(samples, b"CWS") && samples.at(3, 1)?[0] <= 50 && samples.at(8, 1)? == [0x78];
    Some(plain || packed)
}

/// A sequence that is exactly as long as the file, and holds a sequence or a version number.
fn der(samples: &Samples) -> Option<bool> {
    let head = samples.at(0, 7)?;
    let length = u64::from(u16::from_be_bytes([head[2], head[3]]));
    let inside = head[4] == 0x30 || head[4..6] == [2, 1];
    Some(head[..2] == [0x30, 0x82] && length + 4 == samples.size_bytes() && inside)
}

/// A version that differs between releases, a line end, and at most two flags (PEP 552).
fn python(samples: &Samples) -> Option<bool> {
    Some(samples.at(1, 3)? == b"\x0D\x0D\x0A" && samples.u32_at(4)? <= 3)
}

/// The table's search range follows from the number of its entries.
fn true_type(samples: &Samples) -> Option<bool> {
    let head = samples.at(0, 8)?;
    let tables = u16::from_be_bytes([head[4], head[5]]);
    let range = u16::from_be_bytes([head[6], head[7]]);
    let counted = (4..=64).contains(&tables) && u32::from(range) == 16 << tables.ilog2();
    Some(head.starts_with(&[0, 1, 0, 0]) && counted)
}

/// Each packet of 188 bytes, or of 192 with a time stamp before it, starts with 0x47.
fn transport_stream(samples: &Samples) -> Option<bool> {
    let synchronised = |first: usize, packet: usize| {
        (0..8).all(|index| samples.head().get(first + index * packet) == Some(&0x47))
    };
    let varied = samples.at(0, 8)?.iter().any(|&byte| byte != 0x47);
    Some(varied && (synchronised(0, 188) || synchronised(4, 192)))
}

fn program_stream(samples: &Samples) -> Option<bool> {
    let after = samples.at(4, 1)?[0];
    let marked = after & 0xC4 == 0x44 || after & 0xF1 == 0x21;
    Some(starts_with(samples, &[0, 0, 1, 0xBA]) && marked)
}
