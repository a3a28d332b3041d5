//! Servers that go away in the middle of a load, and come back or do not: `--reconnect`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::breaking::{Counted, Mortal, killing_proxy};
use crate::files::FileServer;
use crate::ganesha::{Export, Ganesha};
use crate::iscsi::{Tgt, address_over};
use crate::run::{Ran, run};
use crate::samba::Samba;
use crate::server::{FILE_BYTES, Server, is_missing, skip};

/// More I/Os than are done when the server goes away.
const IOS: u64 = 2000;
const LOAD: [&str; 8] =
    ["-b4K", "-r", "-o8", "-W0", "-d60", "-L", "--stop-ios=2000", "--on-error=stop"];
/// One thread of nbdkit: with more, 1.32 aborts now and then when a connection is cut.
const CALM: [&str; 1] = ["--threads=1"];
const FILE: [&str; 2] = ["file", "{}/disk"];

impl Mortal for Server {
    fn end(&mut self) {
        self.kill();
    }

    fn begin(&mut self) {
        self.begin_again();
    }
}

impl Mortal for Tgt {
    fn end(&mut self) {
        self.kill();
    }

    fn begin(&mut self) {
        self.begin_again();
    }
}

impl Mortal for Samba {
    fn end(&mut self) {
        self.kill();
    }

    fn begin(&mut self) {
        self.begin_again();
    }
}

impl Mortal for Ganesha {
    fn end(&mut self) {
        self.kill();
    }

    fn begin(&mut self) {
        self.begin_again();
    }
}

fn nbd_over(port: u16) -> String {
    format!("nbd://127.0.0.1:{port}/")
}

fn in_folder(arguments: &[&str]) -> Ran {
    run(tempfile::tempdir().unwrap().path(), arguments)
}

/// A mixed load whose server is killed in its middle and started again, by the address of a port.
fn comes_back(server: impl Mortal, port: u16, address: impl Fn(u16) -> String, more: &[&str]) {
    let server = Arc::new(Mutex::new(server));
    let proxy = killing_proxy(port, Counted::Requests, &server, |server| {
        std::thread::sleep(Duration::from_millis(300));
        server.begin();
    });
    let address = address(proxy);
    let mix = ["-f2M", "-w50", "--verify", "--reconnect=30"];
    let mix = [&LOAD[..], &mix, more].concat();
    let refused = in_folder(&[&mix[..], &[&address]].concat());
    let mut words = refused.errors.split_whitespace();
    let token = words.find(|word| word.starts_with("--allow-write="));
    let token = token.expect(&refused.errors).trim_end_matches('.');
    let ran = in_folder(&[&mix[..], &[token, &address]].concat()).good();
    drop(server);
    assert_eq!(ran.sum("read", "ios") + ran.sum("write", "ios"), IOS, "{}", ran.text);
    assert_eq!(ran.sum("read", "errors") + ran.sum("write", "errors"), 0, "{}", ran.text);
    assert!(ran.sum("write", "ios") > IOS / 4);
    let network = ran.network();
    assert_eq!((&network["reconnects"], &network["lost_connections"]), (&1.into(), &0.into()));
    // It was away for the whole of the pause, and no I/O was faster than that.
    let away_ns = network["disconnected_ns_max"].as_u64().unwrap();
    assert!(away_ns >= 300_000_000, "{network}");
    assert!(ran.warns("reconnected") && ran.text.contains("made again once"), "{}", ran.text);
    let verified = &ran.result["verification"]["targets"][0];
    assert!(verified["verified_blocks"].as_u64().is_some_and(|count| count > 100), "{verified}");
}

#[test]
fn an_nbd_server_that_comes_back_is_measured_on() {
    if is_missing() {
        return;
    }
    let server = Server::tcp(&CALM, &FILE);
    let port = server.port.unwrap();
    comes_back(server, port, nbd_over, &[]);
}

