//! Loads on exports of nbdkit.

use crate::run::{Ran, run};
use crate::server::{FILE_BYTES, Server, is_missing};

const LOGGED: [&str; 1] = ["--filter=log"];
const FILE: [&str; 3] = ["file", "{}/disk", "logfile={}/log"];

fn of_size(server: &Server, operation: &str, bytes: u64) -> u64 {
    let log = server.log();
    let is_one = |one: &&(String, u64, u64)| one.0 == operation && one.2 == bytes;
    log.requests.iter().filter(is_one).count() as u64
}

#[test]
fn the_server_saw_exactly_the_ios_that_the_result_counts() {
    if is_missing() {
        return;
    }
    let server = Server::tcp(&LOGGED, &FILE);
    let address = server.address("").to_string();
    let load = ["-b4K", "-r", "-o8", "-t2", "-d60", "-W0", "-L", "--stop-ios=3000", &address];
    let ran = run(server.folder.path(), &load).good();
    assert_eq!((ran.sum("read", "ios"), ran.sum("read", "errors")), (3000, 0));
    assert_eq!(of_size(&server, "Read", 4096), 3000);
    let network = ran.network();
    assert_eq!(network["connections"], 2, "{network}");
    assert_eq!(network["protocol"], "NBD");
    assert_eq!(ran.span()["targets"][0]["kind"], "network");
    assert!(ran.warns("server_answered"), "{}", ran.result["warnings"]);
    for words in ["Network of timespan 1:", "connections: 2", "are the network's"] {
        assert!(ran.text.contains(words), "{words}: {}", ran.text);
    }
    let xml = run(server.folder.path(), &[&["-Rxml"], &load[..]].concat()).good().text;
    let document = roxmltree::Document::parse(xml.trim()).unwrap();
    let remote = document.descendants().find(|node| node.has_tag_name("Remote")).unwrap();
    assert_eq!(remote.attribute("Connections"), Some("2"));
}

#[test]
fn as_many_ios_are_outstanding_at_the_server_as_are_requested() {
    if is_missing() {
        return;
    }
    let options = ["--filter=log", "--filter=delay"];
    let plugin = [&FILE[..], &["rdelay=20ms"]].concat();
    for (depth, connections) in [("-o32", 1), ("-o12", 3)] {
        let server = Server::tcp(&options, &plugin);
        let address = server.address("").to_string();
        let shared = format!("--connections={connections}");
        let load = ["-b4K", "-r", depth, "-d60", "-W0", "--stop-ios=384", &shared, &address];
        let ran = run(server.folder.path(), &load).good();
        let log = server.log();
        assert_eq!(log.outstanding_max.to_string(), depth[2..], "{depth}");
        assert_eq!(of_size(&server, "Read", 4096), 384);
        assert_eq!(ran.network()["connections"], connections);
    }
}

/// The permission to write to the export of a server on a socket.
fn token(server: &Server) -> String {
    format!("--allow-write={}/:{FILE_BYTES}", server.path("socket").display())
}

/// Writes each block of the export once.
fn write_whole(server: &Server, more: &[&str]) {
    let blocks = format!("--stop-ios={}", FILE_BYTES / 65536);
    let (token, address) = (token(server), server.address("").to_string());
    let load = ["-b64K", "-w100", "-o4", "-d60", "-W0", &blocks, &token];
    run(server.folder.path(), &[&load[..], more, &[&address]].concat()).good();
}

#[test]
fn what_is_written_stands_in_the_servers_file_and_is_verified() {
    if is_missing() {
        return;
    }
    let server = Server::unix(&LOGGED, &FILE);
    let address = server.address("").to_string();
    let token = token(&server);
    write_whole(&server, &[]);
    let counting: Vec<u8> = (0..FILE_BYTES).map(|at| at.to_le_bytes()[0]).collect();
    assert!(server.file() == counting, "the data are not those of the counting pattern");
    let mix = ["-b4K", "-w50", "-r", "-o16", "-d60", "-W0", "--stop-ios=4000", "--verify"];
    let mix = [&mix[..], &["--verify-journal=journal", &token, &address]].concat();
    let ran = run(server.folder.path(), &mix).good();
    let verified = &ran.result["verification"]["targets"][0];
    assert!(verified["verified_blocks"].as_u64().is_some_and(|count| count > 100), "{verified}");
    // Afterwards, over the protocol.
    let folder = server.folder.path();
    run(folder, &["--verify-only=journal"]).good();
    let mut file = server.file();
    let is_stamped = |block: &usize| file[block * 4096..][..256] != counting[..256];
    let at = 4096 * (0..file.len() / 4096).find(is_stamped).expect("a block was written");
    file[at + 100] ^= 1;
    std::fs::write(server.path("disk"), file).unwrap();
    assert_eq!(run(folder, &["--verify-only=journal"]).code, Some(4));
}

