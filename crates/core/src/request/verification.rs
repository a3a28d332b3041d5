//! A verification of what an earlier run has left, instead of a run.

use std::path::PathBuf;

use super::{FaultPolicy, ResultFormat};

/// A verification of what an earlier run has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyRequest {
    /// The command line as it was typed, with `diskspd` for the program.
    pub command_line: String,
    /// The journal of that run.
    pub journal: PathBuf,
    /// Its targets, if they have other names now.
    pub targets: Vec<String>,
    /// The form of the result.
    pub format: ResultFormat,
    /// User and password for servers are in this file.
    pub credentials: Option<PathBuf>,
    /// The JSON result also goes to this file.
    pub json_file: Option<PathBuf>,
    /// How long it waits for a target that hangs.
    pub faults: FaultPolicy,
}
