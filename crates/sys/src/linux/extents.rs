//! Which blocks of a file have data behind them.
//!
//! A read of a hole, or of an extent that was reserved but never written, is answered by the
//! file system from nothing; its speed says nothing about the device.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// How the bytes of a range are backed; the first three parts add up to the range.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backing {
    /// Bytes with data behind them.
    pub written_bytes: u64,
    /// Bytes that are reserved on the device but were never written.
    pub unwritten_bytes: u64,
    /// Bytes of holes, and beyond the end of the file.
    pub hole_bytes: u64,
    /// Of those with data: bytes in blocks that other files, or other places of this one, have as well. None
    /// where the file system keeps no map of extents.
    pub shared_bytes: u64,
}

impl Backing {
    /// Bytes that are read without touching the device.
    #[must_use]
    pub fn unbacked_bytes(self) -> u64 {
        self.unwritten_bytes + self.hole_bytes
    }
}

/// How the bytes of `range` of `file` are backed; delayed writes are flushed first.
///
/// Where the file system keeps no map of extents, unwritten ones cannot be told from written
/// ones, but holes still can. The position of `file` may be changed.
pub fn backing(file: &File, range: Range<u64>) -> io::Result<Backing> {
    match mapped_backing(file, &range) {
        Err(error) if map_is_unsupported(&error) => sought_backing(file, &range),
        answer => answer,
    }
}

fn map_is_unsupported(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOTTY | libc::ENOSYS))
}

/// Extents that are fetched by one call.
const EXTENTS_PER_CALL: usize = 128;

// The values and layouts of `linux/fiemap.h`, which the libc crate does not carry.
const FS_IOC_FIEMAP: libc::c_ulong = 0xC020_660B;
const FLAG_SYNC: u32 = 1;
const EXTENT_LAST: u32 = 1;
const EXTENT_UNWRITTEN: u32 = 0x800;
const EXTENT_SHARED: u32 = 0x2000;

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
struct ExtentMap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [Extent; EXTENTS_PER_CALL],
}

fn fetch(file: &File, start: u64, end: u64) -> io::Result<Box<ExtentMap>> {
    let mut map = Box::new(ExtentMap {
        start,
        length: end - start,
        flags: FLAG_SYNC,
        mapped_extents: 0,
        extent_count: u32::try_from(EXTENTS_PER_CALL).unwrap_or(0),
        reserved: 0,
        extents: [Extent::default(); EXTENTS_PER_CALL],
    });
    // SAFETY: `map` has the layout of `struct fiemap` with room for the `extent_count` extents
    // that it announces, and is uniquely borrowed for the call.
    let status = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP as _, &raw mut *map) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(map)
}

fn mapped_backing(file: &File, range: &Range<u64>) -> io::Result<Backing> {
    let mut sum = Backing::default();
    let mut at = range.start;
    'calls: while at < range.end {
        let map = fetch(file, at, range.end)?;
        let found = &map.extents[..EXTENTS_PER_CALL.min(map.mapped_extents as usize)];
        let before = at;
        for extent in found {
            let start = extent.logical.max(at);
            let end = extent.logical.saturating_add(extent.length).min(range.end);
            if start < end {
                sum.hole_bytes += start - at;
                add_extent(&mut sum, extent.flags, end - start);
                at = end;
            }
            if extent.flags & EXTENT_LAST != 0 {
                break 'calls;
            }
        }
        if at == before {
            break;
        }
    }
    sum.hole_bytes += range.end.saturating_sub(at);
    without_tail(file, range, sum)
}

fn add_extent(sum: &mut Backing, flags: u32, bytes: u64) {
    if flags & EXTENT_UNWRITTEN == 0 {
        sum.written_bytes += bytes;
        sum.shared_bytes += if flags & EXTENT_SHARED == 0 { 0 } else { bytes };
    } else {
        sum.unwritten_bytes += bytes;
    }
}

