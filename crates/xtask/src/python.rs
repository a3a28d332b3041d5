//! The types of a request for Python, drawn from its schema: frozen dataclasses with the names of the JSON
//! form, so that a field that is added to the engine's type needs no other hand.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// The parts of the schema by their names.
type Parts = Map<String, Value>;

/// Columns of a line of Python.
const WIDTH: usize = 100;
/// Names that Python keeps for itself; a field that has one ends in an underscore.
const KEYWORDS: [&str; 3] = ["pass", "from", "import"];

const HEAD: &str = r#""""The parts of a request, as the engine has them; generated, never edited."""

# The sentences are the engine's, and a part may stand behind the one that has it.
# ruff: noqa: D205, D404, PLW0108

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal
"#;

/// The module `fathom/_request_parts.py`.
pub fn module(schema: &str) -> String {
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let Some(parts) = schema["$defs"].as_object() else { return String::new() };
    let mut names = Vec::new();
    let mut body = String::new();
    let mut aliases = String::new();
    for (name, part) in parts {
        names.push(name.clone());
        match part["oneOf"].as_array() {
            Some(variants) => {
                variant_types(name, (variants, parts), &mut names, (&mut body, &mut aliases));
            }
            None => class(name, part, (None, parts), &mut body),
        }
    }
    let greatest = greatest(parts);
    names.sort();
    names.insert(0, "GREATEST".to_owned());
    let list = names.iter().map(|name| format!("    \"{name}\",\n")).collect::<Vec<_>>().concat();
    format!("{HEAD}\n__all__ = [\n{list}]\n{body}\n\n{}\n{greatest}", aliases.trim_start())
}

/// What the numbers may be at most that have not 32 bits, by class and field.
fn greatest(parts: &Parts) -> String {
    let mut lines = String::new();
    for (name, part) in parts {
        let forms = part["oneOf"].as_array().into_iter().flatten();
        let forms = forms.filter_map(|form| form["properties"].as_object()?.iter().next());
        let of_forms = forms.map(|(key, form)| (format!("{name}{}", camel(key)), form));
        for (class, part) in of_forms.chain([(name.clone(), part)]) {
            for (key, value) in part["properties"].as_object().into_iter().flatten() {
                let bits = match value["format"].as_str() {
                    Some("uint64") => 64,
                    Some("uint16") => 16,
                    Some("uint8") => 8,
                    _ => continue,
                };
                let _written = writeln!(lines, "    \"{class}.{key}\": 2**{bits} - 1,");
            }
        }
    }
    let what = "The greatest number of each field that has more or less than 32 bits.";
    format!("GREATEST = {{\n{lines}}}\n\"\"\"{what}\"\"\"\n")
}

/// One of several forms: words are literals, and each form with data is a class of its own.
fn variant_types(
    name: &str,
    (variants, parts): (&[Value], &Parts),
    names: &mut Vec<String>,
    (body, aliases): (&mut String, &mut String),
) {
    let words: Vec<_> = variants.iter().filter_map(|one| one["const"].as_str()).collect();
    let mut forms = Vec::new();
    if !words.is_empty() {
        let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
        forms.push(format!("Literal[{}]", words.join(", ")));
    }
    for one in variants {
        let Some((key, value)) = one["properties"].as_object().and_then(|all| all.iter().next())
        else {
            continue;
        };
        let form = format!("{name}{}", camel(key));
        if value["properties"].is_object() {
            let mut part = value.clone();
            part["description"] = one["description"].clone();
            class(&form, &part, (Some(key), parts), body);
        } else {
            class(&form, one, (None, parts), body);
        }
        names.push(form.clone());
        forms.push(form);
    }
    let _written = writeln!(aliases, "{name} = {}", wrapped_union(name, &forms));
}

fn wrapped_union(name: &str, forms: &[String]) -> String {
    let line = forms.join(" | ");
    if name.len() + 3 + line.len() <= WIDTH {
        return line;
    }
    match forms {
        [words] => {
            let inner = words.trim_start_matches("Literal[").trim_end_matches(']');
            let lines =
                inner.split(", ").map(|word| format!("    {word},\n")).collect::<Vec<_>>().concat();
            format!("Literal[\n{lines}]")
        }
        _ => format!("(\n    {}\n)", forms.join("\n    | ")),
    }
}

