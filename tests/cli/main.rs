//! The binary as a person or a script meets it.

mod bad_input;
mod doctor;
mod explain;
mod hostile_names;
mod lease;
mod usage;
