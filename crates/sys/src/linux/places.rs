//! Where a path leads, also where nothing is yet.

use std::fs;
use std::path::{Path, PathBuf};

/// As many links as the kernel follows in a row.
const LINKS_MAX: usize = 40;

/// The path with symbolic links followed in its last part, even if the last one leads to nothing yet.
#[must_use]
pub fn real_path(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(link) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(link);
    }
    path
}

/// The path with all symbolic links followed, so that two names of one file are one, also of a file that is
/// not there yet. None if there is no folder for it, or it has no name.
#[must_use]
pub fn whole_path(path: &Path) -> Option<PathBuf> {
    let to_be = || {
        let path = real_path(path);
        let folder = fs::canonicalize(folder_of(&path)).ok()?;
        Some(folder.join(path.file_name()?))
    };
    fs::canonicalize(path).ok().or_else(to_be)
}

/// The folder that a path lies in.
#[must_use]
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn all_names_of_what_is_not_there_yet_are_one() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| home.path().join(name);
        fs::create_dir(at("folder")).expect("a folder");
        symlink("folder", at("other")).expect("a link to the folder");
        symlink("../new", at("folder/link")).expect("a link to nothing");
        symlink("folder/link", at("longer")).expect("a link to that");
        let whole = whole_path(&at("new")).expect("a place");
        for name in ["folder/link", "other/link", "longer", "other/../new"] {
            assert_eq!(whole_path(&at(name)), Some(whole.clone()), "{name}");
        }
        assert_ne!(whole_path(&at("folder/new")), Some(whole));
        assert_eq!(whole_path(&at("none/new")), None);
    }

    #[test]
    fn links_in_a_circle_lead_nowhere_and_end() {
        let home = tempfile::tempdir().expect("a temporary directory");
        symlink("itself", home.path().join("itself")).expect("a link");
        assert!(whole_path(&home.path().join("itself")).is_some());
    }
}
