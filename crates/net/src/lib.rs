//! Targets over the network, without mounting: clients that keep many I/Os outstanding on one connection.
//!
//! A [`Connection`] is made of an [`Address`]; it tells [`Facts`], takes [`Request`]s and gives [`Done`]s. It
//! never waits and never spins while a load runs: who drives it waits for its [`Connection::interest`] with
//! [`fathom_sys::socket::Waiter`]. Buffers are lent for the length of a call, so that reads land in the slots
//! of the engine and writes leave from them. [`Lasting`] is one that is made again when it is lost.
//!
//! Served are NBD (`nbd`), over TCP, unix sockets and TLS, iSCSI (`iscsi`), and files of NFS
//! (`nfs`) and SMB (`smb`).
#![forbid(unsafe_code)]

mod address;
mod connection;
mod credentials;
mod facts;
mod fault;
mod incoming;
mod iscsi;
mod lasting;
mod nbd;
mod nfs;
mod outgoing;
mod settings;
mod smb;
mod stream;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
mod tls;

pub use address::{Address, AddressError, NfsVersion, Place, Scheme};
pub use connection::{Connection, Done, Request, Slots};
pub use credentials::{Credentials, CredentialsError};
pub use facts::Facts;
pub use fathom_sys::socket::{Interest, TcpInfo, Waiter};
pub use fathom_sys::transfer::Operation;
pub use fault::{Fault, FaultKind};
pub use lasting::{Again, Lasting, Losses, Requests};
pub use settings::{Opening, Settings, TlsFiles};
