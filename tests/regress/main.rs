//! Bugs that were there once: each test is named after what went wrong.

#[path = "../support/plans.rs"]
#[expect(dead_code, reason = "the language of plans has more words than these tests need")]
mod plans;

mod corpus;
mod latency;
mod profile;
mod series;
mod warnings;
