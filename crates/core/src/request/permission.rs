//! What a person allows and forbids for one run. It is never stored, so that nothing repeats it unseen.

use std::path::PathBuf;

/// What a person allows and forbids for one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permission {
    /// Files and devices that hold data of others may be written.
    pub overwrite: bool,
    /// Block devices that may be written, each by what is written on it.
    pub allow_write: Vec<String>,
    /// Files, folders with all below them, and devices that must never be written, nor the devices that hold
    /// them. All of them are there.
    pub protect: Vec<PathBuf>,
    /// Stores of results that must never be written. They may not be there yet.
    pub stores: Vec<PathBuf>,
    /// What cannot be seen of those who may use a target is refused.
    pub strict: bool,
}
