//! Samba's smbd with a configuration, a password database and folders of its own, started by the test that
//! needs it and ended with it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fathom_net::{Address, Credentials, Settings};
use fathom_sys::clock::now_ns;
use tempfile::TempDir;

use crate::files::FileServer;
use crate::ports::free_port;
use crate::server::{FILE_BYTES, pattern, settings, skip};

pub const PASSWORD: &str = "pass w0rd";

/// A running server with the share `share`, in which is the file `disk`.
pub struct Samba {
    folder: TempDir,
    command: Command,
    child: Child,
    pub port: u16,
    pub user: String,
}

/// The user of this process: the one that smbd may become without root.
fn own_name() -> String {
    let output = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Samba {
    /// With more lines for all and for the share. Nothing, with the reason said, where it cannot run.
    pub fn start(global: &str, share: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        Self::start_in(folder, global, share)
    }

    /// In a folder that has been prepared.
    pub fn start_in(folder: TempDir, global: &str, share: &str) -> Option<Self> {
        let place = folder.path();
        fs::create_dir_all(place.join("share/inner")).unwrap();
        fs::write(place.join("share/disk"), pattern(0, FILE_BYTES)).unwrap();
        for name in ["private", "state", "cache", "lock", "pid", "ncalrpc"] {
            fs::create_dir(place.join(name)).unwrap();
        }
        let (port, user) = (free_port(), own_name());
        let file = place.join("smb.conf");
        fs::write(&file, configuration(place, port, &user, global, share)).unwrap();
        if !add_user(&file, &user) {
            skip("there is no samba, or smbpasswd cannot make a password database");
            return None;
        }
        let mut command = Command::new("smbd");
        command.args(["--foreground", "--debug-stdout", "-s"]).arg(&file);
        command.stdin(Stdio::null()).stdout(fs::File::create(place.join("out")).unwrap());
        let child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut server = Self { folder, command, child, port, user };
        server.is_ready().then_some(server)
    }

    /// Starts it again as it was started, after it was killed.
    pub fn begin_again(&mut self) {
        self.child = self.command.spawn().unwrap();
        assert!(self.is_ready());
    }

    fn is_ready(&mut self) -> bool {
        let begun_ns = now_ns();
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if self.child.try_wait().unwrap().is_some() || now_ns() - begun_ns > 20_000_000_000 {
                skip("smbd does not run here: it needs root");
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }

    /// Processes that smbd made for connections; they have its pid as their parent.
    fn children(&self) -> Vec<String> {
        let output = Command::new("pgrep").args(["-P", &self.child.id().to_string()]).output();
        let words = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        words.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    }

    /// A path of the share `share`, with parameters.
    pub fn address(&self, path: &str) -> Address {
        Address::parse(&format!("smb://127.0.0.1:{}/share/{path}", self.port)).unwrap()
    }

    pub fn credentials(&self) -> Credentials {
        Credentials::new(&self.user, "", PASSWORD)
    }
}

fn configuration(place: &Path, port: u16, user: &str, global: &str, share: &str) -> String {
    let place = place.display();
    format!(
        "[global]\nserver role = standalone server\nsmb ports = {port}\ninterfaces = lo\n\
         bind interfaces only = yes\nprivate dir = {place}/private\nstate directory = {place}/state\n\
         cache directory = {place}/cache\nlock directory = {place}/lock\npid directory = {place}/pid\n\
         ncalrpc dir = {place}/ncalrpc\nlog file = {place}/log\npassdb backend = tdbsam\n\
         map to guest = Bad User\ndisable netbios = yes\nload printers = no\n\
         printcap name = /dev/null\ndisable spoolss = yes\n{global}\n\
         [share]\npath = {place}/share\nread only = no\nguest ok = yes\nforce user = {user}\n{share}\n"
    )
}

fn add_user(file: &Path, user: &str) -> bool {
    let mut command = Command::new("smbpasswd");
    command.arg("-c").arg(file).args(["-s", "-a", user]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let said = format!("{PASSWORD}\n{PASSWORD}\n");
    let _ = child.stdin.take().unwrap().write_all(said.as_bytes());
    child.wait().is_ok_and(|status| status.success())
}

impl FileServer for Samba {
    fn at(&self, name: &str, port: u16) -> Address {
        Address::parse(&format!("smb://127.0.0.1:{port}/share/{name}")).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("share").join(name)
    }

    fn port(&self) -> u16 {
        self.port
    }

    fn settings(&self) -> Settings {
        Settings { credentials: Some(self.credentials()), ..settings() }
    }

    fn kill(&mut self) {
        // The process of a connection is another than that which listens.
        let children = self.children();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        for child in children {
            let _ = Command::new("kill").args(["-9", &child]).status();
        }
    }
}

impl Drop for Samba {
    fn drop(&mut self) {
        let children = self.children();
        let _ = self.child.kill();
        let _ = self.child.wait();
        for child in children {
            let _ = Command::new("kill").args(["-9", &child]).stderr(Stdio::null()).status();
        }
    }
}
