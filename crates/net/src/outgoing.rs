//! Requests on their way to the server.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::ops::Range;

use crate::connection::Slots;
use crate::fault::Fault;
use crate::stream::{Stream, hung_up};

/// Pieces handed to the kernel at once: heads, and the data of writes in the slots where they are.
const PIECES: usize = 192;

/// The longest head where a protocol says nothing else: that of iSCSI with the list of an unmapping.
pub(crate) const HEAD_BYTES_MAX: usize = 72;

/// What fills data up to the end of their last word.
const PADDING: [u8; 4] = [0; 4];

/// A request that is not sent entirely.
#[derive(Debug)]
struct Unsent<const HEAD: usize> {
    head: [u8; HEAD],
    head_bytes: usize,
    tag: u32,
    /// Where its data begin in the slot.
    data_at: usize,
    /// Length of its data in the slot.
    data_bytes: usize,
    /// Zeroes after them.
    padding: usize,
    /// How much of it all has been sent.
    sent: usize,
}

impl<const HEAD: usize> Unsent<HEAD> {
    fn left(&self) -> usize {
        self.head_bytes + self.data_bytes + self.padding - self.sent
    }

    fn head_left(&self) -> &[u8] {
        &self.head[self.sent.min(self.head_bytes)..self.head_bytes]
    }

    fn data_left<'a>(&self, slots: &'a impl Slots) -> &'a [u8] {
        if self.data_bytes == 0 {
            return &[];
        }
        let sent = self.sent.saturating_sub(self.head_bytes).min(self.data_bytes);
        &slots.for_write(self.tag)[self.data_at + sent..self.data_at + self.data_bytes]
    }

    fn padding_left(&self) -> &'static [u8] {
        let sent = self.sent.saturating_sub(self.head_bytes + self.data_bytes);
        &PADDING[..self.padding - sent]
    }
}

/// The queue, in the order of submission.
#[derive(Debug)]
pub(crate) struct Outgoing<const HEAD: usize = HEAD_BYTES_MAX> {
    queue: VecDeque<Unsent<HEAD>>,
}

impl<const HEAD: usize> Default for Outgoing<HEAD> {
    fn default() -> Self {
        Self { queue: VecDeque::new() }
    }
}

impl<const HEAD: usize> Outgoing<HEAD> {
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.queue.clear();
    }

    #[inline]
    pub(crate) fn push(&mut self, head: &[u8], tag: u32, data: Range<usize>) {
        self.push_padded(head, tag, data, 0);
    }

    /// The same with up to three zeroes after the data.
    #[inline]
    pub(crate) fn push_padded(
        &mut self,
        head: &[u8],
        tag: u32,
        data: Range<usize>,
        padding: usize,
    ) {
        let mut kept = [0; HEAD];
        kept[..head.len()].copy_from_slice(head);
        self.queue.push_back(Unsent {
            head: kept,
            head_bytes: head.len(),
            tag,
            data_at: data.start,
            data_bytes: data.len(),
            padding,
            sent: 0,
        });
    }

    /// Sends what there is room for, and tells the tag of each request that has been sent entirely.
    pub(crate) fn send(
        &mut self,
        stream: &mut Stream,
        slots: &impl Slots,
        mut sent: impl FnMut(u32),
    ) -> Result<(), Fault> {
        if stream.has_unsent() && !went(stream.send_kept())? {
            return Ok(());
        }
        while !self.queue.is_empty() {
            match self.send_some(stream, slots) {
                Ok(0) => return Err(hung_up()),
                Ok(bytes) => self.mark_sent(bytes, &mut sent),
                Err(error) => {
                    if !went(Err(error))? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn send_some(&self, stream: &mut Stream, slots: &impl Slots) -> io::Result<usize> {
        let mut pieces = [IoSlice::new(&[]); PIECES];
        let mut count = 0;
        for unsent in self.queue.iter().take(PIECES / 3) {
            for piece in [unsent.head_left(), unsent.data_left(slots), unsent.padding_left()] {
                if !piece.is_empty() {
                    pieces[count] = IoSlice::new(piece);
                    count += 1;
                }
            }
        }
        stream.send(&pieces[..count])
    }

    fn mark_sent(&mut self, mut bytes: usize, sent: &mut impl FnMut(u32)) {
        while let Some(first) = self.queue.front_mut() {
            let part = first.left().min(bytes);
            first.sent += part;
            bytes -= part;
            if first.left() > 0 {
                return;
            }
            sent(first.tag);
            self.queue.pop_front();
        }
    }
}

/// Whether it went on; false if there is no room.
fn went(result: io::Result<()>) -> Result<bool, Fault> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(Fault::of_io("sending", &error)),
    }
}
