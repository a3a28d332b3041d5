//! NBD: encrypted connections, whose server is always verified.

use std::path::Path;
use std::process::Command;

use fathom_net::{Address, Connection, FaultKind, Operation, Request, TlsFiles};
use tempfile::TempDir;

use crate::load::{NONE, drive, request};
use crate::ports::free_port;
use crate::server::{FILE_BYTES, Server, is_missing, pattern, settings, skip};

const FILE: [&str; 3] = ["file", "{}/disk", "logfile={}/log"];

/// Runs `openssl` in a folder.
fn openssl(folder: &Path, arguments: &str) -> bool {
    let mut command = Command::new("openssl");
    let ran = command.current_dir(folder).args(arguments.split(' ')).output();
    ran.is_ok_and(|output| output.status.success())
}

/// An authority of its own, and certificates of a server (for `localhost` and 127.0.0.1) and a client.
fn certificates(folder: &Path) -> bool {
    std::fs::write(folder.join("server.ext"), "subjectAltName=DNS:localhost,IP:127.0.0.1").unwrap();
    std::fs::write(folder.join("client.ext"), "extendedKeyUsage=clientAuth").unwrap();
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    let made = openssl(
        folder,
        &format!("req -x509 {key} -keyout ca-key.pem -out ca-cert.pem -days 2 -subj /CN=authority"),
    );
    made && ["server", "client"].iter().all(|who| {
        let asked = format!("req {key} -keyout {who}-key.pem -out {who}.csr -subj /CN={who}");
        let signed = format!(
            "x509 -req -in {who}.csr -CA ca-cert.pem -CAkey ca-key.pem -CAcreateserial \
             -out {who}-cert.pem -days 2 -extfile {who}.ext"
        );
        openssl(folder, &asked) && openssl(folder, &signed)
    })
}

/// A folder with file and certificates; none where there is no openssl.
fn prepared() -> Option<TempDir> {
    if is_missing() {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("disk"), pattern(0, FILE_BYTES)).unwrap();
    if certificates(folder.path()) {
        return Some(folder);
    }
    skip("openssl makes no certificates");
    None
}

/// A server that insists on TLS.
fn server(more: &[&str]) -> Option<Server> {
    let mut options = vec!["--tls=require", "--tls-certificates={}", "--filter=log"];
    options.extend(more);
    prepared().map(|folder| Server::start_in(folder, Some(free_port()), &options, &FILE))
}

fn encrypted(server: &Server, host: &str, with_authority: bool) -> Address {
    let directory = format!("?tls-certificates={}", server.folder.path().display());
    let directory = if with_authority { &directory } else { "" };
    Address::parse(&format!("nbds://{host}:{}/{directory}", server.port.unwrap())).unwrap()
}

#[test]
fn data_over_tls_are_those_of_the_file() {
    let Some(server) = server(&[]) else { return };
    let mut connection =
        Connection::connect(&encrypted(&server, "127.0.0.1", true), &settings()).unwrap();
    let words = connection.facts().encryption.clone().unwrap();
    assert!(words.starts_with("TLS 1.3, TLS13_"), "{words}");
    for bytes in [4096_u32, 65_536, 1 << 20] {
        let places = FILE_BYTES / u64::from(bytes);
        let at = |k: u64| k * 7_919 % places * u64::from(bytes);
        let write = |k| request(Operation::Write, at(k), bytes);
        let writes: Vec<_> = (0..32).map(write).collect();
        let fill = |request: &Request, data: &mut [u8]| {
            data.copy_from_slice(&pattern(request.offset_bytes + 1, request.bytes.into()));
        };
        assert_eq!(drive(&mut connection, &writes, 16, fill, |_, _| {}).failed(), NONE);
        let reads: Vec<_> =
            writes.iter().map(|w| Request { operation: Operation::Read, ..*w }).collect();
        let see = |request: &Request, data: &[u8]| {
            assert!(data == pattern(request.offset_bytes + 1, request.bytes.into()));
        };
        assert_eq!(drive(&mut connection, &reads, 16, |_, _| {}, see).failed(), NONE);
    }
    connection.close();
    let log = server.log();
    assert_eq!((log.count("Read"), log.count("Write")), (96, 96));
}

#[test]
fn certificates_that_nobody_vouches_for_are_refused() {
    let Some(server) = server(&[]) else { return };
    let unknown = encrypted(&server, "127.0.0.1", false);
    let fault = Connection::connect(&unknown, &settings()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Credentials, "{fault}");
    let renamed = Address {
        verified_name: Some("elsewhere.example".into()),
        ..encrypted(&server, "127.0.0.1", true)
    };
    let fault = Connection::connect(&renamed, &settings()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Credentials, "{fault}");
    assert!(fault.text.contains("'elsewhere.example'"), "{fault}");
    let named = Address { verified_name: Some("localhost".into()), ..renamed };
    Connection::connect(&named, &settings()).unwrap();
    // The settings' files count where the address names none.
    let mut with_files = settings();
    with_files.tls = TlsFiles::of_directory(server.folder.path());
    Connection::connect(&unknown, &with_files).unwrap();
}

#[test]
fn a_client_shows_its_certificate_where_it_has_to() {
    let Some(server) = server(&["--tls-verify-peer"]) else { return };
    let mut with_files = settings();
    with_files.tls = TlsFiles::of_directory(server.folder.path());
    let address = encrypted(&server, "127.0.0.1", false);
    Connection::connect(&address, &with_files).unwrap().no_op().unwrap();
    with_files.tls.key = None;
    let fault = Connection::connect(&address, &with_files).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Credentials, "{fault}");
    with_files.tls.certificate = None;
    let fault = Connection::connect(&address, &with_files).unwrap_err();
    assert!([FaultKind::Credentials, FaultKind::Disconnected].contains(&fault.kind), "{fault}");
}

#[test]
fn a_server_that_wants_tls_gets_nothing_without_and_one_without_gets_nothing_at_all() {
    let Some(server) = server(&[]) else { return };
    let fault = Connection::connect(&server.address(""), &settings()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Denied, "{fault}");
    assert!(fault.text.contains("nbds://"), "{fault}");
    let plain = Server::tcp(&[], &["file", "{}/disk"]);
    let fault =
        Connection::connect(&encrypted(&plain, "127.0.0.1", false), &settings()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unsupported, "{fault}");
}
