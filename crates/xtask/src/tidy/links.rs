//! Links between the documents of the tree lead somewhere.

use std::path::Path;

use super::File;

/// Links of a Markdown file whose file does not exist.
pub fn check(root: &Path, file: &File) -> Vec<String> {
    let folder = root.join(&file.name);
    let folder = folder.parent().unwrap_or(root);
    let mut faults = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for target in targets(line) {
            if !folder.join(target).exists() {
                faults.push(format!("{}:{}: no file at `{target}`", file.name, index + 1));
            }
        }
    }
    faults
}

/// Paths that a line links to; addresses elsewhere and places within a page are left out.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let links = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let paths = links.map(|link| link.split('#').next().unwrap_or(link));
    paths.filter(|path| !path.is_empty() && !path.contains("://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_to_files_are_looked_for() {
        let line = "[a](b.md) [c](https://d.org) [e](#f) [g](h/i.md#j) [k] (l)";
        assert_eq!(targets(line).collect::<Vec<_>>(), ["b.md", "h/i.md"]);
    }

    #[test]
    fn a_link_to_nowhere_is_told_with_its_line() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let file = |text: &str| File { name: "src/x.md".to_owned(), text: text.to_owned() };
        assert!(check(root, &file("[a](main.rs) [b](../Cargo.toml)")).is_empty());
        assert_eq!(
            check(root, &file("\n[a](nowhere.rs)")),
            ["src/x.md:2: no file at `nowhere.rs`"]
        );
    }
}
