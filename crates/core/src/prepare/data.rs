//! Where data are looked at: a file of this host, or one that another host serves.

use std::fs::File;
use std::io;
use std::ops::Range;

use fathom_sys::contract::file::PositionedIo;
use fathom_sys::{extents, residency};

use crate::network::ServedFile;

/// Data by their offset.
pub(super) trait Data {
    /// Reads up to the length of `into`; none at the end.
    fn read_at(&self, into: &mut [u8], offset_bytes: u64) -> io::Result<usize>;

    /// The first range within `range` that may hold anything but zeros.
    fn data_after(&self, range: Range<u64>) -> io::Result<Option<Range<u64>>>;

    /// Starts reading a range; whether no cache of this host held anything of it.
    fn read_ahead(&self, _range: Range<u64>) -> bool {
        false
    }

    /// Drops a range from this host's cache.
    fn drop_again(&self, _range: Range<u64>) {}
}

impl Data for File {
    fn read_at(&self, into: &mut [u8], offset_bytes: u64) -> io::Result<usize> {
        PositionedIo::read_at(self, into, offset_bytes)
    }

    fn data_after(&self, range: Range<u64>) -> io::Result<Option<Range<u64>>> {
        extents::data_after(self, range)
    }

    fn read_ahead(&self, range: Range<u64>) -> bool {
        let resident = residency::resident_bytes(self, range.clone()).unwrap_or(u64::MAX);
        if resident == 0 {
            let _ = residency::start_reading(self, range);
        }
        resident == 0
    }

    fn drop_again(&self, range: Range<u64>) {
        let _ = residency::drop_pages(self, range);
    }
}

impl Data for ServedFile {
    fn read_at(&self, into: &mut [u8], offset_bytes: u64) -> io::Result<usize> {
        ServedFile::read_at(self, into, offset_bytes)
    }

    fn data_after(&self, range: Range<u64>) -> io::Result<Option<Range<u64>>> {
        Ok(Some(range).filter(|range| !range.is_empty()))
    }
}

/// Fills a buffer as far as the data reach; how much of it.
pub(super) fn read_up_to(data: &dyn Data, into: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < into.len() {
        match data.read_at(&mut into[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(length) => done += length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Fills a buffer; an error if the data end before.
pub(super) fn read_exact_at(data: &dyn Data, into: &mut [u8], offset: u64) -> io::Result<()> {
    if read_up_to(data, into, offset)? < into.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}
