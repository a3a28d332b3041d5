//! Keys, signatures and encryption (MS-SMB2, 3.1.4), made with the primitives of `RustCrypto`.

use aes::Aes128;
use aes_gcm::Aes128Gcm;
use aes_gcm::aead::AeadInOut;
use ccm::Ccm;
use ccm::consts::{U11, U16};
use cmac::Cmac;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256, Sha512};
use zeroize::Zeroizing;

use super::wire::{HEAD_BYTES, SIGNATURE_AT, dialect};
use crate::fault::{Fault, FaultKind};

type Aes128Ccm = Ccm<Aes128, U16, U11>;
type Key = Zeroizing<[u8; 16]>;

/// What stands before an encrypted message.
pub(super) const SEAL_BYTES: usize = 52;
/// Its beginning.
pub(super) const SEALED: [u8; 4] = [0xFD, b'S', b'M', b'B'];
/// From here to the end of the seal all is authenticated.
const AUTHENTICATED_AT: usize = 20;

/// How signatures are made.
enum Signer {
    Hmac(Box<Hmac<Sha256>>),
    Cmac(Box<Cmac<Aes128>>),
}

/// A cipher in both directions.
enum Cipher {
    Gcm { out: Box<Aes128Gcm>, back: Box<Aes128Gcm> },
    Ccm { out: Box<Aes128Ccm>, back: Box<Aes128Ccm> },
}

/// The ciphers' numbers in the negotiation.
pub(super) mod cipher {
    pub const CCM: u16 = 1;
    pub const GCM: u16 = 2;
}

/// A hash over the messages of negotiation and login (3.1.1).
#[derive(Debug, Clone)]
pub(super) struct Transcript(pub(super) [u8; 64]);

impl Transcript {
    pub(super) fn new() -> Self {
        Self([0; 64])
    }

    pub(super) fn add(&mut self, message: &[u8]) {
        let hash = Sha512::new().chain_update(self.0).chain_update(message);
        self.0 = hash.finalize().into();
    }
}

/// The keys of a session. Nothing shows them.
pub(super) struct Security {
    signer: Option<Signer>,
    cipher: Option<Cipher>,
    /// The number of the next encrypted message, which no other has under the same key.
    nonce: u64,
    pub(super) must_sign: bool,
    pub(super) must_encrypt: bool,
}

impl std::fmt::Debug for Security {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Security")
            .field("must_encrypt", &self.must_encrypt)
            .finish_non_exhaustive()
    }
}

/// A key from a key (SP 800-108, in counter mode with HMAC-SHA256).
fn derived(key: &[u8; 16], label: &[u8], context: &[u8]) -> Key {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length will do");
    mac.update(&[0, 0, 0, 1]);
    mac.update(label);
    mac.update(&[0]);
    mac.update(context);
    mac.update(&128_u32.to_be_bytes());
    let whole = Zeroizing::new(<[u8; 32]>::from(mac.finalize().into_bytes()));
    Zeroizing::new(whole[..16].try_into().expect("sixteen bytes"))
}

impl Security {
    /// Before there is a key, and for who has no name.
    pub(super) fn none() -> Self {
        Self { signer: None, cipher: None, nonce: 0, must_sign: false, must_encrypt: false }
    }

    /// From the key of the session.
    pub(super) fn new(key: &[u8; 16], agreed: u16, cipher: Option<u16>, hash: &Transcript) -> Self {
        let signer = if agreed < dialect::V3_0 {
            Signer::Hmac(Box::new(Hmac::new_from_slice(key).expect("any length will do")))
        } else {
            let key = match agreed {
                dialect::V3_1_1 => derived(key, b"SMBSigningKey\0", &hash.0),
                _ => derived(key, b"SMB2AESCMAC\0", b"SmbSign\0"),
            };
            Signer::Cmac(Box::new(Cmac::new_from_slice(&*key).expect("sixteen bytes")))
        };
        let cipher = cipher.map(|kind| {
            let (out, back) = match agreed {
                dialect::V3_1_1 => (
                    derived(key, b"SMBC2SCipherKey\0", &hash.0),
                    derived(key, b"SMBS2CCipherKey\0", &hash.0),
                ),
                _ => (
                    derived(key, b"SMB2AESCCM\0", b"ServerIn \0"),
                    derived(key, b"SMB2AESCCM\0", b"ServerOut\0"),
                ),
            };
            Cipher::new(kind, &out, &back)
        });
        Self { signer: Some(signer), cipher, ..Self::none() }
    }

    pub(super) fn has_key(&self) -> bool {
        self.signer.is_some()
    }

    pub(super) fn has_cipher(&self) -> bool {
        self.cipher.is_some()
    }

    /// What it does, in words, if it does it.
    pub(super) fn words(&self) -> (Option<String>, Option<String>) {
        let signing = self.signer.as_ref().filter(|_| self.must_sign && !self.must_encrypt);
        let signing = signing.map(|signer| match signer {
            Signer::Hmac(_) => "HMAC-SHA256".to_owned(),
            Signer::Cmac(_) => "AES-128-CMAC".to_owned(),
        });
        let encryption = self.cipher.as_ref().filter(|_| self.must_encrypt);
        let encryption = encryption.map(|cipher| match cipher {
            Cipher::Gcm { .. } => "AES-128-GCM".to_owned(),
            Cipher::Ccm { .. } => "AES-128-CCM".to_owned(),
        });
        (signing, encryption)
    }

