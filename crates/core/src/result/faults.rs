//! I/Os that went wrong, summed over the threads: computed here once, shown there.

use super::{FaultCount, TimeSpanResult};

/// I/Os of all threads that went wrong in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetFault<'a> {
    /// The target.
    pub path: &'a str,
    /// Operation, kind and counts.
    pub fault: FaultCount,
}

impl TimeSpanResult {
    /// The faults of each target, in the order of the targets.
    #[must_use]
    pub fn faults(&self) -> Vec<TargetFault<'_>> {
        let mut found: Vec<TargetFault<'_>> = Vec::new();
        for row in self.threads.iter().flat_map(|thread| &thread.targets) {
            row.faults.iter().for_each(|fault| add(&mut found, self.path_of(row), fault));
        }
        let place = |fault: &TargetFault<'_>| {
            self.targets.iter().position(|target| target.path == fault.path)
        };
        let words = |one: &TargetFault<'_>| (one.fault.operation.clone(), one.fault.kind.clone());
        found.sort_by_key(|one| (place(one), words(one)));
        found
    }
}

fn add<'a>(found: &mut Vec<TargetFault<'a>>, path: &'a str, fault: &FaultCount) {
    let is_same = |one: &&mut TargetFault<'a>| {
        one.path == path && one.fault.operation == fault.operation && one.fault.kind == fault.kind
    };
    if let Some(known) = found.iter_mut().find(is_same) {
        known.fault.ios += fault.ios;
        known.fault.outside_ios += fault.outside_ios;
    } else {
        found.push(TargetFault { path, fault: fault.clone() });
    }
}
