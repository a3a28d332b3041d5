//! Which CPUs threads may use: `-a`, `-n`, and the default.

use super::trace::{field, load_threads};
use crate::bench::{Bench, skip};

/// The CPUs that each thread of load may use, as the kernel lists them, and those of this test.
fn allowed(bench: &Bench, args: &str) -> (Vec<String>, String) {
    let run = bench.start(&format!("-W0 -d60 -b4K -r {args} t.dat"));
    let list = |status: &str| field(status, "Cpus_allowed_list").unwrap().to_owned();
    let status = |tid: &u32| std::fs::read_to_string(format!("/proc/{tid}/status")).unwrap();
    let found = load_threads(&run).iter().map(|tid| list(&status(tid))).collect();
    run.interrupt();
    run.wait();
    (found, list(&std::fs::read_to_string("/proc/self/status").unwrap()))
}

#[test]
fn threads_run_where_they_are_put() {
    let bench = Bench::new();
    let all = allowed(&bench, "-n").1;
    if all != "0-1" && !all.starts_with("0-") {
        return skip("CPUs 0 and 1 are not both allowed here");
    }
    for (args, expected) in [
        ("-t2 -a1", &["1", "1"][..]),
        ("-t3 -a1,0", &["1", "0", "1"]),
        ("-t2 -ag0,0", &["0", "0"]),
        ("-t2", &["0", "1"]),
        ("-t2 -n", &[&all, &all]),
    ] {
        assert_eq!(allowed(&bench, args).0, expected, "{args}");
    }
}
