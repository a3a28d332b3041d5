//! NBD: the network block device (`doc/proto.md` of the NBD project), newstyle.

mod incoming;
mod negotiate;
mod outgoing;
mod pending;
mod wire;

use std::io::IoSlice;

use fathom_sys::socket::{Interest, TcpInfo};
use fathom_sys::transfer::Operation;

use self::incoming::Incoming;
use self::outgoing::Outgoing;
use self::pending::Pending;
use self::wire::command;
use crate::address::Address;
use crate::connection::{Done, Request, Slots};
use crate::facts::Facts;
use crate::fault::{Fault, errno};
use crate::settings::Settings;
use crate::stream::Stream;

/// One connection in transmission.
#[derive(Debug)]
pub(crate) struct Session {
    stream: Stream,
    facts: Facts,
    pending: Pending,
    outgoing: Outgoing,
    incoming: Incoming,
    /// What completes without the server.
    refused: Vec<Done>,
    lost: Option<Fault>,
}

impl Session {
    pub(crate) fn connect(address: &Address, settings: &Settings) -> Result<Self, Fault> {
        let negotiated = negotiate::negotiate(address, settings)?;
        Ok(Self {
            stream: negotiated.stream,
            facts: negotiated.facts,
            pending: Pending::default(),
            outgoing: Outgoing::default(),
            incoming: Incoming::new(negotiated.is_structured),
            refused: Vec::new(),
            lost: None,
        })
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    #[inline]
    pub(crate) fn submit(&mut self, request: Request) {
        if let Some(errno) = self.refusal(&request) {
            self.refused.push(Done { tag: request.tag, result: -errno });
            return;
        }
        let command = match request.operation {
            Operation::Read => command::READ,
            Operation::Write => command::WRITE,
            Operation::Fsync | Operation::Fdatasync => command::FLUSH,
            Operation::Trim => command::TRIM,
        };
        let flags = if request.is_through { command::FLAG_FUA } else { 0 };
        let is_write = request.operation == Operation::Write;
        let data_bytes = if is_write { request.bytes as usize } else { 0 };
        let cookie = self.pending.enter(request);
        let head = wire::request(flags, command, cookie, request.offset_bytes, request.bytes);
        self.outgoing.push(head, request.tag, data_bytes);
    }

    /// What a client must not send, by the protocol, has its error here.
    #[inline]
    fn refusal(&self, request: &Request) -> Option<i32> {
        if self.lost.is_some() {
            return Some(errno::ENOTCONN);
        }
        let facts = &self.facts;
        let is_long = request.bytes > facts.request_bytes_max || request.bytes == 0;
        // The least block is a power of two, as was looked at.
        let is_torn = (request.offset_bytes | u64::from(request.bytes))
            & u64::from(facts.block_bytes_min - 1)
            != 0;
        let through = request.is_through && !facts.can_write_through;
        match request.operation {
            Operation::Write | Operation::Trim if facts.is_read_only => Some(errno::EROFS),
            Operation::Trim if !facts.can_trim => Some(errno::EOPNOTSUPP),
            Operation::Fsync | Operation::Fdatasync if !facts.can_flush => Some(errno::EOPNOTSUPP),
            Operation::Trim if request.bytes == 0 || is_torn => Some(errno::EINVAL),
            Operation::Trim | Operation::Fsync | Operation::Fdatasync => None,
            Operation::Write if through => Some(errno::EOPNOTSUPP),
            Operation::Read | Operation::Write => (is_long || is_torn).then_some(errno::EINVAL),
        }
    }

    pub(crate) fn advance(&mut self, slots: &mut impl Slots, done: &mut Vec<Done>) {
        done.append(&mut self.refused);
        if self.lost.is_some() {
            return;
        }
        if let Err(fault) = self.exchange(slots, done) {
            self.lose(fault);
            done.append(&mut self.refused);
        }
    }

    fn exchange(&mut self, slots: &mut impl Slots, done: &mut Vec<Done>) -> Result<(), Fault> {
        let sent = self.outgoing.send(&mut self.stream, slots, &mut self.pending);
        // A server that ends the connection may have answered before: what came counts.
        self.incoming.receive(&mut self.stream, slots, &mut self.pending, done)?;
        sent
    }

    /// Gives the connection up: what is in flight ends with the fault's error at the next advance.
    pub(crate) fn lose(&mut self, fault: Fault) {
        self.outgoing.clear();
        self.pending.fail_all(fault.kind.errno(), &mut self.refused);
        self.lost.get_or_insert(fault);
    }

    pub(crate) fn interest(&self) -> Interest {
        let to_send = !self.outgoing.is_empty() || self.stream.has_unsent();
        self.stream.interest_of(to_send)
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.pending.count() + self.refused.len()
    }

    pub(crate) fn lost(&self) -> Option<&Fault> {
        self.lost.as_ref()
    }

    pub(crate) fn tcp_info(&self) -> Option<TcpInfo> {
        self.stream.tcp_info()
    }

    /// Length of the read that stands for a no-op.
    pub(crate) fn no_op_bytes(&self) -> usize {
        let bytes = u64::from(self.facts.block_bytes_min.max(512));
        usize::try_from(bytes.min(self.facts.size_bytes)).unwrap_or(512)
    }

    /// Tells the server, if the socket has room for it; dropping closes.
    pub(crate) fn close(mut self) {
        if self.lost.is_none() && self.outgoing.is_empty() {
            let head = wire::request(0, command::DISCONNECT, 0, 0, 0);
            let _ = self.stream.send(&[IoSlice::new(&head)]);
            let _ = self.stream.send_kept();
        }
    }
}
