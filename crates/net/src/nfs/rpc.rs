//! Remote procedure calls (RFC 5531) over TCP, with `AUTH_SYS`, and calls that are waited for.

use std::fs;

use super::xdr::{Read, Short, Write};
use crate::address::Place;
use crate::fault::{Fault, FaultKind};
use crate::stream::{Deadline, Stream};

/// Answers to calls that are waited for are short.
const ANSWER_BYTES_MAX: u32 = 64 << 10;
/// Answers that belong to nobody before the one that is waited for.
const STRAY_MAX: usize = 64;
/// The bit of a record's mark that says that the record ends with this fragment.
pub(super) const LAST: u32 = 1 << 31;
/// Numbers of calls that are waited for have this bit, those of I/Os do not.
const WAITED_FOR: u32 = 1 << 31;
/// `AUTH_SYS` takes so many groups beside the first.
const GROUPS_MAX: usize = 16;
const HOST_BYTES_MAX: usize = 64;

/// A program, its version, and one of its procedures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Procedure {
    pub(super) program: u32,
    pub(super) version: u32,
    pub(super) number: u32,
}

/// The user of this process, as `AUTH_SYS` names one.
#[derive(Debug, Clone)]
pub(super) struct Identity(Vec<u8>);

impl Identity {
    /// That which the kernel knows of this process.
    pub(super) fn of_process() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let numbers = |name: &str| -> Vec<u32> {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let words = line.unwrap_or_default().split_whitespace();
            words.filter_map(|word| word.parse().ok()).collect()
        };
        // The second number of each is the effective one. Who cannot be known is nobody.
        let effective = |name| numbers(name).get(1).copied().unwrap_or(65_534);
        let groups = numbers("Groups:");
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = host.trim().as_bytes();
        let mut body = Vec::new();
        body.word(0);
        body.opaque(&host[..host.len().min(HOST_BYTES_MAX)]);
        body.word(effective("Uid:"));
        body.word(effective("Gid:"));
        let groups = &groups[..groups.len().min(GROUPS_MAX)];
        body.word(u32::try_from(groups.len()).expect("sixteen at most"));
        body.words(groups);
        Self(body)
    }
}

/// Begins a message: room for the record's mark, and the call. [`seal`] ends it.
pub(super) fn call(out: &mut Vec<u8>, number: u32, procedure: Procedure, who: &Identity) {
    out.clear();
    let Procedure { program, version, number: procedure } = procedure;
    for word in [0, number, 0, 2, program, version, procedure] {
        out.word(word);
    }
    // The empty procedure and the port mapper want to know of nobody.
    if procedure == 0 || program == super::mount::PORT_MAPPER {
        out.word(0);
        out.word(0);
    } else {
        out.word(1);
        out.opaque(&who.0);
    }
    out.word(0);
    out.word(0);
}

/// Writes the mark of a record that goes on with so many bytes elsewhere.
pub(super) fn seal(out: &mut [u8], more_bytes: usize) {
    let bytes = u32::try_from(out.len() - 4 + more_bytes).expect("a record is below 2 GiB");
    out[..4].copy_from_slice(&(LAST | bytes).to_be_bytes());
}

/// Why a call was not done by the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unanswered {
    Short,
    Refused(&'static str, FaultKind),
}

impl From<Short> for Unanswered {
    fn from(_: Short) -> Self {
        Self::Short
    }
}

impl Unanswered {
    pub(super) fn fault(self) -> Fault {
        match self {
            Self::Short => garbled(),
            Self::Refused(text, kind) => Fault::new(kind, text),
        }
    }
}

pub(super) fn garbled() -> Fault {
    Fault::garbled("the server's answer is none of the protocol's")
}

impl From<Short> for Fault {
    fn from(_: Short) -> Self {
        garbled()
    }
}

/// Takes the head of a reply; gives the number of its call.
pub(super) fn reply(read: &mut Read<'_>) -> Result<u32, Unanswered> {
    let number = read.word()?;
    let garbled = Unanswered::Refused("the server's answer is no reply", FaultKind::Protocol);
    if read.word()? != 1 {
        return Err(garbled);
    }
    match read.word()? {
        0 => {}
        1 => return Err(denied(read)?),
        _ => return Err(garbled),
    }
    let _verifier_kind = read.word()?;
    let _verifier = read.opaque(400)?;
    let (text, kind) = match read.word()? {
        0 => return Ok(number),
        1 => ("the server does not serve this program", FaultKind::Unsupported),
        2 => ("the server does not speak this version", FaultKind::Unsupported),
        3 => ("the server does not know this procedure", FaultKind::Unsupported),
        4 => ("the server does not understand the call", FaultKind::Protocol),
        5 => ("the server could not do the call (system error)", FaultKind::Other),
        _ => return Err(garbled),
    };
    Err(Unanswered::Refused(text, kind))
}

fn denied(read: &mut Read<'_>) -> Result<Unanswered, Short> {
    if read.word()? == 0 {
        return Ok(Unanswered::Refused(
            "the server speaks another version of RPC",
            FaultKind::Unsupported,
        ));
    }
    Ok(match read.word()? {
        5 => Unanswered::Refused(
            "the server wants more than a user's number (AUTH_SYS): Kerberos is not supported",
            FaultKind::Denied,
        ),
        _ => Unanswered::Refused(
            "the server does not accept this user (AUTH_SYS)",
            FaultKind::Denied,
        ),
    })
}

/// A connection on which one call after the other is waited for.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) stream: Stream,
    pub(super) identity: Identity,
    number: u32,
    sent: Vec<u8>,
}

impl Caller {
    pub(super) fn connect(place: &Place, deadline: Deadline) -> Result<Self, Fault> {
        let stream = Stream::connect_to(place, deadline)?;
        Ok(Self { stream, identity: Identity::of_process(), number: 0, sent: Vec::new() })
    }

    /// Calls, and gives what stands after the head of the reply.
    pub(super) fn call(
        &mut self,
        procedure: Procedure,
        arguments: &[u8],
        deadline: Deadline,
    ) -> Result<Vec<u8>, Fault> {
        self.number = self.number.wrapping_add(1) | WAITED_FOR;
        call(&mut self.sent, self.number, procedure, &self.identity);
        self.sent.extend(arguments);
        seal(&mut self.sent, 0);
        self.stream.send_all(&self.sent, deadline)?;
        for _ in 0..STRAY_MAX {
            let record = self.record(deadline)?;
            let mut read = Read::new(&record);
            if read.word() != Ok(self.number) {
                continue;
            }
            let mut read = Read::new(&record);
            reply(&mut read).map_err(Unanswered::fault)?;
            return Ok(record[read.at()..].to_vec());
        }
        Err(garbled())
    }

    /// One record, of one or several fragments.
    fn record(&mut self, deadline: Deadline) -> Result<Vec<u8>, Fault> {
        let mut record = Vec::new();
        loop {
            let mut mark = [0; 4];
            self.stream.receive_all(&mut mark, deadline)?;
            let mark = u32::from_be_bytes(mark);
            let bytes = (mark & !LAST) as usize;
            let begun = record.len();
            if begun + bytes > ANSWER_BYTES_MAX as usize || (bytes == 0 && mark & LAST == 0) {
                return Err(Fault::garbled("what answers there is not an NFS server"));
            }
            record.resize(begun + bytes, 0);
            self.stream.receive_all(&mut record[begun..], deadline)?;
            if mark & LAST != 0 {
                return Ok(record);
            }
        }
    }
}
