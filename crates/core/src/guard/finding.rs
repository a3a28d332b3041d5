//! Why a target is not written to, and what to do about it.

use std::fmt;
use std::path::PathBuf;

use super::token::DeviceLabel;
use super::uses::Use;
use crate::signature;

/// Why nothing was opened for writing: every target in question, not only the first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", in_lines(.0))]
pub struct Refusals(pub Vec<Refusal>);

impl Refusals {
    /// The devices and served files that lack nothing but leave, if that is all that stands against the run.
    #[must_use]
    pub fn only_lacking_leave<'a>(&'a self) -> Option<Vec<&'a DeviceLabel>> {
        let lacking = |refusal: &'a Refusal| match &refusal.finding {
            Finding::NeedsLeave(label) | Finding::ServedFileNeedsLeave(_, label) => Some(label),
            _ => None,
        };
        self.0.iter().map(lacking).collect()
    }
}

/// Why one target is not written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The path as the plan has it.
    pub target: PathBuf,
    /// What was found there.
    pub finding: Finding,
}

/// What was found in place of something that may be written over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// It is, or holds, what must never be written.
    Protected(Use),
    /// A device that somebody uses.
    DeviceInUse(Use),
    /// A file that somebody uses.
    FileInUse(Use),
    /// A file with data that are not ours; what they look like, if that is known.
    FileWithData(Option<String>),
    /// A file on another host with data that are not ours; what they look like, if that is known, and the
    /// option that it needs besides, if it was not given.
    ServedFileWithData(Option<String>, Option<String>),
    /// A file with data that may be ours, or somebody's: nothing proves it any more.
    FileUntold,
    /// A device with data that look like somebody's; what they look like, and the option that it needs
    /// besides, if it was not given.
    DeviceWithData(String, Option<String>),
    /// A device that may hold somebody's data where it cannot be read; why, in words, and the option that it
    /// needs besides, if it was not given.
    DeviceUnread(String, Option<String>),
    /// A device that was not named by what is written on it.
    NeedsLeave(DeviceLabel),
    /// A file on another host with data that are not ours and may be lost, which was not named; what they
    /// look like, if that is known.
    ServedFileNeedsLeave(Option<String>, DeviceLabel),
    /// Something that a test cannot write to; its kind, with article.
    WrongKind(&'static str),
    /// A file that sets something in the kernel; the file system that it lies on.
    KernelFile(&'static str),
    /// Something that could not be looked at; why, in words.
    Unreadable(String),
    /// A file that cannot be made a scratch file; why, in words.
    NotMarked(String),
    /// The policy of this machine gives no permission; why, with the key that says so.
    Forbidden(String),
    /// It is not certain that nobody else uses it, and that was not to be taken; what cannot be seen.
    Unseen(String),
}

impl Refusal {
    /// What to do about it, as one clause.
    #[must_use]
    pub fn remedy(&self) -> String {
        self.finding.remedy()
    }
}

impl Finding {
    /// What to do about it, as one clause.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Protected(_) => "name another target; no option overrides this".to_owned(),
            Self::DeviceInUse(_) => {
                "release the device first, or name another; no option overrides this".to_owned()
            }
            Self::FileInUse(_) => {
                "end that use first, or name another file; no option overrides this".to_owned()
            }
            Self::FileWithData(_) | Self::FileUntold => {
                "name another file, give --overwrite if its data may be lost, or make it a scratch file once \
                 with fathom prepare adopt"
                    .to_owned()
            }
            Self::ServedFileWithData(_, leave) => {
                let more =
                    leave.as_ref().map(|option| format!(" and {option}")).unwrap_or_default();
                format!("name another file, or give --overwrite{more} if its data may be lost")
            }
            Self::DeviceWithData(_, leave) | Self::DeviceUnread(_, leave) => {
                let more =
                    leave.as_ref().map(|option| format!(" and {option}")).unwrap_or_default();
                format!(
                    "name another device, or give --overwrite{more} if all data on it may be lost"
                )
            }
            Self::NeedsLeave(label) => {
                format!("give {} if all data on it may be lost", label.option())
            }
            Self::ServedFileNeedsLeave(_, label) => {
                format!("give {} besides if its data may be lost", label.option())
            }
            Self::WrongKind(_) => "name a regular file or a block device".to_owned(),
            Self::KernelFile(_) => {
                "name a file of a real file system; no option overrides this".to_owned()
            }
            Self::Unreadable(_) => {
                "use an account that may read it, so that its data are known to be safe".to_owned()
            }
            Self::NotMarked(_) => "use an account that may write to it, on a file system with extended \
                                   attributes, or give --overwrite to each run"
                .to_owned(),
            Self::Forbidden(_) => {
                "name another target, or ask who administers the machine; no option \
                                   overrides this"
                    .to_owned()
            }
            Self::Unseen(_) => {
                "run it where all of that can be seen, or leave --strict out".to_owned()
            }
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protected(how) => write!(out, "it is never written to: {how}"),
            Self::DeviceInUse(how) => write!(out, "the device is in use: {how}"),
            Self::FileInUse(how) => write!(out, "the file is in use: {how}"),
            Self::FileWithData(found)
            | Self::ServedFileWithData(found, _)
            | Self::ServedFileNeedsLeave(found, _) => {
                let what = signature::in_words(found.as_deref());
                write!(out, "the file {what}, and this run would write over it")
            }
            Self::FileUntold => {
                write!(out, "the file {}, and this run would write over it", signature::UNTOLD)
            }
            Self::DeviceUnread(why, _) => write!(
                out,
                "the device cannot be read everywhere that somebody's data would show ({why}), and this run \
                 would write over it"
            ),
            Self::DeviceWithData(found, _) => {
                write!(out, "the device looks like {found}, and this run would write over it")
            }
            Self::NeedsLeave(label) => {
                write!(out, "this run would write to the whole device ({})", label.in_words())
            }
            Self::WrongKind(kind) => write!(out, "it is {kind}, and this run would write to it"),
            Self::KernelFile(name) => {
                write!(out, "it is no storage but sets something in the kernel ({name})")
            }
            Self::Forbidden(why) => out.write_str(why),
            Self::Unseen(what) => {
                write!(out, "it is not certain that nobody uses it: {}", what.trim_end_matches('.'))
            }
            Self::NotMarked(why) => write!(out, "it cannot be made a scratch file: {why}"),
            Self::Unreadable(why) => {
                write!(out, "it cannot be examined before it is written: {why}")
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}; {}", self.target.display(), self.finding, self.remedy())
    }
}

fn in_lines(refusals: &[Refusal]) -> String {
    refusals.iter().map(Refusal::to_string).collect::<Vec<_>>().join("\n")
}
