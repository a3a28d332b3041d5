//! On a real kernel, in a program of its own: what changes the whole machine for a moment.

mod offline;
mod others;
mod sysctls;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// One test at a time has the machine.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
