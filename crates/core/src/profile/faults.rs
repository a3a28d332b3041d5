//! What a run does about I/Os that fail.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a time span does about I/Os that fail; what is not given takes its default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FaultPolicy {
    /// What an I/O that fails does to the time span; it ends it if absent, as in `DiskSpd`.
    pub on_error: Option<OnError>,
}

/// What an I/O that fails does to its time span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// The first one ends it.
    Stop,
    /// It is counted, and the load goes on.
    Continue,
    /// Each is counted, and the one with this number, over all threads and targets, ends it.
    Count(u32),
}

impl FaultPolicy {
    /// The number of the failed I/O that ends the time span; nothing if none does.
    #[must_use]
    pub fn error_limit(self) -> Option<u64> {
        match self.on_error.unwrap_or(OnError::Stop) {
            OnError::Stop => Some(1),
            OnError::Continue => None,
            OnError::Count(errors) => Some(u64::from(errors)),
        }
    }

    /// Takes over what the other one gives.
    pub fn override_with(&mut self, other: Self) {
        self.on_error = other.on_error.or(self.on_error);
    }
}
