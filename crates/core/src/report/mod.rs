//! Showing: a result becomes JSON. `DiskSpd`'s own forms are in [`crate::dialect::diskspd`].

pub mod doctor;
pub mod explain;
pub mod json;
