//! What each number of a request may be, whichever door it comes through: the words of a command line, XML,
//! JSON and Python. Each structure is taken apart whole, so that a new field has to be thought of.

use std::ops::RangeInclusive;

use super::Findings;
use crate::request::{
    Access, ByteRange, ConfidenceRule, Extensions, FaultPolicy, OnError, Pattern, Rate, RingBatch,
    RunOptions, SteadyRule, StopRules, SyncCadence, Target, TimeSpan, Tuning,
};

/// Any number above 0.
const POSITIVE: RangeInclusive<u64> = 1..=u64::MAX;
const PERCENT: RangeInclusive<u64> = 0..=100;

impl Findings {
    /// Refuses a number that lies outside of its borders.
    fn within(&mut self, what: &str, value: impl Into<u64>, borders: &RangeInclusive<u64>) {
        let value = value.into();
        if borders.contains(&value) {
            return;
        }
        let (least, most) = (borders.start(), borders.end());
        self.errors.push(match (least, most) {
            (1, &u64::MAX) => format!("the {what} must be greater than 0"),
            (_, &u64::MAX) => format!("the {what} must be at least {least}, not {value}"),
            _ => format!("the {what} must be from {least} to {most}, not {value}"),
        });
    }

    fn within_if(
        &mut self,
        what: &str,
        value: Option<impl Into<u64>>,
        borders: &RangeInclusive<u64>,
    ) {
        if let Some(value) = value {
            self.within(what, value, borders);
        }
    }
}

pub(super) fn check_time_span(span: &TimeSpan, findings: &mut Findings) {
    let TimeSpan {
        alternate_completion: _,
        measure_latency: _,
        interval_series: _,
        disable_affinity: _,
        cpus: _,
        cpu_order: _,
        tuning,
        duration_s: _,
        warm_up_s: _,
        cool_down_s: _,
        // 0 stands for none of both.
        thread_count: _,
        request_count: _,
        interval_ms,
        random_seed: _,
        stop,
        faults,
        targets: _,
    } = span;
    findings.within("interval of the series in milliseconds (-D)", *interval_ms, &POSITIVE);
    check_tuning(*tuning, findings);
    check_stop(*stop, findings);
    check_faults(*faults, findings);
}

fn check_tuning(tuning: Tuning, findings: &mut Findings) {
    let Tuning { ring, completion_depth, buffer_separation: _ } = tuning;
    let depths = 1..=u64::from(Tuning::COMPLETION_DEPTH_MAX);
    findings.within_if("completion depth (-oc)", completion_depth, &depths);
    let batch = "batch of a ring (-u)";
    match ring.map(|ring| ring.batch) {
        None => {}
        Some(RingBatch::Ios(ios)) => {
            findings.within(batch, ios, &(1..=u64::from(RingBatch::IOS_MAX)));
        }
        Some(RingBatch::Percent(percent)) => {
            let borders = 1..=u64::from(RingBatch::PERCENT_MAX);
            findings.within(&format!("{batch} in percent"), percent, &borders);
        }
    }
}

fn check_stop(rules: StopRules, findings: &mut Findings) {
    let StopRules { bytes, ios, pass: _, steady, confidence, interval_ms } = rules;
    findings.within_if("bytes of --stop-bytes", bytes, &POSITIVE);
    findings.within_if("I/Os of --stop-ios", ios, &POSITIVE);
    findings.within_if("milliseconds of --stop-interval", interval_ms, &POSITIVE);
    if let Some(SteadyRule { intervals, range_milli, slope_milli }) = steady {
        let least = u64::from(SteadyRule::INTERVALS_MIN);
        let shares = 1..=u64::from(SteadyRule::SHARE_MILLI_MAX);
        findings.within("intervals of --stop-steady", intervals, &(least..=u64::MAX));
        findings.within("range of --stop-steady in 0.001 %", range_milli, &shares);
        findings.within("slope of --stop-steady in 0.001 %", slope_milli, &shares);
    }
    if let Some(ConfidenceRule { level_milli, precision_milli }) = confidence {
        let levels = 1..=u64::from(ConfidenceRule::LEVEL_MILLI_MAX);
        let precisions = 1..=u64::from(ConfidenceRule::PRECISION_MILLI_MAX);
        findings.within("level of --stop-confidence in 0.001 %", level_milli, &levels);
        findings.within("precision of --stop-confidence in 0.001 %", precision_milli, &precisions);
    }
}

