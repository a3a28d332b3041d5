//! What is verified: blocks of one size per target, of which every I/O consists.
//!
//! Any order and overlap of I/Os is allowed as long as all of them begin and end at multiples of a sector of
//! 512 bytes: two I/Os that overlap have whole blocks in common.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fathom_sys::device::PathFacts;
use fathom_sys::identity::Identity;

use super::Resolver;
use crate::divisor::greatest_common_divisor;
use crate::plan::{EngineKind, OffsetPlan, SpanPlan, TargetPlan, VerifyPlan, VerifyTarget};
use crate::request::{JOURNAL_SUFFIX, Target};
use crate::verify::stamp::SECTOR_BYTES;
use crate::verify::window::IN_FLIGHT_MAX;

impl Resolver<'_> {
    /// The plan of the verification, if one is requested; `spans` are whole if no error was found.
    pub(super) fn verify(&mut self, spans: &mut [SpanPlan]) -> Option<VerifyPlan> {
        if !self.options.verify {
            return None;
        }
        if self.is_virtual() {
            let message = "the null engine moves no data that could be verified (--verify)";
            self.findings.request(message, "choose another engine");
        }
        if !self.findings.errors.is_empty() {
            return None;
        }
        let mut targets: Vec<VerifyTarget> = Vec::new();
        let asked = self.profile.time_spans.iter().flat_map(|span| &span.targets);
        let planned = spans.iter_mut().flat_map(|span| &mut span.targets);
        for (asked, planned) in asked.zip(planned) {
            self.check_places(asked, planned);
            add(&mut targets, asked, planned);
        }
        self.check_names();
        self.check_in_flight(spans);
        let journal = self.journal();
        self.check_journal(&journal, &targets);
        Some(VerifyPlan { journal, targets })
    }

    /// Whether all I/Os of a target are made of whole sectors, and leave data that are known.
    fn check_places(&mut self, asked: &Target, planned: &TargetPlan) {
        let name = &planned.name;
        for (what, bytes) in measures(asked, planned) {
            if bytes % SECTOR_BYTES as u64 != 0 {
                let message = format!(
                    "the {what} of '{name}' is {bytes} bytes, but --verify needs multiples of \
                     {SECTOR_BYTES} bytes, each of which carries a stamp"
                );
                self.findings.request(message, "give a multiple, or leave --verify out");
            }
        }
        if planned.mix.as_ref().is_some_and(|mix| mix.trim_percent > 0) {
            let message = format!(
                "'{name}' is trimmed, and nobody knows what stands in trimmed blocks that --verify reads"
            );
            self.findings.request(message, "leave --trim or --verify out");
        }
        let reduced = asked.extensions.compress_percent.or(asked.extensions.dedupe_percent);
        if reduced.is_some() && asked.write_percent > 0 {
            let message = format!(
                "--verify stamps each sector that is written to '{name}', so that its data would neither \
                 compress nor repeat as asked"
            );
            self.findings.request(message, "leave --compress and --dedupe out, or --verify");
        }
    }

    /// Stamps say to which path they belong: a file under a second one would look like another target's.
    fn check_names(&mut self) {
        let mut known: BTreeMap<Identity, (&Target, &PathFacts)> = BTreeMap::new();
        for target in self.profile.time_spans.iter().flat_map(|span| &span.targets) {
            let Some(found) = self.facts.here(target) else { continue };
            let Some(identity) = found.identity else { continue };
            let (first, facts) = known.entry(identity).or_insert((target, found));
            if facts.path != found.path {
                let message = format!(
                    "'{}' and '{}' are one and the same, whose stamps --verify would take for those of two",
                    first.path, target.path
                );
                self.findings.request(message, "give it one name, or leave --verify out");
            }
        }
    }

    /// The word of a block can count so many writes in flight.
    fn check_in_flight(&mut self, spans: &[SpanPlan]) {
        for span in spans {
            for target in &span.targets {
                let in_flight = in_flight(span, target.path());
                if in_flight > IN_FLIGHT_MAX {
                    let message = format!(
                        "{in_flight} I/Os of all threads may be outstanding on '{}', but --verify \
                         keeps track of {IN_FLIGHT_MAX}",
                        target.name
                    );
                    self.findings.request(message, "use fewer threads or outstanding I/Os");
                }
            }
        }
    }

    /// The journal's path: as it was given, or else in the working folder, named after the first target.
    fn journal(&self) -> PathBuf {
        let options = self.options;
        if let Some(path) = &options.verify_journal {
            return path.clone();
        }
        let mut targets = self.profile.time_spans.iter().flat_map(|span| &span.targets);
        let first = targets.next().map(|target| &target.path);
        if let Some(remote) = first.and_then(|first| first.remote()) {
            return PathBuf::from(format!("{}.{JOURNAL_SUFFIX}", in_plain_signs(&remote.address)));
        }
        let name = first.and_then(|first| Path::new(first.as_str()).file_name());
        let name = name.map_or("diskspd".into(), |name| name.to_string_lossy());
        PathBuf::from(format!("{}.{JOURNAL_SUFFIX}", name.trim_start_matches('#')))
    }

    fn check_journal(&mut self, journal: &Path, targets: &[VerifyTarget]) {
        let is_journal =
            |target: &&VerifyTarget| target.path() == journal || Path::new(&target.name) == journal;
        if let Some(target) = targets.iter().find(is_journal) {
            let message = format!("'{}' is a target and the journal at once", target.name);
            self.findings.request(message, "name another file with --verify-journal");
        }
    }
}

