//! The login: who speaks to which target, with which secret, and with which lengths.

use super::chap::{Chap, Texts};
use super::pdu::{HEAD_BYTES, Head, opcode};
use crate::address::Address;
use crate::credentials::Credentials;
use crate::fault::{Fault, FaultKind};
use crate::stream::{Deadline, Stream};

/// The longest data of one unit that this client takes.
pub(super) const RECEIVE_BYTES_MAX: u32 = 256 << 10;
/// Answers to a login; a server that needs more than these is stuck.
const ANSWERS_MAX: usize = 16;
const TEXT_BYTES_MAX: usize = 64 << 10;

/// The name under which every host and process logs in.
const INITIATOR: &str = "iqn.2026-01.io.github.fathom-storage:client";

const SECURITY: u8 = 0;
const OPERATIONAL: u8 = 1;
const FULL_FEATURE: u8 = 3;
const TRANSIT: u8 = 0x80;
/// More of the same text follows.
const CONTINUED: u8 = 0x40;

/// What was agreed on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Agreed {
    /// The longest data of one unit that the server takes.
    pub(super) send_bytes_max: u32,
    /// Data of a write may come with its command, up to this; 0 if not at all.
    pub(super) immediate_bytes_max: u32,
    pub(super) command_number: u32,
    pub(super) command_number_max: u32,
    pub(super) status_number: u32,
    /// How the user has logged in, if one has.
    pub(super) login: Option<&'static str>,
}

/// Keys with their values, as they are sent.
fn joined(pairs: &[(&str, String)]) -> Vec<u8> {
    let lines = pairs.iter().map(|(key, value)| format!("{key}={value}\0"));
    lines.collect::<String>().into_bytes()
}

/// The first text: who speaks to which target, and how it can log in.
fn introduction(address: &Address, methods: &str) -> Vec<u8> {
    joined(&[
        ("InitiatorName", INITIATOR.to_owned()),
        ("TargetName", address.export.clone()),
        ("SessionType", "Normal".to_owned()),
        ("AuthMethod", methods.to_owned()),
    ])
}

/// The lengths and ways of the session.
fn operation() -> Vec<u8> {
    joined(&[
        ("HeaderDigest", "None".to_owned()),
        ("DataDigest", "None".to_owned()),
        ("ErrorRecoveryLevel", "0".to_owned()),
        ("MaxConnections", "1".to_owned()),
        ("InitialR2T", "Yes".to_owned()),
        ("ImmediateData", "Yes".to_owned()),
        ("MaxRecvDataSegmentLength", RECEIVE_BYTES_MAX.to_string()),
        ("MaxBurstLength", (16_u32 << 20).saturating_sub(512).to_string()),
        ("FirstBurstLength", (64_u32 << 10).to_string()),
        ("DefaultTime2Wait", "0".to_owned()),
        ("DefaultTime2Retain", "0".to_owned()),
        ("MaxOutstandingR2T", "1".to_owned()),
        ("DataPDUInOrder", "Yes".to_owned()),
        ("DataSequenceInOrder", "Yes".to_owned()),
    ])
}

/// Logs in.
pub(super) fn log_in(
    stream: &mut Stream,
    address: &Address,
    credentials: Option<&Credentials>,
    identifier: u32,
    deadline: Deadline,
) -> Result<Agreed, Fault> {
    let agreed = Agreed {
        send_bytes_max: 8192,
        immediate_bytes_max: 64 << 10,
        command_number: 1,
        command_number_max: 1,
        status_number: 0,
        login: None,
    };
    // A user without a password is as good as none: the server says whether it wants one.
    let given = credentials.filter(|given| !given.has_no_password());
    let user = address.user.as_deref();
    let mut chap = given.map(|given| Chap::new(given, user)).transpose()?;
    let mut talk = Talk { stream, deadline, identifier, agreed, session: 0, answers: 0 };
    if talk.prove(address, chap.as_mut())? == OPERATIONAL {
        talk.settle()?;
    }
    Ok(talk.agreed)
}

/// A login under way.
struct Talk<'a> {
    stream: &'a mut Stream,
    deadline: Deadline,
    identifier: u32,
    agreed: Agreed,
    session: u16,
    answers: usize,
}

/// What the server answers: which stage is next, if it is ready for one, and its texts.
struct Answer {
    next: Option<u8>,
    data: Vec<u8>,
}

