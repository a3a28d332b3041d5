//! CHAP (RFC 1994, RFC 7143 12.1.3): the user proves a secret to the server, and the server proves one of its
//! own where the credentials hold it. Neither secret goes over the network.

use std::sync::{Mutex, PoisonError};

use md5::{Digest, Md5};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::credentials::{Credentials, TargetSecret};
use crate::fault::{Fault, FaultKind};

/// RFC 7143, 9.2.1: without `IPsec`, a login with a shorter secret has to end.
const SECRET_BYTES_MIN: usize = 12;
/// RFC 7143, 12.1.3: a challenge or answer as bytes.
const BINARY_BYTES_MAX: usize = 1024;
/// Of our own challenges. Servers take at least so many.
const CHALLENGE_BYTES: usize = 16;

/// Challenges that servers have got and not answered yet, on all connections of this process.
static OPEN: Mutex<Vec<[u8; CHALLENGE_BYTES]>> = Mutex::new(Vec::new());

/// How an answer is made of a challenge. The numbers are those of IANA's registry of PPP authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hash {
    Sha256,
    Md5,
}

impl Hash {
    fn of(number: &str) -> Option<Self> {
        match number {
            "8" => Some(Self::Sha256),
            "5" => Some(Self::Md5),
            _ => None,
        }
    }

    fn answer(self, identifier: u8, secret: &str, challenge: &[u8]) -> Vec<u8> {
        let parts = [&[identifier][..], secret.as_bytes(), challenge];
        match self {
            Self::Sha256 => sum::<Sha256>(parts),
            Self::Md5 => sum::<Md5>(parts),
        }
    }
}

fn sum<D: Digest>(parts: [&[u8]; 3]) -> Vec<u8> {
    let sum = parts.iter().fold(D::new(), Digest::chain_update);
    sum.finalize().to_vec()
}

/// One of our challenges, for as long as its answer is waited for.
struct Challenge([u8; CHALLENGE_BYTES]);

impl Challenge {
    fn new() -> Result<Self, Fault> {
        let mut bytes = [0; CHALLENGE_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| {
            Fault::new(FaultKind::Other, format!("the system gives no random numbers ({error})"))
        })?;
        OPEN.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
        Ok(Self(bytes))
    }

    /// Whether a server sends what this process has just sent to a server: to have it answered by its author.
    fn is_open(bytes: &[u8]) -> bool {
        OPEN.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|open| open[..] == *bytes)
    }
}

impl Drop for Challenge {
    fn drop(&mut self) {
        OPEN.lock().unwrap_or_else(PoisonError::into_inner).retain(|open| *open != self.0);
    }
}

/// What the server has to prove.
struct Expected {
    user: String,
    answer: Zeroizing<Vec<u8>>,
    /// Nobody else may answer it meanwhile.
    _open: Challenge,
}

/// One login with a user and a secret.
pub(super) struct Chap<'a> {
    user: String,
    password: &'a str,
    target: Option<&'a TargetSecret>,
    expected: Option<Expected>,
    hash: Option<Hash>,
}

impl<'a> Chap<'a> {
    /// Of credentials; the address' user has to be theirs.
    pub(super) fn new(
        credentials: &'a Credentials,
        address_user: Option<&str>,
    ) -> Result<Self, Fault> {
        let user = credentials.whole_user();
        if let Some(named) = address_user.filter(|named| **named != user) {
            return Err(Fault::of_two_users(named, &user));
        }
        let password = credentials.password();
        Ok(Self { user, password, target: credentials.target(), expected: None, hash: None })
    }

    /// Whether the server has to prove a secret, too.
    pub(super) fn is_mutual(&self) -> bool {
        self.target.is_some()
    }

    pub(super) fn user(&self) -> &str {
        &self.user
    }

    /// What is offered, the strongest first; only once the secret will do.
    pub(super) fn offer(&self) -> Result<Vec<(&'static str, String)>, Fault> {
        let target = self.target.map(|target| ("the target's secret", target.password()));
        for (which, secret) in [("the secret", self.password)].into_iter().chain(target) {
            if secret.len() < SECRET_BYTES_MIN {
                let text = format!(
                    "CHAP needs secrets of at least {SECRET_BYTES_MIN} bytes (RFC 7143), and {which} in the \
                     credentials is shorter"
                );
                let remedy = "set a longer one on the server and in --credentials=FILE";
                return Err(Fault::new(FaultKind::Credentials, text).with_remedy(remedy));
            }
        }
        Ok(vec![("CHAP_A", "8,5".to_owned())])
    }

