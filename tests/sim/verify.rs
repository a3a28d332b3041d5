//! Verification on a simulated device with a memory: whatever is done to what it holds is found, and
//! whatever order it serves I/Os in is right.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use fathom_core::engine::backend::SimDevice;
use fathom_core::engine::random::Random;
use fathom_core::engine::simulate::simulate_verified;
use fathom_core::plan::{Order, SpanPlan, VerifyTarget};
use fathom_core::request::OnError;
use fathom_core::storage::Location;
use fathom_core::verify::check::FaultKind;
use fathom_core::verify::stamp::{SECTOR_BYTES, Stamp};
use fathom_core::verify::tally::Tally;
use fathom_core::verify::{Tables, TargetTable};

use crate::plans::{BLOCK, Tell, span};

const MIB: u64 = 1 << 20;
const BLOCKS: u64 = 2048;
const SIZE: u64 = BLOCKS * BLOCK;

type Memory = Rc<RefCell<Vec<u8>>>;

fn tables(block_bytes: u64, size_bytes: u64) -> Tables {
    let target = VerifyTarget {
        location: Location::here("virtual"),
        name: "virtual".to_owned(),
        block_bytes: u32::try_from(block_bytes).unwrap(),
        start_bytes: 0,
        end_bytes: size_bytes,
    };
    Tables::in_memory(&[target], 0xFA7).unwrap()
}

fn device(memory: &Memory) -> SimDevice {
    SimDevice { jitter_ns: 300_000, memory: Some(Rc::clone(memory)), ..SimDevice::default() }
}

fn memory(bytes: u64) -> Memory {
    Rc::new(RefCell::new(vec![0; usize::try_from(bytes).unwrap()]))
}

/// Runs, and gives what all reads of the tables so far have found.
fn run(plan: &SpanPlan, device: &SimDevice, tables: &Tables) -> Tally {
    simulate_verified(plan, device, Some(tables)).unwrap();
    tally(tables)
}

fn tally(tables: &Tables) -> Tally {
    tables.tallies().next().unwrap().1
}

fn table(tables: &Tables) -> TargetTable<'_> {
    tables.of(Path::new("virtual")).unwrap()
}

/// A memory that a random load of writes has gone over several times.
fn written() -> (Memory, Tables) {
    let (memory, tables) = (memory(SIZE), tables(BLOCK, SIZE));
    let plan = span(SIZE).random().writes(100).outstanding(16).milliseconds(500);
    let pass = span(SIZE).writes(100).outstanding(16).milliseconds(100);
    for plan in [&pass, &plan, &pass] {
        run(plan, &device(&memory), &tables);
    }
    assert!((0..BLOCKS).all(|block| table(&tables).window(block * BLOCK).newest() >= 2));
    (memory, tables)
}

/// One pass over the target without jitter, which reads each block exactly once.
fn read_pass(memory: &Memory, tables: &Tables) -> Tally {
    let mut plan = span(SIZE);
    plan.measured_ns = BLOCKS * 100_000;
    run(&plan, &SimDevice { jitter_ns: 0, ..device(memory) }, tables)
}

fn bytes_of(block: u64) -> std::ops::Range<usize> {
    let start = usize::try_from(block * BLOCK).unwrap();
    start..start + usize::try_from(BLOCK).unwrap()
}

/// The block with the stamps of the write before the one that stands there.
fn older(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for sector in bytes.chunks_exact_mut(SECTOR_BYTES) {
        let stamp = Stamp::read(sector).unwrap();
        Stamp { generation: stamp.generation - 1, ..stamp }.write(sector);
    }
    bytes
}

/// Does one fault of this kind to a block; `clean` is the memory before all faults.
fn corrupt(memory: &mut [u8], clean: &[u8], (block, kind): (u64, FaultKind), random: &mut Random) {
    let place = bytes_of(block);
    match kind {
        FaultKind::Corrupt => {
            let bit = usize::try_from(random.below(BLOCK * 8)).unwrap();
            memory[place.start + bit / 8] ^= 1 << (bit % 8);
        }
        FaultKind::Misdirected => {
            let other = (block + 1 + random.below(BLOCKS - 1)) % BLOCKS;
            memory[place].copy_from_slice(&clean[bytes_of(other)]);
        }
        FaultKind::Stale => {
            let old = older(&memory[place.clone()]);
            memory[place].copy_from_slice(&old);
        }
        FaultKind::Torn => {
            let old = older(&memory[place.clone()]);
            let cut = usize::try_from(1 + random.below(7)).unwrap() * SECTOR_BYTES;
            memory[place.start + cut..place.end].copy_from_slice(&old[cut..]);
        }
        FaultKind::Newer => unreachable!("nothing writes so"),
    }
}

#[test]
fn a_thousand_seeded_corruptions_of_four_kinds_are_all_found_and_nothing_else() {
    const KINDS: [FaultKind; 4] =
        [FaultKind::Corrupt, FaultKind::Misdirected, FaultKind::Stale, FaultKind::Torn];
    let (memory, tables) = written();
    let clean = read_pass(&memory, &tables);
    assert_eq!((clean.verified, clean.all_faulty(), clean.unverifiable), (BLOCKS, 0, 0));
    let pristine = memory.borrow().clone();
    let mut random = Random::new(20_261_121);
    let mut blocks: Vec<u64> = (0..BLOCKS).collect();
    for index in (1..blocks.len()).rev() {
        blocks.swap(index, usize::try_from(random.below(index as u64 + 1)).unwrap());
    }
    // Writes that were in flight together leave a block that may hold either of them.
    blocks.retain(|&block| {
        let window = table(&tables).window(block * BLOCK);
        window.oldest() == window.newest()
    });
    let mut expected: Vec<(u64, FaultKind)> = Vec::new();
    for (index, &block) in blocks[..1000].iter().enumerate() {
        let kind = KINDS[index % KINDS.len()];
        corrupt(&mut memory.borrow_mut(), &pristine, (block, kind), &mut random);
        expected.push((block, kind));
    }
    let found = read_pass(&memory, &tables);
    assert_eq!(found.verified, 2 * BLOCKS - 1000);
    assert_eq!(KINDS.map(|kind| found.faulty(kind)), [250; 4]);
    for fault in &found.listed {
        let block = fault.offset_bytes / BLOCK;
        assert!(expected.contains(&(block, fault.fault.kind)), "{fault:?}");
    }
}

