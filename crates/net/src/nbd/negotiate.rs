//! The beginning of a connection: greeting, TLS, structured replies, and the export.

use super::wire::{self, handshake, info, option, reply, transmission, u16_at, u32_at, u64_at};
use crate::address::Address;
use crate::facts::{Facts, words};
use crate::fault::{Fault, FaultKind};
use crate::settings::Settings;
use crate::stream::{Deadline, Stream};

/// The longest answer to an option; the protocol's strings have 4096 bytes at most.
const ANSWER_BYTES_MAX: u32 = 64 << 10;
/// More answers to one option than any server has exports worth listing.
const ANSWERS_MAX: usize = 10_000;
/// Exports that a message names.
const LISTED_MAX: usize = 8;

/// A connection that is ready for requests.
#[derive(Debug)]
pub(super) struct Negotiated {
    pub(super) stream: Stream,
    pub(super) facts: Facts,
    pub(super) is_structured: bool,
}

/// Connects and negotiates, all within the time of the settings.
pub(super) fn negotiate(address: &Address, settings: &Settings) -> Result<Negotiated, Fault> {
    let deadline = Deadline::of(settings);
    let stream = Stream::connect(address, deadline)?;
    let mut talk = Talk { stream, deadline, has_zeroes: true };
    talk.greet()?;
    let encryption = talk.encrypt(address, settings)?;
    let is_structured = talk.ask_plain(option::STRUCTURED_REPLY)?;
    let mut facts = talk.go(&address.export)?;
    check(&facts)?;
    // What lies behind the last whole block no request reaches.
    facts.size_bytes -= facts.size_bytes % u64::from(facts.block_bytes_min);
    facts.encryption = encryption;
    let replies = if is_structured { "structured" } else { "simple" };
    facts.dialect = format!("NBD newstyle, {replies} replies");
    Ok(Negotiated { stream: talk.stream, facts, is_structured })
}

/// What a server says of block sizes has to make sense before anybody divides by it.
fn check(facts: &Facts) -> Result<(), Fault> {
    let (least, most) = (facts.block_bytes_min, facts.request_bytes_max);
    let preferred = facts.block_bytes_preferred;
    if !least.is_power_of_two() || preferred < least || most < least {
        return Err(Fault::garbled(format!(
            "the server names block sizes that make no sense (least {least}, preferred {preferred}, most {most})"
        )));
    }
    Ok(())
}

/// The talk before the export is chosen.
struct Talk {
    stream: Stream,
    deadline: Deadline,
    /// The server sends 124 zeroes after the facts of an export that was requested the old way.
    has_zeroes: bool,
}

/// One answer to an option.
struct Answer {
    kind: u32,
    data: Vec<u8>,
}

