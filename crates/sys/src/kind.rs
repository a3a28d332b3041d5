//! What went wrong, in kinds that are the same on every system and stay the same.

use std::io::{self, ErrorKind};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of a failure.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// There is no such file, device or export.
    NotFound,
    /// The account may not.
    Denied,
    /// It takes no writes.
    ReadOnly,
    /// No room, or no quota, is left.
    NoSpace,
    /// Somebody else uses it.
    Busy,
    /// The device or its medium failed.
    Medium,
    /// It was asked in a way that it does not take, such as a wrong size or alignment.
    Invalid,
    /// It cannot do that at all.
    Unsupported,
    /// It did not answer in time.
    TimedOut,
    /// A connection was lost.
    Disconnected,
    /// There is no way to the host.
    Unreachable,
    /// The other side answered what makes no sense.
    Protocol,
    /// The other side does not accept who asks.
    Credentials,
    /// It was there, and is no more.
    Gone,
    /// A limit of this host was reached, such as memory, open files or threads.
    Limit,
    /// Fewer bytes were moved than requested.
    Short,
    /// Somebody ended it.
    Interrupted,
    /// None of these.
    #[default]
    Other,
}

impl Kind {
    /// The kind of what the system answered.
    #[must_use]
    pub fn of(error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Self::NotFound,
            ErrorKind::PermissionDenied => Self::Denied,
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::WriteZero => {
                Self::NoSpace
            }
            ErrorKind::ResourceBusy | ErrorKind::ExecutableFileBusy | ErrorKind::WouldBlock => {
                Self::Busy
            }
            ErrorKind::StaleNetworkFileHandle => Self::Gone,
            ErrorKind::TimedOut => Self::TimedOut,
            ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::NotConnected
            | ErrorKind::BrokenPipe => Self::Disconnected,
            ErrorKind::ConnectionRefused
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown => Self::Unreachable,
            ErrorKind::InvalidInput
            | ErrorKind::InvalidFilename
            | ErrorKind::IsADirectory
            | ErrorKind::FileTooLarge => Self::Invalid,
            ErrorKind::Unsupported => Self::Unsupported,
            ErrorKind::OutOfMemory => Self::Limit,
            ErrorKind::UnexpectedEof => Self::Short,
            ErrorKind::Interrupted => Self::Interrupted,
            _ => error.raw_os_error().map_or(Self::Other, Self::of_rest),
        }
    }

    /// The kind of an error number.
    #[must_use]
    pub fn of_errno(errno: i32) -> Self {
        Self::of(&io::Error::from_raw_os_error(errno))
    }

    /// Those that the standard library has no kind for.
    fn of_rest(errno: i32) -> Self {
        match crate::errno::name(errno).as_str() {
            "EIO" | "ENODATA" | "EILSEQ" | "EREMOTEIO" | "EUCLEAN" | "ETIME" | "ENOLINK" => {
                Self::Medium
            }
            "ENXIO" | "ENODEV" | "ENOMEDIUM" | "EMEDIUMTYPE" => Self::Gone,
            "EBADE" => Self::Busy,
            "EOVERFLOW" => Self::Invalid,
            "EMFILE" | "ENFILE" | "ENOLCK" | "ENOBUFS" => Self::Limit,
            "EPROTO" | "EBADMSG" | "ECOMM" => Self::Protocol,
            "ENOKEY" | "EKEYREJECTED" => Self::Credentials,
            "EHOSTDOWN" => Self::Unreachable,
            "ESHUTDOWN" => Self::Disconnected,
            "ECANCELED" => Self::Interrupted,
            _ => Self::Other,
        }
    }

    /// The error number of Linux with which an I/O ends that failed in this way.
    #[must_use]
    pub fn errno(self) -> i32 {
        match self {
            Self::NotFound => libc::ENOENT,
            Self::Denied | Self::Credentials => libc::EACCES,
            Self::ReadOnly => libc::EROFS,
            Self::NoSpace => libc::ENOSPC,
            Self::Busy => libc::EBUSY,
            Self::Invalid => libc::EINVAL,
            Self::Unsupported => libc::EOPNOTSUPP,
            Self::TimedOut => libc::ETIMEDOUT,
            Self::Disconnected => libc::ECONNRESET,
            Self::Unreachable => libc::EHOSTUNREACH,
            Self::Protocol => libc::EPROTO,
            Self::Gone => libc::ESTALE,
            Self::Limit => libc::ENOBUFS,
            Self::Interrupted => libc::ECANCELED,
            Self::Medium | Self::Short | Self::Other => libc::EIO,
        }
    }

    /// Its name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Denied => "denied",
            Self::ReadOnly => "read_only",
            Self::NoSpace => "no_space",
            Self::Busy => "busy",
            Self::Medium => "medium",
            Self::Invalid => "invalid",
            Self::Unsupported => "unsupported",
            Self::TimedOut => "timed_out",
            Self::Disconnected => "disconnected",
            Self::Unreachable => "unreachable",
            Self::Protocol => "protocol",
            Self::Credentials => "credentials",
            Self::Gone => "gone",
            Self::Limit => "limit",
            Self::Short => "short",
            Self::Interrupted => "interrupted",
            Self::Other => "other",
        }
    }
}
