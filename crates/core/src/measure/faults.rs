//! I/Os that failed or were cut short, counted by kind.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Operation;
use crate::errors::Kind;

/// What went wrong with an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// It failed with this error number.
    Errno(i32),
    /// It transferred fewer bytes than requested.
    Short,
}

/// I/Os of one operation that went wrong in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultRecord {
    /// What they were to do.
    pub operation: Operation,
    /// What went wrong.
    pub kind: FaultKind,
    /// Those that completed in the measured time.
    pub ios: u64,
    /// Those that completed before or after it.
    pub outside_ios: u64,
}

/// The faults of one thread on one target: as many entries as there are kinds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FaultBook(pub Vec<FaultRecord>);

impl FaultBook {
    /// Counts an I/O that went wrong.
    #[cold]
    pub fn add(&mut self, operation: Operation, kind: FaultKind, is_measured: bool) {
        let known = self.0.iter().position(|one| (one.operation, one.kind) == (operation, kind));
        let index = known.unwrap_or_else(|| {
            self.0.push(FaultRecord { operation, kind, ios: 0, outside_ios: 0 });
            self.0.len() - 1
        });
        let record = &mut self.0[index];
        if is_measured {
            record.ios += 1;
        } else {
            record.outside_ios += 1;
        }
    }
}

/// I/Os of one operation that went wrong in the same way, as a result shows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultCount {
    /// `read`, `write`, `fsync`, `fdatasync` or `trim`.
    pub operation: String,
    /// The name of the error, such as `EIO`, or `short` if fewer bytes were transferred than requested.
    pub kind: String,
    /// The same in kinds that do not depend on the system; absent in results of older versions.
    #[serde(default)]
    pub error: Option<Kind>,
    /// Those that completed in the measured time. They are no part of the I/Os.
    pub ios: u64,
    /// Those that completed before or after it: in the warm-up, in the cool-down, or after the end.
    pub outside_ios: u64,
}

impl From<&FaultRecord> for FaultCount {
    fn from(record: &FaultRecord) -> Self {
        Self {
            operation: record.operation.name().to_owned(),
            kind: match record.kind {
                FaultKind::Errno(errno) => fathom_sys::errno::name(errno),
                FaultKind::Short => "short".to_owned(),
            },
            error: Some(match record.kind {
                FaultKind::Errno(errno) => Kind::of_errno(errno),
                FaultKind::Short => Kind::Short,
            }),
            ios: record.ios,
            outside_ios: record.outside_ios,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_told_by_the_systems_name_and_by_a_kind_of_our_own() {
        let count = |kind| {
            let record = FaultRecord { operation: Operation::Read, kind, ios: 1, outside_ios: 0 };
            let count = FaultCount::from(&record);
            (count.kind, count.error)
        };
        assert_eq!(count(FaultKind::Errno(5)), ("EIO".to_owned(), Some(Kind::Medium)));
        assert_eq!(count(FaultKind::Errno(28)), ("ENOSPC".to_owned(), Some(Kind::NoSpace)));
        assert_eq!(count(FaultKind::Short), ("short".to_owned(), Some(Kind::Short)));
    }
}
