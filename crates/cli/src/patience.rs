//! Files beside the targets, which may lie where nothing answers either: a line says what is waited for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use fathom_core::measure::Event;
use fathom_core::supervise::{TimedOut, supervise, within};
use fathom_sys::clock::now_ns;

use crate::output::complain;

/// Who waits for so long wants to know what for.
const SILENT_NS: u64 = 3_000_000_000;

/// Tells what is done from now on, as a clause such as ``read the profile '/a/b'``.
pub type Enter<'a> = &'a dyn Fn(&str);

/// Does something that may never come back on a thread of its own, beginning with what `doing` says. After
/// some seconds a line says what it is at, and `is_told` turns true. Without a limit it is waited for without
/// end.
///
/// # Errors
/// If a step has not come back within the limit.
pub fn wait<T: Send + 'static>(
    doing: &str,
    limit_ns: Option<u64>,
    is_told: &AtomicBool,
    work: impl Fn(Enter<'_>) -> T + Send + Sync + 'static,
) -> Result<T, TimedOut> {
    let (began_ns, work) = (now_ns(), Arc::new(work));
    let at = Arc::new(Mutex::new(doing.to_owned()));
    let look = |now_ns: u64| {
        if now_ns - began_ns >= SILENT_NS && !is_told.swap(true, Ordering::Relaxed) {
            let doing = at.lock().unwrap_or_else(PoisonError::into_inner).clone();
            complain(&format!(
                "WARNING: still waiting to {doing}: the kernel does not come back from it. Look whether its \
                 file system answers, or end this with Ctrl-C"
            ));
        }
        false
    };
    let done = {
        let (work, at, first) = (Arc::clone(&work), Arc::clone(&at), doing.to_owned());
        supervise(limit_ns, &look, &|_| {}, move |_, sink| {
            let enter = |doing: &str| {
                doing.clone_into(&mut at.lock().unwrap_or_else(PoisonError::into_inner));
                sink(Event::Entered(doing.to_owned().into()));
            };
            within(sink, first, || work(&enter))
        })
    };
    match done {
        // It can still be done, without a word if it hangs.
        Err(TimedOut::NoThread(_)) => Ok(work(&|_| {})),
        done => done,
    }
}
