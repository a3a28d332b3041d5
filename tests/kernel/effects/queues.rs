//! How I/Os reach the kernel and how many are outstanding: `-o`, `-x`, `--engine=`.

use super::trace::Trace;
use crate::bench::{Bench, ios};

const CALLS: &str = "io_uring_enter,io_submit,io_getevents,pread64,pwrite64,openat";

#[test]
fn each_way_uses_its_own_calls() {
    let bench = Bench::new();
    let ways = ["io_uring_enter", "io_submit", "pread64"];
    for (args, way) in [
        ("-o4", "io_uring_enter"),
        ("-o4 -x -Su", "io_submit"),
        ("-o4 --engine=aio -Su", "io_submit"),
        ("-o1", "pread64"),
        ("-o4 --engine=sync", "pread64"),
    ] {
        let args = format!("-b4K -r {args} t.dat");
        let Some(trace) = Trace::of(&bench, CALLS, &args) else { return };
        let used: Vec<&str> =
            ways.into_iter().filter(|name| trace.of_load(name).next().is_some()).collect();
        assert_eq!(used, [way], "{args}");
    }
}

/// The greatest number of I/Os that libaio was given at once, and the number of I/Os of 4 KiB in all.
fn submitted(trace: &Trace) -> (usize, usize) {
    let blocks =
        trace.of_load("io_submit").map(|call| call.text.matches("aio_nbytes=4096").count());
    let blocks: Vec<usize> = blocks.collect();
    (blocks.iter().copied().max().unwrap_or(0), blocks.iter().sum())
}

#[test]
fn as_many_ios_are_outstanding_as_asked() {
    let bench = Bench::new();
    for outstanding in [2, 7, 20] {
        let args = format!("-b4K -r -x -Su -o{outstanding} t.dat");
        let Some(trace) = Trace::of(&bench, CALLS, &args) else { return };
        let (at_once, all) = submitted(&trace);
        // At the start of a run all of them are given to the kernel in one call.
        assert_eq!(at_once, outstanding, "{args}");
        assert!(all as u64 >= ios(&trace.result));
    }
}
