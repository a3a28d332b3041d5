//! Requests on invented hosts.

mod cpus;
mod engines;
mod files;
#[cfg(feature = "net")]
mod remote;
mod targets;
mod threads;
mod tuning;
mod verify;

use std::path::PathBuf;

use fathom_sys::device::{PathFacts, PathKind};
use fathom_sys::trace::{Group, TraceError};

use super::*;
use crate::plan::facts::{EngineAvailability, HostFacts};
use crate::request::{Target, Tracing};
use crate::result::{Cpu, WarningKind};
use crate::storage::Facts;
use crate::units::{KIB, MIB};

/// A host with two sockets, each a NUMA node of three CPUs, the last of them slow; a file
/// `t.dat` of 8 MiB, and whatever is added.
fn host() -> HostFacts {
    let cpu = |os_id: u32| Cpu {
        os_id,
        group: u16::from(os_id >= 3),
        index: [0, 1, 2][os_id as usize % 3],
        node: os_id / 3,
        socket: os_id / 3,
        core: os_id,
        efficiency_class: u8::from(os_id % 3 < 2),
    };
    let mut facts = HostFacts {
        name: "box".into(),
        kernel: "Linux 6.12".into(),
        cpu_model: "Example".into(),
        power_scheme: "performance".into(),
        memory_bytes: Some(1 << 30),
        memory_left: None,
        lockable: None,
        page_directory_line_bytes: 16 << 20,
        cpus: (0..6).map(cpu).collect(),
        usable_cpus: (0..6).collect(),
        disks: Vec::new(),
        targets: std::collections::BTreeMap::new(),
        data_files: std::collections::BTreeMap::new(),
        engines: EngineAvailability { uring: Ok(()), aio: Ok(()), uring_discard: Ok(()) },
        uncountable: Vec::new(),
    };
    add(&mut facts, "t.dat", file(8 * MIB));
    facts
}

fn file(size_bytes: u64) -> PathFacts {
    let file_system = "ext4".into();
    PathFacts { kind: PathKind::File, size_bytes, file_system, ..PathFacts::default() }
}

fn of_kind(kind: PathKind) -> PathFacts {
    PathFacts { kind, file_system: "ext4".into(), ..PathFacts::default() }
}

/// Puts something on the host, under the root.
fn add(facts: &mut HostFacts, name: &str, what: PathFacts) {
    let path = PathBuf::from("/").join(name);
    facts.targets.insert(name.into(), Ok(Facts::Here(PathFacts { path, ..what })));
}

/// `t.dat` in blocks of 4 KiB.
fn target() -> Target {
    named("t.dat")
}

fn named(path: &str) -> Target {
    let mut target = Target { path: path.into(), block_bytes: 4096, ..Target::default() };
    target.access.align_bytes = 4 * KIB;
    target
}

fn span(targets: Vec<Target>) -> TimeSpan {
    TimeSpan { targets, ..TimeSpan::default() }
}

fn profile(time_spans: Vec<TimeSpan>) -> Profile {
    Profile { time_spans, ..Profile::default() }
}

fn with(
    span: TimeSpan,
    options: &RunOptions,
    facts: &HostFacts,
) -> Result<Resolved, ResolveErrors> {
    resolve(&profile(vec![span]), options, facts)
}

/// The plan of one time span.
fn plan(span: TimeSpan, facts: &HostFacts) -> SpanPlan {
    let resolved = with(span, &RunOptions::default(), facts).expect("a plan");
    resolved.plan.spans.into_iter().next().expect("one time span")
}

/// The only error of one time span: its class, its message and its remedy.
fn error_of(span: TimeSpan, facts: &HostFacts) -> (ErrorClass, String) {
    let errors = with(span, &RunOptions::default(), facts).expect_err("an error");
    only(&errors)
}

fn only(errors: &ResolveErrors) -> (ErrorClass, String) {
    let [error] = errors.0.as_slice() else { panic!("one error expected: {errors}") };
    (error.class, error.to_string())
}

#[track_caller]
fn assert_says(error: &(ErrorClass, String), class: ErrorClass, words: &[&str]) {
    assert_eq!(error.0, class, "{}", error.1);
    for word in words {
        assert!(error.1.contains(word), "'{word}' is not in: {}", error.1);
    }
    assert!(!error.1.contains('\n'), "one line: {}", error.1);
}

#[test]
fn times_and_switches_become_numbers() {
    let mut request = span(vec![target()]);
    request.measure_latency = true;
    let short = plan(request.clone(), &host());
    assert_eq!((short.warm_up_ns, short.measured_ns), (5_000_000_000, 10_000_000_000));
    assert_eq!((short.cool_down_ns, short.interval_ns), (0, 0));
    assert!(short.measure_latency);
    request.interval_series = true;
    request.interval_ms = 250;
    request.duration_s = u32::MAX;
    // The series of so long a time fits into no memory that is known.
    let long = plan(request, &HostFacts { memory_bytes: None, ..host() });
    assert_eq!(long.interval_ns, 250_000_000);
    assert_eq!(long.measured_ns, 4_294_967_295_000_000_000);
}

#[test]
fn all_errors_of_all_time_spans_are_told() {
    let request = profile(vec![span(vec![named("C:"), named("none")]), span(vec![named("*1")])]);
    let mut facts = host();
    add(&mut facts, "none", of_kind(PathKind::Missing));
    let errors = resolve(&request, &RunOptions::default(), &facts).expect_err("errors");
    assert_eq!(errors.0.len(), 3);
    assert!(errors.has_request_error());
    assert_eq!(errors.to_string().lines().count(), 3);
}

#[test]
fn kernel_events_that_cannot_be_counted_are_refused_by_their_option() {
    let mut request = profile(vec![span(vec![target()])]);
    request.tracing = Some(Tracing { process: true, registry: true, ..Tracing::default() });
    let mut facts = host();
    let resolved = resolve(&request, &RunOptions::default(), &facts).expect("a plan");
    let [warning] = resolved.warnings.as_slice() else { panic!("{:?}", resolved.warnings) };
    assert_eq!(warning.kind, WarningKind::NoEffect);
    assert!(warning.evidence.contains("-eREGISTRY") && warning.evidence.contains("Windows"));
    let why = "CAP_PERFMON is missing".to_owned();
    let error = TraceError { why, remedy: "run as root".to_owned() };
    facts.uncountable = vec![(Group::Process, error)];
    let errors = resolve(&request, &RunOptions::default(), &facts).expect_err("an error");
    let words = ["-ePROCESS", "CAP_PERFMON", "run as root"];
    assert_says(&only(&errors), ErrorClass::Request, &words);
}

#[test]
fn wrong_names_of_events_are_refused() {
    let mut request = profile(vec![span(vec![target()])]);
    request.events.wait = Some("go/home".into());
    let errors = resolve(&request, &RunOptions::default(), &host()).expect_err("an error");
    assert_says(&only(&errors), ErrorClass::Request, &["'go/home'", "name"]);
}

#[test]
fn results_describe_the_host() {
    let facts = host();
    let described = facts.host();
    assert_eq!((described.name.as_str(), described.cpus.len()), ("box", 6));
    assert_eq!(described.power_scheme, "performance");
}
