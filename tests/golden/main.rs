//! What the real DiskSpd printed, as golden data.

#[path = "../support/golden.rs"]
mod golden;
#[path = "../support/layout.rs"]
mod layout;

mod cases;
mod deviations;
mod runs;
