//! Whether rings and their buffers fit into the memory that this account may lock (`ulimit -l`).

use fathom_sys::ring::locked_bytes;

use super::Resolver;
use super::threads::{Use, outstanding};
use crate::request::TimeSpan;
use crate::units::KIB;

/// Half of the limit is left to other processes of the account: among them are those that have just ended, as
/// the kernel gives back what rings held only some time later.
const LEFT_TO_OTHERS: u64 = 2;

/// What the rings of a time span may take.
pub(super) struct Rings {
    /// Whether all threads can have one, or why not.
    pub(super) fit: Result<(), String>,
    /// Whether the buffers fit beside them. Those of all threads are registered, or none: the first would
    /// leave nothing for the rings of the last.
    pub(super) register_buffers: bool,
}

impl Resolver<'_> {
    /// What the rings may take if each thread has one, and all of them buffers of so many bytes.
    pub(super) fn rings(&self, span: &TimeSpan, threads: &[Vec<Use>], buffers_bytes: u64) -> Rings {
        let Some(lockable) = self.facts.lockable else {
            return Rings { fit: Ok(()), register_buffers: true };
        };
        let queued = threads.iter().map(|uses| outstanding(span, uses)).filter(|count| *count > 1);
        let needed = if lockable.takes_rings { queued.map(locked_bytes).sum() } else { 0 };
        let room = lockable.bytes / LEFT_TO_OTHERS;
        let fit = if needed <= room {
            Ok(())
        } else {
            Err(format!(
                "its rings need {} KiB of locked memory; this account may lock {} KiB (ulimit -l), half of \
                 which is left to its other processes",
                needed / KIB,
                lockable.bytes / KIB
            ))
        };
        let register_buffers = buffers_bytes.saturating_add(needed) <= room;
        Rings { fit, register_buffers }
    }
}
