//! One result of several that were measured at the same time, such as on several hosts.
//!
//! It is exact: threads are put beside each other with all that they measured, so that counts, bytes,
//! histograms and series of the whole are sums of what was counted. No mean of means or of percentiles is
//! taken. What cannot be added, such as runs of different lengths or of different loads, is refused.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::assemble::{cost_of, last_interval_ns};
use super::{
    Beneath, CpuUse, EndedBy, Host, IoCost, KernelEvents, Outcome, RunResult, TargetFacts,
    ThreadResult, ThreadTargetResult, TimeSpanResult, Verification, Warning,
};
use crate::errors::Failure;
use crate::measure::StopReport;
use crate::request::{Extensions, Profile, Request, TimeSpan};

/// Parts may differ by so much of the measured time in its length and its beginning, since they are told when
/// to begin and end by clocks of their own.
const TOLERANCE: f64 = 0.01;

/// Of a short run it may be so much: a thread of a busy host may wait so long for a CPU.
const TOLERANCE_NS: f64 = 5e7;

/// One of the results that a merged one was made of: what is reported of it alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// The host.
    pub host: Host,
    /// What was asked of it.
    pub request: Request,
    /// Who ended it before its end; absent if nobody did.
    #[serde(default)]
    pub ended_by: Option<EndedBy>,
    /// Its time spans.
    pub time_spans: Vec<PartSpan>,
}

/// A time span of a part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartSpan {
    /// Its first thread among those of the merged time span.
    pub first_thread: u32,
    /// How many threads it has there.
    pub threads: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// When its load began, in nanoseconds since 1970-01-01T00:00:00Z.
    pub began_unix_ns: u64,
    /// Length of its measured time, in nanoseconds.
    pub measured_ns: u64,
    /// Why its measured time ended; absent without rules about it.
    #[serde(default)]
    pub stop: Option<StopReport>,
    /// Use of each CPU of its host.
    pub cpu: Vec<CpuUse>,
    /// What an I/O cost its threads.
    #[serde(default)]
    pub cost: Option<IoCost>,
    /// Kernel events of its host.
    #[serde(default)]
    pub kernel_events: Option<KernelEvents>,
    /// What lay beneath its targets.
    #[serde(default)]
    pub beneath: Option<Beneath>,
}

/// Why results cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MergeError {
    /// There is none.
    #[error("there is no result to merge")]
    Nothing,
    /// They were measured by different tools.
    #[error(
        "the result of '{host}' is of {found}, that of '{first_host}' of {wanted}: measure with one \
         version on all hosts"
    )]
    Tool {
        /// The host that differs.
        host: String,
        /// Its tool and version.
        found: String,
        /// The host that it is compared with.
        first_host: String,
        /// The tool and version of that.
        wanted: String,
    },
    /// They did not request the same.
    #[error(
        "the results of '{host}' and '{first_host}' differ in {what}: merge runs of one request"
    )]
    Request {
        /// The host that differs.
        host: String,
        /// The host that it is compared with.
        first_host: String,
        /// In what, as a clause.
        what: String,
    },
    /// One of them is there twice: what it counted would be counted twice.
    #[error(
        "the result of '{host}' that began at {began_unix_ns} ns is there twice: merge each result once, \
         and none beside what it was merged into"
    )]
    Twice {
        /// Its host.
        host: String,
        /// When its load began, since 1970-01-01T00:00:00Z.
        began_unix_ns: u64,
    },
    /// They were not measured at the same time, or it is not known.
    #[error("the load of '{host}' {what}: what was not measured together cannot be added")]
    Time {
        /// The host that differs.
        host: String,
        /// How, as a clause.
        what: String,
    },
}

/// Gives back to the kernel what the parts took, once they are gone: those of a thousand hosts have 150 MB,
/// which the process would keep beside what it makes of the whole.
pub fn give_back_memory() {
    fathom_sys::process::give_back_freed_memory();
}

impl RunResult {
    /// One result of several that were measured together, each on targets or threads of its own.
    ///
    /// The measured time is the longest of theirs, which differ by 1 % or 50 ms at most, but for parts that
    /// were ended early. What belongs to one host, such as the use of its CPUs, stands in
    /// [`RunResult::parts`], and in the whole if all have the same.
    ///
    /// # Errors
    /// If they cannot be added.
    pub fn merge(results: Vec<Self>) -> Result<Self, MergeError> {
        Self::merge_within(results, TOLERANCE)
    }

