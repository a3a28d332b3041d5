//! The operating system made safe: the only crate of Fathom with unsafe code.
//!
//! Each `unsafe` block carries a SAFETY sentence that names the invariant and who keeps it.

pub mod contract;
pub mod kind;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use linux::*;