impl Talk<'_> {
    /// The stage in which both say who they are; gives the one that follows.
    fn prove(&mut self, address: &Address, chap: Option<&mut Chap<'_>>) -> Result<u8, Fault> {
        let methods = match &chap {
            None => "None",
            Some(chap) if chap.is_mutual() => "CHAP",
            Some(_) => "CHAP,None",
        };
        let user = chap.as_ref().map(|chap| chap.user().to_owned());
        let introduction = introduction(address, methods);
        let is_mutual = chap.as_ref().is_some_and(|chap| chap.is_mutual());
        let refused = |fault| of_user(fault, user.as_deref(), is_mutual);
        let first = self.ask(SECURITY, Some(OPERATIONAL), introduction);
        let mut answer = first.map_err(|fault| match fault.kind {
            FaultKind::Credentials if is_mutual => no_proof(),
            _ => refused(fault),
        })?;
        let method = value(&answer.data, "AuthMethod").unwrap_or("None").to_owned();
        match (&*method, chap) {
            ("CHAP", Some(chap)) => answer = self.answer_challenge(chap).map_err(refused)?,
            ("None", Some(_)) if is_mutual => return Err(no_proof()),
            ("None", _) => {}
            ("CHAP", None) => return Err(wants_secret()),
            (other, _) => {
                let text =
                    format!("the server wants a login by {}, which is not supported", shown(other));
                return Err(Fault::new(FaultKind::Unsupported, text));
            }
        }
        loop {
            if let Some(next) = answer.next {
                return Ok(next);
            }
            answer = self.ask(SECURITY, Some(OPERATIONAL), Vec::new()).map_err(refused)?;
        }
    }

    /// CHAP; gives the server's last answer, which has proved what it has to.
    fn answer_challenge(&mut self, chap: &mut Chap<'_>) -> Result<Answer, Fault> {
        let asked = self.ask(SECURITY, None, joined(&chap.offer()?))?;
        if asked.next.is_some() {
            return Err(Fault::garbled("the server ends a login with CHAP before its challenge"));
        }
        let answer = chap.answer(&Texts(&asked.data))?;
        let answer = self.ask(SECURITY, Some(OPERATIONAL), joined(&answer))?;
        chap.check(&Texts(&answer.data))?;
        self.agreed.login = chap.words();
        Ok(answer)
    }

    /// The stage in which lengths and ways are agreed on.
    fn settle(&mut self) -> Result<(), Fault> {
        let mut text = operation();
        loop {
            let answer = self.ask(OPERATIONAL, Some(FULL_FEATURE), text)?;
            match answer.next {
                Some(FULL_FEATURE) => return Ok(()),
                Some(_) => return Err(endless()),
                // The server wants to say more first.
                None => text = Vec::new(),
            }
        }
    }

    /// Sends a text, and takes all of the answer.
    fn ask(&mut self, stage: u8, next: Option<u8>, text: Vec<u8>) -> Result<Answer, Fault> {
        let mut data = Vec::new();
        let (mut next, mut text) = (next, text);
        loop {
            self.send(stage, next, &text)?;
            let (answer, more) = receive(self.stream, self.deadline)?;
            refuse(answer, &more)?;
            data.extend(more);
            if data.len() > TEXT_BYTES_MAX {
                return Err(endless());
            }
            self.agreed.status_number = answer.word(24).wrapping_add(1);
            self.agreed.command_number = answer.word(28);
            self.agreed.command_number_max = answer.word(32);
            self.session = answer.0[14..16].try_into().map(u16::from_be_bytes).expect("two bytes");
            if answer.flags() & CONTINUED == 0 {
                take(&mut self.agreed, &data)?;
                return Ok(Answer { next: following(stage, answer)?, data });
            }
            (next, text) = (None, Vec::new());
        }
    }

    fn send(&mut self, stage: u8, next: Option<u8>, text: &[u8]) -> Result<(), Fault> {
        self.answers += 1;
        if self.answers > ANSWERS_MAX {
            return Err(endless());
        }
        let head = request(stage, next, self.identifier, self.session, &self.agreed);
        let length = u32::try_from(text.len()).expect("the texts are short");
        let mut sent = head.with_data(length).0.to_vec();
        sent.extend(text);
        sent.resize(sent.len().next_multiple_of(4), 0);
        self.stream.send_all(&sent, self.deadline)
    }
}

fn endless() -> Fault {
    Fault::garbled("the login does not come to an end")
}

/// The stage that an answer goes on to, if it does.
fn following(stage: u8, answer: Head) -> Result<Option<u8>, Fault> {
    match (answer.flags() & TRANSIT != 0, answer.flags() & 3) {
        (false, _) => Ok(None),
        (true, next) if next > stage && next != 2 => Ok(Some(next)),
        _ => Err(endless()),
    }
}

fn no_proof() -> Fault {
    let text = "the server wants no login by CHAP, so that it proves nothing either";
    let remedy = "leave target_password out of --credentials=FILE, or set CHAP up on the server";
    Fault::new(FaultKind::Credentials, text).with_remedy(remedy)
}

fn wants_secret() -> Fault {
    let text = "the server wants a user and a secret (CHAP)";
    Fault::new(FaultKind::Credentials, text)
}

