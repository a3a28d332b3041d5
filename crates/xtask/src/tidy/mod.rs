//! Style as a test: what rustfmt, clippy and ruff do not see. Rules and reasons stand in STYLE.md.

mod changelog;
mod code;
mod functions;
mod links;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

/// What a build or a tool leaves behind, which is nobody's writing.
const NOT_OURS: &[&str] = &[
    ".git",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".venv",
    ".hypothesis",
    "__pycache__",
    "artifacts",
    "corpus",
    "node_modules",
    "target",
];

/// The median function is to be this long at most.
const MEDIAN_LIMIT: usize = 10;

/// What the check of a tree found.
pub struct Findings {
    /// Faults, one sentence each, with file and line.
    pub faults: Vec<String>,
    /// The lengths of functions in a sentence.
    pub summary: String,
}

/// One file of the tree.
struct File {
    /// Path from the top of the tree, with slashes.
    name: String,
    text: String,
}

/// Checks the whole tree.
pub fn check_all(root: &Path) -> Findings {
    let mut faults = Vec::new();
    let mut lengths = Vec::new();
    for path in files_below(root) {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        match fs::read(&path).map(String::from_utf8) {
            Ok(Ok(text)) => check_file(root, &File { name, text }, &mut faults, &mut lengths),
            // Not text: there is no style in it.
            Ok(Err(_)) => {}
            Err(error) => faults.push(format!("{name}: {error}")),
        }
    }
    faults.extend(code::missing_catalogues(root));
    lengths.sort_unstable();
    if at(&lengths, 50) > MEDIAN_LIMIT {
        let median = at(&lengths, 50);
        faults.push(format!("the median function has {median} lines; {MEDIAN_LIMIT} is the limit"));
    }
    Findings { faults, summary: summary(&lengths) }
}

fn check_file(root: &Path, file: &File, faults: &mut Vec<String>, lengths: &mut Vec<usize>) {
    faults.extend(words::check(file));
    match file.name.rsplit('.').next() {
        Some("rs") => {
            lengths.extend(functions::find(&file.text).iter().map(|function| function.lines));
            faults.extend(code::check(file));
        }
        Some("py") => faults.extend(code::check(file)),
        Some("md") => faults.extend(links::check(root, file)),
        _ => {}
    }
    if file.name == "CHANGELOG.md" {
        faults.extend(changelog::check(file));
    }
}

/// The value that this percentage of sorted values does not exceed; 0 if there are none.
fn at(sorted: &[usize], percent: usize) -> usize {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

fn summary(sorted: &[usize]) -> String {
    let (count, median, ninety) = (sorted.len(), at(sorted, 50), at(sorted, 90));
    let longest = at(sorted, 100);
    format!(
        "{count} functions of {median} lines at the median, {ninety} at the 90th percentile, {longest} at most"
    )
}

/// All files of the tree, in the order of their names.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_unstable_by_key(fs::DirEntry::file_name);
    let mut files = Vec::new();
    for entry in entries {
        let ours = !NOT_OURS.iter().any(|name| entry.file_name() == *name);
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && ours => files.extend(files_below(&entry.path())),
            Ok(kind) if kind.is_file() && ours => files.push(entry.path()),
            _ => {}
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_of_the_list() {
        let lengths: Vec<usize> = (1..=10).collect();
        assert_eq!((at(&lengths, 50), at(&lengths, 90), at(&lengths, 100)), (5, 9, 10));
        assert_eq!(at(&[], 50), 0);
    }

    #[test]
    fn the_walk_leaves_out_what_tools_leave_behind() {
        let folder = std::env::temp_dir().join(format!("tidy-walk-{}", std::process::id()));
        for name in ["src/b.rs", "a.md", "target/c.rs", "src/__pycache__/d.py"] {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let found = files_below(&folder);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, [folder.join("a.md"), folder.join("src/b.rs")]);
    }
}
