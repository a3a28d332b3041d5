//! What the real DiskSpd printed, as golden data.

#[path = "../support/golden.rs"]
mod golden;
#[path = "../support/layout.rs"]
mod layout;

#[path = "../support/test_data.rs"]
mod test_data;

mod cases;
mod deviations;
mod runs;
