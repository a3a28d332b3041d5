//! Fathom's core: from a request over a plan and a run to a result.
//!
//! The modules stand in the order in which a measurement passes through them:
//!
//! | stage | module | in → out |
//! |---|---|---|
//! | ask | [`dialect`], [`request`] | arguments or XML → [`request::Request`]; touches no machine |
//! | resolve | [`plan`] | request + facts of the host → [`plan::Plan`], numbers only |
//! | guard | [`guard`], [`signature`] | plan → permission to write; opens nothing for writing |
//! | prepare | [`prepare`] | files to make → files filled with data |
//! | do | [`engine`] | plan → [`measure::Event`]s and [`measure::SpanMeasurements`] |
//! | see | [`measure`] | completions → histograms, counters, intervals, CPU use |
//! | verify | [`verify`] | I/Os → stamps, verdicts and a journal that outlives the process |
//! | mean | [`result`] | measurements → [`result::RunResult`], versioned and mergeable |
//! | show | [`report`], [`dialect`] | result → text, XML, JSON |
//!
//! [`doctor`] and [`explain`] stand beside them: the one looks at the machine instead of measuring a
//! target, the other tells what a run would do.
//!
//! Data pass downwards in that list; modules may use each other's types. `DiskSpd`'s own words live in
//! [`dialect`] and nowhere else.
#![forbid(unsafe_code)]

pub mod beneath;
pub mod control_groups;
pub mod dialect;
mod divisor;
pub mod doctor;
pub mod engine;
pub mod errors;
pub mod events;
pub mod explain;
pub mod guard;
pub mod measure;
pub mod network;
mod noise;
pub mod plan;
pub mod prepare;
pub mod report;
pub mod request;
pub mod result;
pub mod run;
pub mod shown;
pub mod signature;
pub mod storage;
pub mod supervise;
mod tree;
pub mod units;
pub mod verify;
