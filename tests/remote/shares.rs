//! Files on shares and exports: the same loads, and nothing of somebody's is written.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::files::FileServer;
use crate::ganesha::{Export, Ganesha};
use crate::run::run;
use crate::samba::{PASSWORD, Samba};
use crate::server::{FILE_BYTES, skip};

/// A file is read as often as requested, and written only where that is said twice.
fn reads_and_guards(server: &impl FileServer, protocol: &str) {
    let folder = tempfile::tempdir().unwrap();
    let address = server.at("disk", server.port()).to_string();
    let load = ["-b4K", "-r", "-t2", "-o8", "-d60", "-W0", "-Su", "--stop-ios=500"];
    let tried =
        |more: &[&str]| run(folder.path(), &[&load[..], more, &[address.as_str()]].concat());
    let read = tried(&[]).good();
    assert_eq!(read.sum("read", "ios"), 500);
    assert_eq!(read.network()["protocol"], protocol);
    assert!(read.warns("server_answered"), "{}", read.text);

    let before = server.file();
    let bare = tried(&["-w100"]);
    assert_eq!(bare.code, Some(2), "{}", bare.errors);
    assert!(bare.errors.contains("--overwrite"), "{}", bare.errors);
    let unnamed = tried(&["-w100", "--overwrite"]);
    assert_eq!(unnamed.code, Some(2), "{}", unnamed.errors);
    let words = unnamed.errors.split_whitespace();
    let token = words.clone().find(|word| word.starts_with("--allow-write=")).unwrap();
    assert!(token.ends_with(&format!(":{FILE_BYTES}")), "{token}");
    // It was called a whole device.
    assert!(!unnamed.errors.contains("device"), "{}", unnamed.errors);
    assert!(unnamed.errors.contains("the file "), "{}", unnamed.errors);
    assert_eq!(server.file(), before, "a refused run has written");
    let written = tried(&["-w100", "--overwrite", token]).good();
    assert_eq!(written.sum("write", "ios"), 500);
    assert_ne!(server.file(), before);
}

#[test]
fn a_file_on_a_share_is_read_and_its_data_are_guarded() {
    let Some(server) = Samba::start("", "") else { return };
    reads_and_guards(&server, "SMB");
}

#[test]
fn a_file_on_an_export_is_read_and_its_data_are_guarded() {
    let Some(server) = Ganesha::start(&Export::default()) else {
        return skip("NFS-Ganesha does not run here");
    };
    reads_and_guards(&server, "NFS");
}

#[test]
fn a_wrong_password_is_refused_in_words_and_stands_nowhere() {
    let Some(server) = Samba::start("", "") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("credentials");
    let address = server.at("disk", server.port()).to_string();
    let tried = |password: &str| {
        fs::write(&file, format!("username={}\npassword={password}\n", server.user)).unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&file, private).unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_diskspd"));
        command.args(["-b4K", "-d60", "-W0", "--stop-ios=9", "-Rjson", &address]);
        let output = command.env("FATHOM_CREDENTIALS", &file).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    };
    let (code, said) = tried("wr0ng-secret");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("password is wrong") && !said.contains("wr0ng-secret"), "{said}");
    let (code, said) = tried(PASSWORD);
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains(PASSWORD), "{said}");
}

/// Words of a refusal that give permission.
fn token(errors: &str) -> String {
    let mut words = errors.split_whitespace();
    words.find(|word| word.starts_with("--allow-write=")).expect(errors).to_owned()
}

