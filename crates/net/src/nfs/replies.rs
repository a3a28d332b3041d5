//! The I/Os in flight, and what the server answers to each.

use super::compound;
use super::rpc::{self, LAST, Unanswered};
use super::v3;
use super::v4::operation;
use super::xdr::{Read, Short, padding};
use super::{status, wire};
use crate::connection::{Done, Slots};
use crate::fault::{Fault, FaultKind, errno};
use crate::incoming::{OWN, Reader, Step};

/// Answers without data are short.
const OTHER_BYTES_MAX: usize = 64 << 10;
/// Fragments of one record.
const FRAGMENTS_MAX: usize = 1024;
/// A write that is on stable storage, data and all that belongs to them.
const FILE_SYNC: u32 = 2;

/// What an I/O is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write {
        is_through: bool,
    },
    Commit,
    Deallocate,
    /// The empty procedure.
    Null,
}

/// One I/O in flight.
#[derive(Debug, Clone, Copy)]
struct Io {
    kind: Kind,
    bytes: u32,
    /// Distinguishes it from an earlier I/O of the same slot.
    sequence: u32,
    /// The slot of the session that it uses, with version 4.
    session_slot: Option<u32>,
    is_sent: bool,
}

/// The slots of a session of version 4, and the sequence number of each.
#[derive(Debug)]
pub(super) struct SessionSlots {
    pub(super) id: [u8; 16],
    pub(super) sequences: Vec<u32>,
    free: Vec<u32>,
}

impl SessionSlots {
    /// All free; slot 0 has been used before the I/Os.
    pub(super) fn new(id: [u8; 16], count: u32, first: u32) -> Self {
        let mut sequences = vec![1; count as usize];
        sequences[0] = first;
        Self { id, sequences, free: (0..count).rev().collect() }
    }

    pub(super) fn take(&mut self) -> Option<u32> {
        self.free.pop()
    }
}

/// What an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done(i32),
    /// Data of a read, from this byte of the answer on.
    Data {
        at: usize,
        bytes: u32,
    },
}

/// What is known between one piece of an answer and the next.
#[derive(Debug)]
pub(super) struct Replies {
    ios: Vec<Option<Io>>,
    pub(super) count: usize,
    sequence: u32,
    pub(super) session: Option<SessionSlots>,
    request_bytes_max: usize,
    /// What the server calls its present life. Unstable writes of an earlier one may be lost.
    verifier: Option<[u8; 8]>,
    is_lost: bool,
    /// Bytes of a record that nobody wants.
    tail: usize,
    /// The I/O whose data are coming, and its result.
    ending: Option<(u32, i32)>,
    /// A record that comes in several fragments.
    collected: Vec<u8>,
    fragments: usize,
    is_last: bool,
}

impl Replies {
    pub(super) fn new(session: Option<SessionSlots>, request_bytes_max: u32) -> Self {
        Self {
            ios: Vec::new(),
            count: 0,
            sequence: 0,
            session,
            request_bytes_max: request_bytes_max as usize,
            verifier: None,
            is_lost: false,
            tail: 0,
            ending: None,
            collected: Vec::new(),
            fragments: 0,
            is_last: false,
        }
    }

    /// Whether there is room for one more on the server's side.
    pub(super) fn has_room(&self) -> bool {
        self.session.as_ref().is_none_or(|session| !session.free.is_empty())
    }

    /// Enters an I/O; gives the number of its call, and the slot of the session with its sequence number.
    pub(super) fn enter(&mut self, tag: u32, kind: Kind, bytes: u32) -> (u32, Option<(u32, u32)>) {
        assert!(tag < 1 << 16, "a connection has at most 65536 slots");
        let index = tag as usize;
        if index >= self.ios.len() {
            self.ios.resize(index + 1, None);
        }
        assert!(self.ios[index].is_none(), "slot {index} is in flight");
        self.sequence = (self.sequence + 1) & 0x7fff;
        let slot = match (&mut self.session, kind) {
            (Some(session), kind) if kind != Kind::Null => {
                let slot = session.take().expect("it was looked whether there is room");
                Some((slot, session.sequences[slot as usize]))
            }
            _ => None,
        };
        let session_slot = slot.map(|(slot, _)| slot);
        let sequence = self.sequence;
        self.ios[index] = Some(Io { kind, bytes, sequence, session_slot, is_sent: false });
        self.count += 1;
        (sequence << 16 | tag, slot)
    }

    pub(super) fn mark_sent(&mut self, tag: u32) {
        if let Some(Some(io)) = self.ios.get_mut(tag as usize) {
            io.is_sent = true;
        }
    }

    fn of_number(&self, number: u32) -> Result<Io, Fault> {
        match self.ios.get((number & 0xffff) as usize) {
            Some(Some(io)) if io.sequence == number >> 16 && io.is_sent => Ok(*io),
            _ => Err(Fault::garbled("the server answers a call that nobody is waiting for")),
        }
    }

