//! Addresses of targets, taken apart without looking anything up.

mod error;
mod parts;

use std::fmt;
use std::path::PathBuf;

pub use self::error::AddressError;
use self::parts::{
    Kind, escape, export, file, files, is_required, nfs_version, number, place, refuse_user,
    split_scheme, target_and_lun, unc, unescape,
};

/// The port that IANA gave to NBD.
const NBD_PORT: u16 = 10_809;
/// The port that IANA gave to iSCSI.
const ISCSI_PORT: u16 = 3260;
/// The port that IANA gave to NFS.
const NFS_PORT: u16 = 2049;
/// The port of SMB over TCP.
const SMB_PORT: u16 = 445;
/// The last LUN of flat addressing.
const LUN_MAX: u16 = 16_383;
/// The NBD protocol's limit for strings.
const EXPORT_BYTES_MAX: usize = 4096;

/// The protocol of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Network block device.
    Nbd,
    /// SCSI over TCP.
    Iscsi,
    /// Network file system.
    Nfs,
    /// Server message block, as Windows and Samba have it.
    Smb,
}

impl Scheme {
    fn name(self) -> &'static str {
        match self {
            Self::Nbd => "nbd",
            Self::Iscsi => "iscsi",
            Self::Nfs => "nfs",
            Self::Smb => "smb",
        }
    }

    fn port(self) -> u16 {
        match self {
            Self::Nbd => NBD_PORT,
            Self::Iscsi => ISCSI_PORT,
            Self::Nfs => NFS_PORT,
            Self::Smb => SMB_PORT,
        }
    }

    /// How a client says who it is.
    fn login(self) -> &'static str {
        match self {
            Self::Nbd => "what a TLS server wants (nbds://), as the protocol knows no users",
            Self::Iscsi => "CHAP, with --credentials=FILE",
            Self::Nfs => "the number of this process's user (AUTH_SYS)",
            Self::Smb => "NTLMv2, with --credentials=FILE",
        }
    }

    /// Whether an address may name a user, whose password is never in it.
    pub(crate) fn has_users(self) -> bool {
        matches!(self, Self::Iscsi | Self::Smb)
    }

    /// Whether its targets are files, which may be created, resized and removed.
    #[must_use]
    pub fn has_files(self) -> bool {
        matches!(self, Self::Nfs | Self::Smb)
    }
}

/// A version of NFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NfsVersion {
    /// Version 3, with the mount protocol.
    V3,
    /// Version 4.2 or 4.1, whichever the server has.
    V4,
}

/// Where the server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A host, by name or number, and a port.
    Host {
        /// Name or number, an IPv6 one without brackets.
        name: String,
        /// TCP port.
        port: u16,
    },
    /// A unix socket of this machine.
    Socket(PathBuf),
}

/// A target's address. It never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Its protocol.
    pub scheme: Scheme,
    /// Where the server listens.
    pub place: Place,
    /// The export's name, which may be empty: the server's default. With iSCSI the target's name, with NFS
    /// the path of the file, with SMB share and path, with slashes.
    pub export: String,
    /// The number of the LUN of an iSCSI target; 0 otherwise.
    pub lun: u16,
    /// Whether the connection is encrypted; with SMB, whether it has to be.
    pub is_encrypted: bool,
    /// Whether messages of SMB have to be signed.
    pub is_signed: bool,
    /// A directory of PEM files for TLS.
    pub certificates: Option<PathBuf>,
    /// The name that the server's certificate has to be for, if it is not that of the host.
    pub verified_name: Option<String>,
    /// The version of NFS, where one is named; otherwise 4.
    pub nfs_version: Option<NfsVersion>,
    /// The port of the mount protocol of NFS 3, where one is named; otherwise the port mapper is asked.
    pub mount_port: Option<u16>,
    /// The user of SMB or iSCSI, where one is named; otherwise that of the credentials.
    pub user: Option<String>,
    /// The user's domain, likewise.
    pub domain: Option<String>,
}

