//! Generated files, which are committed so that a change of them shows in review.

use std::fs;
use std::path::Path;

use fathom_core::dialect::diskspd::manual;
use fathom_core::report::json;

use crate::python;

/// Each generated file and its contents.
fn files() -> [(&'static str, String); 8] {
    [
        ("docs/usage.txt", manual::usage()),
        ("docs/reference.md", manual::reference_page()),
        ("docs/diskspd.1", manual::man_page()),
        ("schema/result.schema.json", json::schema()),
        ("schema/request.schema.json", json::request_schema()),
        ("python/fathom/_request_parts.py", python::module(&json::request_schema())),
        ("schema/doctor.schema.json", json::diagnosis_schema()),
        ("schema/explain.schema.json", json::explanation_schema()),
    ]
}

/// Writes all of them; returns what could not be written.
pub fn write_all(root: &Path) -> Vec<String> {
    let write = |(name, text): (&str, String)| {
        fs::write(root.join(name), text).err().map(|error| format!("{name}: {error}"))
    };
    files().into_iter().filter_map(write).collect()
}

/// Compares all of them; returns those that are not what would be generated now.
pub fn check_all(root: &Path) -> Vec<String> {
    let differs = |(name, text): &(&str, String)| {
        fs::read_to_string(root.join(name)).ok().as_ref() != Some(text)
    };
    let stale = files().into_iter().filter(differs);
    stale.map(|(name, _)| format!("{name} is out of date: run `make docs`")).collect()
}
