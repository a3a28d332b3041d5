//! What goes wrong with a connection, by kinds that stay the same.

use std::io;

pub use fathom_sys::kind::Kind as FaultKind;
use thiserror::Error;

/// Why a connection could not be made or is over.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text}")]
pub struct Fault {
    /// Of which kind it is.
    pub kind: FaultKind,
    /// What happened, to which server; never with a secret.
    pub text: String,
    /// What to do next, as a clause, where its kind tells too little.
    pub remedy: Option<&'static str>,
}

impl Fault {
    pub(crate) fn new(kind: FaultKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), remedy: None }
    }

    /// The same with what to do next.
    pub(crate) fn with_remedy(self, remedy: &'static str) -> Self {
        Self { remedy: Some(remedy), ..self }
    }

    /// Address and credentials name two users.
    pub(crate) fn of_two_users(named: &str, known: &str) -> Self {
        let text = format!(
            "the address names the user '{named}', and the credentials are those of '{known}'"
        );
        Self::new(FaultKind::Credentials, text).with_remedy("name the same user in both")
    }

    /// The peer does not keep to the protocol.
    pub(crate) fn garbled(text: impl Into<String>) -> Self {
        Self::new(FaultKind::Protocol, text)
    }

    /// An error of the operating system while doing something.
    pub(crate) fn of_io(doing: &str, error: &io::Error) -> Self {
        Self::new(FaultKind::of(error), format!("{doing} failed ({error})"))
    }

    /// The same with the server's name in front.
    pub(crate) fn at(self, server: &str) -> Self {
        Self { text: format!("{server}: {}", self.text), ..self }
    }
}

/// Error numbers of Linux (`asm-generic/errno.h`), which are those that NBD sends too. They are the same on
/// every architecture that Fathom is built for.
#[allow(dead_code, reason = "each protocol answers with those that it has")]
pub(crate) mod errno {
    pub const EPERM: i32 = 1;
    pub const ENOENT: i32 = 2;
    pub const EIO: i32 = 5;
    pub const EAGAIN: i32 = 11;
    pub const ENOMEM: i32 = 12;
    pub const EACCES: i32 = 13;
    pub const EBUSY: i32 = 16;
    pub const EINVAL: i32 = 22;
    pub const ENFILE: i32 = 23;
    pub const EMFILE: i32 = 24;
    pub const EFBIG: i32 = 27;
    pub const ENOSPC: i32 = 28;
    pub const EROFS: i32 = 30;
    pub const EBADE: i32 = 52;
    pub const EPROTO: i32 = 71;
    pub const EOVERFLOW: i32 = 75;
    pub const EOPNOTSUPP: i32 = 95;
    pub const ECONNRESET: i32 = 104;
    pub const ENOBUFS: i32 = 105;
    pub const ENOTCONN: i32 = 107;
    pub const ESHUTDOWN: i32 = 108;
    pub const ETIMEDOUT: i32 = 110;
    pub const EHOSTUNREACH: i32 = 113;
    pub const ESTALE: i32 = 116;
    pub const EDQUOT: i32 = 122;
    pub const ECANCELED: i32 = 125;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_have_their_kind() {
        for (number, kind) in [
            (111, FaultKind::Unreachable),
            (errno::EHOSTUNREACH, FaultKind::Unreachable),
            (errno::ECONNRESET, FaultKind::Disconnected),
            (32, FaultKind::Disconnected),
            (errno::ETIMEDOUT, FaultKind::TimedOut),
            (errno::EMFILE, FaultKind::Limit),
            (errno::EACCES, FaultKind::Denied),
            (errno::ENOENT, FaultKind::NotFound),
            (errno::EIO, FaultKind::Medium),
            (errno::ENOSPC, FaultKind::NoSpace),
            (errno::EROFS, FaultKind::ReadOnly),
            (4_000, FaultKind::Other),
        ] {
            assert_eq!(FaultKind::of(&io::Error::from_raw_os_error(number)), kind, "{number}");
        }
    }
}
