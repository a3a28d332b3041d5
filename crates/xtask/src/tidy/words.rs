//! Words that must not stand in any file of the tree.

use super::File;

/// Words that must not stand anywhere, with the reason. They are written in pieces so that this file
/// does not find itself.
const BANNED: &[(&[&str], &str)] = &[
    (&["TO", "DO"], "finish it, or open an issue"),
    (&["FIX", "ME"], "finish it, or open an issue"),
    (&["XX", "X"], "finish it, or open an issue"),
    (&["HA", "CK"], "say why it is so, or do it properly"),
    (&["artif", "actory"], "name no host of a package registry"),
    (&["/wo", "rk/"], "name no path of one machine"),
    (&["<<<", "<<<< "], "end the merge"),
    (&[">>>", ">>>> "], "end the merge"),
];

/// Faults of one file of any kind.
pub fn check(file: &File) -> Vec<String> {
    let banned = BANNED.iter().map(|(pieces, reason)| (pieces.concat(), reason));
    let mut faults = Vec::new();
    for (word, reason) in banned {
        for (index, line) in file.text.lines().enumerate() {
            if has_word(line, &word) {
                faults.push(format!("{}:{}: `{word}`: {reason}", file.name, index + 1));
            }
        }
    }
    faults
}

/// Whether the word stands in the line, and is not only a piece of a longer one.
pub fn has_word(line: &str, word: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let (first, last) = (word.chars().next(), word.chars().next_back());
    line.match_indices(word).any(|(at, _)| {
        let before = part(first) && part(line[..at].chars().next_back());
        let behind = part(last) && part(line[at + word.len()..].chars().next());
        !before && !behind
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        check(&File { name: "a.sh".to_owned(), text: text.to_owned() })
    }

    #[test]
    fn unfinished_work_and_traces_of_one_machine_are_told() {
        for (pieces, reason) in BANNED {
            let text = format!("fine\nsome {} here\n", pieces.concat());
            let found = faults(&text);
            assert_eq!(found.len(), 1, "{text}");
            assert!(found[0].starts_with("a.sh:2: ") && found[0].ends_with(reason));
        }
    }

    #[test]
    fn pieces_of_longer_words_are_no_words() {
        assert!(faults("mktemp demo.XXXXXX; LIFETODOS; HACKNEY; a network/folder").is_empty());
    }
}
