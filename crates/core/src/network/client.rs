//! The calls that wait: connecting, facts, content. Whoever calls them supervises them.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use fathom_net::{
    Address, AddressError, Again, Connection, Credentials, Facts, Fault, Lasting, Opening, Settings,
};
use fathom_sys::contract::file::PositionedIo;

use super::{LoginWanted, Looking, RemoteFacts, RoundTrip};
use crate::errors::{Failure, Kind};
use crate::signature::{self, looked_at};
use crate::storage::{Protocol, Remote};

/// Bytes that are read at once.
const PIECE_BYTES: usize = 1 << 20;
/// How long a server may take to say whether it wants a password.
const LOGIN_TIME: Duration = Duration::from_secs(10);

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::new(fault.kind, fault.text).with_remedy(fault.remedy)
    }
}

/// Why nothing can be run on an address, as the end of a sentence, and what to do instead.
pub(crate) fn obstacle(remote: &Remote) -> Option<(String, String)> {
    let serves = remote.protocol.serves();
    match Address::parse(&remote.address) {
        Ok(_) => None,
        // Each host of a fleet is to put its own in there; one that is still there is refused by the look.
        Err(_) if Address::parse(&of_some_host(&remote.address)).is_ok() => None,
        Err(AddressError::Scheme) => Some((
            format!("is {serves}, which is not supported yet"),
            remote.protocol.by_a_path().to_owned(),
        )),
        Err(error) => Some((
            format!("is not an address of {serves}: {error}"),
            "correct the address".to_owned(),
        )),
    }
}

/// The address as some host of a fleet has it, with its name and place.
fn of_some_host(address: &str) -> String {
    address.replace("{host}", "a").replace("{index}", "1")
}

/// The address that a path of a plan is.
pub(super) fn address_of(path: &Path) -> Result<Address, Failure> {
    let parsed = Address::parse(&path.to_string_lossy());
    parsed.map_err(|error| Failure::new(Kind::Invalid, error.to_string()))
}

/// The server of an address, as messages name it; nothing if it is none.
pub(crate) fn server(path: &Path) -> Option<String> {
    address_of(path).ok().map(|address| address.server())
}

/// A connection; `timeout` is for making it.
pub(crate) fn connect(
    path: &Path,
    timeout: Duration,
    opening: Opening,
) -> Result<Connection, Failure> {
    Ok(Connection::connect(&address_of(path)?, &settings(timeout, opening)?)?)
}

/// The same, which is made again for so long whenever it is lost.
pub(crate) fn connect_lasting(
    path: &Path,
    (timeout, within): (Duration, Option<Duration>),
    opening: Opening,
    check: impl FnOnce(Connection) -> Result<Connection, Failure>,
) -> Result<Lasting, Failure> {
    let (address, settings) = (address_of(path)?, settings(timeout, opening)?);
    let connection = check(Connection::connect(&address, &settings)?)?;
    let again = within.map(|within| Again { address, settings, within });
    Ok(Lasting::new(connection, again)?)
}

/// How connections of this process are made.
pub(super) fn settings(timeout: Duration, opening: Opening) -> Result<Settings, Failure> {
    let credentials = Credentials::of_process();
    let credentials = credentials.map_err(|error| {
        Failure::new(Kind::Credentials, error.to_string()).with_remedy(Some("correct that file"))
    })?;
    Ok(Settings { timeout, credentials, opening, ..Settings::default() })
}

/// Uses the credentials of a file from now on, or no longer.
pub(crate) fn use_credentials(file: Option<&Path>) -> Result<(), Failure> {
    let used = Credentials::use_file(file);
    used.map_err(|error| Failure::new(Kind::Credentials, error.to_string()))
}

/// Checks that user and password can be read from a file.
///
/// # Errors
/// If others can read it, too, or it says something else.
pub fn check_credentials(file: &Path) -> Result<(), Failure> {
    let found = Credentials::of_file(file);
    found.map(drop).map_err(|error| Failure::new(Kind::Credentials, error.to_string()))
}

/// Logs in with what was typed from now on, where a run names no file of credentials.
pub fn log_in(user: &str, password: Vec<u8>) {
    Credentials::typed(user, password).use_from_now_on();
}

/// Whether the server of a target lets nobody in without a password, and none was given. It is asked.
#[must_use]
pub fn login_wanted(remote: &Remote) -> Option<LoginWanted> {
    let address = address_of(Path::new(&remote.address)).ok()?;
    let given = Credentials::of_process().ok()?;
    if given.as_ref().is_some_and(|given| !given.has_no_password()) {
        return None;
    }
    let settings = settings(LOGIN_TIME, Opening::default()).ok()?;
    match Connection::look(&address, &settings) {
        Ok(connection) => {
            connection.close();
            None
        }
        Err(fault) if helps_to_log_in(remote.protocol, fault.kind) => {
            let known = given.map(|given| given.user().to_owned());
            Some(LoginWanted { server: address.server(), user: address.user.or(known) })
        }
        Err(_) => None,
    }
}

/// Whether a fault may be gone with a user and a password. Shares let nobody in, and deny a guest what a user
/// may do; a LUN that is denied is denied to this host, whoever logs in.
fn helps_to_log_in(protocol: Protocol, kind: Kind) -> bool {
    kind == Kind::Credentials || kind == Kind::Denied && protocol == Protocol::Smb
}

