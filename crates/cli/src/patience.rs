//! Files beside the targets, which may lie where nothing answers either: a person is told what is waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fathom_core::supervise::{TimedOut, supervise, within};
use fathom_sys::clock::now_ns;

use crate::output::complain;

/// Who waits for so long wants to know what for.
const SILENT_NS: u64 = 3_000_000_000;

/// Does something that may never come back, such as ``read the profile '/a/b'``, on a thread of its own.
/// After some seconds a line says so, and `is_told` turns true. Without a limit it is waited for without end.
///
/// # Errors
/// If it has not come back within the limit.
pub fn wait<T: Send + 'static>(
    doing: &str,
    limit_ns: Option<u64>,
    is_told: &AtomicBool,
    work: impl Fn() -> T + Send + Sync + 'static,
) -> Result<T, TimedOut> {
    let (began_ns, work) = (now_ns(), Arc::new(work));
    let look = |now_ns: u64| {
        if now_ns - began_ns >= SILENT_NS && !is_told.swap(true, Ordering::Relaxed) {
            complain(&format!(
                "WARNING: still waiting to {doing}: the kernel does not come back from it. Look whether its \
                 file system answers, or end this with Ctrl-C"
            ));
        }
        false
    };
    let (clause, working) = (doing.to_owned(), Arc::clone(&work));
    let done =
        supervise(limit_ns, &look, &|_| {}, move |_, sink| within(sink, clause, || working()));
    match done {
        // It can still be done, without a word if it hangs.
        Err(TimedOut::NoThread(_)) => Ok(work()),
        done => done,
    }
}
