//! The beginning of a connection: dialect, login, share and file.

use super::link::{Answer, Link, Talk, garbled};
use super::ntlm::{self, spnego};
use super::security::{Security, Transcript, cipher};
use super::status;
use super::wire::{CREDIT_BYTES, Little, access, command, dialect, option, utf16};
use crate::address::{Address, Place};
use crate::credentials::Credentials;
use crate::facts::Facts;
use crate::fault::{Fault, FaultKind};
use crate::settings::{Opening, Settings, Wanted};
use crate::stream::{Deadline, Stream};

/// Reads and writes beyond this are the caller's to split.
const REQUEST_BYTES_MAX: u32 = 8 << 20;
const LARGE_REQUESTS: u32 = 4;
const ENCRYPTION: u32 = 0x40;
const SIGNING_REQUIRED: u16 = 2;

const VALIDATE_NEGOTIATE: u32 = 0x0014_0204;
const DIALECTS: [u16; 4] = [dialect::V2_1, dialect::V3_0, dialect::V3_0_2, dialect::V3_1_1];

mod session_flag {
    pub const GUEST: u16 = 1;
    pub const NOBODY: u16 = 2;
    pub const ENCRYPT: u16 = 4;
}

/// A file that is open.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) stream: Stream,
    pub(super) link: Link,
    pub(super) facts: Facts,
    pub(super) file: [u8; 16],
    pub(super) path: String,
}

/// What was agreed on before the login.
struct Agreed {
    cipher: Option<u16>,
    must_sign: bool,
    request_bytes_max: u32,
    transcript: Transcript,
    /// What the client called itself, and what the server said of itself in the clear: capabilities, number,
    /// mode and dialect, in the order in which it has to confirm them.
    client: [u8; 16],
    told: Vec<u8>,
}

fn chance<const BYTES: usize>() -> Result<[u8; BYTES], Fault> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        Fault::new(FaultKind::Other, format!("the system gives no random numbers ({error})"))
    })?;
    Ok(bytes)
}

/// Connects, logs in and opens the file, or makes it, or looks at its place.
pub(super) fn open(
    address: &Address,
    settings: &Settings,
    wanted: Wanted,
) -> Result<Opened, Fault> {
    let deadline = Deadline::of(settings);
    let mut stream = Stream::connect(address, deadline)?;
    let mut link = Link::new();
    let mut talk = Talk { stream: &mut stream, link: &mut link, deadline };
    let agreed = talk.negotiate()?;
    let credentials = credentials(address, settings)?;
    let who = talk.log_in(address, credentials.as_ref(), &agreed)?;
    let (server, path) = address.export.split_once('/').ok_or_else(garbled)?;
    talk.connect_share(address, server)?;
    talk.confirm(&agreed)?;
    let path = path.replace('/', "\\");
    let (file, mut facts) = talk.open_file(&path, settings.opening, wanted)?;
    talk.gather_credits()?;
    let credits = talk.link.credits_total;
    facts.outstanding_max = Some(credits);
    facts.request_bytes_max =
        agreed.request_bytes_max.min(credits.saturating_mul(CREDIT_BYTES)).max(CREDIT_BYTES);
    facts.dialect = format!("SMB {}{who}", words(link.dialect));
    (facts.signing, facts.encryption) = link.security.words();
    Ok(Opened { stream, link, facts, file, path })
}

fn words(agreed: u16) -> &'static str {
    match agreed {
        dialect::V2_1 => "2.1",
        dialect::V3_0 => "3.0",
        dialect::V3_0_2 => "3.0.2",
        _ => "3.1.1",
    }
}

/// Who logs in: the address' user has to be the credentials', or needs no password.
fn credentials(address: &Address, settings: &Settings) -> Result<Option<Credentials>, Fault> {
    let Some(known) = &settings.credentials else {
        let user = address.user.as_deref();
        return Ok(user.map(|user| {
            Credentials::new(user, address.domain.as_deref().unwrap_or_default(), "")
        }));
    };
    match &address.user {
        Some(user) if !user.eq_ignore_ascii_case(known.user()) => {
            Err(Fault::of_two_users(user, known.user()))
        }
        _ => {
            let domain = address.domain.as_deref().unwrap_or(known.domain());
            Ok(Some(Credentials::new(known.user(), domain, known.password())))
        }
    }
}

