//! Where functions begin and end. rustfmt sets the closing brace of a function under its first word, so
//! that indentation tells it without a parser.

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Its first line, from 1.
    pub first_line: usize,
    /// Lines from its first word to its closing brace.
    pub lines: usize,
}

/// All functions of a Rust source.
pub fn find(text: &str) -> Vec<Function> {
    let lines: Vec<&str> = text.lines().collect();
    let begins = lines.iter().enumerate().filter(|(_, line)| is_function(line));
    let function = |(first, _): (usize, &&str)| {
        let last = last_line(&lines, first)?;
        Some(Function { first_line: first + 1, lines: last - first + 1 })
    };
    begins.filter_map(function).collect()
}

/// Whether a line begins a function: `fn` stands behind nothing but qualifiers.
fn is_function(line: &str) -> bool {
    let qualifier = |word: &&str| {
        ["pub", "const", "async", "extern", "unsafe", "default"].contains(word)
            || word.starts_with("pub(")
            // The ABI of `extern`, and the end of `pub(in path)`.
            || word.starts_with('"')
            || word.ends_with(')') && !word.contains('(')
    };
    line.split_whitespace().find(|word| !qualifier(word)) == Some("fn")
}

/// The line of the closing brace; none for a declaration without a body.
fn last_line(lines: &[&str], first: usize) -> Option<usize> {
    let indent = indent(lines[first]);
    let ends_body = |line: &str| line.starts_with('}') || line.ends_with('}');
    for (at, line) in lines.iter().enumerate().skip(first) {
        let (own, line) = (self::indent(line) == indent, line.trim());
        if own && line.ends_with(';') {
            return None;
        }
        if own && ends_body(line) {
            return Some(at);
        }
    }
    None
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, usize)> {
        find(text).into_iter().map(|function| (function.first_line, function.lines)).collect()
    }

    #[test]
    fn functions_are_measured_from_head_to_brace() {
        let text =
            "impl A {\n    pub fn one(&self) -> u8 { 1 }\n    fn two() {\n        x();\n    }\n}\n";
        assert_eq!(found(text), [(2, 1), (3, 3)]);
    }

    #[test]
    fn heads_may_have_several_lines() {
        let text = "fn f<T>(\n    a: T,\n) -> u8\nwhere\n    T: Into<u8>,\n{\n    a.into()\n}\n";
        assert_eq!(found(text), [(1, 8)]);
    }

    #[test]
    fn declarations_have_no_body() {
        let text = "trait T {\n    fn a();\n    fn b(\n        x: u8,\n    ) -> u8;\n    \
                    fn c() {\n    }\n}\n";
        assert_eq!(found(text), [(6, 2)]);
    }

    #[test]
    fn nested_functions_count_by_themselves() {
        let text = "fn outer() {\n    fn inner() {\n        x();\n    }\n    inner();\n}\n";
        assert_eq!(found(text), [(1, 6), (2, 3)]);
    }

    #[test]
    fn qualifiers_and_other_words() {
        for head in [
            "fn f() {}",
            "pub fn f() {}",
            "pub(crate) const fn f() {}",
            "pub(in crate::a) fn f() {}",
            "pub unsafe extern \"C\" fn f() {}",
            "    async fn f() {}",
        ] {
            assert!(is_function(head), "{head}");
        }
        for line in
            ["// fn f() {", "let f = |fn_| fn_;", "type F = fn() -> u8;", "fnord()", "x fn f()"]
        {
            assert!(!is_function(line), "{line}");
        }
    }
}
