//! NFS, versions 3 (RFC 1813) and 4.1 and 4.2 (RFC 8881, RFC 7862): one file over one TCP connection, with
//! `AUTH_SYS`.
//!
//! A client of its own: the crates for NFS wait for one call at a time, or own the buffers and the runtime.

mod compound;
mod mount;
mod replies;
mod rpc;
mod status;
mod v3;
mod v4;
mod wire;
mod xdr;

use std::collections::VecDeque;
use std::time::Duration;

use fathom_sys::socket::Interest;
use fathom_sys::transfer::Operation;

use self::replies::{Kind, Replies, SessionSlots};
use self::rpc::{Caller, Procedure};
use crate::address::{Address, NfsVersion};
use crate::connection::{Done, Request, Slots};
use crate::facts::Facts;
use crate::fault::{Fault, FaultKind};
use crate::incoming::Incoming;
use crate::outgoing::Outgoing;
use crate::settings::{Settings, Wanted};
use crate::stream::{Deadline, Stream};

const PROGRAM: u32 = 100_003;
/// Reads and writes beyond this are the caller's to split.
const REQUEST_BYTES_MAX: u64 = 16 << 20;
/// How long a close may wait for the server, which otherwise keeps what was open until a lease is over.
const CLOSE_TIME: Duration = Duration::from_secs(1);

/// The file, by version.
#[derive(Debug)]
enum File {
    V3(v3::File),
    V4(v4::File),
}

/// One file on one connection.
#[derive(Debug)]
pub(crate) struct Session {
    caller: Caller,
    facts: Facts,
    file: File,
    replies: Replies,
    outgoing: Outgoing<{ wire::HEAD_BYTES_MAX }>,
    incoming: Incoming,
    /// What the session of version 4 has no slot for yet.
    waiting: VecDeque<Request>,
    head: Vec<u8>,
    timeout: Duration,
}