impl Talk<'_> {
    fn negotiate(&mut self) -> Result<Agreed, Fault> {
        let client = chance()?;
        let body = negotiation(&client, &chance()?);
        let (answer, sent) = self.ask(command::NEGOTIATE, &body)?;
        let answer = answer.good("negotiating")?;
        let mut transcript = Transcript::new();
        transcript.add(&sent);
        transcript.add(&answer.bytes);
        let agreed = answer.u16(68)?;
        if !DIALECTS.contains(&agreed) {
            let text = "the server has none of SMB 2.1, 3.0, 3.0.2 and 3.1.1";
            return Err(Fault::new(FaultKind::Unsupported, text));
        }
        self.link.dialect = agreed;
        let can = answer.u32(88)?;
        let longest = answer.u32(96)?.min(answer.u32(100)?);
        if longest < 4096 {
            return Err(Fault::garbled("the server takes requests of less than 4 KiB only"));
        }
        let limit = if can & LARGE_REQUESTS != 0 { REQUEST_BYTES_MAX } else { CREDIT_BYTES };
        let cipher = match agreed {
            dialect::V3_1_1 => chosen_cipher(&answer)?,
            dialect::V2_1 => None,
            _ => (can & ENCRYPTION != 0).then_some(cipher::CCM),
        };
        Ok(Agreed {
            cipher,
            must_sign: answer.u16(66)? & SIGNING_REQUIRED != 0,
            request_bytes_max: longest.min(limit),
            transcript,
            client,
            told: [(88, 4), (72, 16), (66, 2), (68, 2)]
                .iter()
                .map(|(at, bytes)| answer.part(*at, *bytes))
                .collect::<Result<Vec<_>, _>>()?
                .concat(),
        })
    }

    /// Logs in; gives words about who that is, if it is nobody in particular.
    fn log_in(
        &mut self,
        address: &Address,
        credentials: Option<&Credentials>,
        agreed: &Agreed,
    ) -> Result<&'static str, Fault> {
        let guest = Credentials::new("guest", "", "");
        let user = credentials.unwrap_or(&guest);
        let mut transcript = agreed.transcript.clone();
        let first = ntlm::negotiate();
        let (answer, sent) = self.set_up(&spnego::first(&first))?;
        transcript.add(&sent);
        transcript.add(&answer.bytes);
        if answer.head.status != status::MORE_PROCESSING {
            return Err(match answer.head.status {
                0 => garbled(),
                other => status::fault(other, "logging in"),
            });
        }
        self.link.session = answer.head.session;
        let token = token(&answer)?;
        let last = ntlm::answer(&first, spnego::inner(token), user, chance()?)?;
        let code = last.key.as_ref().map(|key| ntlm::code(key, &spnego::offered()));
        let (answer, sent) = self.set_up(&spnego::second(&last.message, code.as_ref()))?;
        transcript.add(&sent);
        let answer = answer.good(&format!("logging in as '{}'", user.user()))?;
        let flags = answer.u16(66)?;
        if flags & (session_flag::GUEST | session_flag::NOBODY) != 0 || last.key.is_none() {
            return be_guest(address, credentials, agreed);
        }
        let key = last.key.expect("it was looked at");
        let mut security = Security::new(&key, self.link.dialect, agreed.cipher, &transcript);
        security.must_sign = agreed.must_sign || address.is_signed;
        // The answer that gives a session is the first that is signed, by the new key.
        if self.link.dialect == dialect::V3_1_1 || security.must_sign {
            security.check(&answer.bytes, &[])?;
        }
        self.link.security = security;
        if address.is_encrypted || flags & session_flag::ENCRYPT != 0 {
            self.encrypt()?;
        }
        Ok("")
    }

    fn encrypt(&mut self) -> Result<(), Fault> {
        if !self.link.security.has_cipher() {
            let text = "encryption is required, and the server and this client have no cipher in common \
                        (AES-128-GCM, AES-128-CCM)";
            return Err(Fault::new(FaultKind::Unsupported, text));
        }
        self.link.security.must_encrypt = true;
        Ok(())
    }

    fn set_up(&mut self, token: &[u8]) -> Result<(Answer, Vec<u8>), Fault> {
        let mut body = Vec::new();
        // Flags: none. Signing: enabled.
        body.u16(25);
        body.extend([0, 1]);
        body.u32(0);
        body.u32(0);
        body.u16(88);
        body.u16(u16::try_from(token.len()).expect("tokens are short"));
        body.u64(0);
        body.extend(token);
        self.ask(command::SESSION_SETUP, &body)
    }

    fn connect_share(&mut self, address: &Address, share: &str) -> Result<(), Fault> {
        let host = match &address.place {
            Place::Host { name, .. } => name.as_str(),
            Place::Socket(_) => "localhost",
        };
        let name = utf16(&format!("\\\\{host}\\{share}"));
        let mut body = Vec::new();
        body.u16(9);
        body.u16(0);
        body.u16(72);
        body.u16(u16::try_from(name.len()).map_err(|_| too_long())?);
        body.extend(name);
        // In 3.1.1 a server takes this only if it is signed (or encrypted).
        let answer = self.signed(command::TREE_CONNECT, &body)?;
        let answer = answer.good(&format!("connecting to the share '{share}'"))?;
        if answer.bytes.get(66) != Some(&1) {
            let text = format!("the share '{share}' is no disk");
            return Err(Fault::new(FaultKind::Invalid, text));
        }
        self.link.tree = answer.head.tree;
        let wants_encryption = answer.u32(68)? & 0x8000 != 0;
        if wants_encryption && !self.link.security.must_encrypt {
            if !self.link.security.has_key() {
                let text = "the share requires encryption, for which a guest has no key";
                return Err(Fault::new(FaultKind::Credentials, text));
            }
            self.encrypt()?;
        }
        Ok(())
    }

    /// Lets the server confirm under the session's key what both said in the clear; 3.1.1 does that with its
    /// hash. A server that does not know the question refuses it, and signs that.
    fn confirm(&mut self, agreed: &Agreed) -> Result<(), Fault> {
        if self.link.dialect == dialect::V3_1_1 || !self.link.security.has_key() {
            return Ok(());
        }
        let mut asked = Vec::new();
        asked.u32(LARGE_REQUESTS | ENCRYPTION);
        asked.extend(agreed.client);
        asked.u16s(&[1, u16::try_from(DIALECTS.len()).expect("four")]);
        asked.u16s(&DIALECTS);
        let mut body = Vec::new();
        body.u16s(&[57, 0]);
        body.u32(VALIDATE_NEGOTIATE);
        body.extend([0xFF; 16]);
        // Where the question is, how long it and the answer are, and that it is one to the file system.
        for word in [120, u32::try_from(asked.len()).expect("short"), 0, 0, 0, 24, 1, 0] {
            body.u32(word);
        }
        body.extend(asked);
        let answer = self.signed(command::IO_CONTROL, &body)?;
        if answer.head.status != 0 {
            return Ok(());
        }
        let (at, bytes) = (answer.u32(96)? as usize, answer.u32(100)? as usize);
        if answer.part(at, bytes)? == agreed.told {
            return Ok(());
        }
        let text =
            "the server did not say what came from it in the negotiation: somebody is in between";
        Err(Fault::new(FaultKind::Protocol, text))
    }

    /// A command that is signed (or encrypted) wherever there is a key, and so is its answer.
    fn signed(&mut self, command: u16, body: &[u8]) -> Result<Answer, Fault> {
        let must_sign = self.link.security.must_sign;
        self.link.security.must_sign |= self.link.security.has_key();
        let answered = self.ask(command, body);
        self.link.security.must_sign = must_sign;
        Ok(answered?.0)
    }

    /// Opens a file with this access; gives the answer whatever it is.
    pub(super) fn create(
        &mut self,
        path: &str,
        access: u32,
        disposition: u32,
        options: u32,
    ) -> Result<Answer, Fault> {
        let name = utf16(path);
        let mut body = Vec::new();
        body.u16(57);
        // No oplock; impersonation.
        body.u16(0);
        body.u32(2);
        body.u64(0);
        body.u64(0);
        body.u32(access);
        // A normal file, shared with everybody for everything.
        body.u32(0x80);
        body.u32(7);
        body.u32(disposition);
        let is_folder = options & option::DIRECTORY_FILE != 0;
        body.u32(options | if is_folder { 0 } else { option::NON_DIRECTORY_FILE });
        body.u16(120);
        body.u16(u16::try_from(name.len()).map_err(|_| too_long())?);
        body.u64(0);
        // The share's own folder has no name, but the field for it is never empty.
        body.extend(if name.is_empty() { vec![0] } else { name });
        Ok(self.ask(command::CREATE, &body)?.0)
    }

    fn open_file(
        &mut self,
        path: &str,
        opening: Opening,
        wanted: Wanted,
    ) -> Result<([u8; 16], Facts), Fault> {
        let mut options = 0;
        if opening.is_unbuffered {
            options |= option::NO_INTERMEDIATE_BUFFERING;
        }
        if opening.is_write_through {
            options |= option::WRITE_THROUGH;
        }
        // Open one that is there, or make one where there is none.
        let disposition = if wanted.is_new() { 2 } else { 1 };
        let mut answer = self.create(path, access::READ_WRITE, disposition, options)?;
        let mut facts = facts();
        if status::forbids_writing(answer.head.status) && !wanted.is_new() {
            facts.is_read_only = true;
            answer = self.create(path, access::READ, disposition, options)?;
        }
        if wanted == Wanted::FileOrPlace && answer.head.status == status::NO_SUCH_FILE {
            facts.is_missing = true;
            (answer, facts.is_read_only) = self.open_folder(path)?;
        }
        let what = if wanted.is_new() { "creating" } else { "opening" };
        let answer = answer.good(&format!("{what} '{path}'"))?;
        let file = answer.part(128, 16)?.try_into().expect("sixteen bytes");
        facts.size_bytes = if facts.is_missing { 0 } else { answer.u64(112)? };
        self.learn_volume(&file, opening, &mut facts)?;
        Ok((file, facts))
    }

    /// Opens the folder that a file would be in; whether no file can be made there.
    fn open_folder(&mut self, path: &str) -> Result<(Answer, bool), Fault> {
        let folder = path.rsplit_once('\\').map_or("", |(folder, _)| folder);
        let options = option::DIRECTORY_FILE;
        let answer = self.create(folder, access::READ_AND_ADD, 1, options)?;
        if status::forbids_writing(answer.head.status) {
            return Ok((self.create(folder, access::READ_ATTRIBUTES, 1, options)?, true));
        }
        Ok((answer, false))
    }

    /// What the server says of sectors, and which file system it names.
    fn learn_volume(
        &mut self,
        file: &[u8; 16],
        opening: Opening,
        facts: &mut Facts,
    ) -> Result<(), Fault> {
        const FILE_SYSTEM: u8 = 2;
        let sectors = self.query(file, FILE_SYSTEM, 11)?;
        let at = |at: usize| sectors.as_ref().and_then(|bytes| super::wire::u32_at(bytes, at));
        let is_size = |bytes: &u32| bytes.is_power_of_two() && (512..=1 << 20).contains(bytes);
        if opening.is_unbuffered {
            // Without a buffer in between, a server takes whole sectors only.
            facts.block_bytes_min = at(0).filter(is_size).unwrap_or(512);
        }
        let preferred = at(8).filter(is_size).unwrap_or(4096);
        facts.block_bytes_preferred = preferred.max(facts.block_bytes_min);
        if let Some(named) = self.query(file, FILE_SYSTEM, 5)? {
            let words = named.get(12..).unwrap_or_default().chunks_exact(2);
            let words: Vec<_> = words.map(|w| u16::from_le_bytes([w[0], w[1]])).take(64).collect();
            let name = String::from_utf16_lossy(&words);
            let name: String = name.chars().filter(|sign| !sign.is_control()).collect();
            facts.description = Some(name).filter(|name| !name.is_empty());
        }
        Ok(())
    }

    /// Asks about the file or what it is on; nothing if the server does not tell.
    fn query(&mut self, file: &[u8; 16], kind: u8, class: u8) -> Result<Option<Vec<u8>>, Fault> {
        let mut body = Vec::new();
        body.u16(41);
        body.extend([kind, class]);
        body.u32(1024);
        body.extend([0; 16]);
        body.extend(file);
        body.push(0);
        let answer = self.ask(command::QUERY_INFO, &body)?.0;
        if answer.head.status != 0 {
            return Ok(None);
        }
        let (at, bytes) = (answer.u16(66)?, answer.u32(68)?);
        Ok(Some(answer.part(at.into(), bytes as usize)?.to_vec()))
    }

    /// Sets the end of the file.
    pub(super) fn resize(&mut self, file: &[u8; 16], size_bytes: u64) -> Result<(), Fault> {
        let mut body = Vec::new();
        body.u16(33);
        body.extend([1, 20]);
        body.u32(8);
        body.u16(96);
        body.u16(0);
        body.u32(0);
        body.extend(file);
        body.u64(size_bytes);
        let answer = self.ask(command::SET_INFO, &body)?.0;
        answer.good(&format!("setting the size to {size_bytes} bytes")).map(drop)
    }

    pub(super) fn close(&mut self, file: &[u8; 16]) -> Result<Answer, Fault> {
        let mut body = Vec::new();
        body.u16(24);
        body.extend([0; 6]);
        body.extend(file);
        Ok(self.ask(command::CLOSE, &body)?.0)
    }

    /// Removes a file: one more open of it, whose close deletes it when all others have closed, too.
    pub(super) fn remove(&mut self, path: &str) -> Result<(), Fault> {
        let what = format!("removing '{path}'");
        let answer = self.create(path, access::DELETE, 1, option::DELETE_ON_CLOSE)?.good(&what)?;
        let file = answer.part(128, 16)?.try_into().expect("sixteen bytes");
        self.close(&file)?.good(&what).map(drop)
    }

    pub(super) fn log_off(&mut self) -> Result<(), Fault> {
        self.ask(command::LOGOFF, &[4, 0, 0, 0]).map(drop)
    }
}