#[test]
fn a_clean_mixed_load_has_no_fault_in_whatever_order_the_device_serves_it() {
    for order in [Order::Random, Order::Sequential, Order::Mixed { random_percent: 30 }] {
        for blocks in [1, 7, 256] {
            let size_bytes = blocks * BLOCK;
            let (memory, tables) = (memory(size_bytes), tables(BLOCK, size_bytes));
            let plan = span(size_bytes).order(order).writes(40).outstanding(24).milliseconds(300);
            let found = run(&plan, &device(&memory), &tables);
            let checked = found.verified + found.unverifiable;
            assert_eq!(found.all_faulty(), 0, "{order:?} over {blocks}: {:?}", found.listed);
            assert!(checked > 10_000 && found.verified * 10 > checked * 9, "{found:?}");
        }
    }
}

#[test]
fn ios_that_overlap_in_parts_are_verified_block_by_block() {
    // I/Os of 4 KiB at multiples of 1 KiB: blocks of 1 KiB, of which neighbours share three.
    let (memory, tables) = (memory(MIB), tables(1024, MIB));
    let plan = span(MIB).random().align(1024).writes(50).outstanding(8).milliseconds(800);
    let found = run(&plan, &device(&memory), &tables);
    assert_eq!(found.all_faulty(), 0, "{:?}", found.listed);
    assert!(found.verified > 20_000, "{found:?}");
    let mut bytes = memory.borrow_mut();
    let window = |at: u64| table(&tables).window(at);
    let lone = (8..MIB / 1024).map(|block| block * 1024);
    let at = lone.clone().find(|&at| window(at).oldest() == window(at).newest()).unwrap();
    bytes[usize::try_from(at).unwrap() + 700] ^= 0x10;
    drop(bytes);
    let plan = span(MIB).align(1024).outstanding(1).milliseconds(400);
    let found = run(&plan, &device(&memory), &tables);
    assert!(found.faulty(FaultKind::Corrupt) >= 4, "each I/O over the block sees it: {found:?}");
    assert!(found.listed.iter().all(|fault| fault.offset_bytes == at), "{found:?}");
}

#[test]
fn a_device_that_transfers_nothing_on_a_read_is_found_though_the_buffer_held_the_right_data() {
    let (memory, tables) = (memory(BLOCK), tables(BLOCK, BLOCK));
    let write = span(BLOCK).writes(100).seconds(1);
    run(&write, &device(&memory), &tables);
    // One slot, which the write has filled; the device then has no memory to read from.
    let mut both = span(BLOCK).writes(50).seconds(1);
    both.targets[0].offsets.order = Order::Random;
    let found = run(&both, &SimDevice::default(), &tables);
    assert_eq!(found.verified, 0);
    assert!(found.faulty(FaultKind::Corrupt) > 1_000, "{found:?}");
}

#[test]
fn a_write_that_failed_or_was_cut_short_may_have_arrived_or_not() {
    let (memory, tables) = (memory(16 * BLOCK), tables(BLOCK, 16 * BLOCK));
    let plan = span(16 * BLOCK).random().writes(50).outstanding(4).seconds(1);
    let short = SimDevice { short_ppm: 50_000, ..device(&memory) };
    let found = run(&plan, &short, &tables);
    assert_eq!(found.all_faulty(), 0, "{:?}", found.listed);
    let failing = SimDevice { error_ppm: 1_000, ..device(&memory) };
    let found = run(&plan, &failing, &tables);
    let found_after = run(&plan, &device(&memory), &tables);
    assert_eq!(found.all_faulty() + found_after.all_faulty(), 0, "{:?}", found_after.listed);
}

/// On a volume that was full, a load that went on in spite of its errors ended by a panic after 4,095 of them
/// on one block, with "no fault was found" in a result without figures.
#[test]
fn writes_of_one_block_that_failed_again_and_again_ended_the_run_by_a_panic() {
    const FAILED: u64 = 4_095;
    let (memory, tables) = (memory(BLOCK), tables(BLOCK, BLOCK));
    let plan = span(BLOCK).writes(100).seconds(2).on_error(OnError::Continue);
    let full = SimDevice { error_ppm: 1_000_000, ..device(&memory) };
    run(&plan, &full, &tables);
    let window = table(&tables).window(0);
    assert!(window.newest() > FAILED, "{} writes were issued", window.newest());
    // What was there before, and any of the writes, may be found from then on; nothing else may.
    let reads = span(BLOCK).seconds(1);
    assert_eq!(run(&reads, &device(&memory), &tables).all_faulty(), 0);
    let mixed = span(BLOCK).writes(50).outstanding(4).seconds(1);
    let found = run(&mixed, &device(&memory), &tables);
    assert_eq!(found.all_faulty(), 0, "{:?}", found.listed);
    assert!(found.verified > 0);
}
