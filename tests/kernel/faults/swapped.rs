//! A path that leads elsewhere between the check and the opening: nothing is written to what was not checked.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Output, Stdio};

use crate::bench::{Bench, bytes};
use crate::events::{signal_when_used, until_used};

const OTHER_BYTES: u32 = 8 << 20;

/// Starts a run that has checked its target and waits for its event before it opens it.
fn waiting(bench: &Bench, event: &str, args: &str) -> Child {
    let args = format!("-W0 -d1 -b4K -w100 -r -yr{event} {args}");
    let mut command = bench.command(&args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until_used(event);
    child
}

fn end(bench: &Bench, event: &str, child: Child) -> Output {
    signal_when_used(bench, event);
    child.wait_with_output().unwrap()
}

fn event(name: &str) -> String {
    format!("swapped-{name}-{}", std::process::id())
}

/// Puts something else in the place of the target, in one step.
type Swap = fn(&Path, &Path);

const SWAPS: [(&str, Swap); 3] = [
    ("renamed", |other, target| std::fs::rename(other, target).unwrap()),
    ("linked", |other, target| {
        std::fs::remove_file(target).unwrap();
        symlink(other, target).unwrap();
    }),
    ("hard", |other, target| {
        std::fs::remove_file(target).unwrap();
        std::fs::hard_link(other, target).unwrap();
    }),
];

#[test]
fn what_took_the_place_of_a_checked_target_is_not_written() {
    for engine in ["--engine=uring", "--engine=aio", "--engine=sync", "-Sm"] {
        for (name, swap) in SWAPS {
            let (bench, event) = (Bench::new(), event(name));
            bench.fill("other.dat", OTHER_BYTES);
            let before = bytes(&bench.path("other.dat"));
            let child = waiting(&bench, &event, &format!("--overwrite {engine} t.dat"));
            swap(&bench.path("other.dat"), &bench.path("t.dat"));
            let output = end(&bench, &event, child);
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{engine} {name}: {told}");
            assert!(told.contains("another file or device has taken its place"), "{told}");
            assert_eq!(bytes(&bench.path("t.dat")), before, "{engine} {name}: it was written to");
        }
    }
}

#[test]
fn a_target_that_keeps_its_place_is_written() {
    let (bench, event) = (Bench::new(), event("kept"));
    let before = bytes(&bench.path("t.dat"));
    let child = waiting(&bench, &event, "--overwrite t.dat");
    let output = end(&bench, &event, child);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_ne!(bytes(&bench.path("t.dat")), before);
}

#[test]
fn what_is_only_read_may_be_replaced() {
    let (bench, event) = (Bench::new(), event("read"));
    bench.fill("other.dat", OTHER_BYTES);
    let args = format!("-W0 -d1 -b4K -r -yr{event} t.dat");
    let mut command = bench.command(&args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until_used(&event);
    std::fs::rename(bench.path("other.dat"), bench.path("t.dat")).unwrap();
    let output = end(&bench, &event, child);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}
