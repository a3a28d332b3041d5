//! Versions 4.1 and 4.2 (RFC 8881, RFC 7862): a session with slots, and a file that is open on the server.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use fathom_sys::clock::now_ns;

use super::compound::{Compound, answered, result, sequence};
use super::rpc::{Caller, Procedure};
use super::status;
use super::xdr::{Read, Short, Write};
use crate::address::Address;
use crate::facts::{Facts, words};
use crate::fault::{Fault, FaultKind};
use crate::settings::Wanted;
use crate::stream::Deadline;

pub(super) mod operation {
    pub const ACCESS: u32 = 3;
    pub const CLOSE: u32 = 4;
    pub const COMMIT: u32 = 5;
    pub const GET_ATTRIBUTES: u32 = 9;
    pub const GET_HANDLE: u32 = 10;
    pub const LOOKUP: u32 = 15;
    pub const OPEN: u32 = 18;
    pub const PUT_HANDLE: u32 = 22;
    pub const PUT_ROOT: u32 = 24;
    pub const READ: u32 = 25;
    pub const REMOVE: u32 = 28;
    pub const SET_ATTRIBUTES: u32 = 34;
    pub const WRITE: u32 = 38;
    pub const EXCHANGE_ID: u32 = 42;
    pub const CREATE_SESSION: u32 = 43;
    pub const DESTROY_SESSION: u32 = 44;
    pub const SEQUENCE: u32 = 53;
    pub const DESTROY_CLIENT: u32 = 57;
    pub const RECLAIM_COMPLETE: u32 = 58;
    pub const DEALLOCATE: u32 = 62;
}

pub(super) const HANDLE_BYTES_MAX: usize = 128;
/// Slots that are wanted; the server gives as many as it likes.
const SLOTS_WANTED: u32 = 1024;
/// The longest call and the longest answer that are wanted: 1 MiB of data, and a head.
const RECORD_BYTES_WANTED: u32 = (1 << 20) + 4096;
/// What a call and an answer have beside data.
const HEAD_BYTES: u32 = 1024;
/// To add something to a folder (`ACCESS4_EXTEND`, RFC 8881, 18.1).
const MAY_ADD: u32 = 0x0008;
const REGULAR: u32 = 1;
const FOLDER: u32 = 2;
/// How long it is waited before a server that asks for time is asked again.
const PAUSE: Duration = Duration::from_millis(100);

const TYPE: u32 = 1;
const SIZE: u32 = 4;
const MAX_READ: u32 = 30;
const MAX_WRITE: u32 = 31;

/// The session of one connection.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) minor: u32,
    client: u64,
    pub(super) id: [u8; 16],
    pub(super) slots: u32,
    record_bytes_max: u32,
    /// The sequence number of slot 0, which calls that are waited for use.
    sequence: u32,
}

impl Session {
    /// The sequence number of slot 0, which calls beside the I/Os share with them.
    pub(super) fn sequence(&self) -> u32 {
        self.sequence
    }

    pub(super) fn set_sequence(&mut self, sequence: u32) {
        self.sequence = sequence;
    }
}

/// An open file.
#[derive(Debug)]
pub(super) struct File {
    pub(super) session: Session,
    pub(super) handle: Vec<u8>,
    /// Absent where there is no file.
    pub(super) state: Option<[u8; 16]>,
    directory: Option<Vec<u8>>,
    name: String,
}

/// The client's number and first sequence number, and the server's name for itself.
type Known = (u64, u32, Option<String>);
/// State and handle of an open file.
type Opened = ([u8; 16], Vec<u8>);

/// The calls before and beside the I/Os.
struct Talk<'a> {
    caller: &'a mut Caller,
    deadline: Deadline,
}

