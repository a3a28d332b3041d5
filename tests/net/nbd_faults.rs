//! NBD: servers that fail, stall, end, or are not what was thought.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use fathom_net::{Address, Connection, FaultKind, Operation, Request, Settings};
use fathom_sys::clock::now_ns;

use crate::load::{Buffers, NONE, drive_blind, request};
use crate::ports::free_port;
use crate::server::{Server, is_missing, settings};

const FILE: [&str; 2] = ["file", "{}/disk"];

fn fault_of(address: &Address, settings: &Settings) -> fathom_net::Fault {
    Connection::connect(address, settings).map(drop).unwrap_err()
}

fn reads(count: u64) -> Vec<Request> {
    (0..count).map(|k| request(Operation::Read, k % 2048 * 4096, 4096)).collect()
}

#[test]
fn each_error_of_the_server_is_one_error_here() {
    if is_missing() {
        return;
    }
    for (structured, error, errno) in
        [("--log=stderr", "EIO", -5), ("--no-sr", "EIO", -5), ("--log=stderr", "ENOSPC", -28)]
    {
        let error = format!("error={error}");
        let plugin = ["file", "{}/disk", "logfile={}/log", &error, "error-pread-rate=20%"];
        let server = Server::unix(&[structured, "--filter=log", "--filter=error"], &plugin);
        let mut connection = server.connect();
        let load = drive_blind(&mut connection, &reads(1000), 16);
        let failed = load.failed();
        let log = server.log();
        assert_eq!((failed.len(), log.count("Read")), (log.failed, 1000));
        assert!(failed.len() > 100, "{} of 1000 failed", failed.len());
        assert!(failed.iter().all(|&result| result == errno), "{failed:?}");
        assert_eq!(connection.lost(), None);
    }
}

#[test]
fn a_server_that_is_killed_ends_all_that_was_outstanding() {
    if is_missing() {
        return;
    }
    let plugin = ["file", "{}/disk", "delay-read=10"];
    for over_tcp in [false, true] {
        let start = if over_tcp { Server::tcp } else { Server::unix };
        let mut server = start(&["--filter=delay"], &plugin);
        let mut connection = server.connect();
        let mut buffers = Buffers(vec![vec![0; 4096]; 32]);
        let mut done = Vec::new();
        for (tag, read) in (0..).zip(reads(32)) {
            connection.submit(Request { tag, ..read });
        }
        connection.advance(&mut buffers, &mut done);
        assert_eq!((done.len(), connection.in_flight()), (0, 32));
        server.kill();
        let mut waiter = fathom_net::Waiter::default();
        while done.is_empty() {
            let interest = std::iter::once(connection.interest());
            assert!(waiter.wait(interest, Some(20_000_000_000)).unwrap());
            connection.advance(&mut buffers, &mut done);
        }
        let mut tags: Vec<_> = done.iter().map(|done| done.tag).collect();
        tags.sort_unstable();
        assert_eq!(tags, (0..32).collect::<Vec<_>>());
        assert!(done.iter().all(|done| done.result == -104), "{done:?}");
        assert_eq!(connection.in_flight(), 0);
        assert_eq!(connection.lost().unwrap().kind, FaultKind::Disconnected);
        // What is submitted to nobody ends at once, and without a signal.
        let load = drive_blind(&mut connection, &reads(40), 4);
        assert_eq!(load.failed(), vec![-107; 40]);
        assert_eq!(connection.flush().unwrap_err().kind, FaultKind::Disconnected);
    }
}

#[test]
fn kills_at_any_moment_lose_and_double_nothing() {
    if is_missing() {
        return;
    }
    for round in 0..10_u64 {
        let mut server = Server::unix(&["--filter=log"], &["file", "{}/disk", "logfile={}/log"]);
        let mut connection = server.connect();
        let all: Vec<_> =
            (0..200_000).map(|k| request(Operation::Write, k % 2048 * 4096, 4096)).collect();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(3 + 7 * round));
            server.kill();
            server
        });
        let load = drive_blind(&mut connection, &all, 16);
        let server = killer.join().unwrap();
        assert_eq!(load.ended.len(), all.len());
        let fine = load.ended.iter().filter(|(_, result)| *result == 4096).count();
        let failed = load.failed();
        assert_eq!(fine + failed.len(), all.len());
        assert!(failed.iter().all(|result| [-104, -107].contains(result)));
        // All that was answered was done there, and at most what was outstanding was done beyond that.
        let at_server = server.log().count("Write");
        assert!((fine..=fine + 16).contains(&at_server), "{fine} here, {at_server} there");
        assert!(connection.lost().is_some() || failed.is_empty());
    }
}

