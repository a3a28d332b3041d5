//! What `DiskSpd` lacks: settings of one invocation that are not part of the profile.

use std::path::PathBuf;

/// Settings of one invocation beside the profile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// The engine to use; chosen by the plan if absent.
    pub engine: Option<EngineChoice>,
    /// Files and devices that hold data of others may be written.
    pub overwrite: bool,
    /// Block devices that may be written, each by what is written on it.
    pub allow_write: Vec<String>,
    /// Files that must never be written, nor the devices that hold them.
    pub protect: Vec<PathBuf>,
    /// What cannot be seen of those who may use a target is refused.
    pub strict: bool,
    /// Files that the run makes are removed at its end.
    pub remove_created: bool,
    /// The plan is explained, and nothing is done.
    pub explain: bool,
    /// The JSON result also goes to this file.
    pub json_file: Option<PathBuf>,
    /// The figures of each second are shown while the run is under way.
    pub live: bool,
    /// I/Os of each interval are counted by their latency.
    pub interval_latency: bool,
    /// I/Os per second of all threads together; no limit if absent.
    pub total_iops: Option<u64>,
    /// How the I/Os of a rate are spread over the time.
    pub arrivals: Arrivals,
    /// How random I/O is skewed; uniform, or as the profile says, if absent.
    pub skew: Option<Skew>,
    /// Writes are stamped, and reads are checked.
    pub verify: bool,
    /// The file that keeps which writes may stand where; named after the result or the target if absent.
    pub verify_journal: Option<PathBuf>,
    /// Completions are looked for at the device instead of being announced by an interrupt.
    pub polled: bool,
    /// A thread of the kernel takes what is queued; absent if the thread itself hands it over.
    pub submission_thread: Option<SubmissionThread>,
}

/// A thread of the kernel that takes what is queued.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SubmissionThread {
    /// The only CPU that it runs on, by the kernel's number; any if absent.
    pub cpu: Option<u32>,
}

/// How random I/O is skewed towards some places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skew {
    /// The k-th place has a share in proportion to k^-theta.
    Zipf {
        /// Theta in thousandths.
        theta_milli: u32,
    },
    /// The first fraction h of the target has the share 1 - h, and so on within it.
    Pareto {
        /// The fraction h in thousandths, between 0 and 500.
        h_milli: u32,
    },
    /// A bell around the middle of the target.
    Normal {
        /// Standard deviation in thousandths of a percent of the target.
        deviation_milli: u32,
    },
}

/// How the I/Os of a rate are spread over the time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// At equal distances.
    #[default]
    Constant,
    /// At random distances, as independent users would send them: a Poisson process of the same rate.
    Poisson,
}

/// An engine that was asked for by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineChoice {
    /// `io_uring`; an error if the kernel forbids it.
    Uring,
    /// Linux native asynchronous I/O.
    Aio,
    /// One I/O at a time per thread.
    Sync,
    /// Through a shared mapping.
    Mapped,
    /// Touches nothing: measures the tool itself.
    Null,
}
