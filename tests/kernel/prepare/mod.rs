//! Target files and devices on a real kernel: made whole, guarded, and doubted.

mod devices;
mod files;
pub(crate) mod support;
mod together;
