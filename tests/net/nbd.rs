//! NBD: data, counts, depth and facts, as nbdkit and the file behind it tell them.

use std::time::Duration;

use fathom_net::{Address, Connection, FaultKind, Operation, Request};

use crate::load::{NONE, drive, drive_blind, floor_ms, request};
use crate::server::{FILE_BYTES, Server, delaying_proxy, is_missing, low_byte, pattern, settings};

const LOGGED: [&str; 1] = ["--filter=log"];
const FILE: [&str; 3] = ["file", "{}/disk", "logfile={}/log"];
/// Some that the buffer of replies holds several of, and some that are received into their slots.
const SIZES: [u32; 6] = [4096, 512, 65_536, 1 << 20, 12_288, 20_000];

/// Places all over the file, in no order.
fn scattered(operation: Operation, bytes: u32, count: u64) -> Vec<Request> {
    let places = FILE_BYTES / u64::from(bytes);
    let place = |k: u64| (k * 7_919) % places * u64::from(bytes);
    (0..count).map(|k| request(operation, place(k), bytes)).collect()
}

fn reads_give_the_file(server: &Server) {
    let mut connection = server.connect();
    assert_eq!(connection.facts().size_bytes, FILE_BYTES);
    let file = server.file();
    for bytes in SIZES {
        let requests = scattered(Operation::Read, bytes, 100);
        let see = |request: &Request, data: &[u8]| {
            let at = usize::try_from(request.offset_bytes).unwrap();
            assert!(data == &file[at..at + data.len()], "other data at {at} of {bytes} bytes");
        };
        let load = drive(&mut connection, &requests, 16, |_, data| data.fill(0xEE), see);
        assert!(load.ended.iter().all(|(_, result)| result.unsigned_abs() == bytes));
        assert_eq!(load.failed(), NONE);
    }
    connection.close();
    let log = server.log();
    assert_eq!(log.count("Read"), 100 * SIZES.len());
    let mut seen: Vec<_> = log.requests.iter().map(|(_, at, bytes)| (*at, *bytes)).collect();
    let mut sent: Vec<_> = SIZES
        .iter()
        .flat_map(|&bytes| scattered(Operation::Read, bytes, 100))
        .map(|request| (request.offset_bytes, u64::from(request.bytes)))
        .collect();
    seen.sort_unstable();
    sent.sort_unstable();
    assert_eq!(seen, sent);
}

#[test]
fn reads_over_a_unix_socket_give_the_file() {
    if !is_missing() {
        reads_give_the_file(&Server::unix(&LOGGED, &FILE));
    }
}

#[test]
fn reads_over_tcp_give_the_file() {
    if !is_missing() {
        reads_give_the_file(&Server::tcp(&LOGGED, &FILE));
    }
}

#[test]
fn reads_by_simple_replies_give_the_file() {
    if is_missing() {
        return;
    }
    let server = Server::unix(&["--no-sr", "--filter=log"], &FILE);
    assert!(server.connect().facts().dialect.contains("simple"));
    std::fs::write(server.path("log"), "").unwrap();
    reads_give_the_file(&server);
}

#[test]
fn holes_are_zeroes_in_the_slot() {
    if is_missing() {
        return;
    }
    let server = Server::unix(&[], &["memory", "1M"]);
    let requests: Vec<_> = (0..16).map(|k| request(Operation::Read, k * 65_536, 65_536)).collect();
    let see = |_: &Request, data: &[u8]| assert!(data.iter().all(|&byte| byte == 0));
    let load = drive(&mut server.connect(), &requests, 4, |_, data| data.fill(0xEE), see);
    assert_eq!(load.failed(), NONE);
}

fn writes_reach_the_file(server: &Server) {
    let mut connection = server.connect();
    let mut expected = pattern(0, FILE_BYTES);
    for (round, bytes) in (0..).zip([4096_u32, 65_536, 1 << 20]) {
        let requests = scattered(Operation::Write, bytes, 8);
        let salt = |request: &Request| low_byte(request.offset_bytes / 4096 * 3 + round + 1);
        let fill = |request: &Request, data: &mut [u8]| data.fill(salt(request));
        let load = drive(&mut connection, &requests, 4, fill, |_, _| {});
        assert_eq!(load.failed(), NONE);
        for request in &requests {
            let start = usize::try_from(request.offset_bytes).unwrap();
            expected[start..start + bytes as usize].fill(salt(request));
        }
    }
    connection.flush().unwrap();
    connection.close();
    assert!(server.file() == expected, "the file is not what was written");
    let log = server.log();
    assert_eq!((log.count("Write"), log.count("Flush")), (24, 1));
}