impl Address {
    /// Whether a text is meant as an address that this crate knows; it may still be wrong.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        split_scheme(text).is_some_and(|(scheme, _)| Kind::of(scheme).is_some())
            || unc(text).is_some()
    }

    /// Takes an address apart.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        if let Some(path) = unc(text) {
            return Self::of_unc(path);
        }
        let (scheme, rest) = split_scheme(text).ok_or(AddressError::Scheme)?;
        let kind = Kind::of(scheme).ok_or(AddressError::Scheme)?;
        // A password may hold any sign, and is looked for first: no other message may quote a part of it.
        refuse_user(rest, kind.scheme)?;
        if rest.contains('#') {
            return Err(AddressError::Fragment);
        }
        let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = before.split_once('/').unwrap_or((before, ""));
        let mut address = Self::empty(kind.scheme);
        address.is_encrypted = kind.is_encrypted;
        (address.export, address.lun) = match kind.scheme {
            Scheme::Nbd => (export(path)?, 0),
            Scheme::Iscsi => target_and_lun(path)?,
            Scheme::Nfs => (file(path, 1)?, 0),
            Scheme::Smb => (file(path, 2)?, 0),
        };
        let authority = address.take_user(authority)?;
        let socket = address.take_parameters(query)?;
        address.place = place(kind, authority, socket)?;
        Ok(address)
    }

    fn empty(scheme: Scheme) -> Self {
        Self {
            scheme,
            place: Place::Socket(PathBuf::new()),
            export: String::new(),
            lun: 0,
            is_encrypted: false,
            is_signed: false,
            certificates: None,
            verified_name: None,
            nfs_version: None,
            mount_port: None,
            user: None,
            domain: None,
        }
    }

    /// Server, share and path with backslashes, in which no sign has another meaning.
    fn of_unc(path: &str) -> Result<Self, AddressError> {
        let path = path.replace('\\', "/");
        let (server, path) = path.split_once('/').unwrap_or((&path, ""));
        // IPv6 addresses have this form in such paths, since a colon is not allowed there.
        let literal = server.strip_suffix(".ipv6-literal.net");
        let name = match literal {
            Some(literal) => literal.replace('-', ":").replace('s', "%"),
            None => server.to_owned(),
        };
        if name.is_empty() {
            return Err(AddressError::NoHost);
        }
        let export = files(path, 2)?;
        let place = Place::Host { name, port: SMB_PORT };
        Ok(Self { place, export, ..Self::empty(Scheme::Smb) })
    }

    /// Takes `domain;user@` from the front; gives the rest.
    fn take_user<'a>(&mut self, authority: &'a str) -> Result<&'a str, AddressError> {
        let Some((user, rest)) = authority.rsplit_once('@') else { return Ok(authority) };
        let (domain, user) = match user.split_once(';') {
            Some((domain, user)) if self.scheme == Scheme::Smb => (Some(unescape(domain)?), user),
            _ => (None, user),
        };
        (self.domain, self.user) = (domain, Some(unescape(user)?));
        Ok(rest)
    }

    /// Takes the parameters; gives the socket's path.
    fn take_parameters(&mut self, query: &str) -> Result<Option<String>, AddressError> {
        let mut socket = None;
        for parameter in query.split('&').filter(|one| !one.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = unescape(value)?;
            match name {
                "socket" if self.scheme == Scheme::Nbd => socket = Some(value),
                "version" if self.scheme == Scheme::Nfs => {
                    self.nfs_version = Some(nfs_version(value)?);
                }
                "mountport" if self.scheme == Scheme::Nfs => {
                    self.mount_port = Some(number(&value)?);
                }
                "encryption" if self.scheme == Scheme::Smb => {
                    self.is_encrypted = is_required(value, "encryption")?;
                }
                "signing" if self.scheme == Scheme::Smb => {
                    self.is_signed = is_required(value, "signing")?;
                }
                "tls-certificates" if self.scheme == Scheme::Nbd => {
                    self.certificates = Some(value.into());
                }
                "tls-hostname" if self.scheme == Scheme::Nbd => self.verified_name = Some(value),
                "sec" => return Err(AddressError::Security(value, self.scheme.login())),
                _ => return Err(AddressError::Parameter(name.to_owned())),
            }
            if name.starts_with("tls-") && !self.is_encrypted {
                return Err(AddressError::NotEncrypted(name.to_owned()));
            }
        }
        Ok(socket)
    }

    /// Host and port, or the path of the socket, as messages name the server.
    #[must_use]
    pub fn server(&self) -> String {
        match &self.place {
            Place::Host { name, port } if name.contains(':') => format!("[{name}]:{port}"),
            Place::Host { name, port } => format!("{name}:{port}"),
            Place::Socket(path) => path.display().to_string(),
        }
    }

    /// What has to be typed for permission to write: the serial number, or `host/export:size`.
    #[must_use]
    pub fn token(&self, facts: &crate::Facts) -> String {
        let lun =
            if self.scheme == Scheme::Iscsi { format!("/{}", self.lun) } else { String::new() };
        let named = || format!("{}/{}{lun}:{}", self.server(), self.export, facts.size_bytes);
        facts.serial.clone().unwrap_or_else(named)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match (self.scheme, self.is_encrypted) {
            (Scheme::Nbd, true) => "nbds",
            (scheme, _) => scheme.name(),
        };
        let export = escape(&self.export);
        match &self.place {
            Place::Host { name, port } => {
                let name = escape(name).replace('/', "%2F");
                let name = if name.contains(':') { format!("[{name}]") } else { name };
                let user = self.user_words();
                write!(out, "{scheme}://{user}{name}:{port}/{export}")?;
                if self.scheme == Scheme::Iscsi {
                    write!(out, "/{}", self.lun)?;
                }
            }
            Place::Socket(path) => {
                write!(
                    out,
                    "{scheme}+unix:///{export}?socket={}",
                    escape(&path.to_string_lossy())
                )?;
            }
        }
        let mut mark = if matches!(self.place, Place::Socket(_)) { '&' } else { '?' };
        let directory = self.certificates.as_ref().map(|path| path.to_string_lossy().into_owned());
        let version = self.nfs_version.map(|version| match version {
            NfsVersion::V3 => "3".to_owned(),
            NfsVersion::V4 => "4".to_owned(),
        });
        let is_required = self.scheme == Scheme::Smb && self.is_encrypted;
        for (name, value) in [
            ("tls-certificates", directory),
            ("tls-hostname", self.verified_name.clone()),
            ("version", version),
            ("mountport", self.mount_port.map(|port| port.to_string())),
            ("encryption", is_required.then(|| "required".to_owned())),
            ("signing", self.is_signed.then(|| "required".to_owned())),
        ] {
            if let Some(value) = value {
                write!(out, "{mark}{name}={}", escape(&value))?;
                mark = '&';
            }
        }
        Ok(())
    }
}

