//! Parts of an address: scheme, host, port, path and parameters.

use super::{AddressError, EXPORT_BYTES_MAX, LUN_MAX, NfsVersion, Place, Scheme};

/// What a scheme says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub(super) scheme: Scheme,
    pub(super) is_encrypted: bool,
    pub(super) is_socket: bool,
}

impl Kind {
    pub(super) fn of(scheme: &str) -> Option<Self> {
        let lower = scheme.to_ascii_lowercase();
        for scheme in [Scheme::Iscsi, Scheme::Nfs, Scheme::Smb] {
            if lower == scheme.name() {
                return Some(Self { scheme, is_encrypted: false, is_socket: false });
            }
        }
        let (base, is_socket) = lower.strip_suffix("+unix").map_or((&*lower, false), |b| (b, true));
        let is_encrypted = match base {
            "nbd" => false,
            "nbds" => true,
            _ => return None,
        };
        Some(Self { scheme: Scheme::Nbd, is_encrypted, is_socket })
    }
}

pub(super) fn split_scheme(text: &str) -> Option<(&str, &str)> {
    text.split_once("://")
}

/// What follows the two backslashes of a path to a server; a device (`\\\\.\\`) is none.
pub(super) fn unc(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(r"\\")?;
    match rest.strip_prefix(r"?\") {
        Some(long) => long.strip_prefix(r"UNC\"),
        None => Some(rest).filter(|rest| !rest.starts_with(".\\")),
    }
}

/// Refuses `user:password@`, and `user@` where a protocol knows no users. A password with a slash, a question
/// mark or a hash in it ends the authority early for a reader; so whatever stands before the last `@` of the
/// text is looked at.
pub(super) fn refuse_user(rest: &str, scheme: Scheme) -> Result<(), AddressError> {
    let Some((user, _)) = rest.rsplit_once('@') else { return Ok(()) };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match (user.contains(':'), authority.contains('@')) {
        (true, true) => Err(AddressError::Password),
        (false, true) if !scheme.has_users() => Err(AddressError::User),
        // `user:pa/ss@host`: what would be the port is no number.
        (true, false) if !has_numeric_port(authority) => Err(AddressError::Password),
        _ => Ok(()),
    }
}

pub(super) fn has_numeric_port(authority: &str) -> bool {
    if authority.starts_with('[') {
        return true;
    }
    authority.split_once(':').is_none_or(|(_, port)| port.parse::<u16>().is_ok())
}

pub(super) fn place(
    kind: Kind,
    authority: &str,
    socket: Option<String>,
) -> Result<Place, AddressError> {
    match (kind.is_socket, socket) {
        (true, _) if !authority.is_empty() => Err(AddressError::HostOfSocket),
        (true, Some(path)) if !path.is_empty() => Ok(Place::Socket(path.into())),
        (true, _) => Err(AddressError::NoSocket),
        (false, Some(_)) => Err(AddressError::Parameter("socket".to_owned())),
        (false, None) => host(authority, kind.scheme),
    }
}

pub(super) fn host(authority: &str, scheme: Scheme) -> Result<Place, AddressError> {
    let (name, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (name, after) = rest.split_once(']').ok_or(AddressError::Brackets)?;
            let port = after.strip_prefix(':');
            if port.is_none() && !after.is_empty() {
                return Err(AddressError::Brackets);
            }
            (name, port)
        }
        None if authority.matches(':').count() > 1 => return Err(AddressError::Brackets),
        None => match authority.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (authority, None),
        },
    };
    let name = unescape(name)?;
    if name.is_empty() {
        return Err(AddressError::NoHost);
    }
    Ok(Place::Host { name, port: port.map_or(Ok(scheme.port()), number)? })
}

pub(super) fn number(port: &str) -> Result<u16, AddressError> {
    let wrong = || AddressError::Port(port.to_owned());
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse().ok().filter(|&port| port > 0 && digits);
    port.ok_or_else(wrong)
}

pub(super) fn export(path: &str) -> Result<String, AddressError> {
    let name = unescape(path)?;
    if name.len() > EXPORT_BYTES_MAX { Err(AddressError::Long) } else { Ok(name) }
}

/// The path of a file, of so many parts at least.
pub(super) fn file(path: &str, parts_min: usize) -> Result<String, AddressError> {
    files(&unescape(path)?, parts_min)
}

/// The same without escapes. Empty parts mean nothing.
pub(super) fn files(path: &str, parts_min: usize) -> Result<String, AddressError> {
    let parts: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
    if parts.len() < parts_min || path.ends_with('/') {
        return Err(AddressError::File);
    }
    if parts.iter().any(|part| matches!(*part, "." | "..")) {
        return Err(AddressError::Dots);
    }
    if path.len() > EXPORT_BYTES_MAX { Err(AddressError::Long) } else { Ok(parts.join("/")) }
}

pub(super) fn nfs_version(value: String) -> Result<NfsVersion, AddressError> {
    match &*value {
        "3" => Ok(NfsVersion::V3),
        "4" => Ok(NfsVersion::V4),
        _ => Err(AddressError::Value(value, "version", "3 or 4")),
    }
}

pub(super) fn is_required(value: String, name: &'static str) -> Result<bool, AddressError> {
    match &*value {
        "required" => Ok(true),
        _ => Err(AddressError::Value(value, name, "required")),
    }
}

/// `iqn.../lun`. The name's signs are those of RFC 3722, of which none has to be escaped.
pub(super) fn target_and_lun(path: &str) -> Result<(String, u16), AddressError> {
    let (target, lun) = path.rsplit_once('/').ok_or(AddressError::Lun)?;
    let is_named = ["iqn.", "eui.", "naa."].iter().any(|kind| target.starts_with(kind));
    let plain = |sign: char| sign.is_alphanumeric() || "-.:".contains(sign);
    let is_number = !lun.is_empty() && lun.bytes().all(|byte| byte.is_ascii_digit());
    let lun = lun.parse().ok().filter(|&lun| is_number && lun <= LUN_MAX);
    match lun {
        Some(lun) if is_named && target.len() <= 223 && target.chars().all(plain) => {
            Ok((target.to_owned(), lun))
        }
        _ => Err(AddressError::Lun),
    }
}

pub(super) fn unescape(text: &str) -> Result<String, AddressError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
        let (high, low) = digit().zip(digit()).ok_or(AddressError::Escape)?;
        bytes.push(u8::try_from(high * 16 + low).expect("two hexadecimal digits are a byte"));
    }
    let text = String::from_utf8(bytes).map_err(|_| AddressError::Escape)?;
    if text.contains('\0') { Err(AddressError::Escape) } else { Ok(text) }
}

pub(super) fn escape(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/:+,".contains(&byte);
    let written = text.bytes().map(|byte| match byte {
        byte if plain(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    written.collect()
}
