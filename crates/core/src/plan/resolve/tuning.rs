//! How I/O is handed over and taken back: checked against the engine and the targets' devices.

use super::{Place, Resolver, kind_of};
use crate::plan::{EngineKind, IoTuning};
use crate::request::{
    BufferSeparation, Caching, EngineChoice, RingBatch, SubmissionThread, TimeSpan,
};
use crate::result::WarningKind;

impl Resolver<'_> {
    /// The option that only a ring can serve, if one was given.
    pub(super) fn wish_for_ring(&self, span: &TimeSpan) -> Option<&'static str> {
        let wishes = [
            (span.tuning.ring.is_some(), "-u"),
            (self.options.polled, "--polled"),
            (self.options.submission_thread.is_some(), "--sqpoll"),
        ];
        wishes.into_iter().find(|(given, _)| *given).map(|(_, option)| option)
    }

    /// Checks once per time span what has been requested beyond the plain use of an engine.
    pub(super) fn check_tuning(&mut self, span_index: usize, span: &TimeSpan) {
        if let Some(option) = self.wish_for_ring(span) {
            self.check_ring(span, option);
        }
        if let Some(thread) = self.options.submission_thread {
            self.check_submission_thread(span, thread);
        }
        if self.options.polled {
            self.check_polled(span);
        }
        self.warn_of_large_pages(span_index, span);
    }

    fn check_ring(&mut self, span: &TimeSpan, option: &str) {
        let remedy = format!("leave {option} out");
        if let Some(choice) = self.options.engine
            && choice != EngineChoice::Uring
        {
            let engine = kind_of(choice).name();
            let message = format!("{option} needs io_uring, but --engine asks for {engine}");
            self.findings.request(message, "leave one of them out");
        } else if let Err(why) = &self.facts.engines.uring {
            self.findings.request(format!("{option} needs io_uring: {why}"), remedy);
        } else if span.targets.iter().any(|target| target.memory_mapped) {
            let message = format!("{option} cannot serve memory mapped I/O (-Sm)");
            self.findings.request(message, "leave one of them out");
        } else if span.alternate_completion {
            let message = format!("{option} needs io_uring, but -x asks for libaio");
            self.findings.request(message, "leave one of them out");
        } else if self.options.engine.is_none() {
            self.check_trim_engine(span, EngineKind::Uring);
        }
    }

    fn check_submission_thread(&mut self, span: &TimeSpan, thread: SubmissionThread) {
        if span.tuning.ring.is_some() {
            let message =
                "-u hands I/O over in batches, but --sqpoll lets the kernel take each at once";
            self.findings.request(message, "leave one of them out");
        }
        let Some(cpu) = thread.cpu else { return };
        if !self.facts.usable_cpus.contains(&cpu) {
            let usable = self.facts.usable_cpus.iter().map(u32::to_string);
            let usable = usable.collect::<Vec<_>>().join(",");
            let message = format!("--sqpoll={cpu} names a CPU that this process cannot use");
            self.findings.request(message, format!("choose from {usable}"));
        }
    }

    fn check_polled(&mut self, span: &TimeSpan) {
        for target in &span.targets {
            let name = &target.path;
            if target.caching == Caching::Cached {
                let message =
                    format!("--polled cannot go through the page cache, as '{name}' does");
                self.findings.request(message, "bypass it with -Su");
            }
            if target.extensions.sync.is_some() || target.trim_percent() > 0 {
                let message =
                    format!("--polled serves reads and writes only, but '{name}' has others");
                self.findings
                    .request(message, "leave --polled, or --fsync, --fdatasync and --trim, out");
            }
            let known = self.facts.here(target);
            if known.is_some_and(|facts| facts.is_polling_possible == Some(false)) {
                let message = format!(
                    "the device of '{name}' completes I/O by interrupts only (its queue/io_poll in \
                     sysfs is 0)"
                );
                let remedy = "leave --polled out, or give its driver queues for polling, for instance \
                              with the module parameter poll_queues of nvme or virtio_blk";
                self.findings.request(message, remedy);
            }
        }
    }

    /// Large pages come first, as in `DiskSpd`; whoever requested separation as well is warned.
    fn warn_of_large_pages(&mut self, span_index: usize, span: &TimeSpan) {
        let is_asked = span.tuning.buffer_separation == Some(BufferSeparation::PageDirectoryLine);
        let large = span.targets.iter().find(|target| target.large_pages);
        if let (true, Some(target)) = (is_asked, large) {
            let evidence =
                "Large pages (-l) take priority over buffer separation (-bsp).".to_owned();
            let place = Place { span_index, target };
            self.findings.warn(WarningKind::NoEffect, place, evidence, "Leave one of them out.");
        }
    }

    /// An engine with one I/O at a time has no more than one completion to take.
    pub(super) fn warn_of_depth(&mut self, span: &TimeSpan, place: Place<'_>, kind: EngineKind) {
        let is_alone = matches!(kind, EngineKind::Sync | EngineKind::Mapped | EngineKind::Null);
        if let (true, Some(depth)) = (is_alone, span.tuning.completion_depth) {
            let name = kind.name();
            let evidence = format!(
                "At most {depth} completions are to be taken at a time (-oc), but {name} has no queue of them."
            );
            let remedy = "Leave -oc out, or use more than one outstanding I/O.";
            self.findings.warn(WarningKind::NoEffect, place, evidence, remedy);
        }
    }

    /// What a thread with this engine and so many I/Os outstanding does.
    pub(super) fn tuning(&self, span: &TimeSpan, kind: EngineKind, outstanding: u64) -> IoTuning {
        let is_ring = kind == EngineKind::Uring;
        let ring = span.tuning.ring.filter(|_| is_ring);
        let separation = span.tuning.buffer_separation.unwrap_or_default();
        IoTuning {
            batch_ios: ring.map(|ring| batch_ios(ring.batch, outstanding)),
            completion_depth: span.tuning.completion_depth,
            unregistered_buffers: ring.is_some_and(|ring| !ring.registered_buffers),
            polled: self.options.polled && is_ring,
            submission_thread: self.options.submission_thread.filter(|_| is_ring),
            buffer_separation_bytes: match separation {
                BufferSeparation::SystemDefault => 0,
                BufferSeparation::PageDirectoryLine => self.facts.page_directory_line_bytes,
            },
        }
    }
}

/// A batch of at least one I/O, and of no more than are outstanding.
fn batch_ios(batch: RingBatch, outstanding: u64) -> u32 {
    let ios = match batch {
        RingBatch::Ios(ios) => u64::from(ios),
        RingBatch::Percent(percent) => outstanding.saturating_mul(u64::from(percent)).div_ceil(100),
    };
    u32::try_from(ios.clamp(1, outstanding.max(1))).unwrap_or(u32::MAX)
}
