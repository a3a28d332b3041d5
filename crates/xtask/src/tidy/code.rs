//! Rules for source files: lengths, calls that have a better place, and the fence around unsafe code.

use std::path::Path;

use super::words::has_word;
use super::{File, functions};

/// rustfmt keeps code to 100 columns; comments and strings, which it leaves alone, get ten more.
const LINE_LIMIT: usize = 110;
const FILE_LIMIT: usize = 600;
const FUNCTION_LIMIT: usize = 70;

/// Files of like entries, where length is harmless because every entry has the same shape.
const CATALOGUES: &[(&str, &str)] = &[
    (
        "crates/core/src/dialect/diskspd/flags/apply.rs",
        "one small function per option of the table",
    ),
    ("python/fathom/_request_parts.py", "one class per part of a request, generated"),
    ("scripts/guard_hunt.py", "one small function per step that may be drawn"),
];

/// A call that has a better place.
struct Banned {
    /// The call in pieces, so that this file does not find itself.
    pieces: &'static [&'static str],
    instead: &'static str,
    /// Beginnings of the paths where it may stand.
    allowed: &'static [&'static str],
}

const BANNED: &[Banned] = &[
    Banned {
        pieces: &["Instant", "::now"],
        instead: "take time from fathom_sys::clock",
        allowed: &[],
    },
    Banned {
        pieces: &["SystemTime", "::now"],
        instead: "take time from jiff, at the edge",
        allowed: &[],
    },
    Banned { pieces: &["process", "::exit"], instead: "return an ExitCode", allowed: &[] },
    Banned {
        pieces: &["print", "ln!"],
        instead: "return text; crates/cli/src/output.rs prints",
        allowed: &["crates/xtask/", "tests/"],
    },
    Banned {
        pieces: &["un", "safe {"],
        instead: "unsafe code belongs into crates/sys",
        allowed: &["crates/sys/"],
    },
    Banned {
        pieces: &["un", "safe fn"],
        instead: "unsafe code belongs into crates/sys",
        allowed: &["crates/sys/"],
    },
    Banned {
        pieces: &["un", "safe impl"],
        instead: "unsafe code belongs into crates/sys",
        allowed: &["crates/sys/"],
    },
];

/// What reads of a name or a path where it leads.
const READS_NAMES: &[&str] =
    &["Target::Network", "Target::from(", "Location::named(", "Address::parse("];

/// Where the core may read names besides its rooms `storage` and `network`: where a text comes in.
const TEXTS_COME_IN: &[(&str, &str)] = &[
    ("crates/core/src/doctor/targets.rs", "the target that the doctor is given"),
    ("crates/core/src/verify/pass.rs", "the targets that a journal names"),
];

/// Faults of a source file.
pub fn check(file: &File) -> Vec<String> {
    let mut faults = lengths(file);
    for (index, line) in file.text.lines().enumerate() {
        let faults_of_line = long_line(line).into_iter().chain(banned(&file.name, line));
        faults.extend(faults_of_line.map(|fault| format!("{}:{}: {fault}", file.name, index + 1)));
    }
    faults.extend(asks_one_system(file));
    faults.extend(reads_names(file));
    if must_forbid_unsafe(&file.name) && !file.text.contains("#![forbid(unsafe_code)]") {
        faults.push(format!("{}:1: `#![forbid(unsafe_code)]` is missing", file.name));
    }
    faults
}

/// Where the core asks one operating system instead of all. Tests may: they make links and odd names.
fn asks_one_system(file: &File) -> Vec<String> {
    in_the_core(file, |line| line.contains("std::os::"), "ask through fathom_sys::contract")
}

/// Where the core reads again where a target lies, instead of asking the location in its plan.
fn reads_names(file: &File) -> Vec<String> {
    let rooms = ["crates/core/src/storage/", "crates/core/src/network/"];
    let may = rooms.iter().any(|room| file.name.starts_with(room))
        || TEXTS_COME_IN.iter().any(|(name, _)| *name == file.name);
    let reads = |line: &str| !may && READS_NAMES.iter().any(|one| line.contains(one));
    in_the_core(file, reads, "ask the Location of the plan (core/storage)")
}

/// Faults of lines of the core that are no tests.
fn in_the_core(file: &File, is_fault: impl Fn(&str) -> bool, instead: &str) -> Vec<String> {
    let name = &file.name;
    let is_test =
        name.ends_with("tests.rs") || name.contains("/tests/") || name.ends_with("/fake.rs");
    if !name.starts_with("crates/core/src/") || is_test {
        return Vec::new();
    }
    let (code, _) = file.text.split_once("#[cfg(test)]\nmod tests {").unwrap_or((&file.text, ""));
    let found = code.lines().enumerate().filter(|(_, line)| is_fault(line));
    found.map(|(index, _)| format!("{name}:{}: {instead}", index + 1)).collect()
}

/// Exceptions that no longer exist, so that the lists do not outlive their reasons.
pub fn missing_catalogues(root: &Path) -> Vec<String> {
    let exceptions = CATALOGUES.iter().chain(TEXTS_COME_IN);
    let missing = exceptions.filter(|(name, _)| !root.join(name).exists());
    missing.map(|(name, what)| format!("the exception {name} ({what}) does not exist")).collect()
}

