//! nfs-ganesha with its VFS back end, started by the test that needs it and ended with it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fathom_net::{Address, Connection, FaultKind, Settings};
use fathom_sys::clock::now_ns;
use tempfile::TempDir;

use crate::files::FileServer;
use crate::namespace::INSIDE;
use crate::ports::free_port;
use crate::server::{FILE_BYTES, pattern, settings, skip};

/// A running server with one export, in which is the file `disk`.
pub struct Ganesha {
    folder: TempDir,
    exported: PathBuf,
    version: String,
    command: Command,
    child: Child,
    pub port: u16,
    pub mount_port: u16,
}

/// The port mapper, which version 3 needs; ended with the test.
pub struct Mapper(Child);

impl Mapper {
    pub fn start() -> Option<Self> {
        let mut command = Command::new("rpcbind");
        command.args(["-f", "-w"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(child) = command.spawn() else {
            skip("there is no rpcbind");
            return None;
        };
        for _ in 0..400 {
            if std::net::TcpStream::connect("127.0.0.1:111").is_ok() {
                return Some(Self(child));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        skip("rpcbind does not run here");
        None
    }
}

impl Drop for Mapper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What differs from one test to the other.
pub struct Export<'a> {
    pub access: &'a str,
    pub protocols: &'a str,
    /// The folder to serve, if it is not one of the server's own.
    pub folder: Option<PathBuf>,
}

impl Default for Export<'_> {
    fn default() -> Self {
        Self { access: "RW", protocols: "4", folder: None }
    }
}

impl Ganesha {
    /// Nothing, with the reason said, where it cannot run.
    pub fn start(export: &Export) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let exported = export.folder.clone().unwrap_or_else(|| folder.path().join("export"));
        fs::create_dir_all(exported.join("inner")).unwrap();
        fs::create_dir(folder.path().join("recovery")).unwrap();
        fs::write(exported.join("disk"), pattern(0, FILE_BYTES)).unwrap();
        let (port, mount_port) = (free_port(), free_port());
        let Export { access, protocols, .. } = export;
        // In a namespace with nothing but loopback it does not know that number, and needs to bind to none.
        let bind = if std::env::var_os(INSIDE).is_some() { "" } else { "Bind_addr = 127.0.0.1;" };
        let configuration = format!(
            "NFS_CORE_PARAM {{ NFS_Port = {port}; MNT_Port = {mount_port}; NFS_Protocols = {protocols};\n\
               {bind} Enable_NLM = false; Enable_RQUOTA = false; }}\n\
             NFSv4 {{ Graceless = true; RecoveryBackend = fs; RecoveryRoot = \"{place}/recovery\"; }}\n\
             EXPORT {{ Export_Id = 1; Path = {served}; Pseudo = /export; Access_Type = {access};\n\
               Squash = No_Root_Squash; SecType = sys; Protocols = {protocols}; Transports = TCP;\n\
               FSAL {{ Name = VFS; }} }}\n",
            place = folder.path().display(),
            served = exported.display(),
        );
        let file = folder.path().join("ganesha.conf");
        fs::write(&file, configuration).unwrap();
        let mut command = Command::new("ganesha.nfsd");
        command.args(["-F", "-N", "NIV_EVENT", "-f"]).arg(&file);
        command.arg("-L").arg(folder.path().join("log")).arg("-p").arg(folder.path().join("pid"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(child) = command.spawn() else {
            skip("there is no ganesha.nfsd");
            return None;
        };
        let version = (*protocols).to_owned();
        let mut server = Self { folder, exported, version, command, child, port, mount_port };
        server.is_ready().then_some(server)
    }

    /// Starts it again as it was started, after it was killed.
    pub fn begin_again(&mut self) {
        self.child = self.command.spawn().unwrap();
        assert!(self.is_ready());
    }

    /// Waits until it listens and serves its file.
    fn is_ready(&mut self) -> bool {
        let begun_ns = now_ns();
        let address = self.at("disk", self.port);
        loop {
            match Connection::connect(&address, &settings()) {
                Ok(connection) => {
                    connection.close();
                    return true;
                }
                Err(fault) if fault.kind == FaultKind::Unreachable => {}
                Err(fault) => {
                    // Only what the server itself says it cannot do is no fault of the client.
                    assert!(!self.is_able(), "{fault}");
                    skip(&format!("ganesha does not serve its file here: {fault}"));
                    return false;
                }
            }
            if self.child.try_wait().unwrap().is_some() || now_ns() - begun_ns > 20_000_000_000 {
                skip("ganesha.nfsd does not run here: it needs root");
                return false;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Whether it is root, and has not complained of its configuration or of the file system that it serves.
    fn is_able(&self) -> bool {
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
        is_root && ![":CONFIG :CRIT", ":FSAL :CRIT"].iter().any(|words| log.contains(words))
    }

    /// A file of the export in a version of the protocol, over a port.
    pub fn of_version(&self, name: &str, version: &str, port: u16) -> Address {
        let export = match version {
            "3" => self.exported.display().to_string(),
            _ => "/export".to_owned(),
        };
        let mount = self.mount_port;
        let more = if version == "3" { format!("&mountport={mount}") } else { String::new() };
        let text = format!("nfs://127.0.0.1:{port}{export}/{name}?version={version}{more}");
        Address::parse(&text).unwrap()
    }
}

impl FileServer for Ganesha {
    fn at(&self, name: &str, port: u16) -> Address {
        self.of_version(name, &self.version, port)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.exported.join(name)
    }

    fn port(&self) -> u16 {
        self.port
    }

    fn settings(&self) -> Settings {
        settings()
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Ganesha {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
