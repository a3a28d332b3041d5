//! NFS 4, against nfs-ganesha, which needs root.

use std::fs;
use std::time::Duration;

use fathom_net::{Connection, FaultKind, Operation, Request};

use crate::ganesha::{Export, Ganesha};
use crate::load::{Buffers, drive, drive_blind, floor_ms, request, scattered};
use crate::server::{FILE_BYTES, delaying_proxy, low_byte, pattern, settings};
use crate::tap::Tap;

/// Reads and compares with the file; writes and compares the file.
pub fn data_and_offsets(server: &Ganesha, version: &str) {
    let mut connection = server.connect(version);
    let file = server.file();
    for (bytes, depth) in [(4096_u32, 1), (513, 32), (65_536, 16), (1 << 20, 4)] {
        let bytes = bytes.min(connection.facts().request_bytes_max);
        let requests = scattered(Operation::Read, bytes, 60);
        let see = |request: &Request, data: &[u8]| {
            let at = usize::try_from(request.offset_bytes).unwrap();
            assert!(data == &file[at..at + data.len()], "other data at {at} of {bytes} bytes");
        };
        let load = drive(&mut connection, &requests, depth, |_, data| data.fill(0xEE), see);
        assert!(load.ended.iter().all(|(_, result)| result.unsigned_abs() == bytes));
    }
    let mut expected = file;
    for (round, bytes) in (0..).zip([4096_u32, 515, 65_536, 1 << 20]) {
        let bytes = bytes.min(connection.facts().request_bytes_max);
        let requests: Vec<_> = scattered(Operation::Write, bytes, 8)
            .into_iter()
            .map(|write| Request { is_through: round == 0, ..write })
            .collect();
        let salt = |request: &Request| low_byte(request.offset_bytes / 512 * 3 + round + 1);
        let fill = |request: &Request, data: &mut [u8]| {
            data.fill(salt(request));
            data[data.len() - 1] = 0x5A;
        };
        let load = drive(&mut connection, &requests, 4, fill, |_, _| {});
        assert_eq!(load.failed(), [], "{:?}", connection.lost());
        for request in &requests {
            let start = usize::try_from(request.offset_bytes).unwrap();
            let end = start + bytes as usize;
            expected[start..end].fill(salt(request));
            expected[end - 1] = 0x5A;
        }
    }
    connection.flush().unwrap();
    connection.close();
    assert!(server.file() == expected, "the file is not what was written");
}

/// Creates, resizes and removes a file.
pub fn a_file_comes_and_goes(server: &Ganesha, version: &str) {
    let address = server.address_of("inner/new", version, server.port);
    let missing = Connection::connect(&address, &settings()).unwrap_err();
    assert_eq!(missing.kind, FaultKind::NotFound, "{missing}");
    let mut connection = Connection::create(&address, &settings(), 1 << 20).unwrap();
    assert_eq!(connection.facts().size_bytes, 1 << 20);
    connection.write_all_at((1 << 20) - 5, b"hello").unwrap();
    connection.resize(2 << 20).unwrap();
    connection.close();
    let bytes = fs::read(server.path("inner/new")).unwrap();
    assert_eq!((bytes.len(), &bytes[(1 << 20) - 5..1 << 20]), (2 << 20, &b"hello"[..]));
    // One that is there keeps its data, as far as they fit.
    let mut connection = Connection::create(&address, &settings(), 1 << 20).unwrap();
    let mut read = [0; 5];
    connection.read_exact_at((1 << 20) - 5, &mut read).unwrap();
    assert_eq!((&read, connection.facts().size_bytes), (b"hello", 1 << 20));
    connection.remove().unwrap();
    assert!(!server.path("inner/new").exists());
    let nowhere = server.address_of("nowhere/new", version, server.port);
    let fault = Connection::create(&nowhere, &settings(), 4096).unwrap_err();
    assert_eq!(fault.kind, FaultKind::NotFound, "{fault}");
}

