//! `io_uring`.

use fathom_sys::ring::Ring;

use super::portion::Portion;
use super::{Backend, BackendError, Completion, Transfer, Wait};
use crate::measure::BackendDescription;

/// Where the kernel's workers serve the I/O of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workers {
    /// Where the plan wants them.
    Planned,
    /// On the CPU of the thread itself.
    Beside,
}

/// One ring.
pub struct UringBackend {
    ring: Ring,
    queued: usize,
    portion: Portion,
    /// Completions to wait for at once.
    batch: usize,
    /// How the kernel serves the I/O, in words.
    service: Option<String>,
}

impl UringBackend {
    /// A backend over a ring that the calling thread has made.
    #[must_use]
    pub fn new(ring: Ring) -> Self {
        Self { ring, queued: 0, portion: Portion::default(), batch: 1, service: None }
    }

    /// A backend whose I/O the kernel's workers serve, told in words, and that waits for `batch`
    /// completions at once, as far as so many are in flight.
    #[must_use]
    pub fn with_workers(self, service: String, batch: usize) -> Self {
        Self { portion: Portion::ALL, batch: batch.max(1), service: Some(service), ..self }
    }
}

impl UringBackend {
    /// Hands over what is queued. What the kernel does not take yet goes with the next call.
    fn hand_over(&mut self) {
        let _tried_again_later = self.ring.submit();
        self.queued = self.ring.queued();
        self.portion.handed_over(|| self.ring.completions());
    }
}

impl Backend for UringBackend {
    const MAX_IN_FLIGHT: usize = usize::MAX;

    #[inline]
    fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        self.ring.slot_mut(slot)
    }

    #[inline]
    fn submit(&mut self, transfer: &Transfer) {
        if self.queued >= self.portion.most() {
            self.hand_over();
        }
        self.ring.push(transfer);
        self.queued += 1;
    }

    #[inline]
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), BackendError> {
        if self.queued == 0 {
            // Completions that are there already cost no system call.
            self.ring.reap(done);
            if !done.is_empty() {
                return Ok(());
            }
        }
        let entered = match wait {
            Wait::No => self.ring.poll(),
            Wait::ForOne => self.ring.enter(self.batch.min(self.ring.in_flight()), None),
            Wait::ForOneOrNs(nanos) => self.ring.enter(1, Some(nanos)),
        };
        self.queued = 0;
        self.ring.reap(done);
        entered.map_err(|source| BackendError {
            backend: "io_uring",
            doing: "waiting for completions",
            source,
        })
    }

    fn describe(&self) -> BackendDescription {
        let mut features: Vec<String> =
            self.ring.features().iter().map(|&feature| feature.to_owned()).collect();
        features.extend(self.service.clone());
        if self.batch > 1 {
            features.push(format!("waits for {} completions", self.batch));
        }
        BackendDescription {
            name: crate::plan::EngineKind::Uring.name().to_owned(),
            features,
            ..BackendDescription::default()
        }
    }
}
