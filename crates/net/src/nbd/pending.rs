//! The I/Os in flight, and what has been heard of each.

use fathom_sys::transfer::Operation;

use crate::connection::{Done, Request};
use crate::fault::{Fault, FaultKind, errno};

/// One I/O in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Io {
    pub(super) request: Request,
    /// Told apart from an earlier I/O of the same slot by this part of its cookie.
    sequence: u32,
    /// Bytes of a read that have come.
    pub(super) got: u32,
    /// The first error that the server told, as a negative number.
    pub(super) error: i32,
    is_sent: bool,
}

impl Io {
    /// Whether the server owes data before it may say that the I/O is done.
    fn wants(&self) -> u32 {
        if self.request.operation == Operation::Read { self.request.bytes } else { 0 }
    }

    fn result(&self) -> i32 {
        if self.error < 0 {
            return self.error;
        }
        let moved = if self.request.operation.moves_bytes() { self.request.bytes } else { 0 };
        i32::try_from(moved).expect("requests are bounded by the server's limit")
    }
}

/// All I/Os in flight of one connection.
#[derive(Debug, Default)]
pub(super) struct Pending {
    slots: Vec<Option<Io>>,
    count: usize,
    sequence: u32,
}

impl Pending {
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Enters an I/O and gives its cookie.
    #[inline]
    pub(super) fn enter(&mut self, request: Request) -> u64 {
        let index = request.tag as usize;
        if index >= self.slots.len() {
            self.slots.resize(index + 1, None);
        }
        assert!(self.slots[index].is_none(), "slot {index} is in flight");
        self.sequence = self.sequence.wrapping_add(1);
        let sequence = self.sequence;
        self.slots[index] = Some(Io { request, sequence, got: 0, error: 0, is_sent: false });
        self.count += 1;
        u64::from(sequence) << 32 | u64::from(request.tag)
    }

    #[inline]
    pub(super) fn mark_sent(&mut self, tag: u32) {
        if let Some(Some(io)) = self.slots.get_mut(tag as usize) {
            io.is_sent = true;
        }
    }

    /// The I/O of a cookie that the server has sent back.
    #[inline]
    pub(super) fn of_cookie(&mut self, cookie: u64) -> Result<&mut Io, Fault> {
        let (sequence, tag) = ((cookie >> 32) as u32, cookie & u64::from(u32::MAX));
        let slot = usize::try_from(tag).ok().and_then(|tag| self.slots.get_mut(tag));
        match slot {
            Some(Some(io)) if io.sequence == sequence && io.is_sent => Ok(io),
            _ => Err(Fault::garbled("the server answers a request that nobody is waiting for")),
        }
    }

    /// Ends an I/O that the server calls done.
    #[inline]
    pub(super) fn finish(&mut self, tag: u32) -> Result<Done, Fault> {
        let slot = &mut self.slots[tag as usize];
        let io = slot.expect("only one in flight is finished");
        // What is a fault stays entered, so that it ends with the connection as all others do.
        if io.error == -errno::ESHUTDOWN {
            // No I/O failed: the server takes none any more, until it is started again.
            return Err(Fault::new(FaultKind::Disconnected, "the server is shutting down"));
        }
        if io.error == 0 && io.got != io.wants() {
            return Err(Fault::garbled("the server calls a read done before all of its data came"));
        }
        *slot = None;
        self.count -= 1;
        Ok(Done { tag, result: io.result() })
    }

    /// Ends all of them with one error.
    pub(super) fn fail_all(&mut self, errno: i32, done: &mut Vec<Done>) {
        for io in self.slots.iter_mut().filter_map(Option::take) {
            done.push(Done { tag: io.request.tag, result: -errno });
        }
        self.count = 0;
    }
}