/// Answers are held back, so that all that is sent at once is outstanding together.
pub fn many_are_outstanding(server: &Ganesha, version: &str) {
    let delay = Duration::from_millis(5);
    let port = delaying_proxy(server.port, delay);
    let address = server.address_of("disk", version, port);
    let mut connection = Connection::connect(&address, &settings()).unwrap();
    let floor_ms = floor_ms(&mut connection, 5.25);
    assert!((5.0..5.25).contains(&floor_ms), "{floor_ms} ms");
    let requests = scattered(Operation::Read, 4096, 640);
    // 640 at depth 1 take 640 delays. Outstanding together, they share them.
    let many = drive_blind(&mut connection, &requests, 32).took;
    assert!(many < 320 * delay, "{many:?}");
    connection.close();
}

/// Killed while answers are held back: each I/O ends once, with the same error.
pub fn a_kill_ends_all(server: &mut Ganesha, version: &str) {
    let port = delaying_proxy(server.port, Duration::from_millis(100));
    let address = server.address_of("disk", version, port);
    let mut connection = Connection::connect(&address, &settings()).unwrap();
    server.kill();
    let mut buffers = Buffers(vec![vec![0; 4096]; 200]);
    let mut done = Vec::new();
    for (tag, read) in (0..).zip(scattered(Operation::Read, 4096, 200)) {
        connection.submit(Request { tag, ..read });
    }
    let mut waiter = fathom_net::Waiter::default();
    while done.len() < 200 {
        connection.advance(&mut buffers, &mut done);
        if done.is_empty() {
            let interest = std::iter::once(connection.interest());
            assert!(waiter.wait(interest, Some(20_000_000_000)).unwrap());
        }
    }
    let mut tags: Vec<_> = done.iter().map(|done| done.tag).collect();
    tags.sort_unstable();
    assert_eq!(tags, (0..200).collect::<Vec<_>>());
    assert!(done.iter().all(|done| done.result == -104), "{done:?}");
    assert_eq!(connection.in_flight(), 0);
    assert_eq!(connection.lost().unwrap().kind, FaultKind::Disconnected);
    assert_eq!(connection.no_op().unwrap_err().kind, FaultKind::Disconnected);
    assert_eq!(connection.resize(0).unwrap_err().kind, FaultKind::Disconnected);
}

#[test]
fn facts_data_and_offsets_are_those_of_the_file() {
    let Some(server) = Ganesha::start(&Export::default()) else { return };
    let mut connection = server.connect("4");
    let facts = connection.facts().clone();
    assert_eq!((facts.size_bytes, facts.block_bytes_min), (FILE_BYTES, 1));
    assert!(facts.dialect.starts_with("NFS 4."), "{facts:?}");
    assert!(facts.outstanding_max.unwrap() >= 16 && !facts.is_read_only, "{facts:?}");
    assert!(facts.request_bytes_max >= 1 << 20, "{facts:?}");
    assert!(connection.no_op().unwrap() > Duration::ZERO);
    assert!(connection.tcp_info().unwrap().segment_bytes > 0);
    connection.close();
    data_and_offsets(&server, "4");
}

#[test]
fn a_file_is_created_resized_and_removed() {
    let Some(server) = Ganesha::start(&Export::default()) else { return };
    a_file_comes_and_goes(&server, "4");
}

#[test]
fn trims_leave_zeroes_in_the_file_or_are_said_to_be_impossible() {
    let Some(server) = Ganesha::start(&Export::default()) else { return };
    let mut connection = server.connect("4");
    let trim = request(Operation::Trim, 1 << 20, 1 << 20);
    let failed = drive_blind(&mut connection, &[trim], 1).failed();
    let mut expected = pattern(0, FILE_BYTES);
    if failed.is_empty() {
        assert!(connection.facts().can_trim);
        expected[1 << 20..2 << 20].fill(0);
    } else {
        assert_eq!(failed, [-95]);
    }
    assert!(server.file() == expected);
}

