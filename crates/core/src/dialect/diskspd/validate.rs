//! Which settings exclude each other. All that is wrong is reported, not only the first of it.

mod borders;
mod tuning;

use super::{distribution, extensions, faults, stop};
use crate::request::{Caching, Profile, RunOptions, Target, TimeSpan, WriteSource};

/// What is wrong with a profile, and what is doubtful, as sentences.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// The profile cannot run.
    pub errors: Vec<String>,
    /// The profile can run, but perhaps not as its author thinks.
    pub warnings: Vec<String>,
}

impl Findings {
    pub(super) fn error_if(&mut self, wrong: bool, sentence: &str) {
        if wrong {
            self.errors.push(sentence.to_owned());
        }
    }

    /// Puts a place at the head of all errors from the given one on.
    fn put_in_place(&mut self, from: usize, place: &str) {
        for error in &mut self.errors[from..] {
            error.insert_str(0, place);
        }
    }

    pub(super) fn warn_if(&mut self, doubtful: bool, sentence: &str) {
        if doubtful {
            self.warnings.push(sentence.to_owned());
        }
    }
}

/// Names the place of a time span, or of one of its targets, at the head of an error; empty where there is
/// but one place.
pub type Place<'a> = &'a dyn Fn(usize, Option<usize>) -> String;

/// Checks a whole profile.
#[must_use]
pub fn check(profile: &Profile, place: Place<'_>) -> Findings {
    let mut findings = Findings::default();
    findings.error_if(
        profile.time_spans.is_empty(),
        "there is no time span: give one that has a target",
    );
    for (index, span) in profile.time_spans.iter().enumerate() {
        check_time_span(span, &|target| place(index, target), &mut findings);
    }
    findings
}

/// Checks the options of an invocation, and what they need of its profile.
pub fn check_options(profile: &Profile, options: &RunOptions, findings: &mut Findings) {
    let has_both = |span: &TimeSpan| span.measure_latency && span.interval_series;
    borders::check_options(options, findings);
    findings.error_if(
        options.interval_latency && !profile.time_spans.iter().all(has_both),
        "--interval-latency needs latencies and intervals: add -L and -D",
    );
    let journal = options.verify_journal.as_ref();
    findings.error_if(
        journal.is_some() && !options.verify,
        "a journal (--verify-journal) is kept of a verification only: give --verify too, or leave it out",
    );
    findings.error_if(
        journal.is_some_and(|path| path.as_os_str().is_empty()),
        "the name of the journal (--verify-journal) is missing",
    );
}

fn check_time_span(
    span: &TimeSpan,
    place: &dyn Fn(Option<usize>) -> String,
    findings: &mut Findings,
) {
    let told = findings.errors.len();
    findings.error_if(
        span.disable_affinity && !span.cpus.is_empty(),
        "-n (no affinity) and -a (CPU list) cannot be used together",
    );
    findings
        .error_if(span.targets.is_empty(), "a time span has no target: name a file or a device");
    borders::check_time_span(span, findings);
    tuning::check(span, findings);
    stop::check(span, findings);
    faults::check(span, findings);
    findings.put_in_place(told, &place(None));
    for (index, target) in span.targets.iter().enumerate() {
        let told = findings.errors.len();
        borders::check_target(target, findings);
        check_threads(span, target, findings);
        check_pace(span, target, findings);
        check_access(span, target, findings);
        check_caching(span, target, findings);
        check_range(target, findings);
        check_write_data(target, findings);
        findings.errors.extend(extensions::check(target));
        findings.put_in_place(told, &place(Some(index)));
    }
    // Several targets have the same settings on a command line: what is said once is enough.
    findings.errors.dedup();
    findings.warnings.dedup();
}

fn check_threads(span: &TimeSpan, target: &Target, findings: &mut Findings) {
    findings.error_if(
        span.thread_count > 0 && target.threads > 1,
        "-F (threads in all) and -t (threads per target) cannot be used together",
    );
    findings.error_if(
        !target.thread_targets.is_empty() && (span.thread_count == 0 || span.request_count == 0),
        "ThreadTargets need ThreadCount (-F) and RequestCount (-O) in their time span",
    );
    if span.thread_count > 0 {
        let beyond = target.thread_targets.iter().find(|one| one.thread >= span.thread_count);
        if let Some(beyond) = beyond {
            findings.errors.push(format!(
                "target '{}' is assigned to thread {}, but the time span has threads 0 to {}",
                target.path,
                beyond.thread,
                span.thread_count - 1
            ));
        }
    }
}

