//! Where data lie: what a target is called.

mod target;

pub use target::{Misnomer, Protocol, Remote, Target};
