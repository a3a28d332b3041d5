//! Backends: how I/O reaches the kernel, or does not.
//!
//! A backend is five methods, a sixth where one I/O is less work than several, a seventh where the same I/O
//! again is less work than another one, and an eighth where what is in flight may be left behind. The one hot
//! loop in [`super::worker`] is generic over it.

mod aio;
#[cfg(feature = "net")]
mod net;
mod null;
mod portion;
mod sim;
mod sync;
mod tuned;
mod uring;

pub use aio::AioBackend;
#[cfg(feature = "net")]
pub use net::{NetBackend, RemoteTarget};
pub use null::NullBackend;
pub use sim::{SimBackend, SimCalls, SimClock, SimDevice, SimRecord};
pub use sync::{MappedTarget, SyncBackend};
pub use tuned::TunedRing;
pub use uring::{UringBackend, Workers};

pub use fathom_sys::transfer::{Completion, Operation, Transfer};
use thiserror::Error;

use crate::errors::Failure;
use crate::measure::BackendDescription;

/// How long to wait for completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Not at all: hand over what is queued, and take what is there.
    No,
    /// Until at least one I/O has completed.
    ForOne,
    /// Until at least one I/O has completed, or this much time has passed.
    ForOneOrNs(u64),
}

/// Why a backend cannot go on. An I/O that fails is a [`Completion`] with a negative result instead.
#[derive(Debug, Error)]
#[error("{backend} failed while {doing} ({source})")]
pub struct BackendError {
    /// Name of the backend.
    pub backend: &'static str,
    /// What it was doing.
    pub doing: &'static str,
    /// The kernel's answer.
    pub source: std::io::Error,
}

impl From<BackendError> for Failure {
    fn from(error: BackendError) -> Self {
        Self::of(&error.source, error.to_string())
    }
}

/// How I/O reaches the kernel. Opening is each backend's own constructor; closing is `Drop`, which
/// waits for what is in flight.
pub trait Backend {
    /// I/Os that may usefully be in flight at once; `usize::MAX` if the backend sets no limit.
    const MAX_IN_FLIGHT: usize;

    /// A slot's buffer, which must not be in flight.
    fn slot_mut(&mut self, slot: usize) -> &mut [u8];

    /// Queues an I/O. The kernel may see it only at the next [`Backend::reap`].
    fn submit(&mut self, transfer: &Transfer);

    /// Queues an I/O that differs from the last one of its slot in its offset at most.
    #[inline]
    fn again(&mut self, transfer: &Transfer) {
        self.submit(transfer);
    }

    /// Hands over what is queued, waits as told, and appends what has completed to `done`.
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), BackendError>;

    /// Performs one I/O while nothing else is in flight, and returns its result.
    fn call(&mut self, transfer: &Transfer) -> Result<i32, BackendError> {
        let mut done = Vec::with_capacity(1);
        self.submit(transfer);
        while done.is_empty() {
            self.reap(Wait::ForOne, &mut done)?;
        }
        Ok(done[0].result)
    }

    /// What it is and which features it uses.
    fn describe(&self) -> BackendDescription;

    /// Whether the run is to end and nothing that is in flight can come back at present; then a wait ends
    /// without a completion, and what is in flight is left behind.
    fn leaves_all_behind(&self) -> bool {
        false
    }
}
