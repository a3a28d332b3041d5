//! Files on shares and exports: the same loads, and nothing of somebody's is written.

use std::fs;

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
    assert!(read.warns("device_unseen"), "{}", read.text);

    let before = server.file();
    let bare = tried(&["-w100"]);
    assert_eq!(bare.code, Some(2), "{}", bare.errors);
    assert!(bare.errors.contains("--overwrite"), "{}", bare.errors);
    let unnamed = tried(&["-w100", "--overwrite"]);
    assert_eq!(unnamed.code, Some(2), "{}", unnamed.errors);
    let words = unnamed.errors.split_whitespace();
    let token = words.clone().find(|word| word.starts_with("--allow-write=")).unwrap();
    assert!(token.ends_with(&format!(":{FILE_BYTES}")), "{token}");
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