    /// As [`RunResult::merge`], of parts that may differ by this share of the measured time.
    ///
    /// # Errors
    /// If they cannot be added.
    pub fn merge_within(results: Vec<Self>, tolerance: f64) -> Result<Self, MergeError> {
        let first = results.first().ok_or(MergeError::Nothing)?;
        results.iter().skip(1).try_for_each(|other| check_same(first, other))?;
        let parts: Vec<Vec<Part>> = results.iter().map(parts_of).collect::<Result<_, _>>()?;
        let leaves: Vec<&Part> = parts.iter().flatten().collect();
        check_load(&leaves)?;
        check_once(&results, &parts)?;
        (0..first.time_spans.len()).try_for_each(|span| check_time(&leaves, span, tolerance))?;
        let hosts: Vec<Host> = results.iter().map(|result| result.host.clone()).collect();
        let is_one_host = hosts.windows(2).all(|pair| pair[0] == pair[1]);
        let mut results = results.into_iter();
        let Some(mut whole) = results.next() else { return Err(MergeError::Nothing) };
        whole.warnings = warnings_of(&hosts[0], std::mem::take(&mut whole.warnings), is_one_host);
        whole.failures = failures_of(&hosts[0], std::mem::take(&mut whole.failures), is_one_host);
        whole.parts = Vec::new();
        for (result, host) in results.zip(&hosts[1..]) {
            add(&mut whole, result, host, is_one_host);
        }
        whole.parts = numbered(parts);
        whole.host = common_host(&hosts);
        for (index, span) in whole.time_spans.iter_mut().enumerate() {
            let of_parts = || whole.parts.iter().map(|part| &part.time_spans[index]);
            span.measured_ns = of_parts().map(|part| part.measured_ns).max().unwrap_or_default();
            span.last_interval_ns = last_interval_ns(span.interval_ns, span.measured_ns);
            span.began_unix_ns = of_parts().map(|part| part.began_unix_ns).min();
            span.cost = cost_of(&span.threads);
        }
        Ok(whole)
    }
}

fn check_same(first: &RunResult, other: &RunResult) -> Result<(), MergeError> {
    let (host, first_host) = (other.host.name.clone(), first.host.name.clone());
    if (first.schema_version, &first.tool) != (other.schema_version, &other.tool) {
        let name = |result: &RunResult| format!("{} {}", result.tool.name, result.tool.version);
        return Err(MergeError::Tool { host, found: name(other), first_host, wanted: name(first) });
    }
    match difference(first, other) {
        Some(what) => Err(MergeError::Request { host, first_host, what }),
        None => Ok(()),
    }
}

/// In what two results differ that must be the same for their numbers to be added.
fn difference(first: &RunResult, other: &RunResult) -> Option<String> {
    if first.time_spans.len() != other.time_spans.len() {
        return Some("how many time spans they have".to_owned());
    }
    let asked = |of: fn(&TimeSpan) -> u64| {
        let of_all = |result: &RunResult| -> Vec<u64> {
            result.request.profile.time_spans.iter().map(of).collect()
        };
        of_all(first) != of_all(other)
    };
    if asked(|span| span.measure_latency.into()) {
        return Some("whether latency was measured (-L)".to_owned());
    }
    if asked(|span| span.warm_up_s.into()) {
        return Some("their warm-up (-W)".to_owned());
    }
    let mut pairs = first.time_spans.iter().zip(&other.time_spans);
    if pairs.clone().any(|(one, two)| one.interval_ns != two.interval_ns) {
        return Some("the length of their intervals (-D)".to_owned());
    }
    pairs.any(|(one, two)| one.request_count != two.request_count).then(|| "-O".to_owned())
}

/// Whether all parts are of one load: sums of different ones are a load that nobody asked for.
fn check_load(parts: &[&Part]) -> Result<(), MergeError> {
    let Some((first, rest)) = parts.split_first() else { return Ok(()) };
    let wanted = load_of(&first.request);
    for part in rest {
        let found = load_of(&part.request);
        if found != wanted {
            let (host, first_host) = (part.host.name.clone(), first.host.name.clone());
            let what = asked_otherwise(&found, &wanted);
            return Err(MergeError::Request { host, first_host, what });
        }
    }
    Ok(())
}

