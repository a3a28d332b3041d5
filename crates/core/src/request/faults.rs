//! What a run does about I/Os that fail.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a time span does about I/Os that fail; what is not given takes its default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FaultPolicy {
    /// What an I/O that fails does to the time span; it ends it if absent, as in `DiskSpd`.
    pub on_error: Option<OnError>,
    /// After how many seconds without a completion a thread counts as stuck, and the time span is ended
    /// without it; 0 sets no limit. If absent it is 120, or more where connections are made again for
    /// longer.
    pub io_timeout_s: Option<u32>,
    /// For how many seconds a lost connection to a target over the network is made again, while what was in
    /// flight waits; never if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconnect_s: Option<u32>,
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
    /// A server that has not come back after a day does not come back.
    pub const RECONNECT_S_MAX: u32 = 86_400;

    /// The number of the failed I/O that ends the time span; nothing if none does.
    #[must_use]
    pub fn error_limit(self) -> Option<u64> {
        match self.on_error.unwrap_or(OnError::Stop) {
            OnError::Stop => Some(1),
            OnError::Continue => None,
            OnError::Count(errors) => Some(u64::from(errors)),
        }
    }

    /// How long a thread may be in the kernel without a completion; nothing if without end. The default is
    /// that after which the kernel itself complains (`kernel.hung_task_timeout_secs`), and longer than what
    /// drivers of disks wait before they give up (30 s, `/sys/block/*/queue/io_timeout`).
    #[must_use]
    pub fn io_timeout_ns(self) -> Option<u64> {
        const DEFAULT_S: u32 = 120;
        let least = self.io_timeout_s_min().unwrap_or_default();
        let seconds = self.io_timeout_s.unwrap_or(DEFAULT_S.max(least));
        (seconds > 0).then(|| u64::from(seconds) * crate::units::NANOS_PER_SEC)
    }

    /// The shortest time that leaves a lost connection all the time in which it is made again: a host
    /// that has gone without a word is noticed after some seconds.
    #[must_use]
    pub fn io_timeout_s_min(self) -> Option<u32> {
        const NOTICED_S: u32 = 10;
        self.reconnect_s.map(|seconds| seconds.saturating_add(NOTICED_S))
    }

    /// Takes over what the other one gives.
    pub fn override_with(&mut self, other: Self) {
        self.on_error = other.on_error.or(self.on_error);
        self.io_timeout_s = other.io_timeout_s.or(self.io_timeout_s);
        self.reconnect_s = other.reconnect_s.or(self.reconnect_s);
    }
}
