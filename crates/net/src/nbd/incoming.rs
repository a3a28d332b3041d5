//! Replies on their way from the server.
//!
//! One receive takes many small replies at once into a buffer, from which their data are copied to the slots:
//! a copy of a few kilobytes that are in the cache costs far less than a system call for each. What is long,
//! and has only begun to come, is received right into its slot.

use std::io::{self, IoSliceMut};

use super::pending::{Io, Pending};
use super::wire::{self, chunk, u16_at, u32_at, u64_at};
use crate::connection::{Done, Slots};
use crate::fault::{Fault, errno};
use crate::stream::{Stream, hung_up};

const BUFFER_BYTES: usize = 256 << 10;
/// From here on the rest of a reply's data is received into its slot.
const DIRECT_BYTES: usize = 16 << 10;
/// An error's description is bounded by this, as the protocol's strings are.
const ERROR_BYTES_MAX: u32 = 8 << 10;

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The head of a reply.
    Head,
    /// Data of a read, from this place of its slot on.
    Data { tag: u32, at: usize, left: usize, is_last: bool },
    /// What nobody wants to know.
    Skipped { left: usize },
}

/// The reader of replies.
#[derive(Debug)]
pub(super) struct Incoming {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    next: Next,
    is_structured: bool,
}

impl Incoming {
    pub(super) fn new(is_structured: bool) -> Self {
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        Self { buffer, start: 0, end: 0, next: Next::Head, is_structured }
    }

    /// Takes all that is there.
    pub(super) fn receive(
        &mut self,
        stream: &mut Stream,
        slots: &mut impl Slots,
        pending: &mut Pending,
        done: &mut Vec<Done>,
    ) -> Result<(), Fault> {
        loop {
            let room = self.make_room();
            match self.receive_some(stream, slots) {
                Ok(0) => return Err(hung_up()),
                Ok(bytes) => {
                    self.digest(slots, pending, done)?;
                    // A socket that gave less than there was room for has no more.
                    if bytes < room && stream.is_drained_by_short_receives() {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Fault::of_io("receiving", &error)),
            }
        }
    }

    /// Moves what is left to the front where that makes room; gives the room there is.
    fn make_room(&mut self) -> usize {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let direct = match self.next {
            Next::Data { left, .. } if left >= DIRECT_BYTES => left,
            _ => 0,
        };
        self.buffer.len() - self.end + direct
    }

    fn receive_some(&mut self, stream: &mut Stream, slots: &mut impl Slots) -> io::Result<usize> {
        let rest = IoSliceMut::new(&mut self.buffer[self.end..]);
        let (tag, at, left, is_last) = match self.next {
            Next::Data { tag, at, left, is_last } if left >= DIRECT_BYTES => {
                (tag, at, left, is_last)
            }
            _ => {
                let bytes = stream.receive(&mut [rest])?;
                self.end += bytes;
                return Ok(bytes);
            }
        };
        // All that came before is used up, since data are wanted.
        let slot = IoSliceMut::new(&mut slots.for_read(tag)[at..at + left]);
        let bytes = stream.receive(&mut [slot, rest])?;
        let direct = bytes.min(left);
        self.end += bytes - direct;
        self.next = Next::Data { tag, at: at + direct, left: left - direct, is_last };
        Ok(bytes)
    }

    /// Uses up what the buffer holds, as far as it is complete.
    fn digest(
        &mut self,
        slots: &mut impl Slots,
        pending: &mut Pending,
        done: &mut Vec<Done>,
    ) -> Result<(), Fault> {
        loop {
            match self.next {
                Next::Head => {
                    if !self.head(slots, pending, done)? {
                        return Ok(());
                    }
                }
                Next::Data { tag, at, left, is_last } => {
                    let bytes = left.min(self.end - self.start);
                    let from = &self.buffer[self.start..self.start + bytes];
                    slots.for_read(tag)[at..at + bytes].copy_from_slice(from);
                    self.start += bytes;
                    self.next = Next::Data { tag, at: at + bytes, left: left - bytes, is_last };
                    if left > bytes {
                        return Ok(());
                    }
                    self.next = Next::Head;
                    if is_last {
                        done.push(pending.finish(tag)?);
                    }
                }
                Next::Skipped { left } => {
                    let bytes = left.min(self.end - self.start);
                    self.start += bytes;
                    self.next = Next::Skipped { left: left - bytes };
                    if left > bytes {
                        return Ok(());
                    }
                    self.next = Next::Head;
                }
            }
        }
    }

    /// Takes the head of a reply; false if it is not all there.
    fn head(
        &mut self,
        slots: &mut impl Slots,
        pending: &mut Pending,
        done: &mut Vec<Done>,
    ) -> Result<bool, Fault> {
        let there = self.end - self.start;
        if there < 4 {
            return Ok(false);
        }
        match u32_at(&self.buffer, self.start) {
            wire::SIMPLE_REPLY if there < wire::SIMPLE_BYTES => Ok(false),
            wire::SIMPLE_REPLY => self.simple(pending, done).map(|()| true),
            wire::STRUCTURED_REPLY if !self.is_structured => {
                Err(Fault::garbled("the server sends structured replies that were not agreed on"))
            }
            wire::STRUCTURED_REPLY if there < wire::STRUCTURED_BYTES => Ok(false),
            wire::STRUCTURED_REPLY => self.structured(slots, pending, done),
            other => {
                Err(Fault::garbled(format!("the server sends {other:#010x} where a reply begins")))
            }
        }
    }

    fn simple(&mut self, pending: &mut Pending, done: &mut Vec<Done>) -> Result<(), Fault> {
        let head = &self.buffer[self.start..self.start + wire::SIMPLE_BYTES];
        let (error, cookie) = (u32_at(head, 4), u64_at(head, 8));
        let io = pending.of_cookie(cookie)?;
        self.start += wire::SIMPLE_BYTES;
        io.error = told(error);
        let tag = io.request.tag;
        if io.error == 0 && io.request.operation == super::Operation::Read {
            if self.is_structured || io.got > 0 {
                return Err(Fault::garbled(
                    "the server answers a read by a simple reply after it agreed on structured ones",
                ));
            }
            let left = io.request.bytes as usize;
            io.got = io.request.bytes;
            self.next = Next::Data { tag, at: 0, left, is_last: true };
            return Ok(());
        }
        done.push(pending.finish(tag)?);
        Ok(())
    }

    /// Takes the head of a chunk and what of its data is not the slot's; false if it is not all there.
    fn structured(
        &mut self,
        slots: &mut impl Slots,
        pending: &mut Pending,
        done: &mut Vec<Done>,
    ) -> Result<bool, Fault> {
        let head = Chunk::of(&self.buffer[self.start..self.start + wire::STRUCTURED_BYTES]);
        let io = pending.of_cookie(head.cookie)?;
        head.check(io)?;
        let own_bytes = head.own_bytes();
        let from = self.start + wire::STRUCTURED_BYTES;
        if self.end - from < own_bytes {
            return Ok(false);
        }
        let own = &self.buffer[from..from + own_bytes];
        self.start = from + own_bytes;
        let rest = head.bytes as usize - own_bytes;
        match head.kind {
            chunk::NONE => {}
            chunk::OFFSET_DATA => {
                let at = place(io, u64_at(own, 0), rest)?;
                let tag = io.request.tag;
                self.next = Next::Data { tag, at, left: rest, is_last: head.is_last };
                return Ok(true);
            }
            chunk::OFFSET_HOLE => {
                let length = u32_at(own, 8) as usize;
                let at = place(io, u64_at(own, 0), length)?;
                slots.for_read(io.request.tag)[at..at + length].fill(0);
            }
            _ => {
                io.error = if io.error == 0 { told(u32_at(own, 0).max(1)) } else { io.error };
                self.next = Next::Skipped { left: rest };
            }
        }
        if head.is_last {
            let tag = io.request.tag;
            done.push(pending.finish(tag)?);
        }
        Ok(true)
    }
}

/// The head of a structured reply.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    is_last: bool,
    kind: u16,
    cookie: u64,
    bytes: u32,
}