    fn finish(&mut self, tag: u32, result: i32, done: &mut Vec<Done>) {
        let io = self.ios[tag as usize].take().expect("only one in flight is finished");
        self.count -= 1;
        if let (Some(session), Some(slot)) = (&mut self.session, io.session_slot) {
            session.free.push(slot);
        }
        done.push(Done { tag, result });
    }

    pub(super) fn fail_all(&mut self, errno: i32, done: &mut Vec<Done>) {
        for (tag, _) in (0..).zip(&mut self.ios).filter_map(|(k, io)| Some((k, io.take()?))) {
            done.push(Done { tag, result: -errno });
        }
        self.count = 0;
    }

    /// Understands an answer as far as it has come.
    fn understand(&mut self, bytes: &[u8]) -> Result<(u32, Outcome), Problem> {
        let mut read = Read::new(bytes);
        let number = Read::new(bytes).word()?;
        let io = self.of_number(number)?;
        match rpc::reply(&mut read) {
            Ok(_) => {}
            Err(Unanswered::Short) => return Err(Problem::Short),
            Err(refused) => return Err(Problem::Fault(refused.fault())),
        }
        let outcome = match (io.kind, io.session_slot) {
            (Kind::Null, _) => Outcome::Done(0),
            (_, None) => self.of_v3(&mut read, io)?,
            (_, Some(slot)) => self.of_v4(&mut read, io, slot)?,
        };
        Ok((number & 0xffff, outcome))
    }

    fn of_v3(&mut self, read: &mut Read<'_>, io: Io) -> Result<Outcome, Problem> {
        match read.word()? {
            0 => {}
            other => return Ok(Outcome::Done(-status::errno(other))),
        }
        match io.kind {
            Kind::Read => {
                v3::skip_attributes(read)?;
                let count = read.word()?;
                let _is_end = read.word()?;
                data(read, io, Some(count))
            }
            Kind::Write { is_through } => {
                v3::skip_change(read)?;
                self.written(read, io, is_through)
            }
            _ => {
                v3::skip_change(read)?;
                Ok(self.committed(read.take()?))
            }
        }
    }

    fn of_v4(&mut self, read: &mut Read<'_>, io: Io, slot: u32) -> Result<Outcome, Problem> {
        compound::answered(read)?;
        let session = self.session.as_mut().expect("version 4 has a session");
        // The sequence is counted when the answer has been understood whole.
        match compound::sequence(read, &session.id)? {
            0 => {}
            status::DELAY => return Ok(Outcome::Done(-errno::EAGAIN)),
            other => return Err(Problem::Fault(expired(other))),
        }
        let outcome = self.of_operations(read, io)?;
        let session = self.session.as_mut().expect("version 4 has a session");
        let sequence = &mut session.sequences[slot as usize];
        *sequence = sequence.wrapping_add(1);
        Ok(outcome)
    }

    fn of_operations(&mut self, read: &mut Read<'_>, io: Io) -> Result<Outcome, Problem> {
        for operation in [operation::PUT_HANDLE, wire::operation_of(io.kind)] {
            match compound::result(read, operation)? {
                0 => {}
                other => return Ok(Outcome::Done(-status::errno(other))),
            }
        }
        match io.kind {
            Kind::Read => {
                let _is_end = read.word()?;
                data(read, io, None)
            }
            Kind::Write { is_through } => self.written(read, io, is_through),
            Kind::Deallocate => Ok(Outcome::Done(0)),
            _ => Ok(self.committed(read.take()?)),
        }
    }

    /// Count, how stable, and the verifier of a write.
    fn written(
        &mut self,
        read: &mut Read<'_>,
        io: Io,
        is_through: bool,
    ) -> Result<Outcome, Problem> {
        let (count, stable) = (read.word()?, read.word()?);
        let verifier = read.take()?;
        if count > io.bytes || (is_through && stable != FILE_SYNC) {
            return Err(Problem::Fault(Fault::garbled(
                "the server says that it wrote more than it was given, or less stable than it had to",
            )));
        }
        if stable != FILE_SYNC {
            self.is_lost |= self.verifier.is_some_and(|before| before != verifier);
            self.verifier = Some(verifier);
        }
        Ok(Outcome::Done(i32::try_from(count).expect("requests are bounded")))
    }

    /// Takes over which life of the server the writes were of that wait for a commit.
    pub(super) fn follow(&mut self, earlier: &Self) {
        (self.verifier, self.is_lost) = (earlier.verifier, earlier.is_lost);
    }

    /// A commit is worth nothing if the server has begun another life since the writes.
    fn committed(&mut self, verifier: [u8; 8]) -> Outcome {
        let is_lost = self.is_lost || self.verifier.is_some_and(|before| before != verifier);
        (self.verifier, self.is_lost) = (None, false);
        Outcome::Done(if is_lost { -errno::EIO } else { 0 })
    }

