//! `NTLMv2` (MS-NLMP) inside SPNEGO (RFC 4178): the messages, made with the primitives of `RustCrypto`.

use hmac::{Hmac, KeyInit, Mac};
use md4::{Digest, Md4};
use md5::Md5;
use zeroize::Zeroizing;

use super::wire::{Little, utf16};
use crate::credentials::Credentials;
use crate::fault::{Fault, FaultKind};

const SIGNATURE: &[u8; 8] = b"NTLMSSP\0";
/// Unicode, the target's name, signing, NTLM, always signing, extended security, the target's information,
/// and keys of 128 and 56 bits.
const FLAGS: u32 = 0xA088_8215;
const ANONYMOUS: u32 = 0x0800;
/// Length of the head of the last message, with version and integrity code.
const HEAD_BYTES: usize = 88;

/// Pairs of the target's information.
mod pair {
    pub const END: u16 = 0;
    pub const FLAGS: u16 = 6;
    pub const TIME: u16 = 7;
}

fn hmac_md5(key: &[u8], parts: &[&[u8]]) -> [u8; 16] {
    let mut mac = Hmac::<Md5>::new_from_slice(key).expect("any length will do");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// The first message.
pub(super) fn negotiate() -> Vec<u8> {
    let mut message = SIGNATURE.to_vec();
    message.u32(1);
    message.u32(FLAGS);
    message.extend([0; 16]);
    message
}

/// What the server asks.
struct Challenge<'a> {
    nonce: &'a [u8],
    information: &'a [u8],
}

fn challenge(message: &[u8]) -> Option<Challenge<'_>> {
    let word = |at: usize| message.get(at..at + 2).map(|b| u16::from_le_bytes([b[0], b[1]]));
    let is_one = message.starts_with(SIGNATURE) && message.get(8..12) == Some(&[2, 0, 0, 0]);
    let nonce = message.get(24..32).filter(|_| is_one)?;
    let (bytes, at) = (usize::from(word(40)?), usize::from(word(44)?));
    let information = message.get(at..at + bytes)?;
    Some(Challenge { nonce, information })
}

/// The pairs of a target's information without its end.
fn pairs(mut information: &[u8]) -> Vec<(u16, &[u8])> {
    let mut pairs = Vec::new();
    while let Some((head, rest)) = information.split_first_chunk::<4>() {
        let kind = u16::from_le_bytes([head[0], head[1]]);
        let bytes = usize::from(u16::from_le_bytes([head[2], head[3]]));
        let (true, Some(value)) = (kind != pair::END, rest.get(..bytes)) else { break };
        pairs.push((kind, value));
        information = &rest[bytes..];
    }
    pairs
}

/// Hundreds of nanoseconds since 1601.
fn now() -> [u8; 8] {
    let since_ns = jiff::Timestamp::now().as_nanosecond();
    let ticks = since_ns / 100 + 116_444_736_000_000_000;
    u64::try_from(ticks).unwrap_or(u64::MAX).to_le_bytes()
}

/// The last message, and the key of the session; none for who has no name.
pub(super) struct Answer {
    pub(super) message: Vec<u8>,
    pub(super) key: Option<Zeroizing<[u8; 16]>>,
}

/// Answers a challenge. `nonce` is by chance.
pub(super) fn answer(
    first: &[u8],
    asked: &[u8],
    credentials: &Credentials,
    nonce: [u8; 8],
) -> Result<Answer, Fault> {
    let Challenge { nonce: server_nonce, information } = challenge(asked).ok_or_else(|| {
        let text = "the server does not log in with NTLM; Kerberos is not supported";
        Fault::new(FaultKind::Unsupported, text)
    })?;
    if credentials.user().is_empty() {
        let message = assemble(&[0], &[], "", "", FLAGS | ANONYMOUS);
        return Ok(Answer { message, key: None });
    }
    let pairs = pairs(information);
    let told = pairs.iter().find(|(kind, value)| *kind == pair::TIME && value.len() == 8);
    let time = told.map_or_else(now, |(_, value)| (*value).try_into().expect("eight bytes"));
    let mut temp: Vec<u8> = vec![1, 1, 0, 0, 0, 0, 0, 0];
    temp.extend(time);
    temp.extend(nonce);
    temp.u32(0);
    for (kind, value) in pairs.iter().filter(|(kind, _)| *kind != pair::FLAGS) {
        temp.u16(*kind);
        temp.u16(u16::try_from(value.len()).expect("it was read from such a length"));
        temp.extend(*value);
    }
    // The message has an integrity code.
    temp.u16(pair::FLAGS);
    temp.u16(4);
    temp.u32(2);
    temp.extend([0; 8]);
    let own = own_key(credentials);
    let proof = hmac_md5(&*own, &[server_nonce, &temp]);
    let key = Zeroizing::new(hmac_md5(&*own, &[&proof]));
    let mut response = proof.to_vec();
    response.extend(&temp);
    let mut message =
        assemble(&[0; 24], &response, credentials.domain(), credentials.user(), FLAGS);
    let code = hmac_md5(&*key, &[first, asked, &message]);
    message[72..88].copy_from_slice(&code);
    Ok(Answer { message, key: Some(key) })
}

/// The integrity code of the first message under a session's key (MS-NLMP, 3.4.4.2, without an exchange of
/// keys).
pub(super) fn code(key: &[u8; 16], message: &[u8]) -> [u8; 16] {
    let magic = b"session key to client-to-server signing key magic constant\0";
    let own = Zeroizing::new(<[u8; 16]>::from(
        Md5::new().chain_update(key).chain_update(magic).finalize(),
    ));
    let sum = hmac_md5(&*own, &[&[0; 4], message]);
    let mut code = [0; 16];
    code[0] = 1;
    code[4..12].copy_from_slice(&sum[..8]);
    code
}

