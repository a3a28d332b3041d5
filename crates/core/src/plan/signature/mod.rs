//! Is this recognisable data? Asked before anything is written over.
//!
//! A test that writes destroys what the target holds, and a wrong path is quickly typed. What
//! carries the signature of a document, an archive, a database, a disk image or a file system,
//! or is plainly text, is taken for somebody's. Test data (zeros, random data, repeated
//! patterns) carries none. Every test here fixes at least 32 bits of the data, by its magic
//! number or by the structure behind it, so random data passes for something about once in
//! fifty million files.

mod audio;
mod formats;
mod magic;
mod openpgp;
mod samples;
mod storage;
mod structure;
mod text;

#[cfg(test)]
mod tests;

use std::fmt;

pub use samples::{Part, Samples};

/// What some data look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recognised {
    /// A description with its article, such as `a SQLite database`.
    pub name: &'static str,
}

impl fmt::Display for Recognised {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// What the sampled data look like; none if they may be test data.
#[must_use]
pub fn recognise(samples: &Samples) -> Option<Recognised> {
    if samples.hold_one_byte_value() {
        return None;
    }
    storage::recognise(samples)
        .or_else(|| magic::recognise(samples))
        .or_else(|| formats::recognise(samples))
        .or_else(|| structure::recognise(samples))
        .or_else(|| text::recognise(samples))
        .map(|name| Recognised { name })
}
