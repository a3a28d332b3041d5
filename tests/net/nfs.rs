//! NFS 4, against nfs-ganesha, which needs root.

use std::time::Duration;

use fathom_net::{Connection, FaultKind, Operation};

use crate::files::{
    FileServer, a_file_comes_and_goes, a_kill_ends_all, data_and_offsets, many_are_outstanding,
    outstanding,
};
use crate::ganesha::{Export, Ganesha};
use crate::load::{NONE, drive_blind, request, scattered};
use crate::server::{FILE_BYTES, pattern, settings};
use crate::tap::Tap;

#[test]
fn facts_data_and_offsets_are_those_of_the_file() {
    let Some(server) = Ganesha::start(&Export::default()) else { return };
    let mut connection = server.connect();
    let facts = connection.facts().clone();
    assert_eq!((facts.size_bytes, facts.block_bytes_min), (FILE_BYTES, 1));
    assert!(facts.dialect.starts_with("NFS 4."), "{facts:?}");
    assert!(facts.outstanding_max.unwrap() >= 16 && !facts.is_read_only, "{facts:?}");
    assert!(facts.request_bytes_max >= 1 << 20, "{facts:?}");
    assert!(connection.no_op().unwrap() > Duration::ZERO);
    assert!(connection.tcp_info().unwrap().segment_bytes > 0);
    connection.close();
    data_and_offsets(&server);
}

#[test]
fn a_file_is_created_resized_and_removed() {
    let Some(server) = Ganesha::start(&Export::default()) else { return };
    a_file_comes_and_goes(&server);
}

#[test]
fn trims_leave_zeroes_in_the_file_or_are_said_to_be_impossible() {
    let Some(server) = Ganesha::start(&Export::default()) else { return };
    let mut connection = server.connect();
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
    many_are_outstanding(&server);
    // More than the session takes waits on this side.
    assert_eq!(server.connect().facts().outstanding_max, Some(64));
    for (depth, wanted) in [(1, 1), (32, 32), (200, 64)] {
        assert_eq!(outstanding(&server, depth), wanted);
    }
}

#[test]
fn a_server_that_is_killed_ends_all_that_was_outstanding() {
    let Some(mut server) = Ganesha::start(&Export::default()) else { return };
    a_kill_ends_all(&mut server);
}

#[test]
fn a_read_only_export_takes_no_writes() {
    let Some(server) = Ganesha::start(&Export { access: "RO", ..Export::default() }) else {
        return;
    };
    let mut connection = server.connect();
    assert!(connection.facts().is_read_only);
    assert_eq!(connection.write_all_at(0, &[0; 512]).unwrap_err().kind, FaultKind::ReadOnly);
    let address = server.at("new", server.port);
    let fault = Connection::create(&address, &settings()).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::ReadOnly | FaultKind::Denied), "{fault}");
    let load = drive_blind(&mut connection, &scattered(Operation::Read, 4096, 20), 4);
    assert_eq!(load.failed(), NONE);
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
        let address = server.at(name, server.port);
        let fault = Connection::connect(&address, &settings()).unwrap_err();
        assert_eq!(fault.kind, kind, "{name}: {fault}");
    }
    let fault =
        Connection::connect(&server.of_version("disk", "3", server.port), &settings()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unsupported, "{fault}");
    assert!(fault.text.contains("version=4"), "{fault}");
}

#[test]
fn reads_at_the_end_are_short_and_writes_beyond_it_make_the_file_longer() {
    let Some(server) = Ganesha::start(&Export::default()) else { return };
    let mut connection = server.connect();
    let reads = [
        request(Operation::Read, FILE_BYTES - 100, 4096),
        request(Operation::Read, FILE_BYTES, 4096),
    ];
    let load = drive_blind(&mut connection, &reads, 1);
    assert_eq!([load.ended[0].1, load.ended[1].1], [100, 0]);
    let beyond = request(Operation::Write, FILE_BYTES, 4096);
    assert_eq!(drive_blind(&mut connection, &[beyond], 1).failed(), NONE);
    assert_eq!(server.file().len() as u64, FILE_BYTES + 4096);
}

#[test]
fn a_file_that_another_client_removes_is_still_open_or_said_to_be_gone() {
    let Some(server) = Ganesha::start(&Export::default()) else { return };
    let mut connection = server.connect();
    server.connect().remove().unwrap();
    assert!(!server.path("disk").exists());
    let reads = scattered(Operation::Read, 4096, 20);
    let load = drive_blind(&mut connection, &reads, 4);
    // The server keeps what is open, or says that the handle is stale.
    let failed = load.failed();
    assert!(failed.is_empty() || failed == vec![-116; 20], "{failed:?}");
    assert_eq!(connection.lost(), None);
}

#[test]
fn a_close_and_an_open_that_fails_leave_nothing_on_the_server() {
    let Some(server) = Ganesha::start(&Export::default()) else { return };
    // What ends: file, session and client; and without a file, session and client.
    for (name, wanted) in [("disk", vec![4, 44, 57]), ("missing", vec![44, 57])] {
        let tap = Tap::start(server.port, Duration::ZERO);
        if let Ok(mut connection) = Connection::connect(&server.at(name, tap.port), &settings()) {
            let load = drive_blind(&mut connection, &scattered(Operation::Read, 4096, 100), 16);
            assert_eq!(load.failed(), NONE);
            connection.close();
        }
        let answers: Vec<_> = tap.messages().into_iter().filter(|one| !one.is_call).collect();
        let ended = &answers[answers.len() - wanted.len()..];
        for (answer, operation) in ended.iter().zip(wanted) {
            let word = |at: usize| u32::from_be_bytes(answer.head[at..at + 4].try_into().unwrap());
            // The status of the whole, and the first or last operation.
            assert_eq!(word(24), 0, "operation {operation}");
            let at = if operation == 4 { 36 + 44 + 8 } else { 36 };
            assert_eq!(word(at), operation);
        }
    }
}
