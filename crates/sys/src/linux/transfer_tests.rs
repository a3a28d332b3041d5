//! Both asynchronous backends against one real file: the same stories for each.

use std::io::Write as _;
use std::sync::Arc;

use super::aio::Aio;
use super::buffers::{Buffers, PageKind};
use super::file::{OpenFlags, TargetFile};
use super::ring::Ring;
use super::transfer::{Completion, Operation, Resources, Transfer};

const BLOCK: u32 = 4096;

trait Backend: Sized {
    fn make(resources: Resources) -> Self;
    fn push(&mut self, transfer: &Transfer);
    fn complete(&mut self, count: usize) -> Vec<Completion>;
    fn slot_mut(&mut self, slot: usize) -> &mut [u8];
}

impl Backend for Ring {
    fn make(resources: Resources) -> Self {
        Ring::new(resources).unwrap()
    }
    fn push(&mut self, transfer: &Transfer) {
        Ring::push(self, transfer);
    }
    fn complete(&mut self, count: usize) -> Vec<Completion> {
        let mut done = Vec::new();
        while done.len() < count {
            self.enter(1, None).unwrap();
            self.reap(&mut done);
        }
        done
    }
    fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        Ring::slot_mut(self, slot)
    }
}

impl Backend for Aio {
    fn make(resources: Resources) -> Self {
        Aio::new(resources).unwrap()
    }
    fn push(&mut self, transfer: &Transfer) {
        Aio::push(self, transfer);
    }
    fn complete(&mut self, count: usize) -> Vec<Completion> {
        let mut done = Vec::new();
        while done.len() < count {
            self.enter(1, None, &mut done).unwrap();
        }
        done
    }
    fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        Aio::slot_mut(self, slot)
    }
}

fn resources(slots: usize, write: bool) -> (tempfile::NamedTempFile, Resources) {
    let scratch = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(scratch.path(), vec![7_u8; 16 * BLOCK as usize]).unwrap();
    let file =
        TargetFile::open(scratch.path(), OpenFlags { write, ..OpenFlags::default() }).unwrap();
    let buffers = Buffers::new(&vec![BLOCK as usize; slots], PageKind::Normal).unwrap();
    let mut source = Buffers::new(&[4 * BLOCK as usize], PageKind::Normal).unwrap();
    for (index, byte) in source.slot_mut(0).iter_mut().enumerate() {
        *byte = u8::try_from(index / BLOCK as usize).unwrap() + 40;
    }
    let sources = vec![Some(Arc::new(source))];
    (scratch, Resources { files: vec![file], buffers, sources })
}

fn transfer(slot: u32, write: bool, offset_blocks: u64) -> Transfer {
    let offset_bytes = offset_blocks * u64::from(BLOCK);
    let operation = if write { Operation::Write } else { Operation::Read };
    Transfer { slot, file: 0, operation, offset_bytes, bytes: BLOCK, source_offset: None }
}

fn writes_are_read_back<B: Backend>() {
    let (scratch, resources) = resources(4, true);
    let mut backend = B::make(resources);
    for slot in 0..4_u32 {
        backend.slot_mut(slot as usize).fill(u8::try_from(slot).unwrap() + 100);
        backend.push(&transfer(slot, true, u64::from(slot)));
    }
    let done = backend.complete(4);
    assert!(done.iter().all(|completion| completion.result == BLOCK.cast_signed()));
    let piece = Transfer { source_offset: Some(2 * u64::from(BLOCK)), ..transfer(0, true, 9) };
    backend.push(&piece);
    backend.complete(1);
    backend.push(&transfer(1, false, 3));
    backend.complete(1);
    assert!(backend.slot_mut(1).iter().all(|byte| *byte == 103));
    let bytes = std::fs::read(scratch.path()).unwrap();
    let blocks: Vec<u8> = bytes.chunks(BLOCK as usize).map(|block| block[17]).collect();
    assert_eq!(blocks, [100, 101, 102, 103, 7, 7, 7, 7, 7, 42, 7, 7, 7, 7, 7, 7]);
}

fn the_end_and_errors_are_results<B: Backend>() {
    let (_scratch, resources) = resources(2, false);
    let mut backend = B::make(resources);
    backend.push(&transfer(0, false, 16));
    backend.push(&transfer(1, true, 0));
    let mut done = backend.complete(2);
    done.sort_by_key(|completion| completion.slot);
    let expected =
        [Completion { slot: 0, result: 0 }, Completion { slot: 1, result: -libc::EBADF }];
    assert_eq!(done, expected);
}

fn a_backend_with_io_in_flight_can_be_dropped<B: Backend>() {
    let (_scratch, resources) = resources(2, false);
    let mut backend = B::make(resources);
    backend.push(&transfer(0, false, 0));
    backend.push(&transfer(1, false, 1));
    drop(backend);
}

