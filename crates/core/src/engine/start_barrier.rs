//! The barrier that all threads of a time span wait at, so that they start together.

use std::sync::{Condvar, Mutex, PoisonError, mpsc};

use super::clock::Schedule;
use crate::errors::Failure;

#[derive(Debug, Clone, Copy)]
enum State {
    Closed,
    Open(Schedule),
    Cancelled,
}

/// Holds threads back until the coordinator opens it, or calls the whole time span off.
#[derive(Debug)]
pub struct StartBarrier {
    state: Mutex<State>,
    changed: Condvar,
}

impl Default for StartBarrier {
    fn default() -> Self {
        Self { state: Mutex::new(State::Closed), changed: Condvar::new() }
    }
}

impl StartBarrier {
    /// Lets all threads go, with the instants of the time span.
    pub fn open(&self, schedule: Schedule) {
        self.set(State::Open(schedule));
    }

    /// Sends all threads home.
    pub fn cancel(&self) {
        self.set(State::Cancelled);
    }

    /// Waits; `None` if the time span was called off.
    pub fn wait(&self) -> Option<Schedule> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *state {
                State::Open(schedule) => return Some(schedule),
                State::Cancelled => return None,
                State::Closed => {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn set(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.changed.notify_all();
    }
}

/// A thread's one word to the coordinator: it is ready, or why it is not. A thread that panics
/// before it has spoken counts as one that is not ready.
pub struct Readiness(pub Option<mpsc::Sender<Result<(), Failure>>>);

impl Readiness {
    /// Says it, once.
    pub fn tell(&mut self, word: Result<(), Failure>) {
        if let Some(ready) = self.0.take() {
            // The coordinator has gone only if it has called the time span off already.
            let _told = ready.send(word);
        }
    }
}

impl Drop for Readiness {
    fn drop(&mut self) {
        self.tell(Err("a thread panicked while it was set up".into()));
    }
}
