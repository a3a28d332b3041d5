//! What a target is called, read once where it comes in: a path, the number of a disk, or an address on the
//! network. Nothing here touches the machine.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a target is called. Its text is kept as it was given, so that it is written and read back without
/// loss. Whether a path leads to a file or a block device only a look can tell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Target {
    /// A path of this host.
    Path(String),
    /// A disk of this host by its number, such as `#3`.
    Disk {
        /// The number, from 0.
        number: usize,
        /// As it was given.
        name: String,
    },
    /// Something that another host serves.
    Network(Remote),
    /// What no target of any Linux host is called.
    Misnamed {
        /// As it was given.
        name: String,
        /// What is wrong with it.
        why: Misnomer,
    },
}

/// An address on the network.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Remote {
    /// The protocol by which it is reached.
    pub protocol: Protocol,
    /// As it was given. It may hold a password, and is shown through [`crate::shown`] alone.
    pub address: String,
}

/// A protocol by which another host serves storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// `\\server\share\path`, `smb://[domain;user@]host[:port]/share/path`.
    Smb,
    /// `iscsi://[user@]host[:port]/iqn.../lun`.
    Iscsi,
    /// `nfs://host/export/path`.
    Nfs,
    /// `nbd://host[:port]/export`, `nbd+unix:///export?socket=path`; `nbds://` and `nbds+unix://`, with TLS.
    Nbd,
}

impl Protocol {
    /// How addresses begin, without regard to case.
    const SCHEMES: [(&'static str, Self); 7] = [
        ("smb", Self::Smb),
        ("iscsi", Self::Iscsi),
        ("nfs", Self::Nfs),
        ("nbd", Self::Nbd),
        ("nbd+unix", Self::Nbd),
        ("nbds", Self::Nbd),
        ("nbds+unix", Self::Nbd),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Smb => "SMB",
            Self::Iscsi => "iSCSI",
            Self::Nfs => "NFS",
            Self::Nbd => "NBD",
        }
    }

    /// What it serves, with article.
    #[must_use]
    pub fn serves(self) -> &'static str {
        match self {
            Self::Smb => "a network share (SMB)",
            Self::Iscsi => "an iSCSI LUN",
            Self::Nfs => "an NFS export",
            Self::Nbd => "an NBD export",
        }
    }

    /// Whether users log in with a password.
    #[must_use]
    pub fn has_users(self) -> bool {
        matches!(self, Self::Smb | Self::Iscsi)
    }

    /// How it becomes a path of this host, as a clause.
    #[must_use]
    pub fn by_a_path(self) -> &'static str {
        match self {
            Self::Smb => "mount the share and name a file on it",
            Self::Iscsi => "log in with iscsiadm and name the block device",
            Self::Nfs => "mount the export and name a file on it",
            Self::Nbd => "connect it with nbd-client and name the block device",
        }
    }

    fn of(name: &str) -> Option<Self> {
        if name.starts_with(r"\\") {
            return Some(Self::Smb);
        }
        let (scheme, _) = name.split_once("://")?;
        let known = Self::SCHEMES.iter().find(|(known, _)| scheme.eq_ignore_ascii_case(known));
        known.map(|(_, protocol)| *protocol)
    }
}

/// What is wrong with the name of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Misnomer {
    /// It is empty.
    Empty,
    /// It stands for a target that the command line did not give (`*1`).
    Placeholder,
    /// It starts with a drive letter.
    Drive,
    /// It is a device name of Windows.
    WindowsDevice,
    /// It contains a NUL byte.
    Nul,
}

impl Misnomer {
    /// What is wrong, as the end of a sentence, and what to do instead, as a clause.
    #[must_use]
    pub fn in_words(self) -> (&'static str, &'static str) {
        match self {
            Self::Empty => ("is not a name of a file or device", "name a file or a block device"),
            Self::Placeholder => (
                "is a placeholder of the profile, and the command line gives no target for it",
                "give the targets after the profile on the command line, one for each placeholder",
            ),
            Self::Drive => (
                "starts with a drive letter: drive letters are Windows'",
                "name the partition's device, such as /dev/sda1, or a file on a mounted file system",
            ),
            Self::WindowsDevice => (
                "is a device name of Windows",
                "name the disk by its device, such as /dev/sda, or by its number, such as #0",
            ),
            Self::Nul => ("contains a NUL byte", "correct the name"),
        }
    }

