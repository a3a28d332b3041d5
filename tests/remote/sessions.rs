//! What servers say of single I/Os and of sessions: busy, reserved by somebody else, expired.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::broken::{failed, first_failure, load};
use crate::files::FileServer;
use crate::ganesha::{Export, Ganesha};
use crate::iscsi::{TARGET, Tgt, address_over};
use crate::rewriting::{record, rewriting_proxy, unit};
use crate::server::skip;

const WRITES: [&str; 4] = ["-w100", "--allow-write=SERIAL7", "--stop-ios=3000", "--io-timeout=20"];

/// Changes the status of so many commands of a load on a LUN.
fn statuses(server: &Tgt, status: u8, ios: u64) -> (u16, std::sync::Arc<AtomicU64>) {
    let seen = AtomicU64::new(0);
    rewriting_proxy(server.port, unit, move |unit| {
        let is_good = unit[0] == 0x21 && unit[2..4] == [0, 0];
        // The first ones are those of connecting, which asks for facts.
        let number = if is_good { seen.fetch_add(1, Ordering::Relaxed) } else { 0 };
        let is_changed = is_good && (200..200 + ios).contains(&number);
        if is_changed {
            unit[3] = status;
        }
        is_changed
    })
}

#[test]
fn commands_that_a_busy_lun_does_not_take_are_counted() {
    let Some(server) = Tgt::start(|_| {}) else { return };
    // BUSY and TASK SET FULL.
    for status in [0x08, 0x28] {
        let (port, changed) = statuses(&server, status, 30);
        let goes_on = load(&address_over(port), &[&WRITES[..], &["--on-error=continue"]].concat());
        assert_eq!(changed.load(Ordering::Relaxed), 30);
        assert_eq!((failed(&goes_on, "EBUSY"), goes_on.sum("write", "errors")), (30, 30));
        assert_eq!(goes_on.code, Some(0), "{}", goes_on.errors);
        let (port, _) = statuses(&server, status, 30);
        let ends = load(&address_over(port), &WRITES);
        assert_eq!((ends.code, first_failure(&ends)), (Some(1), &"busy".into()), "{}", ends.errors);
        let count = failed(&ends, "EBUSY");
        assert!((1..=8).contains(&count) && count == ends.sum("write", "errors"), "{count}");
        assert_eq!(ends.network()["lost_connections"], 0);
    }
}

impl Tgt {
    /// Reserves the LUN for another session, for as long as that lives.
    fn reserve(&self) -> TcpStream {
        let mut other = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let text = format!("InitiatorName=iqn.x:other\0TargetName={TARGET}\0SessionType=Normal\0");
        let mut login = vec![0; 48];
        login[..2].copy_from_slice(&[0x43, 0x87]);
        login[7] = u8::try_from(text.len()).unwrap();
        login[8] = 0x80;
        login.extend(text.as_bytes());
        login.resize(login.len().next_multiple_of(4), 0);
        other.write_all(&login).unwrap();
        let answer = unit(&mut other).unwrap();
        assert_eq!((answer[0], &answer[36..38]), (0x23, &[0, 0][..]));
        let next = u32::from_be_bytes(answer[28..32].try_into().unwrap());
        // A new session hears first of what has happened to the LUN.
        for number in next.. {
            let mut command = vec![0; 48];
            command[..2].copy_from_slice(&[0x01, 0x81]);
            command[9] = 1;
            command[24..28].copy_from_slice(&number.to_be_bytes());
            // RESERVE (6) of SPC-2.
            command[32] = 0x16;
            other.write_all(&command).unwrap();
            let answer = unit(&mut other).unwrap();
            assert_eq!(answer[0], 0x21);
            if answer[3] == 0 {
                break;
            }
            assert!(answer[3] == 2 && number - next < 8, "status {}", answer[3]);
        }
        other
    }
}

