//! A file that another host serves, as it is made and looked at: calls that wait.

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use fathom_net::{Connection, Done, Fault, FaultKind, Operation, Request, Slots, Waiter};

use super::client::{address_of, settings};
use crate::errors::{Failure, Kind};

/// Writes that are outstanding while a file is filled, so that the server is busy all the time.
const WRITES: usize = 8;
/// Bytes of each, as far as the server takes so many.
const WRITE_BYTES_MAX: u32 = 1 << 20;

/// An open file of a share or an export.
#[derive(Debug)]
pub(crate) struct ServedFile {
    connection: RefCell<Connection>,
    timeout: Duration,
}

impl ServedFile {
    /// Opens it; nothing if there is none.
    pub(crate) fn open(path: &Path, timeout: Duration) -> Result<Option<Self>, Failure> {
        let settings = settings(timeout, fathom_net::Opening::default())?;
        let connection = Connection::look(&address_of(path)?, &settings)?;
        if connection.facts().is_missing {
            connection.close();
            return Ok(None);
        }
        Ok(Some(Self { connection: RefCell::new(connection), timeout }))
    }

    /// Makes it, empty. One that is there already stays as it is.
    pub(crate) fn create(path: &Path, timeout: Duration) -> Result<Self, Failure> {
        let settings = settings(timeout, fathom_net::Opening::default())?;
        let connection = Connection::create(&address_of(path)?, &settings)?;
        Ok(Self { connection: RefCell::new(connection), timeout })
    }

    /// What the server knows the file by, whatever its name is; nothing if the protocol has no such thing.
    pub(crate) fn handle(&self) -> Option<Vec<u8>> {
        self.connection.borrow().facts().handle.clone()
    }

    /// Its size, as the server said when it was opened or given another one.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.connection.borrow().facts().size_bytes
    }

    /// Fills a buffer as far as the file reaches; the bytes that it has there.
    pub(crate) fn read_at(&self, into: &mut [u8], offset_bytes: u64) -> io::Result<usize> {
        let left = self.size_bytes().saturating_sub(offset_bytes);
        let bytes = usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
        let read = self.connection.borrow_mut().read_exact_at(offset_bytes, &mut into[..bytes]);
        read.map_err(|fault: Fault| {
            io::Error::new(io::Error::from_raw_os_error(fault.kind.errno()).kind(), fault.text)
        })?;
        Ok(bytes)
    }

    /// Gives it another size.
    pub(crate) fn resize(&self, size_bytes: u64) -> Result<(), Failure> {
        Ok(self.connection.borrow_mut().resize(size_bytes)?)
    }

    /// Brings what was written to stable storage.
    pub(crate) fn flush(&self) -> Result<(), Failure> {
        Ok(self.connection.borrow_mut().flush()?)
    }

    /// Writes a range, several pieces at once. `fill` makes the data from an offset on; `went_on` gets how
    /// many bytes more are written, and says whether to go on. Whether all was written.
    pub(crate) fn write(
        &self,
        range: Range<u64>,
        fill: &dyn Fn(u64, &mut [u8]),
        went_on: &dyn Fn(u64) -> bool,
    ) -> Result<bool, Failure> {
        let mut connection = self.connection.borrow_mut();
        let piece_bytes = connection.facts().request_bytes_max.clamp(4096, WRITE_BYTES_MAX);
        // Data are made by blocks of 4 KiB.
        let piece_bytes = piece_bytes / 4096 * 4096;
        Writing { connection: &mut connection, timeout: self.timeout, piece_bytes }
            .run(range, fill, went_on)
    }

    /// Removes it.
    pub(crate) fn remove(self) -> Result<(), Failure> {
        Ok(self.connection.into_inner().remove()?)
    }

    /// Closes it.
    pub(crate) fn close(self) {
        self.connection.into_inner().close();
    }
}

/// Pieces, one for each write that may be outstanding.
struct Pieces(Vec<Vec<u8>>);

impl Slots for Pieces {
    fn for_read(&mut self, tag: u32) -> &mut [u8] {
        &mut self.0[tag as usize]
    }

    fn for_write(&self, tag: u32) -> &[u8] {
        &self.0[tag as usize]
    }
}

/// Writes one behind another on a connection.
struct Writing<'a> {
    connection: &'a mut Connection,
    timeout: Duration,
    piece_bytes: u32,
}

impl Writing<'_> {
    fn run(
        mut self,
        range: Range<u64>,
        fill: &dyn Fn(u64, &mut [u8]),
        went_on: &dyn Fn(u64) -> bool,
    ) -> Result<bool, Failure> {
        let mut pieces = Pieces(vec![vec![0; self.piece_bytes as usize]; WRITES]);
        let mut free: Vec<u32> = (0..).take(WRITES).collect();
        let (mut done, mut at, mut goes_on, mut lengths) =
            (Vec::new(), range.start, true, [0; WRITES]);
        loop {
            while at < range.end && goes_on {
                let Some(tag) = free.pop() else { break };
                let bytes = (range.end - at).min(self.piece_bytes.into());
                let piece = &mut pieces.0[tag as usize];
                piece.truncate(0);
                piece.resize(usize::try_from(bytes).unwrap_or(0), 0);
                fill(at, piece);
                let bytes = u32::try_from(bytes).unwrap_or(0);
                lengths[tag as usize] = bytes;
                let (operation, offset_bytes, is_through) = (Operation::Write, at, false);
                self.connection.submit(Request { tag, operation, offset_bytes, bytes, is_through });
                at += u64::from(bytes);
            }
            if free.len() == WRITES {
                return Ok(goes_on);
            }
            self.wait(&mut pieces, &mut done)?;
            for one in done.drain(..) {
                self.judge(one, lengths[one.tag as usize])?;
                free.push(one.tag);
                goes_on = went_on(lengths[one.tag as usize].into()) && goes_on;
            }
        }
    }

    /// Waits until something has completed.
    fn wait(&mut self, pieces: &mut Pieces, done: &mut Vec<Done>) -> Result<(), Failure> {
        let mut waiter = Waiter::default();
        let limit_ns = u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX);
        loop {
            self.connection.advance(pieces, done);
            if !done.is_empty() {
                return Ok(());
            }
            let interest = std::iter::once(self.connection.interest());
            if !waiter.wait(interest, Some(limit_ns)).map_err(|error| {
                Failure::of(&error, format!("waiting for the server failed ({error})"))
            })? {
                let words = format!("the server has not answered a write for {:?}", self.timeout);
                return Err(Failure::new(Kind::TimedOut, words));
            }
        }
    }

    fn judge(&self, done: Done, wanted: u32) -> Result<(), Failure> {
        if let Some(fault) = self.connection.lost() {
            return Err(fault.into());
        }
        if done.result < 0 {
            let error = io::Error::from_raw_os_error(-done.result);
            let kind = FaultKind::of_errno(-done.result);
            return Err(Failure::new(kind, format!("a write failed ({error})")));
        }
        if done.result.cast_unsigned() < wanted {
            let words = format!("the server took {} of {wanted} bytes of a write", done.result);
            return Err(Failure::new(Kind::Short, words));
        }
        Ok(())
    }
}