/// Moves what an extent holds beyond the end of the file from its kind to the holes.
fn without_tail(file: &File, range: &Range<u64>, mut sum: Backing) -> io::Result<Backing> {
    let beyond = range.end.saturating_sub(file.metadata()?.len().max(range.start));
    let excess = beyond.saturating_sub(sum.hole_bytes);
    let from_unwritten = excess.min(sum.unwritten_bytes);
    sum.unwritten_bytes -= from_unwritten;
    sum.written_bytes = sum.written_bytes.saturating_sub(excess - from_unwritten);
    sum.shared_bytes = sum.shared_bytes.min(sum.written_bytes);
    sum.hole_bytes += excess;
    Ok(sum)
}

fn sought_backing(file: &File, range: &Range<u64>) -> io::Result<Backing> {
    let mut sum = Backing::default();
    let mut at = range.start;
    while at < range.end {
        let Some(data) = seek(file, at, libc::SEEK_DATA)? else { break };
        let data = data.clamp(at, range.end);
        let hole = seek(file, data, libc::SEEK_HOLE)?.unwrap_or(range.end).clamp(data, range.end);
        sum.hole_bytes += data - at;
        sum.written_bytes += hole - data;
        if hole == at {
            break;
        }
        at = hole;
    }
    sum.hole_bytes += range.end.saturating_sub(at);
    Ok(sum)
}

/// Up to `most` places in a file of `size_bytes` where data begin behind a hole, each with the length of
/// the data; where there are more, as many again that are spread over the file.
///
/// None where the file system tells no holes. The position of `file` may be changed.
pub fn stretches(file: &File, size_bytes: u64, most: usize) -> io::Result<Vec<(u64, u64)>> {
    let mut found = BTreeMap::new();
    let mut at = 0;
    while let Some((start, length)) = stretch_after(file, at)? {
        if found.len() >= most {
            let step = (size_bytes / most as u64).max(1);
            for place in (0..most as u64).map(|index| index * step) {
                found.extend(stretch_after(file, place)?);
            }
            break;
        }
        found.insert(start, length);
        at = start.saturating_add(length.max(1));
    }
    Ok(found.into_iter().collect())
}

/// The first data behind the first hole at or after `at`, and their length.
fn stretch_after(file: &File, at: u64) -> io::Result<Option<(u64, u64)>> {
    let Some(hole) = seek(file, at, libc::SEEK_HOLE)? else { return Ok(None) };
    let Some(start) = seek(file, hole, libc::SEEK_DATA)? else { return Ok(None) };
    let end = seek(file, start, libc::SEEK_HOLE)?.unwrap_or(start);
    Ok((end > start).then(|| (start, end - start)))
}

/// The first data in `range`; none if it holds nothing but holes and blocks that were never written. A file
/// system that tells no holes has data everywhere.
///
/// The position of `file` may be changed.
pub fn data_after(file: &File, range: Range<u64>) -> io::Result<Option<Range<u64>>> {
    if range.is_empty() {
        return Ok(None);
    }
    let start = match seek(file, range.start, libc::SEEK_DATA) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return Ok(Some(range)),
        found => found?.filter(|start| *start < range.end),
    };
    let Some(start) = start else { return Ok(None) };
    let end = seek(file, start, libc::SEEK_HOLE)?.unwrap_or(range.end).min(range.end);
    // A file that becomes shorter meanwhile ends where it began.
    Ok(Some(start..end.max(start + 1)))
}