#[test]
fn an_nbd_server_that_was_ended_with_a_word_ended_a_run_that_one_that_was_killed_did_not() {
    if is_missing() {
        return;
    }
    // What nbdkit answers while it ends, for as long as the file is there.
    let when = ["error-pread-rate=100%", "error-file={}/ending"];
    let shutting = [&FILE[..], &["error-pread=ESHUTDOWN"], &when].concat();
    // Several threads of it that write to a connection which is gone end it (nbdkit 1.32).
    let server = Server::tcp(&["--threads=1", "--filter=error"], &shutting);
    let ending = server.path("ending");
    let address = nbd_over(server.port.unwrap());
    let ends = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        std::fs::write(&ending, "").unwrap();
        std::thread::sleep(Duration::from_millis(300));
        std::fs::remove_file(&ending).unwrap();
    });
    let load = ["-b4K", "-r", "-o8", "-W0", "-d3", "-L", "--reconnect=30"];
    let ran = in_folder(&[&load[..], &[&address]].concat()).good();
    ends.join().unwrap();
    assert_eq!(ran.sum("read", "errors"), 0, "{}", ran.text);
    assert!(ran.network()["reconnects"].as_u64().unwrap() >= 1, "{}", ran.text);
}

#[test]
fn a_lun_whose_server_comes_back_is_measured_on() {
    let Some(server) = Tgt::start(|_| {}) else { return };
    let port = server.port;
    comes_back(server, port, address_over, &[]);
}

#[test]
fn a_share_whose_server_comes_back_is_measured_on() {
    let Some(server) = Samba::start("", "") else { return };
    let (port, address) = (server.port, server.at("disk", 1));
    let at = move |port| address.to_string().replace(":1/", &format!(":{port}/"));
    comes_back(server, port, at, &["--overwrite"]);
}

#[test]
fn an_export_whose_server_comes_back_is_measured_on() {
    let Some(server) = Ganesha::start(&Export::default()) else {
        return skip("NFS-Ganesha does not run here");
    };
    let (port, address) = (server.port, server.at("disk", 1));
    let at = move |port| address.to_string().replace(":1/", &format!(":{port}/"));
    comes_back(server, port, at, &["--overwrite"]);
}

#[test]
fn a_flush_tells_that_writes_before_the_servers_restart_may_be_lost() {
    let Some(server) = Ganesha::start(&Export::default()) else {
        return skip("NFS-Ganesha does not run here");
    };
    let port = server.port;
    let address = server.at("disk", 1);
    let server = Arc::new(Mutex::new(server));
    let proxy = killing_proxy(port, Counted::Requests, &server, |server| {
        // What it calls a life is the second in which it began.
        std::thread::sleep(Duration::from_millis(1100));
        server.begin_again();
    });
    let address = address.to_string().replace(":1/", &format!(":{proxy}/"));
    let token = format!("--allow-write={}:{FILE_BYTES}", &address["nfs://".len()..]);
    let token = token.replace("?version=4", "");
    // It is killed about 490 writes in, far from any flush.
    let more = ["-w100", "--fsync=300", "--overwrite", "--reconnect=30", "--on-error=continue"];
    let ran = in_folder(&[&LOAD[..7], &more, &[&token, &address]].concat()).good();
    assert_eq!((ran.sum("write", "ios"), ran.sum("write", "errors")), (IOS, 0), "{}", ran.text);
    let faults = ran.span()["threads"][0]["targets"][0]["faults"].as_array().unwrap();
    let told: Vec<_> = faults.iter().map(|one| (&one["operation"], &one["kind"])).collect();
    assert_eq!(told, [(&"fsync".into(), &"EIO".into())], "{}", ran.text);
}

#[test]
fn several_connections_are_each_made_again() {
    if is_missing() {
        return;
    }
    let server = Arc::new(Mutex::new(Server::tcp(&CALM, &FILE)));
    let port = server.lock().unwrap().port.unwrap();
    let proxy = killing_proxy(port, Counted::Answers, &server, Server::begin_again);
    let more = ["--connections=4", "--reconnect=30", &nbd_over(proxy)];
    let ran = in_folder(&[&LOAD[..], &more].concat()).good();
    drop(server);
    assert_eq!((ran.sum("read", "ios"), ran.sum("read", "errors")), (IOS, 0));
    let network = ran.network();
    assert_eq!((&network["connections"], &network["reconnects"]), (&4.into(), &4.into()));
}

