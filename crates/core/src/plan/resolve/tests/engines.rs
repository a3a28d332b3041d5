//! Which engine serves which load.

use super::*;
use crate::plan::TargetKind;
use crate::plan::facts::Lockable;
use crate::request::Caching;
use crate::result::WarningKind;

fn options(engine: EngineChoice) -> RunOptions {
    RunOptions { engine: Some(engine), ..RunOptions::default() }
}

fn engine(request: &TimeSpan, facts: &HostFacts) -> (EngineKind, Option<String>) {
    let thread = plan(request.clone(), facts).threads.remove(0);
    (thread.engine, thread.engine_fallback)
}

fn without(uring: bool, aio: bool) -> HostFacts {
    let mut facts = host();
    let state = |is_missing: bool| if is_missing { Err("forbidden".into()) } else { Ok(()) };
    facts.engines = EngineAvailability { uring: state(uring), aio: state(aio), ..facts.engines };
    facts
}

#[test]
fn the_best_engine_that_works_is_used_and_the_reason_told() {
    let request = span(vec![target()]);
    assert_eq!(engine(&request, &host()), (EngineKind::Uring, None));
    let (kind, why) = engine(&request, &without(true, false));
    assert_eq!(kind, EngineKind::Aio);
    assert_eq!(why.as_deref(), Some("io_uring is not available: forbidden"));
    let (kind, why) = engine(&request, &without(true, true));
    assert_eq!(kind, EngineKind::Sync);
    assert!(why.is_some_and(|why| why.contains("io_uring") && why.contains("libaio")));
}

fn may_lock(bytes: u64, takes_rings: bool) -> HostFacts {
    HostFacts { lockable: Some(Lockable { bytes, takes_rings }), ..host() }
}

#[test]
fn where_rings_need_more_locked_memory_than_there_may_be_another_engine_serves() {
    let mut request = span(vec![target()]);
    request.targets[0].threads = 100;
    request.targets[0].outstanding = 8;
    let (kind, why) = engine(&request, &may_lock(200 * 8192 - 1, true));
    assert_eq!(kind, EngineKind::Aio);
    let why = why.unwrap();
    assert!(why.contains("its rings need 800 KiB of locked memory"), "{why}");
    assert!(why.contains("may lock 1599 KiB (ulimit -l)"), "{why}");
    assert_eq!(engine(&request, &may_lock(200 * 8192, true)), (EngineKind::Uring, None));
    assert_eq!(engine(&request, &may_lock(4096, false)), (EngineKind::Uring, None));
    // Threads with one I/O at a time have no ring.
    request.targets[0].outstanding = 1;
    assert_eq!(engine(&request, &may_lock(0, true)), (EngineKind::Sync, None));
}

#[test]
fn buffers_of_all_threads_are_registered_or_none() {
    let mut request = span(vec![target()]);
    request.targets[0].threads = 100;
    request.targets[0].outstanding = 8;
    request.targets[0].block_bytes = 4096;
    let registers = |facts: &HostFacts| {
        let threads = plan(request.clone(), facts).threads;
        let all = threads.iter().all(|thread| thread.registers_buffers);
        assert_eq!(all, threads.iter().any(|thread| thread.registers_buffers));
        all
    };
    let (rings, buffers) = (200 * 8192, 200 * 8 * 4096);
    assert!(registers(&host()));
    assert!(registers(&may_lock(rings + buffers, true)));
    assert!(!registers(&may_lock(rings + buffers - 1, true)));
    assert!(registers(&may_lock(buffers, false)));
    assert!(!registers(&may_lock(buffers - 1, false)));
}

#[test]
fn the_other_completion_path_is_libaio() {
    let mut request = span(vec![target()]);
    request.alternate_completion = true;
    assert_eq!(engine(&request, &host()), (EngineKind::Aio, None));
    let (kind, why) = engine(&request, &without(false, true));
    assert_eq!(kind, EngineKind::Uring);
    assert_eq!(why.as_deref(), Some("libaio is not available: forbidden"));
}

#[test]
fn one_outstanding_io_is_synchronous() {
    let mut request = span(vec![target()]);
    request.targets[0].outstanding = 1;
    assert_eq!(engine(&request, &host()), (EngineKind::Sync, None));
    request.alternate_completion = true;
    assert_eq!(engine(&request, &host()).0, EngineKind::Sync);
    // Two targets in one thread have two outstanding I/Os.
    request.alternate_completion = false;
    request.thread_count = 1;
    request.targets.push(request.targets[0].clone());
    assert_eq!(engine(&request, &host()).0, EngineKind::Uring);
    request.targets.pop();
    request.request_count = 8;
    assert_eq!(engine(&request, &host()).0, EngineKind::Uring);
}

