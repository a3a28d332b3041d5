//! I/O priority, `-I`, as the kernel keeps it for each thread.

use std::process::Command;

use super::trace::load_threads;
use crate::bench::{Bench, skip};

/// The I/O priority of each thread of load, in the words of `ionice`.
fn priorities(bench: &Bench, args: &str) -> Option<Vec<String>> {
    let run = bench.start(&format!("-W0 -d60 -b4K -r -t2 {args} t.dat"));
    let ask = |tid: &u32| {
        let output = Command::new("ionice").args(["-p", &tid.to_string()]).output().ok()?;
        Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    };
    let found: Option<Vec<String>> = load_threads(&run).iter().map(ask).collect();
    run.interrupt();
    run.wait();
    if found.is_none() {
        skip("there is no ionice here");
    }
    found
}

#[test]
fn each_thread_has_the_priority_that_was_asked_for() {
    let bench = Bench::new();
    for engine in ["", "-o1", "-x -Su"] {
        let Some(normal) = priorities(&bench, engine) else { return };
        for (args, expected) in [("-I1", "idle"), ("-I2", "best-effort: prio 7")] {
            assert_ne!(normal[0], expected);
            let found = priorities(&bench, &format!("{engine} {args}")).unwrap();
            assert_eq!(found, [expected, expected], "{engine} {args}");
        }
        assert_eq!(priorities(&bench, &format!("{engine} -I3")).unwrap(), normal);
    }
}
