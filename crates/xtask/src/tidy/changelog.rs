//! The form of CHANGELOG.md is that of Keep a Changelog, so that programs and people find a version.

use super::File;

const KINDS: &[&str] = &["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

/// Faults of the form.
pub fn check(file: &File) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |line: usize, words: &str| {
        faults.push(format!("{}:{line}: {words}", file.name));
    };
    if file.text.lines().next() != Some("# Changelog") {
        fault(1, "the first line is `# Changelog`");
    }
    let mut versions = 0;
    let mut in_kind = false;
    for (index, line) in file.text.lines().enumerate() {
        if let Some(version) = line.strip_prefix("## ") {
            versions += 1;
            in_kind = false;
            if !is_version(version) || (version == "[Unreleased]") != (versions == 1) {
                fault(index + 1, "versions are `[Unreleased]`, then `[1.2.3] - 2030-12-31`");
            }
        } else if let Some(kind) = line.strip_prefix("### ") {
            in_kind = true;
            if !KINDS.contains(&kind) {
                fault(index + 1, &format!("a kind of change is one of {}", KINDS.join(", ")));
            }
        } else if versions > 0 && !line.is_empty() && !(in_kind && is_entry(line)) {
            fault(index + 1, "a change is an entry `- ...` under its kind");
        }
    }
    if versions == 0 {
        fault(1, "there is no `## [Unreleased]`");
    }
    faults
}

/// An entry, or the further lines of one.
fn is_entry(line: &str) -> bool {
    line.starts_with("- ") || line.starts_with("  ")
}

fn is_version(heading: &str) -> bool {
    if heading == "[Unreleased]" {
        return true;
    }
    let Some((version, date)) = heading.split_once(" - ") else { return false };
    let Some(version) = version.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        return false;
    };
    let number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    let is_date = |date: &str| {
        let lengths: Vec<usize> = date.split('-').map(str::len).collect();
        lengths == [4, 2, 2] && date.split('-').all(number)
    };
    version.split('.').count() == 3 && version.split('.').all(number) && is_date(date)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        check(&File { name: "CHANGELOG.md".to_owned(), text: text.to_owned() })
    }

    #[test]
    fn the_form_of_keep_a_changelog_passes() {
        let text = "# Changelog\n\nWords.\n\n## [Unreleased]\n\n### Added\n- One\n  more.\n\n\
                    ## [0.1.0] - 2026-11-21\n\n### Fixed\n- Two.\n";
        assert_eq!(faults(text), [""; 0]);
    }

    #[test]
    fn each_deviation_is_told_with_its_line() {
        let head = "# Changelog\n\n## [Unreleased]\n";
        for (text, line) in [
            ("# Changes\n\n## [Unreleased]\n".to_owned(), 1),
            ("# Changelog\n".to_owned(), 1),
            ("# Changelog\n\n## Unreleased\n".to_owned(), 3),
            ("# Changelog\n\n## [0.1.0] - 2026-11-21\n".to_owned(), 3),
            (format!("{head}\n## [0.1] - 2026-11-21\n"), 5),
            (format!("{head}\n## [0.1.0] - 21.11.2026\n"), 5),
            (format!("{head}\n## [Unreleased]\n"), 5),
            (format!("{head}\n### News\n- One.\n"), 5),
            (format!("{head}\n- No kind.\n"), 5),
            (format!("{head}\n### Added\nNo entry.\n"), 6),
        ] {
            let found = faults(&text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].starts_with(&format!("CHANGELOG.md:{line}: ")), "{text}: {found:?}");
        }
    }
}