#[test]
fn writes_over_a_unix_socket_reach_the_file() {
    if !is_missing() {
        writes_reach_the_file(&Server::unix(&LOGGED, &FILE));
    }
}

#[test]
fn writes_over_tcp_reach_the_file() {
    if !is_missing() {
        writes_reach_the_file(&Server::tcp(&LOGGED, &FILE));
    }
}

#[test]
fn long_writes_to_a_slow_reader_are_sent_in_parts() {
    if is_missing() {
        return;
    }
    // The socket's buffer is smaller than one of these, and each is held back at the server.
    let server = Server::unix(&["--filter=delay"], &["memory", "64M", "delay-write=20ms"]);
    let mut connection = server.connect();
    let writes: Vec<_> = (0..16).map(|k| request(Operation::Write, k << 22, 1 << 22)).collect();
    let fill = |request: &Request, data: &mut [u8]| data.fill(low_byte(request.offset_bytes >> 22));
    assert_eq!(drive(&mut connection, &writes, 16, fill, |_, _| {}).failed(), NONE);
    let reads: Vec<_> = (0..16).map(|k| request(Operation::Read, k << 22, 1 << 22)).collect();
    let see = |request: &Request, data: &[u8]| {
        assert!(data.iter().all(|&byte| byte == low_byte(request.offset_bytes >> 22)));
    };
    assert_eq!(drive(&mut connection, &reads, 16, |_, _| {}, see).failed(), NONE);
}

#[test]
fn through_writes_syncs_and_trims_are_seen_by_the_server() {
    if is_missing() {
        return;
    }
    let server = Server::unix(&LOGGED, &FILE);
    let mut connection = server.connect();
    assert!(connection.facts().can_write_through && connection.facts().can_trim);
    let through = Request { is_through: true, ..request(Operation::Write, 0, 4096) };
    let plain = request(Operation::Write, 8192, 4096);
    let trim = request(Operation::Trim, 1 << 20, 1 << 20);
    let sync = request(Operation::Fdatasync, 0, 0);
    let load = drive_blind(&mut connection, &[through, plain, trim, sync], 1);
    let results: Vec<_> = load.ended.iter().map(|(_, result)| *result).collect();
    assert_eq!(results, [4096, 4096, 0, 0]);
    connection.close();
    let log = server.log();
    assert_eq!(log.through, [true, false]);
    assert_eq!((log.count("Trim"), log.count("Flush")), (1, 1));
    assert!(log.requests.contains(&("Trim".to_owned(), 1 << 20, 1 << 20)));
    assert!(server.file()[1 << 20..2 << 20].iter().all(|&byte| byte == 0));
}

#[test]
fn as_many_are_outstanding_at_the_server_as_were_asked_for() {
    if is_missing() {
        return;
    }
    let plugin = ["file", "{}/disk", "logfile={}/log", "delay-read=5ms"];
    for depth in [1_usize, 8, 32, 64] {
        let server = Server::tcp(&["--filter=log", "--filter=delay"], &plugin);
        let requests = scattered(Operation::Read, 4096, 40 * depth as u64);
        let load = drive_blind(&mut server.connect(), &requests, depth);
        let log = server.log();
        assert_eq!((log.outstanding_max, log.count("Read")), (depth, requests.len()));
        // 40 rounds of 5 ms cannot take less, whoever else uses this machine.
        assert!(load.took >= Duration::from_millis(200), "{:?}", load.took);
        // Who waits is woken by what comes, and not more often than that.
        assert!(load.waits <= requests.len() + 40, "{} waits", load.waits);
    }
}

#[test]
fn the_floor_of_a_server_that_delays_is_its_delay() {
    if is_missing() {
        return;
    }
    let plugin = ["file", "{}/disk", "delay-read=5ms"];
    for server in
        [Server::unix(&["--filter=delay"], &plugin), Server::tcp(&["--filter=delay"], &plugin)]
    {
        let floor_ms = floor_ms(&mut server.connect(), 5.25);
        assert!((5.0..5.25).contains(&floor_ms), "{floor_ms} ms");
    }
}

