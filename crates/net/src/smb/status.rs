//! Statuses (MS-ERREF, 2.3) as error numbers of Linux, and in words.

use crate::fault::{Fault, FaultKind, errno};

pub(super) const PENDING: u32 = 0x0000_0103;
pub(super) const MORE_PROCESSING: u32 = 0xC000_0016;
pub(super) const NO_SUCH_FILE: u32 = 0xC000_0034;
pub(super) const END_OF_FILE: u32 = 0xC000_0011;

/// An error number; never 0.
pub(super) fn errno(status: u32) -> i32 {
    match status {
        0xC000_0022 | 0xC000_0061 => errno::EACCES,
        0xC000_00A2 => errno::EROFS,
        0xC000_007F | 0xC000_02EF | 0xC000_0904 => errno::ENOSPC,
        0xC000_0044 => errno::EDQUOT,
        0xC000_000D => errno::EINVAL,
        // The handle is closed, the file deleted, or the name gone.
        0xC000_0008 | 0xC000_0123 | 0xC000_0128 | 0xC000_0034 | 0xC000_003A => errno::ESTALE,
        // Locked, shared with nobody, or without resources at the moment.
        0xC000_0054 | 0xC000_0055 | 0xC000_0043 => errno::EBUSY,
        0xC000_009A | 0xC000_0205 => errno::EAGAIN,
        0xC000_0010 | 0xC000_00BB | 0xC000_0002 => errno::EOPNOTSUPP,
        0xC000_0120 => errno::ECANCELED,
        _ => errno::EIO,
    }
}

/// Whether a status says that the session is over.
pub(super) fn ends_session(status: u32) -> bool {
    matches!(status, 0xC000_0203 | 0xC000_035C | 0xC000_00C9)
}

/// Whether it says that only reading is allowed.
pub(super) fn forbids_writing(status: u32) -> bool {
    matches!(status, 0xC000_0022 | 0xC000_00A2)
}

/// What was wanted, and why it is not given.
pub(super) fn fault(status: u32, what: &str) -> Fault {
    let (kind, why) = match status {
        0xC000_006D | 0xC000_006A | 0xC000_0064 => {
            (FaultKind::Credentials, "user or password is wrong")
        }
        0xC000_006E => {
            (FaultKind::Credentials, "the account is restricted (an empty password, perhaps)")
        }
        0xC000_0071 | 0xC000_0224 => (FaultKind::Credentials, "the password has expired"),
        0xC000_0072 => (FaultKind::Credentials, "the account is disabled"),
        0xC000_0234 => (FaultKind::Credentials, "the account is locked out"),
        0xC000_015B => (FaultKind::Denied, "the account may not log in over the network"),
        0xC000_0022 => {
            (FaultKind::Denied, "access is denied: see the share's and the file's permissions")
        }
        0xC000_00A2 => (FaultKind::ReadOnly, "the share is read-only"),
        0xC000_00CC => (FaultKind::NotFound, "the server has no such share"),
        NO_SUCH_FILE => (FaultKind::NotFound, "there is no such file"),
        0xC000_0035 => (FaultKind::Busy, "there is a file of this name by now"),
        0xC000_003A => (FaultKind::NotFound, "there is no such directory"),
        0xC000_0033 | 0xC000_0039 | 0xC000_003B | 0xC000_0106 => {
            (FaultKind::Invalid, "the name has signs or a length that the server does not take")
        }
        0xC000_00BA => (FaultKind::Invalid, "it is a directory"),
        0xC000_0043 => (FaultKind::Busy, "somebody else has opened it and shares it with nobody"),
        0xC000_0056 => (FaultKind::NotFound, "it is being deleted"),
        0xC000_007F => (FaultKind::NoSpace, "the share is full"),
        0xC000_00BB => (FaultKind::Unsupported, "the server cannot do it"),
        0xC000_0203 | 0xC000_035C | 0xC000_00C9 => {
            (FaultKind::Disconnected, "the server has ended the session")
        }
        other => {
            let text = format!("{what}: the server answers with status {other:#010x}");
            return Fault::new(FaultKind::of_errno(errno(other)), text);
        }
    };
    Fault::new(kind, format!("{what}: {why}"))
}
