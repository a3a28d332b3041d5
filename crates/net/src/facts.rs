//! What a server says of a target.

use fathom_sys::transfer::Operation;

use crate::connection::Request;
use crate::fault::errno;

/// Facts of a connected target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// What was negotiated, in words.
    pub dialect: String,
    /// Size of the target.
    pub size_bytes: u64,
    /// Offsets and lengths are multiples of this.
    pub block_bytes_min: u32,
    /// What the server likes best.
    pub block_bytes_preferred: u32,
    /// The longest read or write; longer ones end with `EINVAL` and are not sent.
    pub request_bytes_max: u32,
    /// I/Os that may be outstanding on one connection; none if neither protocol nor server limits them.
    pub outstanding_max: Option<u32>,
    /// Nothing may be written.
    pub is_read_only: bool,
    /// Syncs reach stable storage.
    pub can_flush: bool,
    /// A single write can be brought to stable storage before it is answered (FUA).
    pub can_write_through: bool,
    /// Trims are taken.
    pub can_trim: bool,
    /// There is no such file, but a folder for it: no I/O is sent.
    pub is_missing: bool,
    /// Several connections see each other's writes, also past a flush of one of them.
    pub can_share: bool,
    /// The server says that seeks cost time.
    pub is_rotational: bool,
    /// What the server itself knows a file by, which stays the same while it is the same file.
    pub handle: Option<Vec<u8>>,
    /// A serial number that the protocol has for the target.
    pub serial: Option<String>,
    /// The server's words about the target.
    pub description: Option<String>,
    /// How messages are signed, where they are.
    pub signing: Option<String>,
    /// Protocol and cipher, where the connection is encrypted.
    pub encryption: Option<String>,
}

impl Facts {
    /// The error number of what the server would not take, and is not sent.
    #[inline]
    pub(crate) fn refusal(&self, request: &Request) -> Option<i32> {
        let is_long = request.bytes > self.request_bytes_max || request.bytes == 0;
        // The least block is a power of two, as was looked at.
        let is_torn = (request.offset_bytes | u64::from(request.bytes))
            & u64::from(self.block_bytes_min - 1)
            != 0;
        let through = request.is_through && !self.can_write_through;
        match request.operation {
            _ if self.is_missing => Some(errno::ENOENT),
            Operation::Write | Operation::Trim if self.is_read_only => Some(errno::EROFS),
            Operation::Trim if !self.can_trim => Some(errno::EOPNOTSUPP),
            Operation::Fsync | Operation::Fdatasync if !self.can_flush => Some(errno::EOPNOTSUPP),
            Operation::Trim if request.bytes == 0 || is_torn => Some(errno::EINVAL),
            Operation::Trim | Operation::Fsync | Operation::Fdatasync => None,
            Operation::Write if through => Some(errno::EOPNOTSUPP),
            Operation::Read | Operation::Write => (is_long || is_torn).then_some(errno::EINVAL),
        }
    }
}

/// A string of the server, bounded, and without what could steer a terminal.
pub(crate) fn words(data: &[u8]) -> String {
    let text = String::from_utf8_lossy(data);
    text.chars().filter(|sign| !sign.is_control()).take(200).collect()
}
