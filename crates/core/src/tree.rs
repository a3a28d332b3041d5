//! Reading the kernel's files below a root.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// What most of the kernel's files hold less than.
const PIECE_BYTES: usize = 4096;

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

    /// The trimmed text of a file; absent if it cannot be read.
    pub fn text(&self, name: &str) -> Option<String> {
        let text = String::from_utf8(read(&self.path(name)).ok()?).ok()?;
        Some(text.trim().to_owned())
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

/// All that a file holds. The kernel tells no size of its files: `fs::read` would ask for it, and then read
/// pieces of 32 bytes and more, which is most of the time where each process has a file.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut found = Vec::with_capacity(PIECE_BYTES);
    File::open(path)?.take(u64::MAX).read_to_end(&mut found)?;
    Ok(found)
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

/// The numbers of a list such as `0-3,8`.
pub fn list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_file_is_read_whatever_size_it_tells() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::new(folder.path());
        for length in [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES] {
            let text = "x".repeat(length);
            fs::write(folder.path().join("file"), format!("\n {text} \n")).unwrap();
            assert_eq!(tree.text("file"), Some(text));
        }
        fs::write(folder.path().join("file"), [0xff]).unwrap();
        assert_eq!((tree.text("file"), tree.text("none")), (None, None));
        // The kernel tells a size of 0 for this one.
        let own = Tree::new(Path::new("/")).text("proc/self/stat").unwrap();
        assert!(own.starts_with(&std::process::id().to_string()), "{own}");
    }
}
