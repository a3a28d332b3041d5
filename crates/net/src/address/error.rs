//! Why an address is refused.

use thiserror::Error;

use super::EXPORT_BYTES_MAX;

/// Why an address is refused. No message repeats the address, which may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AddressError {
    /// Not a protocol that is served.
    #[error(
        "an address begins with nbd://, nbds://, nbd+unix://, nbds+unix://, iscsi://, nfs:// or smb://, or is \
         \\\\SERVER\\SHARE\\FILE"
    )]
    Scheme,
    /// A password stands in it.
    #[error(
        "a password in an address is seen by everybody who lists processes: leave it out, and use \
         --credentials=FILE or FATHOM_CREDENTIALS=FILE"
    )]
    Password,
    /// A user is named, but the protocol knows none.
    #[error("a user has no meaning here: leave out what stands before @")]
    User,
    /// No host.
    #[error(
        "the address names no host: nbd://HOST[:PORT]/EXPORT, iscsi://HOST[:PORT]/TARGET/LUN, \
         nfs://HOST[:PORT]/EXPORT/FILE, smb://HOST[:PORT]/SHARE/FILE"
    )]
    NoHost,
    /// Not a port.
    #[error("the port '{0}' is not a number from 1 to 65535")]
    Port(String),
    /// A bracket is missing around an IPv6 address.
    #[error("an IPv6 address stands in brackets, as in nbd://[::1]:10809/EXPORT")]
    Brackets,
    /// `nbd+unix` without a socket.
    #[error("the address names no socket: nbd+unix:///EXPORT?socket=PATH")]
    NoSocket,
    /// `nbd+unix` with a host.
    #[error("a unix socket has no host: write three slashes, nbd+unix:///EXPORT?socket=PATH")]
    HostOfSocket,
    /// An unknown parameter.
    #[error(
        "'{0}' is not a parameter of this address (NBD: socket, tls-certificates, tls-hostname; NFS: \
         version, mountport; SMB: encryption, signing)"
    )]
    Parameter(String),
    /// The parameter `sec`, as mounts have it.
    #[error(
        "'sec={0}' has no meaning here: leave it out. Kerberos (krb5, krb5i, krb5p) is not supported; the login \
         is {1}"
    )]
    Security(String, &'static str),
    /// A parameter that only makes sense with encryption.
    #[error("'{0}' needs an encrypted address: nbds:// or nbds+unix://")]
    NotEncrypted(String),
    /// `%` without two hexadecimal digits, or bytes that are no text.
    #[error(
        "'%' is followed by two hexadecimal digits, and what they give must be UTF-8 without NUL"
    )]
    Escape,
    /// Not a target and a LUN.
    #[error(
        "an iSCSI address ends with the target's name (iqn., eui. or naa.) and the number of the LUN, as in \
         iscsi://HOST/iqn.2003-01.org.example:disk/1"
    )]
    Lun,
    /// No file.
    #[error("the address names no file: nfs://HOST/EXPORT/FILE, smb://HOST/SHARE/FILE")]
    File,
    /// A part of a path that names nothing.
    #[error("'.' and '..' have no meaning in the path of an address: write the path without them")]
    Dots,
    /// A parameter's value that it cannot have.
    #[error("'{0}' is not a value of the parameter '{1}' ({2})")]
    Value(String, &'static str, &'static str),
    /// A fragment.
    #[error("'#' has no meaning here: write %23 if it is part of a name")]
    Fragment,
    /// An export's name beyond the protocol's limit.
    #[error("the export's name is longer than {EXPORT_BYTES_MAX} bytes")]
    Long,
}
