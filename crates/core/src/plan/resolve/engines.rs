//! Which engine serves a thread, and why not a better one.

use fathom_sys::device::PathKind;

use super::locked::Rings;
use super::threads::Use;
use super::{Place, Resolver, kind_of};
use crate::plan::EngineKind;
use crate::request::{Caching, EngineChoice, Target, TimeSpan};
use crate::result::WarningKind;
use crate::units::KIB;

/// With larger blocks, an I/O takes far longer than its way to the kernel.
const TRIED_BLOCK_BYTES: u64 = 64 * KIB;

/// What a thread needs of its engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    /// All its targets are memory-mapped.
    pub(super) is_mapped: bool,
    /// Number of its targets.
    pub(super) targets: usize,
    /// I/Os outstanding over all of them.
    pub(super) outstanding: u64,
    /// Some of its I/Os are trims.
    pub(super) trims: bool,
    /// Some of these are of devices.
    pub(super) trims_devices: bool,
}

/// An engine, and why it is not a better one.
pub(super) type Chosen = (EngineKind, Option<String>);

impl Resolver<'_> {
    /// The engine for a thread of this time span.
    pub(super) fn engine(&self, span: &TimeSpan, load: Load, rings: &Rings) -> Chosen {
        if let Some(choice) = self.options.engine {
            return (kind_of(choice), None);
        }
        if self.wish_for_ring(span).is_some() {
            return (EngineKind::Uring, None);
        }
        if load.is_mapped {
            return (EngineKind::Mapped, None);
        }
        if load.targets == 1 && load.outstanding == 1 {
            return (EngineKind::Sync, None);
        }
        let engines = &self.facts.engines;
        let ring = engines.uring.clone().and_then(|()| rings.fit.clone());
        let uring = (EngineKind::Uring, &ring);
        let aio = (EngineKind::Aio, &engines.aio);
        let order = if span.alternate_completion { [aio, uring] } else { [uring, aio] };
        let mut reasons = Vec::new();
        for (kind, outcome) in order {
            match (outcome, self.trim_obstacle(kind, load)) {
                (Ok(()), None) => return (kind, in_words(&reasons)),
                (Ok(()), Some(why)) => reasons.push(format!("{} is not used: {why}", kind.name())),
                (Err(why), _) => reasons.push(format!("{} is not available: {why}", kind.name())),
            }
        }
        (EngineKind::Sync, in_words(&reasons))
    }

    /// Whether a thread may try other ways to the kernel than the ring: nobody chose one, and blocks are so
    /// small that the way matters.
    pub(super) fn may_try(&self, span: &TimeSpan, uses: &[Use]) -> bool {
        let is_chosen = self.options.engine.is_some()
            || self.wish_for_ring(span).is_some()
            || span.alternate_completion;
        let fits = |target: &Target| {
            !target.memory_mapped
                && target.trim_percent() == 0
                && u64::from(target.block_bytes) <= TRIED_BLOCK_BYTES
        };
        !is_chosen && uses.iter().all(|one| fits(&span.targets[one.0]))
    }

    /// Why an engine cannot trim what the thread trims.
    fn trim_obstacle(&self, kind: EngineKind, load: Load) -> Option<String> {
        match kind {
            EngineKind::Aio if load.trims => Some("libaio has no operation for --trim".to_owned()),
            EngineKind::Uring if load.trims_devices => {
                self.facts.engines.uring_discard.as_ref().err().cloned()
            }
            _ => None,
        }
    }

    /// Whether a target is a block device.
    pub(super) fn is_device(&self, target: &Target) -> bool {
        let known = self.facts.here(target);
        known.is_some_and(|facts| facts.kind == PathKind::BlockDevice)
    }

    /// Refuses an engine that was requested and cannot trim what the time span trims.
    pub(super) fn check_trim_engine(&mut self, span: &TimeSpan, kind: EngineKind) {
        let trims = || span.targets.iter().filter(|target| target.trim_percent() > 0);
        let load = Load {
            is_mapped: false,
            targets: 0,
            outstanding: 0,
            trims: trims().next().is_some(),
            trims_devices: trims().any(|target| self.is_device(target)),
        };
        if let Some(why) = self.trim_obstacle(kind, load) {
            let message = format!("the engine {} cannot do what is asked: {why}", kind.name());
            self.findings.request(message, "leave --engine or --trim out, or use --engine=sync");
        }
    }

    /// Checks once per time span that the engine that was requested works here and can serve it.
    pub(super) fn check_engine(&mut self, span: &TimeSpan) {
        let Some(choice) = self.options.engine else { return };
        let name = kind_of(choice).name();
        let engines = &self.facts.engines;
        let works = match choice {
            EngineChoice::Uring => &engines.uring,
            EngineChoice::Aio => &engines.aio,
            EngineChoice::Sync | EngineChoice::Mapped | EngineChoice::Null => &Ok(()),
        };
        if let Err(why) = works {
            let message = format!("the engine {name} is not available on this host: {why}");
            self.findings.request(message, "leave --engine out to use the best one that works");
        }
        self.check_trim_engine(span, kind_of(choice));
        for target in &span.targets {
            let obstacle = match choice {
                EngineChoice::Null => None,
                EngineChoice::Mapped => (target.caching != Caching::Cached)
                    .then_some("a mapping cannot bypass the page cache, as -Su and -Sr ask"),
                _ => target.memory_mapped.then_some("-Sm asks for a memory mapping"),
            };
            if let Some(obstacle) = obstacle {
                let message = format!("{name} cannot serve '{}': {obstacle}", target.path);
                self.findings.request(message, "leave --engine out, or change the caching");
            }
        }
    }

    /// Refuses to have no I/O outstanding, and warns of more than an engine with one at a time has.
    pub(super) fn check_outstanding(&mut self, place: Place<'_>, kind: EngineKind, asked: u32) {
        if asked == 0 {
            let message = format!("no I/O of '{}' is to be outstanding", place.target.path);
            self.findings.request(message, "ask for at least 1");
        }
        // Linux serves buffered I/O of libaio within the call that submits it: see io_submit(2).
        let is_buffered = place.target.caching == Caching::Cached;
        let (limit, remedy) = match kind {
            EngineKind::Sync | EngineKind::Mapped => (
                "serves one at a time",
                "Read the results as those of one outstanding I/O per thread.",
            ),
            EngineKind::Aio if is_buffered => (
                "serves one at a time where the page cache is not bypassed",
                "Bypass the page cache (-Su), or use io_uring.",
            ),
            _ => return,
        };
        if asked > 1 {
            let name = kind.name();
            let evidence =
                format!("{asked} I/Os per thread are to be outstanding, but {name} {limit}.");
            self.findings.warn(WarningKind::NoEffect, place, evidence, remedy);
        }
    }
}

fn in_words(reasons: &[String]) -> Option<String> {
    (!reasons.is_empty()).then(|| reasons.join("; "))
}
