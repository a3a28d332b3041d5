//! What went wrong, in kinds that are the same on every system and stay the same: scripts and other hosts
//! can tell a full disk from a lost one without reading sentences. The system's own code stands beside.

use std::fmt;
use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use fathom_sys::kind::Kind;

/// Something that went wrong: its kind, the system's code, and a sentence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// Its kind.
    pub kind: Kind,
    /// The system's code, such as `ENOSPC`; absent if the system did not answer.
    pub code: Option<String>,
    /// What happened, in words.
    pub message: String,
    /// What to do about it, as a clause, where its kind tells too little. It is for the error of a look at a
    /// target, and no part of a result.
    #[serde(skip)]
    pub remedy: Option<&'static str>,
}

impl Failure {
    /// A failure of this kind that no answer of the system tells.
    #[must_use]
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, code: None, message: message.into(), remedy: None }
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn with_remedy(self, remedy: Option<&'static str>) -> Self {
        Self { remedy, ..self }
    }

    /// What the system answered, within a sentence about it.
    #[must_use]
    pub fn of(error: &io::Error, message: impl Into<String>) -> Self {
        let code = error.raw_os_error().map(fathom_sys::errno::name);
        Self { code, ..Self::new(Kind::of(error), message) }
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
