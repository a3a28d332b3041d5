//! What slows or disturbs a measurement on this machine, and what the tool itself costs here.
//!
//! Each rule reads some files of the kernel below a root, which is `/` or a tree that a test has made,
//! and says what it found, with the evidence and what to do about it. Nothing is changed.

mod cgroup;
pub mod cost;
mod devices;
mod interrupts;
mod limits;
mod load;
mod machine;
mod targets;
#[cfg(test)]
mod tests;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::facts;
use crate::request::Profile;
use crate::result::{Host, Tool};
use crate::tree::{self, Tree};
pub use cost::MeasuredCost;

/// Version of this format. It grows with each change that an older reader would misread.
pub const SCHEMA_VERSION: u32 = 2;

/// What was found about a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// Version of this format.
    pub schema_version: u32,
    /// The tool that looked.
    pub tool: Tool,
    /// The host.
    pub host: Host,
    /// What the tool itself costs here.
    pub cost: MeasuredCost,
    /// One entry per thing that was looked at.
    pub findings: Vec<Finding>,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What was looked at, such as `I/O scheduler`.
    pub subject: String,
    /// The device or target that it is about; absent if it is about the whole machine.
    pub target: Option<String>,
    /// How it is.
    pub verdict: Verdict,
    /// What was seen, as a sentence.
    pub evidence: String,
    /// What to do about it, as a sentence; empty if nothing has to be done.
    pub remedy: String,
}

/// How a thing is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It takes speed, or adds latency.
    Slow,
    /// It makes figures vary from run to run.
    Unsteady,
    /// The system does not tell.
    Unknown,
    /// There is nothing to find fault with.
    Good,
}

impl Finding {
    fn new(subject: &str, verdict: Verdict, evidence: String, remedy: &str) -> Self {
        let (subject, remedy) = (subject.to_owned(), remedy.to_owned());
        Self { subject, target: None, verdict, evidence, remedy }
    }

    fn good(subject: &str, evidence: impl Into<String>) -> Self {
        Self::new(subject, Verdict::Good, evidence.into(), "")
    }

    fn slow(subject: &str, evidence: String, remedy: &str) -> Self {
        Self::new(subject, Verdict::Slow, evidence, remedy)
    }

    fn unsteady(subject: &str, evidence: String, remedy: &str) -> Self {
        Self::new(subject, Verdict::Unsteady, evidence, remedy)
    }

    fn unknown(subject: &str, evidence: impl Into<String>) -> Self {
        Self::new(subject, Verdict::Unknown, evidence.into(), "")
    }

    fn about(self, target: &str) -> Self {
        Self { target: Some(target.to_owned()), ..self }
    }
}

/// Looks at this machine, and at these targets; at all its disks if none is given. `cost` is what was
/// [measured](cost::measure) before.
///
/// It takes about a quarter of a second, in which it sees other load.
#[must_use]
pub fn examine(targets: &[String], cost: MeasuredCost) -> Diagnosis {
    let engines = crate::run::availability();
    let host = facts::gather(&Profile::default(), engines, &|_| {}).host();
    let tree = Tree::new(Path::new("/"));
    let before = load::Sample::take(&tree);
    fathom_sys::clock::sleep_until_ns(fathom_sys::clock::now_ns() + load::SAMPLE_NS);
    let after = load::Sample::take(&tree);
    let mut findings = machine::examine(&tree);
    findings.extend(limits::examine(&tree, &crate::run::availability()));
    findings.extend(cgroup::examine(&tree));
    findings.extend(load::examine(&tree, &before, &after));
    findings.extend(targets::examine(&tree, targets));
    findings.sort_by_key(|finding| finding.verdict);
    let tool =
        Tool { name: "Fathom diskspd".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    Diagnosis { schema_version: SCHEMA_VERSION, tool, host, cost, findings }
}