#[test]
fn a_server_that_does_not_come_back_in_time_ends_the_run_with_exact_counts() {
    if is_missing() {
        return;
    }
    let server = Arc::new(Mutex::new(Server::tcp(&CALM, &FILE)));
    let port = server.lock().unwrap().port.unwrap();
    let proxy = killing_proxy(port, Counted::Answers, &server, |_| {});
    let ran = in_folder(&[&LOAD[..], &["--reconnect=1", &nbd_over(proxy)]].concat());
    assert_eq!(ran.code, Some(1), "{}", ran.errors);
    // All eight failed, and nothing was issued behind them.
    assert_eq!(ran.sum("read", "errors"), 8);
    assert_eq!(ran.result["failures"][0]["kind"], "disconnected", "{}", ran.result["failures"]);
    for words in ["was lost (the server has closed", "could not be made again within 1 s"] {
        assert!(ran.errors.contains(words), "{words}: {}", ran.errors);
    }
    let network = ran.network();
    assert_eq!((&network["reconnects"], &network["lost_connections"]), (&0.into(), &1.into()));
    assert!(network["disconnected_ns_max"].as_u64().unwrap() >= 1_000_000_000, "{network}");
}

#[test]
fn a_lun_that_is_another_when_its_server_comes_back_is_left_alone() {
    let Some(server) = Tgt::start(|_| {}) else { return };
    let server = Arc::new(Mutex::new(server));
    let port = server.lock().unwrap().port;
    let proxy = killing_proxy(port, Counted::Requests, &server, |server| {
        std::fs::write(server.disk(), vec![0; 1 << 20]).unwrap();
        server.begin_again();
    });
    let more = ["-w50", "--reconnect=30", "--allow-write=SERIAL7", &address_over(proxy)];
    let ran = in_folder(&[&LOAD[..], &more].concat());
    assert_eq!(ran.code, Some(1), "{}", ran.errors);
    assert_eq!(ran.result["failures"][0]["kind"], "gone", "{}", ran.result["failures"]);
    for words in ["another target: it had 33554432 bytes, and has 1048576", "Nothing was sent"] {
        assert!(ran.errors.contains(words), "{words}: {}", ran.errors);
    }
    assert_eq!(ran.sum("read", "errors") + ran.sum("write", "errors"), 8);
    let disk = std::fs::read(server.lock().unwrap().disk()).unwrap();
    assert!(disk.iter().all(|byte| *byte == 0), "it was written to");
}

#[test]
fn a_signal_ends_the_wait_for_a_server_with_what_is_outstanding() {
    if is_missing() {
        return;
    }
    let server = Arc::new(Mutex::new(Server::tcp(&CALM, &FILE)));
    let port = server.lock().unwrap().port.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let pid = Arc::new(Mutex::new(0));
    let struck = Arc::clone(&pid);
    let proxy = killing_proxy(port, Counted::Answers, &server, move |_| {
        std::thread::sleep(Duration::from_millis(500));
        let pid = struck.lock().unwrap().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskspd"));
    command.current_dir(folder.path()).args(LOAD).args(["--reconnect=3600", "--json=result.json"]);
    command.arg(nbd_over(proxy)).stdout(Stdio::null()).stderr(Stdio::piped());
    let process = {
        let mut pid = pid.lock().unwrap();
        let process = command.spawn().unwrap();
        *pid = process.id();
        process
    };
    let ended = process.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(130), "{said}");
    let result = std::fs::read(folder.path().join("result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_slice(&result).unwrap();
    let span = &result["time_spans"][0];
    // A thread that does not end by itself would be left behind, with all that is known of its connections.
    assert_eq!(span["network"][0]["lost_connections"], 1, "{}", span["network"]);
    assert_eq!(span["outstanding"].as_array().unwrap().len(), 8);
    assert!(said.contains("had not been made again"), "{said}");
}

#[test]
fn what_contradicts_itself_is_refused_before_anything_is_opened() {
    let refused = |arguments: &[&str], words: &str| {
        let ran = in_folder(arguments);
        assert_eq!(ran.code, Some(3), "{}", ran.errors);
        assert!(ran.errors.contains(words), "{}", ran.errors);
        assert!(!Path::new("t.dat").exists());
    };
    refused(&["--reconnect=5", "-c1M", "t.dat"], "'t.dat' is none");
    refused(&["--reconnect=0", "nbd://127.0.0.1:1/"], "from 1 to 86400");
    let both = ["--reconnect=30", "--io-timeout=30", "nbd://127.0.0.1:1/"];
    refused(&both, "--io-timeout of at least 40");
}