/// A server that was not there was taken for a target that has moved, and one whose disk was cut for one
/// whose data have changed.
#[test]
fn verify_only_of_a_server_that_was_gone_or_cut_named_the_wrong_remedy() {
    if is_missing() {
        return;
    }
    let server = Server::unix(&LOGGED, &FILE);
    write_whole(&server, &["--verify-journal=journal"]);
    let folder = server.folder.path();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("nbd://{}", closed.local_addr().unwrap());
    drop(closed);
    let gone = run(folder, &["--verify-only=journal", &nobody]);
    assert_eq!(gone.code, Some(1), "{}", gone.errors);
    assert!(gone.errors.contains("start its server, or name the targets"), "{}", gone.errors);
    assert!(!gone.errors.contains("if they have moved"), "{}", gone.errors);

    let disk = std::fs::File::options().write(true).open(server.path("disk")).unwrap();
    disk.set_len(FILE_BYTES / 2).unwrap();
    let cut = run(folder, &["--verify-only=journal"]);
    assert_eq!(cut.code, Some(4), "{}", cut.errors);
    let words = format!("it has {} bytes, and the journal is about {FILE_BYTES}", FILE_BYTES / 2);
    assert!(cut.errors.contains(&words), "{}", cut.errors);
}

#[test]
fn trims_and_syncs_reach_the_server() {
    if is_missing() {
        return;
    }
    let server = Server::unix(&LOGGED, &FILE);
    let address = server.address("").to_string();
    let token = format!("--allow-write={}/:{FILE_BYTES}", server.path("socket").display());
    let load = ["-b4K", "-r", "-w50", "--trim=20", "--fsync=10", "-o4", "-d60", "-W0"];
    let load = [&load[..], &["--stop-ios=1000", &token, &address]].concat();
    let ran = run(server.folder.path(), &load).good();
    let trims = ran.span()["threads"][0]["targets"][0]["trim"]["ios"].as_u64().unwrap();
    assert!(trims > 50, "{trims}");
    assert_eq!(of_size(&server, "Trim", 4096), trims);
    assert!(server.log().count("Flush") > 0);
}

/// The least round trip and the least latency of a read, in nanoseconds.
fn least_ns(ran: &Ran) -> (f64, f64) {
    let trip_ns = ran.network()["round_trip"]["min_ns"].as_f64().unwrap();
    let read = &ran.span()["threads"][0]["targets"][0]["read"];
    (trip_ns, read["latency"]["min_ns"].as_f64().unwrap())
}

#[test]
fn the_round_trip_that_is_told_is_that_of_the_way() {
    if is_missing() {
        return;
    }
    let server = Server::tcp(&["--filter=delay"], &["file", "{}/disk", "rdelay=5ms"]);
    let address = server.address("").to_string();
    let load = ["-b4K", "-r", "-o1", "-d60", "-W0", "-L", "--stop-ios=100", &address];
    // How late a sleep ends depends on the machine: the reads of the load say what the way takes here. A
    // busy machine holds up some of either, so that several runs are looked at.
    let is_that_of_reads = |ran: &Ran| {
        let (trip_ns, read_ns) = least_ns(ran);
        trip_ns >= 5e6 && (trip_ns - read_ns).abs() < 0.25e6
    };
    let runs = || run(server.folder.path(), &load).good();
    let ran =
        std::iter::repeat_with(runs).take(20).find(is_that_of_reads).expect("the way is known");
    assert!(ran.warns("network_share"), "{}", ran.result["warnings"]);
}
