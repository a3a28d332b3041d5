//! What really stands in the file after a run that writes.

use crate::bench::{Bench, bytes};

const BLOCK: usize = 4096;
const FILE: usize = 1 << 20;

/// The blocks of a file of 1 MiB that a sequential run has passed over many times.
fn written(args: &str) -> Vec<Vec<u8>> {
    let bench = Bench::new();
    // One byte all over, which no form of data gives, so that each block shows whether it was written.
    std::fs::write(bench.path("w.dat"), vec![0xA5; FILE]).unwrap();
    bench.fill("source.bin", 10_000);
    let before = bytes(&bench.path("w.dat"));
    bench.measure_ios(2_048, &format!("-w100 -b4K -o4 --overwrite {args} w.dat"));
    let after = bytes(&bench.path("w.dat"));
    assert_eq!(before.len(), after.len());
    let blocks = before.chunks(BLOCK).zip(after.chunks(BLOCK));
    assert!(blocks.clone().all(|(before, after)| before != after), "a block was not written");
    after.chunks(BLOCK).map(<[u8]>::to_vec).collect()
}

#[test]
fn by_default_the_bytes_count_up() {
    let pattern: Vec<u8> = (0..=255).cycle().take(BLOCK).collect();
    assert!(written("").iter().all(|block| *block == pattern));
}

#[test]
fn capital_z_writes_zeros() {
    assert!(written("-Z").iter().all(|block| block.iter().all(|byte| *byte == 0)));
}

#[test]
fn capital_z_r_writes_new_random_data_each_time() {
    let blocks = written("-Zr");
    for (index, block) in blocks.iter().enumerate() {
        assert!(distinct(block) > 200, "block {index} is not random");
        assert!(!blocks[..index].contains(block), "block {index} stands twice");
    }
}

#[test]
fn a_random_buffer_gives_pieces_at_different_places() {
    let blocks = written("-Z64K");
    assert!(blocks.iter().all(|block| distinct(block) > 200));
    // 64 KiB hold 121 places at 512 bytes; with 256 blocks many places and some twice are sure.
    let mut places = blocks.clone();
    places.sort_unstable();
    places.dedup();
    assert!((20..=121).contains(&places.len()), "{}", places.len());
}

#[test]
fn a_file_feeds_the_buffer_and_is_repeated() {
    let bench = Bench::new();
    bench.fill("source.bin", 10_000);
    let source = bytes(&bench.path("source.bin"));
    let buffer: Vec<u8> = source.iter().copied().cycle().take(65_536).collect();
    for block in written("-Z64K,source.bin") {
        let found = (0..=65_536 - BLOCK).step_by(512).any(|at| buffer[at..at + BLOCK] == block[..]);
        assert!(found, "a block is no piece of the source");
    }
}

fn distinct(block: &[u8]) -> usize {
    (0..=255_u8).filter(|byte| block.contains(byte)).count()
}

#[test]
fn nothing_outside_the_range_is_changed() {
    let bench = Bench::new();
    for args in ["-r", "-s", "-si -t2", "-rs50", "-p -o4", "-r1 -b1000"] {
        let before = bytes(&bench.path("t.dat"));
        bench.measure_ios(1_000, &format!("-b4K -B1M:2M -w100 -Zr {args} t.dat"));
        let after = bytes(&bench.path("t.dat"));
        let (from, to) = (1 << 20, 3 << 20);
        assert!(before[..from] == after[..from], "{args}: something before the base changed");
        assert!(before[to..] == after[to..], "{args}: something behind the end changed");
        assert!(before[from..to] != after[from..to], "{args}: nothing was written");
    }
}

#[test]
fn reading_changes_nothing() {
    let bench = Bench::new();
    let before = bytes(&bench.path("t.dat"));
    for args in ["-r", "-Su -b4K", "-Sm", "-o1", "-x -Su"] {
        bench.measure_ios(1_000, &format!("{args} t.dat"));
    }
    assert!(before == bytes(&bench.path("t.dat")));
}