/// A guest has no key: nothing can be signed or encrypted.
fn be_guest(
    address: &Address,
    credentials: Option<&Credentials>,
    agreed: &Agreed,
) -> Result<&'static str, Fault> {
    if credentials.is_some_and(|known| !known.password().is_empty()) {
        let text = "the server does not know the user, and took the login for a guest's";
        return Err(Fault::new(FaultKind::Credentials, text));
    }
    if agreed.must_sign || address.is_signed || address.is_encrypted {
        let text = "signing or encryption is required, and a guest has no key for it";
        return Err(Fault::new(FaultKind::Credentials, text));
    }
    Ok(", as guest")
}

fn too_long() -> Fault {
    Fault::new(FaultKind::Invalid, "the path is too long for the protocol")
}

fn token(answer: &Answer) -> Result<&[u8], Fault> {
    answer.part(answer.u16(68)?.into(), answer.u16(70)?.into())
}

/// What is the same for all files.
fn facts() -> Facts {
    Facts {
        block_bytes_min: 1,
        block_bytes_preferred: 4096,
        request_bytes_max: CREDIT_BYTES,
        can_flush: true,
        can_write_through: true,
        can_share: true,
        ..Facts::default()
    }
}

/// The first message: dialects, and for 3.1.1 hash, ciphers and signatures.
fn negotiation(client: &[u8; 16], salt: &[u8; 32]) -> Vec<u8> {
    let mut body = Vec::new();
    body.u16(36);
    body.u16(4);
    body.u16(1);
    body.u16(0);
    body.u32(LARGE_REQUESTS | ENCRYPTION);
    body.extend(client);
    // Contexts follow the dialects at the next multiple of eight from the head on.
    body.u32(112);
    body.u16(3);
    body.u16(0);
    body.u16s(&DIALECTS);
    body.resize(112 - 64, 0);
    let mut hash = Vec::new();
    hash.u16s(&[1, 32, 1]);
    hash.extend(salt);
    let mut ciphers = Vec::new();
    ciphers.u16s(&[2, cipher::GCM, cipher::CCM]);
    let mut signatures = Vec::new();
    // AES-CMAC, and nothing else.
    signatures.u16s(&[1, 1]);
    for (kind, data) in [(1, hash), (2, ciphers), (8, signatures)] {
        body.resize(body.len().next_multiple_of(8), 0);
        body.u16(kind);
        body.u16(u16::try_from(data.len()).expect("contexts are short"));
        body.u32(0);
        body.extend(data);
    }
    body
}

/// The cipher that the server has chosen among the contexts of its answer.
fn chosen_cipher(answer: &Answer) -> Result<Option<u16>, Fault> {
    let (count, mut at) = (answer.u16(70)?, answer.u32(124)? as usize);
    let mut chosen = None;
    for _ in 0..count {
        let (kind, bytes) = (answer.u16(at)?, usize::from(answer.u16(at + 2)?));
        let data = answer.part(at + 8, bytes)?;
        match kind {
            1 if data.get(4..6) != Some(&[1, 0]) => return Err(garbled()),
            2 => {
                let told = super::wire::u16_at(data, 2).ok_or_else(garbled)?;
                chosen = Some(told).filter(|told| [cipher::GCM, cipher::CCM].contains(told));
            }
            8 if data.get(2..4) != Some(&[1, 0]) => return Err(garbled()),
            _ => {}
        }
        at = (at + 8 + bytes).next_multiple_of(8);
    }
    Ok(chosen)
}
