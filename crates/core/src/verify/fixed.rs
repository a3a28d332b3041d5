//! The first bytes of a journal, which have a fixed place.

use std::fs::File;

use fathom_sys::contract::file::PositionedIo;

const MAGIC: [u8; 8] = *b"FathomVJ";
const VERSION: u32 = 2;
/// Without checks.
const VERSION_1: u32 = 1;
pub(super) const FIXED_BYTES: usize = 32;
const FIXED_BYTES_1: usize = 24;
pub(super) const STATE_AT: u64 = 12;
/// Far enough apart that no few bits turn one into the other.
const OPEN: u32 = u32::from_le_bytes(*b"OPEN");
pub(super) const CLOSED: u32 = u32::from_le_bytes(*b"done");
const OPEN_1: u32 = 1;
const CLOSED_1: u32 = 2;

/// The part of the head that has a fixed place, of a journal that is open.
pub(super) fn fixed(json_bytes: u32, json_checksum: u32) -> [u8; FIXED_BYTES] {
    let mut bytes = [0; FIXED_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    for (index, word) in [VERSION, OPEN, json_bytes, json_checksum].into_iter().enumerate() {
        bytes[8 + 4 * index..12 + 4 * index].copy_from_slice(&word.to_ne_bytes());
    }
    let checksum = fixed_checksum(&bytes);
    bytes[24..28].copy_from_slice(&checksum.to_ne_bytes());
    bytes
}

/// Of all but the state, which changes in place.
fn fixed_checksum(bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..24])
}

/// What stands there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fixed {
    /// Whether words check themselves.
    pub(super) has_checks: bool,
    pub(super) is_closed: bool,
    pub(super) json_bytes: u32,
    pub(super) json_checksum: u32,
}

impl Fixed {
    pub(super) fn read(file: &File) -> Result<Self, String> {
        let too_short = |_| "it is too short".to_owned();
        let mut bytes = [0; FIXED_BYTES];
        file.read_exact_at(&mut bytes[..FIXED_BYTES_1], 0).map_err(too_short)?;
        if bytes[..8] != MAGIC {
            return Err("it does not begin as one".to_owned());
        }
        let word = |bytes: &[u8], index: usize| {
            u32::from_ne_bytes(std::array::from_fn(|byte| bytes[8 + 4 * index + byte]))
        };
        let (version, state) = (word(&bytes, 0), word(&bytes, 1));
        let has_checks = version == VERSION;
        if has_checks {
            file.read_exact_at(&mut bytes, 0).map_err(too_short)?;
            if fixed_checksum(&bytes) != word(&bytes, 4) {
                return Err("its head is damaged: it does not match its checksum".to_owned());
            }
        }
        let is_closed = match (version, state) {
            (VERSION, OPEN) | (VERSION_1, OPEN_1) => false,
            (VERSION, CLOSED) | (VERSION_1, CLOSED_1) => true,
            (VERSION | VERSION_1, state) => {
                return Err(format!("it is damaged: its state is {state}, which no journal has"));
            }
            _ => {
                return Err(
                    "it is damaged, of another version, or of a host with another byte order"
                        .to_owned(),
                );
            }
        };
        let (json_bytes, json_checksum) = (word(&bytes, 2), word(&bytes, 3));
        Ok(Self { has_checks, is_closed, json_bytes, json_checksum })
    }

    pub(super) fn bytes(self) -> usize {
        if self.has_checks { FIXED_BYTES } else { FIXED_BYTES_1 }
    }
}
