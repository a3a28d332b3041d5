//! The calls of I/Os, as they are sent.

use super::replies::Kind;
use super::rpc::{Identity, Procedure, call};
use super::v3::procedure;
use super::v4::{self, operation};
use super::xdr::Write;
use crate::connection::Request;

/// The longest head: a write of version 4 with the longest handle, name of this host and groups.
pub(super) const HEAD_BYTES_MAX: usize = 448;

/// Not on stable storage, and with all that belongs to the file.
const UNSTABLE: u32 = 0;
const FILE_SYNC: u32 = 2;

/// The operation of version 4 that does an I/O.
pub(super) fn operation_of(kind: Kind) -> u32 {
    match kind {
        Kind::Read => operation::READ,
        Kind::Write { .. } => operation::WRITE,
        Kind::Deallocate => operation::DEALLOCATE,
        Kind::Commit | Kind::Null => operation::COMMIT,
    }
}

fn stable(is_through: bool) -> u32 {
    if is_through { FILE_SYNC } else { UNSTABLE }
}

/// The empty procedure.
pub(super) fn null(out: &mut Vec<u8>, number: u32, version: u32, who: &Identity) {
    call(out, number, Procedure { program: super::PROGRAM, version, number: 0 }, who);
}

/// An I/O of version 3.
pub(super) fn of_v3(
    out: &mut Vec<u8>,
    number: u32,
    handle: &[u8],
    kind: Kind,
    request: &Request,
    who: &Identity,
) {
    let procedure = match kind {
        Kind::Read => procedure::READ,
        Kind::Write { .. } => procedure::WRITE,
        _ => procedure::COMMIT,
    };
    call(out, number, Procedure { program: super::PROGRAM, version: 3, number: procedure }, who);
    out.opaque(handle);
    match kind {
        Kind::Read => {
            out.long(request.offset_bytes);
            out.word(request.bytes);
        }
        Kind::Write { is_through } => {
            out.long(request.offset_bytes);
            out.words(&[request.bytes, stable(is_through), request.bytes]);
        }
        // The whole file.
        _ => out.words(&[0, 0, 0]),
    }
}

/// An I/O of version 4, on a slot with its sequence number.
pub(super) fn of_v4(
    out: &mut Vec<u8>,
    number: u32,
    file: &v4::File,
    (slot, sequence): (u32, u32),
    kind: Kind,
    request: &Request,
    who: &Identity,
) {
    call(out, number, Procedure { program: super::PROGRAM, version: 4, number: 1 }, who);
    // No tag, and three operations.
    out.words(&[0, file.session.minor, 3, operation::SEQUENCE]);
    out.fixed(&file.session.id);
    out.words(&[sequence, slot, file.session.slots - 1, 0]);
    out.word(operation::PUT_HANDLE);
    out.opaque(&file.handle);
    out.word(operation_of(kind));
    if kind != Kind::Commit {
        out.fixed(&file.state.unwrap_or_default());
    }
    match kind {
        Kind::Read => {
            out.long(request.offset_bytes);
            out.word(request.bytes);
        }
        Kind::Write { is_through } => {
            out.long(request.offset_bytes);
            out.word(stable(is_through));
            out.word(request.bytes);
        }
        Kind::Deallocate => {
            out.long(request.offset_bytes);
            out.long(request.bytes.into());
        }
        Kind::Commit | Kind::Null => out.words(&[0, 0, 0]),
    }
}