    /// The answer to a challenge, with a challenge to the server where it has to prove itself.
    pub(super) fn answer(&mut self, texts: &Texts) -> Result<Vec<(&'static str, String)>, Fault> {
        let hash = Hash::of(texts.get("CHAP_A")?).ok_or_else(|| {
            Fault::new(
                FaultKind::Unsupported,
                "the server has neither SHA-256 nor MD5 for CHAP in common with this client",
            )
        })?;
        self.hash = Some(hash);
        let identifier = identifier(texts.get("CHAP_I")?)?;
        let challenge = bytes_of(texts.get("CHAP_C")?)?;
        if Challenge::is_open(&challenge) {
            let text = "the server sends this client's own challenge back to have it answered: it does not \
                        know the secret, and somebody may be in between";
            let remedy = "look which server the address leads to";
            return Err(Fault::new(FaultKind::Credentials, text).with_remedy(remedy));
        }
        let own = hash.answer(identifier, self.password, &challenge);
        let mut answer = vec![("CHAP_N", self.user.clone()), ("CHAP_R", hexadecimal(&own))];
        if let Some(target) = self.target {
            let challenge = Challenge::new()?;
            let identifier = identifier.wrapping_add(1);
            answer.push(("CHAP_I", identifier.to_string()));
            answer.push(("CHAP_C", hexadecimal(&challenge.0)));
            self.expected = Some(Expected {
                user: target.user().to_owned(),
                answer: Zeroizing::new(hash.answer(identifier, target.password(), &challenge.0)),
                _open: challenge,
            });
        }
        Ok(answer)
    }

    /// How the user has logged in, in words.
    pub(super) fn words(&self) -> Option<&'static str> {
        self.hash.map(|hash| match (hash, self.is_mutual()) {
            (Hash::Md5, false) => "CHAP with MD5",
            (Hash::Md5, true) => "mutual CHAP with MD5",
            (Hash::Sha256, false) => "CHAP with SHA-256",
            (Hash::Sha256, true) => "mutual CHAP with SHA-256",
        })
    }

    /// Checks what the server proves, if it has to.
    pub(super) fn check(&mut self, texts: &Texts) -> Result<(), Fault> {
        let Some(expected) = self.expected.take() else { return Ok(()) };
        let wrong = |why: &str| {
            let text =
                format!("the server does not prove that it is the one meant (mutual CHAP): {why}");
            Fault::new(FaultKind::Credentials, text).with_remedy(
                "correct target_username and target_password in --credentials=FILE, or the secret of the server",
            )
        };
        let (Ok(user), Ok(answer)) = (texts.get("CHAP_N"), texts.get("CHAP_R")) else {
            return Err(wrong("it gives no answer"));
        };
        if !expected.user.is_empty() && user != expected.user {
            return Err(wrong("it has another name"));
        }
        if is_same(&bytes_of(answer)?, &expected.answer) {
            Ok(())
        } else {
            Err(wrong("its secret is another one"))
        }
    }
}

/// Without telling by its time how much of it is the same.
fn is_same(told: &[u8], expected: &[u8]) -> bool {
    let differences = told.iter().zip(expected).fold(0, |all, (one, other)| all | (one ^ other));
    told.len() == expected.len() && differences == 0
}

/// Keys and values of an answer.
pub(super) struct Texts<'a>(pub(super) &'a [u8]);

impl Texts<'_> {
    fn get(&self, key: &str) -> Result<&str, Fault> {
        let found = super::login::pairs(self.0).find(|(name, _)| *name == key);
        let missing = || Fault::garbled(format!("the server's login with CHAP lacks {key}"));
        found.map(|(_, value)| value).ok_or_else(missing)
    }
}

fn identifier(text: &str) -> Result<u8, Fault> {
    let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u8::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    number.ok_or_else(|| Fault::garbled("the server's CHAP_I is not a number from 0 to 255"))
}

/// Bytes in either of the two encodings of RFC 7143, 6.1.
fn bytes_of(text: &str) -> Result<Vec<u8>, Fault> {
    let encoded = text.get(..2).map(|prefix| (prefix.to_ascii_lowercase(), &text[2..]));
    let bytes = match encoded {
        Some((prefix, digits)) if prefix == "0x" => of_hexadecimal(digits),
        Some((prefix, signs)) if prefix == "0b" => of_base64(signs),
        _ => None,
    };
    let usable = bytes.filter(|bytes| (1..=BINARY_BYTES_MAX).contains(&bytes.len()));
    usable
        .ok_or_else(|| Fault::garbled("what the server sends for CHAP is not encoded as it has to"))
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
    std::iter::once("0x".to_owned()).chain(digits).collect()
}

fn of_hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let values = digits.chars().map(|digit| digit.to_digit(16));
    let values: Option<Vec<_>> = values.collect();
    let values = values.filter(|values| values.len().is_multiple_of(2))?;
    values.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok()).collect()
}