/// Whether at most so many of a file's first `size_bytes` may be anything but zeros.
///
/// The position of `file` may be changed.
pub fn holds_at_most(file: &File, size_bytes: u64, most_bytes: u64) -> io::Result<bool> {
    let (mut at, mut held_bytes) = (0, 0);
    while let Some(data) = data_after(file, at..size_bytes)? {
        at = data.end;
        held_bytes += data.end - data.start;
        if held_bytes > most_bytes {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The next data or hole at or after `at`; none beyond the last of the kind.
fn seek(file: &File, at: u64, whence: libc::c_int) -> io::Result<Option<u64>> {
    let Ok(offset) = libc::off64_t::try_from(at) else { return Ok(None) };
    // SAFETY: the descriptor is open for as long as `file` is borrowed; no memory is passed.
    let found = unsafe { libc::lseek64(file.as_raw_fd(), offset, whence) };
    if let Ok(found) = u64::try_from(found) {
        return Ok(Some(found));
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
        error => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    fn sparse() -> File {
        let file = tempfile::tempfile().expect("a temporary file");
        file.set_len(1 << 20).expect("a length");
        file.write_all_at(&vec![7; 65_536], 131_072).expect("a write");
        file
    }

    #[test]
    fn parts_add_up_to_the_range() {
        let sum = backing(&sparse(), 0..1 << 20).expect("extents");
        assert_eq!(sum.written_bytes, 65_536);
        assert_eq!(sum.unbacked_bytes(), (1 << 20) - 65_536);
    }

    #[test]
    fn a_range_is_clipped_at_both_ends() {
        let sum = backing(&sparse(), 135_168..200_704).expect("extents");
        assert_eq!(sum.written_bytes, 196_608 - 135_168);
        assert_eq!(sum.hole_bytes, 200_704 - 196_608);
    }

    #[test]
    fn what_lies_beyond_the_end_is_a_hole() {
        let file = tempfile::tempfile().expect("a temporary file");
        file.write_all_at(&[7; 5000], 0).expect("a write");
        let sum = backing(&file, 0..8192).expect("extents");
        assert_eq!((sum.written_bytes, sum.hole_bytes), (5000, 3192));
    }

    #[test]
    fn data_are_found_one_after_another() {
        let file = sparse();
        assert_eq!(data_after(&file, 0..1 << 20).expect("data"), Some(131_072..196_608));
        assert_eq!(data_after(&file, 135_168..140_000).expect("data"), Some(135_168..140_000));
        assert_eq!(data_after(&file, 196_608..1 << 20).expect("holes"), None);
        assert_eq!(data_after(&file, 0..0).expect("nothing"), None);
    }

    #[test]
    fn both_ways_agree_on_holes() {
        let file = sparse();
        let sought = sought_backing(&file, &(0..1 << 20)).expect("holes");
        assert_eq!(sought, backing(&file, 0..1 << 20).expect("extents"));
    }

    #[test]
    fn a_fragmented_file_takes_several_calls() {
        let file = tempfile::tempfile().expect("a temporary file");
        let pieces = 3 * EXTENTS_PER_CALL as u64;
        file.set_len(pieces * 131_072).expect("a length");
        for piece in 0..pieces {
            file.write_all_at(&[1; 4096], piece * 131_072).expect("a write");
        }
        let sum = backing(&file, 0..pieces * 131_072).expect("extents");
        assert_eq!(sum.written_bytes, pieces * 4096);
    }

    #[test]
    fn data_behind_holes_are_found_wherever_they_lie() {
        assert_eq!(stretches(&sparse(), 1 << 20, 4).expect("holes"), [(131_072, 65_536)]);
        let full = tempfile::tempfile().expect("a temporary file");
        full.write_all_at(&[7; 8192], 0).expect("a write");
        assert_eq!(stretches(&full, 8192, 4).expect("no holes"), []);
        let many = tempfile::tempfile().expect("a temporary file");
        many.set_len(100 << 17).expect("a length");
        for piece in 0..99 {
            many.write_all_at(&[1; 4096], (piece << 17) + 65_536).expect("a write");
        }
        let found = stretches(&many, 100 << 17, 10).expect("holes");
        assert!((10..=20).contains(&found.len()), "{found:?}");
        assert!(found.last().expect("some").0 > 80 << 17, "{found:?}");
    }

    #[test]
    fn an_empty_range_has_no_bytes() {
        assert_eq!(backing(&sparse(), 4096..4096).expect("extents"), Backing::default());
    }
}
