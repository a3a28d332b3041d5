//! Stores of results that the lab of this user keeps: never written by a load, whoever starts it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The default store, and the one that the environment names, if they are files. The rule is that of
/// `python/fathom/store/where.py`.
pub(super) fn of_this_user() -> Vec<PathBuf> {
    of(|name| env::var_os(name).filter(|value| !value.is_empty()))
}

fn of(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let home = variable("HOME").map(PathBuf::from);
    let data = variable("XDG_DATA_HOME").map(PathBuf::from);
    // The folder of the standard (XDG base directories) is looked at even where another one is set.
    let folders = [data, home.as_ref().map(|home| home.join(".local/share"))];
    let defaults = folders.into_iter().flatten().map(|folder| folder.join("fathom/runs.sqlite"));
    let named = variable("FATHOM_STORE").and_then(|named| file(&named, home.as_deref()));
    defaults.chain(named).collect()
}

/// The file that an address stands for; none for a server.
fn file(address: &OsString, home: Option<&Path>) -> Option<PathBuf> {
    let text = address.to_string_lossy();
    if let Some(path) = text.strip_prefix("sqlite:///") {
        return Some(PathBuf::from(path.split('?').next().unwrap_or(path)));
    }
    match (text.strip_prefix("~/"), home) {
        _ if text.contains("://") => None,
        (Some(rest), Some(home)) => Some(home.join(rest)),
        _ => Some(PathBuf::from(address)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(set: &[(&str, &str)]) -> Vec<String> {
        let value = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, v)| v.into());
        of(value).iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn stores_are_where_the_lab_puts_them() {
        assert_eq!(found(&[("HOME", "/h")]), ["/h/.local/share/fathom/runs.sqlite"]);
        assert_eq!(
            found(&[("HOME", "/h"), ("XDG_DATA_HOME", "/d"), ("FATHOM_STORE", "~/s.db")]),
            ["/d/fathom/runs.sqlite", "/h/.local/share/fathom/runs.sqlite", "/h/s.db"]
        );
        assert_eq!(found(&[("FATHOM_STORE", "sqlite:////a/b.db?x=1")]), ["/a/b.db"]);
        assert_eq!(found(&[("FATHOM_STORE", "sqlite:///b.db")]), ["b.db"]);
        assert_eq!(found(&[("FATHOM_STORE", "postgresql://u@host/db")]), [""; 0]);
        assert_eq!(found(&[("FATHOM_STORE", "b.db")]), ["b.db"]);
    }
}