impl Chunk {
    fn of(head: &[u8]) -> Self {
        Self {
            is_last: u16_at(head, 4) & chunk::FLAG_DONE != 0,
            kind: u16_at(head, 6),
            cookie: u64_at(head, 8),
            bytes: u32_at(head, 16),
        }
    }

    /// Bytes that are looked at before the rest goes to the slot, or nowhere.
    fn own_bytes(self) -> usize {
        match self.kind {
            chunk::NONE => 0,
            chunk::OFFSET_DATA => 8,
            chunk::OFFSET_HOLE => 12,
            _ => 6,
        }
    }

    /// Whether kind and length fit each other and what was requested.
    fn check(self, io: &Io) -> Result<(), Fault> {
        let is_read = io.request.operation == super::Operation::Read;
        let is_fine = match self.kind {
            chunk::NONE => self.bytes == 0 && self.is_last,
            chunk::OFFSET_DATA => is_read && self.bytes > 8,
            chunk::OFFSET_HOLE => is_read && self.bytes == 12,
            chunk::ERROR | chunk::ERROR_OFFSET => (6..=ERROR_BYTES_MAX).contains(&self.bytes),
            _ => false,
        };
        if is_fine {
            return Ok(());
        }
        Err(Fault::garbled(format!(
            "the server sends a chunk of kind {} and {} bytes, which answers nothing",
            self.kind, self.bytes
        )))
    }
}

/// The place in the slot of so many bytes from an offset of the target on, which count as got.
fn place(io: &mut Io, offset: u64, bytes: usize) -> Result<usize, Fault> {
    let at = offset.checked_sub(io.request.offset_bytes);
    let at = at.filter(|&at| at + bytes as u64 <= u64::from(io.request.bytes));
    let got = io.got as usize + bytes;
    match at.and_then(|at| usize::try_from(at).ok()) {
        Some(at) if got <= io.request.bytes as usize => {
            io.got = u32::try_from(got).expect("no more than the request");
            Ok(at)
        }
        _ => Err(Fault::garbled("the server sends data that were not requested")),
    }
}

/// An error number of the protocol as a negative one of this system; what it does not define is `EIO`.
fn told(error: u32) -> i32 {
    use errno::{EINVAL, EIO, ENOMEM, ENOSPC, EOPNOTSUPP, EOVERFLOW, EPERM, EROFS, ESHUTDOWN};
    let defined = [EPERM, EIO, ENOMEM, EINVAL, ENOSPC, EOVERFLOW, EOPNOTSUPP, ESHUTDOWN, EROFS];
    match i32::try_from(error) {
        Ok(0) => 0,
        Ok(number) if defined.contains(&number) => -number,
        _ => -EIO,
    }
}
