//! What `DiskSpd` lacks: settings of a run that no profile of its own holds.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the name of a journal ends in.
pub const JOURNAL_SUFFIX: &str = "verify-journal";

/// Settings of a run beside its load.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunOptions {
    /// The engine to use; chosen by the plan if absent.
    pub engine: Option<EngineChoice>,
    /// Files that the run makes are removed at its end.
    pub remove_created: bool,
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
    /// The file that keeps which writes may stand where; named after the JSON result
    /// or the first target if absent.
    pub verify_journal: Option<PathBuf>,
    /// Completions are looked for at the device instead of being announced by an interrupt.
    pub polled: bool,
    /// A thread of the kernel takes what is queued; absent if the thread itself hands it over.
    pub submission_thread: Option<SubmissionThread>,
    /// Connections of each thread to each of its targets over the network; one if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
}

/// A thread of the kernel that takes what is queued.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubmissionThread {
    /// The only CPU that it runs on, by the kernel's number; any if absent.
    pub cpu: Option<u32>,
}

/// How random I/O is skewed towards some places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
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

impl Skew {
    /// Theta, at most, in thousandths.
    pub const THETA_MILLI_MAX: u32 = 10_000;
    /// The fraction h, at most, in thousandths.
    pub const H_MILLI_MAX: u32 = 500;
    /// The standard deviation, at most, in thousandths of a percent.
    pub const DEVIATION_MILLI_MAX: u32 = 100_000;
}

impl Skew {
    /// How its number is called, its value, and the most that it may be.
    const fn number(self) -> (&'static str, u32, u32) {
        match self {
            Self::Zipf { theta_milli } => {
                ("theta in thousandths (zipf of --skew)", theta_milli, Self::THETA_MILLI_MAX)
            }
            Self::Pareto { h_milli } => {
                ("h in thousandths (pareto of --skew)", h_milli, Self::H_MILLI_MAX)
            }
            Self::Normal { deviation_milli } => (
                "deviation in 0.001 % (normal of --skew)",
                deviation_milli,
                Self::DEVIATION_MILLI_MAX,
            ),
        }
    }
}

/// As it is typed, such as `zipf:1.1`.
impl fmt::Display for Skew {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Zipf { .. } => "zipf",
            Self::Pareto { .. } => "pareto",
            Self::Normal { .. } => "normal",
        };
        let (_, milli, _) = self.number();
        let decimal = format!("{}.{:03}", milli / 1000, milli % 1000);
        write!(formatter, "{name}:{}", decimal.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// A number of the settings: how it is called, its value if there is one, and what it may be.
type Number = (&'static str, Option<u64>, RangeInclusive<u64>);

impl RunOptions {
    /// More connections than this for one thread and target are a slip of the finger.
    pub const CONNECTIONS_MAX: u32 = 1024;

    /// All numbers. The structure is taken apart whole, so that a new field has to be thought of.
    pub(crate) fn numbers(&self) -> Vec<Number> {
        let Self {
            engine: _,
            remove_created: _,
            interval_latency: _,
            total_iops,
            arrivals: _,
            skew,
            verify: _,
            verify_journal: _,
            polled: _,
            // Which CPUs there are is a matter of the host.
            submission_thread: _,
            connections,
        } = self;
        let most = u64::from(Self::CONNECTIONS_MAX);
        let mut numbers = vec![
            ("rate (--rate)", *total_iops, 1..=u64::MAX),
            ("number of connections (--connections)", connections.map(u64::from), 1..=most),
        ];
        numbers.extend(skew.map(|skew| {
            let (what, value, most) = skew.number();
            (what, Some(u64::from(value)), 1..=u64::from(most))
        }));
        numbers
    }
}

/// How the I/Os of a rate are spread over the time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// At equal distances.
    #[default]
    Constant,
    /// At random distances, as independent users would send them: a Poisson process of the same rate.
    Poisson,
}

/// An engine that was requested by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EngineChoice {
    /// `io_uring`; an error if the kernel forbids it.
    Uring,
    /// Linux native asynchronous I/O.
    Aio,
    /// One I/O at a time per thread.
    Sync,
    /// Through a shared mapping.
    #[serde(rename = "mmap")]
    Mapped,
    /// Touches nothing: measures the tool itself.
    Null,
}

impl EngineChoice {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Uring, Self::Aio, Self::Sync, Self::Mapped, Self::Null];

    /// As it is typed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uring => "uring",
            Self::Aio => "aio",
            Self::Sync => "sync",
            Self::Mapped => "mmap",
            Self::Null => "null",
        }
    }
}
