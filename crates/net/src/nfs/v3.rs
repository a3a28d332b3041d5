//! Version 3 (RFC 1813): a handle, and no state on the server.

use super::mount::{self, HANDLE_BYTES_MAX};
use super::rpc::{Caller, Procedure};
use super::status;
use super::xdr::{Read, Short, Write};
use crate::address::Address;
use crate::facts::Facts;
use crate::fault::{Fault, FaultKind};
use crate::settings::Wanted;
use crate::stream::Deadline;

pub(super) mod procedure {
    pub const SET_ATTRIBUTES: u32 = 2;
    pub const LOOKUP: u32 = 3;
    pub const ACCESS: u32 = 4;
    pub const READ: u32 = 6;
    pub const WRITE: u32 = 7;
    pub const CREATE: u32 = 8;
    pub const REMOVE: u32 = 12;
    pub const FS_INFO: u32 = 19;
    pub const COMMIT: u32 = 21;
}

const DIALECT: &str = "NFS 3";
const REGULAR: u32 = 1;
/// Modify, and extend.
const MAY_WRITE: u32 = 0x0004 | 0x0008;
/// Attributes without the word that says whether they follow.
const ATTRIBUTES_BYTES: usize = 84;

/// A file of version 3.
#[derive(Debug)]
pub(super) struct File {
    pub(super) handle: Vec<u8>,
    directory: Vec<u8>,
    name: String,
}

/// What is known of a file.
struct Attributes {
    kind: u32,
    size_bytes: u64,
}

fn attributes(read: &mut Read<'_>) -> Result<Option<Attributes>, Short> {
    if !read.is_true()? {
        return Ok(None);
    }
    let begin = read.at();
    let kind = read.word()?;
    read.skip(16)?;
    let size_bytes = read.long()?;
    read.skip(begin + ATTRIBUTES_BYTES - read.at())?;
    Ok(Some(Attributes { kind, size_bytes }))
}

/// Skips attributes after an operation.
pub(super) fn skip_attributes(read: &mut Read<'_>) -> Result<(), Short> {
    if read.is_true()? { read.skip(ATTRIBUTES_BYTES) } else { Ok(()) }
}

/// Skips what a write says of attributes before and after.
pub(super) fn skip_change(read: &mut Read<'_>) -> Result<(), Short> {
    if read.is_true()? {
        read.skip(24)?;
    }
    skip_attributes(read)
}

/// Handle and attributes of a name.
type Found = (Vec<u8>, Option<Attributes>);

/// The calls before and beside the I/Os.
struct Talk<'a> {
    caller: &'a mut Caller,
    deadline: Deadline,
}

impl Talk<'_> {
    /// Calls; gives the answer from its status on.
    fn call(&mut self, number: u32, arguments: &[u8]) -> Result<Vec<u8>, Fault> {
        let procedure = Procedure { program: super::PROGRAM, version: 3, number };
        self.caller.call(procedure, arguments, self.deadline)
    }

    /// Looks a name up: its handle and attributes, or the status.
    fn look_up(&mut self, directory: &[u8], name: &str) -> Result<Result<Found, u32>, Fault> {
        let answer = self.call(procedure::LOOKUP, &place(directory, name))?;
        let mut read = Read::new(&answer);
        match read.word()? {
            0 => Ok(Ok((read.opaque(HANDLE_BYTES_MAX)?.to_vec(), attributes(&mut read)?))),
            other => Ok(Err(other)),
        }
    }

    /// Creates a file where there is none.
    fn create(&mut self, directory: &[u8], name: &str) -> Result<(), Fault> {
        let mut arguments = place(directory, name);
        // Guarded: one that is there is an error. Mode 0644, and nothing else.
        arguments.words(&[1, 1, 0o644, 0, 0, 0, 0, 0]);
        let answer = self.call(procedure::CREATE, &arguments)?;
        match Read::new(&answer).word()? {
            0 => Ok(()),
            other => Err(status::fault(other, &format!("creating '{name}'"))),
        }
    }

    /// What is known of the place of a file that is not there.
    fn learn_place(&mut self, directory: Vec<u8>, name: &str) -> Result<(File, Facts), Fault> {
        let mut facts = Facts { is_missing: true, ..super::facts() };
        facts.is_read_only = !self.may_write(&directory)?;
        let (read, write) = self.limits(&directory)?;
        facts.request_bytes_max = super::request_bytes_max(read.min(write).into())?;
        let handle = directory.clone();
        Ok((File { handle, directory, name: name.to_owned() }, facts))
    }

    fn resize(&mut self, handle: &[u8], size_bytes: u64) -> Result<(), Fault> {
        let mut arguments = Vec::new();
        arguments.opaque(handle);
        arguments.words(&[0, 0, 0, 1]);
        arguments.long(size_bytes);
        arguments.words(&[0, 0, 0]);
        let answer = self.call(procedure::SET_ATTRIBUTES, &arguments)?;
        match Read::new(&answer).word()? {
            0 => Ok(()),
            other => Err(status::fault(other, &format!("setting the size to {size_bytes} bytes"))),
        }
    }

    /// Whether writing is allowed.
    fn may_write(&mut self, handle: &[u8]) -> Result<bool, Fault> {
        let mut arguments = Vec::new();
        arguments.opaque(handle);
        arguments.word(MAY_WRITE | 1);
        let answer = self.call(procedure::ACCESS, &arguments)?;
        let mut read = Read::new(&answer);
        match read.word()? {
            0 => {}
            other => return Err(status::fault(other, "asking for access")),
        }
        skip_attributes(&mut read)?;
        let allowed = read.word()?;
        if allowed & 1 == 0 {
            return Err(status::fault(13, "reading the file"));
        }
        Ok(allowed & MAY_WRITE == MAY_WRITE)
    }

    /// The longest read and the longest write.
    fn limits(&mut self, handle: &[u8]) -> Result<(u32, u32), Fault> {
        let mut arguments = Vec::new();
        arguments.opaque(handle);
        let answer = self.call(procedure::FS_INFO, &arguments)?;
        let mut read = Read::new(&answer);
        match read.word()? {
            0 => {}
            other => return Err(status::fault(other, "asking for limits")),
        }
        skip_attributes(&mut read)?;
        let longest_read = read.word()?;
        read.skip(8)?;
        Ok((longest_read, read.word()?))
    }
}

