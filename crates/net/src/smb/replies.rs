//! The I/Os in flight, and what the server answers to each.

use std::collections::VecDeque;

use super::link::{Link, garbled};
use super::status;
use super::wire::{HEAD_BYTES, Head, charge, command, flag, u32_at};
use crate::connection::{Done, Slots};
use crate::fault::Fault;
use crate::incoming::{OWN, Reader, Step};

/// Answers without data are short.
const OTHER_BYTES_MAX: usize = 64 << 10;
/// The head of an answer to a read.
const READ_BYTES: usize = HEAD_BYTES + 16;
/// The number of what the server says of itself (a broken oplock).
const UNASKED: u64 = u64::MAX;

/// One I/O in flight.
#[derive(Debug, Clone, Copy)]
struct Io {
    tag: u32,
    command: u16,
    bytes: u32,
    is_sent: bool,
}

/// What an answer says.
#[derive(Debug, Clone, Copy)]
enum Outcome {
    /// Nothing yet: it takes longer.
    Later,
    Done(i32),
    /// Data of a read, from this byte of the message on.
    Data {
        at: usize,
        bytes: u32,
    },
}

/// What comes at present.
#[derive(Debug)]
enum Coming {
    Nothing,
    /// Data of a read for a slot, with the head that came before.
    Data {
        message: u64,
        tag: u32,
        bytes: u32,
        head: Vec<u8>,
    },
    /// A whole message, to be understood when it is there.
    Whole,
}

/// What is known between one piece of an answer and the next.
#[derive(Debug)]
pub(super) struct Replies {
    pub(super) link: Link,
    /// By the message's number, from `first` on; a message that costs several has several numbers.
    ios: VecDeque<Option<Io>>,
    first: u64,
    pub(super) count: usize,
    request_bytes_max: usize,
    coming: Coming,
    collected: Vec<u8>,
}

impl Replies {
    pub(super) fn new(link: Link, request_bytes_max: u32) -> Self {
        Self {
            first: link.message,
            link,
            ios: VecDeque::new(),
            count: 0,
            request_bytes_max: request_bytes_max as usize,
            coming: Coming::Nothing,
            collected: Vec::new(),
        }
    }

    /// Enters an I/O whose message has this number.
    pub(super) fn enter(&mut self, number: u64, tag: u32, command: u16, bytes: u32) {
        if self.ios.is_empty() {
            self.first = number;
        }
        debug_assert_eq!(self.first + self.ios.len() as u64, number, "numbers follow each other");
        self.ios.push_back(Some(Io { tag, command, bytes, is_sent: false }));
        for _ in 1..charge(bytes) {
            self.ios.push_back(None);
        }
        self.count += 1;
    }

    fn place(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first)?).ok()
    }

    pub(super) fn mark_sent(&mut self, number: u64) {
        let place = self.place(number);
        if let Some(Some(io)) = place.and_then(|place| self.ios.get_mut(place)) {
            io.is_sent = true;
        }
    }

    fn of_number(&self, number: u64) -> Result<Io, Fault> {
        let io = self.place(number).and_then(|place| self.ios.get(place)).copied().flatten();
        io.filter(|io| io.is_sent).ok_or_else(|| {
            Fault::garbled("the server answers a message that nobody is waiting for")
        })
    }

    fn finish(&mut self, number: u64, result: i32, done: &mut Vec<Done>) {
        let place = self.place(number).expect("only one in flight is finished");
        let io = self.ios[place].take().expect("only one in flight is finished");
        self.count -= 1;
        done.push(Done { tag: io.tag, result });
        while let Some(None) = self.ios.front() {
            self.ios.pop_front();
            self.first += 1;
        }
    }

    pub(super) fn fail_all(&mut self, errno: i32, done: &mut Vec<Done>) {
        let ios = self.ios.drain(..).flatten();
        done.extend(ios.map(|io| Done { tag: io.tag, result: -errno }));
        self.count = 0;
    }

    /// Understands an answer of which at least the head is there; nothing if more has to come.
    fn understand(&self, head: &Head, bytes: &[u8]) -> Result<Option<Outcome>, Fault> {
        let io = self.of_number(head.message)?;
        if head.command != io.command || head.next != 0 {
            return Err(garbled());
        }
        if head.status == status::PENDING && head.has(flag::ASYNC) {
            return Ok(Some(Outcome::Later));
        }
        if status::ends_session(head.status) {
            return Err(status::fault(head.status, "the I/O"));
        }
        match (head.status, io.command) {
            // A read at the end of the file has nothing.
            (status::END_OF_FILE, command::READ) => Ok(Some(Outcome::Done(0))),
            (0, command::READ) => {
                let Some(count) = u32_at(bytes, 68) else { return Ok(None) };
                let at = usize::from(bytes[66]);
                if at < READ_BYTES || count > io.bytes {
                    return Err(Fault::garbled("the server sends data that were not requested"));
                }
                Ok(Some(Outcome::Data { at, bytes: count }))
            }
            (0, command::WRITE) => {
                let Some(count) = u32_at(bytes, 68) else { return Ok(None) };
                if count > io.bytes {
                    return Err(Fault::garbled(
                        "the server says that it wrote more than it was given",
                    ));
                }
                Ok(Some(Outcome::Done(i32::try_from(count).expect("requests are bounded"))))
            }
            (0, _) => Ok(Some(Outcome::Done(0))),
            (other, _) => Ok(Some(Outcome::Done(-status::errno(other)))),
        }
    }

    /// An answer that is there whole, in the clear, and checked.
    fn whole(
        &mut self,
        bytes: &[u8],
        slots: &mut impl Slots,
        done: &mut Vec<Done>,
    ) -> Result<(), Fault> {
        let head = Head::of(bytes).ok_or_else(garbled)?;
        if head.message == UNASKED {
            return Ok(());
        }
        let outcome = self.understand(&head, bytes)?.ok_or_else(garbled)?;
        self.link.grant(&head);
        let result = match outcome {
            Outcome::Later => return Ok(()),
            Outcome::Done(result) => result,
            Outcome::Data { at, bytes: count } => {
                let from = bytes.get(at..at + count as usize).ok_or_else(garbled)?;
                let tag = self.of_number(head.message)?.tag;
                slots.for_read(tag)[..from.len()].copy_from_slice(from);
                i32::try_from(count).expect("requests are bounded")
            }
        };
        self.finish(head.message, result, done);
        Ok(())
    }

    /// Takes a whole message into a place of its own first.
    fn collect(&mut self, bytes: usize) -> Step {
        self.collected.clear();
        self.collected.resize(bytes, 0);
        self.coming = Coming::Whole;
        Step::Data { taken: 4, tag: OWN, at: 0, bytes }
    }
}