/// A file is made, kept, made again and removed; one of somebody's is not.
fn makes_files(server: &impl FileServer) {
    let folder = tempfile::tempdir().unwrap();
    let mine = server.at("inner/mine.dat", server.port()).to_string();
    let load = ["-b4K", "-r", "-o8", "-d60", "-W0", "--stop-ios=200"];
    let on =
        |address: &str, more: &[&str]| run(folder.path(), &[&load[..], more, &[address]].concat());
    let read = || fs::read(server.path("inner/mine.dat")).unwrap();

    // Nothing is made where it is only explained, or without -c.
    let explained = on(&mine, &["-c1000003", "--explain"]);
    assert_eq!(explained.code, Some(0), "{}", explained.errors);
    let missing = on(&mine, &[]);
    assert!(missing.errors.contains("there is no such file"), "{}", missing.errors);
    assert!(!server.path("inner/mine.dat").exists());

    // Made with exactly this size, all of it data that do not compress.
    let made = on(&mine, &["-c1000003", "-w50"]).good();
    assert_eq!(made.sum("read", "ios") + made.sum("write", "ios"), 200);
    let first = read();
    assert_eq!(first.len(), 1_000_003);
    assert!(first.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)));

    // What we have made and written is ours: it is written again without a word, and made again with -c.
    on(&mine, &["-w100"]).good();
    on(&mine, &["-c500K", "-w0"]).good();
    let again = read();
    assert_eq!(again.len(), 512_000);
    let kept = on(&mine, &["-c500K", "-v", "-w0"]).good();
    assert!(kept.text.contains("kept") || kept.errors.contains("kept"), "{}", kept.text);
    assert!(read() == again, "a complete file is kept as it is");

    // One byte of somebody's, and it is theirs: neither written nor made again, and not a byte changes.
    let mut theirs = again.clone();
    theirs[300_000..300_011].copy_from_slice(b"Dear Anna, ");
    fs::write(server.path("inner/mine.dat"), &theirs).unwrap();
    for more in
        [&["-w100"][..], &["-c500K"], &["-c100K"], &["-c2M", "-w0"], &["-c500K", "--overwrite"]]
    {
        let ran = on(&mine, more);
        assert_eq!(ran.code, Some(2), "{more:?}: {}", ran.errors);
        assert!(token(&ran.errors).ends_with(":512000"), "{}", ran.errors);
        assert!(read() == theirs, "{more:?}");
    }
    let token = token(&on(&mine, &["-w100"]).errors);
    let only_named = on(&mine, &["-c100K", &token]);
    assert_eq!(only_named.code, Some(2), "{}", only_named.errors);
    assert!(read() == theirs);
    on(&mine, &["-c100K", "--overwrite", &token]).good();
    assert_eq!(read().len(), 102_400);

    // A run removes what it has made, and nothing else.
    on(&mine, &["-c200K", "--remove-created"]).good();
    assert_eq!(read().len(), 204_800, "it was there before");
    let other = server.at("inner/other.dat", server.port()).to_string();
    on(&other, &["-c200K", "-w100", "--remove-created"]).good();
    assert!(!server.path("inner/other.dat").exists());
    let nowhere = server.at("nowhere/new.dat", server.port()).to_string();
    let ran = on(&nowhere, &["-c200K"]);
    assert_eq!(
        (ran.code, ran.result["failures"][0]["kind"].as_str()),
        (Some(1), Some("not_found"))
    );
    assert!(!server.path("nowhere").exists());
}

#[test]
fn a_file_on_a_share_is_made_and_only_ours_are_made_again() {
    let Some(server) = Samba::start("", "") else { return };
    makes_files(&server);
}

#[test]
fn a_file_on_an_export_is_made_and_only_ours_are_made_again() {
    let Some(server) = Ganesha::start(&Export::default()) else {
        return skip("NFS-Ganesha does not run here");
    };
    makes_files(&server);
}

/// `--explain` let a file go ahead that is not there and cannot be made.
fn explains_that_nothing_can_be_made(server: &impl FileServer) {
    let folder = tempfile::tempdir().unwrap();
    let address = server.at("new.dat", server.port()).to_string();
    let load = ["-c1M", "-b4K", "-w100", "-d60", "-W0", "--stop-ios=9"];
    for more in [&["--explain"][..], &[]] {
        let ran = run(folder.path(), &[&load[..], more, &[&address]].concat());
        assert_eq!(ran.code, Some(1), "{more:?}: {}", ran.errors);
        assert!(ran.errors.contains("for reading only"), "{more:?}: {}", ran.errors);
    }
    assert!(!server.path("new.dat").exists());
}

#[test]
fn explain_did_not_see_that_a_share_is_for_reading_only() {
    let Some(server) = Samba::start("", "read only = yes") else { return };
    explains_that_nothing_can_be_made(&server);
}