/// A refused login in words: what may be wrong if a secret was given, else that one is wanted. Servers refuse
/// in the same way whom they cannot prove themselves to.
fn of_user(fault: Fault, user: Option<&str>, is_mutual: bool) -> Fault {
    match user {
        Some(user) if fault.kind == FaultKind::Credentials && fault.text == wants_secret().text => {
            let user = shown(user);
            let or = if is_mutual {
                ", or has no secret of its own to prove itself with, as target_password in the credentials \
                 wants it to"
            } else {
                ""
            };
            let text =
                format!("logging in as '{user}': the server refuses user or secret (CHAP){or}");
            Fault { text, ..fault }
        }
        _ => fault,
    }
}

/// A word without what could steer a terminal.
fn shown(word: &str) -> String {
    word.chars().filter(|sign| !sign.is_control()).take(64).collect()
}

/// The head of a request, which is ready for the next stage if one is named.
fn request(stage: u8, next: Option<u8>, identifier: u32, session: u16, agreed: &Agreed) -> Head {
    let flags = stage << 2 | next.map_or(0, |next| TRANSIT | next);
    let mut head = Head::new(opcode::LOGIN | opcode::IMMEDIATE, flags, 0, 1);
    // An identifier by chance (type 10b), which tells this session from others of the same name.
    head.0[8] = 0x80;
    head.0[9..13].copy_from_slice(&identifier.to_be_bytes());
    head.0[14..16].copy_from_slice(&session.to_be_bytes());
    head.with(24, agreed.command_number).with(28, agreed.status_number)
}

fn receive(stream: &mut Stream, deadline: Deadline) -> Result<(Head, Vec<u8>), Fault> {
    let mut bytes = [0; HEAD_BYTES];
    stream.receive_all(&mut bytes, deadline)?;
    let head = Head(bytes);
    let is_answer = head.opcode() == opcode::LOGIN_RESPONSE;
    if !is_answer || head.more_head_bytes() > 0 || head.padded_bytes() > TEXT_BYTES_MAX {
        return Err(Fault::garbled("what answers there is not an iSCSI target"));
    }
    let mut data = vec![0; head.padded_bytes()];
    stream.receive_all(&mut data, deadline)?;
    data.truncate(head.data_bytes());
    Ok((head, data))
}

/// A status that is not success.
fn refuse(answer: Head, data: &[u8]) -> Result<(), Fault> {
    let (class, detail) = (answer.byte(36), answer.byte(37));
    let (kind, text) = match (class, detail) {
        (0, _) => return Ok(()),
        (1, _) => {
            let moved = pairs(data).find(|(key, _)| *key == "TargetAddress");
            let place = moved.map_or(String::new(), |(_, place)| format!(" to {place}"));
            let text = format!("the target has moved{place}: name that server");
            return Err(Fault::new(FaultKind::NotFound, text));
        }
        (2, 1) => return Err(wants_secret()),
        (2, 2) => {
            let text = format!("the server does not allow the target to this client ({INITIATOR})");
            return Err(Fault::new(FaultKind::Denied, text));
        }
        (2, 3) => (FaultKind::NotFound, "the server has no such target"),
        (2, 4) => (FaultKind::NotFound, "the target has been removed"),
        (3, _) => (FaultKind::Limit, "the server has no room for another session"),
        _ => (FaultKind::Invalid, "the server refuses the login"),
    };
    Err(Fault::new(kind, format!("{text} (status {class:02x}{detail:02x})")))
}

pub(super) fn pairs(data: &[u8]) -> impl Iterator<Item = (&str, &str)> {
    let lines = data.split(|byte| *byte == 0).filter_map(|line| std::str::from_utf8(line).ok());
    lines.filter_map(|line| line.split_once('='))
}

fn value<'a>(data: &'a [u8], key: &str) -> Option<&'a str> {
    pairs(data).find(|(name, _)| *name == key).map(|(_, value)| value)
}

/// Takes what the server says of lengths.
fn take(agreed: &mut Agreed, data: &[u8]) -> Result<(), Fault> {
    for (key, value) in pairs(data) {
        let number = || {
            let number = value.parse::<u32>().ok().filter(|number| (512..1 << 24).contains(number));
            number.ok_or_else(|| Fault::garbled(format!("the server's {key} is no length")))
        };
        match key {
            "MaxRecvDataSegmentLength" => agreed.send_bytes_max = number()?,
            "FirstBurstLength" => {
                agreed.immediate_bytes_max = agreed.immediate_bytes_max.min(number()?);
            }
            "ImmediateData" if value == "No" => agreed.immediate_bytes_max = 0,
            "HeaderDigest" | "DataDigest" if value != "None" => {
                let text = "the server insists on checksums (digests), which are not supported yet";
                return Err(Fault::new(FaultKind::Unsupported, text));
            }
            _ => {}
        }
    }
    Ok(())
}