fn touching_a_slot_in_flight_panics<B: Backend>() {
    let (_scratch, resources) = resources(1, false);
    let mut backend = B::make(resources);
    backend.push(&transfer(0, false, 0));
    let touch = std::panic::AssertUnwindSafe(|| backend.slot_mut(0).fill(1));
    assert!(std::panic::catch_unwind(touch).is_err());
}

fn a_piece_beyond_the_source_panics<B: Backend>() {
    let (_scratch, resources) = resources(1, true);
    let mut backend = B::make(resources);
    let beyond = Transfer { source_offset: Some(4 * u64::from(BLOCK) - 1), ..transfer(0, true, 0) };
    let push = std::panic::AssertUnwindSafe(|| backend.push(&beyond));
    assert!(std::panic::catch_unwind(push).is_err());
}

fn syncs_complete_and_lend_no_buffer<B: Backend>() {
    let (_scratch, resources) = resources(2, true);
    let mut backend = B::make(resources);
    for operation in [Operation::Fsync, Operation::Fdatasync] {
        let sync = Transfer { operation, offset_bytes: 0, bytes: 0, ..transfer(1, true, 0) };
        backend.push(&sync);
        assert_eq!(backend.complete(1), [Completion { slot: 1, result: 0 }]);
    }
}

#[test]
fn a_ring_trims_files_and_native_asynchronous_io_never_does() {
    let (scratch, prepared) = resources(1, true);
    let trim = Transfer { operation: Operation::Trim, ..transfer(0, true, 4) };
    if crate::ring::probe().is_ok() && prepared.files[0].check_trim().is_ok() {
        let mut ring = Ring::make(prepared);
        ring.push(&trim);
        assert_eq!(ring.complete(1), [Completion { slot: 0, result: 0 }]);
        let bytes = std::fs::read(scratch.path()).unwrap();
        let blocks: Vec<u8> = bytes.chunks(BLOCK as usize).map(|block| block[17]).collect();
        assert_eq!(blocks, [7, 7, 7, 7, 0, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7]);
    } else {
        let reason = b"skipped: no io_uring, or no holes in files here\n";
        std::io::stderr().write_all(reason).unwrap();
    }
    if crate::aio::probe().is_ok() {
        let mut aio = Aio::make(resources(1, true).1);
        let push = std::panic::AssertUnwindSafe(|| aio.push(&trim));
        assert!(std::panic::catch_unwind(push).is_err());
    }
}

/// So many rounds that the ring of completions begins again many times.
#[test]
fn native_asynchronous_io_gives_each_slot_back_once_and_no_more_at_once_than_asked() {
    if let Err(reason) = crate::aio::probe() {
        std::io::stderr().write_all(format!("skipped: {reason}\n").as_bytes()).unwrap();
        return;
    }
    let mut aio = Aio::make(resources(7, false).1);
    aio.take_at_most(3);
    for round in 0..500 {
        (0..7).for_each(|slot| aio.push(&transfer(slot, false, (round + u64::from(slot)) % 17)));
        let mut results = [None; 7];
        while aio.in_flight() > 0 {
            let mut done = Vec::new();
            aio.enter(1, None, &mut done).unwrap();
            assert!((1..=3).contains(&done.len()), "{done:?}");
            for Completion { slot, result } in done {
                assert_eq!(results[slot as usize].replace(result), None);
            }
        }
        for (slot, result) in (0..).zip(results) {
            // Behind the last block there is nothing to read.
            let whole = if (round + slot) % 17 == 16 { 0 } else { BLOCK.cast_signed() };
            assert_eq!(result, Some(whole));
        }
        let mut none = Vec::new();
        aio.enter(0, None, &mut none).unwrap();
        assert!(none.is_empty());
    }
}

macro_rules! stories {
    ($($backend:ident: $probe:path),*) => {$(
        #[test]
        #[expect(non_snake_case, reason = "named after the backend's type")]
        fn $backend() {
            if let Err(reason) = $probe() {
                eprintln!("skipped: {reason}");
                return;
            }
            writes_are_read_back::<$backend>();
            the_end_and_errors_are_results::<$backend>();
            a_backend_with_io_in_flight_can_be_dropped::<$backend>();
            touching_a_slot_in_flight_panics::<$backend>();
            a_piece_beyond_the_source_panics::<$backend>();
            syncs_complete_and_lend_no_buffer::<$backend>();
        }
    )*};
}

mod stories {
    use super::{Aio, Ring};
    use super::{
        a_backend_with_io_in_flight_can_be_dropped, a_piece_beyond_the_source_panics,
        syncs_complete_and_lend_no_buffer, the_end_and_errors_are_results,
        touching_a_slot_in_flight_panics, writes_are_read_back,
    };
    stories!(Ring: crate::ring::probe, Aio: crate::aio::probe);
}
