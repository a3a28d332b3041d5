//! Numbers and forms of the protocol (RFC 7143).

/// Length of the head of each protocol data unit.
pub(super) const HEAD_BYTES: usize = 48;
/// A tag that names nothing.
pub(super) const NO_TAG: u32 = u32::MAX;

pub(super) mod opcode {
    pub const NOP_OUT: u8 = 0x00;
    pub const COMMAND: u8 = 0x01;
    pub const LOGIN: u8 = 0x03;
    pub const DATA_OUT: u8 = 0x05;
    pub const LOGOUT: u8 = 0x06;
    /// With this bit it is outside the order of commands.
    pub const IMMEDIATE: u8 = 0x40;

    pub const NOP_IN: u8 = 0x20;
    pub const RESPONSE: u8 = 0x21;
    pub const LOGIN_RESPONSE: u8 = 0x23;
    pub const DATA_IN: u8 = 0x25;
    pub const LOGOUT_RESPONSE: u8 = 0x26;
    pub const READY_TO_TRANSFER: u8 = 0x31;
    pub const ASYNCHRONOUS: u8 = 0x32;
    pub const REJECT: u8 = 0x3f;
}

pub(super) mod flag {
    pub const FINAL: u8 = 0x80;
    pub const READ: u8 = 0x40;
    pub const WRITE: u8 = 0x20;
    /// A task attribute that lets the server choose the order.
    pub const SIMPLE: u8 = 0x01;
    /// The last piece of data carries the status.
    pub const STATUS: u8 = 0x01;
    /// More data than expected.
    pub const OVERFLOW: u8 = 0x04;
    /// Fewer data than expected.
    pub const UNDERFLOW: u8 = 0x02;
}

/// A head under construction, or one that has come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head(pub(super) [u8; HEAD_BYTES]);

impl Head {
    pub(super) fn new(opcode: u8, flags: u8, lun: u16, tag: u32) -> Self {
        let mut head = Self([0; HEAD_BYTES]);
        head.0[0] = opcode;
        head.0[1] = flags;
        head.0[8..10].copy_from_slice(&lun_word(lun).to_be_bytes());
        head.with(16, tag)
    }

    /// With a number at a place.
    pub(super) fn with(mut self, at: usize, number: u32) -> Self {
        self.0[at..at + 4].copy_from_slice(&number.to_be_bytes());
        self
    }

    /// With the length of the data that follow.
    pub(super) fn with_data(mut self, bytes: u32) -> Self {
        self.0[5..8].copy_from_slice(&bytes.to_be_bytes()[1..]);
        self
    }

    pub(super) fn of(there: &[u8]) -> Option<Self> {
        Some(Self(there.get(..HEAD_BYTES)?.try_into().ok()?))
    }

    pub(super) fn opcode(self) -> u8 {
        self.0[0] & 0x3f
    }

    pub(super) fn flags(self) -> u8 {
        self.0[1]
    }

    pub(super) fn byte(self, at: usize) -> u8 {
        self.0[at]
    }

    pub(super) fn word(self, at: usize) -> u32 {
        u32::from_be_bytes(self.0[at..at + 4].try_into().expect("four bytes"))
    }

    /// Length of the additional heads, which nothing here needs.
    pub(super) fn more_head_bytes(self) -> usize {
        usize::from(self.0[4]) * 4
    }

    pub(super) fn data_bytes(self) -> usize {
        self.word(4) as usize & 0x00ff_ffff
    }

    /// The data with what fills up their last word.
    pub(super) fn padded_bytes(self) -> usize {
        self.data_bytes().next_multiple_of(4)
    }
}

/// A number of a LUN as the first two of its eight bytes: peripheral addressing, and flat beyond 255 (SAM-5).
fn lun_word(lun: u16) -> u16 {
    if lun < 256 { lun } else { 0x4000 | lun }
}

/// Whether `number` comes after `other`, in arithmetic of serial numbers (RFC 1982).
pub(super) fn is_after(number: u32, other: u32) -> bool {
    number != other && number.wrapping_sub(other) < 1 << 31
}

/// Commands of SCSI, as the sixteen bytes that iSCSI has for them (SPC-4, SBC-3).
pub(super) mod cdb {
    /// One command.
    pub type Cdb = [u8; 16];

    fn of(bytes: &[u8]) -> Cdb {
        let mut cdb = [0; 16];
        cdb[..bytes.len()].copy_from_slice(bytes);
        cdb
    }

    pub fn test_unit_ready() -> Cdb {
        of(&[0x00])
    }

    /// The standard page, or one of vital product data.
    pub fn inquiry(page: Option<u8>) -> Cdb {
        of(&[0x12, u8::from(page.is_some()), page.unwrap_or(0), 0, super::INQUIRY_BYTES])
    }

    /// All pages, of which only the head is looked at.
    pub fn mode_sense() -> Cdb {
        of(&[0x1a, 0x08, 0x3f, 0, super::INQUIRY_BYTES])
    }

    pub fn read_capacity() -> Cdb {
        let mut cdb = of(&[0x9e, 0x10]);
        cdb[13] = 32;
        cdb
    }

    pub fn read(block: u64, blocks: u32) -> Cdb {
        place(0x88, 0, block, blocks)
    }

    pub fn write(block: u64, blocks: u32, is_through: bool) -> Cdb {
        place(0x8a, if is_through { 0x08 } else { 0 }, block, blocks)
    }

    pub fn synchronize() -> Cdb {
        place(0x91, 0, 0, 0)
    }

    /// Its list has one range.
    pub fn unmap() -> Cdb {
        let mut cdb = of(&[0x42]);
        cdb[8] = super::UNMAP_LIST_BYTES;
        cdb
    }

    fn place(operation: u8, flags: u8, block: u64, blocks: u32) -> Cdb {
        let mut cdb = of(&[operation, flags]);
        cdb[2..10].copy_from_slice(&block.to_be_bytes());
        cdb[10..14].copy_from_slice(&blocks.to_be_bytes());
        cdb
    }
}

/// What is taken of an inquiry.
pub(super) const INQUIRY_BYTES: u8 = 252;
/// Length of a list of one range to unmap.
pub(super) const UNMAP_LIST_BYTES: u8 = 24;

/// The list of one range to unmap.
pub(super) fn unmap_list(block: u64, blocks: u32) -> [u8; UNMAP_LIST_BYTES as usize] {
    let mut list = [0; UNMAP_LIST_BYTES as usize];
    list[1] = 22;
    list[3] = 16;
    list[8..16].copy_from_slice(&block.to_be_bytes());
    list[16..20].copy_from_slice(&blocks.to_be_bytes());
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serial_numbers_go_round() {
        assert!(is_after(1, 0) && is_after(0, u32::MAX) && is_after(5, u32::MAX - 5));
        assert!(!is_after(0, 0) && !is_after(0, 1) && !is_after(u32::MAX, 0));
    }

    #[test]
    fn luns_beyond_a_byte_are_addressed_flat() {
        assert_eq!([lun_word(1), lun_word(255), lun_word(256)], [1, 255, 0x4100]);
    }
}
