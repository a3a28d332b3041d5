//! SMB 2.1, 3.0, 3.0.2 and 3.1.1 (MS-SMB2): one file of one share over one TCP connection, with `NTLMv2`
//! or as guest.
//!
//! A client of its own: the crate `smb2` owns its buffers and its runtime, and `sspi` needs a compiler newer
//! than this project's. Primitives of cryptography are those of `RustCrypto`.

mod link;
mod negotiate;
mod ntlm;
mod replies;
mod security;
mod status;
mod wire;

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use fathom_sys::socket::Interest;
use fathom_sys::transfer::Operation;

use self::link::Talk;
use self::replies::Replies;
use self::security::SEAL_BYTES;
use self::wire::{Little, charge, command, dialect};
use crate::address::Address;
use crate::connection::{Done, Request, Slots};
use crate::facts::Facts;
use crate::fault::Fault;
use crate::incoming::Incoming;
use crate::outgoing::Outgoing;
use crate::settings::{Opening, Settings, Wanted};
use crate::stream::{Deadline, Stream, hung_up};

/// The longest head: a read or a write with its length before it.
const WIRE_HEAD_BYTES_MAX: usize = 120;
/// Encrypted messages wait on this side up to so many bytes.
const SEALED_BYTES_MAX: usize = 4 << 20;
/// How long a close may wait for the server, which otherwise keeps the file open until it misses the
/// connection.
const CLOSE_TIME: Duration = Duration::from_secs(1);

/// What waits for its turn.
#[derive(Debug, Clone, Copy)]
enum Waiting {
    Io(Request),
    NoOp,
}

/// One file on one connection.
#[derive(Debug)]
pub(crate) struct Session {
    stream: Stream,
    facts: Facts,
    file: [u8; 16],
    path: String,
    opening: Opening,
    replies: Replies,
    outgoing: Outgoing<WIRE_HEAD_BYTES_MAX>,
    /// Numbers of messages that are queued there and not sent.
    numbers: VecDeque<u64>,
    sealed: Sealed,
    incoming: Incoming,
    /// What there are no credits for yet.
    waiting: VecDeque<Waiting>,
    head: Vec<u8>,
    timeout: Duration,
}

/// Encrypted messages on their way.
#[derive(Debug, Default)]
struct Sealed {
    bytes: Vec<u8>,
    sent: usize,
}