fn place(directory: &[u8], name: &str) -> Vec<u8> {
    let mut arguments = Vec::new();
    arguments.opaque(directory);
    arguments.opaque(name.as_bytes());
    arguments
}

/// Mounts, looks the file up (or makes it, or looks at its place), and learns its facts.
pub(super) fn open(
    caller: &mut Caller,
    address: &Address,
    wanted: Wanted,
    deadline: Deadline,
) -> Result<(File, Facts), Fault> {
    let mounted = mount::mount(address, deadline)?;
    let mut talk = Talk { caller, deadline };
    let (name, directories) = mounted.below.split_last().expect("a path has a file");
    let mut directory = mounted.handle.clone();
    for part in directories {
        let found = talk.look_up(&directory, part)?;
        let found = found.map_err(|other| status::fault(other, &format!("looking up '{part}'")));
        directory = found?.0;
    }
    if wanted.is_new() {
        talk.create(&directory, name)?;
    }
    let found = talk.look_up(&directory, name)?;
    if wanted == Wanted::FileOrPlace && matches!(found, Err(status::NO_SUCH_FILE)) {
        let (file, facts) = talk.learn_place(directory, name)?;
        return Ok((file, Facts { dialect: DIALECT.to_owned(), ..facts }));
    }
    let (handle, attributes) =
        found.map_err(|other| status::fault(other, &format!("looking up '{name}'")))?;
    let attributes = attributes.ok_or_else(|| Fault::garbled("the server tells no size"))?;
    if attributes.kind != REGULAR {
        return Err(Fault::new(FaultKind::Invalid, format!("'{name}' is not a regular file")));
    }
    let mut facts = Facts { size_bytes: attributes.size_bytes, ..super::facts() };
    facts.is_read_only = !talk.may_write(&handle)?;
    let (read, write) = talk.limits(&handle)?;
    facts.request_bytes_max = super::request_bytes_max(read.min(write).into())?;
    DIALECT.clone_into(&mut facts.dialect);
    Ok((File { handle, directory, name: name.clone() }, facts))
}

impl File {
    pub(super) fn resize(
        &self,
        caller: &mut Caller,
        size_bytes: u64,
        deadline: Deadline,
    ) -> Result<(), Fault> {
        Talk { caller, deadline }.resize(&self.handle, size_bytes)
    }

    pub(super) fn remove(&self, caller: &mut Caller, deadline: Deadline) -> Result<(), Fault> {
        let mut talk = Talk { caller, deadline };
        let answer = talk.call(procedure::REMOVE, &place(&self.directory, &self.name))?;
        match Read::new(&answer).word()? {
            0 => Ok(()),
            other => Err(status::fault(other, &format!("removing '{}'", self.name))),
        }
    }
}
