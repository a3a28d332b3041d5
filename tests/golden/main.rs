//! What the real DiskSpd printed, as golden data.

#[path = "../support/golden.rs"]
mod golden;

mod cases;
mod deviations;
