//! The contract: what every protocol does for the engine.

use std::time::Duration;

use fathom_sys::clock::now_ns;
use fathom_sys::socket::{Interest, TcpInfo};
use fathom_sys::transfer::Operation;

use crate::address::{Address, Scheme};
use crate::facts::Facts;
use crate::fault::{Fault, FaultKind, errno};
use crate::iscsi;
use crate::nbd;
use crate::settings::Settings;
use crate::stream::{Deadline, wait};

/// One I/O to submit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The slot whose buffer is used, and which names the completion.
    pub tag: u32,
    /// What it does.
    pub operation: Operation,
    /// Offset from the start of the target; 0 for a sync.
    pub offset_bytes: u64,
    /// Length; 0 for a sync.
    pub bytes: u32,
    /// A write that reaches stable storage before it is answered.
    pub is_through: bool,
}

/// One I/O that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// The slot that is free again.
    pub tag: u32,
    /// Bytes transferred, 0 for a sync or trim that succeeded, or a negative error number of Linux.
    pub result: i32,
}

/// The engine's buffers, lent for the length of a call. Both give at least as many bytes as the request has.
pub trait Slots {
    /// Where the data of a read belong.
    fn for_read(&mut self, tag: u32) -> &mut [u8];
    /// The data of a write, the same ones at each call until it has completed.
    fn for_write(&self, tag: u32) -> &[u8];
}

/// The session of a protocol.
#[derive(Debug)]
enum Session {
    Nbd(Box<nbd::Session>),
    Iscsi(Box<iscsi::Session>),
}

/// The same call of whichever session it is.
macro_rules! each {
    ($session:expr, $it:ident => $call:expr) => {
        match $session {
            Session::Nbd($it) => $call,
            Session::Iscsi($it) => $call,
        }
    };
}

/// One connection to one target. Only [`Connection::connect`] and the calls that say so wait.
#[derive(Debug)]
pub struct Connection {
    session: Session,
    server: String,
    timeout: Duration,
    /// What completes without the server.
    refused: Vec<Done>,
    lost: Option<Fault>,
}

impl Connection {
    /// Connects, negotiates and learns the facts; waits as long as the settings allow. Only the look-up of
    /// the host's name is the C library's, which has a time of its own.
    pub fn connect(address: &Address, settings: &Settings) -> Result<Self, Fault> {
        let server = address.server();
        let session = match address.scheme {
            Scheme::Nbd => {
                nbd::Session::connect(address, settings).map(|it| Session::Nbd(Box::new(it)))
            }
            Scheme::Iscsi => {
                iscsi::Session::connect(address, settings).map(|it| Session::Iscsi(Box::new(it)))
            }
        };
        let session = session.map_err(|fault| fault.at(&server))?;
        Ok(Self { session, server, timeout: settings.timeout, refused: Vec::new(), lost: None })
    }