#[test]
fn the_floor_of_a_network_that_delays_is_its_delay() {
    if is_missing() {
        return;
    }
    let server = Server::tcp(&[], &["file", "{}/disk"]);
    let port = delaying_proxy(server.port.unwrap(), Duration::from_millis(5));
    let address = Address::parse(&format!("nbd://127.0.0.1:{port}/")).unwrap();
    let mut connection = Connection::connect(&address, &settings()).unwrap();
    let floor_ms = floor_ms(&mut connection, 5.25);
    assert!((5.0..5.25).contains(&floor_ms), "{floor_ms} ms");
}

#[test]
fn a_tcp_connection_has_figures_of_the_kernel_and_a_unix_socket_none() {
    if is_missing() {
        return;
    }
    let over_tcp = Server::tcp(&[], &["file", "{}/disk"]);
    let mut connection = over_tcp.connect();
    connection.no_op().unwrap();
    let info = connection.tcp_info().unwrap();
    assert!(info.rtt_us > 0 && info.segment_bytes > 0, "{info:?}");
    let over_unix = Server::unix(&[], &["file", "{}/disk"]);
    assert_eq!(over_unix.connect().tcp_info(), None);
}

#[test]
fn facts_are_those_that_the_server_tells() {
    if is_missing() {
        return;
    }
    let sizes =
        ["blocksize-minimum=4096", "blocksize-preferred=64K", "blocksize-maximum=1M", "{}/disk"];
    let mut plugin = vec!["file"];
    plugin.extend(sizes);
    let server = Server::unix(&["--filter=blocksize-policy", "--filter=multi-conn"], &plugin);
    let mut connection = server.connect();
    let facts = connection.facts().clone();
    let told = (facts.block_bytes_min, facts.block_bytes_preferred, facts.request_bytes_max);
    assert_eq!(told, (4096, 65_536, 1 << 20));
    assert!(facts.can_flush && facts.can_share && !facts.is_read_only);
    assert_eq!((facts.encryption, facts.outstanding_max), (None, None));
    assert_eq!(facts.dialect, "NBD newstyle, structured replies");
    // What the server would not take is not sent to it.
    let torn = request(Operation::Read, 512, 4096);
    let long = request(Operation::Read, 0, 2 << 20);
    let load = drive_blind(&mut connection, &[torn, long], 1);
    assert_eq!(load.failed(), [-22, -22]);
    // A call that waits splits what is longer than the server takes.
    let mut all = vec![0; 3 << 20];
    connection.read_exact_at(0, &mut all).unwrap();
    assert!(all == pattern(0, 3 << 20));
}

/// Looking at what it held failed at its end, with the advice to use an account that may read it.
#[test]
fn an_export_whose_size_is_no_multiple_of_its_block_could_not_be_looked_at() {
    if is_missing() {
        return;
    }
    let policy = "blocksize-minimum=4096 blocksize-preferred=8192 blocksize-maximum=65536";
    let policy: Vec<_> = policy.split(' ').collect();
    let plugin = [&["memory", "1049000", "blocksize-error-policy=error"][..], &policy].concat();
    let server = Server::unix(&["--filter=blocksize-policy"], &plugin);
    let mut connection = server.connect();
    let bytes = connection.facts().size_bytes;
    assert_eq!(bytes, 1_048_576);
    connection.read_exact_at(bytes - 4096, &mut [0; 4096]).unwrap();
}

#[test]
fn exports_are_chosen_by_name_and_wrong_names_are_told_the_right_ones() {
    if is_missing() {
        return;
    }
    let plugin = [
        "file",
        "{}/disk",
        "exportname-strict=true",
        "exportname-list=explicit",
        "exportname=one",
        "exportname=a b/ü",
        "exportdesc=fixed:The disk.",
    ];
    let server = Server::tcp(&["--filter=exportname"], &plugin);
    for export in ["one", "a%20b/%C3%BC"] {
        let connection = Connection::connect(&server.address(export), &settings()).unwrap();
        assert_eq!(connection.facts().description.as_deref(), Some("The disk."));
        let token = server.address(export).token(connection.facts());
        assert!(token.starts_with("127.0.0.1:") && token.ends_with(":8388608"), "{token}");
    }
    let fault = Connection::connect(&server.address("two"), &settings()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::NotFound);
    let words = "the server has no export 'two'; it has 'one', 'a b/ü'";
    assert!(fault.text.ends_with(words), "{fault}");
}