/// What is asked of all parts: a request without what each has of its own, which is where its targets lie,
/// its part of them, its CPUs, its random numbers, and how it is shown and begun.
fn load_of(request: &Request) -> Request {
    let mut load = request.clone();
    load.options.verify_journal = None;
    if let Some(thread) = &mut load.options.submission_thread {
        thread.cpu = None;
    }
    let shown = Profile::default();
    load.profile.events = shown.events;
    load.profile.format = shown.format;
    load.profile.verbose = shown.verbose;
    load.profile.progress_every_ios = shown.progress_every_ios;
    for span in &mut load.profile.time_spans {
        span.random_seed = 0;
        span.cpus.clear();
        span.disable_affinity = false;
        for target in &mut span.targets {
            target.path = "".into();
            (target.base_bytes, target.limit_bytes) = (0, 0);
            let Extensions { read_pattern, write_pattern, .. } = &mut target.extensions;
            for pattern in [read_pattern, write_pattern].into_iter().flatten() {
                pattern.range = None;
            }
        }
    }
    load
}

/// The first field in which two loads differ, with both values.
fn asked_otherwise(found: &Request, wanted: &Request) -> String {
    let of = |request: &Request| serde_json::to_value(request).unwrap_or_default();
    first_difference(&of(found), &of(wanted)).unwrap_or_else(|| "what was requested".to_owned())
}

fn first_difference(one: &Value, two: &Value) -> Option<String> {
    let inside = |key: String, found: Option<&Value>, wanted: Option<&Value>| {
        let (found, wanted) = (found.unwrap_or(&Value::Null), wanted.unwrap_or(&Value::Null));
        let deeper = first_difference(found, wanted)?;
        let dot = if deeper.starts_with(['[', ' ']) { "" } else { "." };
        Some(format!("{key}{dot}{deeper}"))
    };
    match (one, two) {
        _ if one == two => None,
        (Value::Object(fields), Value::Object(others)) => {
            let names: BTreeSet<&String> = fields.keys().chain(others.keys()).collect();
            let mut names = names.into_iter();
            names.find_map(|name| inside(name.clone(), fields.get(name), others.get(name)))
        }
        (Value::Array(parts), Value::Array(others)) if parts.len() == others.len() => {
            let mut pairs = parts.iter().zip(others).enumerate();
            pairs.find_map(|(at, (part, other))| inside(format!("[{at}]"), Some(part), Some(other)))
        }
        (Value::Array(parts), Value::Array(others)) => {
            Some(format!(" (of which there are {} and {})", parts.len(), others.len()))
        }
        _ => Some(format!(" ({one} and {two})")),
    }
}

/// What two parts have to share to be one: the name of the host, and when each time span began and how long
/// it was measured.
type Alike<'a> = (&'a str, Vec<(u64, u64)>);

/// Whether each part is there once.
fn check_once(results: &[RunResult], parts: &[Vec<Part>]) -> Result<(), MergeError> {
    let mut seen: BTreeMap<Alike<'_>, Vec<(&RunResult, &Part)>> = BTreeMap::new();
    for (result, of_result) in results.iter().zip(parts) {
        for part in of_result {
            let spans = part.time_spans.iter().map(|span| (span.began_unix_ns, span.measured_ns));
            let alike = seen.entry((&part.host.name, spans.collect())).or_default();
            if alike.iter().any(|(other, twin)| is_same(result, part, other, twin)) {
                let began_unix_ns = part.time_spans.first().map_or(0, |span| span.began_unix_ns);
                return Err(MergeError::Twice { host: part.host.name.clone(), began_unix_ns });
            }
            alike.push((result, part));
        }
    }
    Ok(())
}

/// Whether two parts of results are one and the same, by all that their threads measured.
fn is_same(result: &RunResult, part: &Part, other: &RunResult, twin: &Part) -> bool {
    let rows = |result: &RunResult, part: &Part| -> Vec<Vec<(u64, Vec<ThreadTargetResult>)>> {
        let of_span = |(whole, span): (&TimeSpanResult, &PartSpan)| {
            let first = if result.parts.is_empty() { 0 } else { span.first_thread as usize };
            let threads = whole.threads.iter().skip(first).take(span.threads as usize);
            let measured = |thread: &ThreadResult| {
                let mut rows = thread.targets.clone();
                for row in &mut rows {
                    row.target = 0;
                }
                (thread.cpu_ns, rows)
            };
            threads.map(measured).collect()
        };
        result.time_spans.iter().zip(&part.time_spans).map(of_span).collect()
    };
    part.request == twin.request && rows(result, part) == rows(other, twin)
}

