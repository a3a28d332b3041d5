//! What lies beneath the targets, and what its counters say of the load.
//!
//! A figure is the device's only if the device saw the I/O. So the layers beneath each target are found
//! before the load (`layers`), their counters are read at the edges of the load and of the measured time
//! ([`Watch`]), and the differences stand in the result beside what the tool itself counted. Nothing is done
//! per I/O. All is read below a root, so that a machine can be made of files.

mod counters;
mod cpu;
#[cfg(test)]
pub(crate) mod fake;
mod groups;
mod layers;
mod overlay;
mod places;
mod processes;
mod servers;
#[cfg(test)]
mod tests;
mod watch;

pub use counters::{Counters, ProcessIo};
pub use cpu::{CpuReading, Pressure};
pub use groups::{GroupReading, IoLimit, LimitKind};
pub(crate) use layers::{BY_PROCESS, OVER_NETWORK_DISK};
pub use layers::{Layer, LayerKind, Layers};
pub(crate) use places::{COPIES, HIDDEN, IN_MEMORY, OVER_NETWORK};
pub use processes::ProcessTime;
pub use servers::{Server, Serving};
pub use watch::{Edge, Observation, Reading, Stall, Watch};
