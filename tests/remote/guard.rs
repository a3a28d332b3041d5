//! Exports that must not be written.

use std::fs;

use crate::run::run;
use crate::server::{FILE_BYTES, Server, is_missing};

/// A partition table as every PC has one.
fn with_partition_table(bytes: &mut [u8]) {
    bytes[446..462].copy_from_slice(&[0, 2, 0, 0, 0x83, 8, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0]);
    bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
}

#[test]
fn an_export_is_written_only_where_it_is_named_and_holds_nothing_of_others() {
    if is_missing() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut disk = vec![0; usize::try_from(FILE_BYTES).unwrap()];
    with_partition_table(&mut disk);
    fs::write(folder.path().join("disk"), &disk).unwrap();
    let options = ["--filter=log"];
    let server = Server::start_in(folder, None, &options, &["file", "{}/disk", "logfile={}/log"]);
    let address = server.address("").to_string();
    let token = format!("--allow-write={}/:{FILE_BYTES}", server.path("socket").display());
    let load = ["-b4K", "-w100", "-o1", "-d60", "-W0", "--stop-ios=10"];
    let tried =
        |more: &[&str]| run(server.folder.path(), &[&load[..], more, &[address.as_str()]].concat());
    let bare = tried(&[]);
    assert_eq!(bare.code, Some(2), "{}", bare.errors);
    for words in ["partition table", "--overwrite", token.as_str()] {
        assert!(bare.errors.contains(words), "{words}: {}", bare.errors);
    }
    assert_eq!(tried(&[&token]).code, Some(2), "what it holds counts though it is named");
    assert_eq!(tried(&["--overwrite"]).code, Some(2), "it has to be named");
    let explained = tried(&["--explain", &token]);
    assert_eq!(explained.code, Some(2));
    let beside = tried(&["missing.dat"]);
    assert_eq!(beside.code, Some(2), "an error of another target hides no refusal");
    for words in ["partition table", token.as_str(), "missing.dat"] {
        assert!(beside.errors.contains(words), "{words}: {}", beside.errors);
    }
    let strict = tried(&["--overwrite", &token, "--strict"]);
    assert_eq!(strict.code, Some(2), "nobody sees who else uses it");
    assert_eq!(server.log().count("Write"), 0);
    assert!(server.file() == disk, "nothing was written yet");
    let ran = tried(&["--overwrite", &token]).good();
    assert_eq!((ran.sum("write", "ios"), server.log().count("Write")), (10, 10));
    assert!(ran.warns("users_unseen"));
}

/// All that is read of an export was one step, so that the run ended by `--io-timeout` though the server
/// took less for each answer.
#[test]
fn a_look_at_a_slow_export_ended_the_run_though_each_answer_came() {
    if is_missing() {
        return;
    }
    let server = Server::unix(&["--filter=delay"], &["file", "{}/disk", "rdelay=120ms"]);
    let address = server.address("").to_string();
    let load = ["-b4K", "-w100", "-o1", "-d1", "-W0", "--stop-ios=1", "--io-timeout=1"];
    let ran = run(server.folder.path(), &[&load[..], &[address.as_str()]].concat());
    assert!(!ran.errors.contains("answers slowly"), "{}", ran.errors);
    assert!(ran.errors.contains("--allow-write"), "{}", ran.errors);
}

#[test]
fn what_the_server_does_not_do_is_told_before_anything_is_done() {
    if is_missing() {
        return;
    }
    let server =
        Server::unix(&["--readonly", "--filter=log"], &["file", "{}/disk", "logfile={}/log"]);
    let address = server.address("").to_string();
    for (arguments, words) in [
        (&["-w10"][..], "for reading only"),
        (&["-Sm"], "mapped into memory"),
        (&["-c1M"], "cannot be created"),
        (&["--engine=aio"], "--engine"),
        (&["--connections=0"], "--connections"),
        (&["-b64M"], "at most"),
    ] {
        let ran = run(server.folder.path(), &[arguments, &["-d1", &address]].concat());
        assert!(ran.code.is_some_and(|code| code != 0), "{arguments:?}");
        assert!(ran.errors.contains(words), "{arguments:?}: {}", ran.errors);
    }
    let log = fs::read_to_string(server.path("log")).unwrap_or_default();
    assert!(!log.contains(" Write "), "{log}");
}

#[test]
fn a_password_in_an_address_is_refused_and_told_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    for address in ["nbd://anna:s3cret@127.0.0.1:1/x", "iscsi://anna:s3cret@127.0.0.1/iqn.x/1"] {
        for more in [&["-d1"][..], &["-d1", "-Rxml"], &["-d1", "-v"], &["--explain"]] {
            let ran = run(folder.path(), &[more, &[address]].concat());
            assert_eq!(ran.code, Some(3), "{}", ran.errors);
            let all = format!("{}{}{}", ran.errors, ran.text, ran.result);
            assert!(all.contains("FATHOM_CREDENTIALS") && !all.contains("s3cret"), "{all}");
        }
    }
}
