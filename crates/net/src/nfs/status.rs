//! The numbers by which NFS says how something ended (RFC 1813, RFC 8881), as error numbers of Linux.

use crate::fault::{Fault, FaultKind, errno};

pub(super) const NO_SUCH_FILE: u32 = 2;
pub(super) const EXISTS: u32 = 17;
pub(super) const DELAY: u32 = 10_008;
pub(super) const GRACE: u32 = 10_013;
pub(super) const MINOR_MISMATCH: u32 = 10_021;

/// An error number; never 0.
pub(super) fn errno(status: u32) -> i32 {
    match status {
        1 => errno::EPERM,
        NO_SUCH_FILE => errno::ENOENT,
        // Access, a wrong kind of security, and an open that does not allow it.
        13 | 10_016 | 10_038 => errno::EACCES,
        // A file that is another kind of thing, and what makes no sense.
        20..=22 | 63 | 10_003 | 10_083 => errno::EINVAL,
        27 => errno::EFBIG,
        28 => errno::ENOSPC,
        30 => errno::EROFS,
        69 => errno::EDQUOT,
        // The file is gone: a stale or bad handle, and with it an open's number; or that is worth nothing any
        // more, as its lease is over, or an administrator has taken it back.
        70 | 10_001 | 10_011 | 10_014 | 10_023 | 10_025 | 10_047 => errno::ESTALE,
        10_004 => errno::EOPNOTSUPP,
        10_012 | 10_015 => errno::EBUSY,
        DELAY | GRACE => errno::EAGAIN,
        _ => errno::EIO,
    }
}

/// What was wanted, and why it is not given.
pub(super) fn fault(status: u32, what: &str) -> Fault {
    let (kind, why) = match status {
        1 => (
            FaultKind::Denied,
            "it is not permitted: a server may want a port below 1024, unless the export has the option 'insecure'",
        ),
        NO_SUCH_FILE => (FaultKind::NotFound, "there is no such file or directory"),
        13 => (
            FaultKind::Denied,
            "access is denied: see the export's clients, and the file's owner and mode",
        ),
        EXISTS => (FaultKind::Busy, "there is a file of this name by now"),
        20 => (FaultKind::NotFound, "a part of the path is not a directory"),
        21 => (FaultKind::Invalid, "it is a directory"),
        63 => (FaultKind::Invalid, "a part of the path is longer than the server takes"),
        10_029 => {
            (FaultKind::Invalid, "a part of the path is a symbolic link: name where it leads")
        }
        10_016 => (
            FaultKind::Denied,
            "the export wants another kind of security (Kerberos), which is not supported",
        ),
        DELAY | GRACE => (
            FaultKind::Busy,
            "the server has just started, and waits for its former clients (grace period): try again in two minutes",
        ),
        10_015 => (FaultKind::Busy, "somebody else has opened it and shares it with nobody"),
        other => {
            let errno = errno(other);
            let text = std::io::Error::from_raw_os_error(errno);
            let text = format!("{what}: {text} (NFS status {other})");
            return Fault::new(FaultKind::of_errno(errno), text);
        }
    };
    Fault::new(kind, format!("{what}: {why}"))
}

/// Whether a status says that only reading is allowed.
pub(super) fn forbids_writing(status: u32) -> bool {
    matches!(status, 1 | 13 | 30)
}
