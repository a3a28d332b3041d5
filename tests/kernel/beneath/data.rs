//! Data that devices need not read, so little that a cache may hold it, and files that lose blocks meanwhile.

use std::io::{Seek, SeekFrom, Write};
use std::process::Command;

use super::{evidence, fill, is_told, measure, warnings};
use crate::bench::{Bench, skip};

const MIB: usize = 1 << 20;
const READS: &str = "-b4K -r -o4 -Su";

#[test]
fn data_that_devices_may_shrink_are_told_and_random_ones_are_not() {
    let bench = Bench::new();
    let file = bench.path("d.dat");
    let bytes = 80 * MIB;
    std::fs::write(&file, vec![7; bytes]).unwrap();
    let told = measure(&bench, READS, &file);
    assert!(evidence(&told, "constant_data").contains("64 of 64 places"), "{told}");
    fill(&file, bytes);
    let is_silent = |result: &serde_json::Value| {
        !["constant_data", "compressible_data", "all_zero_data", "unwritten_extents"]
            .iter()
            .any(|kind| is_told(result, kind))
    };
    let clean = measure(&bench, READS, &file);
    assert!(is_silent(&clean), "{:?}", warnings(&clean));
    // A quarter of it is zeros.
    let mut open = std::fs::OpenOptions::new().write(true).open(&file).unwrap();
    open.seek(SeekFrom::Start((bytes / 2) as u64)).unwrap();
    open.write_all(&vec![0; bytes / 4]).unwrap();
    open.sync_all().unwrap();
    let told = measure(&bench, READS, &file);
    assert!(evidence(&told, "all_zero_data").contains("16 of 64 places"), "{told}");
}

#[test]
fn writes_that_have_to_find_blocks_are_told_and_writes_over_data_are_not() {
    const WRITES: &str = "-b4K -r -o4 -Su -w100 -Zr --overwrite";
    let bench = Bench::new();
    let file = bench.path("sparse.dat");
    let bytes = 80 * MIB;
    std::fs::File::create(&file).unwrap().set_len(bytes as u64).unwrap();
    let told = measure(&bench, WRITES, &file);
    if super::answered_by(&told) != "device" {
        return skip("files of this checkout do not lie on a disk");
    }
    assert!(evidence(&told, "allocating_writes").contains("100.0 % of the 80 MiB"), "{told}");
    fill(&file, bytes);
    let clean = measure(&bench, WRITES, &file);
    assert!(!is_told(&clean, "allocating_writes"), "{:?}", warnings(&clean));
}

#[test]
fn so_little_that_a_cache_may_hold_it_is_told_where_it_is_read_over_and_over() {
    let bench = Bench::new();
    let file = bench.path("small.dat");
    fill(&file, 16 * MIB);
    // 16 times over within the second, on the slowest disk: a part of it.
    let told = measure(&bench, "-b64K -r -o8 -Su -f1M", &file);
    if super::answered_by(&told) != "device" {
        return skip("files of this checkout do not lie on a disk");
    }
    assert!(evidence(&told, "small_working_set").contains("1 MiB that were used"), "{told}");
    let clean = measure(&bench, "-b4K -r -o1 -g100i -Su", &file);
    assert!(!is_told(&clean, "small_working_set"), "{:?}", warnings(&clean));
}

#[test]
fn a_file_that_loses_blocks_while_it_runs_is_told() {
    let bench = Bench::new();
    let file = bench.path("t.dat");
    fill(&file, 64 * MIB);
    let run = bench.start(&format!("-W0 -d3 {READS} -Rjson t.dat"));
    let punched = Command::new("fallocate")
        .args(["--punch-hole", "--offset", "0", "--length", "32M"])
        .arg(&file)
        .status();
    let ended = run.wait();
    if !punched.is_ok_and(|status| status.success()) {
        return skip("no file can be punched here");
    }
    let result: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let told = evidence(&result, "extents_changed");
    // What the file system keeps for itself comes on top, now and then.
    let told = told.replace(".0 MiB", " MiB");
    assert!(told.contains("lost 50.0 % of its blocks (64 MiB before, 32 MiB after)"), "{told}");
    assert!(!is_told(&measure(&bench, READS, &file), "extents_changed"));
}
