//! Whole runs on a simulated device and clock, with exactly known counts and every offset recorded.

#[path = "../support/plans.rs"]
mod plans;

mod account;
mod books;
mod doubts;
mod faults;
mod mix;
mod offsets;
mod pace;
mod seeds;
mod stop;
mod verify;
