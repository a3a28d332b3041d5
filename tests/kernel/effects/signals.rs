//! The second Ctrl-C ends the process at once, whatever it is doing.

use std::process::Stdio;
use std::time::Duration;

use crate::bench::{Bench, skip};

fn signal(pid: u32, name: &str) {
    let pid = pid.to_string();
    assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
}

/// Waits until the first thread of a process is in `write(1, ...)`; false if that cannot be seen here.
#[cfg(target_arch = "x86_64")]
fn until_it_writes(pid: u32) -> bool {
    for _ in 0..1_000 {
        let Ok(call) = std::fs::read_to_string(format!("/proc/{pid}/syscall")) else {
            return false;
        };
        if call.starts_with("1 0x1 ") {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_second_interruption_does_not_wait_for_a_result_that_nobody_reads() {
    let bench = Bench::new();
    // A series of milliseconds is more than a pipe holds, and nobody reads this one.
    let mut command = bench.command("-W0 -d60 -b4K -r -t8 -D1 -L -Rjson t.dat");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    signal(child.id(), "-INT");
    if !until_it_writes(child.id()) {
        child.kill().unwrap();
        child.wait().unwrap();
        return skip("what a process is waiting for cannot be seen here");
    }
    assert_eq!(child.try_wait().unwrap(), None, "it must wait for its reader");
    signal(child.id(), "-INT");
    for _ in 0..500 {
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(130));
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("the second interruption did not end the process");
}
