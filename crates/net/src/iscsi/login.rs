//! The login: who speaks to which target, and with which lengths.

use super::pdu::{HEAD_BYTES, Head, opcode};
use crate::address::Address;
use crate::fault::{Fault, FaultKind};
use crate::stream::{Deadline, Stream};

/// The longest data of one unit that this client takes.
pub(super) const RECEIVE_BYTES_MAX: u32 = 256 << 10;
/// Answers to a login; a server that needs more than these is stuck.
const ANSWERS_MAX: usize = 16;
const TEXT_BYTES_MAX: usize = 64 << 10;

const SECURITY: u8 = 0;
const OPERATIONAL: u8 = 1;
const FULL_FEATURE: u8 = 3;
const TRANSIT: u8 = 0x80;

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
}

/// The texts of both stages.
fn texts(address: &Address) -> [Vec<u8>; 2] {
    let joined = |pairs: &[(&str, String)]| {
        let lines = pairs.iter().map(|(key, value)| format!("{key}={value}\0"));
        lines.collect::<String>().into_bytes()
    };
    let who = [
        ("InitiatorName", "iqn.2026-01.io.github.fathom-storage:client".to_owned()),
        ("TargetName", address.export.clone()),
        ("SessionType", "Normal".to_owned()),
        ("AuthMethod", "None".to_owned()),
    ];
    let how = [
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
    ];
    [joined(&who), joined(&how)]
}

/// Logs in.
pub(super) fn log_in(
    stream: &mut Stream,
    address: &Address,
    identifier: u32,
    deadline: Deadline,
) -> Result<Agreed, Fault> {
    let texts = texts(address);
    let mut agreed = Agreed {
        send_bytes_max: 8192,
        immediate_bytes_max: 64 << 10,
        command_number: 1,
        command_number_max: 1,
        status_number: 0,
    };
    let (mut stage, mut text, mut session) = (SECURITY, &texts[0][..], 0);
    for _ in 0..ANSWERS_MAX {
        let next = if stage == SECURITY { OPERATIONAL } else { FULL_FEATURE };
        let head = request(stage, next, identifier, session, &agreed);
        let length = u32::try_from(text.len()).expect("the texts are short");
        let mut sent = head.with_data(length).0.to_vec();
        sent.extend(text);
        sent.resize(sent.len().next_multiple_of(4), 0);
        stream.send_all(&sent, deadline)?;
        let (answer, data) = receive(stream, deadline)?;
        refuse(answer, &data)?;
        take(&mut agreed, &data)?;
        agreed.status_number = answer.word(24).wrapping_add(1);
        agreed.command_number = answer.word(28);
        agreed.command_number_max = answer.word(32);
        session = answer.0[14..16].try_into().map(u16::from_be_bytes).expect("two bytes");
        if answer.flags() & TRANSIT == 0 {
            // The server wants to say more first.
            text = &[];
            continue;
        }
        match answer.flags() & 3 {
            FULL_FEATURE => return Ok(agreed),
            OPERATIONAL if stage == SECURITY => (stage, text) = (OPERATIONAL, &texts[1][..]),
            _ => break,
        }
    }
    Err(Fault::garbled("the login does not come to an end"))
}

fn request(stage: u8, next: u8, identifier: u32, session: u16, agreed: &Agreed) -> Head {
    let flags = TRANSIT | stage << 2 | next;
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
        (2, 1) => (
            FaultKind::Credentials,
            "the server wants a password (CHAP), which is not supported yet",
        ),
        (2, 2) => (FaultKind::Denied, "the server does not allow the target to this client"),
        (2, 3) => (FaultKind::NotFound, "the server has no such target"),
        (2, 4) => (FaultKind::NotFound, "the target has been removed"),
        (3, _) => (FaultKind::Limit, "the server has no room for another session"),
        _ => (FaultKind::Invalid, "the server refuses the login"),
    };
    Err(Fault::new(kind, format!("{text} (status {class:02x}{detail:02x})")))
}

fn pairs(data: &[u8]) -> impl Iterator<Item = (&str, &str)> {
    let lines = data.split(|byte| *byte == 0).filter_map(|line| std::str::from_utf8(line).ok());
    lines.filter_map(|line| line.split_once('='))
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
            "AuthMethod" if value != "None" => {
                let text = "the server wants a password (CHAP), which is not supported yet";
                return Err(Fault::new(FaultKind::Credentials, text));
            }
            _ => {}
        }
    }
    Ok(())
}
