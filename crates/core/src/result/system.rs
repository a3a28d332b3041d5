//! What a host is, without a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Host, Tool};

/// A host, its processors and their caches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SystemReport {
    /// The tool that looked.
    pub tool: Tool,
    /// When it looked, in seconds since 1970-01-01T00:00:00Z.
    pub seen_at_unix_s: i64,
    /// The host.
    pub host: Host,
    /// Size of a page of memory in bytes.
    pub page_bytes: u64,
    /// The caches, nearest to the CPUs first.
    pub caches: Vec<Cache>,
}

/// One cache, and the CPUs that share it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// 1 is nearest to the CPU.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Length of a line in bytes.
    pub line_bytes: u32,
    /// Places where a line can lie; 0 if the system does not tell.
    pub ways: u32,
    /// The kernel's numbers of the CPUs that share it, ascending.
    pub os_cpus: Vec<u32>,
}
