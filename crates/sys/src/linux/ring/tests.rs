//! What the choices of a ring do, on the real kernel.

use super::super::buffers::{Buffers, PageKind};
use super::super::file::{OpenFlags, TargetFile};
use super::*;

const BLOCK: u32 = 4096;

fn ring(slots: usize, direct: bool, options: RingOptions) -> (tempfile::NamedTempFile, Ring) {
    let scratch = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(scratch.path(), vec![7_u8; 16 * BLOCK as usize]).unwrap();
    scratch.as_file().sync_all().unwrap();
    let flags = OpenFlags { direct, ..OpenFlags::default() };
    let files = vec![TargetFile::open(scratch.path(), flags).unwrap()];
    let buffers = Buffers::new(&vec![BLOCK as usize; slots], PageKind::Normal).unwrap();
    let resources = Resources { files, buffers, sources: vec![None] };
    (scratch, Ring::with_options(resources, options).unwrap())
}

fn read(slot: u32) -> Transfer {
    let offset_bytes = u64::from(slot * BLOCK);
    let operation = Operation::Read;
    Transfer { slot, file: 0, operation, offset_bytes, bytes: BLOCK, source_offset: None }
}

fn slots(done: &[Completion]) -> Vec<u32> {
    let mut slots: Vec<u32> = done.iter().map(|completion| completion.slot).collect();
    slots.sort_unstable();
    slots
}

/// Whether nobody has a file open: only then is a lease to write it given (`fcntl(2)`, `F_SETLEASE`).
fn is_free(path: &std::path::Path) -> bool {
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    // SAFETY: the call takes integers only, and the descriptor is open.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK) == 0 }
}

#[test]
fn a_file_is_free_as_soon_as_its_ring_is_gone() {
    for registered in [true, false] {
        let options = RingOptions { unregistered_buffers: !registered, ..RingOptions::default() };
        for _ in 0..5 {
            let (scratch, mut ring) = ring(4, false, options);
            (0..4).for_each(|slot| ring.push(&read(slot)));
            ring.hand_over(4, 4).unwrap();
            let (file, path) = scratch.into_parts();
            drop(file);
            assert!(!is_free(&path), "the ring has it open");
            drop(ring);
            assert!(is_free(&path));
        }
    }
}

#[test]
fn no_more_is_handed_over_than_asked_for() {
    let (_scratch, mut ring) = ring(8, false, RingOptions::default());
    (0..8).for_each(|slot| ring.push(&read(slot)));
    let mut done = Vec::new();
    ring.hand_over(3, 3).unwrap();
    ring.reap(&mut done);
    assert_eq!((slots(&done), ring.queued()), (vec![0, 1, 2], 5));
    ring.hand_over(0, 0).unwrap();
    assert_eq!(ring.queued(), 5);
    ring.hand_over(5, 5).unwrap();
    ring.reap(&mut done);
    assert_eq!((slots(&done).len(), ring.queued()), (8, 0));
}

#[test]
fn no_more_is_reaped_than_asked_for() {
    let (_scratch, mut ring) = ring(8, false, RingOptions::default());
    (0..8).for_each(|slot| ring.push(&read(slot)));
    ring.hand_over(8, 8).unwrap();
    for _ in 0..2 {
        let mut done = Vec::new();
        ring.reap_at_most(3, &mut done);
        assert_eq!(done.len(), 3);
    }
    let mut rest = Vec::new();
    ring.reap_at_most(3, &mut rest);
    assert_eq!((rest.len(), ring.in_flight()), (2, 0));
}

#[test]
fn buffers_are_registered_unless_they_must_not_be() {
    for unregistered_buffers in [false, true] {
        let options = RingOptions { unregistered_buffers, ..RingOptions::default() };
        let (_scratch, mut ring) = ring(1, false, options);
        let registered = ring.features().contains(&"registered buffers");
        assert_eq!(registered, !unregistered_buffers);
        assert_eq!(ring.buffers.slots.len(), usize::from(registered));
        ring.try_read(0, BLOCK).unwrap();
        assert!(ring.slot_mut(0).iter().all(|byte| *byte == 7));
    }
}

#[test]
fn the_kernels_own_thread_takes_what_is_queued() {
    let options = RingOptions {
        submission_thread: Some(SubmissionThread::default()),
        ..RingOptions::default()
    };
    let (_scratch, mut ring) = ring(1, false, options);
    assert!(ring.uring.params().is_setup_sqpoll());
    // A thread that was busy just now does not sleep yet: nothing but a look at shared memory is
    // needed until the I/O has ended. On a machine that gives this test no time in between it may
    // sleep already; then it is woken, and tried again.
    assert!((0..60).any(|_| is_taken_without_a_call(&mut ring)));
}

fn is_taken_without_a_call(ring: &mut Ring) -> bool {
    const LOOKS: usize = 10_000_000;
    ring.push(&read(0));
    let mut done = Vec::new();
    for _ in 0..LOOKS {
        ring.reap(&mut done);
        if !done.is_empty() {
            break;
        }
    }
    let taken = !done.is_empty();
    if !taken {
        ring.enter(1, None).unwrap();
        ring.reap(&mut done);
    }
    assert_eq!(done, [Completion { slot: 0, result: BLOCK.cast_signed() }]);
    taken
}

#[test]
fn a_submission_thread_on_a_cpu_that_is_not_there_is_told() {
    let thread = SubmissionThread { cpu: Some(8191) };
    let options = RingOptions { submission_thread: Some(thread), ..RingOptions::default() };
    let error = build(2, &options).err().expect("an error").to_string();
    assert!(error.contains("kernel submission thread"), "{error}");
}

#[test]
fn polled_completion_needs_i_o_past_the_page_cache() {
    let options = RingOptions { polled: true, ..RingOptions::default() };
    let (_scratch, mut buffered) = ring(1, false, options);
    assert!(buffered.uring.params().is_setup_iopoll());
    let error = buffered.try_read(0, BLOCK).expect_err("an error");
    assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
    let (_scratch, mut direct) = ring(1, true, options);
    match direct.try_read(0, BLOCK) {
        Ok(()) => assert!(direct.slot_mut(0).iter().all(|byte| *byte == 7)),
        // A device without polling is reported in so many words, which the plan relies on.
        Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP), "{error}"),
    }
}
