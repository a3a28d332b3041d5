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

/// A call to libaio hands over so many I/Os where the target queues them.
const LIST: usize = 4;

/// How many I/Os of 4 KiB libaio was given, call by call.
fn submitted(trace: &Trace) -> Vec<usize> {
    let calls = trace.of_load("io_submit");
    calls.map(|call| call.text.matches("aio_nbytes=4096").count()).collect()
}

#[test]
fn as_many_ios_are_outstanding_as_asked() {
    let bench = Bench::new();
    for outstanding in [2_usize, 7, 20] {
        let args = format!("-b4K -r -x -Su -o{outstanding} t.dat");
        let Some(trace) = Trace::of(&bench, CALLS, &args) else { return };
        let calls = submitted(&trace);
        // At the start of a run all of them are given to the kernel, in as few lists as there can be.
        let lists = outstanding.div_ceil(LIST);
        let sums: Vec<usize> = (1..=lists).map(|count| calls.iter().take(count).sum()).collect();
        assert_eq!(calls[0], outstanding.min(LIST), "{args}");
        assert!(sums.contains(&outstanding), "{args}: {sums:?}");
        assert!(calls.iter().all(|ios| *ios <= outstanding), "{args}");
        assert!(calls.iter().sum::<usize>() as u64 >= ios(&trace.result));
    }
}
