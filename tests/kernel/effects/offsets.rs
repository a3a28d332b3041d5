//! Where I/Os go, as the kernel sees them: `-z`, `-p`, `-T`, `-s`, `-si`, `-B`, `-f`, `-r`.

use std::collections::{BTreeMap, BTreeSet};

use super::trace::{Call, Trace};
use crate::bench::Bench;

const MIB: u64 = 1 << 20;
const BLOCK: u64 = 4096;

/// The last argument of a call such as `pread64(3, ""..., 4096, 8192) = 4096`.
fn offset(call: &Call) -> u64 {
    let arguments = call.text.rsplit_once(") =").unwrap().0;
    arguments.rsplit_once(", ").unwrap().1.parse().unwrap()
}

/// The offsets of each thread in the order of its I/Os. Only whole reads of a block are load.
fn offsets(bench: &Bench, args: &str) -> Option<Vec<Vec<u64>>> {
    let trace = Trace::of(bench, "pread64,openat", &format!("-b4K -o1 {args} t.dat"))?;
    let mut threads: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for call in trace.of_load("pread64").filter(|call| call.text.ends_with(" = 4096")) {
        threads.entry(call.tid).or_default().push(offset(call));
    }
    assert!(threads.values().all(|offsets| offsets.len() > 50), "{args}: too few I/Os");
    Some(threads.into_values().collect())
}

#[test]
fn the_seed_decides_where_random_ios_go() {
    let bench = Bench::new();
    let run = |args: &str| {
        let threads = offsets(&bench, &format!("-r -g400i {args}"))?;
        Some(threads[0][..50].to_vec())
    };
    let Some(zero) = run("-z0") else { return };
    assert_eq!(run("").unwrap(), zero, "0 is the default");
    let seven = run("-z7").unwrap();
    assert_eq!(run("-z7").unwrap(), seven);
    assert_ne!(seven, zero);
    // Without a number the seed is a new one for each run.
    assert_ne!(run("-z").unwrap(), run("-z").unwrap());
    assert!(zero.iter().collect::<BTreeSet<_>>().len() > 40, "{zero:?}");
}

#[test]
fn threads_start_apart_as_asked() {
    let bench = Bench::new();
    let Some(threads) = offsets(&bench, "-s -t3 -T1M -g200i") else { return };
    let first: BTreeSet<u64> = threads.iter().map(|offsets| offsets[0]).collect();
    assert_eq!(first, BTreeSet::from([0, MIB, 2 * MIB]));
    for offsets in &threads {
        assert!(offsets.windows(2).all(|two| two[1] == two[0] + BLOCK));
    }
    let same = offsets(&bench, "-s -t2 -g200i").unwrap();
    assert!(same.iter().all(|offsets| offsets[0] == 0));
}

#[test]
fn ios_stay_in_their_range_and_keep_their_stride() {
    let bench = Bench::new();
    let Some(random) = offsets(&bench, "-r8K -B1M -f3M -g400i") else { return };
    for &offset in &random[0] {
        assert!((MIB..=3 * MIB - BLOCK).contains(&offset) && offset % 8192 == 0, "{offset}");
    }
    let strided = offsets(&bench, "-s64K -B1M -g200i").unwrap();
    // The target ends after 112 strides, and the walk begins again.
    let expected = (0..).map(|step: u64| MIB + step % 112 * (64 << 10));
    assert!(strided[0].iter().copied().zip(expected).all(|(is, should)| is == should));
}

#[test]
fn interlocked_threads_share_one_walk() {
    let bench = Bench::new();
    let Some(threads) = offsets(&bench, "-si -t2 -g200i") else { return };
    let mut all: Vec<u64> = threads.concat();
    all.sort_unstable();
    let expected: Vec<u64> = (0..all.len() as u64).map(|step| step * BLOCK).collect();
    assert_eq!(all, expected, "each block once");
}

#[test]
fn parallel_ios_go_to_one_offset() {
    let bench = Bench::new();
    let run = |args: &str| {
        let args = format!("-b4K -s -o4 -x -Su {args} t.dat");
        let trace = Trace::of(&bench, "io_submit,openat", &args)?;
        let first = trace.of_load("io_submit").next().unwrap().text.clone();
        let parts: Vec<String> = first.split("aio_offset=").skip(1).map(str::to_owned).collect();
        let digits =
            |part: &String| part.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse();
        Some(parts.iter().map(|part| digits(part).unwrap()).collect::<Vec<u64>>())
    };
    let Some(parallel) = run("-p") else { return };
    assert_eq!(parallel, [0; 4]);
    assert_eq!(run("").unwrap(), [0, BLOCK, 2 * BLOCK, 3 * BLOCK]);
}