fn class(name: &str, part: &Value, (variant, parts): (Option<&str>, &Parts), out: &mut String) {
    let _written =
        write!(out, "\n\n@dataclass(frozen=True, kw_only=True, slots=True)\nclass {name}:\n");
    documented(part, "    ", out);
    if let Some(variant) = variant {
        let _written = write!(out, "\n    VARIANT: ClassVar[str] = \"{variant}\"\n");
    }
    let required: Vec<_> = part["required"].as_array().into_iter().flatten().collect();
    for (key, value) in part["properties"].as_object().into_iter().flatten() {
        let name = if KEYWORDS.contains(&key.as_str()) { format!("{key}_") } else { key.clone() };
        let is_needed = required.iter().any(|one| one.as_str() == Some(key));
        let default = if is_needed { String::new() } else { default_of(value, parts) };
        let _written = write!(out, "\n    {name}: {}{default}\n", type_of(value));
        documented(value, "    ", out);
    }
}

/// The default as the engine has it; a list is a tuple, and an object is made of its own defaults.
fn default_of(value: &Value, parts: &Parts) -> String {
    let made = |what: &str| format!(" = field(default_factory=lambda: {what})");
    let kind = type_of(value);
    match value.get("default") {
        Some(Value::Array(list)) if list.is_empty() => " = ()".to_owned(),
        Some(Value::Array(_)) => {
            let one = kind.trim_start_matches("tuple[").trim_end_matches(", ...]");
            made(&format!("({one}(),)"))
        }
        Some(Value::Object(fields)) => {
            match (parts[&kind]["oneOf"].is_array(), fields.iter().next()) {
                (true, Some((key, value))) => made(&format!("{kind}{}({key}={value})", camel(key))),
                _ => made(&format!("{kind}()")),
            }
        }
        Some(Value::Bool(on)) => format!(" = {}", if *on { "True" } else { "False" }),
        None | Some(Value::Null) => " = None".to_owned(),
        Some(other) => format!(" = {other}"),
    }
}

fn type_of(value: &Value) -> String {
    if let Some(name) = value["$ref"].as_str() {
        return name.rsplit('/').next().unwrap_or_default().to_owned();
    }
    if let Some(forms) = value["anyOf"].as_array() {
        return forms.iter().map(type_of).collect::<Vec<_>>().join(" | ");
    }
    if let Some(kinds) = value["type"].as_array() {
        let named = |kind: &Value| plain(kind.as_str().unwrap_or_default(), value);
        return kinds.iter().map(named).collect::<Vec<_>>().join(" | ");
    }
    plain(value["type"].as_str().unwrap_or_default(), value)
}

fn plain(kind: &str, value: &Value) -> String {
    match kind {
        "integer" => "int".to_owned(),
        "boolean" => "bool".to_owned(),
        "string" => "str".to_owned(),
        "null" => "None".to_owned(),
        "array" => format!("tuple[{}, ...]", type_of(&value["items"])),
        _ => "object".to_owned(),
    }
}

/// The description as a docstring.
fn documented(part: &Value, indent: &str, out: &mut String) {
    let text = part["description"].as_str().unwrap_or_default().replace('\n', " ");
    let text = text.replace('`', "``").replace("[``", "``").replace("``]", "``");
    let mut lines = vec![String::new()];
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let last = lines.len() - 1;
        if !lines[last].is_empty() && indent.len() + lines[last].len() + word.len() + 7 > WIDTH {
            lines.push(word.to_owned());
        } else {
            let space = if lines[last].is_empty() { "" } else { " " };
            let _written = write!(lines[last], "{space}{word}");
        }
    }
    let end = if lines.len() > 1 { format!("\n{indent}") } else { String::new() };
    let _written = writeln!(out, "{indent}\"\"\"{}{end}\"\"\"", lines.join(&format!("\n{indent}")));
}

/// `bytes_per_ms` as `BytesPerMs`.
fn camel(name: &str) -> String {
    let capital = |part: &str| {
        let mut letters = part.chars();
        let first = letters.next().map(|one| one.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    name.split('_').map(capital).collect()
}