    fn of(name: &str) -> Option<Self> {
        match name {
            "" => Some(Self::Empty),
            _ if is_placeholder(name) => Some(Self::Placeholder),
            _ if is_drive(name) => Some(Self::Drive),
            _ if is_device_of_windows(name) => Some(Self::WindowsDevice),
            _ if name.contains('\0') => Some(Self::Nul),
            _ => None,
        }
    }
}

/// `*1`, `*2` and so on.
fn is_placeholder(name: &str) -> bool {
    let digits = name.strip_prefix('*').unwrap_or("");
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// `\\.\` or `\\?\` with the name of a device; `\\?\UNC\` begins the long form of a share's path.
fn is_device_of_windows(name: &str) -> bool {
    let is_long = name.starts_with(r"\\?\") && !name.starts_with(r"\\?\UNC\");
    is_long || name.starts_with(r"\\.\")
}

/// `C:` alone or with a path in the manner of Windows behind it.
fn is_drive(name: &str) -> bool {
    let mut letters = name.chars();
    let is_drive = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic())
        && letters.next() == Some(':');
    is_drive && matches!(letters.next(), None | Some('\\' | '/'))
}

/// The number in a name such as `#3`.
fn disk_number(name: &str) -> Option<usize> {
    let digits = name.strip_prefix('#')?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    // A number beyond every disk is still a number, and no file name.
    (is_number && !digits.is_empty()).then(|| digits.parse().unwrap_or(usize::MAX))
}

impl Target {
    /// As it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Path(name) | Self::Disk { name, .. } | Self::Misnamed { name, .. } => name,
            Self::Network(remote) => &remote.address,
        }
    }

    /// The address, if another host serves it.
    #[must_use]
    pub fn remote(&self) -> Option<&Remote> {
        match self {
            Self::Network(remote) => Some(remote),
            _ => None,
        }
    }

    /// Whether it is a file that another host serves.
    #[must_use]
    pub fn is_of_files(&self) -> bool {
        let protocol = self.remote().map(|remote| remote.protocol);
        matches!(protocol, Some(Protocol::Smb | Protocol::Nfs))
    }

    /// Whether users log in to its server with a password.
    #[must_use]
    pub fn has_users(&self) -> bool {
        self.remote().is_some_and(|remote| remote.protocol.has_users())
    }

    /// Whether it is a disk by its number.
    #[must_use]
    pub fn disk_number(&self) -> Option<usize> {
        match self {
            Self::Disk { number, .. } => Some(*number),
            _ => None,
        }
    }

    /// Why nothing can be run on it here whatever is there: the end of a sentence, and what to do instead.
    /// None if it may be a target.
    #[must_use]
    pub fn obstacle(&self) -> Option<(String, String)> {
        match self {
            Self::Path(_) | Self::Disk { .. } => None,
            Self::Network(remote) => crate::network::obstacle(remote),
            Self::Misnamed { why, .. } => {
                let (message, remedy) = why.in_words();
                Some((message.to_owned(), remedy.to_owned()))
            }
        }
    }
}

impl Default for Target {
    fn default() -> Self {
        Self::from(String::new())
    }
}

impl From<String> for Target {
    fn from(name: String) -> Self {
        if let Some(why) = Misnomer::of(&name) {
            return Self::Misnamed { name, why };
        }
        if let Some(number) = disk_number(&name) {
            return Self::Disk { number, name };
        }
        match Protocol::of(&name) {
            Some(protocol) => Self::Network(Remote { protocol, address: name }),
            None => Self::Path(name),
        }
    }
}

impl From<&str> for Target {
    fn from(name: &str) -> Self {
        Self::from(name.to_owned())
    }
}

