//! Targets that another host serves: what they are, what they hold, and how long a round trip takes.
//!
//! The clients are those of [`fathom_net`], built in with the feature `net`; without it each such target is
//! refused with words.

#[cfg_attr(not(feature = "net"), path = "absent.rs")]
mod client;
mod facts;
#[cfg(feature = "net")]
mod file;
#[cfg(feature = "net")]
mod floor;

#[cfg(not(feature = "net"))]
pub(crate) use client::ServedFile;
#[cfg(feature = "net")]
pub(crate) use client::connect_lasting;
pub(crate) use client::{Reader, content, floor, look, name, obstacle, server, use_credentials};
pub use client::{check_credentials, log_in, login_wanted};
pub(crate) use facts::Looking;
pub use facts::{ConnectionUse, LoginWanted, RemoteFacts, RemotePlan, RoundTrip, TcpUse};
#[cfg(feature = "net")]
pub(crate) use file::ServedFile;
