//! The result as JSON: everything that was measured, by the schema under `schema/`.

use std::collections::BTreeSet;

use serde::Serialize;
use serde::de::{DeserializeOwned, Error as _};
use serde_json::{Error, Value};

use crate::doctor::Diagnosis;
use crate::explain::Explanation;
use crate::profile::Profile;
use crate::result::{RunResult, SystemReport};
use crate::shown::in_json;

/// The result, indented.
#[must_use]
pub fn write(result: &RunResult) -> String {
    let mut text = pretty(result);
    text.push('\n');
    text
}

/// Whether a text is a result, an explanation or a diagnosis as this tool writes them, and holds nothing
/// besides.
#[must_use]
pub fn is_ours(text: &[u8]) -> bool {
    holds_only::<RunResult>(text)
        || holds_only::<Explanation>(text)
        || holds_only::<Diagnosis>(text)
        || is_of_earlier_version(text)
}

/// Whether a text is a result of an earlier version, which did not write all that is written now: it has no
/// key that results do not have.
fn is_of_earlier_version(text: &[u8]) -> bool {
    let schema = serde_json::to_value(schemars::schema_for!(RunResult)).unwrap_or_default();
    let mut names = BTreeSet::new();
    collect_names(&schema, &mut names);
    let Ok(Value::Object(found)) = serde_json::from_slice::<Value>(text) else { return false };
    let is_result = found.contains_key("schema_version") && found.contains_key("time_spans");
    is_result
        && found.keys().all(|key| schema["properties"].get(key).is_some())
        && found.values().all(|value| has_names_of(value, &names))
}

/// The names of all properties of a schema.
fn collect_names<'a>(schema: &'a Value, names: &mut BTreeSet<&'a str>) {
    match schema {
        Value::Object(parts) => {
            for (key, part) in parts {
                if let ("properties", Some(properties)) = (key.as_str(), part.as_object()) {
                    names.extend(properties.keys().map(String::as_str));
                }
                collect_names(part, names);
            }
        }
        Value::Array(parts) => parts.iter().for_each(|part| collect_names(part, names)),
        _ => {}
    }
}

fn has_names_of(value: &Value, names: &BTreeSet<&str>) -> bool {
    match value {
        Value::Object(parts) => parts
            .iter()
            .all(|(key, part)| names.contains(key.as_str()) && has_names_of(part, names)),
        Value::Array(parts) => parts.iter().all(|part| has_names_of(part, names)),
        _ => true,
    }
}

fn holds_only<T: DeserializeOwned + Serialize>(text: &[u8]) -> bool {
    let whole = || {
        let known = serde_json::to_value(serde_json::from_slice::<T>(text).ok()?).ok()?;
        Some(has_no_more(&serde_json::from_slice(text).ok()?, &known))
    };
    whole().unwrap_or(false)
}

/// Whether each key of `found` is one of `known`, too. What earlier versions did not write may lack.
fn has_no_more(found: &Value, known: &Value) -> bool {
    match (found, known) {
        (Value::Object(found), Value::Object(known)) => found
            .iter()
            .all(|(key, found)| known.get(key).is_some_and(|known| has_no_more(found, known))),
        (Value::Array(found), Value::Array(known)) => {
            found.len() == known.len()
                && found.iter().zip(known).all(|(found, known)| has_no_more(found, known))
        }
        (Value::Object(_) | Value::Array(_), _) | (_, Value::Object(_) | Value::Array(_)) => false,
        _ => true,
    }
}

/// A profile, indented.
#[must_use]
pub fn write_profile(profile: &Profile) -> String {
    let mut text = pretty(profile);
    text.push('\n');
    text
}

/// What a host is, indented.
#[must_use]
pub fn write_system(report: &SystemReport) -> String {
    let mut text = pretty(report);
    text.push('\n');
    text
}

/// A diagnosis, indented.
#[must_use]
pub fn write_diagnosis(diagnosis: &Diagnosis) -> String {
    let mut text = pretty(diagnosis);
    text.push('\n');
    text
}

/// The schema of a diagnosis.
#[must_use]
pub fn diagnosis_schema() -> String {
    let mut text = pretty(&schemars::schema_for!(Diagnosis));
    text.push('\n');
    text
}

/// An explanation, indented.
#[must_use]
pub fn write_explanation(explanation: &Explanation) -> String {
    let mut text = pretty(explanation);
    text.push('\n');
    text
}

/// The schema of an explanation.
#[must_use]
pub fn explanation_schema() -> String {
    let mut text = pretty(&schemars::schema_for!(Explanation));
    text.push('\n');
    text
}

/// Reads a result back.
///
/// # Errors
/// If the text is not JSON, or not of this format; the message names line and column. Also if a thread
/// names a target that is not there, since every form of a result looks targets up.
pub fn read(text: &str) -> Result<RunResult, Error> {
    let result: RunResult = serde_json::from_str(text)?;
    for (number, span) in result.time_spans.iter().enumerate() {
        let mut named = span.threads.iter().flat_map(|thread| &thread.targets);
        if let Some(lost) = named.find(|row| row.target as usize >= span.targets.len()) {
            return Err(Error::custom(format!(
                "a thread of time span {number} names target {}, but there are {}",
                lost.target,
                span.targets.len()
            )));
        }
    }
    Ok(result)
}

/// The schema of the result.
#[must_use]
pub fn schema() -> String {
    let mut text = pretty(&schemars::schema_for!(RunResult));
    text.push('\n');
    text
}

/// These types have string keys and finite numbers only, so that writing them cannot fail. What acts on a
/// terminal is written as `\uXXXX`.
fn pretty(value: &impl serde::Serialize) -> String {
    in_json(serde_json::to_string_pretty(value).unwrap_or_default())
}
