//! What went wrong, in kinds that are the same on every system and stay the same: scripts and other hosts
//! can tell a full disk from a lost one without reading sentences. The system's own code stands beside.

use std::fmt;
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
    /// Fewer bytes were moved than asked for.
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
            ErrorKind::ResourceBusy | ErrorKind::ExecutableFileBusy => Self::Busy,
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
        match fathom_sys::errno::name(errno).as_str() {
            "EIO" | "ENODATA" | "EILSEQ" | "EREMOTEIO" | "EUCLEAN" | "ETIME" | "ENOLINK" => {
                Self::Medium
            }
            "ENXIO" | "ENODEV" | "ENOMEDIUM" | "EMEDIUMTYPE" => Self::Gone,
            "EMFILE" | "ENFILE" | "ENOLCK" | "ENOBUFS" => Self::Limit,
            "EPROTO" | "EBADMSG" | "ECOMM" => Self::Protocol,
            "ENOKEY" | "EKEYREJECTED" => Self::Credentials,
            "EHOSTDOWN" => Self::Unreachable,
            "ESHUTDOWN" => Self::Disconnected,
            "ECANCELED" => Self::Interrupted,
            _ => Self::Other,
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

/// Something that went wrong: its kind, the system's code, and a sentence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// Its kind.
    pub kind: Kind,
    /// The system's code, such as `ENOSPC`; absent if the system did not answer.
    pub code: Option<String>,
    /// What happened, in words.
    pub message: String,
}

impl Failure {
    /// A failure of this kind that no answer of the system tells.
    #[must_use]
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, code: None, message: message.into() }
    }

    /// What the system answered, within a sentence about it.
    #[must_use]
    pub fn of(error: &io::Error, message: impl Into<String>) -> Self {
        let code = error.raw_os_error().map(fathom_sys::errno::name);
        Self { kind: Kind::of(error), code, message: message.into() }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::of(&error, error.to_string())
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::new(Kind::Other, message)
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        Self::new(Kind::Other, message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_the_system_have_kinds_of_their_own() {
        // Numbers of Linux (asm-generic/errno-base.h, asm-generic/errno.h).
        for (errno, kind) in [
            (2, Kind::NotFound),
            (5, Kind::Medium),
            (6, Kind::Gone),
            (13, Kind::Denied),
            (16, Kind::Busy),
            (22, Kind::Invalid),
            (24, Kind::Limit),
            (28, Kind::NoSpace),
            (30, Kind::ReadOnly),
            (71, Kind::Protocol),
            (95, Kind::Unsupported),
            (104, Kind::Disconnected),
            (110, Kind::TimedOut),
            (113, Kind::Unreachable),
            (116, Kind::Gone),
            (122, Kind::NoSpace),
            (4095, Kind::Other),
        ] {
            assert_eq!(Kind::of_errno(errno), kind, "{errno}");
        }
    }

    #[test]
    fn a_kind_is_written_by_its_name() {
        for kind in [Kind::NotFound, Kind::NoSpace, Kind::TimedOut, Kind::Other] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn a_failure_keeps_code_and_words() {
        let failure = Failure::of(&io::Error::from_raw_os_error(28), "no room for 'x'");
        assert_eq!((failure.kind, failure.code.as_deref()), (Kind::NoSpace, Some("ENOSPC")));
        assert_eq!(failure.to_string(), "no room for 'x'");
    }
}
