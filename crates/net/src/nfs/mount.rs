//! What version 3 needs before a file: the port mapper (RFC 1833) and the mount protocol (RFC 1813, I).

use super::rpc::{Caller, Procedure};
use super::xdr::{Read, Write};
use crate::address::{Address, Place};
use crate::fault::{Fault, FaultKind};
use crate::stream::Deadline;

pub(super) const PORT_MAPPER: u32 = 100_000;
const PORT_MAPPER_PORT: u16 = 111;
const MOUNT: u32 = 100_005;
const TCP: u32 = 6;
pub(super) const HANDLE_BYTES_MAX: usize = 64;

fn on_port(place: &Place, port: u16) -> Place {
    match place {
        Place::Host { name, .. } => Place::Host { name: name.clone(), port },
        socket @ Place::Socket(_) => socket.clone(),
    }
}

/// Asks the port mapper of a host for the port of the mount protocol.
fn mount_port(place: &Place, deadline: Deadline) -> Result<u16, Fault> {
    let explained = |fault: Fault| Fault {
        text: format!(
            "its port mapper (rpcbind, port 111), which knows the port of the mount protocol, does not \
             answer: {}; name that port with nfs://HOST/PATH?version=3&mountport=PORT, or use version \
             4, which needs none",
            fault.text
        ),
        ..fault
    };
    let mut caller =
        Caller::connect(&on_port(place, PORT_MAPPER_PORT), deadline).map_err(explained)?;
    let mut arguments = Vec::new();
    arguments.words(&[MOUNT, 3, TCP, 0]);
    let procedure = Procedure { program: PORT_MAPPER, version: 2, number: 3 };
    let answer = caller.call(procedure, &arguments, deadline).map_err(explained)?;
    let port = Read::new(&answer).word()?;
    u16::try_from(port).ok().filter(|&port| port > 0).ok_or_else(|| {
        let text = "the server offers no mount protocol of version 3 over TCP: use version 4";
        Fault::new(FaultKind::Unsupported, text)
    })
}

/// A directory that is mounted, and what is left of the path below it.
#[derive(Debug)]
pub(super) struct Mounted {
    pub(super) handle: Vec<u8>,
    pub(super) below: Vec<String>,
}

/// Mounts the directory of the file, or one above it: a server may know only the export itself.
pub(super) fn mount(address: &Address, deadline: Deadline) -> Result<Mounted, Fault> {
    let port = match address.mount_port {
        Some(port) => port,
        None => mount_port(&address.place, deadline)?,
    };
    let mut caller = Caller::connect(&on_port(&address.place, port), deadline)?;
    let parts: Vec<_> = super::parts(address)?;
    let mut first = None;
    for count in (0..parts.len()).rev() {
        let directory = format!("/{}", parts[..count].join("/"));
        match attempt(&mut caller, &directory, deadline)? {
            Ok(handle) => {
                unmount(&mut caller, &directory, deadline)?;
                return Ok(Mounted { handle, below: parts[count..].to_vec() });
            }
            Err(status) => {
                first.get_or_insert((directory, status));
            }
        }
    }
    let (directory, status) = first.expect("a path has a file, and its directory was tried");
    Err(super::status::fault(status, &format!("mounting {directory} and what is above it")))
}

fn attempt(
    caller: &mut Caller,
    directory: &str,
    deadline: Deadline,
) -> Result<Result<Vec<u8>, u32>, Fault> {
    let mut arguments = Vec::new();
    arguments.opaque(directory.as_bytes());
    let procedure = Procedure { program: MOUNT, version: 3, number: 1 };
    let answer = caller.call(procedure, &arguments, deadline)?;
    let mut read = Read::new(&answer);
    match read.word()? {
        0 => {}
        status => return Ok(Err(status)),
    }
    let handle = read.opaque(HANDLE_BYTES_MAX)?.to_vec();
    let kinds = read.word()?;
    let mut takes_users = kinds == 0;
    for _ in 0..kinds.min(32) {
        takes_users |= read.word()? == 1;
    }
    if takes_users {
        return Ok(Ok(handle));
    }
    let text = "the export wants another kind of security than a user's number (AUTH_SYS), which is not \
                supported";
    Err(Fault::new(FaultKind::Denied, text))
}

/// Takes the entry out of the server's list of mounts again: it tells people who might use a handle, and
/// nothing else hangs on it.
fn unmount(caller: &mut Caller, directory: &str, deadline: Deadline) -> Result<(), Fault> {
    let mut arguments = Vec::new();
    arguments.opaque(directory.as_bytes());
    let procedure = Procedure { program: MOUNT, version: 3, number: 3 };
    caller.call(procedure, &arguments, deadline).map(drop)
}