impl Address {
    /// `domain;user@`, if a user is named.
    fn user_words(&self) -> String {
        let name = |text: &str| escape(text).replace('/', "%2F").replace(':', "%3A");
        let domain = self.domain.as_ref().map_or(String::new(), |domain| name(domain) + ";");
        self.user.as_ref().map_or(String::new(), |user| format!("{domain}{}@", name(user)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn server_and_export(text: &str) -> (String, String) {
        let address = Address::parse(text).unwrap();
        (address.server(), address.export)
    }

    #[test]
    fn hosts_ports_and_exports_are_taken_apart() {
        for (text, server, export) in [
            ("nbd://127.0.0.1/", "127.0.0.1:10809", ""),
            ("nbd://storage", "storage:10809", ""),
            ("NBD://storage:99/disk0", "storage:99", "disk0"),
            ("nbd://[::1]/a%20b", "[::1]:10809", "a b"),
            ("nbd://[fe80::1%25eth0]:5/x", "[fe80::1%eth0]:5", "x"),
            ("nbd://h//absolute", "h:10809", "/absolute"),
            ("nbd://h:1/user@mail:x", "h:1", "user@mail:x"),
            ("nbd+unix:///?socket=/run/a.sock", "/run/a.sock", ""),
            ("nbd+unix:///e/f?socket=/run/%C3%BC", "/run/ü", "e/f"),
        ] {
            assert_eq!(server_and_export(text), (server.to_owned(), export.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, error) in [
            ("ftp://h/share", AddressError::Scheme),
            (r"\\.\PhysicalDrive1", AddressError::Scheme),
            ("nfs://h/", AddressError::File),
            ("nfs://h/a/../b", AddressError::Dots),
            ("nfs://h/a/%2e%2e/b", AddressError::Dots),
            ("nfs://h/a?version=2", AddressError::Value("2".into(), "version", "3 or 4")),
            ("nfs://h/a?mountport=0", AddressError::Port("0".into())),
            ("nfs://anna@h/a", AddressError::User),
            ("nfs://h/a?encryption=required", AddressError::Parameter("encryption".into())),
            ("smb://h/share", AddressError::File),
            ("smb://h/share/", AddressError::File),
            ("smb://h/share/a?version=3", AddressError::Parameter("version".into())),
            (
                "smb://h/s/a?encryption=no",
                AddressError::Value("no".into(), "encryption", "required"),
            ),
            (r"\\h\share", AddressError::File),
            (r"\\h\share\a\..\b", AddressError::Dots),
            (r"\\", AddressError::NoHost),
            ("/dev/sdz", AddressError::Scheme),
            ("nbd://", AddressError::NoHost),
            ("nbd:///x", AddressError::NoHost),
            ("nbd://h:0/", AddressError::Port("0".into())),
            ("nbd://h:+5/", AddressError::Port("+5".into())),
            ("nbd://h:65536/", AddressError::Port("65536".into())),
            ("nbd://h:/", AddressError::Port(String::new())),
            ("nbd://::1/", AddressError::Brackets),
            ("nbd://[::1/", AddressError::Brackets),
            ("nbd://[::1]5/", AddressError::Brackets),
            ("nbd+unix:///x", AddressError::NoSocket),
            ("nbd+unix:///x?socket=", AddressError::NoSocket),
            ("nbd+unix://h/x?socket=/s", AddressError::HostOfSocket),
            ("nbd://h/?socket=/s", AddressError::Parameter("socket".into())),
            ("nbds://h/?tls=no", AddressError::Parameter("tls".into())),
            ("nfs://h/a?sec=krb5p", AddressError::Security("krb5p".into(), Scheme::Nfs.login())),
            ("smb://h/s/a?sec=krb5", AddressError::Security("krb5".into(), Scheme::Smb.login())),
            ("nbd://h/?tls-certificates=/x", AddressError::NotEncrypted("tls-certificates".into())),
            ("nbd://h/%4", AddressError::Escape),
            ("nbd://h/%+4", AddressError::Escape),
            ("nbd://h/%00", AddressError::Escape),
            ("nbd://h/%FF", AddressError::Escape),
            ("nbd://h/a#b", AddressError::Fragment),
            ("nbd://anna@h/", AddressError::User),
        ] {
            assert_eq!(Address::parse(text), Err(error), "{text}");
        }
        let long = format!("nbd://h/{}", "x".repeat(EXPORT_BYTES_MAX + 1));
        assert_eq!(Address::parse(&long), Err(AddressError::Long));
    }

    #[test]
    fn targets_and_luns_are_taken_apart() {
        let address = Address::parse("iscsi://h/iqn.2003-01.org.example:disk/12").unwrap();
        assert_eq!((address.server().as_str(), address.lun), ("h:3260", 12));
        assert_eq!(address.export, "iqn.2003-01.org.example:disk");
        let facts = crate::Facts { size_bytes: 4096, ..crate::Facts::default() };
        assert_eq!(address.token(&facts), "h:3260/iqn.2003-01.org.example:disk/12:4096");
        for wrong in
            ["", "iqn.x", "iqn.x/", "iqn.x/a", "iqn.x/+1", "iqn.x/16384", "disk/1", "iqn.x y/1"]
        {
            let text = format!("iscsi://h/{wrong}");
            assert_eq!(Address::parse(&text), Err(AddressError::Lun), "{text}");
        }
        let parameter = Address::parse("iscsi://h/iqn.x/1?socket=/s");
        assert_eq!(parameter, Err(AddressError::Parameter("socket".into())));
        let password = Address::parse("iscsi://me:s3cret@h/iqn.x/1");
        assert_eq!(password, Err(AddressError::Password));
    }

    #[test]
    fn files_on_servers_are_taken_apart() {
        let address = Address::parse("nfs://h/a/b%20c?version=3&mountport=99").unwrap();
        assert_eq!((address.server().as_str(), &*address.export), ("h:2049", "a/b c"));
        assert_eq!((address.nfs_version, address.mount_port), (Some(NfsVersion::V3), Some(99)));
        let address =
            Address::parse("smb://corp;anna@h:1445/share/x/y?encryption=required").unwrap();
        assert_eq!((address.server().as_str(), &*address.export), ("h:1445", "share/x/y"));
        assert_eq!(
            (address.user.as_deref(), address.domain.as_deref()),
            (Some("anna"), Some("corp"))
        );
        assert!(address.is_encrypted);
        for text in [r"\\h\share\x%20#\y@z", r"\\?\UNC\h\share\x%20#\y@z"] {
            assert!(Address::is_meant(text));
            assert_eq!(server_and_export(text), ("h:445".into(), "share/x%20#/y@z".into()));
        }
        assert_eq!(server_and_export(r"\\fe80--1.ipv6-literal.net\s\f").0, "[fe80::1]:445");
        assert!(!Address::is_meant(r"\\.\PhysicalDrive1"));
    }

    #[test]
    fn passwords_are_refused_and_never_repeated() {
        for text in [
            "nbd://anna:s3cret@h/",
            "nbd://anna:s3/cret@h/",
            "nbd://anna:s3?cret@h/",
            "nbd://anna:s3#cret@h/",
            "nbd://:s3cret@h/",
            "smb://anna:s3cret@h/share/file",
            "smb://corp;anna:s3cret@h/share/file",
            "nfs://anna:s3cret@h/export/file",
            "nbds://anna:s3cret@@h:9/x",
        ] {
            let error = Address::parse(text).unwrap_err();
            assert_eq!(error, AddressError::Password, "{text}");
            assert!(error.to_string().contains("FATHOM_CREDENTIALS=FILE"));
            assert!(!format!("{error} {error:?}").contains("cret"), "{error}");
        }
    }

    #[test]
    fn the_token_is_the_serial_or_says_where_and_how_large() {
        let address = Address::parse("nbd://h/disk").unwrap();
        let facts = crate::Facts { size_bytes: 4096, ..crate::Facts::default() };
        assert_eq!(address.token(&facts), "h:10809/disk:4096");
        let facts = crate::Facts { serial: Some("S1".into()), ..facts };
        assert_eq!(address.token(&facts), "S1");
    }

    const BEGINNINGS: [&str; 7] =
        ["", "nbd://", "nbds+unix://", "iscsi://h/iqn.", "nfs://h/", "smb://", r"\\h\s/"];

    proptest! {
        #[test]
        fn no_text_breaks_the_parser_and_what_it_takes_is_written_back_the_same(
            begin in prop::sample::select(&BEGINNINGS),
            text in "[a-z;:/?=&%@\\[\\]#0-9é-]{0,40}",
        ) {
            let text = begin.to_owned() + &text;
            if let Ok(address) = Address::parse(&text) {
                prop_assert_eq!(Address::parse(&address.to_string()), Ok(address), "{}", text);
            }
        }

        #[test]
        fn every_export_and_socket_survives_being_written(
            export in "[^\\x00]{0,20}",
            socket in "[^\\x00]{1,20}",
        ) {
            let address = Address {
                place: Place::Socket(socket.into()),
                export,
                is_encrypted: true,
                certificates: Some("/a b".into()),
                verified_name: Some("x&y".into()),
                ..Address::empty(Scheme::Nbd)
            };
            prop_assert_eq!(Address::parse(&address.to_string()), Ok(address));
        }

        #[test]
        fn every_user_and_file_survives_being_written(
            user in "[^\\x00]{0,20}",
            domain in proptest::option::of("[^\\x00]{0,20}"),
            part in "[^\\x00/.]{1,20}",
        ) {
            let address = Address {
                place: Place::Host { name: "h".into(), port: 1 },
                export: format!("share/{part}"),
                user: Some(user),
                domain,
                ..Address::empty(Scheme::Smb)
            };
            prop_assert_eq!(Address::parse(&address.to_string()), Ok(address));
        }
    }
}
