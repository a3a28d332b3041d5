//! iSCSI, against tgt (`tgtd` and `tgtadm`), which needs root.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use fathom_net::{Address, Connection, FaultKind, Operation, Request, Settings};
use fathom_sys::clock::now_ns;
use tempfile::TempDir;

use crate::load::{Buffers, NONE, drive, drive_blind, floor_ms, request, scattered};
use crate::ports::free_port;
use crate::server::{FILE_BYTES, delaying_proxy, low_byte, pattern, settings, skip};

pub const TARGET: &str = "iqn.2003-01.org.example:disk";

/// More daemons do not run at once.
const AT_ONCE: u32 = 64;

/// A running daemon with one target and one LUN, which is the file `disk`.
pub struct Tgt {
    folder: TempDir,
    child: Child,
    control: u32,
    pub port: u16,
}

impl Tgt {
    /// Nothing, with the reason said, where it cannot run.
    pub fn start() -> Option<Self> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("disk"), pattern(0, FILE_BYTES)).unwrap();
        let port = free_port();
        // Its control socket is a number of this host, of 32767 at most; tests run beside each other, and
        // one that has the number of another loses its daemon.
        let number = STARTED.fetch_add(1, Ordering::Relaxed) % AT_ONCE;
        let control = 1000 + std::process::id() % (30_000 / AT_ONCE) * AT_ONCE + number;
        let portal = format!("portal=127.0.0.1:{port}");
        let mut command = Command::new("tgtd");
        command.args(["-f", "-C", &control.to_string(), "--iscsi", &portal]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(child) = command.spawn() else {
            skip("there is no tgtd");
            return None;
        };
        let mut server = Self { folder, child, control, port };
        let begun_ns = now_ns();
        let new = format!("--lld iscsi --mode target --op new --tid 1 --targetname {TARGET}");
        while !server.admin(&new) {
            if server.child.try_wait().unwrap().is_some() || now_ns() - begun_ns > 20_000_000_000 {
                skip("tgtd does not run here: it needs root");
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let disk = server.disk();
        let unit = "--lld iscsi --mode logicalunit --tid 1 --lun 1";
        assert!(server.admin(&format!("{unit} --op new --backing-store {}", disk.display())));
        assert!(
            server
                .admin(&format!("{unit} --op update --params thin_provisioning=1,scsi_sn=SERIAL7"))
        );
        assert!(
            server.admin("--lld iscsi --mode target --op bind --tid 1 --initiator-address ALL")
        );
        Some(server)
    }

    pub fn admin(&self, arguments: &str) -> bool {
        self.administers(&arguments.split(' ').collect::<Vec<_>>())
    }

    pub fn administers(&self, arguments: &[&str]) -> bool {
        let mut command = Command::new("tgtadm");
        command.args(["-C", &self.control.to_string()]).args(arguments);
        let ran = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        ran.is_ok_and(|status| status.success())
    }

    fn disk(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    fn file(&self) -> Vec<u8> {
        fs::read(self.disk()).unwrap()
    }

    pub fn address(&self, path: &str) -> Address {
        Address::parse(&format!("iscsi://127.0.0.1:{}/{path}", self.port)).unwrap()
    }

    fn connect(&self) -> Connection {
        Connection::connect(&self.address(&format!("{TARGET}/1")), &settings()).unwrap()
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Tgt {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for end in ["", ".lock"] {
            let _ = fs::remove_file(format!("/var/run/tgtd/socket.{}{end}", self.control));
        }
    }
}

#[test]
fn facts_are_those_that_the_target_tells() {
    let Some(server) = Tgt::start() else { return };
    let mut connection = server.connect();
    let facts = connection.facts().clone();
    assert_eq!((facts.size_bytes, facts.block_bytes_min), (FILE_BYTES, 512));
    assert_eq!(facts.serial.as_deref(), Some("SERIAL7"));
    assert_eq!(server.address("iqn.x/1").token(&facts), "SERIAL7");
    assert!(facts.can_trim && facts.can_flush && !facts.is_read_only, "{facts:?}");
    assert!(facts.outstanding_max.unwrap() >= 32, "{facts:?}");
    assert!(connection.no_op().unwrap() > Duration::ZERO);
    assert!(connection.tcp_info().unwrap().segment_bytes > 0);
    let torn = request(Operation::Read, 256, 4096);
    assert_eq!(drive_blind(&mut connection, &[torn], 1).failed(), [-22]);
}

/// A load that writes with two threads had a warning that the server does not promise it.
#[test]
fn a_lun_was_said_not_to_show_one_session_what_another_has_written() {
    let Some(server) = Tgt::start() else { return };
    let [mut one, mut other] = [server.connect(), server.connect()];
    assert!(one.facts().can_share, "{:?}", one.facts());
    for round in 1..=32 {
        let mut read = [0; 4096];
        one.write_all_at(8192, &[round; 4096]).unwrap();
        other.read_exact_at(8192, &mut read).unwrap();
        assert_eq!(read, [round; 4096]);
    }
}

#[test]
fn reads_give_the_file() {
    let Some(server) = Tgt::start() else { return };
    let mut connection = server.connect();
    let file = server.file();
    for (bytes, depth) in [(4096_u32, 1), (512, 32), (65_536, 16), (1 << 20, 4), (4 << 20, 2)] {
        let requests = scattered(Operation::Read, bytes, 60);
        let see = |request: &Request, data: &[u8]| {
            let at = usize::try_from(request.offset_bytes).unwrap();
            assert!(data == &file[at..at + data.len()], "other data at {at} of {bytes} bytes");
        };
        let load = drive(&mut connection, &requests, depth, |_, data| data.fill(0xEE), see);
        assert!(load.ended.iter().all(|(_, result)| result.unsigned_abs() == bytes));
        assert_eq!(load.failed(), NONE);
    }
}

#[test]
fn writes_with_their_command_and_on_demand_reach_the_file() {
    let Some(server) = Tgt::start() else { return };
    let mut connection = server.connect();
    let mut expected = pattern(0, FILE_BYTES);
    // Beyond 64 KiB the target asks for the rest.
    for (round, bytes) in (0..).zip([4096_u32, 65_536, 66_048, 1 << 20]) {
        let requests = scattered(Operation::Write, bytes, 8);
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

#[test]
fn trims_leave_zeroes_in_the_file() {
    let Some(server) = Tgt::start() else { return };
    let mut connection = server.connect();
    let trim = request(Operation::Trim, 1 << 20, 1 << 20);
    assert_eq!(drive_blind(&mut connection, &[trim], 1).failed(), NONE);
    let mut expected = pattern(0, FILE_BYTES);
    expected[1 << 20..2 << 20].fill(0);
    assert!(server.file() == expected);
}

#[test]
fn as_many_are_outstanding_as_the_window_allows() {
    let Some(server) = Tgt::start() else { return };
    // Answers are held back, so that all that is sent at once is outstanding together.
    let delay = Duration::from_millis(20);
    let port = delaying_proxy(server.port, delay);
    let address = Address::parse(&format!("iscsi://127.0.0.1:{port}/{TARGET}/1")).unwrap();
    let mut connection = Connection::connect(&address, &settings()).unwrap();
    let floor_ms = floor_ms(&mut connection, 21.0);
    assert!((20.0..21.0).contains(&floor_ms), "{floor_ms} ms");
    let requests = scattered(Operation::Read, 4096, 320);
    let one = drive_blind(&mut connection, &requests[..10], 1).took;
    assert!(one >= 10 * delay, "{one:?}");
    // 320 at depth 1 take 320 delays. Outstanding together, they share them.
    let many = drive_blind(&mut connection, &requests, 32).took;
    assert!(many < 160 * delay, "{many:?}");
}

#[test]
fn more_than_the_window_waits_for_it() {
    let Some(server) = Tgt::start() else { return };
    let mut connection = server.connect();
    let window = connection.facts().outstanding_max.unwrap();
    let depth = window as usize * 3;
    let load = drive_blind(&mut connection, &scattered(Operation::Read, 4096, 3000), depth);
    assert_eq!((load.ended.len(), load.failed()), (3000, Vec::new()));
}

#[test]
fn wrong_targets_and_luns_are_told_by_kind() {
    let Some(server) = Tgt::start() else { return };
    for (path, words) in [
        ("iqn.2003-01.org.example:other/1".to_owned(), "no such target"),
        (format!("{TARGET}/7"), "no disk with the number 7"),
        // LUN 0 of tgt is its controller.
        (format!("{TARGET}/0"), "no disk with the number 0"),
    ] {
        let fault = Connection::connect(&server.address(&path), &settings()).unwrap_err();
        assert_eq!(fault.kind, FaultKind::NotFound, "{fault}");
        assert!(fault.text.contains(words), "{fault}");
    }
}

#[test]
fn a_target_that_wants_a_password_says_so() {
    let Some(server) = Tgt::start() else { return };
    let account = "--lld iscsi --mode account --op";
    assert!(server.admin(&format!("{account} new --user anna --password secretsecret1")));
    assert!(server.admin(&format!("{account} bind --tid 1 --user anna")));
    let fault = Connection::connect(&server.address(&format!("{TARGET}/1")), &settings());
    let fault = fault.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Credentials, "{fault}");
}

#[test]
fn a_read_only_lun_takes_no_writes() {
    let Some(server) = Tgt::start() else { return };
    let unit = "--lld iscsi --mode logicalunit --op update --tid 1 --lun 1 --params readonly=1";
    assert!(server.admin(unit));
    let mut connection = server.connect();
    assert!(connection.facts().is_read_only);
    assert_eq!(connection.write_all_at(0, &[0; 512]).unwrap_err().kind, FaultKind::ReadOnly);
    // One that becomes so in mid-run tells it by its sense data.
    assert!(server.admin(&unit.replace("readonly=1", "readonly=0")));
    let mut connection = server.connect();
    assert!(server.admin(unit));
    let write = request(Operation::Write, 0, 4096);
    assert_eq!(drive_blind(&mut connection, &[write], 1).failed(), [-30]);
    assert_eq!(connection.lost(), None);
    assert!(server.file() == pattern(0, FILE_BYTES));
}

#[test]
fn beyond_the_end_the_target_says_so() {
    let Some(server) = Tgt::start() else { return };
    let mut connection = server.connect();
    let beyond = [
        request(Operation::Read, FILE_BYTES, 4096),
        request(Operation::Write, FILE_BYTES - 512, 4096),
    ];
    assert_eq!(drive_blind(&mut connection, &beyond, 1).failed(), [-22, -22]);
    assert_eq!(
        drive_blind(&mut connection, &scattered(Operation::Read, 4096, 20), 4).failed(),
        NONE
    );
}

#[test]
fn a_server_that_is_killed_ends_all_that_was_outstanding() {
    let Some(mut server) = Tgt::start() else { return };
    let port = delaying_proxy(server.port, Duration::from_millis(100));
    let address = Address::parse(&format!("iscsi://127.0.0.1:{port}/{TARGET}/1")).unwrap();
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
    assert_eq!(
        (connection.in_flight(), connection.lost().unwrap().kind),
        (0, FaultKind::Disconnected)
    );
    assert_eq!(connection.no_op().unwrap_err().kind, FaultKind::Disconnected);
}

#[test]
fn who_is_no_iscsi_target_is_told_apart() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        use std::io::Write;
        let (mut client, _) = listener.accept().unwrap();
        client.write_all(&[b'x'; 100]).unwrap();
        let _ = std::io::copy(&mut client, &mut std::io::sink());
    });
    let address = Address::parse(&format!("iscsi://127.0.0.1:{port}/{TARGET}/1")).unwrap();
    let brief = Settings { timeout: Duration::from_secs(5), ..settings() };
    let fault = Connection::connect(&address, &brief).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Protocol, "{fault}");
    thread.join().unwrap();
}
