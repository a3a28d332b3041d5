//! Replies of the server, simple and structured.

use super::pending::{Io, Pending};
use super::wire::{self, chunk, u16_at, u32_at, u64_at};
use crate::connection::{Done, Slots};
use crate::fault::{Fault, errno};
use crate::incoming::{Reader, Step};

/// An error's description is bounded by this, as the protocol's strings are.
const ERROR_BYTES_MAX: u32 = 8 << 10;

/// What is known between one piece of a reply and the next.
#[derive(Debug)]
pub(super) struct Replies {
    pub(super) pending: Pending,
    is_structured: bool,
    /// The I/O that ends when its data have come.
    ending: Option<u32>,
}

impl Replies {
    pub(super) fn new(is_structured: bool) -> Self {
        Self { pending: Pending::default(), is_structured, ending: None }
    }

    fn simple(&mut self, head: &[u8], done: &mut Vec<Done>) -> Result<Step, Fault> {
        let (error, cookie) = (u32_at(head, 4), u64_at(head, 8));
        let io = self.pending.of_cookie(cookie)?;
        let taken = wire::SIMPLE_BYTES;
        io.error = told(error);
        let tag = io.request.tag;
        if io.error == 0 && io.request.operation == super::Operation::Read {
            if self.is_structured || io.got > 0 {
                return Err(Fault::garbled(
                    "the server answers a read by a simple reply after it agreed on structured ones",
                ));
            }
            io.got = io.request.bytes;
            self.ending = Some(tag);
            return Ok(Step::Data { taken, tag, at: 0, bytes: io.got as usize });
        }
        done.push(self.pending.finish(tag)?);
        Ok(Step::Taken(taken))
    }

    fn structured(
        &mut self,
        there: &[u8],
        slots: &mut impl Slots,
        done: &mut Vec<Done>,
    ) -> Result<Step, Fault> {
        let head = Chunk::of(there);
        let io = self.pending.of_cookie(head.cookie)?;
        head.check(io)?;
        let taken = wire::STRUCTURED_BYTES + head.own_bytes();
        let Some(own) = there.get(wire::STRUCTURED_BYTES..taken) else { return Ok(Step::More) };
        let bytes = head.bytes as usize - head.own_bytes();
        let tag = io.request.tag;
        let mut step = Step::Taken(taken);
        match head.kind {
            chunk::NONE => {}
            chunk::OFFSET_DATA => {
                let at = place(io, u64_at(own, 0), bytes)?;
                self.ending = head.is_last.then_some(tag);
                return Ok(Step::Data { taken, tag, at, bytes });
            }
            chunk::OFFSET_HOLE => {
                let length = u32_at(own, 8) as usize;
                let at = place(io, u64_at(own, 0), length)?;
                slots.for_read(tag)[at..at + length].fill(0);
            }
            _ => {
                io.error = if io.error == 0 { told(u32_at(own, 0).max(1)) } else { io.error };
                step = Step::Skip { taken, bytes };
            }
        }
        if head.is_last {
            done.push(self.pending.finish(tag)?);
        }
        Ok(step)
    }
}

impl Reader for Replies {
    #[inline]
    fn head(
        &mut self,
        there: &[u8],
        slots: &mut impl Slots,
        done: &mut Vec<Done>,
    ) -> Result<Step, Fault> {
        if there.len() < 4 {
            return Ok(Step::More);
        }
        match u32_at(there, 0) {
            wire::SIMPLE_REPLY if there.len() < wire::SIMPLE_BYTES => Ok(Step::More),
            wire::SIMPLE_REPLY => self.simple(there, done),
            wire::STRUCTURED_REPLY if !self.is_structured => {
                Err(Fault::garbled("the server sends structured replies that were not agreed on"))
            }
            wire::STRUCTURED_REPLY if there.len() < wire::STRUCTURED_BYTES => Ok(Step::More),
            wire::STRUCTURED_REPLY => self.structured(there, slots, done),
            other => {
                Err(Fault::garbled(format!("the server sends {other:#010x} where a reply begins")))
            }
        }
    }

    fn data_end(&mut self, _: &mut impl Slots, done: &mut Vec<Done>) -> Result<(), Fault> {
        if let Some(tag) = self.ending.take() {
            done.push(self.pending.finish(tag)?);
        }
        Ok(())
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
