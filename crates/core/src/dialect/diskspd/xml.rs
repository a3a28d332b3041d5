//! Writing indented XML.

use std::fmt::Display;

use crate::shown::is_hostile;

/// Text that is safe between tags, in attributes and at a terminal. What a terminal would act on is written
/// as a reference, as is a carriage return, which readers would drop; what XML cannot hold at all is
/// spelled out, as in text.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\0'..' ' if !matches!(character, '\t' | '\n' | '\r') => {
                escaped.push_str(&format!("\\x{:02x}", u32::from(character)));
            }
            '\u{fffe}' | '\u{ffff}' => {
                escaped.push_str(&format!("\\u{{{:x}}}", u32::from(character)));
            }
            _ if is_hostile(character) => {
                escaped.push_str(&format!("&#{};", u32::from(character)));
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

/// An XML text under construction, two blanks per level.
#[derive(Debug)]
pub struct Writer {
    text: String,
    level: usize,
}

impl Writer {
    /// An empty text whose first element stands at `level`.
    pub fn new(level: usize) -> Self {
        Self { text: String::new(), level }
    }

    /// A line as it is, indented.
    pub fn line(&mut self, line: &str) {
        for _ in 0..self.level {
            self.text.push_str("  ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Text that is indented already.
    pub fn raw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// `<name>value</name>`.
    pub fn element(&mut self, name: &str, value: impl Display) {
        let value = escape(&value.to_string());
        self.line(&format!("<{name}>{value}</{name}>"));
    }

    /// `<name>value</name>` if there is a value.
    pub fn optional(&mut self, name: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.element(name, value);
        }
    }

    /// `<name>true</name>` if it is true, and nothing otherwise.
    pub fn if_true(&mut self, name: &str, value: bool) {
        self.optional(name, value.then_some("true"));
    }

    /// `<name>` ... `</name>`.
    pub fn group(&mut self, name: &str, body: impl FnOnce(&mut Self)) {
        self.group_with(name, "", body);
    }

    /// `<name attributes>` ... `</name>`.
    pub fn group_with(&mut self, name: &str, attributes: &str, body: impl FnOnce(&mut Self)) {
        let space = if attributes.is_empty() { "" } else { " " };
        self.line(&format!("<{name}{space}{attributes}>"));
        self.level += 1;
        body(self);
        self.level -= 1;
        self.line(&format!("</{name}>"));
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}
