//! NFS 3, against nfs-ganesha, which needs a port mapper: both run in network and mount namespaces of their
//! own, and so does the test.

use std::time::Duration;

use fathom_net::{Address, Connection, FaultKind, Operation};

use crate::files::{
    FileServer, a_file_comes_and_goes, a_kill_ends_all, data_and_offsets, many_are_outstanding,
    outstanding, writes_without_room,
};
use crate::ganesha::{Export, Ganesha, Mapper};
use crate::load::{drive_blind, scattered};
use crate::namespace::{is_inside, small_file_system};
use crate::server::{FILE_BYTES, pattern, settings};

fn started(access: &str) -> Option<(Mapper, Ganesha)> {
    let mapper = Mapper::start()?;
    let export = Export { access, protocols: "3", ..Export::default() };
    Ganesha::start(&export).map(|server| (mapper, server))
}

#[test]
fn data_offsets_and_limits_of_version_3() {
    if !is_inside("nfs3::data_offsets_and_limits_of_version_3") {
        return;
    }
    let Some((_mapper, mut server)) = started("RW") else { return };
    let mut connection = server.connect();
    let facts = connection.facts().clone();
    assert_eq!((facts.size_bytes, facts.dialect.as_str()), (FILE_BYTES, "NFS 3"));
    assert_eq!((facts.outstanding_max, facts.is_read_only, facts.can_trim), (None, false, false));
    assert!(connection.no_op().unwrap() > Duration::ZERO);
    connection.close();
    // The port of the mount protocol is the port mapper's to know.
    let named = server.at("disk", server.port).to_string();
    let (asked, _) = named.split_once("&mountport").unwrap();
    let asked = Address::parse(asked).unwrap();
    // A server begins to listen before it has told the port mapper all of its ports.
    let connected = (0..100).find_map(|_| match Connection::connect(&asked, &settings()) {
        Err(fault) if fault.kind == FaultKind::Unsupported => {
            std::thread::sleep(Duration::from_millis(50));
            None
        }
        connected => Some(connected.unwrap()),
    });
    connected.expect("the port mapper knows the port").close();
    data_and_offsets(&server);
    a_file_comes_and_goes(&server);
    many_are_outstanding(&server);
    assert_eq!(outstanding(&server, 100), 100);
    let mut connection = server.connect();
    // Without state on the server, a file that is gone is gone for everybody.
    server.connect().remove().unwrap();
    let failed = drive_blind(&mut connection, &scattered(Operation::Read, 4096, 20), 4).failed();
    assert_eq!(failed, vec![-116; 20]);
    assert_eq!(connection.lost(), None);
    std::fs::write(server.path("disk"), pattern(0, FILE_BYTES)).unwrap();
    a_kill_ends_all(&mut server);
}

#[test]
fn a_read_only_export_and_no_port_mapper_of_version_3() {
    if !is_inside("nfs3::a_read_only_export_and_no_port_mapper_of_version_3") {
        return;
    }
    let Some((mapper, server)) = started("RO") else { return };
    let mut connection = server.connect();
    assert!(connection.facts().is_read_only);
    assert_eq!(connection.write_all_at(0, &[0; 512]).unwrap_err().kind, FaultKind::ReadOnly);
    let fault = Connection::connect(&server.at("missing", server.port), &settings());
    assert_eq!(fault.unwrap_err().kind, FaultKind::NotFound);
    let fault = Connection::connect(&server.at("inner", server.port), &settings());
    assert_eq!(fault.unwrap_err().kind, FaultKind::Invalid);
    drop(mapper);
    let named = server.at("disk", server.port).to_string();
    let (asked, _) = named.split_once("&mountport").unwrap();
    let asked = Address::parse(asked).unwrap();
    // The server, which has lost its port mapper, ends new connections at times.
    let fault = (0..100).find_map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        let fault = Connection::connect(&asked, &settings()).unwrap_err();
        (fault.kind != FaultKind::Disconnected).then_some(fault)
    });
    let fault = fault.expect("an answer");
    assert!(fault.text.contains("rpcbind") && fault.text.contains("mountport=PORT"), "{fault}");
}

#[test]
fn a_full_export_says_so() {
    if !is_inside("nfs3::a_full_export_says_so") {
        return;
    }
    let folder = small_file_system();
    let Some(_mapper) = Mapper::start() else { return };
    for version in ["4", "3"] {
        let export =
            Export { protocols: version, folder: Some(folder.clone()), ..Export::default() };
        let Some(server) = Ganesha::start(&export) else { return };
        let failed = writes_without_room(&server, FILE_BYTES);
        assert!((40..64).contains(&failed.len()), "{failed:?}");
        assert!(failed.iter().all(|result| *result == -28), "{failed:?}");
        drop(server);
        std::fs::remove_dir(folder.join("inner")).unwrap();
    }
}