#[test]
fn a_mapping_serves_one_io_at_a_time_and_says_so() {
    let mut request = span(vec![target()]);
    request.targets[0].memory_mapped = true;
    let resolved = with(request.clone(), &RunOptions::default(), &host()).expect("a plan");
    assert_eq!(resolved.plan.spans[0].threads[0].engine, EngineKind::Mapped);
    assert!(resolved.plan.spans[0].targets[0].open.mapped);
    let [warning] = resolved.warnings.as_slice() else { panic!("one warning") };
    assert_eq!(warning.kind, WarningKind::NoEffect);
    request.targets[0].outstanding = 1;
    let resolved = with(request.clone(), &RunOptions::default(), &host()).expect("a plan");
    assert!(resolved.warnings.is_empty());
    request.thread_count = 1;
    request.targets.push(target());
    assert_says(&error_of(request, &host()), ErrorClass::Request, &["thread 0", "-Sm"]);
}

#[test]
fn buffered_io_of_libaio_is_told_to_be_one_at_a_time() {
    let mut request = span(vec![target()]);
    request.alternate_completion = true;
    let warnings = |request: &TimeSpan| {
        with(request.clone(), &RunOptions::default(), &host()).expect("a plan").warnings
    };
    let found = warnings(&request);
    let [warning] = found.as_slice() else { panic!("one warning: {found:?}") };
    assert_eq!(warning.kind, WarningKind::NoEffect);
    assert!(warning.evidence.contains("libaio") && warning.remedy.contains("-Su"));
    request.targets[0].caching = Caching::Unbuffered;
    assert!(warnings(&request).is_empty());
}

#[test]
fn an_engine_that_was_asked_for_is_used_or_refused() {
    let request = span(vec![target()]);
    for choice in [EngineChoice::Uring, EngineChoice::Aio, EngineChoice::Sync] {
        let resolved = with(request.clone(), &options(choice), &host()).expect("a plan");
        assert_eq!(resolved.plan.spans[0].threads[0].engine, kind_of(choice));
        // The target is buffered, so that libaio has one I/O at a time as well.
        let is_limited = choice != EngineChoice::Uring;
        assert_eq!(resolved.warnings.len(), usize::from(is_limited));
    }
    let refused = |choice, request: &TimeSpan| {
        only(&with(request.clone(), &options(choice), &without(true, true)).expect_err("an error"))
    };
    let error = refused(EngineChoice::Uring, &request);
    assert_says(&error, ErrorClass::Request, &["io_uring", "forbidden"]);
    assert_says(&refused(EngineChoice::Aio, &request), ErrorClass::Request, &["libaio"]);
    let mut mapped = request.clone();
    mapped.targets[0].memory_mapped = true;
    assert_says(&refused(EngineChoice::Sync, &mapped), ErrorClass::Request, &["sync", "-Sm"]);
    let mut direct = request;
    direct.targets[0].caching = Caching::Unbuffered;
    assert_says(&refused(EngineChoice::Mapped, &direct), ErrorClass::Request, &["mmap", "'t.dat'"]);
}

#[test]
fn asking_for_the_mapping_maps_the_targets() {
    let request = span(vec![target()]);
    let resolved = with(request, &options(EngineChoice::Mapped), &host()).expect("a plan");
    assert!(resolved.plan.spans[0].targets[0].open.mapped);
}

#[test]
fn the_null_engine_needs_no_target() {
    let sizes = |change: fn(&mut Target), name: &str| {
        let mut request = span(vec![named(name)]);
        change(&mut request.targets[0]);
        let mut asked = profile(vec![request]);
        asked.precreate = crate::request::Precreate::UseMaxSize;
        let plan = resolve(&asked, &options(EngineChoice::Null), &host()).expect("a plan").plan;
        assert!(plan.precreate.is_empty() && plan.spans[0].create.is_empty());
        assert_eq!(plan.spans[0].targets[0].kind, TargetKind::Virtual);
        assert_eq!(plan.spans[0].threads[0].engine, EngineKind::Null);
        plan.spans[0].targets[0].size_bytes
    };
    assert_eq!(sizes(|_| {}, "none"), 1 << 30);
    assert_eq!(sizes(|target| target.create_bytes = Some(MIB), "none"), MIB);
    assert_eq!(sizes(|target| target.limit_bytes = 2 * MIB, "none"), 2 * MIB);
    assert_eq!(sizes(|target| target.base_bytes = 1 << 40, "none"), (1 << 40) + (1 << 30));
    assert_eq!(sizes(|_| {}, "t.dat"), 8 * MIB);
}
