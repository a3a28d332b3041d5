//! The result as JSON: everything that was measured, by the schema under `schema/`.

use serde::de::{Error as _, IgnoredAny};
use serde_json::{Error, json};

use crate::doctor::Diagnosis;
use crate::explain::Explanation;
use crate::measure::RunEvent;
use crate::request::{PROFILE_ALONE, Profile, REQUEST_VERSION, Request};
use crate::result::{RunResult, SCHEMA_VERSION, SystemReport};
use crate::shown::in_json;

/// The result, indented.
#[must_use]
pub fn write(result: &RunResult) -> String {
    let mut text = pretty(result);
    text.push('\n');
    text
}

/// The result in one line, for who reads it at once.
#[must_use]
pub fn write_compact(result: &RunResult) -> String {
    in_json(serde_json::to_string(result).unwrap_or_default())
}

/// Where the checksum of a file begins, and what stands behind it.
const CHECKSUM: &str = ",\n  \"checksum\": \"crc32c:";
const BEHIND: &str = "\"\n}\n";
/// The end of a text that has none.
const END: &str = "\n}\n";

/// A text of ours as it goes into a file: its last key is the checksum (CRC32C) of the text without that
/// key, by which it is seen that nobody has edited it.
#[must_use]
pub fn sealed(text: &str) -> String {
    let Some(body) = text.strip_suffix(END) else { return text.to_owned() };
    format!("{body}{CHECKSUM}{:08x}{BEHIND}", crc32c::crc32c(text.as_bytes()))
}

/// Whether a text is one that [`sealed`] gave, byte for byte.
#[must_use]
pub fn is_ours(text: &[u8]) -> bool {
    let is_sealed = |text: &str| {
        let body = &text[..text.rfind(CHECKSUM)?];
        Some(sealed(&format!("{body}{END}")) == text)
    };
    std::str::from_utf8(text).ok().and_then(is_sealed).unwrap_or(false)
}

/// An event, on one line.
///
/// # Panics
/// Never: its keys are strings, and its numbers finite.
#[must_use]
pub fn write_event(event: &RunEvent) -> String {
    serde_json::to_string(event).expect("an event has no keys but strings, and all of it is finite")
}

/// Reads an event back.
///
/// # Errors
/// If the text is no event.
pub fn read_event(text: &str) -> Result<RunEvent, Error> {
    serde_json::from_str(text)
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
    schema_of(schemars::schema_for!(Diagnosis))
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
    schema_of(schemars::schema_for!(Explanation))
}

/// Reads a result back.
///
/// # Errors
/// If the text is not JSON, or not of this format; the message names line and column. Also if a thread
/// names a target that is not there, since every form of a result looks targets up.
pub fn read(text: &str) -> Result<RunResult, Error> {
    let result = read_version(text)?;
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

/// Reads a result of this format; earlier ones have the profile alone in place of the whole request.
fn read_version(text: &str) -> Result<RunResult, Error> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        schema_version: u32,
        request: Option<IgnoredAny>,
    }
    let Versioned { schema_version, request } = serde_json::from_str(text)?;
    match schema_version {
        SCHEMA_VERSION if request.is_none() => {
            let mut old: serde_json::Value = serde_json::from_str(text)?;
            let profile = serde_json::from_value(old["profile"].clone())?;
            old["request"] = serde_json::to_value(Request::of_profile_alone(profile))?;
            serde_json::from_value(old)
        }
        SCHEMA_VERSION => serde_json::from_str(text),
        newer => Err(Error::custom(format!(
            "the result has format {newer}, and formats up to {SCHEMA_VERSION} are known: a newer version \
             wrote it"
        ))),
    }
}

/// A request, indented.
#[must_use]
pub fn write_request(request: &Request) -> String {
    let mut text = pretty(request);
    text.push('\n');
    text
}

/// Reads a request back; what is wrong with it as a load is not looked at.
///
/// # Errors
/// If the text is not JSON, not of this format, or of a newer version.
pub fn read_request(text: &str) -> Result<Request, Error> {
    let request: Request = serde_json::from_str(text)?;
    match request.request_version {
        REQUEST_VERSION => Ok(request),
        PROFILE_ALONE => Err(Error::custom(
            "the request tells its profile alone: an older version wrote it, whose options are not known",
        )),
        newer => Err(Error::custom(format!(
            "the request has format {newer}, and formats up to {REQUEST_VERSION} are known: a newer \
             version wrote it"
        ))),
    }
}

/// The schema of a request.
#[must_use]
pub fn request_schema() -> String {
    let mut text = pretty(&schemars::schema_for!(Request));
    text.push('\n');
    text
}

/// The schema of the result.
#[must_use]
pub fn schema() -> String {
    schema_of(schemars::schema_for!(RunResult))
}

/// A schema, indented, of what may have a checksum.
fn schema_of(mut schema: schemars::Schema) -> String {
    let what =
        "Of the text without this key, `crc32c:` and eight hexadecimal digits; only in files.";
    if let Some(properties) = schema.ensure_object().get_mut("properties") {
        properties["checksum"] = json!({ "description": what, "type": "string" });
    }
    let mut text = pretty(&schema);
    text.push('\n');
    text
}

/// These types have string keys and finite numbers only, so that writing them cannot fail. What acts on a
/// terminal is written as `\uXXXX`.
fn pretty(value: &impl serde::Serialize) -> String {
    in_json(serde_json::to_string_pretty(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn any_change_of_a_text_that_was_sealed_is_seen() {
        let text = sealed("{\n  \"a\": 1,\n  \"b\": \"c\"\n}\n");
        assert!(is_ours(text.as_bytes()), "{text}");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!((&value["a"], &value["b"]), (&json!(1), &json!("c")));
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] ^= 1;
            assert!(!is_ours(&changed), "{at}");
            changed.remove(at);
            assert!(!is_ours(&changed), "{at}");
            assert!(!is_ours(&text.as_bytes()[..at]), "{at}");
        }
        for others in [format!("{text}\n"), format!(" {text}"), text.repeat(2), "{}".to_owned()] {
            assert!(!is_ours(others.as_bytes()), "{others}");
        }
    }
}