fn check_pace(span: &TimeSpan, target: &Target, findings: &mut Findings) {
    findings.error_if(
        target.rate.is_some() && span.alternate_completion,
        "-g (rate) cannot be used with -x (completion routines)",
    );
    findings.error_if(
        target.burst_ios.is_some() && target.think_ms.is_none(),
        "-i (burst size) needs -j (think time) beside it",
    );
    findings.error_if(
        target.think_ms.is_some() && target.burst_ios.is_none(),
        "-j (think time) needs -i (burst size) beside it",
    );
    if span.thread_count == 0 || span.request_count == 0 {
        return;
    }
    findings.error_if(
        target.rate.is_some(),
        "-g (rate) cannot be used with -O (outstanding requests per thread)",
    );
    findings.error_if(
        target.think_ms.is_some(),
        "-j (think time) cannot be used with -O (outstanding requests per thread)",
    );
    findings.error_if(
        target.parallel_same_offset,
        "-p (parallel I/O) cannot be used with -O (outstanding requests per thread)",
    );
}

fn check_access(span: &TimeSpan, target: &Target, findings: &mut Findings) {
    let random = target.access.random_percent > 0;
    let interlocked = target.access.interlocked;
    let strided = target.thread_stride_bytes > 0;
    let one_thread = span.thread_count <= 1 && target.threads <= 1;
    findings.error_if(random && strided, "-T (thread stride) conflicts with -r (random)");
    findings.error_if(
        random && target.parallel_same_offset,
        "-p (parallel I/O) conflicts with -r (random)",
    );
    findings.error_if(
        interlocked && random,
        "-si (interlocked sequential I/O) conflicts with -r (random)",
    );
    findings.error_if(interlocked && target.parallel_same_offset, "-si conflicts with -p");
    findings.error_if(interlocked && strided, "-si conflicts with -T (thread stride)");
    findings.error_if(
        strided && one_thread,
        "-T (thread stride) has no effect unless several threads share a target: add -t or -F",
    );
    check_distribution(target, findings);
    findings.warn_if(
        target.parallel_same_offset && target.outstanding < 2,
        "-p has no effect unless more than one I/O is outstanding (-o)",
    );
    findings.warn_if(interlocked && one_thread, "single-threaded test, -si ignored");
    findings.warn_if(
        !random && !interlocked && !strided && !one_thread,
        "target access pattern will not be sequential, consider -si",
    );
}

fn check_distribution(target: &Target, findings: &mut Findings) {
    let Some(ranges) = &target.distribution else { return };
    findings.error_if(
        target.access.random_percent == 0,
        "-rd (random distribution) does not apply to sequential I/O: add -r",
    );
    findings.errors.extend(distribution::check(ranges, target.block_bytes));
}

fn check_caching(span: &TimeSpan, target: &Target, findings: &mut Findings) {
    findings.error_if(
        target.memory_mapped && target.caching == Caching::Unbuffered,
        "unbuffered I/O (-Su, -Sh or -h) cannot be used with memory mapped I/O (-Sm)",
    );
    findings.error_if(
        target.memory_mapped && span.alternate_completion,
        "-x (completion routines) cannot be used with memory mapped I/O (-Sm)",
    );
    findings.error_if(
        target.flush.is_some() && !target.memory_mapped,
        "-N (flush mode) needs memory mapped I/O (-Sm)",
    );
}

fn check_range(target: &Target, findings: &mut Findings) {
    findings.error_if(
        target.limit_bytes > 0 && target.limit_bytes <= target.base_bytes,
        "the greatest offset (-f) must be greater than the base (-B)",
    );
}

fn check_write_data(target: &Target, findings: &mut Findings) {
    if let WriteSource::Buffer { bytes, .. } = target.write_data.source
        && bytes < u64::from(target.largest_block_bytes())
    {
        findings.errors.push(format!(
            "the write buffer (-Z) of {bytes} bytes is smaller than the block size of {} bytes",
            target.largest_block_bytes()
        ));
    }
}
