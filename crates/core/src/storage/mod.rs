//! Where data lie: what a target is called, where that leads, and the contract of what a run needs there
//! besides the load.

mod answering;
pub(crate) mod contract;
mod local;
mod location;
mod served;
mod target;
#[cfg(test)]
mod tests;

pub(crate) use answering::Answering;
pub use contract::Facts;
pub use local::bypasses_page_cache;
pub use location::{Local, Location, Served};
pub use target::{Misnomer, Protocol, Remote, Target};
