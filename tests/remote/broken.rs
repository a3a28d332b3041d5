//! Servers and networks that fail in the middle of a load: the same for each protocol, with exact counts.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::breaking::{Break, breaking_proxy};
use crate::files::FileServer;
use crate::ganesha::{Export, Ganesha, Mapper};
use crate::iscsi::{Tgt, address_over};
use crate::namespace::{is_inside, small_file_system};
use crate::run::{Ran, run};
use crate::samba::Samba;
use crate::server::{Server, is_missing, skip};

const LOAD: [&str; 7] = ["-b4K", "-r", "-o8", "-W0", "-d30", "-L", "--io-timeout=2"];

pub fn load(address: &str, more: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &[&LOAD[..], more, &[address]].concat())
}

/// I/Os that failed so, by the name of the error.
pub fn failed(ran: &Ran, kind: &str) -> u64 {
    let threads = ran.span()["threads"].as_array().unwrap().iter();
    let targets = threads.flat_map(|thread| thread["targets"].as_array().unwrap());
    let faults = targets.flat_map(|target| target["faults"].as_array().into_iter().flatten());
    let of_kind = faults.filter(|fault| fault["kind"] == kind);
    of_kind.map(|fault| fault["ios"].as_u64().unwrap()).sum()
}

pub fn first_failure(ran: &Ran) -> &Value {
    &ran.result["failures"][0]["kind"]
}

/// All three breaks, on the address of a file or disk by port.
fn breaks(port: u16, address: impl Fn(u16) -> String) {
    let with = |how, more: &[&str]| load(&address(breaking_proxy(port, how)), more);
    let cut = with(Break::Cut, &[]);
    assert_eq!(
        (cut.code, first_failure(&cut)),
        (Some(1), &"disconnected".into()),
        "{}",
        cut.errors
    );
    let lost = cut.sum("read", "errors");
    assert!((1..=8).contains(&lost) && lost == failed(&cut, "ECONNRESET"), "{}", cut.errors);
    assert_eq!(cut.network()["lost_connections"], 1);
    assert!(cut.sum("read", "ios") > 8 && cut.span()["outcome"] == "interrupted");

    let goes_on = with(Break::Cut, &["--on-error=count=20"]);
    assert_eq!(goes_on.code, Some(1));
    let (lost, later) = (failed(&goes_on, "ECONNRESET"), failed(&goes_on, "ENOTCONN"));
    assert!((1..=8).contains(&lost), "{}", goes_on.errors);
    // Those in flight beside the last one that was tolerated fail as well.
    let all = goes_on.sum("read", "errors");
    assert!(all == lost + later && (20..=28).contains(&all), "{lost} and {later}");

    let garbled = with(Break::Garble, &[]);
    let kind = first_failure(&garbled);
    assert_eq!((garbled.code, kind), (Some(1), &"protocol".into()), "{}", garbled.errors);
    // Answers that came with the nonsense have completed, and nothing was issued behind them.
    let lost = garbled.sum("read", "errors");
    assert!((1..=8).contains(&lost) && lost == failed(&garbled, "EPROTO"), "{}", garbled.errors);
    assert_eq!(garbled.network()["lost_connections"], 1);

    let stalled = with(Break::Stall, &[]);
    let kind = first_failure(&stalled);
    assert_eq!((stalled.code, kind), (Some(1), &"timed_out".into()), "{}", stalled.errors);
    assert_eq!(stalled.span()["outstanding"].as_array().unwrap().len(), 8);
    assert_eq!(stalled.sum("read", "errors"), 0);
    assert!(stalled.errors.contains("look at the server"), "{}", stalled.errors);
}

#[test]
fn an_nbd_server_that_ends_stalls_or_talks_nonsense() {
    if is_missing() {
        return;
    }
    // With more threads nbdkit 1.32 aborts now and then when a connection is cut: one writes to the socket
    // that another one has closed.
    let server = Server::tcp(&["--threads=1"], &["file", "{}/disk"]);
    breaks(server.port.unwrap(), |port| format!("nbd://127.0.0.1:{port}/"));
}

#[test]
fn an_iscsi_server_that_ends_stalls_or_talks_nonsense() {
    let Some(server) = Tgt::start(|_| {}) else { return };
    breaks(server.port, address_over);
}

#[test]
fn a_share_whose_server_ends_stalls_or_talks_nonsense() {
    let Some(server) = Samba::start("", "") else { return };
    breaks(server.port, |port| server.at("disk", port).to_string());
}

