//! Reading the kernel's files below a root.

use std::fs;
use std::path::{Path, PathBuf};

use fathom_sys::kernel_text;

/// The files of a kernel.
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    /// The files below this root.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The place of a file whose name begins at the root, without a leading slash.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name.trim_start_matches('/'))
    }

    /// The same of a path.
    pub fn place(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The trimmed text of a file, in which bytes that are no text are escaped; absent if it cannot be read.
    pub fn text(&self, name: &str) -> Option<String> {
        Some(kernel_text::read(&self.path(name)).ok()?.trim().to_owned())
    }

    /// The path that a file holds; absent if it cannot be read.
    pub fn path_in(&self, name: &str) -> Option<PathBuf> {
        kernel_text::read_path(&self.path(name)).ok()
    }

    /// The number that a file holds.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.text(name)?.parse().ok()
    }

    /// The names in a directory, sorted; empty if there is none.
    pub fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(directory)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Where a symbolic link leads in the end, as a name that begins at the root.
    pub fn follow(&self, name: &str) -> Option<String> {
        let real = fs::canonicalize(self.path(name)).ok()?;
        let root = fs::canonicalize(&self.root).ok()?;
        Some(real.strip_prefix(root).ok()?.to_string_lossy().into_owned())
    }

    /// Whether there is such a file or directory.
    pub fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }
}

/// The value behind a name in a text of lines such as `Name:   value`.
pub fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// The choice in a text such as `one [two] three`; the text itself if no choice is marked.
pub fn chosen(text: &str) -> &str {
    let marked = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    marked.map_or(text, |(choice, _)| choice)
}
