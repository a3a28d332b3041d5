//! One run of a request: what is typed for it alone stands beside it.

use std::path::PathBuf;

use super::{JOURNAL_SUFFIX, Permission, Profile, Request, RunOptions};

/// A request that is to be run, once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Job {
    /// What to run.
    pub request: Request,
    /// How it was requested, in words: the command line as it was typed.
    pub command_line: String,
    /// What it may write.
    pub permission: Permission,
    /// User and password for servers are in this file.
    pub credentials: Option<PathBuf>,
    /// The JSON result also goes to this file.
    pub json_file: Option<PathBuf>,
    /// The figures of each second are reported while the run is under way.
    pub live: bool,
    /// They are reported as JSON, for another program, with all other events.
    pub live_as_json: bool,
    /// Another program makes the load: its targets are guarded, prepared and lent to it.
    pub is_lent: bool,
    /// The run ends itself unless it is renewed so often, in seconds.
    pub lease_s: Option<u32>,
}

impl Job {
    /// The load.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.request.profile
    }

    /// The settings of this run: a journal that has no name stands beside the JSON result, if there is one.
    #[must_use]
    pub fn options(&self) -> RunOptions {
        let mut options = self.request.options.clone();
        if let (true, None, Some(file)) = (options.verify, &options.verify_journal, &self.json_file)
        {
            let mut name = file.clone().into_os_string();
            name.push(format!(".{JOURNAL_SUFFIX}"));
            options.verify_journal = Some(name.into());
        }
        options
    }
}