/// A result as the part of another one; of a merged one, its parts.
fn parts_of(result: &RunResult) -> Result<Vec<Part>, MergeError> {
    if !result.parts.is_empty() {
        return Ok(result.parts.clone());
    }
    let unknown = || MergeError::Time {
        host: result.host.name.clone(),
        what: "began nobody knows when".to_owned(),
    };
    let span = |span: &TimeSpanResult| {
        Ok(PartSpan {
            first_thread: 0,
            threads: u32::try_from(span.threads.len()).unwrap_or(u32::MAX),
            outcome: span.outcome.clone(),
            began_unix_ns: span.began_unix_ns.ok_or_else(unknown)?,
            measured_ns: span.measured_ns,
            stop: span.stop.clone(),
            cpu: span.cpu.clone(),
            cost: span.cost,
            kernel_events: span.kernel_events.clone(),
            beneath: span.beneath.clone(),
        })
    };
    Ok(vec![Part {
        host: result.host.clone(),
        request: result.request.clone(),
        ended_by: result.ended_by.clone(),
        time_spans: result.time_spans.iter().map(span).collect::<Result<_, _>>()?,
    }])
}

/// Whether all parts of a time span were measured together.
fn check_time(parts: &[&Part], span: usize, tolerance: f64) -> Result<(), MergeError> {
    let of = |part: &Part| (part.time_spans[span].began_unix_ns, part.time_spans[span].measured_ns);
    let (Some(began_ns), Some(longest_ns)) =
        (parts.iter().map(|part| of(part).0).min(), parts.iter().map(|part| of(part).1).max())
    else {
        return Ok(());
    };
    let limit_ns = (longest_ns as f64 * tolerance).max(TOLERANCE_NS);
    for part in parts {
        let (part_began_ns, measured_ns) = of(part);
        let host = part.host.name.clone();
        let late_ns = part_began_ns - began_ns;
        if late_ns as f64 > limit_ns {
            let what = format!("began {:.3} s later than the first", late_ns as f64 / 1e9);
            return Err(MergeError::Time { host, what });
        }
        // Who ends a run cannot end all parts at once; the whole is marked as interrupted, too.
        let is_whole = part.time_spans[span].outcome != Outcome::Interrupted;
        if is_whole && (longest_ns - measured_ns) as f64 > limit_ns {
            let seconds = |ns: u64| ns as f64 / 1e9;
            let (found, longest) = (seconds(measured_ns), seconds(longest_ns));
            let what =
                format!("was measured for {found:.3} s where others were for {longest:.3} s");
            return Err(MergeError::Time { host, what });
        }
    }
    Ok(())
}

/// The parts of all, with the place of their threads in the whole.
fn numbered(results: Vec<Vec<Part>>) -> Vec<Part> {
    let mut next: Vec<u32> = Vec::new();
    let mut parts: Vec<Part> = results.into_iter().flatten().collect();
    for part in &mut parts {
        next.resize(part.time_spans.len(), 0);
        for (span, next) in part.time_spans.iter_mut().zip(&mut next) {
            span.first_thread = *next;
            *next += span.threads;
        }
    }
    parts
}

fn add(whole: &mut RunResult, other: RunResult, host: &Host, is_one_host: bool) {
    whole.started_at_unix_s = whole.started_at_unix_s.min(other.started_at_unix_s);
    whole.ended_by = whole.ended_by.take().or(other.ended_by);
    for warning in warnings_of(host, other.warnings, is_one_host) {
        if !whole.warnings.contains(&warning) {
            whole.warnings.push(warning);
        }
    }
    whole.failures.extend(failures_of(host, other.failures, is_one_host));
    whole.hosts.extend(other.hosts);
    whole.verification = match (whole.verification.take(), other.verification) {
        (Some(one), Some(two)) => Some(verified(one, two)),
        (one, two) => one.or(two),
    };
    for (span, other) in whole.time_spans.iter_mut().zip(other.time_spans) {
        add_span(span, other, is_one_host);
    }
}

