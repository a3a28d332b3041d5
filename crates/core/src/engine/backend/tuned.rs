//! `io_uring` in measured portions: batches of a given size, a limit to the completions that are taken
//! at a time, polled completion, and a kernel thread that submits. Whoever asks for none of these gets
//! the plain backend, which has no branch for them.

use std::io;

use fathom_sys::ring::Ring;

use super::{Backend, BackendError, Completion, Transfer, Wait};
use crate::measure::BackendDescription;
use crate::plan::IoTuning;

/// Looks at the completions before a thread sleeps, where a kernel thread serves it: about the time
/// that a wake-up costs.
const LOOKS_BEFORE_SLEEP: u32 = 2_000;

/// One ring, and how it is used.
pub struct TunedRing {
    ring: Ring,
    portions: Portions,
    is_served: bool,
    features: Vec<String>,
    submissions: u64,
}

/// How many I/Os go over, and how many completions come back, at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Portions {
    batch: usize,
    depth: usize,
}

/// What to do next with a ring that has `queued` I/Os which the kernel does not know yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    /// Hand over this many of them, ...
    hand_over: usize,
    /// ... wait for this many completions, ...
    least: usize,
    /// ... and go on with the next step instead of returning.
    again: bool,
}

impl Portions {
    /// A batch is handed over when it is full. What does not fill one is held back only while the
    /// thread can do nothing but wait, and while a completion is due that frees the next slot.
    fn step(self, queued: usize, in_kernel: usize, wait: Wait) -> Step {
        if queued > self.batch {
            return Step { hand_over: self.batch, least: 0, again: true };
        }
        match wait {
            Wait::ForOne if queued < self.batch && self.batch < usize::MAX && in_kernel > 0 => {
                let least = (self.batch - queued).min(in_kernel);
                Step { hand_over: 0, least, again: false }
            }
            Wait::ForOne => {
                let full = if self.batch == usize::MAX { 1 } else { self.batch };
                Step { hand_over: queued, least: full.min(queued + in_kernel), again: false }
            }
            Wait::No | Wait::ForOneOrNs(_) => Step { hand_over: queued, least: 0, again: false },
        }
    }
}

impl TunedRing {
    /// A backend over a ring that the calling thread has made with the same settings.
    #[must_use]
    pub fn new(ring: Ring, tuning: &IoTuning) -> Self {
        let mut features: Vec<String> =
            ring.features().iter().map(|&feature| feature.to_owned()).collect();
        features.extend(tuning.batch_ios.map(|ios| format!("batches of {ios}")));
        features.extend(tuning.completion_depth.map(|most| format!("reaps of at most {most}")));
        let portion = |ios: Option<u32>| ios.map_or(usize::MAX, |ios| ios.max(1) as usize);
        Self {
            ring,
            portions: Portions {
                batch: portion(tuning.batch_ios),
                depth: portion(tuning.completion_depth),
            },
            is_served: tuning.submission_thread.is_some(),
            features,
            submissions: 0,
        }
    }

    fn take(&mut self, done: &mut Vec<Completion>) {
        self.ring.reap_at_most(self.portions.depth, done);
    }

    /// Hands over and waits as [`Portions::step`] says.
    fn run_steps(&mut self, wait: Wait) -> io::Result<()> {
        loop {
            let queued = self.ring.queued();
            let in_kernel = self.ring.in_flight() - queued;
            let step = self.portions.step(queued, in_kernel, wait);
            self.submissions += u64::from(step.hand_over > 0);
            match wait {
                Wait::ForOneOrNs(nanos) if !step.again => self.ring.hand_over_within(nanos)?,
                _ => self.ring.hand_over(step.hand_over, step.least)?,
            }
            // The kernel may take fewer than it is offered; the rest is offered again later.
            if !step.again || self.ring.queued() >= queued {
                return Ok(());
            }
        }
    }

    /// Where a kernel thread works, completions appear by themselves: sleeping costs more than looking.
    fn look_before_sleep(&mut self, done: &mut Vec<Completion>) -> io::Result<bool> {
        let queued = self.ring.queued();
        self.submissions += u64::from(queued > 0);
        self.ring.hand_over(queued, 0)?;
        for _ in 0..LOOKS_BEFORE_SLEEP {
            self.take(done);
            if !done.is_empty() {
                return Ok(true);
            }
            std::hint::spin_loop();
        }
        Ok(false)
    }

    fn hand_over_and_wait(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        if self.is_served && wait != Wait::No && self.look_before_sleep(done)? {
            return Ok(());
        }
        self.run_steps(wait)?;
        self.take(done);
        Ok(())
    }
}

impl Backend for TunedRing {
    const MAX_IN_FLIGHT: usize = usize::MAX;

    #[inline]
    fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        self.ring.slot_mut(slot)
    }

    #[inline]
    fn submit(&mut self, transfer: &Transfer) {
        self.ring.push(transfer);
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), BackendError> {
        let least = if self.portions.batch == usize::MAX { 1 } else { self.portions.batch };
        if self.ring.queued() < least {
            // Completions that are there already cost no system call.
            self.take(done);
            if !done.is_empty() {
                return Ok(());
            }
        }
        self.hand_over_and_wait(wait, done).map_err(|source| BackendError {
            backend: "io_uring",
            doing: "waiting for completions",
            source,
        })
    }

    fn describe(&self) -> BackendDescription {
        BackendDescription {
            name: crate::plan::EngineKind::Uring.name().to_owned(),
            features: self.features.clone(),
            submissions: Some(self.submissions),
            ..BackendDescription::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EIGHT: Portions = Portions { batch: 8, depth: usize::MAX };

    fn step(hand_over: usize, least: usize, again: bool) -> Step {
        Step { hand_over, least, again }
    }

    #[test]
    fn full_batches_go_over_one_by_one_and_the_last_one_waits_for_the_next() {
        assert_eq!(EIGHT.step(32, 0, Wait::ForOne), step(8, 0, true));
        assert_eq!(EIGHT.step(9, 23, Wait::ForOne), step(8, 0, true));
        assert_eq!(EIGHT.step(8, 24, Wait::ForOne), step(8, 8, false));
    }

    #[test]
    fn what_does_not_fill_a_batch_waits_for_what_will() {
        assert_eq!(EIGHT.step(3, 29, Wait::ForOne), step(0, 5, false));
        assert_eq!(EIGHT.step(0, 32, Wait::ForOne), step(0, 8, false));
        // Fewer than that are in the kernel: waiting for more would last forever.
        assert_eq!(EIGHT.step(3, 2, Wait::ForOne), step(0, 2, false));
    }

    #[test]
    fn what_nothing_will_fill_up_goes_over_as_it_is() {
        assert_eq!(EIGHT.step(3, 0, Wait::ForOne), step(3, 3, false));
        // An I/O that is due by a schedule is not late for the sake of a batch.
        assert_eq!(EIGHT.step(3, 9, Wait::No), step(3, 0, false));
        assert_eq!(EIGHT.step(3, 9, Wait::ForOneOrNs(50)), step(3, 0, false));
    }

    #[test]
    fn without_a_batch_everything_goes_over_at_once() {
        let all = Portions { batch: usize::MAX, depth: 4 };
        assert_eq!(all.step(20, 12, Wait::ForOne), step(20, 1, false));
        assert_eq!(all.step(0, 12, Wait::ForOne), step(0, 1, false));
    }
}
