//! What is set for all connections of a run.

use std::path::PathBuf;
use std::time::Duration;

use crate::credentials::Credentials;

/// How to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The longest time for connecting and negotiating together, and for each single call that waits.
    pub timeout: Duration,
    /// The longest time for one handshake of TCP, if that is to be shorter: a host that comes back answers
    /// the next one sooner than the kernel repeats the first.
    pub handshake: Option<Duration>,
    /// The identifier of an iSCSI session that takes the place of one that was lost: the server then ends
    /// what it still has of the old one before it begins the new one (RFC 7143, 6.3.5).
    pub session: Option<u32>,
    /// Files for TLS; those that the address names come first.
    pub tls: TlsFiles,
    /// Who logs in, where a protocol has users.
    pub credentials: Option<Credentials>,
    /// How a file is opened, where a protocol has it.
    pub opening: Opening,
}

/// What is said of caches when a file is opened. SMB has both; with NFS nothing is said at the open, and each
/// write says it for itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Opening {
    /// No buffer of the server in between (`FILE_NO_INTERMEDIATE_BUFFERING`), as DiskSpd's -Su has it.
    pub is_unbuffered: bool,
    /// Each write reaches stable storage before it is answered (`FILE_WRITE_THROUGH`), as its -Sw has it.
    pub is_write_through: bool,
}

/// What is wanted of a file that an address names. Disks that are served are there, or are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// It is there.
    File,
    /// It is there, or its place is: the folder that it would be in.
    FileOrPlace,
    /// It is not there, and is made, empty.
    NewFile,
}

impl Wanted {
    pub(crate) const fn is_new(self) -> bool {
        matches!(self, Self::NewFile)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            handshake: None,
            session: None,
            tls: TlsFiles::default(),
            credentials: None,
            opening: Opening::default(),
        }
    }
}

/// PEM files for TLS. The server is always verified.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// Authorities that may have signed the server's certificate; those of the system if there is none.
    pub authorities: Option<PathBuf>,
    /// This client's certificate, where the server wants one.
    pub certificate: Option<PathBuf>,
    /// Its private key.
    pub key: Option<PathBuf>,
}

impl TlsFiles {
    /// The files of a directory as nbdkit, qemu and libnbd name them: `ca-cert.pem`, and `client-cert.pem`
    /// with `client-key.pem` if they are there.
    #[must_use]
    pub fn of_directory(directory: &std::path::Path) -> Self {
        let there = |name: &str| Some(directory.join(name)).filter(|path| path.exists());
        Self {
            authorities: Some(directory.join("ca-cert.pem")),
            certificate: there("client-cert.pem"),
            key: there("client-key.pem"),
        }
    }
}