#[test]
fn a_call_that_waits_for_a_stalled_server_ends_in_time() {
    if is_missing() {
        return;
    }
    let server = Server::unix(&["--filter=delay"], &["file", "{}/disk", "delay-read=30"]);
    let brief = Settings { timeout: Duration::from_millis(300), ..settings() };
    let mut connection = Connection::connect(&server.address(""), &brief).unwrap();
    let begun = now_ns();
    let fault = connection.no_op().unwrap_err();
    assert_eq!(fault.kind, FaultKind::TimedOut);
    assert!(fault.text.contains("no answer within 0.3 s"), "{fault}");
    assert!(Duration::from_nanos(now_ns() - begun) < Duration::from_secs(20));
    // Its late answer would belong to nobody: the connection is over.
    assert_eq!(connection.no_op().unwrap_err().kind, FaultKind::TimedOut);
    assert_eq!(connection.in_flight(), 0);
}

#[test]
fn who_never_answers_ends_the_connecting_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let brief = Settings { timeout: Duration::from_millis(200), ..settings() };
    let address = Address::parse(&format!("nbd://127.0.0.1:{port}/x")).unwrap();
    let fault = fault_of(&address, &brief);
    assert_eq!(fault.kind, FaultKind::TimedOut);
    assert_eq!(fault.text, format!("127.0.0.1:{port}: no answer within 0.2 s"));
}

#[test]
fn nobody_there_is_told_by_kind() {
    let port = free_port();
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    drop(UnixListener::bind(&socket).unwrap());
    let socket = socket.display();
    for (text, kind) in [
        (format!("nbd://127.0.0.1:{port}/"), FaultKind::Unreachable),
        (format!("nbd+unix:///?socket={socket}"), FaultKind::Unreachable),
        (format!("nbd+unix:///?socket={socket}-none"), FaultKind::NotFound),
        ("nbd://no-such-host.invalid/".to_owned(), FaultKind::NotFound),
    ] {
        let fault = fault_of(&Address::parse(&text).unwrap(), &settings());
        assert_eq!(fault.kind, kind, "{text}: {fault}");
    }
}

#[test]
fn a_read_only_export_takes_no_writes() {
    if is_missing() {
        return;
    }
    let server =
        Server::unix(&["--readonly", "--filter=log"], &["file", "{}/disk", "logfile={}/log"]);
    let mut connection = server.connect();
    assert!(connection.facts().is_read_only);
    let write = request(Operation::Write, 0, 4096);
    let trim = request(Operation::Trim, 0, 4096);
    let load = drive_blind(&mut connection, &[write, trim], 2);
    assert_eq!(load.failed(), [-30, -30]);
    assert_eq!(connection.write_all_at(0, &[0; 512]).unwrap_err().kind, FaultKind::ReadOnly);
    connection.read_exact_at(0, &mut [0; 512]).unwrap();
    connection.close();
    assert_eq!(server.log().count("Write"), 0);
}

#[test]
fn beyond_the_end_the_server_says_so() {
    if is_missing() {
        return;
    }
    let server = Server::unix(&[], &FILE);
    let beyond = [
        request(Operation::Read, crate::server::FILE_BYTES, 4096),
        request(Operation::Write, crate::server::FILE_BYTES - 512, 4096),
    ];
    let mut connection = server.connect();
    assert_eq!(drive_blind(&mut connection, &beyond, 1).failed(), [-22, -28]);
    assert_eq!(drive_blind(&mut connection, &reads(10), 2).failed(), NONE);
}

#[test]
fn servers_of_old_handshakes_are_told_apart() {
    if is_missing() {
        return;
    }
    for (option, words) in [("--oldstyle", "oldstyle"), ("--mask-handshake=0", "fixed newstyle")] {
        let server = Server::unix(&[option], &FILE);
        let fault = fault_of(&server.address(""), &settings());
        assert_eq!(fault.kind, FaultKind::Unsupported, "{fault}");
        assert!(fault.text.contains(words), "{fault}");
    }
}
