//! What every operating system must offer, in words that name none of them.
//!
//! The rest of Fathom asks through this. Linux answers in `linux/`; another system answers in a
//! folder of its own, and nothing outside of this crate changes.

pub mod file;