#[test]
fn explain_did_not_see_that_an_export_is_for_reading_only() {
    let Some(server) = Ganesha::start(&Export { access: "RO", ..Export::default() }) else {
        return skip("NFS-Ganesha does not run here");
    };
    explains_that_nothing_can_be_made(&server);
}

/// Interrupts `-c2G` of this file once 1 MiB of it is written; the exit code and what is said.
fn interrupted_making(
    address: &str,
    place: &Path,
    meanwhile: impl FnOnce(),
) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskspd"));
    command.args(["-c2G", "-b4K", "-d60", "-W0", address]).current_dir(folder.path());
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while !has_data(place) {
        assert!(run.try_wait().unwrap().is_none(), "it ended before it was interrupted");
        std::thread::sleep(Duration::from_millis(5));
    }
    meanwhile();
    let sent = Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let ended = run.wait_with_output().unwrap();
    (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
}

/// Whether the second MiB of a file holds data: the first block is written last.
fn has_data(place: &Path) -> bool {
    let mut bytes = [0; 4096];
    let read = fs::File::open(place).and_then(|file| file.read_at(&mut bytes, 1 << 20));
    read.is_ok_and(|length| bytes[..length].iter().any(|byte| *byte != 0))
}

/// A file that was there before without data was removed.
fn stays_when_interrupted(server: &impl FileServer) {
    for (name, zero_bytes) in [("inner/empty.dat", 0), ("inner/zeros.dat", 3 << 20)] {
        let (place, link) = (server.path(name), server.path("inner/link.dat"));
        let address = server.at(name, server.port()).to_string();
        fs::File::create(&place).unwrap().set_len(zero_bytes).unwrap();
        fs::set_permissions(&place, PermissionsExt::from_mode(0o666)).unwrap();
        fs::hard_link(&place, &link).unwrap();
        let before = fs::metadata(&place).unwrap();
        let (code, said) = interrupted_making(&address, &place, || {});
        assert_eq!(code, Some(130), "{said}");
        let after = fs::metadata(&place).expect("it stays");
        let kept = |of: &fs::Metadata| (of.ino(), of.uid(), of.mode(), of.nlink());
        assert_eq!(kept(&before), kept(&after), "{name}: {said}");
        // So much that nobody waits until it is read again stays.
        if said.contains("somebody else may have written") {
            assert!(after.len() > 256 << 20, "{said}");
        } else {
            assert!(said.contains("again, as"), "{name}: {said}");
            assert_eq!(after.len(), zero_bytes, "{said}");
            assert!(fs::read(&place).unwrap().iter().all(|byte| *byte == 0));
        }
        fs::remove_file(&link).unwrap();
    }
    let (name, place) = ("inner/made.dat", server.path("inner/made.dat"));
    let address = server.at(name, server.port()).to_string();
    let (code, said) = interrupted_making(&address, &place, || {});
    assert_eq!(code, Some(130), "{said}");
    let stays = said.contains("somebody else may have written");
    assert_eq!(place.exists(), stays, "what the run has made is removed: {said}");
}

#[test]
fn an_interrupted_creation_removed_a_file_of_a_share_that_was_there_before() {
    let Some(server) = Samba::start("", "") else { return };
    stays_when_interrupted(&server);
}

#[test]
fn an_interrupted_creation_removed_a_file_of_an_export_that_was_there_before() {
    let Some(server) = Ganesha::start(&Export::default()) else {
        return skip("NFS-Ganesha does not run here");
    };
    stays_when_interrupted(&server);
}

/// The name of an incomplete file led to another one that was too long to be read, and that one was removed.
#[test]
fn an_interrupted_file_whose_name_leads_to_another_one_stays() {
    let Some(server) = Samba::start("", "") else { return };
    let address = server.at("inner/mine.dat", server.port()).to_string();
    let place = server.path("inner/mine.dat");
    let (code, said) = interrupted_making(&address, &place, || {
        fs::rename(&place, server.path("inner/aside.dat")).unwrap();
        let theirs = fs::File::create(&place).unwrap();
        theirs.set_len(300 << 20).unwrap();
        theirs.write_all_at(b"Dear Anna, ", 200 << 20).unwrap();
    });
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("was not removed"), "{said}");
    assert_eq!(fs::metadata(&place).unwrap().len(), 300 << 20);
}
