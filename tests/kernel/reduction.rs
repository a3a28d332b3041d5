//! How far what stands in files compresses and repeats, measured with a compressor and by comparing.

use std::collections::HashSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::bench::{Bench, bytes, skip, sum};
use crate::prepare::support::run;

const KIB: usize = 1 << 10;

/// Share in percent that LZ4 saves when each piece of this size is compressed alone.
fn saved_by_lz4(data: &[u8], piece_bytes: usize) -> f64 {
    let compressed: usize =
        data.chunks(piece_bytes).map(|piece| lz4_flex::block::compress(piece).len()).sum();
    100.0 - compressed as f64 * 100.0 / data.len() as f64
}

/// The same with zstd for all data at once, whose window finds repeats far apart; none without the tool.
fn saved_by_zstd(data: &[u8]) -> Option<f64> {
    let mut zstd = Command::new("zstd");
    zstd.args(["-q", "-3", "-c"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = zstd.spawn().ok()?;
    let mut input = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(data).unwrap());
        child.wait_with_output().unwrap()
    });
    Some(100.0 - output.stdout.len() as f64 * 100.0 / data.len() as f64)
}

/// Share in percent of blocks that stand earlier in the data already.
fn repeated(data: &[u8], block_bytes: usize) -> f64 {
    let distinct: HashSet<&[u8]> = data.chunks(block_bytes).collect();
    100.0 - distinct.len() as f64 * 100.0 / (data.len() / block_bytes) as f64
}

/// The blocks of a file of 16 MiB that a run has written.
fn written(args: &str) -> Vec<u8> {
    let bench = Bench::new();
    std::fs::write(bench.path("w.dat"), vec![0xA5; 16 << 20]).unwrap();
    let result =
        bench.measure(&format!("-d60 --stop-bytes=24M -w100 -o8 --overwrite {args} w.dat"));
    assert!(sum(&result, "write", "bytes") >= 16 << 20, "{args}: too little was written");
    let data = bytes(&bench.path("w.dat"));
    let blocks = data.chunks(4 * KIB).filter(|block| block.iter().any(|byte| *byte != 0xA5));
    let data = blocks.collect::<Vec<_>>().concat();
    assert!(data.len() >= 8 << 20, "{args}: too little was written");
    data
}

#[test]
fn written_data_compress_as_far_as_was_asked_at_each_size() {
    for (percent, blocks) in
        [(0, &["4K"][..]), (25, &["64K"]), (50, &["4K", "64K"]), (90, &["64K"])]
    {
        for block in blocks {
            let data = written(&format!("-s -b{block} --compress={percent}"));
            for piece in [4 * KIB, 64 * KIB] {
                let saved = saved_by_lz4(&data, piece);
                // LZ4 spends a few bytes on each run of literals and each match.
                let least = f64::from(percent) - 3.0;
                let place = format!("{percent}% of {block} in pieces of {piece}: {saved}");
                assert!(saved >= least && saved <= f64::from(percent) + 0.5, "{place}");
            }
            let Some(saved) = saved_by_zstd(&data) else {
                skip("there is no zstd to look for repeats with");
                continue;
            };
            assert!((saved - f64::from(percent)).abs() < 3.0, "{percent}% of {block}: {saved}");
            assert!(repeated(&data, 512) < 0.01, "{percent}% of {block} repeats");
        }
    }
}

#[test]
fn all_of_the_data_can_compress_and_still_no_block_be_zero_or_repeat() {
    let data = written("-r -b4K --compress=100");
    assert!(saved_by_lz4(&data, 4 * KIB) > 98.0);
    assert!(repeated(&data, 4 * KIB) < 0.01);
    assert!(!data.chunks(4 * KIB).any(|block| block.iter().all(|byte| *byte == 0)));
}

#[test]
fn written_data_repeat_as_often_as_was_asked() {
    for (percent, options) in [
        (20, "-s -b4K"),
        (50, "-s -b4K -t2 -T8M"),
        (80, "-s -b64K"),
        (50, "-s -b16K --engine=sync"),
        (35, "-s -b8K --compress=50 --engine=aio"),
    ] {
        let data = written(&format!("{options} --dedupe={percent}"));
        let found = repeated(&data, 4 * KIB);
        assert!((found - f64::from(percent)).abs() < 1.0, "{options} {percent}%: {found}");
    }
    // Which blocks outlast random writes is chance, so that their share varies as chance does.
    let found = repeated(&written("-r -b4K --dedupe=50"), 4 * KIB);
    assert!((found - 50.0).abs() < 4.0, "{found}");
}

#[test]
fn two_runs_with_the_same_seed_write_different_data() {
    let mut data = written("-z7 -s -b4K --compress=50");
    data.extend(written("-z7 -s -b4K --compress=50"));
    assert!(repeated(&data, 4 * KIB) < 0.01);
}

#[test]
fn files_are_created_with_the_same_data_and_made_again_when_they_differ() {
    let bench = Bench::new();
    let made = |args: &str| {
        bench.measure_ios(64, &format!("-c16M -r -b4K {args} c.dat"));
        bytes(&bench.path("c.dat"))
    };
    let plain = made("");
    assert!(saved_by_lz4(&plain, 64 * KIB) < 0.1 && repeated(&plain, 512) < 0.01);
    for (compress, dedupe) in [(50, 0), (80, 30), (0, 60), (100, 0)] {
        let options = format!("--compress={compress} --dedupe={dedupe}");
        let data = made(&options);
        for piece in [4 * KIB, 64 * KIB] {
            let saved = saved_by_lz4(&data, piece);
            assert!((saved - f64::from(compress)).abs() < 3.0, "{options} {piece}: {saved}");
        }
        let found = repeated(&data, 4 * KIB);
        assert!((found - f64::from(dedupe)).abs() < 1.0, "{options}: {found}");
        // The same again is kept as it is.
        assert!(made(&options) == data, "{options} was made again");
    }
    assert!(saved_by_lz4(&made(""), 4 * KIB) < 0.1);
}

#[test]
fn repeats_are_found_by_the_tool_of_the_system_too() {
    // What a second program says, where there is one.
    if !run("lz4", &["--version"]) {
        skip("there is no lz4");
        return;
    }
    let bench = Bench::new();
    std::fs::write(bench.path("l.bin"), written("-s -b64K --compress=50")).unwrap();
    let (from, to) = (bench.path("l.bin"), bench.path("l.lz4"));
    assert!(run("lz4", &["-q", "-f", from.to_str().unwrap(), to.to_str().unwrap()]));
    let ratio = std::fs::metadata(to).unwrap().len() as f64 / f64::from(16 << 20);
    assert!((0.48..0.54).contains(&ratio), "{ratio}");
}
