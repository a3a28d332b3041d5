//! A file of somebody's becomes a scratch file, because a person has said so.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use fathom_sys::identity;
use fathom_sys::lease::{self, Writers};

use super::mark::{self, Mark};
use crate::plan::Plan;
use crate::plan::guard::{self, Finding, Refusal, Refusals};
use crate::profile::RunOptions;

/// Marks each file that `plan` would write as one whose data may be lost, in the state in which it is; not a
/// byte of it is written. What is in use, protected or no file is refused, and then none is marked.
///
/// # Errors
/// If one of them cannot be marked.
pub fn adopt(plan: &Plan, options: &RunOptions) -> Result<(), Refusals> {
    let verdicts = guard::judge(plan, options).verdicts;
    let refuse = |(path, verdict): (_, guard::Verdict)| match verdict.finding {
        None | Some(Finding::FileWithData(_)) => None,
        Some(finding) => Some(Refusal { target: path, finding }),
    };
    let paths: Vec<_> = verdicts.keys().cloned().collect();
    let refusals: Vec<Refusal> = verdicts.into_iter().filter_map(refuse).collect();
    if !refusals.is_empty() {
        return Err(Refusals(refusals));
    }
    mark::let_time_pass();
    let mark = |path: &PathBuf| {
        let error = adopt_one(path).err()?;
        Some(Refusal { target: path.clone(), finding: Finding::Unreadable(error.to_string()) })
    };
    let failed: Vec<Refusal> = paths.iter().filter_map(mark).collect();
    mark::let_time_pass();
    if failed.is_empty() { Ok(()) } else { Err(Refusals(failed)) }
}

fn adopt_one(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() || identity::of_open(&file)? != identity::of(path)? {
        return Err(io::Error::other("it is not a regular file, or was replaced just now"));
    }
    let mark = Mark::adopted();
    mark.set(&file);
    if lease::writers(&file) == Writers::Some {
        mark.note(&file);
        return Err(io::Error::other("somebody has just opened it for writing"));
    }
    if Mark::of(&file).holds(&file)? {
        return Ok(());
    }
    Err(io::Error::other(
        "its file system keeps no extended attributes, or its time stamps are coarse",
    ))
}
