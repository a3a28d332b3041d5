//! Rings, batches, polling and buffers: what reaches the plan, and what is refused.

use super::*;
use crate::plan::IoTuning;
use crate::request::{BufferSeparation, Caching, RingBatch, RingUse, SubmissionThread};
use crate::result::WarningKind;

fn tuning(change: impl FnOnce(&mut TimeSpan)) -> (EngineKind, IoTuning) {
    let mut request = span(vec![target()]);
    request.targets[0].outstanding = 32;
    change(&mut request);
    let thread = plan(request, &host()).threads.remove(0);
    (thread.engine, thread.tuning)
}

fn batch(batch: RingBatch, outstanding: u32) -> Option<u32> {
    let ring = Some(RingUse { batch, registered_buffers: true });
    let (engine, tuning) = tuning(|request| {
        request.tuning.ring = ring;
        request.targets[0].outstanding = outstanding;
    });
    assert_eq!(engine, EngineKind::Uring);
    tuning.batch_ios
}

#[test]
fn nothing_but_the_place_of_buffers_is_set_without_options() {
    let (_, plain) = tuning(|_| {});
    let expected = IoTuning { buffer_separation_bytes: 16 << 20, ..IoTuning::default() };
    assert_eq!(plain, expected);
    assert!(!plain.changes_ring());
}

#[test]
fn batches_are_numbers_or_shares_of_what_is_outstanding() {
    assert_eq!(batch(RingBatch::Ios(8), 32), Some(8));
    assert_eq!(batch(RingBatch::Percent(25), 32), Some(8));
    assert_eq!(batch(RingBatch::Percent(1), 32), Some(1));
    assert_eq!(batch(RingBatch::Percent(50), 5), Some(3));
    // A batch that could never be full would wait forever.
    assert_eq!(batch(RingBatch::Ios(64), 32), Some(32));
    // One I/O at a time goes through the ring, too, if a ring is requested.
    assert_eq!(batch(RingBatch::Percent(25), 1), Some(1));
}

#[test]
fn a_batch_counts_what_a_thread_has_outstanding_over_all_targets() {
    let mut request = span(vec![target(), target()]);
    (request.thread_count, request.request_count) = (1, 10);
    request.tuning.ring =
        Some(RingUse { batch: RingBatch::Percent(30), registered_buffers: false });
    let tuning = plan(request.clone(), &host()).threads[0].tuning;
    assert_eq!((tuning.batch_ios, tuning.unregistered_buffers), (Some(3), true));
    request.request_count = 0;
    request.targets[0].outstanding = 8;
    request.targets[1].outstanding = 12;
    assert_eq!(plan(request, &host()).threads[0].tuning.batch_ios, Some(6));
}

#[test]
fn the_kernel_places_buffers_if_asked_to() {
    let (_, tuning) = tuning(|request| {
        request.tuning.buffer_separation = Some(BufferSeparation::SystemDefault);
    });
    assert_eq!(tuning.buffer_separation_bytes, 0);
}

#[test]
fn large_pages_come_before_separation() {
    let mut request = span(vec![target()]);
    request.targets[0].large_pages = true;
    let count = |request: &TimeSpan| {
        let resolved = with(request.clone(), &RunOptions::default(), &host()).expect("a plan");
        resolved.warnings.iter().filter(|one| one.kind == WarningKind::NoEffect).count()
    };
    assert_eq!(count(&request), 0);
    request.tuning.buffer_separation = Some(BufferSeparation::PageDirectoryLine);
    assert_eq!(count(&request), 1);
}

#[test]
fn a_ring_that_is_not_there_is_refused() {
    let mut request = span(vec![target()]);
    request.tuning.ring = Some(RingUse::default());
    let mut facts = host();
    facts.engines.uring = Err("seccomp".into());
    assert_says(&error_of(request.clone(), &facts), ErrorClass::Request, &["-u", "seccomp"]);
    let options = RunOptions { engine: Some(EngineChoice::Aio), ..RunOptions::default() };
    let errors = with(request, &options, &host()).expect_err("an error");
    assert_says(&only(&errors), ErrorClass::Request, &["-u needs io_uring", "libaio"]);
}

fn direct() -> TimeSpan {
    let mut request = span(vec![target()]);
    request.targets[0].caching = Caching::Unbuffered;
    request
}

fn polling(is_possible: Option<bool>) -> HostFacts {
    let mut facts = host();
    add(&mut facts, "t.dat", PathFacts { is_polling_possible: is_possible, ..file(8 * MIB) });
    facts
}

#[test]
fn polling_needs_a_device_that_polls_and_no_page_cache() {
    let options = RunOptions { polled: true, ..RunOptions::default() };
    for known in [Some(true), None] {
        let resolved = with(direct(), &options, &polling(known)).expect("a plan");
        let thread = &resolved.plan.spans[0].threads[0];
        assert!(thread.tuning.polled && thread.tuning.changes_ring());
        assert_eq!(thread.engine, EngineKind::Uring);
    }
    let errors = with(direct(), &options, &polling(Some(false))).expect_err("an error");
    assert_says(
        &only(&errors),
        ErrorClass::Request,
        &["'t.dat'", "interrupts only", "poll_queues"],
    );
    let errors = with(span(vec![target()]), &options, &polling(None)).expect_err("an error");
    assert_says(&only(&errors), ErrorClass::Request, &["--polled", "page cache", "-Su"]);
}

#[test]
fn only_reads_and_writes_are_polled() {
    let options = RunOptions { polled: true, ..RunOptions::default() };
    let mut request = direct();
    request.targets[0].extensions.trim_percent = Some(5);
    let errors = with(request, &options, &polling(None)).expect_err("an error");
    assert_says(&only(&errors), ErrorClass::Request, &["--polled", "'t.dat'", "--trim"]);
}

#[test]
fn a_submission_thread_runs_where_this_process_may_run() {
    let with_cpu = |cpu| RunOptions {
        submission_thread: Some(SubmissionThread { cpu }),
        ..RunOptions::default()
    };
    let resolved = with(direct(), &with_cpu(Some(4)), &host()).expect("a plan");
    let thread = &resolved.plan.spans[0].threads[0];
    assert_eq!(thread.tuning.submission_thread, Some(SubmissionThread { cpu: Some(4) }));
    let errors = with(direct(), &with_cpu(Some(77)), &host()).expect_err("an error");
    assert_says(&only(&errors), ErrorClass::Request, &["--sqpoll=77", "0,1,2,3,4,5"]);
    let mut batched = direct();
    batched.tuning.ring = Some(RingUse::default());
    let errors = with(batched, &with_cpu(None), &host()).expect_err("an error");
    assert_says(&only(&errors), ErrorClass::Request, &["-u", "--sqpoll"]);
}

#[test]
fn a_depth_without_a_queue_is_told() {
    let count = |outstanding: u32| {
        let mut request = span(vec![target()]);
        request.targets[0].outstanding = outstanding;
        request.tuning.completion_depth = Some(4);
        let resolved = with(request, &RunOptions::default(), &host()).expect("a plan");
        assert_eq!(resolved.plan.spans[0].threads[0].tuning.completion_depth, Some(4));
        resolved.warnings.iter().filter(|one| one.kind == WarningKind::NoEffect).count()
    };
    assert_eq!((count(1), count(2)), (1, 0));
}
