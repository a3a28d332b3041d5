//! The result as JSON: everything that was measured, by the schema under `schema/`.

use serde::de::Error as _;
use serde_json::Error;

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