#[test]
fn a_lun_that_another_initiator_reserves_is_told_before_and_in_a_load() {
    let Some(server) = Tgt::start(|_| {}) else { return };
    let other = server.reserve();
    let before = load(&server.address(), &[]);
    assert_eq!((before.code, first_failure(&before)), (Some(1), &"busy".into()));
    assert!(before.errors.contains("another initiator has reserved it"), "{}", before.errors);
    assert_eq!(
        (before.sum("read", "ios"), failed(&before, "EBADE")),
        (0, before.sum("read", "errors"))
    );
    drop(other);
    let struck = |more: &[&str]| {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_secs(1));
                server.reserve()
            });
            (load(&server.address(), more), other.join().unwrap()).0
        })
    };
    let ends = struck(&[]);
    assert_eq!((ends.code, first_failure(&ends)), (Some(1), &"busy".into()), "{}", ends.errors);
    let count = failed(&ends, "EBADE");
    assert!((1..=8).contains(&count) && count == ends.sum("read", "errors"), "{count}");
    let goes_on = struck(&["--on-error=count=50"]);
    let count = failed(&goes_on, "EBADE");
    assert!((50..=57).contains(&count) && count == goes_on.sum("read", "errors"), "{count}");
    assert_eq!((goes_on.code, &goes_on.network()["lost_connections"]), (Some(1), &0.into()));
    let freed = load(&server.address(), &["--stop-ios=100"]).good();
    assert_eq!(freed.sum("read", "ios"), 100);
}

/// An answer to a compound call: the status of all of it, and those of its operations, of which the last one
/// has failed.
fn compound(record: &mut Vec<u8>, status: u32, kept_bytes: usize, operation: u32) {
    // Length, number of the call, answer, accepted, no verifier, done.
    let operations = &record[4 + 24 + 12..4 + 24 + 12 + kept_bytes];
    let count = if kept_bytes > 0 { 3_u32 } else { 1 };
    let words =
        |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>();
    let head = [&record[4..28], &words(&[status, 0, count])].concat();
    let all = [&head[..], operations, &words(&[operation, status])].concat();
    let length = 0x8000_0000 | u32::try_from(all.len()).unwrap();
    *record = [&length.to_be_bytes()[..], &all].concat();
}

/// The answer to a read: sequence with 36 bytes, the handle, and data. So long is nothing else.
fn is_read(record: &[u8]) -> bool {
    record.len() > 4096
}

#[test]
fn a_session_that_an_nfs_server_has_forgotten_ends_the_run() {
    let Some(server) = Ganesha::start(&Export::default()) else {
        return skip("NFS-Ganesha does not run here");
    };
    let seen = AtomicU64::new(0);
    let (port, changed) = rewriting_proxy(server.port, record, move |record| {
        let is_changed = is_read(record) && seen.fetch_add(1, Ordering::Relaxed) >= 500;
        if is_changed {
            // SEQUENCE: NFS4ERR_BADSESSION.
            compound(record, 10_052, 0, 53);
        }
        is_changed
    });
    let ran = load(&server.at("disk", port).to_string(), &[]);
    assert_eq!(
        (ran.code, first_failure(&ran)),
        (Some(1), &"disconnected".into()),
        "{}",
        ran.errors
    );
    assert!(ran.errors.contains("the server has ended the session"), "{}", ran.errors);
    assert_eq!(
        (ran.sum("read", "ios"), ran.network()["lost_connections"].as_u64()),
        (500, Some(1))
    );
    let lost = ran.sum("read", "errors");
    // Those that came with the last good ones have not been issued again.
    assert!((1..=8).contains(&lost) && lost == failed(&ran, "ECONNRESET"), "{lost}");
    assert!(changed.load(Ordering::Relaxed) > 0);
}

#[test]
fn an_open_that_an_nfs_server_has_expired_is_no_fault_of_the_medium() {
    let Some(server) = Ganesha::start(&Export::default()) else {
        return skip("NFS-Ganesha does not run here");
    };
    let seen = AtomicU64::new(0);
    let (port, changed) = rewriting_proxy(server.port, record, move |record| {
        let is_changed =
            is_read(record) && (500..540).contains(&seen.fetch_add(1, Ordering::Relaxed));
        if is_changed {
            // READ: NFS4ERR_EXPIRED, behind SEQUENCE and PUTFH, which went well.
            compound(record, 10_011, 44 + 8, 25);
        }
        is_changed
    });
    let more = ["--on-error=continue", "--stop-ios=2000", "--io-timeout=20"];
    let ran = load(&server.at("disk", port).to_string(), &more);
    assert_eq!((failed(&ran, "ESTALE"), ran.sum("read", "errors")), (40, 40), "{}", ran.errors);
    assert_eq!((ran.code, changed.load(Ordering::Relaxed)), (Some(0), 40));
}
