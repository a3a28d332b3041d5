//! SMB, against Samba.

use std::io::{Read, Write};
use std::time::Duration;

use fathom_net::{
    Address, Connection, Credentials, Fault, FaultKind, Opening, Operation, Request, Settings,
};

use crate::files::{
    FileServer, a_file_comes_and_goes, a_kill_ends_all, data_and_offsets, data_and_offsets_over,
    many_are_outstanding, outstanding,
};
use crate::load::{NONE, drive_blind, request, scattered};
use crate::namespace::{is_inside, small_file_system};
use crate::samba::{PASSWORD, Samba};
use crate::server::{FILE_BYTES, pattern, settings};
use crate::tap::Tap;

fn refused(address: &Address, settings: &Settings) -> Fault {
    Connection::connect(address, settings).map(drop).unwrap_err()
}

#[test]
fn facts_data_and_offsets_are_those_of_the_file() {
    let Some(server) = Samba::start("", "") else { return };
    let mut connection = server.connect();
    let facts = connection.facts().clone();
    assert_eq!((facts.size_bytes, facts.block_bytes_min), (FILE_BYTES, 1));
    assert_eq!((facts.dialect.as_str(), &facts.signing), ("SMB 3.1.1", &None));
    assert!(facts.outstanding_max.unwrap() >= 128 && !facts.is_read_only, "{facts:?}");
    assert!(facts.request_bytes_max >= 1 << 20, "{facts:?}");
    assert!(connection.no_op().unwrap() > Duration::ZERO);
    assert!(connection.tcp_info().unwrap().segment_bytes > 0);
    connection.close();
    data_and_offsets(&server);
    a_file_comes_and_goes(&server);
}

#[test]
fn dialects_signatures_and_ciphers_are_those_that_the_server_wants() {
    for (global, dialect, signing, encryption) in [
        (
            "server max protocol = SMB2_10\nserver signing = mandatory",
            "2.1",
            Some("HMAC-SHA256"),
            None,
        ),
        (
            "server max protocol = SMB3_00\nserver signing = mandatory",
            "3.0",
            Some("AES-128-CMAC"),
            None,
        ),
        (
            "server max protocol = SMB3_02\nserver smb encrypt = required",
            "3.0.2",
            None,
            Some("AES-128-CCM"),
        ),
    ] {
        let Some(server) = Samba::start(global, "") else { return };
        let connection = server.connect();
        let facts = connection.facts().clone();
        let known = (facts.dialect.as_str(), facts.signing.as_deref(), facts.encryption.as_deref());
        assert_eq!(known, (&*format!("SMB {dialect}"), signing, encryption), "{global}");
        data_and_offsets_over(&server, connection, 4, 200_001);
    }
}

#[test]
fn what_the_address_requires_is_done_and_what_a_share_requires_too() {
    let Some(server) = Samba::start("", "") else { return };
    let connect = |path: &str| Connection::connect(&server.address(path), &server.settings());
    let connection = connect("disk?encryption=required").unwrap();
    assert_eq!(connection.facts().encryption.as_deref(), Some("AES-128-GCM"));
    data_and_offsets_over(&server, connection, 4, 200_001);
    let connection = connect("disk?signing=required").unwrap();
    assert_eq!(connection.facts().signing.as_deref(), Some("AES-128-CMAC"));
    data_and_offsets_over(&server, connection, 4, 200_001);
    let Some(server) = Samba::start("", "server smb encrypt = required") else { return };
    let mut connection = server.connect();
    assert_eq!(connection.facts().encryption.as_deref(), Some("AES-128-GCM"));
    let load = drive_blind(&mut connection, &scattered(Operation::Read, 4096, 50), 8);
    assert_eq!(load.failed(), NONE);
    connection.close();
}

#[test]
fn who_logs_in_and_how_is_told_by_kind_and_no_text_has_the_password() {
    let Some(server) = Samba::start("", "") else { return };
    let with = |user: &str, password: &str| Settings {
        credentials: Some(Credentials::new(user, "", password)),
        ..settings()
    };
    let disk = server.address("disk");
    let wrong = refused(&disk, &with(&server.user, "wr0ngsecret"));
    assert_eq!(wrong.kind, FaultKind::Credentials, "{wrong}");
    assert!(wrong.text.contains("user or password is wrong"), "{wrong}");
    // A server that takes unknown users as guests is not where the user meant to be.
    let unknown = refused(&disk, &with("nobodyhere", "wr0ngsecret"));
    assert_eq!(unknown.kind, FaultKind::Credentials, "{unknown}");
    assert!(unknown.text.contains("guest"), "{unknown}");
    for fault in [wrong, unknown] {
        assert!(!format!("{fault} {fault:?}").contains("wr0ngsecret"));
    }
    let other = Address::parse(&disk.to_string().replace("smb://", "smb://anna@")).unwrap();
    let fault = refused(&other, &server.settings());
    assert!(fault.kind == FaultKind::Credentials && fault.text.contains("'anna'"), "{fault}");
    // Without credentials it is the guest.
    let guest = Connection::connect(&disk, &settings()).unwrap();
    assert_eq!(guest.facts().dialect, "SMB 3.1.1, as guest");
    assert!(!format!("{guest:?}").contains(PASSWORD));
    guest.close();
    let fault = refused(&server.address("disk?encryption=required"), &settings());
    assert_eq!(fault.kind, FaultKind::Credentials, "{fault}");
    let connection = server.connect();
    assert!(!format!("{connection:?} {:?}", server.settings()).contains(PASSWORD));
    connection.close();
}

