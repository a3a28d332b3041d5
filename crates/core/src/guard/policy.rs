//! What the machine's administrator allows: a file of root's that no option, argument or variable changes.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use fathom_sys::contract::file::{FileFacts, FileKind};
use fathom_sys::held::Held;
use fathom_sys::places::{folder_of, real_path};
use serde_json::Value;

use super::{DeviceLabel, Finding};

/// Where the policy stands. No variable and no option names another place: who tests with another policy
/// mounts it there.
pub const PLACE: &str = "/etc/fathom/policy.toml";
/// No policy is longer.
const BYTES_MAX: u64 = 1 << 20;

/// What a run may write to on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Data of others are never written over.
    forbids_overwrite: bool,
    /// Only what this tool has made, and what is empty, is written.
    only_made: bool,
    /// Block devices that may be written; all that have leave, if absent.
    devices: Option<Vec<String>>,
    /// Files, and all below directories, that are never written.
    pub protect: Vec<PathBuf>,
    /// What cannot be seen is refused.
    pub strict: bool,
    /// Why the policy cannot be followed, so that nothing is written.
    fault: Option<String>,
}

impl Policy {
    /// The policy of this machine; one that allows all if there is none.
    #[must_use]
    pub fn of_this_machine() -> Self {
        Self::at(Path::new(PLACE))
    }

    /// The policy in a file. One that cannot be read, or that others than root may have written, allows
    /// nothing.
    fn at(place: &Path) -> Self {
        match read(place) {
            Ok(None) => Self::default(),
            Ok(Some(text)) => Self::parse(&text).unwrap_or_else(Self::faulty),
            Err(why) => Self::faulty(why),
        }
    }

    fn faulty(why: String) -> Self {
        Self { fault: Some(why), ..Self::default() }
    }

    /// Reads the lines of a policy: keys with a string, a list of strings, `true` or `false`.
    fn parse(text: &str) -> Result<Self, String> {
        let mut policy = Self::default();
        for (key, value) in entries(text)? {
            let wrong = || format!("{key} = {value} is not understood");
            let texts = || -> Option<Vec<String>> {
                let list = value.as_array()?.iter();
                list.map(|one| one.as_str().map(str::to_owned)).collect()
            };
            match (key.as_str(), value.as_str()) {
                ("overwrite", Some("forbid")) => policy.forbids_overwrite = true,
                ("overwrite", Some("allow")) => policy.forbids_overwrite = false,
                ("write", Some("only-made")) => policy.only_made = true,
                ("write", Some("any")) => policy.only_made = false,
                ("strict", _) => policy.strict = value.as_bool().ok_or_else(wrong)?,
                ("devices", _) => policy.devices = Some(texts().ok_or_else(wrong)?),
                ("protect", _) => {
                    let paths = texts().ok_or_else(wrong)?;
                    if let Some(relative) = paths.iter().find(|path| !path.starts_with('/')) {
                        return Err(format!("{relative:?} in protect does not begin with a slash"));
                    }
                    policy.protect = paths.into_iter().map(PathBuf::from).collect();
                }
                ("overwrite" | "write", _) => return Err(wrong()),
                _ => {
                    return Err(format!(
                        "there is no key {key:?}: overwrite, write, devices, protect and strict are known"
                    ));
                }
            }
        }
        Ok(policy)
    }

    /// Whether data of others are never written over.
    #[must_use]
    pub fn forbids_overwriting(&self) -> bool {
        self.forbids_overwrite || self.only_made
    }

    /// Why nothing at this path may be written, whatever it is, as a clause.
    #[must_use]
    pub fn forbids(&self, path: &Path) -> Option<String> {
        if let Some(fault) = &self.fault {
            return Some(format!(
                "the policy of this machine cannot be followed, so that nothing is written: {PLACE}: {fault}"
            ));
        }
        let folder = self.protect.iter().find(|folder| lies_below(path, folder))?;
        Some(policy_protects(folder, "it lies below that"))
    }

