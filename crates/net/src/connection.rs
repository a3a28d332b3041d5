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
use crate::nfs;
use crate::settings::{Settings, Wanted};
use crate::smb;
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
    Nfs(Box<nfs::Session>),
    Smb(Box<smb::Session>),
}

/// The same call of whichever session it is.
macro_rules! each {
    ($session:expr, $it:ident => $call:expr) => {
        match $session {
            Session::Nbd($it) => $call,
            Session::Iscsi($it) => $call,
            Session::Nfs($it) => $call,
            Session::Smb($it) => $call,
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
        Self::connect_for(address, settings, Wanted::File)
    }

    /// The same, but where there is no such file, the facts are those of its place, with
    /// [`Facts::is_missing`]; nothing can be read or written then.
    pub fn look(address: &Address, settings: &Settings) -> Result<Self, Fault> {
        Self::connect_for(address, settings, Wanted::FileOrPlace)
    }

    /// The same, but the file is made, empty; one that is there already is a fault and stays as it is. Only
    /// protocols that serve files can do it ([`Scheme::has_files`]).
    pub fn create(address: &Address, settings: &Settings) -> Result<Self, Fault> {
        if address.scheme.has_files() {
            return Self::connect_for(address, settings, Wanted::NewFile);
        }
        Err(no_file("created").at(&address.server()))
    }

    fn connect_for(address: &Address, settings: &Settings, wanted: Wanted) -> Result<Self, Fault> {
        let server = address.server();
        let session = match address.scheme {
            Scheme::Nbd => {
                nbd::Session::connect(address, settings).map(|it| Session::Nbd(Box::new(it)))
            }
            Scheme::Iscsi => {
                iscsi::Session::connect(address, settings).map(|it| Session::Iscsi(Box::new(it)))
            }
            Scheme::Nfs => nfs::Session::connect(address, settings, wanted)
                .map(|it| Session::Nfs(Box::new(it))),
            Scheme::Smb => smb::Session::connect(address, settings, wanted)
                .map(|it| Session::Smb(Box::new(it))),
        };
        let session = session.map_err(|fault| fault.at(&server))?;
        Ok(Self { session, server, timeout: settings.timeout, refused: Vec::new(), lost: None })
    }

    /// Host and port, or the path of a socket.
    pub(crate) fn server(&self) -> &str {
        &self.server
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
        if let Err(fault) = self.exchange(slots, done) {
            self.lose(fault);
            done.append(&mut self.refused);
        }
    }

    /// The same, but a fault that ends the connection is the caller's to deal with.
    #[inline]
    pub(crate) fn exchange(
        &mut self,
        slots: &mut impl Slots,
        done: &mut Vec<Done>,
    ) -> Result<(), Fault> {
        done.append(&mut self.refused);
        if self.lost.is_some() {
            return Ok(());
        }
        each!(&mut self.session, it => it.exchange(slots, done))
    }

    /// The identifier by which the next session takes the place of this one, where the protocol has that.
    pub(crate) fn session(&self) -> Option<u32> {
        match &self.session {
            Session::Iscsi(session) => Some(session.identifier),
            Session::Nbd(_) | Session::Nfs(_) | Session::Smb(_) => None,
        }
    }

    /// Takes over from a lost connection what is to be known of writes that it has done.
    pub(crate) fn follow(&mut self, earlier: &Self) {
        if let (Session::Nfs(session), Session::Nfs(earlier)) =
            (&mut self.session, &earlier.session)
        {
            session.follow(earlier);
        }
    }

    /// Ends the connection without a word, and gives what was in flight.
    pub(crate) fn abandon(&mut self) -> Vec<Done> {
        let mut in_flight = std::mem::take(&mut self.refused);
        each!(&mut self.session, it => it.fail_all(errno::ECONNRESET, &mut in_flight));
        each!(&self.session, it => it.stream()).cut();
        in_flight
    }

    /// Gives the connection up: what is in flight ends with the fault's error at the next advance.
    pub(crate) fn lose(&mut self, fault: Fault) {
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
        each!(&self.session, it => it.stream()).tcp_info()
    }

    /// Lets the kernel look every so many seconds whether the server's host is still there, and end the
    /// connection when it has not answered so many times. A server that is merely slow is left in peace.
    pub fn keep_alive(&self, every_s: u16, count: u16) -> Result<(), Fault> {
        let kept = each!(&self.session, it => it.stream()).keep_alive(every_s, count);
        kept.map_err(|error| Fault::of_io("watching the connection", &error).at(&self.server))
    }

    /// Waits for the cheapest round trip that the protocol has: with iSCSI a NOP-Out, with
    /// NFS the empty procedure, with SMB an ECHO. NBD has no request that
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
            _ if self.lost.is_some() => {
                self.refused.push(Done { tag: 0, result: -errno::ENOTCONN });
                self.wait_until_done("no-op", &mut block)?;
            }
            Session::Iscsi(session) => {
                session.submit_no_op();
                self.wait_until_done("no-op", &mut block)?;
            }
            Session::Nfs(session) => {
                session.submit_no_op();
                self.wait_until_done("no-op", &mut block)?;
            }
            Session::Smb(session) => {
                session.submit_no_op();
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
            Session::Nfs(_) => "an empty procedure (NULL)".to_owned(),
            Session::Smb(_) => "an ECHO".to_owned(),
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
        self.wait_for(Operation::Fsync, 0, &mut []).map(drop)
    }

    /// Gives a file this size, and waits; nothing may be in flight.
    pub fn resize(&mut self, size_bytes: u64) -> Result<(), Fault> {
        self.change("given another size", |files| files.resize(size_bytes))
    }

    /// Removes a file, and closes.
    pub fn remove(mut self) -> Result<(), Fault> {
        self.change("removed", Session::remove)?;
        self.close();
        Ok(())
    }

    fn change(
        &mut self,
        what: &str,
        call: impl FnOnce(&mut Session) -> Option<Result<(), Fault>>,
    ) -> Result<(), Fault> {
        assert_eq!(self.in_flight(), 0, "a call that waits is alone on its connection");
        if let Some(fault) = self.lost() {
            return Err(fault);
        }
        let changed = call(&mut self.session).unwrap_or_else(|| Err(no_file(what)));
        changed.map_err(|fault| {
            if matches!(
                fault.kind,
                FaultKind::Disconnected | FaultKind::Protocol | FaultKind::TimedOut
            ) {
                self.lose(fault.clone());
            }
            fault.at(&self.server)
        })
    }

    /// Ends the connection as the protocol wants it; waits for nobody, but with protocols of files at most a
    /// second, so that no open file is left on the server. Who leaves with I/Os in flight makes a
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
        let (mut offset, mut rest) = (offset_bytes, buffer);
        while !rest.is_empty() {
            let bytes = rest.len().min(piece_bytes);
            // A server may do less than was requested.
            let moved = self.wait_for(operation, offset, &mut rest[..bytes])?.min(bytes);
            if moved == 0 {
                let text = format!("the target ends at {offset} bytes, before what was requested");
                return Err(Fault::new(FaultKind::Invalid, text).at(&self.server));
            }
            offset += moved as u64;
            rest = &mut rest[moved..];
        }
        Ok(())
    }

    /// Waits for one I/O; gives the bytes that it moved.
    fn wait_for(
        &mut self,
        operation: Operation,
        offset_bytes: u64,
        buffer: &mut [u8],
    ) -> Result<usize, Fault> {
        assert_eq!(self.in_flight(), 0, "a call that waits is alone on its connection");
        let bytes = u32::try_from(buffer.len()).expect("pieces are short");
        self.submit(Request { tag: 0, operation, offset_bytes, bytes, is_through: false });
        self.wait_until_done(operation.name(), buffer)
    }

    /// Waits for the one thing in flight.
    fn wait_until_done(&mut self, name: &str, buffer: &mut [u8]) -> Result<usize, Fault> {
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

    fn judge(&self, name: &str, result: i32) -> Result<usize, Fault> {
        if let Ok(bytes) = usize::try_from(result) {
            return Ok(bytes);
        }
        if let Some(fault) = self.lost() {
            return Err(fault);
        }
        let error = std::io::Error::from_raw_os_error(-result);
        let text = format!("the {name} failed ({error})");
        Err(Fault::new(FaultKind::of_errno(-result), text).at(&self.server))
    }
}

impl Session {
    /// Sets a file's size; nothing where there are no files.
    fn resize(&mut self, size_bytes: u64) -> Option<Result<(), Fault>> {
        match self {
            Self::Nbd(_) | Self::Iscsi(_) => None,
            Self::Nfs(session) => Some(session.resize(size_bytes)),
            Self::Smb(session) => Some(session.resize(size_bytes)),
        }
    }

    /// Removes a file, likewise.
    fn remove(&mut self) -> Option<Result<(), Fault>> {
        match self {
            Self::Nbd(_) | Self::Iscsi(_) => None,
            Self::Nfs(session) => Some(session.remove()),
            Self::Smb(session) => Some(session.remove()),
        }
    }
}

fn no_file(what: &str) -> Fault {
    let text =
        format!("a disk that is served cannot be {what}: only files can, over nfs:// and smb://");
    Fault::new(FaultKind::Unsupported, text)
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
