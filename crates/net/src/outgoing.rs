//! Requests on their way to the server.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::ops::Range;

use crate::connection::Slots;
use crate::fault::Fault;
use crate::stream::{Stream, hung_up};

/// Pieces handed to the kernel at once: heads, and the data of writes in the slots where they are.
const PIECES: usize = 128;

/// The longest head: that of iSCSI with the list of an unmapping.
pub(crate) const HEAD_BYTES_MAX: usize = 72;

/// A request that is not sent entirely.
#[derive(Debug)]
struct Unsent {
    head: [u8; HEAD_BYTES_MAX],
    head_bytes: usize,
    tag: u32,
    /// Where its data begin in the slot.
    data_at: usize,
    /// Length of its data in the slot.
    data_bytes: usize,
    /// How much of head and data has been sent.
    sent: usize,
}

impl Unsent {
    fn left(&self) -> usize {
        self.head_bytes + self.data_bytes - self.sent
    }

    fn head_left(&self) -> &[u8] {
        &self.head[self.sent.min(self.head_bytes)..self.head_bytes]
    }

    fn data_left<'a>(&self, slots: &'a impl Slots) -> &'a [u8] {
        if self.data_bytes == 0 {
            return &[];
        }
        let from = self.data_at + self.sent.saturating_sub(self.head_bytes);
        &slots.for_write(self.tag)[from..self.data_at + self.data_bytes]
    }
}

/// The queue, in the order of submission.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    queue: VecDeque<Unsent>,
}

impl Outgoing {
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.queue.clear();
    }

    #[inline]
    pub(crate) fn push(&mut self, head: &[u8], tag: u32, data: Range<usize>) {
        let mut kept = [0; HEAD_BYTES_MAX];
        kept[..head.len()].copy_from_slice(head);
        self.queue.push_back(Unsent {
            head: kept,
            head_bytes: head.len(),
            tag,
            data_at: data.start,
            data_bytes: data.len(),
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
        for unsent in self.queue.iter().take(PIECES / 2) {
            for piece in [unsent.head_left(), unsent.data_left(slots)] {
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