fn check_faults(policy: FaultPolicy, findings: &mut Findings) {
    // A time of 0 sets no limit.
    let FaultPolicy { on_error, io_timeout_s: _, reconnect_s } = policy;
    if let Some(OnError::Count(errors)) = on_error {
        findings.within("number of errors (--on-error=count=)", errors, &POSITIVE);
    }
    let borders = 1..=u64::from(FaultPolicy::RECONNECT_S_MAX);
    findings.within_if("seconds of --reconnect", reconnect_s, &borders);
}

pub(super) fn check_target(target: &Target, findings: &mut Findings) {
    let Target {
        path: _,
        block_bytes,
        // Where a range lies is a matter of what is there.
        base_bytes: _,
        limit_bytes: _,
        create_bytes: _,
        hints: _,
        caching: _,
        write_through: _,
        memory_mapped: _,
        flush: _,
        large_pages: _,
        // A buffer holds a block at least.
        write_data: _,
        parallel_same_offset: _,
        burst_ios,
        think_ms,
        access,
        distribution: _,
        // 0 is none.
        thread_stride_bytes: _,
        outstanding,
        write_percent,
        rate,
        threads,
        priority: _,
        weight,
        thread_targets: _,
        extensions,
    } = target;
    let Access { random_percent, align_bytes, interlocked: _ } = *access;
    findings.within("block size (-b)", *block_bytes, &POSITIVE);
    findings.within_if("burst size (-i)", *burst_ios, &POSITIVE);
    findings.within_if("think time (-j)", *think_ms, &POSITIVE);
    findings.within("share of random I/O (-rs)", random_percent, &PERCENT);
    findings.within("alignment or stride (-r, -s)", align_bytes, &POSITIVE);
    findings.within("number of outstanding I/Os (-o)", *outstanding, &POSITIVE);
    findings.within("share of writes (-w)", *write_percent, &PERCENT);
    let rate = rate.map(|rate| match rate {
        Rate::BytesPerMs(number) | Rate::Iops(number) => number,
    });
    findings.within_if("rate (-g)", rate, &POSITIVE);
    findings.within("number of threads of a target (-t)", *threads, &POSITIVE);
    findings.within("weight of a target", *weight, &POSITIVE);
    check_extensions(extensions, findings);
}

fn check_extensions(extensions: &Extensions, findings: &mut Findings) {
    let Extensions {
        ratio: _,
        read_pattern,
        write_pattern,
        // What is wrong with a mix is an error where it is read, too.
        block_mix: _,
        read_block_mix: _,
        write_block_mix: _,
        sync,
        trim_percent,
        compress_percent,
        dedupe_percent,
    } = extensions;
    for (option, pattern) in [("--read-pattern", read_pattern), ("--write-pattern", write_pattern)]
    {
        if let Some(pattern) = pattern {
            check_pattern(option, *pattern, findings);
        }
    }
    if let Some(SyncCadence { every_writes, data_only: _ }) = *sync {
        findings.within("number of writes of --fsync and --fdatasync", every_writes, &POSITIVE);
    }
    findings.within_if("share of trims (--trim)", *trim_percent, &PERCENT);
    findings.within_if("share of --compress", *compress_percent, &PERCENT);
    findings.within_if("share of --dedupe", *dedupe_percent, &PERCENT);
}

fn check_pattern(option: &str, pattern: Pattern, findings: &mut Findings) {
    let Pattern { order: _, block_bytes, align_bytes, range } = pattern;
    findings.within_if(&format!("block size of {option}"), block_bytes, &POSITIVE);
    findings.within_if(&format!("alignment of {option}"), align_bytes, &POSITIVE);
    if let Some(ByteRange { base_bytes, length_bytes }) = range
        && base_bytes.checked_add(length_bytes).is_none()
    {
        let what = format!("base and length of the range of {option} exceed 2^64 - 1 bytes");
        findings.errors.push(what);
    }
}

pub(super) fn check_options(options: &RunOptions, findings: &mut Findings) {
    for (what, value, borders) in options.numbers() {
        findings.within_if(what, value, &borders);
    }
}
