//! Threads of Python's, and what becomes of them when the process ends.

use std::cell::OnceCell;
use std::thread;

use pyo3::prelude::*;

thread_local! {
    static IS_FIRST: OnceCell<bool> = const { OnceCell::new() };
}

/// Whether this is the first thread of the process: the one that Python tells of signals, and that ends it.
pub fn is_first_thread(py: Python<'_>) -> bool {
    let look = || {
        let threading = py.import("threading")?;
        let own = threading.call_method0("get_ident")?;
        threading.call_method0("main_thread")?.getattr("ident")?.eq(own)
    };
    // Only the first one is left while the interpreter ends, and can no longer import.
    IS_FIRST.with(|known| *known.get_or_init(|| look().unwrap_or(true)))
}

/// Does something without the interpreter lock. Another thread than the first one may be left alone by
/// whoever waits for it, and the interpreter be gone when its work is done. It does not come back then: who
/// asks for the lock is ended by force, and the whole process with it.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    let is_first = is_first_thread(py);
    py.detach(|| {
        let done = work();
        while !is_first && Python::try_attach(|_| ()).is_none() {
            thread::park();
        }
        done
    })
}
