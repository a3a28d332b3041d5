//! What goes wrong with a connection, by kinds that stay the same.

use std::io;

use thiserror::Error;

/// Why a connection could not be made or is over.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text}")]
pub struct Fault {
    /// Of which kind it is.
    pub kind: FaultKind,
    /// What happened, to which server, and what to do next; never with a secret.
    pub text: String,
}

impl Fault {
    pub(crate) fn new(kind: FaultKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    /// The peer does not keep to the protocol.
    pub(crate) fn garbled(text: impl Into<String>) -> Self {
        Self::new(FaultKind::Protocol, text)
    }

    /// An error of the operating system while doing something.
    pub(crate) fn of_io(doing: &str, error: &io::Error) -> Self {
        Self::new(FaultKind::of_io(error), format!("{doing} failed ({error})"))
    }

    /// The same with the server's name in front.
    pub(crate) fn at(self, server: &str) -> Self {
        Self { text: format!("{server}: {}", self.text), ..self }
    }
}

/// The kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The server has no such target, or nobody knows a server of that name.
    NotFound,
    /// The server refuses this client.
    Denied,
    /// The target may only be read.
    ReadOnly,
    /// The server cannot do it, or this build cannot.
    Unsupported,
    /// No answer in time.
    TimedOut,
    /// The connection ended.
    Disconnected,
    /// Nobody listens there, or no route leads there.
    Unreachable,
    /// The peer does not keep to the protocol.
    Protocol,
    /// A certificate or a key is not accepted, or could not be read.
    Credentials,
    /// The device behind the server failed an I/O.
    Medium,
    /// The target is busy, or reserved by somebody else.
    Busy,
    /// The target is full.
    NoSpace,
    /// A limit of this system: descriptors, memory.
    Limit,
    /// What was requested makes no sense to the server.
    Invalid,
    /// Anything else.
    Other,
}

impl FaultKind {
    /// The name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Denied => "denied",
            Self::ReadOnly => "read_only",
            Self::Unsupported => "unsupported",
            Self::TimedOut => "timed_out",
            Self::Disconnected => "disconnected",
            Self::Unreachable => "unreachable",
            Self::Protocol => "protocol",
            Self::Credentials => "credentials",
            Self::Medium => "medium",
            Self::Busy => "busy",
            Self::NoSpace => "no_space",
            Self::Limit => "limit",
            Self::Invalid => "invalid",
            Self::Other => "other",
        }
    }

    /// The error number with which each I/O ends that was in flight when such a fault came.
    #[must_use]
    pub fn errno(self) -> i32 {
        match self {
            Self::NotFound => errno::ENOENT,
            Self::Denied | Self::Credentials => errno::EACCES,
            Self::ReadOnly => errno::EROFS,
            Self::Unsupported => errno::EOPNOTSUPP,
            Self::TimedOut => errno::ETIMEDOUT,
            Self::Disconnected => errno::ECONNRESET,
            Self::Unreachable => errno::EHOSTUNREACH,
            Self::Protocol => errno::EPROTO,
            Self::Limit => errno::ENOBUFS,
            Self::Invalid => errno::EINVAL,
            Self::Busy => errno::EBUSY,
            Self::NoSpace => errno::ENOSPC,
            Self::Medium | Self::Other => errno::EIO,
        }
    }

    fn of_io(error: &io::Error) -> Self {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::ConnectionRefused | Kind::HostUnreachable | Kind::NetworkUnreachable => {
                Self::Unreachable
            }
            Kind::NotFound => Self::NotFound,
            Kind::PermissionDenied => Self::Denied,
            Kind::TimedOut => Self::TimedOut,
            Kind::ConnectionReset
            | Kind::ConnectionAborted
            | Kind::BrokenPipe
            | Kind::NotConnected
            | Kind::UnexpectedEof => Self::Disconnected,
            Kind::OutOfMemory => Self::Limit,
            Kind::InvalidInput | Kind::InvalidData => Self::Invalid,
            _ => Self::of_errno(error.raw_os_error().unwrap_or_default()),
        }
    }

    /// The kind of an error number with which an I/O has ended, or that the standard library has no kind for.
    #[must_use]
    pub fn of_errno(errno: i32) -> Self {
        match errno {
            errno::EMFILE | errno::ENFILE | errno::ENOBUFS | errno::ENOMEM => Self::Limit,
            errno::EIO => Self::Medium,
            errno::ENOSPC | errno::EDQUOT => Self::NoSpace,
            errno::ENOENT | errno::ESTALE => Self::NotFound,
            errno::EAGAIN | errno::EBUSY | errno::EBADE => Self::Busy,
            errno::EPERM | errno::EACCES => Self::Denied,
            errno::EROFS => Self::ReadOnly,
            errno::EINVAL | errno::EOVERFLOW | errno::EFBIG => Self::Invalid,
            errno::EOPNOTSUPP => Self::Unsupported,
            errno::EPROTO => Self::Protocol,
            errno::ETIMEDOUT => Self::TimedOut,
            errno::ECONNRESET | errno::ENOTCONN | errno::ESHUTDOWN => Self::Disconnected,
            _ => Self::Other,
        }
    }
}

/// Error numbers of Linux (`asm-generic/errno.h`), which are those that NBD sends too. They are the same on
/// every architecture that Fathom is built for.
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
            assert_eq!(FaultKind::of_io(&io::Error::from_raw_os_error(number)), kind, "{number}");
        }
    }
}
