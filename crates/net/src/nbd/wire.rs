//! Numbers and forms of the protocol (`doc/proto.md` of the NBD project).

/// What an old and a new server send first.
pub(super) const HELLO: u64 = u64::from_be_bytes(*b"NBDMAGIC");
/// What follows in a new server's greeting, and begins each option.
pub(super) const OPTION: u64 = u64::from_be_bytes(*b"IHAVEOPT");
/// What follows in an old server's greeting.
pub(super) const OLD_STYLE: u64 = 0x0000_4202_8186_1253;
/// Begins each answer to an option.
pub(super) const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;

pub(super) mod handshake {
    pub const FIXED_NEWSTYLE: u16 = 1 << 0;
    pub const NO_ZEROES: u16 = 1 << 1;
}

pub(super) mod option {
    pub const EXPORT_NAME: u32 = 1;
    pub const ABORT: u32 = 2;
    pub const LIST: u32 = 3;
    pub const START_TLS: u32 = 5;
    pub const GO: u32 = 7;
    pub const STRUCTURED_REPLY: u32 = 8;
}

pub(super) mod reply {
    pub const ACKNOWLEDGED: u32 = 1;
    pub const SERVER: u32 = 2;
    pub const INFO: u32 = 3;
    const ERROR: u32 = 1 << 31;
    pub const UNSUPPORTED: u32 = ERROR | 1;
    pub const POLICY: u32 = ERROR | 2;
    pub const INVALID: u32 = ERROR | 3;
    pub const PLATFORM: u32 = ERROR | 4;
    pub const TLS_REQUIRED: u32 = ERROR | 5;
    pub const UNKNOWN: u32 = ERROR | 6;
    pub const SHUTDOWN: u32 = ERROR | 7;
    pub const BLOCK_SIZE_REQUIRED: u32 = ERROR | 8;

    pub fn is_error(kind: u32) -> bool {
        kind & ERROR != 0
    }
}

pub(super) mod info {
    pub const EXPORT: u16 = 0;
    pub const DESCRIPTION: u16 = 2;
    pub const BLOCK_SIZE: u16 = 3;
}

pub(super) mod transmission {
    pub const READ_ONLY: u16 = 1 << 1;
    pub const FLUSH: u16 = 1 << 2;
    pub const FUA: u16 = 1 << 3;
    pub const ROTATIONAL: u16 = 1 << 4;
    pub const TRIM: u16 = 1 << 5;
    pub const MULTI_CONN: u16 = 1 << 8;
}

pub(super) mod command {
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    pub const DISCONNECT: u16 = 2;
    pub const FLUSH: u16 = 3;
    pub const TRIM: u16 = 4;
    pub const FLAG_FUA: u16 = 1 << 0;
}

pub(super) mod chunk {
    pub const NONE: u16 = 0;
    pub const OFFSET_DATA: u16 = 1;
    pub const OFFSET_HOLE: u16 = 2;
    pub const ERROR: u16 = (1 << 15) | 1;
    pub const ERROR_OFFSET: u16 = (1 << 15) | 2;
    pub const FLAG_DONE: u16 = 1 << 0;
}

const REQUEST: u32 = 0x2560_9513;
pub(super) const SIMPLE_REPLY: u32 = 0x6744_6698;
pub(super) const STRUCTURED_REPLY: u32 = 0x668e_33ef;

/// Length of a request without the data of a write.
pub(super) const REQUEST_BYTES: usize = 28;
/// Length of a simple reply without the data of a read.
pub(super) const SIMPLE_BYTES: usize = 16;
/// Length of the head of a structured reply.
pub(super) const STRUCTURED_BYTES: usize = 20;
/// What a read or write may be long where the server names no limit.
pub(super) const REQUEST_BYTES_DEFAULT: u32 = 32 << 20;

/// One request as it is sent.
pub(super) fn request(
    flags: u16,
    command: u16,
    cookie: u64,
    offset: u64,
    bytes: u32,
) -> [u8; REQUEST_BYTES] {
    let mut head = [0; REQUEST_BYTES];
    head[..4].copy_from_slice(&REQUEST.to_be_bytes());
    head[4..6].copy_from_slice(&flags.to_be_bytes());
    head[6..8].copy_from_slice(&command.to_be_bytes());
    head[8..16].copy_from_slice(&cookie.to_be_bytes());
    head[16..24].copy_from_slice(&offset.to_be_bytes());
    head[24..].copy_from_slice(&bytes.to_be_bytes());
    head
}

/// An option with its data.
pub(super) fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).expect("options are short");
    let mut sent = Vec::with_capacity(16 + data.len());
    sent.extend(OPTION.to_be_bytes());
    sent.extend(number.to_be_bytes());
    sent.extend(length.to_be_bytes());
    sent.extend(data);
    sent
}

/// Big-endian numbers at a place that is there.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

/// See [`u16_at`].
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// See [`u16_at`].
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
