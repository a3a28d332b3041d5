//! Numbers, credits and keys of a connection, and messages that are waited for.

use super::security::{SEAL_BYTES, SEALED, Security};
use super::status;
use super::wire::{HEAD_BYTES, Head, Little, MAGIC, SIGNATURE_AT, charge, command, flag};
use crate::fault::Fault;
use crate::stream::{Deadline, Stream};

/// Answers that are waited for are short.
const ANSWER_BYTES_MAX: usize = 256 << 10;
/// Answers that belong to nobody, or say that more has to be waited, before the one that counts.
const STRAY_MAX: usize = 64;
/// Credits that are wanted; the server gives as many as it likes.
pub(super) const CREDITS_WANTED: u32 = 2048;

/// What is known of a connection.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) security: Security,
    pub(super) dialect: u16,
    pub(super) session: u64,
    pub(super) tree: u32,
    /// The number of the next message.
    pub(super) message: u64,
    /// Credits that may be spent now.
    pub(super) credits: u32,
    /// Those and the ones that are spent on what is outstanding.
    pub(super) credits_total: u32,
}

impl Link {
    pub(super) fn new() -> Self {
        Self {
            security: Security::none(),
            dialect: 0,
            session: 0,
            tree: 0,
            message: 0,
            credits: 1,
            credits_total: 1,
        }
    }

    /// Begins a message that costs what a request of so many bytes costs; gives its number.
    pub(super) fn begin(&mut self, out: &mut Vec<u8>, command: u16, bytes: u32) -> u64 {
        let charge = charge(bytes);
        let wanted = CREDITS_WANTED.saturating_sub(self.credits_total);
        let wanted = u16::try_from(wanted).unwrap_or(u16::MAX).saturating_add(charge);
        let is_signed = self.security.must_sign && !self.security.must_encrypt;
        let number = self.message;
        out.extend(MAGIC);
        out.u16(64);
        // The charge has a place of its own only if credits of 64 KiB are known.
        out.u16(charge);
        out.u32(0);
        out.u16(command);
        out.u16(wanted);
        out.u32(if is_signed { flag::SIGNED } else { 0 });
        out.u32(0);
        out.u64(number);
        out.u32(0);
        out.u32(self.tree);
        out.u64(self.session);
        out.extend([0; 16]);
        self.message += u64::from(charge);
        self.credits = self.credits.saturating_sub(charge.into());
        self.credits_total = self.credits_total.saturating_sub(charge.into());
        number
    }

    /// Takes the credits of an answer.
    pub(super) fn grant(&mut self, head: &Head) {
        self.credits = self.credits.saturating_add(head.credits.into()).min(1 << 16);
        self.credits_total = self.credits_total.saturating_add(head.credits.into()).min(1 << 16);
    }

    /// Signs a message in two parts, where it has to be.
    pub(super) fn sign(&self, head: &mut [u8], data: &[u8]) {
        if self.security.must_sign && !self.security.must_encrypt {
            let signature = self.security.signature(head, data);
            head[SIGNATURE_AT..HEAD_BYTES]
                .copy_from_slice(&signature.expect("who signs has a key"));
        }
    }

    /// Makes a message that came ready to be read: decrypted, and with its signature checked.
    pub(super) fn admit<'a>(&self, whole: &'a mut [u8]) -> Result<&'a [u8], Fault> {
        if whole.starts_with(&SEALED) {
            self.security.open(whole, self.session)?;
            return Ok(&whole[SEAL_BYTES..]);
        }
        self.check(whole, &[])?;
        Ok(whole)
    }

    /// Whether a message that came in the clear, in two parts, is what it should be.
    pub(super) fn check(&self, head: &[u8], data: &[u8]) -> Result<(), Fault> {
        let known = Head::of(head).ok_or_else(garbled)?;
        if self.security.must_encrypt {
            return Err(Fault::garbled("the server answers in the clear what has to be encrypted"));
        }
        // An answer that only says that it takes longer has no signature.
        if known.status == status::PENDING && known.has(flag::ASYNC) {
            return Ok(());
        }
        if self.security.must_sign && !known.has(flag::SIGNED) {
            return Err(Fault::garbled("the server does not sign what has to be signed"));
        }
        if known.has(flag::SIGNED) && self.security.has_key() {
            return self.security.check(head, data);
        }
        Ok(())
    }
}

