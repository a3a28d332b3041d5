//! Whose turn it is: tests whose figures need calm CPUs, and all others.
//!
//! Most tests wait for the seconds of their runs to pass, so that more of them fit on the CPUs than
//! there are (`RUST_TEST_THREADS`). Those that judge times, rates and shares of the CPUs take twice
//! the room, and so run beside fewer.

use std::sync::{Condvar, Mutex};
use std::thread;

/// Modules whose tests judge how fast or how long something was, or do something in mid-run.
const CALM: &[&str] = &[
    "affinity::",
    "beneath::",
    "cost::",
    "effects::cpus",
    "effects::mapping::what_a_page_fault",
    "effects::phases",
    "effects::queues",
    "engines::",
    "events::",
    "faults::at_end",
    "faults::clock",
    "faults::gone",
    "faults::signals",
    "json_places::",
    "kernel_events::",
    "latency::",
    "many::",
    "meanwhile::",
    "rates::",
    "stop::",
    "sums::",
    "time_spans::",
    "tuning::",
];
/// Tests that use up what all processes share: contexts of libaio (`aio-max-nr`), locked memory.
const ALONE: &[&str] = &["faults::limits::an_ordinary_account", "many::a_thousand_threads"];
const ROOM: u32 = 6;

/// Who waits is served in the order of coming, so that nobody starves.
struct Waiting {
    free: u32,
    served: u64,
    came: u64,
}

static WAITING: Mutex<Waiting> = Mutex::new(Waiting { free: ROOM, served: 0, came: 0 });
static CHANGED: Condvar = Condvar::new();

/// A test's room, until its thread ends.
struct Turn(u32);

impl Turn {
    fn wait() -> Self {
        let current = thread::current();
        // Each test has a thread of its name; a thread that a test starts shares its room.
        let room = match current.name() {
            None => 0,
            Some(name) if ALONE.iter().any(|alone| name.starts_with(alone)) => ROOM,
            Some(name) if CALM.iter().any(|calm| name.starts_with(calm)) => 2,
            Some(_) => 1,
        };
        let mut waiting = WAITING.lock().unwrap();
        let ticket = waiting.came;
        waiting.came += 1;
        while waiting.served != ticket || waiting.free < room {
            waiting = CHANGED.wait(waiting).unwrap();
        }
        waiting.served += 1;
        waiting.free -= room;
        CHANGED.notify_all();
        Self(room)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        WAITING.lock().unwrap().free += self.0;
        CHANGED.notify_all();
    }
}

thread_local! {
    static TURN: Turn = Turn::wait();
}

/// Waits for the turn of this test, which lasts until it ends.
pub fn wait() {
    TURN.with(|_turn| ());
}