    /// The signature of a message in two parts, in whose head the place of the signature counts as zero.
    pub(super) fn signature(&self, head: &[u8], data: &[u8]) -> Option<[u8; 16]> {
        let parts = [&head[..SIGNATURE_AT], &[0; 16], &head[HEAD_BYTES..], data];
        self.signer.as_ref().map(|signer| match signer {
            Signer::Hmac(mac) => {
                let mut mac = Hmac::clone(mac);
                for part in parts {
                    mac.update(part);
                }
                mac.finalize().into_bytes()[..16].try_into().expect("sixteen bytes")
            }
            Signer::Cmac(mac) => {
                let mut mac = Cmac::clone(mac);
                for part in parts {
                    mac.update(part);
                }
                mac.finalize().into_bytes().into()
            }
        })
    }

    /// Whether a message that came has the signature that it should have.
    pub(super) fn check(&self, head: &[u8], data: &[u8]) -> Result<(), Fault> {
        let told = &head[SIGNATURE_AT..HEAD_BYTES];
        match self.signature(head, data) {
            Some(right) if right == told => Ok(()),
            _ => {
                let text =
                    "a message of the server has a wrong signature: somebody may be in between";
                Err(Fault::new(FaultKind::Protocol, text))
            }
        }
    }

    /// Encrypts a message that begins after room for its seal.
    pub(super) fn seal(&mut self, whole: &mut [u8], session: u64) {
        let cipher = self.cipher.as_ref().expect("only who has a cipher encrypts");
        let (seal, message) = whole.split_at_mut(SEAL_BYTES);
        self.nonce += 1;
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&self.nonce.to_le_bytes());
        let bytes = u32::try_from(message.len()).expect("messages are below 16 MiB");
        seal[..4].copy_from_slice(&SEALED);
        seal[20..36].copy_from_slice(&nonce);
        seal[36..40].copy_from_slice(&bytes.to_le_bytes());
        seal[40..44].copy_from_slice(&[0, 0, 1, 0]);
        seal[44..].copy_from_slice(&session.to_le_bytes());
        let tag = cipher.encrypt(&nonce, &seal[AUTHENTICATED_AT..], message);
        seal[4..20].copy_from_slice(&tag);
    }

    /// Decrypts a message behind its seal.
    pub(super) fn open(&self, whole: &mut [u8], session: u64) -> Result<(), Fault> {
        let wrong = || {
            Fault::garbled(
                "an encrypted message of the server cannot be decrypted: somebody may be in between",
            )
        };
        let cipher = self.cipher.as_ref().ok_or_else(wrong)?;
        if whole.len() < SEAL_BYTES + HEAD_BYTES {
            return Err(wrong());
        }
        let (seal, message) = whole.split_at_mut(SEAL_BYTES);
        let bytes = u32::from_le_bytes(seal[36..40].try_into().expect("four bytes"));
        if seal[44..] != session.to_le_bytes() || bytes as usize != message.len() {
            return Err(wrong());
        }
        let nonce = seal[20..36].try_into().expect("sixteen bytes");
        let tag = seal[4..20].try_into().expect("sixteen bytes");
        let is_right = cipher.decrypt(&nonce, &seal[AUTHENTICATED_AT..], message, &tag);
        if is_right { Ok(()) } else { Err(wrong()) }
    }
}

impl Cipher {
    fn new(kind: u16, out: &Key, back: &Key) -> Self {
        if kind == cipher::GCM {
            let new = |key: &Key| Box::new(Aes128Gcm::new((&**key).into()));
            return Self::Gcm { out: new(out), back: new(back) };
        }
        let new = |key: &Key| Box::new(Aes128Ccm::new((&**key).into()));
        Self::Ccm { out: new(out), back: new(back) }
    }

    fn encrypt(&self, nonce: &[u8; 16], known: &[u8], message: &mut [u8]) -> [u8; 16] {
        let tag = match self {
            Self::Gcm { out, .. } => {
                let nonce: &[u8; 12] = nonce[..12].try_into().expect("twelve bytes");
                out.encrypt_inout_detached(nonce.into(), known, message.into())
            }
            Self::Ccm { out, .. } => {
                let nonce: &[u8; 11] = nonce[..11].try_into().expect("eleven bytes");
                out.encrypt_inout_detached(nonce.into(), known, message.into())
            }
        };
        tag.expect("messages are far below the cipher's limit").into()
    }

    fn decrypt(&self, nonce: &[u8; 16], known: &[u8], message: &mut [u8], tag: &[u8; 16]) -> bool {
        let opened = match self {
            Self::Gcm { back, .. } => {
                let nonce: &[u8; 12] = nonce[..12].try_into().expect("twelve bytes");
                back.decrypt_inout_detached(nonce.into(), known, message.into(), tag.into())
            }
            Self::Ccm { back, .. } => {
                let nonce: &[u8; 11] = nonce[..11].try_into().expect("eleven bytes");
                back.decrypt_inout_detached(nonce.into(), known, message.into(), tag.into())
            }
        };
        opened.is_ok()
    }
}