impl Talk<'_> {
    fn send(&mut self, compound: &Compound) -> Result<Vec<u8>, Fault> {
        let procedure = Procedure { program: super::PROGRAM, version: 4, number: 1 };
        self.caller.call(procedure, &compound.arguments, self.deadline)
    }

    /// One operation that needs no session; gives what follows its status, or the status.
    fn alone(
        &mut self,
        minor: u32,
        operation: u32,
        arguments: &[u8],
    ) -> Result<Result<Vec<u8>, u32>, Fault> {
        let mut compound = Compound::new(minor);
        compound.add(operation).extend(arguments);
        let answer = self.send(&compound)?;
        let mut read = Read::new(&answer);
        // A version that the server does not have has no results.
        if read.word() == Ok(status::MINOR_MISMATCH) {
            return Ok(Err(status::MINOR_MISMATCH));
        }
        let mut read = Read::new(&answer);
        answered(&mut read)?;
        Ok(match result(&mut read, operation)? {
            0 => Ok(answer[read.at()..].to_vec()),
            other => Err(other),
        })
    }

    /// Operations on slot 0; gives the answer from the first result after that of the slot on. A server that
    /// asks for time is asked again.
    fn on_slot(
        &mut self,
        session: &mut Session,
        add: &dyn Fn(&mut Compound),
    ) -> Result<Vec<u8>, Fault> {
        loop {
            let mut compound = Compound::new(session.minor);
            let out = compound.add(operation::SEQUENCE);
            out.fixed(&session.id);
            out.words(&[session.sequence, 0, 0, 0]);
            add(&mut compound);
            let answer = self.send(&compound)?;
            let mut read = Read::new(&answer);
            let whole = read.word()?;
            let mut read = Read::new(&answer);
            answered(&mut read)?;
            match sequence(&mut read, &session.id)? {
                0 => session.sequence = session.sequence.wrapping_add(1),
                status::DELAY => {}
                other => return Err(status::fault(other, "using the session")),
            }
            if !matches!(whole, status::DELAY | status::GRACE) {
                return Ok(answer[read.at()..].to_vec());
            }
            let left =
                self.deadline.left().map_err(|_| status::fault(whole, "opening the file"))?;
            std::thread::sleep(PAUSE.min(left));
        }
    }

    /// Makes itself known; gives the client's number and first sequence, and the server's name for itself.
    fn exchange(&mut self, minor: u32) -> Result<Result<Known, u32>, Fault> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let mut arguments = Vec::new();
        arguments.long(now_ns());
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        arguments.opaque(format!("fathom {} {count} {}", std::process::id(), now_ns()).as_bytes());
        // No pNFS is used, no state protected, and no implementation told.
        arguments.words(&[0x0001_0000, 0, 0]);
        let answer = match self.alone(minor, operation::EXCHANGE_ID, &arguments)? {
            Ok(answer) => answer,
            Err(other) => return Ok(Err(other)),
        };
        let mut read = Read::new(&answer);
        let (client, sequence) = (read.long()?, read.word()?);
        let _flags = read.word()?;
        if read.word()? != 0 {
            return Err(Fault::garbled("the server protects a state that nobody wanted protected"));
        }
        read.skip(8)?;
        let _owner = read.opaque(1024)?;
        let _scope = read.opaque(1024)?;
        let mut name = None;
        if read.word()? > 0 {
            let _domain = read.opaque(1024)?;
            name = Some(words(read.opaque(1024)?)).filter(|name| !name.is_empty());
        }
        Ok(Ok((client, sequence, name)))
    }

    fn create_session(&mut self, minor: u32, client: u64, sequence: u32) -> Result<Session, Fault> {
        let mut arguments = Vec::new();
        arguments.long(client);
        // No flags: nothing is called back.
        arguments.words(&[sequence, 0]);
        let forth = [0, RECORD_BYTES_WANTED, RECORD_BYTES_WANTED, 4096, 8, SLOTS_WANTED, 0];
        let back = [0, 4096, 4096, 0, 2, 1, 0];
        arguments.words(&forth);
        arguments.words(&back);
        // A program for calls back, with no credentials.
        arguments.words(&[0x4000_0000, 1, 0]);
        let answer = self.alone(minor, operation::CREATE_SESSION, &arguments)?;
        let answer = answer.map_err(|other| status::fault(other, "creating a session"))?;
        let mut read = Read::new(&answer);
        let id = read.take()?;
        read.skip(12)?;
        let (longest_call, longest_answer) = (read.word()?, read.word()?);
        read.skip(8)?;
        let slots = read.word()?.min(SLOTS_WANTED);
        let record_bytes_max = longest_call.min(longest_answer).min(RECORD_BYTES_WANTED);
        if slots == 0 || record_bytes_max <= HEAD_BYTES {
            return Err(Fault::garbled("the server's session has room for nothing"));
        }
        Ok(Session { minor, client, id, slots, record_bytes_max, sequence: 1 })
    }

    /// A session of the highest minor version that both sides have, and the server's name for itself.
    fn begin(&mut self) -> Result<(Session, Option<String>), Fault> {
        for minor in [2, 1] {
            let (client, sequence, name) = match self.exchange(minor)? {
                Ok(known) => known,
                Err(status::MINOR_MISMATCH) => continue,
                Err(other) => return Err(status::fault(other, "making itself known")),
            };
            let mut session = self.create_session(minor, client, sequence)?;
            // Nothing is claimed of an earlier life.
            let complete =
                |compound: &mut Compound| compound.add(operation::RECLAIM_COMPLETE).word(0);
            self.on_slot(&mut session, &complete)?;
            return Ok((session, name));
        }
        let text = "the server has version 4.0 only, which has no sessions: use ?version=3";
        Err(Fault::new(FaultKind::Unsupported, text))
    }

    /// Looks a name up below a directory, or below the root.
    fn look_up(
        &mut self,
        session: &mut Session,
        directory: Option<&[u8]>,
        name: &str,
    ) -> Result<Vec<u8>, Fault> {
        let answer = self.on_slot(session, &|compound| {
            compound.put(directory);
            compound.add(operation::LOOKUP).opaque(name.as_bytes());
            compound.add(operation::GET_HANDLE);
        })?;
        let mut read = Read::new(&answer);
        for operation in [put(directory), operation::LOOKUP, operation::GET_HANDLE] {
            match result(&mut read, operation)? {
                0 => {}
                other => return Err(status::fault(other, &format!("looking up '{name}'"))),
            }
        }
        Ok(read.opaque(HANDLE_BYTES_MAX)?.to_vec())
    }

    /// Opens a file: its state and handle, or the status.
    fn open(
        &mut self,
        session: &mut Session,
        directory: Option<&[u8]>,
        name: &str,
        how: How,
    ) -> Result<Result<Opened, u32>, Fault> {
        let client = session.client;
        let answer = self.on_slot(session, &|compound| {
            compound.put(directory);
            let out = compound.add(operation::OPEN);
            // To read, or to read and write; no delegation; nobody is shut out.
            out.words(&[0, if how.is_read_only { 0x401 } else { 0x403 }, 0]);
            out.long(client);
            out.opaque(b"fathom");
            out.word(u32::from(how.is_new));
            if how.is_new {
                // Guarded: one that is there is an error. With mode 0644: of the second word of attributes
                // the bit 33 - 32.
                out.words(&[1, 2, 0, 1 << 1, 4, 0o644]);
            }
            out.word(0);
            out.opaque(name.as_bytes());
            compound.add(operation::GET_HANDLE);
        })?;
        let mut read = Read::new(&answer);
        for operation in [put(directory), operation::OPEN] {
            match result(&mut read, operation)? {
                0 => {}
                other => return Ok(Err(other)),
            }
        }
        let state = opened(&mut read)?;
        match result(&mut read, operation::GET_HANDLE)? {
            0 => Ok(Ok((state, read.opaque(HANDLE_BYTES_MAX)?.to_vec()))),
            other => Ok(Err(other)),
        }
    }

    /// Attributes of the file, as facts.
    fn learn(&mut self, session: &mut Session, handle: &[u8], kind: u32) -> Result<Facts, Fault> {
        let answer = self.on_slot(session, &|compound| {
            compound.put(Some(handle));
            let out = compound.add(operation::GET_ATTRIBUTES);
            out.words(&[1, 1 << TYPE | 1 << SIZE | 1 << MAX_READ | 1 << MAX_WRITE]);
        })?;
        let mut read = Read::new(&answer);
        for operation in [operation::PUT_HANDLE, operation::GET_ATTRIBUTES] {
            match result(&mut read, operation)? {
                0 => {}
                other => return Err(status::fault(other, "asking for the file's attributes")),
            }
        }
        let told = told_attributes(&mut read)?;
        if told & (1 << TYPE | 1 << SIZE) != 1 << TYPE | 1 << SIZE {
            return Err(Fault::garbled("the server tells no size"));
        }
        let _bytes = read.word()?;
        if read.word()? != kind {
            let kind = if kind == REGULAR { "regular file" } else { "folder" };
            return Err(Fault::new(FaultKind::Invalid, format!("it is not a {kind}")));
        }
        let size_bytes = read.long()?;
        let mut limit = u64::from(session.record_bytes_max - HEAD_BYTES);
        for attribute in [MAX_READ, MAX_WRITE] {
            if told & 1 << attribute != 0 {
                limit = limit.min(read.long()?);
            }
        }
        let request_bytes_max = super::request_bytes_max(limit)?;
        Ok(Facts { size_bytes, request_bytes_max, ..super::facts() })
    }

    fn resize(
        &mut self,
        session: &mut Session,
        handle: &[u8],
        state: &[u8; 16],
        size_bytes: u64,
    ) -> Result<(), Fault> {
        let answer = self.on_slot(session, &|compound| {
            compound.put(Some(handle));
            let out = compound.add(operation::SET_ATTRIBUTES);
            out.fixed(state);
            out.words(&[1, 1 << SIZE, 8]);
            out.long(size_bytes);
        })?;
        let mut read = Read::new(&answer);
        for operation in [operation::PUT_HANDLE, operation::SET_ATTRIBUTES] {
            match result(&mut read, operation)? {
                0 => {}
                other => {
                    return Err(status::fault(
                        other,
                        &format!("setting the size to {size_bytes} bytes"),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Ends session and client, of which the server would otherwise keep the state until its lease is over.
    fn end(&mut self, session: &Session) -> Result<(), Fault> {
        // A mistake here has nobody whom it concerns: the connection ends in any case.
        let _ = self.alone(session.minor, operation::DESTROY_SESSION, &session.id)?;
        let _ =
            self.alone(session.minor, operation::DESTROY_CLIENT, &session.client.to_be_bytes())?;
        Ok(())
    }
}

/// How a file is opened.
#[derive(Debug, Clone, Copy)]
struct How {
    is_read_only: bool,
    is_new: bool,
}

fn put(directory: Option<&[u8]>) -> u32 {
    if directory.is_some() { operation::PUT_HANDLE } else { operation::PUT_ROOT }
}

/// The first word of a bitmap; more words have to be empty.
fn told_attributes(read: &mut Read<'_>) -> Result<u32, Short> {
    let words = read.word()?.min(8);
    let mut first = 0;
    for k in 0..words {
        let word = read.word()?;
        first |= if k == 0 { word } else { 0 };
    }
    Ok(first)
}

/// What an open gives: the state's number. Delegations are not wanted, and one that is given all the same is
/// held until the session ends.
fn opened(read: &mut Read<'_>) -> Result<[u8; 16], Short> {
    let state = read.take()?;
    read.skip(20 + 4)?;
    told_attributes(read)?;
    match read.word()? {
        0 => {}
        3 => {
            // Why there is none: of two reasons (contention, resources) a word more is said.
            if matches!(read.word()?, 1 | 2) {
                read.skip(4)?;
            }
        }
        _ => return Err(Short),
    }
    Ok(state)
}

/// Makes a session, opens the file (or makes it, or looks at its place), and learns its facts.
pub(super) fn open(
    caller: &mut Caller,
    address: &Address,
    wanted: Wanted,
    deadline: Deadline,
) -> Result<(File, Facts), Fault> {
    let parts = super::parts(address)?;
    let mut talk = Talk { caller, deadline };
    let (session, description) = talk.begin()?;
    let kept = session.clone();
    match talk.open_path(session, &parts, wanted) {
        Ok((file, mut facts)) => {
            facts.dialect = format!("NFS 4.{}", file.session.minor);
            facts.can_trim = file.session.minor >= 2;
            facts.outstanding_max = Some(file.session.slots);
            facts.description = description;
            Ok((file, facts))
        }
        Err(fault) => {
            let _ = talk.end(&kept);
            Err(fault)
        }
    }
}

impl Talk<'_> {
    fn open_path(
        &mut self,
        mut session: Session,
        parts: &[String],
        wanted: Wanted,
    ) -> Result<(File, Facts), Fault> {
        let (name, directories) = parts.split_last().expect("a path has a file");
        let mut directory: Option<Vec<u8>> = None;
        for part in directories {
            directory = Some(self.look_up(&mut session, directory.as_deref(), part)?);
        }
        let place = directory.as_deref();
        let mut how = How { is_read_only: false, is_new: wanted.is_new() };
        let mut opened = self.open(&mut session, place, name, how)?;
        if matches!(opened, Err(other) if status::forbids_writing(other)) && !how.is_new {
            how.is_read_only = true;
            opened = self.open(&mut session, place, name, how)?;
        }
        if wanted == Wanted::FileOrPlace && matches!(opened, Err(status::NO_SUCH_FILE)) {
            return self.learn_place(session, directory, name);
        }
        let what = if how.is_new { "creating" } else { "opening" };
        let (state, handle) =
            opened.map_err(|other| status::fault(other, &format!("{what} '{name}'")))?;
        let mut facts = self.learn(&mut session, &handle, REGULAR)?;
        facts.is_read_only = how.is_read_only;
        let state = Some(state);
        let file = File { session, handle, state, directory, name: name.clone() };
        Ok((file, facts))
    }

    /// Whether files may be made in a folder. A server that does not tell has to be asked for one.
    fn may_add(&mut self, session: &mut Session, folder: &[u8]) -> Result<bool, Fault> {
        let answer = self.on_slot(session, &|compound| {
            compound.put(Some(folder));
            compound.add(operation::ACCESS).word(MAY_ADD);
        })?;
        let mut read = Read::new(&answer);
        for operation in [operation::PUT_HANDLE, operation::ACCESS] {
            match result(&mut read, operation)? {
                0 => {}
                other if status::forbids_writing(other) => return Ok(false),
                other => return Err(status::fault(other, "asking for access")),
            }
        }
        let (told, allowed) = (read.word()?, read.word()?);
        Ok(told & MAY_ADD == 0 || allowed & MAY_ADD != 0)
    }

    /// What is known of the place of a file that is not there.
    fn learn_place(
        &mut self,
        mut session: Session,
        directory: Option<Vec<u8>>,
        name: &str,
    ) -> Result<(File, Facts), Fault> {
        let Some(handle) = directory.clone() else {
            return Err(status::fault(status::NO_SUCH_FILE, &format!("opening '{name}'")));
        };
        let facts = self.learn(&mut session, &handle, FOLDER)?;
        let is_read_only = !self.may_add(&mut session, &handle)?;
        let facts = Facts { is_missing: true, size_bytes: 0, is_read_only, ..facts };
        Ok((File { session, handle, state: None, directory, name: name.to_owned() }, facts))
    }
}

impl File {
    pub(super) fn resize(
        &mut self,
        caller: &mut Caller,
        size_bytes: u64,
        deadline: Deadline,
    ) -> Result<(), Fault> {
        let mut talk = Talk { caller, deadline };
        let state = self.state.unwrap_or_default();
        talk.resize(&mut self.session, &self.handle, &state, size_bytes)
    }

    pub(super) fn remove(&mut self, caller: &mut Caller, deadline: Deadline) -> Result<(), Fault> {
        let mut talk = Talk { caller, deadline };
        let (directory, name) = (self.directory.clone(), self.name.clone());
        let answer = talk.on_slot(&mut self.session, &|compound| {
            compound.put(directory.as_deref());
            compound.add(operation::REMOVE).opaque(name.as_bytes());
        })?;
        let mut read = Read::new(&answer);
        for operation in [put(directory.as_deref()), operation::REMOVE] {
            match result(&mut read, operation)? {
                0 => {}
                other => return Err(status::fault(other, &format!("removing '{name}'"))),
            }
        }
        Ok(())
    }

    /// Closes the file, and ends session and client.
    pub(super) fn close(&mut self, caller: &mut Caller, deadline: Deadline) -> Result<(), Fault> {
        let mut talk = Talk { caller, deadline };
        let handle = self.handle.clone();
        if let Some(state) = self.state {
            talk.on_slot(&mut self.session, &|compound| {
                compound.put(Some(&handle));
                let out = compound.add(operation::CLOSE);
                out.word(0);
                out.fixed(&state);
            })?;
        }
        talk.end(&self.session)
    }
}
