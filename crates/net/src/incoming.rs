//! What comes from a server: heads, and data that belong into slots.
//!
//! One receive takes many small answers at once into a buffer, from which their data are copied to the slots:
//! a copy of a few kilobytes that are in the cache costs far less than a system call for each. What is long,
//! and has only begun to come, is received right into its slot.

use std::io::{self, IoSliceMut};
use std::ops::Range;

use crate::connection::{Done, Slots};
use crate::fault::Fault;
use crate::stream::{Stream, hung_up};

const BUFFER_BYTES: usize = 256 << 10;
/// From here on the rest of an answer's data is received into its slot.
const DIRECT_BYTES: usize = 16 << 10;

/// The tag of data that belong to the protocol itself and not into a slot.
pub(crate) const OWN: u32 = u32::MAX;

/// What a protocol makes of the bytes at which an answer begins. `taken` are those that it has used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing yet: more has to come. It never wants more than half of the buffer.
    More,
    /// An answer without data, or with data that are used up too.
    Taken(usize),
    /// A head, after which so many bytes come that belong into a slot (or are [`OWN`]) from this place on.
    Data { taken: usize, tag: u32, at: usize, bytes: usize },
    /// A head, after which so many bytes come that nobody wants.
    Skip { taken: usize, bytes: usize },
}

/// What a protocol knows of answers.
pub(crate) trait Reader {
    /// Looks at the bytes from the beginning of an answer on.
    fn head(
        &mut self,
        there: &[u8],
        slots: &mut impl Slots,
        done: &mut Vec<Done>,
    ) -> Result<Step, Fault>;

    /// All data of the latest [`Step::Data`] are in their slot.
    fn data_end(&mut self, slots: &mut impl Slots, done: &mut Vec<Done>) -> Result<(), Fault>;

    /// Where data go that are [`OWN`].
    fn own(&mut self) -> &mut [u8] {
        unreachable!("only a protocol that says so has data of its own")
    }
}

/// The place for so many bytes.
fn place<'a>(
    reader: &'a mut impl Reader,
    slots: &'a mut impl Slots,
    tag: u32,
    range: Range<usize>,
) -> &'a mut [u8] {
    if tag == OWN { &mut reader.own()[range] } else { &mut slots.for_read(tag)[range] }
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Head,
    Data { tag: u32, at: usize, left: usize },
    Skipped { left: usize },
}

/// The bytes that have come and are not used up.
#[derive(Debug)]
pub(crate) struct Incoming {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    next: Next,
}

impl Incoming {
    pub(crate) fn new() -> Self {
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        Self { buffer, start: 0, end: 0, next: Next::Head }
    }

    /// Takes all that is there.
    pub(crate) fn receive(
        &mut self,
        stream: &mut Stream,
        reader: &mut impl Reader,
        slots: &mut impl Slots,
        done: &mut Vec<Done>,
    ) -> Result<(), Fault> {
        loop {
            let room = self.make_room();
            match self.receive_some(stream, reader, slots) {
                Ok(0) => return Err(hung_up()),
                Ok(bytes) => {
                    self.digest(reader, slots, done)?;
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

    fn receive_some(
        &mut self,
        stream: &mut Stream,
        reader: &mut impl Reader,
        slots: &mut impl Slots,
    ) -> io::Result<usize> {
        let rest = IoSliceMut::new(&mut self.buffer[self.end..]);
        let (tag, at, left) = match self.next {
            Next::Data { tag, at, left } if left >= DIRECT_BYTES => (tag, at, left),
            _ => {
                let bytes = stream.receive(&mut [rest])?;
                self.end += bytes;
                return Ok(bytes);
            }
        };
        // All that came before is used up, since data are wanted.
        let slot = IoSliceMut::new(place(reader, slots, tag, at..at + left));
        let bytes = stream.receive(&mut [slot, rest])?;
        let direct = bytes.min(left);
        self.end += bytes - direct;
        self.next = Next::Data { tag, at: at + direct, left: left - direct };
        Ok(bytes)
    }

    /// Uses up what the buffer holds, as far as it is complete.
    fn digest(
        &mut self,
        reader: &mut impl Reader,
        slots: &mut impl Slots,
        done: &mut Vec<Done>,
    ) -> Result<(), Fault> {
        loop {
            let there = self.end - self.start;
            match self.next {
                Next::Head => {
                    let bytes = &self.buffer[self.start..self.end];
                    let (taken, next) = match reader.head(bytes, slots, done)? {
                        Step::More => return Ok(()),
                        Step::Taken(taken) => (taken, Next::Head),
                        Step::Skip { taken, bytes } => (taken, Next::Skipped { left: bytes }),
                        Step::Data { taken, tag, at, bytes } => {
                            (taken, Next::Data { tag, at, left: bytes })
                        }
                    };
                    self.start += taken;
                    self.next = next;
                }
                Next::Data { tag, at, left } => {
                    let bytes = left.min(there);
                    let from = &self.buffer[self.start..self.start + bytes];
                    place(reader, slots, tag, at..at + bytes).copy_from_slice(from);
                    self.start += bytes;
                    self.next = Next::Data { tag, at: at + bytes, left: left - bytes };
                    if left > bytes {
                        return Ok(());
                    }
                    self.next = Next::Head;
                    reader.data_end(slots, done)?;
                }
                Next::Skipped { left } => {
                    let bytes = left.min(there);
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
}
