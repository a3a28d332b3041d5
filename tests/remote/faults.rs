//! Servers that fail while a load is under way.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::ports::free_port;
use crate::run::{Ran, run};
use crate::server::{Server, is_missing};

fn signal(server: &Server, name: &str) {
    let pid = fs::read_to_string(server.path("pid")).unwrap();
    assert!(Command::new("kill").args([name, pid.trim()]).status().unwrap().success());
}

/// A run in which the server gets a signal after a second.
fn struck(server: &Server, name: &str, arguments: &[&str]) -> Ran {
    let address = server.address("").to_string();
    let load = ["-b4K", "-r", "-o8", "-W0", "-L"];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(1));
            signal(server, name);
        });
        run(server.folder.path(), &[&load[..], arguments, &[&address]].concat())
    })
}

#[test]
fn a_server_that_is_killed_ends_the_run_with_exact_counts() {
    if is_missing() {
        return;
    }
    let server = Server::tcp(&["--filter=delay"], &["file", "{}/disk", "rdelay=1ms"]);
    let ran = struck(&server, "-KILL", &["-d30"]);
    assert_eq!(ran.code, Some(1), "{}", ran.errors);
    // All that was in flight failed, and nothing was issued behind it.
    assert_eq!(ran.sum("read", "errors"), 8);
    assert!(ran.sum("read", "ios") > 8);
    assert_eq!(ran.result["failures"][0]["kind"], "disconnected", "{}", ran.result["failures"]);
    assert_eq!(ran.network()["lost_connections"], 1);
    assert_eq!(ran.span()["outcome"], "interrupted");
    assert!(ran.errors.contains("failed: Connection reset"), "{}", ran.errors);
}

#[test]
fn a_load_that_goes_on_counts_what_fails_and_does_not_spin() {
    if is_missing() {
        return;
    }
    let server = Server::tcp(&["--filter=delay"], &["file", "{}/disk", "rdelay=1ms"]);
    let ran = struck(&server, "-KILL", &["-d2", "--on-error=continue"]);
    let faults = ran.span()["threads"][0]["targets"][0]["faults"].as_array().unwrap().clone();
    let count = |kind: &str| {
        let of_kind = faults.iter().filter(|fault| fault["kind"] == kind);
        of_kind.map(|fault| fault["ios"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(count("ECONNRESET"), 8, "{faults:?}");
    // A hundred turns a second at most, each with as many I/Os as may be outstanding.
    assert!((8..=2 * 100 * 8 + 8).contains(&count("ENOTCONN")), "{faults:?}");
    assert_eq!(ran.sum("read", "errors"), count("ECONNRESET") + count("ENOTCONN"));
}

#[test]
fn a_server_that_stalls_ends_the_run_with_what_is_outstanding() {
    if is_missing() {
        return;
    }
    let server = Server::tcp(&[], &["file", "{}/disk"]);
    let ran = struck(&server, "-STOP", &["-d30", "--io-timeout=1"]);
    signal(&server, "-CONT");
    assert_eq!(ran.code, Some(1), "{}", ran.errors);
    assert_eq!(ran.span()["outstanding"].as_array().unwrap().len(), 8);
    assert_eq!(ran.result["failures"][0]["kind"], "timed_out");
    assert!(ran.errors.contains("have not come back") && ran.errors.contains("look at the server"));
}

#[test]
fn a_server_that_fails_single_ios_is_counted_by_kind() {
    if is_missing() {
        return;
    }
    let options = ["--filter=error"];
    let plugin = ["file", "{}/disk", "error-pread=EIO", "error-pread-rate=100%"];
    let plugin = [&plugin[..], &["error-pread-file={}/broken"]].concat();
    let server = Server::unix(&options, &plugin);
    let address = server.address("").to_string();
    fs::write(server.path("broken"), "").unwrap();
    let load = ["-b4K", "-r", "-o4", "-d1", "-W0", "--on-error=count=50", &address];
    let ran = run(server.folder.path(), &load);
    assert_eq!(ran.code, Some(1), "{}", ran.errors);
    let faults = &ran.span()["threads"][0]["targets"][0]["faults"];
    assert_eq!((&faults[0]["kind"], &faults[0]["error"]), (&"EIO".into(), &"medium".into()));
    // Those in flight beside the last one that was tolerated fail as well.
    assert!((50..=53).contains(&ran.sum("read", "errors")), "{faults}");
}

#[test]
fn a_server_that_is_not_there_is_told_with_its_kind() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let ran = run(folder.path(), &["-d1", &format!("nbd://127.0.0.1:{port}/")]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.result["failures"][0]["kind"], "unreachable", "{}", ran.errors);
    assert!(ran.errors.contains("start its server"), "{}", ran.errors);
}

/// Behind Ctrl-C while the round trip to a slow server was measured, the load still connected to it: a share
/// with answers of 1.5 s kept the prompt for 9 s.
#[test]
fn a_run_that_was_ended_before_its_load_still_connected_for_it() {
    if is_missing() {
        return;
    }
    let server = Server::unix(
        &["--filter=log", "--filter=delay"],
        &["file", "{}/disk", "logfile={}/log", "rdelay=2"],
    );
    let logged = |what: &str| {
        let text = fs::read_to_string(server.path("log")).unwrap_or_default();
        text.lines().filter(|line| line.contains(what)).count()
    };
    let mut load = Command::new(env!("CARGO_BIN_EXE_diskspd"))
        .args(["-d30", "-b4K", &server.address("").to_string()])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while logged(" Read ") == 0 {
        assert!(load.try_wait().unwrap().is_none(), "it ended before it was interrupted");
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = load.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(load.wait().unwrap().code(), Some(130));
    // One look at the target, and one for the round trip, which was begun and not repeated.
    assert_eq!((logged(" Connect "), logged(" Read ")), (2, 1));
}