    /// An answer that is there whole.
    fn whole(
        &mut self,
        bytes: &[u8],
        slots: &mut impl Slots,
        done: &mut Vec<Done>,
    ) -> Result<(), Fault> {
        let (tag, outcome) = self.understand(bytes).map_err(Problem::fault)?;
        let result = match outcome {
            Outcome::Done(result) => result,
            Outcome::Data { at, bytes: count } => {
                let end = at + count as usize;
                let from = bytes.get(at..end).ok_or_else(rpc::garbled)?;
                slots.for_read(tag)[..from.len()].copy_from_slice(from);
                i32::try_from(count).expect("requests are bounded")
            }
        };
        self.finish(tag, result, done);
        Ok(())
    }

    /// A piece of a record of several; what has come of it goes to the rest.
    fn collect(&mut self, bytes: usize) -> Result<Step, Fault> {
        let begun = self.collected.len();
        self.fragments += 1;
        if begun + bytes > self.request_bytes_max + OTHER_BYTES_MAX
            || self.fragments > FRAGMENTS_MAX
        {
            return Err(too_long());
        }
        self.collected.resize(begun + bytes, 0);
        Ok(Step::Data { taken: 4, tag: OWN, at: begun, bytes })
    }
}

/// Why an answer is not understood.
#[derive(Debug)]
enum Problem {
    Short,
    Fault(Fault),
}

impl From<Short> for Problem {
    fn from(_: Short) -> Self {
        Self::Short
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Problem {
    fn fault(self) -> Fault {
        match self {
            Self::Short => rpc::garbled(),
            Self::Fault(fault) => fault,
        }
    }
}

fn expired(status: u32) -> Fault {
    let text = format!(
        "the server has ended the session (NFS status {status}): its lease is over, or it was restarted"
    );
    Fault::new(FaultKind::Disconnected, text)
}

fn too_long() -> Fault {
    Fault::garbled("the server sends more than was requested")
}

/// The data of a read, whose length is said once or twice.
fn data(read: &mut Read<'_>, io: Io, count: Option<u32>) -> Result<Outcome, Problem> {
    let bytes = read.word()?;
    if bytes > io.bytes || count.is_some_and(|count| count != bytes) {
        return Err(Problem::Fault(Fault::garbled(
            "the server sends data that were not requested",
        )));
    }
    Ok(Outcome::Data { at: read.at(), bytes })
}

impl Reader for Replies {
    fn head(
        &mut self,
        there: &[u8],
        slots: &mut impl Slots,
        done: &mut Vec<Done>,
    ) -> Result<Step, Fault> {
        if self.tail > 0 {
            return Ok(Step::Skip { taken: 0, bytes: std::mem::take(&mut self.tail) });
        }
        let Some(mark) = there.first_chunk().map(|mark| u32::from_be_bytes(*mark)) else {
            return Ok(Step::More);
        };
        let (length, is_last) = ((mark & !LAST) as usize, mark & LAST != 0);
        if length > self.request_bytes_max + OTHER_BYTES_MAX {
            return Err(too_long());
        }
        if !is_last || !self.collected.is_empty() {
            self.is_last = is_last;
            return self.collect(length);
        }
        let is_whole = there.len() >= 4 + length;
        let bytes = &there[4..there.len().min(4 + length)];
        match self.understand(bytes) {
            Err(Problem::Short) if !is_whole && there.len() < OTHER_BYTES_MAX => Ok(Step::More),
            Err(problem) => Err(problem.fault()),
            Ok((tag, Outcome::Data { at, bytes })) => {
                let end = at + bytes as usize;
                if end + padding(bytes as usize) > length {
                    return Err(rpc::garbled());
                }
                self.tail = length - end;
                self.ending = Some((tag, i32::try_from(bytes).expect("requests are bounded")));
                Ok(Step::Data { taken: 4 + at, tag, at: 0, bytes: bytes as usize })
            }
            Ok((tag, Outcome::Done(result))) => {
                let here = 4 + bytes.len();
                self.tail = length - bytes.len();
                self.finish(tag, result, done);
                let _ = slots;
                Ok(Step::Taken(here))
            }
        }
    }

    fn data_end(&mut self, slots: &mut impl Slots, done: &mut Vec<Done>) -> Result<(), Fault> {
        if let Some((tag, result)) = self.ending.take() {
            self.finish(tag, result, done);
        } else if self.is_last {
            let record = std::mem::take(&mut self.collected);
            self.fragments = 0;
            self.whole(&record, slots, done)?;
        }
        Ok(())
    }

    fn own(&mut self) -> &mut [u8] {
        &mut self.collected
    }
}