/// Number of a word of 32 bits in a message.
fn word(head: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(head[at..at + 4].try_into().unwrap())
}

#[test]
fn options_of_the_open_and_of_each_write_are_seen_on_the_wire() {
    let Some(server) = Samba::start("", "") else { return };
    for (is_unbuffered, is_write_through) in
        [(false, false), (true, false), (false, true), (true, true)]
    {
        let opening = Opening { is_unbuffered, is_write_through };
        let tap = Tap::start(server.port, Duration::ZERO);
        let settings = Settings { opening, ..server.settings() };
        let mut connection = Connection::connect(&server.at("disk", tap.port), &settings).unwrap();
        let block = connection.facts().block_bytes_min;
        assert_eq!(block > 1, is_unbuffered, "{:?}", connection.facts());
        let through = Request { is_through: true, ..request(Operation::Write, 8192, 4096) };
        let requests =
            [request(Operation::Write, 0, 4096), through, request(Operation::Read, 0, 4096)];
        assert_eq!(drive_blind(&mut connection, &requests, 1).failed(), NONE);
        connection.flush().unwrap();
        connection.close();
        let calls: Vec<_> = tap.messages().into_iter().filter(|one| one.is_call).collect();
        let of = |command: u8| calls.iter().filter(move |one| one.head[12] == command);
        // MS-SMB2 2.2.13: the options of a create are 40 bytes after the head.
        let options: Vec<_> = of(5).map(|one| word(&one.head, 64 + 40)).collect();
        let wanted = 0x40 | u32::from(is_unbuffered) << 3 | u32::from(is_write_through) << 1;
        assert_eq!(options, [wanted]);
        // 2.2.21: the flags of a write are 44 bytes after the head, of a read 3.
        let flags: Vec<_> = of(9).map(|one| word(&one.head, 64 + 44)).collect();
        let unbuffered = u32::from(is_unbuffered) << 1;
        assert_eq!(flags, [unbuffered | u32::from(is_write_through), unbuffered | 1]);
        let reads: Vec<_> = of(8).map(|one| one.head[64 + 3]).collect();
        assert_eq!(reads, [u8::from(is_unbuffered)]);
        // One flush, one close, one end of the login.
        assert_eq!([of(7).count(), of(6).count(), of(2).count()], [1, 1, 1]);
    }
}

#[test]
fn as_many_are_outstanding_as_there_are_credits() {
    let Some(server) = Samba::start("smb2 max credits = 128", "") else { return };
    many_are_outstanding(&server);
    let most = server.connect().facts().outstanding_max.unwrap();
    assert!((100..=128).contains(&most), "{most}");
    for depth in [1, 32, 64] {
        assert_eq!(outstanding(&server, depth), depth);
    }
    let seen = outstanding(&server, 300);
    assert!((64..=most as usize).contains(&seen), "{seen} of {most}");
    // A request of 1 MiB costs sixteen credits.
    let mut connection = server.connect();
    let load = drive_blind(&mut connection, &scattered(Operation::Read, 1 << 20, 60), 32);
    assert_eq!((load.ended.len(), load.failed()), (60, Vec::new()));
    connection.close();
}

#[test]
fn a_server_that_is_killed_ends_all_that_was_outstanding() {
    let Some(mut server) = Samba::start("", "") else { return };
    a_kill_ends_all(&mut server);
}

#[test]
fn a_read_only_share_takes_no_writes() {
    let Some(server) = Samba::start("", "read only = yes") else { return };
    let mut connection = server.connect();
    assert!(connection.facts().is_read_only);
    assert_eq!(connection.write_all_at(0, &[0; 512]).unwrap_err().kind, FaultKind::ReadOnly);
    let fault = Connection::create(&server.address("new"), &server.settings()).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::ReadOnly | FaultKind::Denied), "{fault}");
    let load = drive_blind(&mut connection, &scattered(Operation::Read, 4096, 20), 4);
    assert_eq!(load.failed(), NONE);
    assert!(server.file() == pattern(0, FILE_BYTES));
}

