//! Runs of the binary, with their JSON results.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// What a run said and left.
pub struct Ran {
    pub code: Option<i32>,
    pub text: String,
    pub errors: String,
    pub result: Value,
}

/// Runs `diskspd` in a folder. Nothing is measured before the run ends by its own rules.
pub fn run(folder: &Path, arguments: &[&str]) -> Ran {
    let json = folder.join("result.json");
    let _ = fs::remove_file(&json);
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskspd"));
    command.current_dir(folder).arg(format!("--json={}", json.display())).args(arguments);
    let Output { status, stdout, stderr } = command.output().unwrap();
    let result = fs::read(&json).ok();
    let result = result.map_or(Value::Null, |bytes| serde_json::from_slice(&bytes).unwrap());
    Ran {
        code: status.code(),
        text: String::from_utf8(stdout).unwrap(),
        errors: String::from_utf8(stderr).unwrap(),
        result,
    }
}

impl Ran {
    /// The run, which went as it was to go.
    pub fn good(self) -> Self {
        assert_eq!(self.code, Some(0), "{}\n{}", self.errors, self.text);
        self
    }

    pub fn span(&self) -> &Value {
        &self.result["time_spans"][0]
    }

    /// The sum of a count of reads or writes over all threads.
    pub fn sum(&self, direction: &str, count: &str) -> u64 {
        let threads = self.span()["threads"].as_array().unwrap();
        let rows = threads.iter().flat_map(|thread| thread["targets"].as_array().unwrap());
        rows.map(|row| row[direction][count].as_u64().unwrap()).sum()
    }

    /// What the network part says of the first target.
    pub fn network(&self) -> &Value {
        &self.span()["network"][0]
    }

    pub fn warns(&self, kind: &str) -> bool {
        let warnings = self.result["warnings"].as_array().unwrap();
        warnings.iter().any(|warning| warning["kind"] == kind)
    }
}
