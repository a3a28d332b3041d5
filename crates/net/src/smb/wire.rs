//! Numbers and forms of the protocol (MS-SMB2), the lowest byte first.

/// Length of the head of each message.
pub(super) const HEAD_BYTES: usize = 64;
pub(super) const SIGNATURE_AT: usize = 48;
/// The beginning of a message.
pub(super) const MAGIC: [u8; 4] = [0xFE, b'S', b'M', b'B'];
/// A credit is worth so much of a request.
pub(super) const CREDIT_BYTES: u32 = 64 << 10;

pub(super) mod dialect {
    pub const V2_1: u16 = 0x0210;
    pub const V3_0: u16 = 0x0300;
    pub const V3_0_2: u16 = 0x0302;
    pub const V3_1_1: u16 = 0x0311;
}

pub(super) mod command {
    pub const NEGOTIATE: u16 = 0;
    pub const SESSION_SETUP: u16 = 1;
    pub const LOGOFF: u16 = 2;
    pub const TREE_CONNECT: u16 = 3;
    pub const CREATE: u16 = 5;
    pub const CLOSE: u16 = 6;
    pub const FLUSH: u16 = 7;
    pub const READ: u16 = 8;
    pub const WRITE: u16 = 9;
    pub const IO_CONTROL: u16 = 11;
    pub const ECHO: u16 = 13;
    pub const QUERY_INFO: u16 = 16;
    pub const SET_INFO: u16 = 17;
}

pub(super) mod flag {
    pub const RESPONSE: u32 = 1;
    pub const ASYNC: u32 = 2;
    pub const SIGNED: u32 = 8;
}

/// Options of an open.
pub(super) mod option {
    pub const WRITE_THROUGH: u32 = 0x02;
    pub const NO_INTERMEDIATE_BUFFERING: u32 = 0x08;
    pub const DIRECTORY_FILE: u32 = 0x01;
    pub const NON_DIRECTORY_FILE: u32 = 0x40;
    pub const DELETE_ON_CLOSE: u32 = 0x1000;
}

pub(super) mod access {
    /// Data, attributes and security are read, and it may be waited for.
    pub const READ: u32 = 0x0012_0081;
    /// The same, and data and attributes are written.
    pub const READ_WRITE: u32 = READ | 0x0106;
    /// Of a folder: it is read, and files are added.
    pub const READ_AND_ADD: u32 = READ | 0x02;
    pub const READ_ATTRIBUTES: u32 = 0x0012_0080;
    pub const DELETE: u32 = 0x0011_0000;
}

/// Numbers of this order at the end of a message.
pub(super) trait Little {
    fn u16(&mut self, number: u16);
    fn u16s(&mut self, numbers: &[u16]);
    fn u32(&mut self, number: u32);
    fn u64(&mut self, number: u64);
}

impl Little for Vec<u8> {
    fn u16(&mut self, number: u16) {
        self.extend(number.to_le_bytes());
    }

    fn u16s(&mut self, numbers: &[u16]) {
        for number in numbers {
            self.u16(*number);
        }
    }

    fn u32(&mut self, number: u32) {
        self.extend(number.to_le_bytes());
    }

    fn u64(&mut self, number: u64) {
        self.extend(number.to_le_bytes());
    }
}

/// Numbers at a place that may not be there.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|b| u16::from_le_bytes(b.try_into().expect("two bytes")))
}

/// See [`u16_at`].
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).map(|b| u32::from_le_bytes(b.try_into().expect("four bytes")))
}

/// See [`u16_at`].
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes")))
}

pub(super) fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// What a message costs: one credit for each 64 KiB.
pub(super) fn charge(bytes: u32) -> u16 {
    u16::try_from(bytes.div_ceil(CREDIT_BYTES).max(1)).expect("requests are below 16 MiB")
}

/// The head of a message that came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) status: u32,
    pub(super) command: u16,
    pub(super) credits: u16,
    pub(super) flags: u32,
    pub(super) next: u32,
    pub(super) message: u64,
    pub(super) tree: u32,
    pub(super) session: u64,
}

impl Head {
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let is_one = bytes.len() >= HEAD_BYTES && bytes.starts_with(&MAGIC);
        let head = Self {
            status: u32_at(bytes, 8)?,
            command: u16_at(bytes, 12)?,
            credits: u16_at(bytes, 14)?,
            flags: u32_at(bytes, 16)?,
            next: u32_at(bytes, 20)?,
            message: u64_at(bytes, 24)?,
            tree: u32_at(bytes, 36)?,
            session: u64_at(bytes, 40)?,
        };
        Some(head).filter(|head| is_one && head.flags & flag::RESPONSE != 0)
    }

    pub(super) fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }
}