    /// Why a block device may not be written, as a clause.
    #[must_use]
    pub fn forbids_device(&self, label: &DeviceLabel) -> Option<String> {
        if self.only_made {
            let why = "a block device is not made by this tool";
            return Some(policy_says("write = \"only-made\"", why));
        }
        let allowed = self.devices.as_ref()?;
        let is_allowed = label.is_allowed_by(allowed) || allowed.contains(&label.path);
        let why = "the device is not among those that may be written";
        (!is_allowed).then(|| policy_says("devices", why))
    }

    /// A finding that permission would lift, if this policy gives none.
    #[must_use]
    pub fn applied(&self, found: Finding) -> Finding {
        let why = match &found {
            Finding::FileWithData(_)
            | Finding::ServedFileWithData(..)
            | Finding::FileUntold
            | Finding::DeviceWithData(..)
            | Finding::DeviceUnread(..) => self.forbids_to_overwrite(&found.to_string()),
            _ => None,
        };
        why.map_or(found, Finding::Forbidden)
    }

    /// Why data of others may not be written over, as a clause; `what` was found.
    #[must_use]
    pub fn forbids_to_overwrite(&self, what: &str) -> Option<String> {
        let key = match (self.only_made, self.forbids_overwrite) {
            (true, _) => "write = \"only-made\"",
            (_, true) => "overwrite = \"forbid\"",
            _ => return None,
        };
        Some(policy_says(key, what))
    }
}

/// That the policy protects a folder, and what that has to do with a target, as a clause.
pub(super) fn policy_protects(folder: &Path, why: &str) -> String {
    policy_says(&format!("protect = [\"{}\"]", folder.display()), why)
}

fn policy_says(key: &str, why: &str) -> String {
    format!("the policy of this machine forbids it ({key} in {PLACE}): {why}")
}

/// The text of a policy that nobody but root may have written; nothing if there is none.
fn read(place: &Path) -> Result<Option<String>, String> {
    let words = |error: io::Error| format!("it cannot be read: {error}");
    let held = match Held::take(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = folder_of(place);
            return match (fs::symlink_metadata(place), fs::symlink_metadata(folder)) {
                (Ok(_), _) => Err("it is a link to what is not there".to_owned()),
                (_, Ok(_)) if fs::metadata(folder).is_err() => {
                    Err("its directory is a link to what is not there".to_owned())
                }
                _ => Ok(None),
            };
        }
        held => held.map_err(words)?,
    };
    let found = held.metadata(place).map_err(words)?;
    trusted(&found, "it")?;
    let folder = fs::metadata(folder_of(place)).map_err(words)?;
    trusted(&folder, "its directory")?;
    let file: File = held.open_to_read(place).map_err(words)?;
    let mut text = String::new();
    file.take(BYTES_MAX).read_to_string(&mut text).map_err(words)?;
    Ok(Some(text))
}

fn trusted(found: &Metadata, subject: &str) -> Result<(), String> {
    const OTHERS_WRITE: u32 = 0o022;
    if found.owner() != 0 {
        return Err(format!("{subject} belongs to account {} instead of root", found.owner()));
    }
    if found.mode() & OTHERS_WRITE != 0 {
        return Err(format!("{subject} may be written by others than root (chmod go-w)"));
    }
    // Of a folder it is asked, too: nobody else may put a policy there.
    if !matches!(found.kind(), FileKind::File | FileKind::Folder) {
        return Err(format!("{subject} is not a regular file"));
    }
    Ok(())
}

/// Keys and values of the lines of a policy, which are a part of TOML: comments, and lists over several
/// lines.
fn entries(text: &str) -> Result<Vec<(String, Value)>, String> {
    let mut found: Vec<(String, Value)> = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let line = without_comment(line);
        if line.is_empty() {
            continue;
        }
        let at = |what: &str| format!("line {}: {what}", number + 1);
        let (key, value) = line.split_once('=').ok_or_else(|| at("there is no key = value"))?;
        let mut value = value.trim().to_owned();
        while value.starts_with('[') && !value.ends_with(']') {
            let (_, more) = lines.next().ok_or_else(|| at("the list has no end"))?;
            value.push_str(without_comment(more));
        }
        // What stands in such values is the same in JSON, but for a comma before the end of a list.
        let value = value
            .strip_suffix(']')
            .map_or(value.clone(), |list| format!("{}]", list.trim_end().trim_end_matches(',')));
        let key = key.trim().to_owned();
        if found.iter().any(|(known, _)| *known == key) {
            return Err(at("the key stands there twice"));
        }
        let value = serde_json::from_str(&value).map_err(|_| at("the value is not understood"))?;
        found.push((key, value));
    }
    Ok(found)
}