fn of_base64(signs: &str) -> Option<Vec<u8>> {
    let plain = signs.trim_end_matches('=');
    if signs.len() - plain.len() > 2 || plain.len() % 4 == 1 {
        return None;
    }
    let (mut bits, mut held, mut bytes) = (0_u32, 0, Vec::new());
    for sign in plain.bytes() {
        let value = match sign {
            b'A'..=b'Z' => sign - b'A',
            b'a'..=b'z' => sign - b'a' + 26,
            b'0'..=b'9' => sign - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        (bits, held) = (bits << 6 | u32::from(value), held + 6);
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xff).to_le_bytes()[0]);
            bits &= (1 << held) - 1;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_come_in_both_encodings() {
        for text in ["0x00ff10", "0X00FF10", "0bAP8Q", "0BAP8Q"] {
            assert_eq!(bytes_of(text), Ok(vec![0, 0xff, 0x10]), "{text}");
        }
        for (text, bytes) in
            [("0bAA==", &[0][..]), ("0b/+8=", &[0xff, 0xef]), ("0b/+8", &[0xff, 0xef])]
        {
            assert_eq!(bytes_of(text).as_deref(), Ok(bytes), "{text}");
        }
        let long = format!("0x{}", "00".repeat(BINARY_BYTES_MAX + 1));
        for text in
            ["", "0", "0x", "0b", "0x0", "0xg0", "00", "0bA", "0bA===", "0b?A==", "0ü", &long]
        {
            assert!(bytes_of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn each_login_that_cannot_be_has_the_remedy_of_its_cause() {
        let remedy = |fault: Fault| fault.remedy.expect("a remedy");
        let known = Credentials::new("anna", "", "a secret of twenty");
        let other = Chap::new(&known, Some("bert")).map(drop).expect_err("two users");
        assert_eq!(remedy(other), "name the same user in both");
        let short = Credentials::new("anna", "", "short");
        let offered = Chap::new(&short, None).and_then(|chap| chap.offer());
        assert!(remedy(offered.expect_err("a short secret")).starts_with("set a longer one"));
    }

    /// RFC 1994, 4.1: a hash over the identifier, the secret and the challenge, one behind the other.
    #[test]
    fn answers_are_sums_of_identifier_secret_and_challenge() {
        let challenge = b"0123456789abcdef";
        let md5: [u8; 16] = Md5::digest(b"%a secret of twenty0123456789abcdef").into();
        assert_eq!(Hash::Md5.answer(0x25, "a secret of twenty", challenge), md5);
        let sha: [u8; 32] = Sha256::digest(b"%a secret of twenty0123456789abcdef").into();
        assert_eq!(Hash::Sha256.answer(0x25, "a secret of twenty", challenge), sha);
    }

    fn asked(challenge: &str) -> Vec<u8> {
        format!("CHAP_A=5\0CHAP_I=7\0CHAP_C={challenge}\0").into_bytes()
    }

    #[test]
    fn a_challenge_of_ones_own_is_not_answered() {
        let credentials = Credentials::new("anna", "", "a secret of anna's")
            .with_target("array", "a secret of the array's");
        let mut first = Chap::new(&credentials, None).unwrap();
        let answer = first.answer(&Texts(&asked("0x0011"))).unwrap();
        let own = answer.iter().find(|(key, _)| *key == "CHAP_C").unwrap().1.clone();
        let mut second = Chap::new(&credentials, None).unwrap();
        let reflected = second.answer(&Texts(&asked(&own))).unwrap_err();
        assert_eq!(reflected.kind, FaultKind::Credentials);
        assert!(reflected.text.contains("own challenge"), "{reflected}");
        drop(first);
        assert!(second.answer(&Texts(&asked(&own))).is_ok(), "it is over");
    }

    #[test]
    fn a_server_has_to_prove_the_secret_that_the_credentials_hold() {
        let credentials = Credentials::new("anna", "", "a secret of anna's")
            .with_target("array", "a secret of the array's");
        let proof = |name: &str, secret: &str| {
            let mut chap = Chap::new(&credentials, None).unwrap();
            let answer = chap.answer(&Texts(&asked("0x0011"))).unwrap();
            let own = answer.iter().find(|(key, _)| *key == "CHAP_C").unwrap().1.clone();
            let proof = hexadecimal(&Hash::Md5.answer(8, secret, &bytes_of(&own).unwrap()));
            chap.check(&Texts(format!("CHAP_N={name}\0CHAP_R={proof}\0").as_bytes()))
        };
        assert_eq!(proof("array", "a secret of the array's"), Ok(()));
        for (name, secret) in
            [("other", "a secret of the array's"), ("array", "a secret of another"), ("array", "")]
        {
            let fault = proof(name, secret).unwrap_err();
            assert_eq!(fault.kind, FaultKind::Credentials, "{fault}");
            assert!(!fault.text.contains("secret of"), "{fault}");
        }
        let mut silent = Chap::new(&credentials, None).unwrap();
        silent.answer(&Texts(&asked("0x0011"))).unwrap();
        assert!(silent.check(&Texts(b"")).unwrap_err().text.contains("no answer"));
    }

    #[test]
    fn short_secrets_and_other_users_are_refused_before_anything_is_answered() {
        let short = Credentials::new("anna", "", "elevenbytes");
        let fault = Chap::new(&short, None).unwrap().offer().unwrap_err();
        assert!(fault.text.contains("12 bytes") && !fault.text.contains("eleven"), "{fault}");
        let whose = Credentials::new(r"CORP\anna", "", "twelve bytes");
        assert!(Chap::new(&whose, Some("bert")).is_err());
        assert_eq!(Chap::new(&whose, Some(r"CORP\anna")).unwrap().user(), r"CORP\anna");
    }
}
