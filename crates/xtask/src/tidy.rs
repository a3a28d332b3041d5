//! Style as a test: what rustfmt and clippy do not see. Rules and reasons stand in STYLE.md.

use std::fs;
use std::path::{Path, PathBuf};

/// rustfmt keeps code to 100 columns; comments and strings, which it leaves alone, get ten more.
const LINE_LIMIT: usize = 110;
const FILE_LIMIT: usize = 400;
const FUNCTION_LIMIT: usize = 70;

/// Files of like entries, where length is harmless because every entry has the same shape.
const CATALOGUES: &[&str] = &[
    "crates/core/src/diskspd/flags/apply.rs",
    "crates/core/src/diskspd/flags/access.rs",
    "crates/core/src/diskspd/flags/run.rs",
    "crates/core/src/profile/mod.rs",
];

/// Words that must not stand in code, each with the reason, and the folders where they may.
fn banned() -> Vec<(String, &'static str, &'static [&'static str])> {
    // Written in pieces so that this file does not find itself.
    let word = |parts: &[&str]| parts.concat();
    vec![
        (word(&["Instant", "::now"]), "take time from fathom_sys::clock", &[]),
        (word(&["SystemTime", "::now"]), "take time from jiff at the edge", &[]),
        (word(&["process", "::exit"]), "return an ExitCode", &[]),
        (word(&["FIX", "ME"]), "finish it, or open an issue", &[]),
        (word(&["TO", "DO"]), "finish it, or open an issue", &[]),
        (word(&["artif", "actory"]), "name no registry's host", &[]),
        (word(&["/wo", "rk/"]), "name no path of one machine", &[]),
        (word(&["un", "safe {"]), "unsafe code belongs into crates/sys", &["crates/sys"]),
    ]
}

/// All faults of the tree.
pub fn check_all(root: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for folder in ["crates", "tests", "python"] {
        collect(&root.join(folder), &mut files);
    }
    let mut faults = Vec::new();
    let mut lengths = Vec::new();
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        match fs::read_to_string(&file) {
            Ok(text) => faults.extend(check_file(&name, &text, &mut lengths)),
            Err(error) => faults.push(format!("{name}: {error}")),
        }
    }
    lengths.sort_unstable();
    let median = lengths.get(lengths.len() / 2).copied().unwrap_or(0);
    if median > 10 {
        faults.push(format!("the median function has {median} lines; 10 is the limit"));
    }
    faults
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs" || ending == "py") {
            files.push(path);
        }
    }
}

/// Faults of one file; the lengths of its functions are appended to `lengths`.
fn check_file(name: &str, text: &str, lengths: &mut Vec<usize>) -> Vec<String> {
    let mut faults = Vec::new();
    let catalogue = CATALOGUES.contains(&name);
    let lines = text.lines().count();
    if lines > FILE_LIMIT && !catalogue {
        faults.push(format!("{name}: {lines} lines; it has two subjects, split it"));
    }
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let unbreakable = line.contains("http") || line.trim_start().starts_with('"');
        if line.chars().count() > LINE_LIMIT && !unbreakable {
            faults.push(format!("{name}:{number}: longer than {LINE_LIMIT} columns"));
        }
        for (word, reason, allowed) in banned() {
            if line.contains(&word) && !allowed.iter().any(|folder| name.starts_with(folder)) {
                faults.push(format!("{name}:{number}: `{word}`: {reason}"));
            }
        }
    }
    for (number, length) in functions(text) {
        lengths.push(length);
        if length > FUNCTION_LIMIT && !catalogue {
            faults.push(format!("{name}:{number}: a function of {length} lines"));
        }
    }
    faults
}

/// First line and length of each Rust function: rustfmt sets its closing brace under its first word.
fn functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        if !is_function(line.trim_start()) || line.trim_end().ends_with(';') {
            continue;
        }
        let closing = format!("{}}}", " ".repeat(indent));
        let one_line = line.trim_end().ends_with('}');
        let end = if one_line {
            Some(index)
        } else {
            (index..lines.len()).find(|&at| lines[at] == closing)
        };
        if let Some(end) = end {
            found.push((index + 1, end - index + 1));
        }
    }
    found
}

fn is_function(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let qualifiers = ["pub", "pub(crate)", "pub(super)", "const", "async", "extern", "unsafe"];
    words.find(|word| !qualifiers.contains(word)) == Some("fn")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(name: &str, text: &str) -> Vec<String> {
        check_file(name, text, &mut Vec::new())
    }

    #[test]
    fn long_lines_long_files_and_long_functions_are_told() {
        assert_eq!(faults("a.rs", &"x".repeat(111)).len(), 1);
        assert_eq!(faults("a.rs", &"x\n".repeat(401)).len(), 1);
        let long = format!("fn f() {{\n{}}}\n", "    x();\n".repeat(70));
        assert_eq!(faults("a.rs", &long), ["a.rs:1: a function of 72 lines"]);
    }

    #[test]
    fn banned_words_name_their_replacement() {
        let text = ["let t = Instant", "::now();"].concat();
        assert!(faults("crates/core/a.rs", &text)[0].contains("fathom_sys::clock"));
        let text = ["un", "safe { f() }"].concat();
        assert_eq!(faults("crates/core/a.rs", &text).len(), 1);
        assert!(faults("crates/sys/a.rs", &text).is_empty());
    }

    #[test]
    fn functions_are_measured_from_head_to_brace() {
        let text =
            "impl A {\n    pub fn one(&self) -> u8 { 1 }\n    fn two() {\n        x();\n    }\n}\n";
        assert_eq!(functions(text), [(2, 1), (3, 3)]);
    }
}
