//! Writes the content of a file at the speed of the device.
//!
//! A few threads generate large pieces and write them past the page cache where the file system
//! allows it. Elsewhere the pages are sent to the device as they come and dropped afterwards, so
//! that filling a file larger than memory neither stalls the host nor leaves a warm cache.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use fathom_sys::contract::file::PositionedIo;
use fathom_sys::residency;

use super::content::{BLOCK_BYTES, Content};
use crate::measure::{Event, EventSink};

/// Bytes of a piece, large enough for the full rate of any device.
const PIECE_BYTES: u64 = 4 << 20;
/// Pieces in flight, so that the device is busy while the next data are generated.
const THREADS: u64 = 4;
const BLOCK: u64 = BLOCK_BYTES as u64;
/// Progress is reported at most this often.
const TELL_EVERY_NS: u64 = 100_000_000;

/// How far filling came.
pub(super) enum Filled {
    /// All data are on stable storage.
    Whole,
    /// Somebody asked to stop.
    Stopped,
}

/// One filling of one file.
pub(super) struct Filling<'a> {
    file: &'a File,
    content: Content,
    /// Whole blocks from the second on: direct I/O takes nothing else.
    body: Range<u64>,
    next_piece: AtomicU64,
    stop: &'a AtomicBool,
    failed: Mutex<Option<io::Error>>,
    direct: AtomicBool,
    progress: Progress<'a>,
}

impl<'a> Filling<'a> {
    pub(super) fn new(
        file: &'a File,
        path: &Path,
        content: Content,
        stop: &'a AtomicBool,
        sink: EventSink<'a>,
    ) -> Self {
        let end = content.size_bytes / BLOCK * BLOCK;
        Self {
            file,
            content,
            body: BLOCK.min(end)..end,
            next_piece: AtomicU64::new(0),
            stop,
            failed: Mutex::new(None),
            direct: AtomicBool::new(false),
            progress: Progress::new(path, content.size_bytes, sink),
        }
    }

    /// Bytes written so far.
    pub(super) fn done_bytes(&self) -> u64 {
        self.progress.done_bytes()
    }

    /// Writes everything, the first block last, and waits until it is on stable storage.
    pub(super) fn run(&self) -> io::Result<Filled> {
        self.progress.add(0);
        self.write_body()?;
        if self.is_stopped() {
            return Ok(Filled::Stopped);
        }
        let tail = self.body.end.max(BLOCK.min(self.content.size_bytes));
        self.write_edge(tail..self.content.size_bytes)?;
        self.file.sync_data()?;
        if self.is_stopped() {
            return Ok(Filled::Stopped);
        }
        self.write_edge(0..BLOCK.min(self.content.size_bytes))?;
        self.file.sync_data()?;
        // A file system that ignores the advice leaves a warm cache, which the run then reports.
        let _ = residency::drop_pages(self.file, 0..0);
        Ok(Filled::Whole)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn write_body(&self) -> io::Result<()> {
        let pieces = (self.body.end - self.body.start).div_ceil(PIECE_BYTES);
        self.direct.store(residency::set_direct(self.file, true).is_ok(), Ordering::Relaxed);
        std::thread::scope(|scope| {
            for _ in 0..pieces.min(THREADS) {
                scope.spawn(|| self.write_pieces());
            }
        });
        if self.direct.load(Ordering::Relaxed) {
            residency::set_direct(self.file, false)?;
        }
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.take().map_or(Ok(()), Err)
    }

    /// One thread's work: piece after piece until none is left.
    fn write_pieces(&self) {
        let mut buffer = AlignedBuffer::new();
        let mut previous = 0..0;
        while let Some(range) = self.take_piece() {
            let piece = buffer.piece(&range);
            self.content.fill(range.start, piece);
            match self.write_piece(piece, &range, &previous) {
                Ok(()) => self.progress.add(range.end - range.start),
                Err(error) => self.fail(error),
            }
            previous = range;
        }
    }

    fn take_piece(&self) -> Option<Range<u64>> {
        if self.is_stopped() || self.has_failed() {
            return None;
        }
        let piece = self.next_piece.fetch_add(1, Ordering::Relaxed);
        let start = self.body.start.checked_add(piece.checked_mul(PIECE_BYTES)?)?;
        (start < self.body.end).then(|| start..self.body.end.min(start + PIECE_BYTES))
    }

    fn write_piece(
        &self,
        piece: &[u8],
        range: &Range<u64>,
        previous: &Range<u64>,
    ) -> io::Result<()> {
        match self.file.write_all_at(piece, range.start) {
            // Some file systems accept the flag and then refuse the I/O, or want larger blocks.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                self.direct.store(false, Ordering::Relaxed);
                residency::set_direct(self.file, false)?;
                self.file.write_all_at(piece, range.start)?;
            }
            outcome => outcome?,
        }
        if !self.direct.load(Ordering::Relaxed) {
            self.push_out(range, previous);
        }
        Ok(())
    }

    /// Keeps the dirty pages of this thread to two pieces. Where the call is unknown, the last
    /// sync does the same at once, and any failure to write shows there.
    fn push_out(&self, range: &Range<u64>, previous: &Range<u64>) {
        let _ = residency::start_writeback(self.file, range.clone());
        if !previous.is_empty() {
            let _ = residency::finish_writeback(self.file, previous.clone());
            let _ = residency::drop_pages(self.file, previous.clone());
        }
    }

    fn write_edge(&self, range: Range<u64>) -> io::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let length = usize::try_from(range.end - range.start).unwrap_or(BLOCK_BYTES);
        let mut bytes = vec![0; length];
        self.content.fill(range.start, &mut bytes);
        self.file.write_all_at(&bytes, range.start)?;
        self.progress.add(range.end - range.start);
        Ok(())
    }

    fn has_failed(&self) -> bool {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn fail(&self, error: io::Error) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert(error);
    }
}

/// Tells how far filling came, in order and not too often.
pub(super) struct Progress<'a> {
    name: String,
    total_bytes: u64,
    sink: EventSink<'a>,
    state: Mutex<(u64, Option<u64>)>,
}

impl<'a> Progress<'a> {
    pub(super) fn new(path: &Path, total_bytes: u64, sink: EventSink<'a>) -> Self {
        let name = path.display().to_string();
        Self { name, total_bytes, sink, state: Mutex::new((0, None)) }
    }

    pub(super) fn done_bytes(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    pub(super) fn add(&self, bytes: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 += bytes;
        let finished = bytes > 0 && state.0 == self.total_bytes;
        let now_ns = fathom_sys::clock::now_ns();
        if finished || state.1.is_none_or(|told_ns| now_ns - told_ns >= TELL_EVERY_NS) {
            state.1 = Some(now_ns);
            let (name, done_bytes) = (self.name.clone(), state.0);
            (self.sink)(Event::Filling { name, done_bytes, total_bytes: self.total_bytes });
        }
    }
}

/// A buffer for one piece, aligned as direct I/O wants it.
struct AlignedBuffer {
    memory: Vec<u8>,
    first: usize,
}

impl AlignedBuffer {
    fn new() -> Self {
        let piece = usize::try_from(PIECE_BYTES).unwrap_or(usize::MAX - BLOCK_BYTES);
        let memory = vec![0; piece + BLOCK_BYTES];
        let first = memory.as_ptr().align_offset(BLOCK_BYTES).min(BLOCK_BYTES);
        Self { memory, first }
    }

    fn piece(&mut self, range: &Range<u64>) -> &mut [u8] {
        let length = usize::try_from(range.end - range.start).unwrap_or(0);
        &mut self.memory[self.first..self.first + length]
    }
}