impl Talk {
    fn take<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], Fault> {
        let mut taken = [0; BYTES];
        self.stream.receive_all(&mut taken, self.deadline)?;
        Ok(taken)
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.stream.send_all(bytes, self.deadline)
    }

    fn greet(&mut self) -> Result<(), Fault> {
        let greeting: [u8; 16] = self.take()?;
        if u64_at(&greeting, 0) != wire::HELLO {
            return Err(Fault::garbled("what answers there is not an NBD server"));
        }
        match u64_at(&greeting, 8) {
            wire::OPTION => {}
            wire::OLD_STYLE => {
                let text = "the server speaks only the oldstyle handshake, which names no exports: start \
                            it with newstyle";
                return Err(Fault::new(FaultKind::Unsupported, text));
            }
            _ => return Err(Fault::garbled("what answers there is not an NBD server")),
        }
        let flags = u16::from_be_bytes(self.take()?);
        if flags & handshake::FIXED_NEWSTYLE == 0 {
            let text = "the server speaks no fixed newstyle handshake, which came in 2013";
            return Err(Fault::new(FaultKind::Unsupported, text));
        }
        self.has_zeroes = flags & handshake::NO_ZEROES == 0;
        let ours = flags & (handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
        self.send(&u32::from(ours).to_be_bytes())
    }

    /// Begins TLS where the address says so; gives version and cipher.
    fn encrypt(&mut self, address: &Address, settings: &Settings) -> Result<Option<String>, Fault> {
        if !address.is_encrypted {
            return Ok(None);
        }
        if !self.ask_plain(option::START_TLS)? {
            let text = "the server has no TLS, and no data were sent; without encryption the address begins \
                        with nbd://";
            return Err(Fault::new(FaultKind::Unsupported, text));
        }
        let named = address.certificates.as_deref().map(crate::TlsFiles::of_directory);
        let files = named.as_ref().unwrap_or(&settings.tls);
        self.stream.encrypt(address, files, self.deadline).map(Some)
    }

    /// Asks for something that has no data; whether it is given.
    fn ask_plain(&mut self, number: u32) -> Result<bool, Fault> {
        self.send(&wire::option(number, &[]))?;
        match self.answer(number)?.kind {
            reply::ACKNOWLEDGED => Ok(true),
            reply::TLS_REQUIRED => Err(refusal(reply::TLS_REQUIRED, "")),
            kind if reply::is_error(kind) => Ok(false),
            kind => Err(unexpected(kind)),
        }
    }

    fn answer(&mut self, number: u32) -> Result<Answer, Fault> {
        let head: [u8; 20] = self.take()?;
        let (magic, to, kind) = (u64_at(&head, 0), u32_at(&head, 8), u32_at(&head, 12));
        let length = u32_at(&head, 16);
        if magic != wire::OPTION_REPLY || to != number || length > ANSWER_BYTES_MAX {
            return Err(Fault::garbled(
                "the server's answer to an option is none of the protocol's",
            ));
        }
        let mut data = vec![0; length as usize];
        self.stream.receive_all(&mut data, self.deadline)?;
        Ok(Answer { kind, data })
    }

    /// Chooses the export and begins the transmission.
    fn go(&mut self, export: &str) -> Result<Facts, Fault> {
        self.send(&wire::option(option::GO, &go_data(export)))?;
        let mut facts = Facts {
            block_bytes_min: 1,
            block_bytes_preferred: 4096,
            request_bytes_max: wire::REQUEST_BYTES_DEFAULT,
            ..Facts::default()
        };
        let mut is_told = false;
        for _ in 0..ANSWERS_MAX {
            let answer = self.answer(option::GO)?;
            match answer.kind {
                reply::INFO => is_told |= take_info(&mut facts, &answer.data)?,
                reply::ACKNOWLEDGED if is_told => return Ok(facts),
                reply::ACKNOWLEDGED => {
                    return Err(Fault::garbled("the server does not say how large the export is"));
                }
                reply::UNSUPPORTED => return self.export_name(export, facts),
                reply::UNKNOWN => return Err(self.no_such(export)),
                kind if reply::is_error(kind) => {
                    return Err(refusal(kind, &words(&answer.data)));
                }
                kind => return Err(unexpected(kind)),
            }
        }
        Err(Fault::garbled("the server's answers about the export do not end"))
    }

    /// The way of servers before 2016, which end the connection if they have no such export.
    fn export_name(&mut self, export: &str, mut facts: Facts) -> Result<Facts, Fault> {
        self.send(&wire::option(option::EXPORT_NAME, export.as_bytes()))?;
        let told: [u8; 10] = self.take().map_err(|fault| match fault.kind {
            FaultKind::Disconnected => no_such_export(export, &[]),
            _ => fault,
        })?;
        if self.has_zeroes {
            let _: [u8; 124] = self.take()?;
        }
        take_export(&mut facts, &told);
        Ok(facts)
    }

    /// Says that there is no such export, and which there are, if the server tells that.
    fn no_such(&mut self, export: &str) -> Fault {
        let listed = self.list().unwrap_or_default();
        // Politeness to the server; that it may be gone changes nothing.
        let _ = self.send(&wire::option(option::ABORT, &[]));
        no_such_export(export, &listed)
    }

    fn list(&mut self) -> Result<Vec<String>, Fault> {
        self.send(&wire::option(option::LIST, &[]))?;
        let mut listed = Vec::new();
        for _ in 0..ANSWERS_MAX {
            let answer = self.answer(option::LIST)?;
            if answer.kind != reply::SERVER || answer.data.len() < 4 {
                break;
            }
            let name = answer.data[4..].get(..u32_at(&answer.data, 0) as usize);
            listed.extend(name.map(words));
        }
        Ok(listed)
    }
}