#[test]
fn an_export_whose_server_ends_stalls_or_talks_nonsense() {
    let Some(server) = Ganesha::start(&Export::default()) else {
        return skip("NFS-Ganesha does not run here");
    };
    breaks(server.port, |port| server.at("disk", port).to_string());
}

/// Version 3 of NFS, which needs a port mapper and so a namespace.
fn of_version_3(access: &str, folder: Option<std::path::PathBuf>) -> Option<(Mapper, Ganesha)> {
    let mapper = Mapper::start()?;
    let server = Ganesha::start(&Export { access, protocols: "3", folder });
    server.map(|server| (mapper, server))
}

#[test]
fn an_export_of_version_3_whose_server_ends_stalls_or_talks_nonsense() {
    if !is_inside("broken::an_export_of_version_3_whose_server_ends_stalls_or_talks_nonsense") {
        return;
    }
    let Some((_mapper, server)) = of_version_3("RW", None) else { return };
    breaks(server.port, |port| server.at("disk", port).to_string());
}

#[test]
fn an_export_of_version_3_for_reading_is_not_written_and_a_full_one_says_so() {
    let name = "broken::an_export_of_version_3_for_reading_is_not_written_and_a_full_one_says_so";
    if !is_inside(name) {
        return;
    }
    let Some((mapper, server)) = of_version_3("RO", None) else { return };
    takes_no_writes(&server);
    drop((server, mapper));
    let Some((_mapper, server)) = of_version_3("RW", Some(small_file_system())) else { return };
    has_no_room(&server);
}

/// Nothing is written or made where only reading is allowed.
fn takes_no_writes(server: &impl FileServer) {
    for (name, more) in
        [("disk", &["-w50", "--overwrite"][..]), ("disk", &["-c1M"]), ("new", &["-c1M"])]
    {
        let address = server.at(name, server.port()).to_string();
        let ran = load(&address, more);
        let kind = first_failure(&ran);
        assert_eq!((ran.code, kind), (Some(1), &"read_only".into()), "{more:?}: {}", ran.errors);
        assert!(ran.errors.contains("for reading only"), "{}", ran.errors);
    }
    assert!(!server.path("new").exists());
    let read = load(&server.at("disk", server.port()).to_string(), &["--stop-ios=100"]).good();
    assert_eq!(read.sum("read", "ios"), 100);
}

#[test]
fn a_read_only_share_is_read_and_nothing_is_made_on_it() {
    let Some(server) = Samba::start("", "read only = yes") else { return };
    takes_no_writes(&server);
}

#[test]
fn a_file_that_another_client_deletes_is_gone_or_stays_until_it_is_closed() {
    let Some(server) = Samba::start("", "") else { return };
    let address = server.at("disk", server.port).to_string();
    let deleted = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_secs(1));
            fs::remove_file(server.path("disk")).unwrap();
        });
        load(&address, &["-d2"])
    });
    // Samba keeps what is open.
    assert_eq!(deleted.good().sum("read", "errors"), 0);
    let again = load(&address, &[]);
    assert_eq!(first_failure(&again), "not_found", "{}", again.errors);
    assert!(again.errors.contains("or create it with -c<size>"), "{}", again.errors);
}

/// A share of 9 MiB: a file that does not fit is not left behind, and writes that do not fit are counted.
fn has_no_room(server: &impl FileServer) {
    let new = server.at("new", server.port()).to_string();
    let made = load(&new, &["-c64M"]);
    assert_eq!((made.code, first_failure(&made)), (Some(1), &"no_space".into()), "{}", made.errors);
    assert!(made.errors.contains("was removed"), "{}", made.errors);
    assert!(!server.path("new").exists());
    // A hole has room for nothing.
    fs::File::create(server.path("new")).unwrap().set_len(64 << 20).unwrap();
    let ran = load(&new, &["-b64K", "-w100", "--on-error=count=20"]);
    assert_eq!(ran.code, Some(1), "{}", ran.errors);
    let count = failed(&ran, "ENOSPC");
    assert!(count >= 20 && count == ran.sum("write", "errors"), "{}", ran.errors);
    assert_eq!(first_failure(&ran), "no_space", "{}", ran.result["failures"]);
}

#[test]
fn a_full_share_is_told_and_nothing_is_left_on_it() {
    if !is_inside("broken::a_full_share_is_told_and_nothing_is_left_on_it") {
        return;
    }
    let share = format!("path = {}", small_file_system().display());
    let Some(server) = Samba::start("strict allocate = no", &share) else { return };
    has_no_room(&OnSmall(server));
}

