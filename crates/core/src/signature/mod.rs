//! What data are called that are not ours: by libblkid, the library of `wipefs` and `mount`, and by the
//! crate `infer`.
//!
//! In a file a name is for the message alone: what is not ours is refused, known or not. On a device it
//! decides whether `--overwrite` is requested besides the leave that every device needs.

mod documents;
mod samples;
mod volumes;

use std::fs::File;
use std::io::{self, Seek, SeekFrom};

use fathom_sys::blkid;
use fathom_sys::contract::file::PositionedIo;

pub use samples::{Part, Samples};

/// A shorter magic number counts for nothing where others are looked for: random data meet it by chance.
const MAGIC_BYTES_MIN: usize = 4;
/// Bytes from which a document is known.
const HEAD_BYTES: usize = 8192;
/// Nothing that libblkid 2.41 knows stands farther from an end: VMFS at 2 MiB, a LUKS header up to 4 MiB.
const LOOKED_AT_BYTES: u64 = 4 << 20;
/// A sector, at whose beginning somebody's data may stand.
const SECTOR_BYTES: u64 = 512;

/// What the data of a file of `size_bytes` are called, if that is known; the byte at `at` is the first that
/// is not ours.
pub(crate) fn name(file: &File, size_bytes: u64, at: u64) -> Option<String> {
    if let Ok(Some(words)) = volumes::known(file, 0) {
        return Some(words);
    }
    let head = part(file, 0, size_bytes);
    if let Some(name) = documents::name(&head) {
        return Some(name);
    }
    let start = at / SECTOR_BYTES * SECTOR_BYTES;
    let found = documents::name(&part(file, start, size_bytes))?;
    Some(at_offset(&found, start))
}

/// The words of a sentence about data that are ours or somebody's.
pub(crate) const UNTOLD: &str = "\
    holds bytes that count upwards, in pieces as short as a table of characters, and nothing proves any \
    more whose they are: since diskspd or fathom left it, it was copied or changed, or a run was killed \
    that wrote to it";

/// The words of a sentence about data that are not ours: what they look like, if that is known.
pub(crate) fn in_words(found: Option<&str>) -> String {
    match found {
        Some(name) => format!("looks like {name}"),
        None => "holds data that neither diskspd nor fathom made".to_owned(),
    }
}

/// Where [`of_device`] looks on a device of this size: offset and length, perhaps the same places twice.
#[cfg(feature = "net")]
pub(crate) fn looked_at(size_bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let edge = LOOKED_AT_BYTES.min(size_bytes);
    let edges = [(0, edge), (size_bytes - edge, edge)];
    edges.into_iter().chain(samples::places(size_bytes))
}

/// What a device looks like; none if it may be test data. The device is only read.
pub(crate) fn of_device(mut device: &File) -> io::Result<Option<String>> {
    let size_bytes = device.seek(SeekFrom::End(0))?;
    // Where a part of it cannot be read, something may stand there.
    if let Some(words) = volumes::known(device, 0)? {
        return Ok(Some(words));
    }
    let samples = Samples::read(device, size_bytes)?;
    if let Some(name) = documents::strong(samples.head()) {
        return Ok(Some(name.to_owned()));
    }
    let within = |(offset_bytes, sample): (u64, Samples)| {
        documents::strong(sample.head()).map(|name| at_offset(name, offset_bytes))
    };
    match samples.middle().find_map(within) {
        None if blkid::library().is_err() => unasked(device, size_bytes),
        found => Ok(found),
    }
}

/// Where libblkid is missing, a device passes only if nothing stands where it would look.
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

/// Whether something that libblkid knows stands in a file, or may stand where it cannot be read.
pub(crate) fn may_have_volume(file: &File) -> bool {
    !matches!(volumes::known(file, MAGIC_BYTES_MIN), Ok(None))
}

fn part(file: &File, start: u64, size_bytes: u64) -> Vec<u8> {
    let length = usize::try_from(size_bytes.saturating_sub(start)).unwrap_or(HEAD_BYTES);
    let mut bytes = vec![0; length.min(HEAD_BYTES)];
    let read = file.read_at(&mut bytes, start).unwrap_or(0);
    bytes.truncate(read);
    bytes
}

fn at_offset(name: &str, offset_bytes: u64) -> String {
    if offset_bytes == 0 { name.to_owned() } else { format!("{name}, at offset {offset_bytes}") }
}