/// What the server says of a target. A file that is not there has the facts of its place if it `may_be_made`.
pub(crate) fn look(remote: &Remote, how: Looking) -> Result<RemoteFacts, Failure> {
    let address = address_of(Path::new(&remote.address))?;
    let opening = Opening { is_unbuffered: how.is_unbuffered, ..Opening::default() };
    let settings = settings(how.timeout, opening)?;
    let connection = if how.may_be_made && address.scheme.has_files() {
        Connection::look(&address, &settings)?
    } else {
        Connection::connect(&address, &settings)?
    };
    let facts = facts_of(remote.protocol, &address, connection.facts());
    connection.close();
    Ok(facts)
}

fn facts_of(protocol: Protocol, address: &Address, facts: &Facts) -> RemoteFacts {
    let without_serial = Facts { serial: None, ..facts.clone() };
    let mut tokens = vec![address.token(facts), address.token(&without_serial)];
    tokens.dedup();
    RemoteFacts {
        protocol: protocol.name().to_owned(),
        kind: protocol.serves().to_owned(),
        is_file: address.scheme.has_files(),
        is_missing: facts.is_missing,
        dialect: facts.dialect.clone(),
        server: address.server(),
        size_bytes: facts.size_bytes,
        block_bytes_min: facts.block_bytes_min,
        block_bytes_preferred: facts.block_bytes_preferred,
        request_bytes_max: facts.request_bytes_max,
        outstanding_max: facts.outstanding_max,
        is_read_only: facts.is_read_only,
        can_flush: facts.can_flush,
        can_write_through: facts.can_write_through,
        can_trim: facts.can_trim,
        can_share: facts.can_share,
        serial: facts.serial.clone(),
        description: facts.description.clone(),
        encryption: facts.encryption.clone(),
        tokens,
    }
}

/// What the data of a target look like, by the rules of block devices; nothing if they may be test data. Of
/// the target is read what those rules look at, into a file in memory that is as large and otherwise empty.
/// Before each piece `asked` is called.
pub(crate) fn content(
    path: &Path,
    timeout: Duration,
    asked: &dyn Fn(),
) -> Result<Option<String>, Failure> {
    Ok(signature::of_device(&copy(path, timeout, None, asked)?.0)?)
}

/// What the data of a file are called; the byte at an offset is the first that is not ours. Before each
/// piece `asked` is called.
pub(crate) fn name(
    path: &Path,
    timeout: Duration,
    at: u64,
    asked: &dyn Fn(),
) -> Result<Option<String>, Failure> {
    let (copy, size_bytes) = copy(path, timeout, Some(at), asked)?;
    Ok(signature::name(&copy, size_bytes, at))
}

/// A copy of the parts of a target that are looked at, and those from an offset on; with its size.
fn copy(
    path: &Path,
    timeout: Duration,
    also: Option<u64>,
    asked: &dyn Fn(),
) -> Result<(File, u64), Failure> {
    let mut reader = Reader::open(path, timeout)?;
    let size_bytes = reader.size_bytes;
    let copy = fathom_sys::memory_file::sparse(size_bytes)?;
    let mut piece = vec![0; PIECE_BYTES];
    let also = also.map(|at| (at, (PIECE_BYTES as u64).min(size_bytes.saturating_sub(at))));
    for (mut at, length) in looked_at(size_bytes).chain(also) {
        let end = at + length;
        while at < end {
            let bytes = usize::try_from(end - at).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
            asked();
            reader.read_at(&mut piece[..bytes], at)?;
            copy.write_all_at(&piece[..bytes], at)?;
            at += bytes as u64;
        }
    }
    reader.close();
    Ok((copy, size_bytes))
}

/// The shortest round trip that the protocol has; nothing if it is to end before one was measured. Before
/// each one it is asked whether it `goes_on`.
pub(crate) fn floor(
    path: &Path,
    timeout: Duration,
    goes_on: &dyn Fn() -> bool,
) -> Result<Option<RoundTrip>, Failure> {
    let mut connection = connect(path, timeout, Opening::default())?;
    let found = super::floor::measure(&mut connection, goes_on)?;
    connection.close();
    Ok(found)
}

/// Reads of a target, one at a time and of any place and length.
#[derive(Debug)]
pub(crate) struct Reader {
    connection: Connection,
    /// Its size.
    pub(crate) size_bytes: u64,
}

impl Reader {
    /// Connects.
    pub(crate) fn open(path: &Path, timeout: Duration) -> Result<Self, Failure> {
        let connection = connect(path, timeout, Opening::default())?;
        let size_bytes = connection.facts().size_bytes;
        Ok(Self { connection, size_bytes })
    }

    /// Fills a buffer as far as the target reaches; the bytes that it has there.
    pub(crate) fn read_at(&mut self, into: &mut [u8], offset_bytes: u64) -> io::Result<usize> {
        let block = u64::from(self.connection.facts().block_bytes_min.max(1));
        let end = offset_bytes.saturating_add(into.len() as u64).min(self.size_bytes);
        let Some(bytes) = end.checked_sub(offset_bytes) else { return Ok(0) };
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let failed = |fault: Fault| {
            io::Error::new(io::Error::from_raw_os_error(fault.kind.errno()).kind(), fault.text)
        };
        if offset_bytes.is_multiple_of(block) && end.is_multiple_of(block) {
            self.connection.read_exact_at(offset_bytes, &mut into[..bytes]).map_err(failed)?;
            return Ok(bytes);
        }
        let from = offset_bytes / block * block;
        let until = end.next_multiple_of(block).min(self.size_bytes);
        let mut whole = vec![0; usize::try_from(until - from).unwrap_or(usize::MAX)];
        self.connection.read_exact_at(from, &mut whole).map_err(failed)?;
        let skipped = usize::try_from(offset_bytes - from).unwrap_or(usize::MAX);
        into[..bytes].copy_from_slice(&whole[skipped..skipped + bytes]);
        Ok(bytes)
    }

    fn close(self) {
        self.connection.close();
    }
}