#[test]
fn as_many_are_outstanding_as_the_session_has_slots() {
    let Some(server) = Ganesha::start(&Export::default()) else { return };
    many_are_outstanding(&server, "4");
    for (depth, wanted) in [(1, 1), (32, 32), (200, 64)] {
        let tap = Tap::start(server.port, Duration::from_millis(1));
        let address = server.address_of("disk", "4", tap.port);
        let mut connection = Connection::connect(&address, &settings()).unwrap();
        // More than the session takes waits on this side.
        assert_eq!(connection.facts().outstanding_max, Some(64));
        let load = drive_blind(&mut connection, &scattered(Operation::Read, 4096, 600), depth);
        assert_eq!((load.ended.len(), load.failed()), (600, Vec::new()));
        connection.close();
        assert_eq!(tap.outstanding_max(), wanted);
    }
}

#[test]
fn a_server_that_is_killed_ends_all_that_was_outstanding() {
    let Some(mut server) = Ganesha::start(&Export::default()) else { return };
    a_kill_ends_all(&mut server, "4");
}

#[test]
fn a_read_only_export_takes_no_writes() {
    let Some(server) = Ganesha::start(&Export { access: "RO", ..Export::default() }) else {
        return;
    };
    let mut connection = server.connect("4");
    assert!(connection.facts().is_read_only);
    assert_eq!(connection.write_all_at(0, &[0; 512]).unwrap_err().kind, FaultKind::ReadOnly);
    let address = server.address_of("new", "4", server.port);
    let fault = Connection::create(&address, &settings(), 4096).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::ReadOnly | FaultKind::Denied), "{fault}");
    let load = drive_blind(&mut connection, &scattered(Operation::Read, 4096, 20), 4);
    assert_eq!(load.failed(), []);
    assert!(server.file() == pattern(0, FILE_BYTES));
}

#[test]
fn names_that_are_wrong_are_told_by_kind() {
    let Some(server) = Ganesha::start(&Export::default()) else { return };
    for (name, kind) in [
        ("missing", FaultKind::NotFound),
        ("nowhere/disk", FaultKind::NotFound),
        ("disk/disk", FaultKind::NotFound),
        ("inner", FaultKind::Invalid),
    ] {
        let address = server.address_of(name, "4", server.port);
        let fault = Connection::connect(&address, &settings()).unwrap_err();
        assert_eq!(fault.kind, kind, "{name}: {fault}");
    }
    let fault = Connection::connect(&server.address("3"), &settings()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unsupported, "{fault}");
    assert!(fault.text.contains("version=4"), "{fault}");
}

#[test]
fn reads_at_the_end_are_short_and_writes_beyond_it_make_the_file_longer() {
    let Some(server) = Ganesha::start(&Export::default()) else { return };
    let mut connection = server.connect("4");
    let reads = [
        request(Operation::Read, FILE_BYTES - 100, 4096),
        request(Operation::Read, FILE_BYTES, 4096),
    ];
    let load = drive_blind(&mut connection, &reads, 1);
    assert_eq!([load.ended[0].1, load.ended[1].1], [100, 0]);
    let beyond = request(Operation::Write, FILE_BYTES, 4096);
    assert_eq!(drive_blind(&mut connection, &[beyond], 1).failed(), []);
    assert_eq!(server.file().len() as u64, FILE_BYTES + 4096);
}

#[test]
fn a_file_that_another_client_removes_is_still_open_or_said_to_be_gone() {
    let Some(server) = Ganesha::start(&Export::default()) else { return };
    let mut connection = server.connect("4");
    server.connect("4").remove().unwrap();
    assert!(!server.path("disk").exists());
    let reads = scattered(Operation::Read, 4096, 20);
    let load = drive_blind(&mut connection, &reads, 4);
    // The server keeps what is open, or says that the handle is stale.
    let failed = load.failed();
    assert!(failed.is_empty() || failed == vec![-116; 20], "{failed:?}");
    assert_eq!(connection.lost(), None);
}
