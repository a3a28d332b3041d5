//! What is to be run, whole and as data: [`Request`].
//!
//! It is the same on every host, is written and read back without loss, and stands in each result, so that
//! a run can be run again. What a person types for one run alone, such as the permission to overwrite
//! data, is no part of it: that stands in a [`Job`].

mod extensions;
mod faults;
mod job;
mod options;
mod permission;
mod profile;
mod stop;
mod tuning;
mod verification;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use extensions::{
    BlockShare, ByteRange, Extensions, Pattern, PatternOrder, Ratio, SyncCadence,
};
pub use faults::{FaultPolicy, OnError};
pub use job::Job;
pub use options::{Arrivals, EngineChoice, JOURNAL_SUFFIX, RunOptions, Skew, SubmissionThread};
pub use permission::Permission;
pub use profile::*;
pub use stop::{ConfidenceRule, SteadyRule, StopRules};
pub use tuning::{BufferSeparation, CpuOrder, EfficiencyOrder, RingBatch, RingUse, Tuning};
pub use verification::VerifyRequest;

/// Version of the form of a request. It grows with each change that an older reader would misread.
pub const REQUEST_VERSION: u32 = 1;
/// The version of what a result without a request tells: its profile. The options beside it are not known.
pub const PROFILE_ALONE: u32 = 0;

/// All that decides what is run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// Version of this form; 0 where an older result told the profile alone, so that the options are not
    /// known.
    pub request_version: u32,
    /// The load.
    pub profile: Profile,
    /// Settings of the run beside the load.
    pub options: RunOptions,
}

impl Request {
    /// A request of this version.
    #[must_use]
    pub fn new(profile: Profile, options: RunOptions) -> Self {
        Self { request_version: REQUEST_VERSION, profile, options }
    }

    /// What a result that has the profile alone tells of its request.
    #[must_use]
    pub fn of_profile_alone(profile: Profile) -> Self {
        let options = RunOptions::default();
        Self { request_version: PROFILE_ALONE, profile, options }
    }
}

impl Default for Request {
    fn default() -> Self {
        Self::new(Profile::default(), RunOptions::default())
    }
}