impl From<Target> for String {
    fn from(target: Target) -> Self {
        match target {
            Target::Path(name) | Target::Disk { name, .. } | Target::Misnamed { name, .. } => name,
            Target::Network(remote) => remote.address,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_named_by_number() {
        let number = |name: &str| Target::from(name).disk_number();
        assert_eq!([number("#0"), number("#012")], [Some(0), Some(12)]);
        assert_eq!(number("#99999999999999999999999"), Some(usize::MAX));
        for path in ["#", "#1a", "1", "a#1", "#+1"] {
            assert_eq!(Target::from(path), Target::Path(path.to_owned()));
        }
    }

    #[test]
    fn each_form_of_an_address_has_its_protocol() {
        for (name, protocol) in [
            (r"\\server\share\t.dat", Protocol::Smb),
            ("smb://corp;me@host:445/share/t.dat", Protocol::Smb),
            ("SMB://host/share/t.dat", Protocol::Smb),
            ("iscsi://host/iqn.2001-04.com.example:x/1", Protocol::Iscsi),
            ("nfs://host/export/t.dat", Protocol::Nfs),
            ("nbd://host:10809/export", Protocol::Nbd),
            ("nbd+unix:///export?socket=/run/nbd.sock", Protocol::Nbd),
            ("nbds://host/export", Protocol::Nbd),
        ] {
            let target = Target::from(name);
            let Target::Network(remote) = &target else { panic!("{name}: {target:?}") };
            assert_eq!(remote.protocol, protocol, "{name}");
            let obstacle = target.obstacle().map(|(message, _)| message);
            assert!(obstacle.is_none_or(|it| it.contains(protocol.name())), "{name}");
        }
    }

    /// The clients know both forms, but a socket with TLS was taken for a path of this host, and the long
    /// form of a share's path for a device of Windows.
    #[test]
    fn a_socket_with_tls_was_a_path_and_a_long_path_of_a_share_a_device() {
        for (name, protocol) in [
            ("nbds+unix:///e?socket=/s&tls-hostname=h", Protocol::Nbd),
            (r"\\?\UNC\server\share\t.dat", Protocol::Smb),
        ] {
            let target = Target::from(name);
            assert_eq!(target.remote().map(|remote| remote.protocol), Some(protocol), "{name}");
            #[cfg(feature = "net")]
            assert_eq!(target.obstacle(), None, "{name}");
        }
        for device in [r"\\?\PhysicalDrive0", r"\\?\C:\t.dat"] {
            let why = Misnomer::WindowsDevice;
            assert_eq!(Target::from(device), Target::Misnamed { name: device.to_owned(), why });
        }
    }

    /// `{index}` was refused in a port, and taken in the name of a host.
    #[test]
    #[cfg(feature = "net")]
    fn a_port_that_each_host_of_a_fleet_fills_in_was_no_address() {
        let message = |name: &str| Target::from(name).obstacle().map(|(message, _)| message);
        for name in
            ["nbd://host:2400{index}/", "nbd://{host}:10809/", "iscsi://a:326{index}/iqn.x:y/1"]
        {
            assert_eq!(message(name), None, "{name}");
        }
        assert!(message("nbd://host:x{index}/").is_some_and(|it| it.contains("port 'x{index}'")));
    }

    #[test]
    #[cfg(feature = "net")]
    fn an_address_that_cannot_be_read_is_an_obstacle_and_its_password_is_not_told() {
        let message = |name: &str| Target::from(name).obstacle().map(|(message, _)| message);
        assert_eq!(message("nbd://host/export"), None);
        assert!(message("nbd://host:x/").is_some_and(|it| it.contains("port 'x'")));
        let told = message("nbd://anna:s3cret@host/").expect("a password");
        assert!(told.contains("FATHOM_CREDENTIALS") && !told.contains("s3cret"), "{told}");
    }

    #[test]
    fn a_path_that_only_resembles_an_address_stays_a_path() {
        for name in
            ["./smb://host/x", "smb:/host/x", "smb", "xsmb://h", "nbdx://h", "http://h", r"\x"]
        {
            assert_eq!(Target::from(name), Target::Path(name.to_owned()));
        }
    }

    #[test]
    fn what_no_target_is_called_is_known_and_every_text_is_kept() {
        for (name, why) in [
            ("", Misnomer::Empty),
            ("*1", Misnomer::Placeholder),
            ("C:", Misnomer::Drive),
            (r"c:\t.dat", Misnomer::Drive),
            (r"\\.\PhysicalDrive0", Misnomer::WindowsDevice),
            ("a\0b", Misnomer::Nul),
        ] {
            assert_eq!(Target::from(name), Target::Misnamed { name: name.to_owned(), why });
        }
        for name in ["", "*1", "#03", "/dev/x", r"\\s\h", "NBD://h/ x?y"] {
            assert_eq!(String::from(Target::from(name)), name);
            assert_eq!(Target::from(name).as_str(), name);
        }
    }
}
