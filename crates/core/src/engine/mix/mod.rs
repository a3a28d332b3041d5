//! Mixed operations: which kind comes next, of which size, at which offset. Streams without any of these
//! settings have none of this.

mod kinds;
mod shared;
mod walk;

pub use shared::SharedMix;

use self::kinds::Kinds;
use self::shared::SharedStream;
use self::walk::Walk;
use super::backend::Operation;
use super::random::Random;
use crate::plan::mix::{MixPlan, SyncCadence};

/// The operation that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    /// What it does.
    pub operation: Operation,
    /// Offset from the start of the target.
    pub offset_bytes: u64,
    /// Length.
    pub bytes: u32,
}

/// The mix of one thread on one target.
#[derive(Debug)]
pub struct Mix<'a> {
    kinds: Kinds,
    exact: bool,
    operation: Operation,
    read: &'a SharedStream,
    write: &'a SharedStream,
    walk: Walk<'a>,
    /// Where writes and trims go, if not where reads do.
    write_walk: Option<Walk<'a>>,
    cadence: Option<Cadence>,
}

/// Counts writes until the next sync.
#[derive(Debug)]
struct Cadence {
    plan: SyncCadence,
    writes: u32,
}

impl<'a> Mix<'a> {
    /// The mix of a thread whose place in its streams begins `ahead_bytes` behind their base, for
    /// `slots` outstanding I/Os. The seed decides where exact shares begin.
    #[must_use]
    pub fn new(
        plan: &MixPlan,
        write_percent: u32,
        shared: &'a SharedMix,
        ahead_bytes: u64,
        slots: usize,
        seed: u64,
    ) -> Self {
        let walk = |plan, stream| Walk::new(plan, stream, ahead_bytes, slots);
        let mut random = Random::new(seed ^ 0x004D_4958);
        let mut kinds = Kinds::new(plan.exact, plan.trim_percent, write_percent, &mut random);
        // A walk may begin with a run, whose kind is drawn as that of any other.
        let operation = if plan.exact { Operation::Read } else { kinds.next(&mut random) };
        Self {
            kinds,
            exact: plan.exact,
            operation,
            read: &shared.read,
            write: &shared.write,
            walk: walk(&plan.read, &shared.read),
            write_walk: plan.separate.then(|| walk(&plan.write, &shared.write)),
            cadence: plan.sync.map(|plan| Cadence { plan, writes: 0 }),
        }
    }

    /// Whether a sync comes next, which has no place in any schedule.
    #[inline]
    #[must_use]
    pub fn is_sync_due(&self) -> bool {
        self.cadence.as_ref().is_some_and(Cadence::is_due)
    }

    /// The next operation, for the I/O in `slot`.
    #[inline]
    pub fn next(&mut self, slot: usize, random: &mut Random) -> Chosen {
        if let Some(cadence) = &mut self.cadence
            && cadence.is_due()
        {
            cadence.writes = 0;
            return Chosen { operation: cadence.operation(), offset_bytes: 0, bytes: 0 };
        }
        let goes_on = self.choose_kind(random);
        let is_read = self.operation == Operation::Read;
        let size = if is_read { self.read.pick(random) } else { self.write.pick(random) };
        let walk = match &mut self.write_walk {
            Some(own) if !is_read => own,
            _ => &mut self.walk,
        };
        let goes_on = goes_on.unwrap_or_else(|| walk.goes_on(random));
        let offset_bytes = walk.next(slot, size, goes_on, random);
        if let Some(cadence) = &mut self.cadence {
            cadence.writes += u32::from(self.operation == Operation::Write);
        }
        Chosen { operation: self.operation, offset_bytes, bytes: size.bytes }
    }

    /// Chooses read, write or trim. Where one walk serves all, a run of sequential I/O keeps its kind, as in
    /// `DiskSpd`, unless the shares are exact; then it is reported whether the run goes on.
    #[inline]
    fn choose_kind(&mut self, random: &mut Random) -> Option<bool> {
        let goes_on = self.write_walk.is_none().then(|| self.walk.goes_on(random));
        if self.exact || goes_on != Some(true) {
            self.operation = self.kinds.next(random);
        }
        goes_on
    }
}

impl Cadence {
    #[inline]
    fn is_due(&self) -> bool {
        self.writes >= self.plan.every_writes
    }

    fn operation(&self) -> Operation {
        if self.plan.data_only { Operation::Fdatasync } else { Operation::Fsync }
    }
}
