//! A build without clients: each target over the network is refused.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::{LoginWanted, Looking, RemoteFacts, RoundTrip};
use crate::errors::{Failure, Kind};
use crate::storage::Remote;

const WORDS: &str = "this build has no targets over the network (the feature `net`)";

/// Why nothing can be run on an address.
pub(crate) fn obstacle(remote: &Remote) -> Option<(String, String)> {
    let what = format!("is {}, and {WORDS}", remote.protocol.serves());
    Some((what, remote.protocol.by_a_path().to_owned()))
}

fn refused<T>() -> Result<T, Failure> {
    Err(Failure::new(Kind::Unsupported, WORDS))
}

/// The server of an address.
pub(crate) fn server(_: &Path) -> Option<String> {
    None
}

/// Uses the credentials of a file.
pub(crate) fn use_credentials(file: Option<&Path>) -> Result<(), Failure> {
    if file.is_some() { refused() } else { Ok(()) }
}

/// Checks a file of credentials.
pub fn check_credentials(_: &Path) -> Result<(), Failure> {
    refused()
}

/// Logs in.
pub fn log_in(_: &str, _: Vec<u8>) {}

/// Whether a password is wanted.
#[must_use]
pub fn login_wanted(_: &Remote) -> Option<LoginWanted> {
    None
}

/// What the server says of a target.
pub(crate) fn look(_: &Remote, _: Looking) -> Result<RemoteFacts, Failure> {
    refused()
}

/// What the data of a target look like.
pub(crate) fn content(_: &Path, _: Duration, _: &dyn Fn()) -> Result<Option<String>, Failure> {
    refused()
}

/// What the data of a file are called.
pub(crate) fn name(_: &Path, _: Duration, _: u64, _: &dyn Fn()) -> Result<Option<String>, Failure> {
    refused()
}

/// The shortest round trip.
pub(crate) fn floor(
    _: &Path,
    _: Duration,
    _: &dyn Fn() -> bool,
) -> Result<Option<RoundTrip>, Failure> {
    refused()
}

/// A file of a share or an export.
#[derive(Debug)]
pub(crate) struct ServedFile;

impl ServedFile {
    /// Opens it.
    pub(crate) fn open(_: &Path, _: Duration) -> Result<Option<Self>, Failure> {
        refused()
    }

    /// Makes it.
    pub(crate) fn create(_: &Path, _: Duration) -> Result<Self, Failure> {
        refused()
    }

    /// What the server knows it by.
    #[expect(clippy::unused_self, reason = "there is none of these")]
    pub(crate) fn handle(&self) -> Option<Vec<u8>> {
        None
    }

    /// Its size.
    #[expect(clippy::unused_self, reason = "there is none of these")]
    pub(crate) fn size_bytes(&self) -> u64 {
        0
    }

    /// Fills a buffer.
    #[expect(clippy::unused_self, reason = "there is none of these")]
    pub(crate) fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Err(io::Error::other(WORDS))
    }

    /// Gives it another size.
    #[expect(clippy::unused_self, reason = "there is none of these")]
    pub(crate) fn resize(&self, _: u64) -> Result<(), Failure> {
        refused()
    }

    /// Brings what was written to stable storage.
    #[expect(clippy::unused_self, reason = "there is none of these")]
    pub(crate) fn flush(&self) -> Result<(), Failure> {
        refused()
    }

    /// Writes a range.
    #[expect(clippy::unused_self, reason = "there is none of these")]
    pub(crate) fn write(
        &self,
        _: std::ops::Range<u64>,
        _: &dyn Fn(u64, &mut [u8]),
        _: &dyn Fn(u64) -> bool,
    ) -> Result<bool, Failure> {
        refused()
    }

    /// Removes it.
    #[expect(clippy::unused_self, reason = "there is none of these")]
    pub(crate) fn remove(self) -> Result<(), Failure> {
        refused()
    }

    /// Closes it.
    #[expect(clippy::unused_self, reason = "there is none of these")]
    pub(crate) fn close(self) {}
}

/// Reads of a target, one at a time.
#[derive(Debug)]
pub(crate) struct Reader;

impl Reader {
    /// Connects.
    pub(crate) fn open(_: &Path, _: Duration) -> Result<Self, Failure> {
        refused()
    }

    /// Fills a buffer.
    pub(crate) fn read_at(&mut self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Err(io::Error::other(WORDS))
    }
}