/// Name of the export, and what is wanted to be known of it.
fn go_data(export: &str) -> Vec<u8> {
    let length = u32::try_from(export.len()).expect("the address bounds it");
    let mut data = length.to_be_bytes().to_vec();
    data.extend(export.as_bytes());
    data.extend(2_u16.to_be_bytes());
    data.extend(info::BLOCK_SIZE.to_be_bytes());
    data.extend(info::DESCRIPTION.to_be_bytes());
    data
}

/// Takes one fact; whether it was that of size and flags.
fn take_info(facts: &mut Facts, data: &[u8]) -> Result<bool, Fault> {
    let short = || Fault::garbled("the server's answer about the export is too short");
    let kind = data.get(..2).map(|bytes| u16_at(bytes, 0)).ok_or_else(short)?;
    match kind {
        info::EXPORT => {
            take_export(facts, data.get(2..12).ok_or_else(short)?);
            return Ok(true);
        }
        info::BLOCK_SIZE => {
            let sizes = data.get(2..14).ok_or_else(short)?;
            facts.block_bytes_min = u32_at(sizes, 0);
            facts.block_bytes_preferred = u32_at(sizes, 4);
            facts.request_bytes_max = u32_at(sizes, 8).min(wire::REQUEST_BYTES_DEFAULT);
        }
        info::DESCRIPTION => {
            facts.description = Some(words(&data[2..])).filter(|text| !text.is_empty());
        }
        _ => {}
    }
    Ok(false)
}

fn take_export(facts: &mut Facts, told: &[u8]) {
    let flags = u16_at(told, 8);
    let has = |flag: u16| flags & flag != 0;
    facts.size_bytes = u64_at(told, 0);
    facts.is_read_only = has(transmission::READ_ONLY);
    facts.can_flush = has(transmission::FLUSH);
    facts.can_write_through = has(transmission::FUA);
    facts.can_trim = has(transmission::TRIM);
    facts.can_share = has(transmission::MULTI_CONN);
    facts.is_rotational = has(transmission::ROTATIONAL);
}

fn no_such_export(export: &str, listed: &[String]) -> Fault {
    let mut text = if export.is_empty() {
        "the server has no default export: name one".to_owned()
    } else {
        format!("the server has no export '{export}'")
    };
    if !listed.is_empty() {
        let shown: Vec<_> =
            listed.iter().take(LISTED_MAX).map(|name| format!("'{name}'")).collect();
        text += &format!("; it has {}", shown.join(", "));
        let rest = listed.len().saturating_sub(LISTED_MAX);
        if rest > 0 {
            text += &format!(" and {rest} more");
        }
    }
    Fault::new(FaultKind::NotFound, text)
}

fn refusal(kind: u32, said: &str) -> Fault {
    let (kind, text) = match kind {
        reply::TLS_REQUIRED => (
            FaultKind::Denied,
            "the server wants TLS: begin the address with nbds:// or nbds+unix://",
        ),
        reply::POLICY => (FaultKind::Denied, "the server does not allow it to this client"),
        reply::SHUTDOWN => (FaultKind::Disconnected, "the server is shutting down"),
        reply::PLATFORM => (FaultKind::Unsupported, "the server's platform cannot do it"),
        reply::BLOCK_SIZE_REQUIRED => {
            (FaultKind::Unsupported, "the server insists on block sizes that it did not name")
        }
        reply::INVALID => (FaultKind::Invalid, "the server calls the request invalid"),
        _ => (FaultKind::Other, "the server refuses the export"),
    };
    let said = if said.is_empty() { String::new() } else { format!(" (it says: {said})") };
    Fault::new(kind, format!("{text}{said}"))
}

fn unexpected(kind: u32) -> Fault {
    Fault::garbled(format!("the server gives an answer of the unknown kind {kind}"))
}