impl Session {
    /// Connects and opens the file, or makes it, or looks at its place.
    pub(crate) fn connect(
        address: &Address,
        settings: &Settings,
        wanted: Wanted,
    ) -> Result<Self, Fault> {
        let deadline = Deadline::of(settings);
        let mut caller = Caller::connect(&address.place, deadline)?;
        let version = address.nfs_version.unwrap_or(NfsVersion::V4);
        look_for_version(&mut caller, version, deadline)?;
        let (file, mut facts) = match version {
            NfsVersion::V3 => v3::open(&mut caller, address, wanted, deadline)
                .map(|(file, facts)| (File::V3(file), facts))?,
            NfsVersion::V4 => v4::open(&mut caller, address, wanted, deadline)
                .map(|(file, facts)| (File::V4(file), facts))?,
        };
        facts.handle = Some(match &file {
            File::V3(file) => file.handle.clone(),
            File::V4(file) => file.handle.clone(),
        });
        let slots = match &file {
            File::V3(_) => None,
            File::V4(file) => Some(SessionSlots::new(
                file.session.id,
                file.session.slots,
                file.session.sequence(),
            )),
        };
        let replies = Replies::new(slots, facts.request_bytes_max);
        Ok(Self {
            caller,
            replies,
            facts,
            file,
            outgoing: Outgoing::default(),
            incoming: Incoming::new(),
            waiting: VecDeque::new(),
            head: Vec::with_capacity(wire::HEAD_BYTES_MAX),
            timeout: settings.timeout,
        })
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    pub(crate) fn submit(&mut self, request: Request) {
        self.waiting.push_back(request);
    }

    /// Queues what the server's session has room for.
    fn release(&mut self) {
        while self.replies.has_room() {
            let Some(request) = self.waiting.pop_front() else { return };
            self.begin(&request);
        }
    }

    fn begin(&mut self, request: &Request) {
        let kind = match request.operation {
            Operation::Read => Kind::Read,
            Operation::Write => Kind::Write { is_through: request.is_through },
            Operation::Fsync | Operation::Fdatasync => Kind::Commit,
            Operation::Trim => Kind::Deallocate,
        };
        let (number, slot) = self.replies.enter(request.tag, kind, request.bytes);
        let (head, who) = (&mut self.head, &self.caller.identity);
        match (&self.file, slot) {
            (File::V4(file), Some(slot)) => {
                wire::of_v4(head, number, file, slot, kind, request, who);
            }
            (File::V3(file), _) => wire::of_v3(head, number, &file.handle, kind, request, who),
            (File::V4(_), None) => unreachable!("each I/O of version 4 has a slot"),
        }
        let is_write = request.operation == Operation::Write;
        let bytes = if is_write { request.bytes as usize } else { 0 };
        let padding = xdr::padding(bytes);
        rpc::seal(head, bytes + padding);
        self.outgoing.push_padded(head, request.tag, 0..bytes, padding);
    }

    /// Sends what there is room for, and takes what is there.
    pub(crate) fn exchange(
        &mut self,
        slots: &mut impl Slots,
        done: &mut Vec<Done>,
    ) -> Result<(), Fault> {
        self.release();
        let sent = self.send(slots);
        self.incoming.receive(&mut self.caller.stream, &mut self.replies, slots, done)?;
        sent?;
        self.release();
        if self.outgoing.is_empty() { Ok(()) } else { self.send(slots) }
    }

    fn send(&mut self, slots: &mut impl Slots) -> Result<(), Fault> {
        let replies = &mut self.replies;
        self.outgoing.send(&mut self.caller.stream, slots, |tag| replies.mark_sent(tag))
    }

    /// Queues a call of the empty procedure, which completes as an I/O does.
    pub(crate) fn submit_no_op(&mut self) {
        let (number, _) = self.replies.enter(0, Kind::Null, 0);
        let version = if matches!(self.file, File::V3(_)) { 3 } else { 4 };
        wire::null(&mut self.head, number, version, &self.caller.identity);
        rpc::seal(&mut self.head, 0);
        self.outgoing.push(&self.head, 0, 0..0);
    }

    /// Ends what is in flight, or waits for its turn, with an error number.
    pub(crate) fn fail_all(&mut self, errno: i32, done: &mut Vec<Done>) {
        self.outgoing.clear();
        self.replies.fail_all(errno, done);
        let waiting = self.waiting.drain(..);
        done.extend(waiting.map(|request| Done { tag: request.tag, result: -errno }));
    }

    pub(crate) fn interest(&self) -> Interest {
        self.caller.stream.interest_of(!self.outgoing.is_empty())
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.replies.count + self.waiting.len()
    }

    /// Takes over what an earlier connection knew of writes that are not on stable storage.
    pub(crate) fn follow(&mut self, earlier: &Self) {
        self.replies.follow(&earlier.replies);
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.caller.stream
    }

    /// Sets the file's size and waits.
    pub(crate) fn resize(&mut self, size_bytes: u64) -> Result<(), Fault> {
        let deadline = Deadline::after(self.timeout);
        self.aside(|file, caller| match file {
            File::V3(file) => file.resize(caller, size_bytes, deadline),
            File::V4(file) => file.resize(caller, size_bytes, deadline),
        })?;
        self.facts.size_bytes = size_bytes;
        Ok(())
    }

    /// Removes the file from its directory and waits.
    pub(crate) fn remove(&mut self) -> Result<(), Fault> {
        let deadline = Deadline::after(self.timeout);
        self.aside(|file, caller| match file {
            File::V3(file) => file.remove(caller, deadline),
            File::V4(file) => file.remove(caller, deadline),
        })
    }

    /// A call beside the I/Os, of which none is in flight. It uses slot 0 of the session.
    fn aside(
        &mut self,
        call: impl FnOnce(&mut File, &mut Caller) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if let (File::V4(file), Some(session)) = (&mut self.file, &self.replies.session) {
            file.session.set_sequence(session.sequences[0]);
        }
        let result = call(&mut self.file, &mut self.caller);
        if let (File::V4(file), Some(session)) = (&self.file, &mut self.replies.session) {
            session.sequences[0] = file.session.sequence();
        }
        result
    }

    /// Closes the file where the server keeps it open, and waits for that a moment; dropping closes the rest.
    pub(crate) fn close(mut self) {
        if self.in_flight() == 0 {
            let deadline = Deadline::after(CLOSE_TIME.min(self.timeout));
            // Nobody is left whom a failure would concern.
            let _ = self.aside(|file, caller| match file {
                File::V3(_) => Ok(()),
                File::V4(file) => file.close(caller, deadline),
            });
        }
    }
}

/// Whether the server has this version at all: the empty procedure of it.
fn look_for_version(
    caller: &mut Caller,
    version: NfsVersion,
    deadline: Deadline,
) -> Result<(), Fault> {
    let (number, other) = match version {
        NfsVersion::V3 => (3, "4"),
        NfsVersion::V4 => (4, "3"),
    };
    let empty = Procedure { program: PROGRAM, version: number, number: 0 };
    let answer = caller.call(empty, &[], deadline);
    answer.map(drop).map_err(|fault| match fault.kind {
        FaultKind::Unsupported => {
            let text = format!("the server does not serve NFS {number}: try ?version={other}");
            Fault { text, ..fault }
        }
        _ => fault,
    })
}

/// The parts of the path: directories, and the file.
fn parts(address: &Address) -> Result<Vec<String>, Fault> {
    let parts: Vec<_> = address.export.split('/').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() || parts.iter().any(|part| matches!(*part, "." | "..")) {
        let text = "the address names no file: nfs://HOST/EXPORT/FILE, without '.' and '..'";
        return Err(Fault::new(FaultKind::Invalid, text));
    }
    Ok(parts.into_iter().map(str::to_owned).collect())
}

/// What is the same for all files.
fn facts() -> Facts {
    Facts {
        block_bytes_min: 1,
        block_bytes_preferred: 4096,
        can_flush: true,
        can_write_through: true,
        can_share: true,
        ..Facts::default()
    }
}

/// What the server says of the longest request.
fn request_bytes_max(told: u64) -> Result<u32, Fault> {
    if told < 512 {
        return Err(Fault::garbled(format!("requests of {told} bytes at most make no sense")));
    }
    Ok(u32::try_from(told.min(REQUEST_BYTES_MAX)).expect("it is bounded"))
}
