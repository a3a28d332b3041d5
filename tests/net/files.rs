//! What is the same for all servers of files.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use fathom_net::{Address, Connection, FaultKind, Operation, Request, Settings};

use crate::load::{Buffers, NONE, drive, drive_blind, floor_ms, request, scattered};
use crate::server::{delaying_proxy, low_byte};
use crate::tap::Tap;

/// A server with the file `disk` and the folder `inner`.
pub trait FileServer {
    /// The address of a file over a port.
    fn at(&self, name: &str, port: u16) -> Address;
    /// Where the server has a file.
    fn path(&self, name: &str) -> PathBuf;
    fn port(&self) -> u16;
    fn settings(&self) -> Settings;
    fn kill(&mut self);

    fn file(&self) -> Vec<u8> {
        fs::read(self.path("disk")).unwrap()
    }

    fn connect(&self) -> Connection {
        Connection::connect(&self.at("disk", self.port()), &self.settings()).unwrap()
    }
}

/// Reads and compares with the file; writes and compares the file.
pub fn data_and_offsets(server: &impl FileServer) {
    data_and_offsets_over(server, server.connect(), 60, 1 << 20);
}

/// The same over a connection, with so many reads of each length, which is at most this.
pub fn data_and_offsets_over(
    server: &impl FileServer,
    mut connection: Connection,
    reads: u64,
    longest: u32,
) {
    let before = server.file();
    for (bytes, depth) in [(4096_u32, 1), (513, 32), (65_536, 16), (1 << 20, 4)] {
        let bytes = bytes.min(longest);
        let requests = scattered(Operation::Read, bytes, reads);
        let see = |request: &Request, data: &[u8]| {
            let at = usize::try_from(request.offset_bytes).unwrap();
            assert!(data == &before[at..at + data.len()], "other data at {at} of {bytes} bytes");
        };
        let load = drive(&mut connection, &requests, depth, |_, data| data.fill(0xEE), see);
        assert!(load.ended.iter().all(|(_, result)| result.unsigned_abs() == bytes));
    }
    let mut expected = before;
    for (round, bytes) in (0..).zip([4096_u32, 515, 65_536, 1 << 20]) {
        let bytes = bytes.min(longest);
        let requests: Vec<_> = scattered(Operation::Write, bytes, reads.min(8))
            .into_iter()
            .map(|write| Request { is_through: round == 0, ..write })
            .collect();
        let salt = |request: &Request| low_byte(request.offset_bytes / 512 * 3 + round + 1);
        let fill = |request: &Request, data: &mut [u8]| {
            data.fill(salt(request));
            data[data.len() - 1] = 0x5A;
        };
        let load = drive(&mut connection, &requests, 4, fill, |_, _| {});
        assert_eq!(load.failed(), NONE, "{:?}", connection.lost());
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
pub fn a_file_comes_and_goes(server: &impl FileServer) {
    let address = server.at("inner/new", server.port());
    let missing = Connection::connect(&address, &server.settings()).unwrap_err();
    assert_eq!(missing.kind, FaultKind::NotFound, "{missing}");
    // Its place is there: that has limits, but no data.
    let mut place = Connection::look(&address, &server.settings()).unwrap();
    assert!(place.facts().is_missing && place.facts().request_bytes_max >= 4096);
    let nothing = place.read_exact_at(0, &mut [0; 512]).unwrap_err();
    assert_eq!(nothing.kind, FaultKind::NotFound, "{nothing}");
    place.close();
    let mut connection = Connection::create(&address, &server.settings()).unwrap();
    assert_eq!(connection.facts().size_bytes, 0);
    connection.resize(1 << 20).unwrap();
    connection.write_all_at((1 << 20) - 5, b"hello").unwrap();
    connection.resize(2 << 20).unwrap();
    connection.close();
    let bytes = fs::read(server.path("inner/new")).unwrap();
    assert_eq!((bytes.len(), &bytes[(1 << 20) - 5..1 << 20]), (2 << 20, &b"hello"[..]));
    // One that is there is not made, and is as it was.
    let there = Connection::create(&address, &server.settings()).unwrap_err();
    assert_eq!(there.kind, FaultKind::Busy, "{there}");
    assert_eq!(fs::read(server.path("inner/new")).unwrap(), bytes);
    // It keeps its data, as far as they fit.
    let mut connection = Connection::connect(&address, &server.settings()).unwrap();
    connection.resize(1 << 20).unwrap();
    let mut read = [0; 5];
    connection.read_exact_at((1 << 20) - 5, &mut read).unwrap();
    assert_eq!((&read, connection.facts().size_bytes), (b"hello", 1 << 20));
    let beyond = connection.read_exact_at((1 << 20) - 2, &mut read).unwrap_err();
    assert_eq!(beyond.kind, FaultKind::Invalid, "{beyond}");
    connection.remove().unwrap();
    assert!(!server.path("inner/new").exists());
    let nowhere = server.at("nowhere/new", server.port());
    let fault = Connection::look(&nowhere, &server.settings()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::NotFound, "{fault}");
}

/// Answers are held back, so that all that is sent at once is outstanding together.
pub fn many_are_outstanding(server: &impl FileServer) {
    let delay = Duration::from_millis(20);
    let port = delaying_proxy(server.port(), delay);
    let address = server.at("disk", port);
    let mut connection = Connection::connect(&address, &server.settings()).unwrap();
    let floor_ms = floor_ms(&mut connection, 21.0);
    assert!((20.0..21.0).contains(&floor_ms), "{floor_ms} ms");
    let requests = scattered(Operation::Read, 4096, 320);
    // 320 at depth 1 take 320 delays. Outstanding together, they share them.
    let many = drive_blind(&mut connection, &requests, 32).took;
    assert!(many < 160 * delay, "{many:?}");
    connection.close();
}

/// Killed while answers are held back: each I/O ends once, with the same error.
pub fn a_kill_ends_all(server: &mut impl FileServer) {
    let port = delaying_proxy(server.port(), Duration::from_millis(100));
    let address = server.at("disk", port);
    let mut connection = Connection::connect(&address, &server.settings()).unwrap();
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

/// With so many outstanding at most, seen on the wire.
pub fn outstanding(server: &impl FileServer, depth: usize) -> usize {
    let tap = Tap::start(server.port(), Duration::from_millis(1));
    let mut connection =
        Connection::connect(&server.at("disk", tap.port), &server.settings()).unwrap();
    let load = drive_blind(&mut connection, &scattered(Operation::Read, 4096, 600), depth);
    assert_eq!((load.ended.len(), load.failed()), (600, Vec::new()));
    connection.close();
    tap.outstanding_max()
}

/// A server without room; gives what the writes beyond it gave.
pub fn writes_without_room(server: &impl FileServer, from: u64) -> Vec<i32> {
    let mut connection = server.connect();
    let writes: Vec<_> = (0..64)
        .map(|k| request(Operation::Write, from + k * 65_536, 65_536))
        .map(|write| Request { is_through: true, ..write })
        .collect();
    let failed = drive_blind(&mut connection, &writes, 4).failed();
    assert_eq!(connection.lost(), None);
    let fault = connection.write_all_at(3 * from, &vec![0; 65_536]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::NoSpace, "{fault}");
    connection.close();
    failed
}
