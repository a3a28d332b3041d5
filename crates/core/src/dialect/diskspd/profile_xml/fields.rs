//! Reading single elements: their types, and errors that name line and element.

use std::collections::HashSet;

use roxmltree::{Document, Node};
use thiserror::Error;

/// What is wrong with an element.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: <{element}> {problem}")]
pub struct FieldError {
    /// Line in the text, from 1.
    pub line: u32,
    /// Name of the element.
    pub element: String,
    /// What is wrong, as the rest of a sentence that begins with the element.
    pub problem: String,
}

/// An error about one element.
pub fn error(node: Node<'_, '_>, problem: impl Into<String>) -> FieldError {
    let document: &Document<'_> = node.document();
    FieldError {
        line: document.text_pos_at(node.range().start).row,
        element: node.tag_name().name().to_owned(),
        problem: problem.into(),
    }
}

/// An error about an element that does not belong where it stands.
pub fn unknown(node: Node<'_, '_>, parent: &str) -> FieldError {
    error(node, format!("is not an element of <{parent}>. Remove it or correct its name"))
}

/// The child elements, each name at most once.
pub fn children<'a, 'input>(node: Node<'a, 'input>) -> Result<Vec<Node<'a, 'input>>, FieldError> {
    let children = repeated_children(node)?;
    let mut seen = HashSet::new();
    for child in &children {
        if !seen.insert(child.tag_name().name()) {
            return Err(error(*child, "stands twice. Keep one of them"));
        }
    }
    Ok(children)
}

/// The child elements; text between them is an error.
pub fn repeated_children<'a, 'input>(
    node: Node<'a, 'input>,
) -> Result<Vec<Node<'a, 'input>>, FieldError> {
    let stray = node.children().filter(Node::is_text).filter_map(|child| child.text());
    if let Some(text) = stray.map(str::trim).find(|text| !text.is_empty()) {
        return Err(error(node, format!("holds the text '{}' between elements", shorten(text))));
    }
    Ok(node.children().filter(Node::is_element).collect())
}

/// The child elements, of which there must be at least one.
pub fn some_children<'a, 'input>(
    node: Node<'a, 'input>,
    name: &str,
) -> Result<Vec<Node<'a, 'input>>, FieldError> {
    let children = repeated_children(node)?;
    if children.is_empty() {
        return Err(error(node, format!("has no <{name}>")));
    }
    Ok(children)
}

/// The text of an element that has no children; blanks around it are kept.
pub fn text(node: Node<'_, '_>) -> Result<String, FieldError> {
    if let Some(child) = node.children().find(Node::is_element) {
        return Err(unknown(child, node.tag_name().name()));
    }
    Ok(node.children().filter(Node::is_text).filter_map(|child| child.text()).collect())
}

/// `true`, `false`, `1` or `0`.
pub fn boolean(node: Node<'_, '_>) -> Result<bool, FieldError> {
    let text = text(node)?;
    match text.trim() {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        other => Err(error(node, format!("must be true or false, not '{}'", shorten(other)))),
    }
}

/// A whole number of at most 32 bits; a greater one saturates, as in `DiskSpd`.
pub fn number(node: Node<'_, '_>) -> Result<u32, FieldError> {
    let text = text(node)?;
    let digits = digits(node, text.trim())?;
    Ok(digits.parse::<u128>().map_or(u32::MAX, |value| u32::try_from(value).unwrap_or(u32::MAX)))
}

/// A whole number of at most 64 bits.
pub fn long(node: Node<'_, '_>) -> Result<u64, FieldError> {
    let text = text(node)?;
    let digits = digits(node, text.trim())?;
    digits.parse().map_err(|_| error(node, "is greater than 2^64 - 1"))
}

/// A whole number between two bounds.
pub fn bounded(node: Node<'_, '_>, least: u32, greatest: u32) -> Result<u32, FieldError> {
    let value = number(node)?;
    if (least..=greatest).contains(&value) {
        return Ok(value);
    }
    Err(error(node, format!("must be from {least} to {greatest}, not {value}")))
}

/// An attribute that is a whole number.
pub fn attribute(node: Node<'_, '_>, name: &str, greatest: u32) -> Result<u32, FieldError> {
    let Some(text) = node.attribute(name) else {
        return Err(error(node, format!("needs the attribute {name}")));
    };
    let value = digits(node, text.trim())?.parse::<u32>().ok();
    value.filter(|value| *value <= greatest).ok_or_else(|| {
        error(node, format!("has {name}=\"{}\", which exceeds {greatest}", shorten(text)))
    })
}

fn digits<'t>(node: Node<'_, '_>, text: &'t str) -> Result<&'t str, FieldError> {
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    if unsigned.is_empty() || unsigned.bytes().any(|byte| !byte.is_ascii_digit()) {
        return Err(error(node, format!("must be a whole number, not '{}'", shorten(text))));
    }
    Ok(unsigned)
}

fn shorten(text: &str) -> String {
    const SHOWN: usize = 40;
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    text.chars().take(SHOWN).chain("...".chars()).collect()
}