/// What the password makes of the user.
fn own_key(credentials: &Credentials) -> Zeroizing<[u8; 16]> {
    let password = Zeroizing::new(utf16(credentials.password()));
    let hash = Zeroizing::new(<[u8; 16]>::from(Md4::digest(&*password)));
    let name = utf16(&(credentials.user().to_uppercase() + credentials.domain()));
    Zeroizing::new(hmac_md5(&*hash, &[&name]))
}

fn assemble(old: &[u8], new: &[u8], domain: &str, user: &str, flags: u32) -> Vec<u8> {
    let mut message = SIGNATURE.to_vec();
    message.u32(3);
    let mut body: Vec<u8> = Vec::new();
    let (domain, user) = (utf16(domain), utf16(user));
    let fields: [&[u8]; 6] = [old, new, &domain, &user, &[], &[]];
    for field in fields {
        let bytes = u16::try_from(field.len()).expect("names are short");
        message.u16(bytes);
        message.u16(bytes);
        message.u32(u32::try_from(HEAD_BYTES + body.len()).expect("it is short"));
        body.extend(field);
    }
    message.u32(flags);
    // No version, and room for the integrity code.
    message.resize(HEAD_BYTES, 0);
    message.extend(body);
    message
}

/// SPNEGO around the messages, in DER.
pub(super) mod spnego {
    const NTLM: [u8; 12] = [0x06, 0x0a, 0x2b, 6, 1, 4, 1, 0x82, 0x37, 2, 2, 0x0a];
    const SPNEGO: [u8; 8] = [0x06, 6, 0x2b, 6, 1, 5, 5, 2];

    fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let bytes = parts.concat();
        let mut out = vec![tag];
        match bytes.len() {
            short @ 0..=127 => out.push(u8::try_from(short).expect("below 128")),
            long => {
                let long = u16::try_from(long).expect("tokens are short");
                out.push(0x82);
                out.extend(long.to_be_bytes());
            }
        }
        out.extend(bytes);
        out
    }

    /// The first token: NTLM is all that is offered.
    pub fn first(message: &[u8]) -> Vec<u8> {
        let kinds = element(0xa0, &[&offered()]);
        let token = element(0xa2, &[&element(0x04, &[message])]);
        let begin = element(0xa0, &[&element(0x30, &[&kinds, &token])]);
        element(0x60, &[&SPNEGO, &begin])
    }

    /// The list of what is offered, which the second token vouches for.
    pub fn offered() -> Vec<u8> {
        element(0x30, &[&NTLM])
    }

    /// The second, with the integrity code over the list where there is one.
    pub fn second(message: &[u8], code: Option<&[u8; 16]>) -> Vec<u8> {
        let token = element(0xa2, &[&element(0x04, &[message])]);
        let code = code.map_or(Vec::new(), |code| element(0xa3, &[&element(0x04, &[code])]));
        element(0xa1, &[&element(0x30, &[&token, &code])])
    }

    /// The message inside of a token, which ends with the token or before.
    pub fn inner(token: &[u8]) -> &[u8] {
        let at = token.windows(8).position(|bytes| bytes == super::SIGNATURE);
        at.map_or(&[], |at| &token[at..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of MS-NLMP, 4.2.4: user, domain and password, and what they give.
    #[test]
    fn the_example_of_the_specification_comes_out() {
        let credentials = Credentials::new("User", "Domain", "Password");
        let key = own_key(&credentials);
        let wanted = [
            0x0c, 0x86, 0x8a, 0x40, 0x3b, 0xfd, 0x7a, 0x93, 0xa3, 0x00, 0x1e, 0xf2, 0x2e, 0xf0,
            0x2e, 0x3f,
        ];
        assert_eq!(*key, wanted);
        let server_nonce = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef];
        let mut temp: Vec<u8> = vec![1, 1, 0, 0, 0, 0, 0, 0];
        temp.extend([0; 8]);
        temp.extend([0xaa; 8]);
        temp.extend([0; 4]);
        for (kind, value) in [(2, "Domain"), (1, "Server")] {
            temp.u16(kind);
            temp.u16(12);
            temp.extend(utf16(value));
        }
        temp.extend([0; 8]);
        let proof = hmac_md5(&*key, &[&server_nonce, &temp]);
        let wanted = [
            0x68, 0xcd, 0x0a, 0xb8, 0x51, 0xe5, 0x1c, 0x96, 0xaa, 0xbc, 0x92, 0x7b, 0xeb, 0xef,
            0x6a, 0x1c,
        ];
        assert_eq!(proof, wanted);
        let wanted = [
            0x8d, 0xe4, 0x0c, 0xca, 0xdb, 0xc1, 0x4a, 0x82, 0xf1, 0x5c, 0xb0, 0xad, 0x0d, 0xe9,
            0x5c, 0xa3,
        ];
        assert_eq!(hmac_md5(&*key, &[&proof]), wanted);
    }

    #[test]
    fn challenges_that_are_none_are_refused() {
        let credentials = Credentials::new("anna", "", "pw");
        for asked in [&b""[..], b"NTLMSSP\0", &[0; 64]] {
            assert!(answer(&[], asked, &credentials, [0; 8]).is_err());
        }
        let mut beyond = negotiate();
        beyond[8] = 2;
        beyond.resize(64, 0xFF);
        assert!(answer(&[], &beyond, &credentials, [0; 8]).is_err());
    }
}