/// Faults of length: of the file, and of its functions.
fn lengths(file: &File) -> Vec<String> {
    let name = &file.name;
    let lines = file.text.lines().count();
    let found = functions::find(&file.text);
    let long = found.iter().filter(|function| function.lines > FUNCTION_LIMIT);
    let mut faults: Vec<String> = long
        .map(|one| format!("{name}:{}: a function of {} lines", one.first_line, one.lines))
        .collect();
    if lines > FILE_LIMIT {
        faults.push(format!("{name}: {lines} lines; it has two subjects, split it"));
    }
    if CATALOGUES.iter().any(|(catalogue, _)| catalogue == name) {
        faults.clear();
    }
    faults
}

/// A line that somebody could have broken: addresses and string literals cannot be.
fn long_line(line: &str) -> Option<String> {
    let unbreakable = line.contains("http") || line.trim_start().starts_with(['"', 'r']);
    (line.chars().count() > LINE_LIMIT && !unbreakable)
        .then(|| format!("longer than {LINE_LIMIT} columns"))
}

fn banned(name: &str, line: &str) -> Option<String> {
    let here = |one: &&Banned| !one.allowed.iter().any(|folder| name.starts_with(folder));
    let mut hits = BANNED.iter().filter(here).map(|one| (one.pieces.concat(), one.instead));
    let (call, instead) = hits.find(|(call, _)| has_word(line, call))?;
    Some(format!("`{call}`: {instead}"))
}

/// The root of each crate but `sys` forbids unsafe code.
fn must_forbid_unsafe(name: &str) -> bool {
    let root = name.ends_with("/src/lib.rs") || name.ends_with("/src/main.rs");
    name.starts_with("crates/") && root && !name.starts_with("crates/sys/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(name: &str, text: &str) -> Vec<String> {
        check(&File { name: name.to_owned(), text: text.to_owned() })
    }

    #[test]
    fn long_lines_long_files_and_long_functions_are_told() {
        assert_eq!(faults("a.rs", &"x".repeat(LINE_LIMIT + 1)).len(), 1);
        assert_eq!(faults("a.rs", &"x\n".repeat(FILE_LIMIT + 1)).len(), 1);
        let long = format!("fn f() {{\n{}}}\n", "    x();\n".repeat(FUNCTION_LIMIT - 1));
        assert_eq!(faults("a.rs", &long), ["a.rs:1: a function of 71 lines"]);
    }

    #[test]
    fn the_limits_themselves_pass() {
        assert_eq!(faults("a.rs", &"x".repeat(LINE_LIMIT)), [""; 0]);
        assert_eq!(faults("a.rs", &"x\n".repeat(FILE_LIMIT)), [""; 0]);
        let function = format!("fn f() {{\n{}}}\n", "    x();\n".repeat(FUNCTION_LIMIT - 2));
        assert_eq!(faults("a.rs", &function), [""; 0]);
    }

    #[test]
    fn addresses_and_literals_may_be_long() {
        let tail = "x".repeat(LINE_LIMIT);
        assert_eq!(faults("a.rs", &format!("// https://a.org/{tail}")), [""; 0]);
        assert_eq!(faults("a.rs", &format!("    \"{tail}\",")), [""; 0]);
    }

    #[test]
    fn catalogues_may_be_long() {
        assert_eq!(faults(CATALOGUES[0].0, &"x\n".repeat(FILE_LIMIT + 1)), [""; 0]);
    }

    #[test]
    fn banned_calls_name_their_replacement_and_stand_only_where_allowed() {
        for one in BANNED {
            let text = format!("    {} f(\n", one.pieces.concat());
            let found = faults("crates/core/src/a.rs", &text);
            assert_eq!(found.len(), 1, "{text}");
            assert!(found[0].contains(one.instead), "{found:?}");
            for folder in one.allowed {
                assert_eq!(faults(&format!("{folder}src/a.rs"), &text), [""; 0]);
            }
        }
    }

    #[test]
    fn crates_without_the_fence_are_told() {
        assert_eq!(faults("crates/new/src/lib.rs", "").len(), 1);
        assert_eq!(faults("crates/new/src/lib.rs", "#![forbid(unsafe_code)]\n"), [""; 0]);
        assert_eq!(faults("crates/sys/src/lib.rs", ""), [""; 0]);
        assert_eq!(faults("crates/new/src/other.rs", ""), [""; 0]);
    }

    #[test]
    fn the_core_asks_no_single_operating_system() {
        let asks = "use std::os::unix::fs::FileExt;\n";
        let fault = ["crates/core/src/a.rs:1: ask through fathom_sys::contract"];
        assert_eq!(faults("crates/core/src/a.rs", asks), fault);
        let tests = format!("#[cfg(test)]\nmod tests {{\n    {asks}}}\n");
        assert_eq!(faults("crates/core/src/a.rs", &tests), [""; 0]);
        assert_eq!(faults("crates/core/src/a/tests.rs", asks), [""; 0]);
        assert_eq!(faults("crates/sys/src/a.rs", asks), [""; 0]);
    }

    #[test]
    fn the_core_reads_a_name_once() {
        for reads in READS_NAMES {
            let text = format!("    let found = {reads}(name);\n");
            let fault = ["crates/core/src/run/a.rs:1: ask the Location of the plan (core/storage)"];
            assert_eq!(faults("crates/core/src/run/a.rs", &text), fault);
            let (outside, _) = TEXTS_COME_IN[0];
            for name in ["crates/core/src/storage/a.rs", "crates/core/src/run/tests.rs", outside] {
                assert_eq!(faults(name, &text), [""; 0]);
            }
        }
    }
}
