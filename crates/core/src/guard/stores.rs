//! Stores of results that the lab of this user keeps: never written by a load, whoever starts it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The default store, and the one that the environment names, if they are files. The rule is that of
/// `python/fathom/store/where.py`.
pub(super) fn of_this_user() -> Vec<PathBuf> {
    of(|name| {
        let set = env::var_os(name).filter(|value| !value.is_empty());
        // Without the variable, the lab asks the list of accounts.
        let home = || (name == "HOME").then(env::home_dir).flatten().map(OsString::from);
        set.or_else(home)
    })
}

fn of(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let home = variable("HOME").map(PathBuf::from);
    let data = variable("XDG_DATA_HOME").map(PathBuf::from);
    // The folder of the standard (XDG base directories) is looked at even where another one is set.
    let folders = [data, home.as_ref().map(|home| home.join(".local/share"))];
    let defaults = folders.into_iter().flatten().map(|folder| folder.join("fathom/runs.sqlite"));
    let named = variable("FATHOM_STORE").map(|named| files(&named, home.as_deref()));
    defaults.chain(named.into_iter().flatten()).collect()
}

/// The files that an address stands for, the same one twice perhaps; none for a server.
fn files(address: &OsString, home: Option<&Path>) -> Vec<PathBuf> {
    let text = address.to_string_lossy();
    if let Some(path) = text.strip_prefix("sqlite:///") {
        let path = path.split('?').next().unwrap_or(path);
        return vec![PathBuf::from(path), PathBuf::from(decoded(path))];
    }
    match (text.strip_prefix("~/"), home) {
        _ if text.contains("://") => Vec::new(),
        (Some(rest), Some(home)) => vec![home.join(rest)],
        _ => vec![PathBuf::from(address)],
    }
}

/// A part of an address without its escapes (RFC 3986, 2.1).
fn decoded(text: &str) -> String {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let digits = piece.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let (first, rest) = digits.map_or((b'%', piece), |byte| (byte, &piece[2..]));
        bytes.push(first);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(set: &[(&str, &str)]) -> Vec<String> {
        let value = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, v)| v.into());
        let mut found: Vec<String> =
            of(value).iter().map(|path| path.display().to_string()).collect();
        found.dedup();
        found
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

    /// The lab's store was "s t.db", and only "s%20t.db" was protected.
    #[test]
    fn an_escaped_address_stands_for_the_file_of_the_name_that_it_means() {
        let both = |address| found(&[("FATHOM_STORE", address)]);
        assert_eq!(both("sqlite:////a/s%20t.db"), ["/a/s%20t.db", "/a/s t.db"]);
        assert_eq!(both("sqlite:////a/100%.db"), ["/a/100%.db"]);
        assert_eq!(both("sqlite:////a/%e4%2"), ["/a/%e4%2", "/a/\u{fffd}%2"]);
    }

    /// Without HOME, nothing was protected, while the lab keeps its store where the list of accounts says.
    #[test]
    fn without_a_home_in_the_environment_that_of_the_account_counts() {
        let home = env::home_dir().expect("every account has one");
        assert!(of_this_user().contains(&home.join(".local/share/fathom/runs.sqlite")));
    }
}