/// An address as the name of a file.
fn in_plain_signs(address: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || ".-".contains(sign);
    let words = address.split(|sign| !is_plain(sign)).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("-");
    name.chars().take(100).collect()
}

/// All that decides at which bytes an I/O can begin and end.
fn measures(asked: &Target, planned: &TargetPlan) -> Vec<(&'static str, u64)> {
    let of_offsets = |offsets: &OffsetPlan| {
        [
            ("block size", offsets.block_bytes),
            ("alignment or stride", offsets.align_bytes),
            ("base offset", offsets.base_bytes),
        ]
    };
    let streams = planned.mix.iter().flat_map(|mix| [&mix.read, &mix.write]);
    let mixed = streams.flat_map(|stream| {
        stream.sizes.iter().flat_map(move |&size| of_offsets(&stream.offsets_of(size)))
    });
    let thread_stride = [("thread stride", asked.thread_stride_bytes)];
    of_offsets(&planned.offsets).into_iter().chain(mixed).chain(thread_stride).collect()
}

/// Adds one use of a target: its blocks are what all its uses have in common, and reach over all of them.
fn add(targets: &mut Vec<VerifyTarget>, asked: &Target, planned: &mut TargetPlan) {
    let unit = measures(asked, planned)
        .into_iter()
        .fold(0, |unit, (_, bytes)| greatest_common_divisor(unit, bytes));
    let streams = planned.mix.iter_mut().flat_map(|mix| [&mut mix.read, &mut mix.write]);
    for offsets in streams.map(|stream| &mut stream.offsets).chain([&mut planned.offsets]) {
        // The last place of a range may be off the grid; what does not reach it loses nothing.
        offsets.end_bytes -= (offsets.end_bytes - offsets.base_bytes) % unit.max(1);
    }
    let offsets = &planned.offsets;
    let (start_bytes, end_bytes) = (offsets.base_bytes, offsets.end_bytes);
    let block_bytes = u32::try_from(unit).unwrap_or(planned.block_bytes);
    let known = targets.iter_mut().find(|target| target.path() == planned.path());
    let Some(known) = known else {
        let (location, name) = (planned.location.clone(), planned.name.clone());
        targets.push(VerifyTarget { location, name, block_bytes, start_bytes, end_bytes });
        return;
    };
    let unit = greatest_common_divisor(u64::from(known.block_bytes), unit);
    known.block_bytes = u32::try_from(unit).unwrap_or(known.block_bytes);
    known.start_bytes = known.start_bytes.min(start_bytes);
    known.end_bytes = known.end_bytes.max(end_bytes);
}

/// I/Os that may be in flight on a path at once.
fn in_flight(span: &SpanPlan, path: &Path) -> u64 {
    let of_thread = |thread: &crate::plan::ThreadPlan| -> u64 {
        let uses = thread.assignments.iter();
        let mut uses = uses.filter(|one| span.targets[one.target].path() == path).peekable();
        match (uses.peek(), span.shared_outstanding, thread.engine) {
            (None, ..) => 0,
            (_, _, EngineKind::Sync | EngineKind::Mapped | EngineKind::Null) => 1,
            (_, 0, _) => uses.map(|one| u64::from(one.outstanding)).sum(),
            (_, shared, _) => u64::from(shared),
        }
    };
    span.threads.iter().map(of_thread).sum()
}
