//! The gate that all threads of a time span wait at, so that they start together.

use std::sync::{Condvar, Mutex, PoisonError};

use super::clock::Schedule;

#[derive(Debug, Clone, Copy)]
enum State {
    Closed,
    Open(Schedule),
    Cancelled,
}

/// Holds threads back until the conductor opens it, or calls the whole time span off.
#[derive(Debug)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

impl Default for Gate {
    fn default() -> Self {
        Self { state: Mutex::new(State::Closed), changed: Condvar::new() }
    }
}

impl Gate {
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
