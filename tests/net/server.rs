//! nbdkit, started by the test that needs it and ended with it.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use fathom_net::{Address, Connection, Settings};
use fathom_sys::clock::now_ns;
use tempfile::TempDir;

use crate::ports::free_port;

/// Size of the file that is served.
pub const FILE_BYTES: u64 = 8 << 20;

/// Prints why a test proves nothing.
#[allow(clippy::print_stderr)]
pub fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
}

/// Whether there is an nbdkit; says that the test is skipped if there is none.
pub fn is_missing() -> bool {
    let there = Command::new("nbdkit").arg("--version").stdout(Stdio::null()).status();
    if there.is_ok_and(|status| status.success()) {
        return false;
    }
    skip("there is no nbdkit");
    true
}

/// A running server, its folder, and the file that it serves.
pub struct Server {
    pub folder: TempDir,
    command: Command,
    child: Child,
    pub port: Option<u16>,
}

impl Server {
    /// On a unix socket, with these filters and options before the plugin and its parameters. `{}` stands for
    /// the folder.
    pub fn unix(options: &[&str], plugin: &[&str]) -> Self {
        Self::start(None, options, plugin)
    }

    /// On a TCP port of loopback.
    pub fn tcp(options: &[&str], plugin: &[&str]) -> Self {
        Self::start(Some(free_port()), options, plugin)
    }

    fn start(port: Option<u16>, options: &[&str], plugin: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("disk"), pattern(0, FILE_BYTES)).unwrap();
        Self::start_in(folder, port, options, plugin)
    }

    /// In a folder that has been prepared.
    pub fn start_in(folder: TempDir, port: Option<u16>, options: &[&str], plugin: &[&str]) -> Self {
        let place = folder.path().to_str().unwrap();
        let pid_file = folder.path().join("pid");
        let mut command = Command::new("nbdkit");
        command.args(["--foreground", "--exit-with-parent", "--threads=64", "--pidfile"]);
        command.arg(&pid_file);
        match port {
            Some(port) => command.args(["--ipaddr=127.0.0.1", &format!("--port={port}")]),
            None => command.arg("--unix").arg(folder.path().join("socket")),
        };
        command.args(options.iter().chain(plugin).map(|word| word.replace("{}", place)));
        command.stderr(fs::File::create(folder.path().join("errors")).unwrap());
        let child = command.stdin(Stdio::null()).spawn().unwrap();
        let mut server = Self { folder, command, child, port };
        server.wait_begun();
        server
    }

    fn wait_begun(&mut self) {
        let begun = now_ns();
        while !self.path("pid").exists() {
            let place = self.path("errors");
            let errors = || fs::read_to_string(place);
            assert!(self.child.try_wait().unwrap().is_none(), "nbdkit ended: {:?}", errors());
            assert!(
                Duration::from_nanos(now_ns() - begun) < Duration::from_secs(20),
                "nbdkit does not begin"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts it again as it was started, after it was killed.
    pub fn begin_again(&mut self) {
        fs::remove_file(self.path("pid")).unwrap();
        self.child = self.command.spawn().unwrap();
        self.wait_begun();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The address of an export.
    pub fn address(&self, export: &str) -> Address {
        let text = match self.port {
            Some(port) => format!("nbd://127.0.0.1:{port}/{export}"),
            None => format!("nbd+unix:///{export}?socket={}", self.path("socket").display()),
        };
        Address::parse(&text).unwrap()
    }

    pub fn connect(&self) -> Connection {
        Connection::connect(&self.address(""), &settings()).unwrap()
    }

    /// Kills it as `kill -9` does.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The served file as it is now.
    pub fn file(&self) -> Vec<u8> {
        fs::read(self.path("disk")).unwrap()
    }

    /// What the log filter wrote to `log`.
    pub fn log(&self) -> Log {
        Log::read(&self.path("log"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn settings() -> Settings {
    Settings { timeout: Duration::from_secs(20), ..Settings::default() }
}

pub fn low_byte(number: u64) -> u8 {
    number.to_le_bytes()[0]
}

/// The bytes of the file: each is made of its own offset, so that a shift shows.
pub fn pattern(offset: u64, bytes: u64) -> Vec<u8> {
    static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
    if (offset, bytes) == (0, FILE_BYTES) {
        return WHOLE.get_or_init(|| made(0, FILE_BYTES)).clone();
    }
    made(offset, bytes)
}

fn made(offset: u64, bytes: u64) -> Vec<u8> {
    let byte = |at: u64| low_byte(at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 53);
    (offset..offset + bytes).map(byte).collect()
}

/// What nbdkit's log filter saw.
#[derive(Debug, Default)]
pub struct Log {
    /// Operation, offset and length of each request, in order.
    pub requests: Vec<(String, u64, u64)>,
    /// Whether each write requested FUA, in order.
    pub through: Vec<bool>,
    /// Most requests that were begun and not ended.
    pub outstanding_max: usize,
    /// Requests that ended with an error.
    pub failed: usize,
}

impl Log {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let (mut log, mut outstanding) = (Self::default(), 0_usize);
        for line in text.lines() {
            let field = |name: &str| {
                let (_, rest) = line.split_once(name)?;
                rest.split([' ', ',']).next().map(str::to_owned)
            };
            if !(line.contains(" connection=") && line.contains(" id=")) {
                continue;
            }
            if line.contains(" return=") {
                outstanding -= 1;
                log.failed += usize::from(line.contains(" return=-1"));
                continue;
            }
            let before = line.split(" id=").next().unwrap();
            let name = before.split(' ').next_back().unwrap().to_owned();
            let number = |name| field(name).map_or(0, |text| hexadecimal(&text));
            if name == "Write" {
                log.through.push(line.contains("fua=1"));
            }
            log.requests.push((name, number(" offset="), number(" count=")));
            outstanding += 1;
            log.outstanding_max = log.outstanding_max.max(outstanding);
        }
        log
    }

    pub fn count(&self, operation: &str) -> usize {
        self.requests.iter().filter(|(name, _, _)| name == operation).count()
    }
}

fn hexadecimal(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

/// A proxy that holds back each answer of a server for so long. It ends with the connection.
pub fn delaying_proxy(server_port: u16, delay: Duration) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut near, _) = listener.accept().unwrap();
        let mut far = TcpStream::connect(("127.0.0.1", server_port)).unwrap();
        near.set_nodelay(true).unwrap();
        far.set_nodelay(true).unwrap();
        let (mut from, mut to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
        let forth = std::thread::spawn(move || std::io::copy(&mut from, &mut to));
        let mut buffer = vec![0; 65536];
        while let Ok(bytes @ 1..) = far.read(&mut buffer) {
            std::thread::sleep(delay);
            if near.write_all(&buffer[..bytes]).is_err() {
                break;
            }
        }
        let _ = near.shutdown(std::net::Shutdown::Both);
        let _ = far.shutdown(std::net::Shutdown::Both);
        let _ = forth.join();
    });
    port
}