    /// What the server says of the target.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        each!(&self.session, it => it.facts())
    }

    /// Queues an I/O; it is sent by the next [`Connection::advance`]. What the server would not take (a write
    /// where only reads are allowed, a request beyond its limit) completes there with its error and is never
    /// sent.
    ///
    /// # Panics
    /// If the tag is in flight.
    #[inline]
    pub fn submit(&mut self, request: Request) {
        match self.refusal(&request) {
            Some(errno) => self.refused.push(Done { tag: request.tag, result: -errno }),
            None => each!(&mut self.session, it => it.submit(request)),
        }
    }

    /// The error number of what is not sent, if it is not.
    #[inline]
    fn refusal(&self, request: &Request) -> Option<i32> {
        if self.lost.is_some() { Some(errno::ENOTCONN) } else { self.facts().refusal(request) }
    }

    /// Sends what there is room for, takes what is there, and appends what has completed.
    #[inline]
    pub fn advance(&mut self, slots: &mut impl Slots, done: &mut Vec<Done>) {
        done.append(&mut self.refused);
        if self.lost.is_some() {
            return;
        }
        if let Err(fault) = each!(&mut self.session, it => it.exchange(slots, done)) {
            self.lose(fault);
            done.append(&mut self.refused);
        }
    }

    /// Gives the connection up: what is in flight ends with the fault's error at the next advance.
    fn lose(&mut self, fault: Fault) {
        let errno = fault.kind.errno();
        each!(&mut self.session, it => it.fail_all(errno, &mut self.refused));
        self.lost.get_or_insert(fault);
    }

    /// What to wait for when [`Connection::advance`] has completed nothing.
    #[inline]
    #[must_use]
    pub fn interest(&self) -> Interest {
        each!(&self.session, it => it.interest())
    }

    /// I/Os that have not completed.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> usize {
        each!(&self.session, it => it.in_flight()) + self.refused.len()
    }

    /// Why the connection is over, if it is. All that was in flight has then completed with the fault's error
    /// number, and all that is submitted later completes with `ENOTCONN`.
    #[must_use]
    pub fn lost(&self) -> Option<Fault> {
        self.lost.clone().map(|fault| fault.at(&self.server))
    }

    /// What the kernel knows of the connection; nothing of a unix socket.
    #[must_use]
    pub fn tcp_info(&self) -> Option<TcpInfo> {
        each!(&self.session, it => it.tcp_info())
    }

    /// Waits for the cheapest round trip that the protocol has: with iSCSI a NOP-Out. NBD has no request that
    /// does nothing: it is a read of the smallest block at the start of the target, which after the first is
    /// one from the server's cache.
    ///
    /// # Panics
    /// If anything is in flight.
    pub fn no_op(&mut self) -> Result<Duration, Fault> {
        let mut block = vec![0; self.no_op_bytes()];
        let begun_ns = now_ns();
        match &mut self.session {
            Session::Nbd(_) => self.read_exact_at(0, &mut block)?,
            Session::Iscsi(session) => {
                match self.lost {
                    Some(_) => self.refused.push(Done { tag: 0, result: -errno::ENOTCONN }),
                    None => session.submit_no_op(),
                }
                self.wait_until_done("no-op", &mut block)?;
            }
        }
        Ok(Duration::from_nanos(now_ns() - begun_ns))
    }

    /// What [`Connection::no_op`] sends, in words.
    #[must_use]
    pub fn no_op_in_words(&self) -> String {
        match &self.session {
            Session::Nbd(_) => format!("a read of {} bytes at offset 0", self.no_op_bytes()),
            Session::Iscsi(_) => "a NOP-Out".to_owned(),
        }
    }

    /// Length of the read that stands for a no-op where there is none.
    fn no_op_bytes(&self) -> usize {
        let facts = self.facts();
        let bytes = u64::from(facts.block_bytes_min.max(512)).min(facts.size_bytes);
        usize::try_from(bytes).unwrap_or(512)
    }

    /// Reads and waits; nothing else may be in flight.
    pub fn read_exact_at(&mut self, offset_bytes: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.in_pieces(Operation::Read, offset_bytes, into)
    }

    /// Writes and waits; nothing else may be in flight.
    pub fn write_all_at(&mut self, offset_bytes: u64, from: &[u8]) -> Result<(), Fault> {
        // The one way for both wants a slot that could be written to.
        self.in_pieces(Operation::Write, offset_bytes, &mut from.to_vec())
    }

    /// Brings all writes to stable storage and waits.
    pub fn flush(&mut self) -> Result<(), Fault> {
        self.wait_for(Operation::Fsync, 0, &mut [])
    }

    /// Ends the connection as the protocol wants it; waits for nobody. Who leaves with I/Os in flight makes a
    /// server throw their answers away, and nbdkit 1.32 has been seen to abort at that.
    pub fn close(self) {
        if self.lost.is_none() {
            each!(self.session, it => it.close());
        }
    }

    fn in_pieces(
        &mut self,
        operation: Operation,
        offset_bytes: u64,
        buffer: &mut [u8],
    ) -> Result<(), Fault> {
        let piece_bytes = self.facts().request_bytes_max.min(1 << 20) as usize;
        let mut offset = offset_bytes;
        for piece in buffer.chunks_mut(piece_bytes) {
            self.wait_for(operation, offset, piece)?;
            offset += piece.len() as u64;
        }
        Ok(())
    }

    fn wait_for(
        &mut self,
        operation: Operation,
        offset_bytes: u64,
        buffer: &mut [u8],
    ) -> Result<(), Fault> {
        assert_eq!(self.in_flight(), 0, "a call that waits is alone on its connection");
        let bytes = u32::try_from(buffer.len()).expect("pieces are short");
        self.submit(Request { tag: 0, operation, offset_bytes, bytes, is_through: false });
        self.wait_until_done(operation.name(), buffer)
    }

    /// Waits for the one thing in flight.
    fn wait_until_done(&mut self, name: &str, buffer: &mut [u8]) -> Result<(), Fault> {
        let deadline = Deadline::after(self.timeout);
        let mut done = Vec::with_capacity(1);
        loop {
            self.advance(&mut OneSlot(buffer), &mut done);
            if let Some(done) = done.pop() {
                return self.judge(name, done.result);
            }
            if let Err(fault) = wait(self.interest(), deadline) {
                // The late answer would belong to nobody.
                self.lose(fault.clone());
                self.advance(&mut OneSlot(buffer), &mut done);
                return Err(fault.at(&self.server));
            }
        }
    }

    fn judge(&self, name: &str, result: i32) -> Result<(), Fault> {
        if result >= 0 {
            return Ok(());
        }
        if let Some(fault) = self.lost() {
            return Err(fault);
        }
        let error = std::io::Error::from_raw_os_error(-result);
        let text = format!("the {name} failed ({error})");
        Err(Fault::new(FaultKind::of_errno(-result), text).at(&self.server))
    }
}

/// The buffer of a call that waits.
pub(crate) struct OneSlot<'a>(pub(crate) &'a mut [u8]);

impl Slots for OneSlot<'_> {
    fn for_read(&mut self, _: u32) -> &mut [u8] {
        self.0
    }

    fn for_write(&self, _: u32) -> &[u8] {
        self.0
    }
}
