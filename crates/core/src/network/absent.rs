//! A build without clients: each target over the network is refused.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::{RemoteFacts, RoundTrip};
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

/// What the server says of a target.
pub(crate) fn look(_: &Remote, _: Duration) -> Result<RemoteFacts, Failure> {
    refused()
}

/// What the data of a target look like.
pub(crate) fn content(_: &Path, _: Duration) -> Result<Option<String>, Failure> {
    refused()
}

/// The shortest round trip.
pub(crate) fn floor(_: &Path, _: Duration) -> Result<RoundTrip, Failure> {
    refused()
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
