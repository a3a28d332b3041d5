//! Showing: a result becomes JSON. `DiskSpd`'s own forms are in [`crate::diskspd`].

pub mod doctor;
pub mod explain;
pub mod json;
