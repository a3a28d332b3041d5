//! Whole runs on a simulated device and clock, with exactly known counts and every offset recorded.

#[path = "../support/plans.rs"]
mod plans;

mod accounting;
mod calls;
mod faults;
mod mix;
mod offsets;
mod pace;
mod seeds;
mod stalls;
mod statistics;
mod stop;
mod stretches;
mod verify;
mod warnings;