/// A line up to a `#` that stands in no string.
fn without_comment(line: &str) -> &str {
    let mut in_text = false;
    let end = line.char_indices().find(|(_, one)| {
        in_text ^= *one == '"';
        *one == '#' && !in_text
    });
    line[..end.map_or(line.len(), |(at, _)| at)].trim()
}

/// Whether a path lies below a directory, or is it, by whatever name.
pub(super) fn lies_below(path: &Path, folder: &Path) -> bool {
    let number = |path: &Path| fs::metadata(path).ok().map(|found| found.number());
    let Some(wanted) = number(folder) else { return path.starts_with(folder) };
    let real = real_path(path);
    let parent = fs::canonicalize(folder_of(&real)).unwrap_or_else(|_| folder_of(&real).to_owned());
    number(&real) == Some(wanted) || parent.ancestors().any(|one| number(one) == Some(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        Policy::parse(text).expect_err(text)
    }

    #[test]
    fn all_keys_are_read() {
        let text = "# of this site\noverwrite = \"forbid\"  # never\nwrite = \"only-made\"\n\
                    strict = true\ndevices = []\nprotect = [\n  \"/srv/db\", # theirs\n  \"/a#b\",\n]\n";
        let policy = Policy::parse(text).expect("a policy");
        let expected = Policy {
            forbids_overwrite: true,
            only_made: true,
            devices: Some(Vec::new()),
            protect: vec!["/srv/db".into(), "/a#b".into()],
            strict: true,
            fault: None,
        };
        assert_eq!(policy, expected);
        assert_eq!(Policy::parse(""), Ok(Policy::default()));
    }

    #[test]
    fn what_is_not_understood_is_told_and_nothing_is_written() {
        for (text, words) in [
            ("overwite = \"forbid\"", "no key \"overwite\""),
            ("overwrite = \"never\"", "not understood"),
            ("overwrite = forbid", "line 1"),
            ("strict = \"yes\"", "not understood"),
            ("strict", "no key = value"),
            ("protect = [\"a\"]", "slash"),
            ("protect = [\"/a\"", "no end"),
            ("devices = [1]", "not understood"),
            ("strict = true\nstrict = false", "twice"),
            ("[table]\n", "no key = value"),
        ] {
            assert!(fault(text).contains(words), "{text}: {}", fault(text));
        }
        let policy = Policy::faulty("line 1".to_owned());
        assert!(policy.forbids(Path::new("/any")).is_some_and(|why| why.contains(PLACE)));
    }

    #[test]
    fn only_a_file_of_roots_is_followed() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().expect("a temporary directory");
        let place = home.path().join("policy.toml");
        assert_eq!(Policy::at(&place), Policy::default());
        fs::write(&place, "strict = true").expect("a file");
        fs::set_permissions(&place, fs::Permissions::from_mode(0o666)).expect("a mode");
        assert!(Policy::at(&place).fault.is_some());
        fs::set_permissions(&place, fs::Permissions::from_mode(0o644)).expect("a mode");
        let is_root = fs::metadata(&place).expect("metadata").owner() == 0;
        assert_eq!(Policy::at(&place).fault.is_none(), is_root);
    }

    #[test]
    fn all_below_a_directory_is_protected_by_any_name() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let (folder, link) = (home.path().join("db"), home.path().join("link"));
        fs::create_dir(&folder).expect("a folder");
        std::os::unix::fs::symlink(&folder, &link).expect("a link");
        fs::write(folder.join("t"), "x").expect("a file");
        for path in [folder.join("t"), link.join("t"), link.join("new"), folder.clone()] {
            assert!(lies_below(&path, &folder), "{}", path.display());
        }
        assert!(!lies_below(&home.path().join("t"), &folder));
    }
}