impl Reader for Replies {
    fn head(
        &mut self,
        there: &[u8],
        slots: &mut impl Slots,
        done: &mut Vec<Done>,
    ) -> Result<Step, Fault> {
        let Some(mark) = there.first_chunk().map(|mark| u32::from_be_bytes(*mark)) else {
            return Ok(Step::More);
        };
        let length = mark as usize;
        if !(HEAD_BYTES..=self.request_bytes_max + OTHER_BYTES_MAX).contains(&length) {
            return Err(Fault::garbled("the server sends more than was requested, or nothing"));
        }
        let bytes = &there[4..there.len().min(4 + length)];
        if bytes.len() < READ_BYTES.min(length) {
            return Ok(Step::More);
        }
        // What is encrypted can only be understood whole.
        if bytes.starts_with(&super::security::SEALED) {
            return Ok(self.collect(length));
        }
        let head = Head::of(bytes).ok_or_else(garbled)?;
        if head.command == command::READ && head.status == 0 && head.message != UNASKED {
            let Some(Outcome::Data { at, bytes: count }) = self.understand(&head, bytes)? else {
                return Err(garbled());
            };
            if at + count as usize != length || bytes.len() < at {
                // Something stands before or after the data.
                return Ok(self.collect(length));
            }
            let tag = self.of_number(head.message)?.tag;
            let kept = bytes[..at].to_vec();
            self.coming = Coming::Data { message: head.message, tag, bytes: count, head: kept };
            return Ok(Step::Data { taken: 4 + at, tag, at: 0, bytes: count as usize });
        }
        if length > OTHER_BYTES_MAX {
            return Err(Fault::garbled("the server sends more than was requested"));
        }
        if bytes.len() < length {
            return Ok(Step::More);
        }
        self.link.check(bytes, &[])?;
        self.whole(bytes, slots, done)?;
        Ok(Step::Taken(4 + length))
    }

    fn data_end(&mut self, slots: &mut impl Slots, done: &mut Vec<Done>) -> Result<(), Fault> {
        match std::mem::replace(&mut self.coming, Coming::Nothing) {
            Coming::Nothing => Ok(()),
            Coming::Data { message, tag, bytes, head } => {
                self.link.check(&head, &slots.for_read(tag)[..bytes as usize])?;
                self.link.grant(&Head::of(&head).ok_or_else(garbled)?);
                let result = i32::try_from(bytes).expect("requests are bounded");
                self.finish(message, result, done);
                Ok(())
            }
            Coming::Whole => {
                let mut collected = std::mem::take(&mut self.collected);
                let message = self.link.admit(&mut collected)?;
                self.whole(message, slots, done)?;
                self.collected = collected;
                Ok(())
            }
        }
    }

    fn own(&mut self) -> &mut [u8] {
        &mut self.collected
    }
}
