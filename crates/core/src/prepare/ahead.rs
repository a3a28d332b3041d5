//! The walk over all data of a file, which leaves its page cache as it was.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;

use super::data::{Data, read_up_to};
use super::proof::SECTOR_BYTES;

/// Bytes that are read at once.
const WINDOW_BYTES: u64 = 1 << 20;
/// Windows, and bytes of them, that are read ahead of the look.
const AHEAD_MAX: usize = 64;
const AHEAD_BYTES_MAX: u64 = 8 << 20;
/// Data are looked at from the start of a sector on.
const SECTOR: u64 = SECTOR_BYTES as u64;

/// Looks at all that may be anything but zeros, range by range, until something is found.
pub(super) fn find<T>(
    file: &dyn Data,
    size_bytes: u64,
    mut look: impl FnMut(Range<u64>) -> io::Result<Option<T>>,
) -> io::Result<Option<T>> {
    let mut ahead =
        Ahead { file, size_bytes, at: 0, rest: 0..0, windows: VecDeque::new(), bytes: 0 };
    while let Some(window) = ahead.next()? {
        let found = look(window.range.clone())?;
        if window.was_cold {
            file.drop_again(window.range);
        }
        if found.is_some() {
            ahead.give_up();
            return Ok(found);
        }
    }
    Ok(None)
}

/// What a file holds in a range; less where it has become shorter.
pub(super) fn read(file: &dyn Data, range: Range<u64>) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(range.end - range.start).unwrap_or(0)];
    let done = read_up_to(file, &mut bytes, range.start)?;
    bytes.truncate(done);
    Ok(bytes)
}

/// Data of a file that are about to be looked at.
struct Window {
    range: Range<u64>,
    /// The page cache held none of them: it is left so, lest a look warms it for the measurement.
    was_cold: bool,
}

/// The data of a file, read ahead of the look at them: a file that was written at random has many small
/// pieces, and the device reads several at once.
struct Ahead<'a> {
    file: &'a dyn Data,
    size_bytes: u64,
    /// Where the next data are looked for.
    at: u64,
    /// What is left of the data that were found last.
    rest: Range<u64>,
    windows: VecDeque<Window>,
    /// Of all windows.
    bytes: u64,
}

impl Ahead<'_> {
    fn next(&mut self) -> io::Result<Option<Window>> {
        while self.windows.len() < AHEAD_MAX && self.bytes < AHEAD_BYTES_MAX {
            let Some(range) = self.more()? else { break };
            let was_cold = self.file.read_ahead(range.clone());
            self.bytes += range.end - range.start;
            self.windows.push_back(Window { range, was_cold });
        }
        let first = self.windows.pop_front();
        self.bytes -= first.as_ref().map_or(0, |window| window.range.end - window.range.start);
        Ok(first)
    }

    /// The next data, not more than are read at once.
    fn more(&mut self) -> io::Result<Option<Range<u64>>> {
        if self.rest.is_empty() {
            let Some(data) = self.file.data_after(self.at..self.size_bytes)? else {
                return Ok(None);
            };
            self.at = data.end;
            self.rest = data.start / SECTOR * SECTOR..data.end;
        }
        let end = self.rest.end.min(self.rest.start + WINDOW_BYTES);
        let range = self.rest.start..end;
        self.rest.start = end;
        Ok(Some(range))
    }

    /// Drops what was read ahead for nothing.
    fn give_up(&mut self) {
        for window in self.windows.drain(..).filter(|window| window.was_cold) {
            self.file.drop_again(window.range);
        }
    }
}
