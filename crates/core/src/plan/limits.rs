//! Limits of this process that a plan runs into, found before anything is opened or made.

use thiserror::Error;

use super::{EngineKind, Plan, SpanPlan};

/// A plan needs more open files at once than this process may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "the run needs at least {needed} more open files at once, and the limit of this process leaves {left}: each \
     thread opens each of its targets. Raise the hard limit (ulimit -Hn), or use fewer threads"
)]
pub struct TooManyFiles {
    /// Files that the run has open at the same time, at least.
    pub needed: u64,
    /// Files that this process may still open.
    pub left: u64,
}

/// Whether the plan gets along with so many more open files. What cannot be told passes: opening tells.
///
/// # Errors
/// If it does not.
pub fn check_open_files(plan: &Plan, left: u64) -> Result<(), TooManyFiles> {
    let needed = needed(plan);
    if needed <= left { Ok(()) } else { Err(TooManyFiles { needed, left }) }
}

/// How many files may be kept open now beside those that the plan opens; nothing if that is unknown.
pub(crate) fn spare_now(plan: &Plan) -> Option<u64> {
    let limit = fathom_sys::limits::raise_open_files().ok()?;
    let open = fathom_sys::limits::open_files().ok()?;
    Some(spare(plan, limit.saturating_sub(open)))
}

/// How many of so many more open files the plan leaves over.
fn spare(plan: &Plan, left: u64) -> u64 {
    /// Files that are open for a moment: a look at what other processes have open, a journal, a library.
    const MOMENTARY: u64 = 32;
    left.saturating_sub(needed(plan).saturating_add(MOMENTARY))
}

fn needed(plan: &Plan) -> u64 {
    plan.spans.iter().map(files_of).max().unwrap_or(0)
}

/// Open files of the fullest table of a time span. Threads of the synchronous engine have each a table of
/// their own (`unshare(2)` with `CLONE_FILES`); all others share that of the process.
fn files_of(span: &SpanPlan) -> u64 {
    let (mut shared, mut own) = (0, 0);
    for thread in &span.threads {
        let targets = thread.assignments.len() as u64;
        match thread.engine {
            EngineKind::Null => {}
            EngineKind::Sync => own = own.max(targets),
            EngineKind::Uring => shared += targets + 1,
            EngineKind::Aio | EngineKind::Mapped => shared += targets,
            EngineKind::Net => {
                let of = |one: &super::Assignment| span.targets[one.target].location.served();
                let served = thread.assignments.iter().filter_map(of);
                shared += served.map(|one| u64::from(one.plan.connections)).sum::<u64>();
            }
        }
    }
    own.max(shared)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::guard::fixture::{span, target, thread};

    fn plan(engine: EngineKind, threads: usize) -> Plan {
        let mut one = span(vec![target(Path::new("t.dat"), 0)]);
        one.threads = (0..threads).map(|index| thread(index, engine, 0)).collect();
        Plan { spans: vec![one], ..Plan::default() }
    }

    #[test]
    fn each_engine_needs_what_it_opens() {
        for (engine, needed) in [
            (EngineKind::Null, 0),
            (EngineKind::Sync, 1),
            (EngineKind::Aio, 5),
            (EngineKind::Mapped, 5),
            (EngineKind::Uring, 10),
        ] {
            let plan = plan(engine, 5);
            assert_eq!(check_open_files(&plan, needed), Ok(()));
            if let Some(left) = needed.checked_sub(1) {
                assert_eq!(check_open_files(&plan, left), Err(TooManyFiles { needed, left }));
            }
        }
    }
}
