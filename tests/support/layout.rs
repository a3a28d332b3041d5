//! The layout of a result: what stays when the figures change.

use roxmltree::{Document, Node};

/// The layout of a text result, from `Command Line:` to the last of DiskSpd's own sections. Numbers and
/// the blanks before them become `#`, one for one, so that columns keep their place. Rows that differ
/// only in figures are reported once, because their number depends on the host.
pub fn layout_of_text(text: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| !line.starts_with("Command Line:")).skip(1);
    let own = |line: &&str| {
        ![
            "Beneath timespan",
            "Ends of",
            "Engine:",
            "Response times of",
            "Syncs and trims of",
            "Warnings:",
        ]
        .iter()
        .any(|head| line.starts_with(head))
    };
    let mut layout: Vec<String> = Vec::new();
    // The line that says whose the figures are, where they are not a device's.
    let lines = lines.filter(|line| !line.starts_with("Not a device's figures:"));
    for line in lines.take_while(own) {
        let line = mask(line);
        if layout.last() != Some(&line) {
            layout.push(line);
        }
    }
    while layout.last().is_some_and(String::is_empty) {
        layout.pop();
    }
    layout
}

fn mask(line: &str) -> String {
    for head in ["\tcomputer name:", "\tstart time:", "\tactive power scheme:", "\tpath:"] {
        if line.starts_with(head) {
            return head.to_owned();
        }
    }
    if let Some((before, list)) = line.rsplit_once('|')
        && list.split_whitespace().count() == 8
    {
        // The counts of completions per look are a list, not columns.
        return format!("{}| list", mask(before));
    }
    let mut masked = String::with_capacity(line.len());
    let mut blanks = 0;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            ' ' => blanks += 1,
            '0'..='9' | '.'
                if character != '.' || characters.peek().is_some_and(char::is_ascii_digit) =>
            {
                masked.extend(std::iter::repeat_n('#', blanks + 1));
                blanks = 0;
            }
            _ => {
                masked.extend(std::iter::repeat_n(' ', blanks));
                blanks = 0;
                masked.push(character);
            }
        }
    }
    masked
}

/// Elements that this tool adds.
const OWN: [&str; 6] = ["Beneath", "Ends", "Engine", "Implementation", "Response", "Warnings"];

/// Elements of a thread's target that the recordings lack by a defect of DiskSpd's.
const GIVEN: [&str; 2] = ["AverageLatencyMilliseconds", "LatencyStdev"];

/// The layout of an XML result: the path of each element, its attributes' names, and the form of its
/// text. Elements that differ only in figures are reported once.
pub fn layout_of_xml(xml: &str) -> Result<Vec<String>, String> {
    let start = xml.find("<Results>").ok_or("there is no <Results>")?;
    // The real tool does not escape the name of an unknown power scheme.
    let xml = xml[start..].replace("\"<unknown>\"", "\"unknown\"");
    let document = Document::parse(&xml).map_err(|error| error.to_string())?;
    let mut layout: Vec<String> = Vec::new();
    for node in document.descendants().filter(Node::is_element) {
        let names: Vec<&str> = node.ancestors().filter(Node::is_element).map(name).collect();
        let is_given = GIVEN.contains(&names[0]) && names.get(1) == Some(&"Target");
        if is_given || names.iter().any(|name| OWN.contains(name)) {
            continue;
        }
        let attributes: Vec<&str> = node.attributes().map(|attribute| attribute.name()).collect();
        let path: Vec<&str> = names.into_iter().rev().collect();
        layout.push(format!("{} {attributes:?} {}", path.join("/"), text_form(node)));
    }
    Ok(without_repeats(layout))
}

fn name<'a>(node: Node<'a, '_>) -> &'a str {
    node.tag_name().name()
}

fn text_form(node: Node<'_, '_>) -> String {
    if node.children().any(|child| child.is_element()) {
        return String::new();
    }
    let text = node.text().unwrap_or_default().trim();
    let free = ["ComputerName", "RunTime", "Path", "LookasideCompletion"];
    if free.contains(&name(node)) {
        return "text".to_owned();
    }
    let figures = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !figures || text.is_empty() {
        return text.to_owned();
    }
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    if name(node) == "Percentile" { text.to_owned() } else { format!("number.{decimals}") }
}

/// Leaves out each block of lines that repeats the block before it, for blocks of up to 40 lines.
fn without_repeats(mut lines: Vec<String>) -> Vec<String> {
    for length in (1..=40).rev() {
        let mut at = 0;
        while at + 2 * length <= lines.len() {
            if lines[at..at + length] == lines[at + length..at + 2 * length] {
                lines.drain(at + length..at + 2 * length);
            } else {
                at += 1;
            }
        }
    }
    lines
}
