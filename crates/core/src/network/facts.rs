//! What is known of a target over the network, as plain data.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::Failure;

/// How a target is looked at.
#[cfg_attr(
    not(feature = "net"),
    expect(dead_code, reason = "without clients nothing is looked at")
)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looking {
    /// The longest time for it.
    pub(crate) timeout: Duration,
    /// No buffer of the server in between, which may mean other lengths of I/Os.
    pub(crate) is_unbuffered: bool,
    /// The run makes it where it is not there.
    pub(crate) may_be_made: bool,
}

/// What a server says of a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteFacts {
    /// The protocol, by its name.
    pub protocol: String,
    /// What is served, with article: `an NBD export`.
    pub kind: String,
    /// A file of somebody's on a share or export, and no device.
    pub is_file: bool,
    /// A file that is not there: these are the facts of its place.
    pub is_missing: bool,
    /// What was negotiated, in words.
    pub dialect: String,
    /// Host and port, or the path of a socket.
    pub server: String,
    /// Size of the target.
    pub size_bytes: u64,
    /// Offsets and lengths are multiples of this.
    pub block_bytes_min: u32,
    /// What the server likes best.
    pub block_bytes_preferred: u32,
    /// The longest read or write.
    pub request_bytes_max: u32,
    /// I/Os that may be outstanding on one connection; absent if nothing limits them.
    pub outstanding_max: Option<u32>,
    /// Nothing may be written.
    pub is_read_only: bool,
    /// Syncs are taken.
    pub can_flush: bool,
    /// A write can be brought to stable storage before it is answered.
    pub can_write_through: bool,
    /// Trims are taken.
    pub can_trim: bool,
    /// Several connections see each other's writes.
    pub can_share: bool,
    /// A serial number that the protocol has for the target.
    pub serial: Option<String>,
    /// The server's words about the target.
    pub description: Option<String>,
    /// Protocol and cipher, where the connection is encrypted.
    pub encryption: Option<String>,
    /// The words that give permission to write, the first one preferred.
    pub tokens: Vec<String>,
}

/// A server that lets nobody in without a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginWanted {
    /// Host and port.
    pub server: String,
    /// Who is to log in, if that is known.
    pub user: Option<String>,
}

/// How a target over the network is used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemotePlan {
    /// What the server says of it.
    pub facts: RemoteFacts,
    /// Connections of each thread.
    pub connections: u32,
    /// It is opened without a buffer of the server in between.
    pub is_unbuffered: bool,
    /// The longest time for making a connection.
    pub timeout: Duration,
    /// For how long a lost connection is made again; never if absent.
    pub reconnect: Option<Duration>,
}

/// The protocol's shortest round trip, measured before the load while nothing else was outstanding.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTrip {
    /// What went forth and back, in words.
    pub by: String,
    /// How many were measured.
    pub count: u32,
    /// The shortest, in nanoseconds.
    pub min_ns: u64,
    /// The median, in nanoseconds.
    pub median_ns: u64,
}

/// What the kernel knew of TCP connections when the load had ended (`TCP_INFO`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpUse {
    /// Smoothed round-trip time of the connection, in microseconds; the mean of several.
    pub rtt_us: u32,
    /// Its mean deviation, in microseconds.
    pub rtt_deviation_us: u32,
    /// The shortest round-trip time, in microseconds; absent if the kernel does not tell.
    pub rtt_min_us: Option<u32>,
    /// Segments that this host sent again since the load began.
    pub retransmits: u64,
    /// The latest rates of delivery to the server added up, in bytes per second; absent if the kernel does
    /// not tell.
    pub delivery_bytes_per_s: Option<u64>,
}

/// One connection of a thread, as it was when the thread ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectionUse {
    /// Index of the stream.
    pub stream: usize,
    /// What the kernel knows of it; nothing of a unix socket.
    pub tcp: Option<TcpUse>,
    /// Why it was lost, if it was and has not been made again.
    pub lost: Option<Failure>,
    /// How often it was made again.
    pub reconnects: u32,
    /// Time without a connection, in nanoseconds: from each loss until it was made again, or until the end.
    pub disconnected_ns: u64,
}