#[test]
fn names_that_are_wrong_are_told_by_kind() {
    let Some(server) = Samba::start("", "") else { return };
    for (name, kind) in [
        ("missing", FaultKind::NotFound),
        ("nowhere/disk", FaultKind::NotFound),
        ("inner", FaultKind::Invalid),
    ] {
        let fault = refused(&server.address(name), &server.settings());
        assert_eq!(fault.kind, kind, "{name}: {fault}");
    }
    let text = format!("smb://127.0.0.1:{}/nowhere/disk", server.port);
    let fault = refused(&Address::parse(&text).unwrap(), &server.settings());
    assert!(fault.kind == FaultKind::NotFound && fault.text.contains("no such share"), "{fault}");
}

#[test]
fn reads_at_the_end_are_short_and_trims_are_said_to_be_impossible() {
    let Some(server) = Samba::start("", "") else { return };
    let mut connection = server.connect();
    let requests = [
        request(Operation::Read, FILE_BYTES - 100, 4096),
        request(Operation::Read, FILE_BYTES, 4096),
        request(Operation::Write, FILE_BYTES, 4096),
        request(Operation::Trim, 0, 4096),
    ];
    let load = drive_blind(&mut connection, &requests, 1);
    let results: Vec<_> = load.ended.iter().map(|(_, result)| *result).collect();
    assert_eq!(results, [100, 0, 4096, -95]);
    connection.close();
    assert_eq!(server.file().len() as u64, FILE_BYTES + 4096);
}

#[test]
fn a_file_that_another_client_removes_goes_when_it_is_closed() {
    let Some(server) = Samba::start("", "") else { return };
    let mut connection = server.connect();
    server.connect().remove().unwrap();
    let failed = drive_blind(&mut connection, &scattered(Operation::Read, 4096, 20), 4).failed();
    assert_eq!(failed, NONE);
    connection.close();
    assert!(!server.path("disk").exists());
}

#[test]
fn a_full_share_says_so() {
    if !is_inside("smb::a_full_share_says_so") {
        return;
    }
    let share = format!("path = {}", small_file_system().display());
    let Some(server) = Samba::start("strict allocate = no", &share) else { return };
    let connection = Connection::create(&server.at("new", server.port), &server.settings());
    connection.unwrap().close();
    let mut connection =
        Connection::connect(&server.at("new", server.port), &server.settings()).unwrap();
    let writes: Vec<_> = (0..160).map(|k| request(Operation::Write, k * 65_536, 65_536)).collect();
    let failed = drive_blind(&mut connection, &writes, 4).failed();
    assert!((10..60).contains(&failed.len()), "{failed:?}");
    assert!(failed.iter().all(|result| *result == -28), "{failed:?}");
    assert_eq!(connection.lost(), None);
    let fault = connection.write_all_at(20 << 20, &vec![0; 65_536]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::NoSpace, "{fault}");
    connection.close();
}

/// A proxy that takes the best dialect out of the client's offer, and changes nothing else.
fn downgrading_proxy(server_port: u16) -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut near, _) = listener.accept().unwrap();
        let mut far = std::net::TcpStream::connect(("127.0.0.1", server_port)).unwrap();
        let mut offer = vec![0; 65_536];
        let bytes = near.read(&mut offer).unwrap();
        // MS-SMB2 2.2.3: the count of dialects is two bytes after the head.
        assert_eq!(offer[4 + 66], 4);
        offer[4 + 66] = 3;
        far.write_all(&offer[..bytes]).unwrap();
        let (mut from, mut to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(std::net::Shutdown::Both);
        });
        let _ = std::io::copy(&mut far, &mut near);
        let _ = near.shutdown(std::net::Shutdown::Both);
    });
    port
}

#[test]
fn a_dialect_that_somebody_in_between_brings_down_is_found_out() {
    let Some(server) = Samba::start("", "") else { return };
    let port = downgrading_proxy(server.port);
    let fault = refused(&server.at("disk", port), &server.settings());
    assert!(matches!(fault.kind, FaultKind::Disconnected | FaultKind::Protocol), "{fault}");
    // A server that has nothing better says the same as before, and is believed.
    let Some(server) = Samba::start("server max protocol = SMB3_02", "") else { return };
    let connection =
        Connection::connect(&server.at("disk", downgrading_proxy(server.port)), &server.settings());
    assert_eq!(connection.unwrap().facts().dialect, "SMB 3.0.2");
}
