//! Memory-mapped I/O: `-Sm`, `-Smw` and the ways to flush, `-Nv -Nn -Ni`.

use std::process::Command;

use super::trace::{Trace, proc_file};
use crate::bench::{Bench, ios, records, sum};

/// The mappings of the target in a run with these options.
fn mappings(bench: &Bench, args: &str) -> Vec<String> {
    let run = bench.start(&format!("-W0 -d60 -b4K -r -t2 {args} t.dat"));
    let maps = proc_file(&run, "maps");
    run.interrupt();
    run.wait();
    maps.lines().filter(|line| line.ends_with("/t.dat")).map(str::to_owned).collect()
}

#[test]
fn the_target_is_mapped_shared_by_each_thread_and_only_if_asked() {
    let bench = Bench::new();
    for (args, access) in [("-Sm", "r--s"), ("-Sm -w30", "rw-s"), ("-Smw -w30", "rw-s")] {
        let maps = mappings(&bench, args);
        assert_eq!(maps.len(), 2, "{args}: {maps:?}");
        assert!(maps.iter().all(|map| map.contains(access)), "{args}: {maps:?}");
    }
    for args in ["", "-Su", "-w30"] {
        assert_eq!(mappings(&bench, args), Vec::<String>::new(), "{args}");
    }
}

#[test]
fn mapped_writes_are_flushed_as_asked() {
    let bench = Bench::new();
    for (args, flag) in [
        ("-Sm", None),
        ("-Smw", None),
        ("-Sm -Nv", Some(("msync", "MS_SYNC"))),
        ("-Sm -Nn", Some(("msync", "MS_SYNC"))),
        ("-Sm -Ni", Some(("sync_file_range", "SYNC_FILE_RANGE_WRITE"))),
    ] {
        let args = format!("-b4K -r -w50 -g200i {args} t.dat");
        let Some(trace) = Trace::of(&bench, "msync,sync_file_range,mmap", &args) else { return };
        let flushes = |name| trace.of_load(name).collect::<Vec<_>>();
        let both = flushes("msync").len() + flushes("sync_file_range").len();
        let writes = sum(&trace.result, "write", "ios");
        match flag {
            None => assert_eq!(both, 0, "{args}"),
            Some((name, flag)) => {
                let flushes = flushes(name);
                assert_eq!(flushes.len(), both, "{args}");
                assert!(flushes.iter().all(|call| call.text.contains(flag)), "{args}");
                assert!(flushes.iter().all(|call| call.text.contains(", 4096, ")), "{args}");
                assert!(writes > 2, "{args}: {writes} writes");
                // The last write may complete after the measured time.
                assert!(
                    (flushes.len() as u64).abs_diff(writes) <= 2,
                    "{args}: {} of {writes}",
                    flushes.len()
                );
            }
        }
    }
}

#[test]
fn mapped_writes_that_go_through_leave_out_the_caches_of_the_processor() {
    let bench = Bench::new();
    for (args, is_streaming) in [("-Sm", false), ("-Smw", true)] {
        let result = bench.measure_ios(500, &format!("-b4K -r -w50 {args} t.dat"));
        let backend = &result["time_spans"][0]["threads"][0]["backend"];
        let features = backend["features"].as_array().unwrap();
        let told = features.iter().any(|feature| feature == "non-temporal stores");
        assert_eq!(told, is_streaming && cfg!(target_arch = "x86_64"), "{args}: {backend}");
        let Some(trace) = Trace::of(&bench, "openat", &format!("-b4K -w50 {args} t.dat")) else {
            continue;
        };
        let opened = trace.opened("t.dat")[0];
        assert_eq!(opened.text.contains("O_DSYNC"), is_streaming, "{}", opened.text);
    }
}

/// Page faults of a run on a target outside the page cache, all of them and those that had to wait for the
/// device, and its result.
fn faults(bench: &Bench, args: &str) -> (u64, u64, serde_json::Value) {
    let file = format!("of={}", bench.path("t.dat").display());
    let drop = ["if=/dev/null", "oflag=nocache", "conv=notrunc,fdatasync", "count=0"];
    assert!(Command::new("dd").arg(file).args(drop).output().unwrap().status.success());
    let args = format!("--json=r.json -W0 -d60 -b4K -r -o1 -L {args} t.dat");
    let run = bench.start_for_a_second(&args);
    // Fields 10 and 12 are the faults of the process; its name holds no blank.
    let stat = proc_file(&run, "stat");
    run.interrupt();
    run.wait();
    let field = |number: usize| stat.split(' ').nth(number - 1).unwrap().parse::<u64>().unwrap();
    let (minor, major) = (field(10), field(12));
    let result = serde_json::from_slice(&crate::bench::bytes(&bench.path("r.json"))).unwrap();
    (minor + major, major, result)
}

#[test]
fn what_a_page_fault_costs_shows_in_the_latency() {
    let bench = Bench::new();
    bench.fill("t.dat", 64 << 20);
    let (all, major, mapped) = faults(&bench, "-Sm");
    let (all_without, major_without, _) = faults(&bench, "");
    // The kernel maps 16 pages with one fault, and reads as much ahead as it likes.
    assert!(all > all_without + 200, "{all} faults, {all_without} without a mapping");
    assert!(major > major_without, "{major} major faults, {major_without} without a mapping");
    let latency = &records(&mapped, "read").next().unwrap()["latency"];
    let (min, max) = (latency["min_ns"].as_u64().unwrap(), latency["max_ns"].as_u64().unwrap());
    // A page that is there is copied; one that is not comes from the device first.
    assert!(max > 20 * min.max(1), "from {min} to {max} ns");
}

#[test]
fn a_mapping_takes_no_call_for_an_io() {
    let bench = Bench::new();
    let calls = "pread64,pwrite64,io_uring_enter,io_submit,mmap";
    let Some(trace) = Trace::of(&bench, calls, "-b4K -r -w50 -g500i -Sm t.dat") else { return };
    assert!(ios(&trace.result) > 100);
    let per_io = ["pread64", "pwrite64", "io_uring_enter", "io_submit"];
    let made: usize = per_io.iter().map(|name| trace.of_load(name).count()).sum();
    assert_eq!(made, 0);
}
