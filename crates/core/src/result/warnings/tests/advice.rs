//! Options that are named in any sentence for people are options that the parser takes.

use std::path::{Path, PathBuf};

use crate::dialect::diskspd::draft::Draft;
use crate::dialect::diskspd::flags;

/// What begins with a dash and is none of ours: options of losetup, containers and ulimit, and the ends of
/// names of `SQLite`'s files.
const OF_OTHERS: [&str; 7] =
    ["--direct-io=on", "--cpus", "--security-opt", "-Hn", "-wal", "-shm", "-journal"];

/// Fails if a sentence names an option that the parser does not take.
pub(super) fn is_taken(sentence: &str) {
    for option in options(sentence) {
        if let Err(why) = parsed(option) {
            panic!("{option}, named in `{sentence}`, is refused: {why}");
        }
    }
}

/// The words of a sentence that are options.
fn options(sentence: &str) -> Vec<&str> {
    let is_end = |c: char| c.is_whitespace() || "(),;'\"`<".contains(c);
    let words = sentence.split(is_end).map(|word| word.trim_end_matches(['.', ':', '?', '\\']));
    let is_option = |word: &&str| {
        let name = word.strip_prefix('-').unwrap_or_default();
        let name = name.strip_prefix('-').unwrap_or(name);
        name.starts_with(|c: char| c.is_ascii_alphabetic())
    };
    words.filter(is_option).filter(|word| !OF_OTHERS.contains(word)).collect()
}

/// Whether an option is one, and takes the value that it is given; a name alone stands for any value.
fn parsed(option: &str) -> Result<(), String> {
    let name = &option[1..];
    let (flag, value) = match name.split_once('=') {
        Some((name, value)) if name.starts_with('-') => (flags::find_long(name), value),
        None if name.starts_with('-') => (flags::find_long(name), ""),
        _ => flags::find(name).map_or((None, ""), |(flag, value)| (Some(flag), value)),
    };
    let flag = flag.ok_or("there is no such option")?;
    if value.is_empty() && !option.ends_with('=') {
        return Ok(());
    }
    (flag.apply)(&mut Draft::default(), value)
}

#[test]
fn an_option_is_found_in_a_sentence_and_a_wrong_value_is_refused() {
    let sentence =
        "bypass it (-Su), or use --engine=uring; in-flight I/Os (-o) - all - count -T4096.";
    assert_eq!(options(sentence), ["-Su", "--engine=uring", "-o", "-T4096"]);
    is_taken(sentence);
    for wrong in ["--engine=io_uring", "--engines", "-Sq", "-w200"] {
        assert!(parsed(wrong).is_err(), "{wrong}");
    }
}

/// An engine was advised that is "not one of uring, aio, sync, mmap and null".
#[test]
fn options_that_any_sentence_of_the_program_names_are_taken() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut refused = Vec::new();
    let mut count = 0;
    for file in
        ["core/src", "cli/src", "net/src"].into_iter().flat_map(|at| sources(&root.join(at)))
    {
        let text = std::fs::read_to_string(&file).expect("a source");
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for literal in literals(code) {
            for option in options(&literal) {
                count += 1;
                let refusal = parsed(option).err();
                refused.extend(refusal.map(|why| format!("{}: {option}: {why}", file.display())));
            }
        }
    }
    assert!(count > 50, "{count} options were found");
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// The sources of a room, without those of tests and without the tables that define the options.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        if path.is_dir() && !["tests", "dialect"].contains(&stem.as_str()) {
            found.extend(sources(&path));
        } else if is_source && stem != "tests" && !stem.ends_with("_tests") {
            found.push(path);
        }
    }
    found
}

/// The texts between quotation marks; what is filled in stands as a 1, and lines that go on as one.
fn literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in code.replace("\\\n", "").lines().filter(|line| !line.trim_start().starts_with("//"))
    {
        let parts: Vec<&str> = line.split('"').collect();
        found.extend(parts.iter().skip(1).step_by(2).map(|part| filled(part)));
    }
    found
}

fn filled(text: &str) -> String {
    let mut parts = text.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let word = filled.rsplit(' ').next().unwrap_or_default();
        // More words may follow a long name.
        let is_behind_name = word.starts_with("--") && !word.contains('=');
        filled.push(if is_behind_name { ' ' } else { '1' });
        filled.push_str(part.split_once('}').map_or(part, |(_, rest)| rest));
    }
    filled
}