pub(super) fn garbled() -> Fault {
    Fault::garbled("the server's answer is none of the protocol's")
}

/// The calls before and beside the I/Os.
pub(super) struct Talk<'a> {
    pub(super) stream: &'a mut Stream,
    pub(super) link: &'a mut Link,
    pub(super) deadline: Deadline,
}

/// An answer, and its head.
pub(super) struct Answer {
    pub(super) head: Head,
    pub(super) bytes: Vec<u8>,
}

impl Answer {
    /// What a field says that is there.
    pub(super) fn u16(&self, at: usize) -> Result<u16, Fault> {
        super::wire::u16_at(&self.bytes, at).ok_or_else(garbled)
    }

    pub(super) fn u32(&self, at: usize) -> Result<u32, Fault> {
        super::wire::u32_at(&self.bytes, at).ok_or_else(garbled)
    }

    pub(super) fn u64(&self, at: usize) -> Result<u64, Fault> {
        super::wire::u64_at(&self.bytes, at).ok_or_else(garbled)
    }

    pub(super) fn part(&self, at: usize, bytes: usize) -> Result<&[u8], Fault> {
        self.bytes.get(at..at.saturating_add(bytes)).ok_or_else(garbled)
    }

    /// A fault, unless it went well.
    pub(super) fn good(self, what: &str) -> Result<Self, Fault> {
        if self.head.status == 0 { Ok(self) } else { Err(status::fault(self.head.status, what)) }
    }
}

impl Talk<'_> {
    /// Sends a command with its body, and gives the answer, and the message as it was sent.
    pub(super) fn ask(&mut self, command: u16, body: &[u8]) -> Result<(Answer, Vec<u8>), Fault> {
        let mut message = Vec::new();
        let number = self.link.begin(&mut message, command, 0);
        message.extend(body);
        self.send(&mut message)?;
        Ok((self.answer(command, number)?, message))
    }

    fn send(&mut self, message: &mut [u8]) -> Result<(), Fault> {
        let mut whole = vec![0; 4];
        if self.link.security.must_encrypt {
            whole.resize(4 + SEAL_BYTES, 0);
            whole.extend(&*message);
            self.link.security.seal(&mut whole[4..], self.link.session);
        } else {
            self.link.sign(message, &[]);
            whole.extend(&*message);
        }
        let bytes = u32::try_from(whole.len() - 4).expect("what is waited for is short");
        whole[..4].copy_from_slice(&bytes.to_be_bytes());
        self.stream.send_all(&whole, self.deadline)
    }

    fn answer(&mut self, command: u16, number: u64) -> Result<Answer, Fault> {
        for _ in 0..STRAY_MAX {
            let mut mark = [0; 4];
            self.stream.receive_all(&mut mark, self.deadline)?;
            let bytes = u32::from_be_bytes(mark) as usize;
            if bytes > ANSWER_BYTES_MAX {
                return Err(Fault::garbled("what answers there is not an SMB server"));
            }
            let mut whole = vec![0; bytes];
            self.stream.receive_all(&mut whole, self.deadline)?;
            if whole.starts_with(b"\xFFSMB") {
                let text = "the server speaks only SMB 1, which nobody should use any more";
                return Err(Fault::new(crate::fault::FaultKind::Unsupported, text));
            }
            // The negotiation and the steps of a login come before there is a key.
            let message = self.link.admit(&mut whole)?;
            let head = Head::of(message).ok_or_else(garbled)?;
            if head.message != number {
                continue;
            }
            self.link.grant(&head);
            if head.status == status::PENDING && head.has(flag::ASYNC) {
                continue;
            }
            if head.command != command || head.next != 0 {
                return Err(garbled());
            }
            return Ok(Answer { head, bytes: message.to_vec() });
        }
        Err(garbled())
    }

    /// Asks for more credits until the server gives no more.
    pub(super) fn gather_credits(&mut self) -> Result<(), Fault> {
        for _ in 0..16 {
            let before = self.link.credits;
            self.ask(command::ECHO, &[4, 0, 0, 0])?;
            if self.link.credits <= before {
                break;
            }
        }
        Ok(())
    }
}