fn add_span(whole: &mut TimeSpanResult, other: TimeSpanResult, is_one_host: bool) {
    let first_thread = whole.threads.len();
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let mut places = Vec::new();
    for target in other.targets {
        let place = place_of(&mut whole.targets, target, |place| {
            is_one_host && !places.contains(&number(place))
        });
        places.push(number(place));
    }
    for (index, mut thread) in (first_thread..).zip(other.threads) {
        thread.index = number(index);
        thread.targets.iter_mut().for_each(|row| row.target = places[row.target as usize]);
        whole.threads.push(thread);
    }
    for mut used in other.network {
        used.target = places.get(used.target as usize).copied().unwrap_or(used.target);
        // What two parts tell alike is one and the same.
        if !whole.network.contains(&used) {
            whole.network.push(used);
        }
    }
    for mut io in other.outstanding {
        io.thread += number(first_thread);
        io.target = places.get(io.target as usize).copied().unwrap_or(io.target);
        whole.outstanding.push(io);
    }
    whole.thread_count += other.thread_count;
    whole.outcome = worse(whole.outcome.clone(), other.outcome);
    keep_common(&mut whole.stop, &other.stop);
    keep_common(&mut whole.cpu, &other.cpu);
    keep_common(&mut whole.kernel_events, &other.kernel_events);
    keep_common(&mut whole.beneath, &other.beneath);
}

/// Where a target stands among those of the whole, of which only those that `may_be` can be the same: the
/// same name on two hosts is not the same target, nor is one that a part names twice.
fn place_of(
    targets: &mut Vec<TargetFacts>,
    target: TargetFacts,
    may_be: impl Fn(usize) -> bool,
) -> usize {
    // Parts have ranges of their own: what they touch together is not told.
    let same = |one: &TargetFacts| {
        let working_set_bytes = one.working_set_bytes;
        *one == TargetFacts { working_set_bytes, ..target.clone() }
    };
    let known = (0..targets.len()).find(|&place| may_be(place) && same(&targets[place]));
    if let Some(place) = known {
        keep_common(&mut targets[place].working_set_bytes, &target.working_set_bytes);
    }
    known.unwrap_or_else(|| {
        targets.push(target);
        targets.len() - 1
    })
}

/// What is true of all stays; what is not is true of none.
fn keep_common<T: Default + PartialEq>(whole: &mut T, other: &T) {
    if whole != other {
        *whole = T::default();
    }
}

/// The outcome of two: no I/O is one only where both had none.
fn worse(one: Outcome, two: Outcome) -> Outcome {
    let rank = |outcome: &Outcome| match outcome {
        Outcome::Failed(_) => 3,
        Outcome::Interrupted => 2,
        Outcome::Complete => 1,
        Outcome::NoIo => 0,
    };
    if rank(&two) > rank(&one) { two } else { one }
}

fn warnings_of(host: &Host, warnings: Vec<Warning>, is_one_host: bool) -> Vec<Warning> {
    if is_one_host {
        return warnings;
    }
    let named = |warning: Warning| match host.name.as_str() {
        // Those of a merged result name their hosts already.
        name if name.contains(", ") => warning,
        name => Warning { evidence: format!("On {name}: {}", warning.evidence), ..warning },
    };
    warnings.into_iter().map(named).collect()
}

fn failures_of(host: &Host, failures: Vec<Failure>, is_one_host: bool) -> Vec<Failure> {
    if is_one_host || host.name.contains(", ") {
        return failures;
    }
    let named = |one: Failure| Failure { message: format!("On {}: {one}", host.name), ..one };
    failures.into_iter().map(named).collect()
}

fn verified(mut one: Verification, two: Verification) -> Verification {
    keep_common(&mut one.journal, &two.journal);
    one.journal_lacks_checks |= two.journal_lacks_checks;
    one.merge(two);
    one
}

/// What is said of all hosts: their names, and what they have in common.
fn common_host(hosts: &[Host]) -> Host {
    let Some((first, rest)) = hosts.split_first() else { return Host::default() };
    let mut whole = first.clone();
    for host in rest {
        keep_common(&mut whole.kernel, &host.kernel);
        keep_common(&mut whole.cpu_model, &host.cpu_model);
        keep_common(&mut whole.power_scheme, &host.power_scheme);
        keep_common(&mut whole.cpus, &host.cpus);
    }
    let mut names: Vec<&str> = hosts.iter().flat_map(|host| host.name.split(", ")).collect();
    names.dedup();
    whole.name = names.join(", ");
    whole
}
