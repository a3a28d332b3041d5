//! NBD: the network block device (`doc/proto.md` of the NBD project), newstyle.

mod negotiate;
mod pending;
mod replies;
mod wire;

use std::io::IoSlice;

use fathom_sys::socket::Interest;
use fathom_sys::transfer::Operation;

use self::replies::Replies;
use self::wire::command;
use crate::address::Address;
use crate::connection::{Done, Request, Slots};
use crate::facts::Facts;
use crate::fault::Fault;
use crate::incoming::Incoming;
use crate::outgoing::Outgoing;
use crate::settings::Settings;
use crate::stream::Stream;

/// One connection in transmission.
#[derive(Debug)]
pub(crate) struct Session {
    stream: Stream,
    facts: Facts,
    replies: Replies,
    outgoing: Outgoing,
    incoming: Incoming,
}

impl Session {
    pub(crate) fn connect(address: &Address, settings: &Settings) -> Result<Self, Fault> {
        let negotiated = negotiate::negotiate(address, settings)?;
        Ok(Self {
            stream: negotiated.stream,
            facts: negotiated.facts,
            replies: Replies::new(negotiated.is_structured),
            outgoing: Outgoing::default(),
            incoming: Incoming::new(),
        })
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    #[inline]
    pub(crate) fn submit(&mut self, request: Request) {
        let command = match request.operation {
            Operation::Read => command::READ,
            Operation::Write => command::WRITE,
            Operation::Fsync | Operation::Fdatasync => command::FLUSH,
            Operation::Trim => command::TRIM,
        };
        let flags = if request.is_through { command::FLAG_FUA } else { 0 };
        let is_write = request.operation == Operation::Write;
        let data_bytes = if is_write { request.bytes as usize } else { 0 };
        let cookie = self.replies.pending.enter(request);
        let head = wire::request(flags, command, cookie, request.offset_bytes, request.bytes);
        self.outgoing.push(&head, request.tag, 0..data_bytes);
    }

    /// Sends what there is room for, and takes what is there.
    pub(crate) fn exchange(
        &mut self,
        slots: &mut impl Slots,
        done: &mut Vec<Done>,
    ) -> Result<(), Fault> {
        let pending = &mut self.replies.pending;
        let sent = self.outgoing.send(&mut self.stream, slots, |tag| pending.mark_sent(tag));
        // A server that ends the connection may have answered before: what came counts.
        self.incoming.receive(&mut self.stream, &mut self.replies, slots, done)?;
        sent
    }

    /// Ends what is in flight with an error number.
    pub(crate) fn fail_all(&mut self, errno: i32, done: &mut Vec<Done>) {
        self.outgoing.clear();
        self.replies.pending.fail_all(errno, done);
    }

    pub(crate) fn interest(&self) -> Interest {
        let to_send = !self.outgoing.is_empty() || self.stream.has_unsent();
        self.stream.interest_of(to_send)
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.replies.pending.count()
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Tells the server, if the socket has room for it; dropping closes.
    pub(crate) fn close(mut self) {
        if self.outgoing.is_empty() {
            let head = wire::request(0, command::DISCONNECT, 0, 0, 0);
            let _ = self.stream.send(&[IoSlice::new(&head)]);
            let _ = self.stream.send_kept();
        }
    }
}