/// A share whose files lie on the small file system.
struct OnSmall(Samba);

impl FileServer for OnSmall {
    fn at(&self, name: &str, port: u16) -> fathom_net::Address {
        self.0.at(name, port)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        Path::new("/run/full").join(name)
    }

    fn port(&self) -> u16 {
        self.0.port
    }

    fn settings(&self) -> fathom_net::Settings {
        self.0.settings()
    }

    fn kill(&mut self) {
        self.0.kill();
    }
}

#[test]
fn a_full_export_is_told_and_nothing_is_left_on_it() {
    if !is_inside("broken::a_full_export_is_told_and_nothing_is_left_on_it") {
        return;
    }
    let folder = Some(small_file_system());
    let Some(server) = Ganesha::start(&Export { folder, ..Export::default() }) else {
        return skip("NFS-Ganesha does not run here");
    };
    has_no_room(&server);
}

#[test]
fn a_medium_that_fails_is_told_by_its_sense_data() {
    let Some(server) = Tgt::start(|_| {}) else { return };
    // What the daemon cannot read from its file is a medium error to who reads the LUN.
    fs::OpenOptions::new().write(true).open(server.disk()).unwrap().set_len(0).unwrap();
    let ran = load(&server.address(), &["--on-error=count=20"]);
    assert_eq!((ran.code, first_failure(&ran)), (Some(1), &"medium".into()), "{}", ran.errors);
    let count = failed(&ran, "EIO");
    assert!((20..=27).contains(&count) && count == ran.sum("read", "errors"), "{count}");
    assert_eq!(ran.sum("read", "ios"), 0);
}

#[test]
fn a_lun_that_is_taken_away_ends_the_run() {
    let Some(server) = Tgt::start(|_| {}) else { return };
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_secs(1));
            let order = "--lld iscsi --mode logicalunit --op delete --tid 1 --lun 1";
            while !server.admin(order) {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        });
        load(&server.address(), &[])
    });
    assert_eq!(ran.code, Some(1), "{}", ran.errors);
    assert!((1..=8).contains(&ran.sum("read", "errors")), "{}", ran.errors);
    let again = load(&server.address(), &[]);
    assert_eq!(
        (again.code, first_failure(&again)),
        (Some(1), &"not_found".into()),
        "{}",
        again.errors
    );
}

#[test]
fn credentials_come_from_a_file_that_nobody_else_may_read_and_stand_nowhere() {
    let Some(server) = Samba::start("", "guest ok = no") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("credentials");
    let address = server.at("disk", server.port).to_string();
    let set = |password: &str, mode: u32| {
        fs::write(&file, format!("username={}\npassword={password}\n", server.user)).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(&file, mode).unwrap();
    };
    let option = format!("--credentials={}", file.display());
    let tried = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_diskspd"));
        command.args(["-b4K", "-d60", "-W0", "--stop-ios=9", "-v", "-Rjson", &option]);
        command.current_dir(folder.path()).args(more).arg(&address);
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(!said.contains(crate::samba::PASSWORD) && !said.contains("s3cret"), "{said}");
        (output.status.code(), said)
    };
    set("s3cret", 0o640);
    for more in [&[][..], &["--explain"]] {
        let (code, said) = tried(more);
        assert_eq!(code, Some(3), "{said}");
        assert!(said.contains("chmod 600"), "{said}");
    }
    set("s3cret", 0o600);
    let (code, said) = tried(&[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("password is wrong") && said.contains("--credentials=FILE"), "{said}");
    set(crate::samba::PASSWORD, 0o600);
    let journal = ["-w50", "-c1M", "--verify-journal=journal", "--json=result.json"];
    let new = |more: &[&str]| {
        let address = address.replace("/disk", "/new");
        let mut command = Command::new(env!("CARGO_BIN_EXE_diskspd"));
        command.current_dir(folder.path()).args(more).arg(&option).arg(address);
        command.output().unwrap()
    };
    let made = new(&[&["-b4K", "-d60", "-W0", "--stop-ios=99"], &journal[..]].concat());
    assert!(made.status.success(), "{made:?}");
    let verified = new(&["--verify-only=journal"]);
    assert!(verified.status.success(), "{verified:?}");
    fs::remove_file(&file).unwrap();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let left = fs::read(entry.unwrap().path()).unwrap();
        let secret = crate::samba::PASSWORD.as_bytes();
        assert!(!left.windows(secret.len()).any(|part| part == secret));
    }
    let missing = tried(&[]);
    assert_eq!(missing.0, Some(3), "{}", missing.1);
}
