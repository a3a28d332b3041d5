//! What a server says of a target.

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
    /// Several connections see each other's writes, also past a flush of one of them.
    pub can_share: bool,
    /// The server says that seeks cost time.
    pub is_rotational: bool,
    /// A serial number that the protocol has for the target.
    pub serial: Option<String>,
    /// The server's words about the target.
    pub description: Option<String>,
    /// Protocol and cipher, where the connection is encrypted.
    pub encryption: Option<String>,
}