impl Session {
    /// Connects and opens the file, or makes it, or looks at its place.
    pub(crate) fn connect(
        address: &Address,
        settings: &Settings,
        wanted: Wanted,
    ) -> Result<Self, Fault> {
        let opened = negotiate::open(address, settings, wanted)?;
        let replies = Replies::new(opened.link, opened.facts.request_bytes_max);
        Ok(Self {
            stream: opened.stream,
            facts: opened.facts,
            file: opened.file,
            path: opened.path,
            opening: settings.opening,
            replies,
            outgoing: Outgoing::default(),
            numbers: VecDeque::new(),
            sealed: Sealed::default(),
            incoming: Incoming::new(),
            waiting: VecDeque::new(),
            head: Vec::with_capacity(WIRE_HEAD_BYTES_MAX),
            timeout: settings.timeout,
        })
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    pub(crate) fn submit(&mut self, request: Request) {
        self.waiting.push_back(Waiting::Io(request));
    }

    /// Queues the protocol's own no-op, which completes as an I/O does.
    pub(crate) fn submit_no_op(&mut self) {
        self.waiting.push_back(Waiting::NoOp);
    }

    /// Queues what there are credits for.
    fn release(&mut self, slots: &impl Slots) {
        while let Some(waiting) = self.waiting.front().copied() {
            let bytes = match waiting {
                Waiting::Io(request) if request.operation.moves_bytes() => request.bytes,
                _ => 0,
            };
            // A server that says early that an answer takes longer gives credits for more than it said.
            let is_full = self.sealed.bytes.len() > SEALED_BYTES_MAX
                || self
                    .facts
                    .outstanding_max
                    .is_some_and(|most| self.replies.count >= most as usize);
            if self.replies.link.credits < charge(bytes).into() || is_full {
                return;
            }
            self.waiting.pop_front();
            self.begin(waiting, bytes, slots);
        }
    }

    fn begin(&mut self, waiting: Waiting, bytes: u32, slots: &impl Slots) {
        let (tag, command) = match waiting {
            Waiting::NoOp => (0, command::ECHO),
            Waiting::Io(request) => {
                let command = match request.operation {
                    Operation::Read => command::READ,
                    Operation::Write => command::WRITE,
                    Operation::Fsync | Operation::Fdatasync => command::FLUSH,
                    Operation::Trim => unreachable!("no server is said to take trims"),
                };
                (request.tag, command)
            }
        };
        let mut head = std::mem::take(&mut self.head);
        head.clear();
        let number = self.replies.link.begin(&mut head, command, bytes);
        match waiting {
            Waiting::NoOp => head.extend([4, 0, 0, 0]),
            Waiting::Io(request) => self.body(&mut head, command, &request),
        }
        self.replies.enter(number, tag, command, bytes);
        let data = if command == command::WRITE { bytes as usize } else { 0 };
        let data = if data == 0 { &[][..] } else { &slots.for_write(tag)[..data] };
        self.dispatch(&mut head, number, tag, data);
        self.head = head;
    }

    /// The body of an I/O's message.
    fn body(&self, out: &mut Vec<u8>, command: u16, request: &Request) {
        // Servers before 3.0.2 do not know the flag.
        let is_unbuffered =
            self.opening.is_unbuffered && self.replies.link.dialect >= dialect::V3_0_2;
        match command {
            command::READ => {
                out.u16(49);
                out.extend([80, u8::from(is_unbuffered)]);
                out.u32(request.bytes);
                out.u64(request.offset_bytes);
                out.extend(self.file);
                out.extend([0; 17]);
            }
            command::WRITE => {
                let is_through = request.is_through || self.opening.is_write_through;
                out.u16(49);
                out.u16(112);
                out.u32(request.bytes);
                out.u64(request.offset_bytes);
                out.extend(self.file);
                out.extend([0; 12]);
                out.u32(u32::from(is_through) | u32::from(is_unbuffered) << 1);
            }
            _ => {
                out.u16(24);
                out.extend([0; 6]);
                out.extend(self.file);
            }
        }
    }

    /// Signs or encrypts a message, and puts it into its queue.
    fn dispatch(&mut self, head: &mut [u8], number: u64, tag: u32, data: &[u8]) {
        if self.replies.link.security.must_encrypt {
            let session = self.replies.link.session;
            self.sealed.push(&mut self.replies.link.security, session, head, data);
            self.replies.mark_sent(number);
            return;
        }
        self.replies.link.sign(head, data);
        let bytes = u32::try_from(head.len() + data.len()).expect("messages are below 16 MiB");
        let mark = bytes.to_be_bytes();
        let mut framed = [0; WIRE_HEAD_BYTES_MAX];
        framed[..4].copy_from_slice(&mark);
        framed[4..4 + head.len()].copy_from_slice(head);
        self.outgoing.push(&framed[..4 + head.len()], tag, 0..data.len());
        self.numbers.push_back(number);
    }

    /// Sends what there is room for, and takes what is there.
    pub(crate) fn exchange(
        &mut self,
        slots: &mut impl Slots,
        done: &mut Vec<Done>,
    ) -> Result<(), Fault> {
        self.release(slots);
        let sent = self.send(slots);
        self.incoming.receive(&mut self.stream, &mut self.replies, slots, done)?;
        sent?;
        self.release(slots);
        self.send(slots)
    }

    fn send(&mut self, slots: &mut impl Slots) -> Result<(), Fault> {
        self.sealed.send(&mut self.stream)?;
        let (replies, numbers) = (&mut self.replies, &mut self.numbers);
        // Messages are sent in the order in which they were queued.
        self.outgoing.send(&mut self.stream, slots, |_| {
            if let Some(number) = numbers.pop_front() {
                replies.mark_sent(number);
            }
        })
    }

    /// Ends what is in flight, or waits for its turn, with an error number.
    pub(crate) fn fail_all(&mut self, errno: i32, done: &mut Vec<Done>) {
        self.outgoing.clear();
        self.numbers.clear();
        self.sealed = Sealed::default();
        self.replies.fail_all(errno, done);
        let tags = self.waiting.drain(..).map(|waiting| match waiting {
            Waiting::Io(request) => request.tag,
            Waiting::NoOp => 0,
        });
        done.extend(tags.map(|tag| Done { tag, result: -errno }));
    }

    pub(crate) fn interest(&self) -> Interest {
        self.stream.interest_of(!self.outgoing.is_empty() || self.sealed.has_more())
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.replies.count + self.waiting.len()
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    fn talk(&mut self, within: Duration) -> Talk<'_> {
        let deadline = Deadline::after(within);
        Talk { stream: &mut self.stream, link: &mut self.replies.link, deadline }
    }

    /// Sets the file's size and waits.
    pub(crate) fn resize(&mut self, size_bytes: u64) -> Result<(), Fault> {
        let file = self.file;
        self.talk(self.timeout).resize(&file, size_bytes)?;
        self.facts.size_bytes = size_bytes;
        Ok(())
    }

    /// Removes the file from its directory and waits.
    pub(crate) fn remove(&mut self) -> Result<(), Fault> {
        let path = self.path.clone();
        self.talk(self.timeout).remove(&path)
    }

    /// Closes the file and logs off, and waits for that a moment; dropping closes the rest.
    pub(crate) fn close(mut self) {
        if self.in_flight() == 0 {
            let file = self.file;
            let mut talk = self.talk(CLOSE_TIME.min(self.timeout));
            // Nobody is left whom a failure would concern.
            if talk.close(&file).is_ok() {
                let _ = talk.log_off();
            }
        }
    }
}

impl Sealed {
    fn push(&mut self, security: &mut security::Security, session: u64, head: &[u8], data: &[u8]) {
        let bytes = u32::try_from(SEAL_BYTES + head.len() + data.len());
        let begin = self.bytes.len() + 4;
        self.bytes.extend(bytes.expect("messages are below 16 MiB").to_be_bytes());
        self.bytes.resize(begin + SEAL_BYTES, 0);
        self.bytes.extend(head);
        self.bytes.extend(data);
        security.seal(&mut self.bytes[begin..], session);
    }

    fn has_more(&self) -> bool {
        self.sent < self.bytes.len()
    }

    fn send(&mut self, stream: &mut Stream) -> Result<(), Fault> {
        while self.has_more() {
            match stream.send(&[io::IoSlice::new(&self.bytes[self.sent..])]) {
                Ok(0) => return Err(hung_up()),
                Ok(bytes) => self.sent += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(Fault::of_io("sending", &error)),
            }
        }
        self.bytes.clear();
        self.sent = 0;
        Ok(())
    }
}
