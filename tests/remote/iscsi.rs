//! Loads on LUNs of tgt, which needs root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fathom_sys::clock::now_ns;
use tempfile::TempDir;

use crate::ports::free_port;
use crate::run::run;
use crate::server::skip;

pub const TARGET: &str = "iqn.2003-01.org.example:remote";
const DISK_BYTES: u64 = 32 << 20;

/// A daemon with one LUN, which is the file `disk`; its serial number is `SERIAL7`.
pub struct Tgt {
    folder: TempDir,
    command: Command,
    child: Child,
    control: String,
    pub port: u16,
}

impl Tgt {
    /// Nothing, with the reason said, where it cannot run.
    pub fn start(prepare: impl FnOnce(&Path)) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let disk = folder.path().join("disk");
        fs::File::create(&disk).unwrap().set_len(DISK_BYTES).unwrap();
        prepare(&disk);
        let port = free_port();
        // Its control socket is a number of this host, of 32767 at most: beyond, tgtd ends.
        let control = (1000 + u32::from(port) % 30_000).to_string();
        let mut command = Command::new("tgtd");
        command.args(["-f", "-C", &control, "--iscsi", &format!("portal=127.0.0.1:{port}")]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(child) = command.spawn() else {
            skip("there is no tgtd");
            return None;
        };
        let mut server = Self { folder, command, child, control, port };
        server.offer().then_some(server)
    }

    /// Kills it as `kill -9` does.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        // What is left of it would keep the next one from its place.
        for end in ["", ".lock"] {
            let _ = fs::remove_file(format!("/var/run/tgtd/socket.{}{end}", self.control));
        }
    }

    /// Starts it again as it was started, after it was killed.
    pub fn begin_again(&mut self) {
        self.child = self.command.spawn().unwrap();
        assert!(self.offer());
    }

    /// Sets up its target and LUN; false where it cannot run.
    fn offer(&mut self) -> bool {
        let disk = self.disk();
        let begun_ns = now_ns();
        let new = format!("--lld iscsi --mode target --op new --tid 1 --targetname {TARGET}");
        while !self.admin(&new) {
            if self.child.try_wait().unwrap().is_some() || now_ns() - begun_ns > 20_000_000_000 {
                skip("tgtd does not run here: it needs root");
                return false;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let unit = "--lld iscsi --mode logicalunit --tid 1 --lun 1";
        for order in [
            format!("{unit} --op new --backing-store {}", disk.display()),
            format!("{unit} --op update --params thin_provisioning=1,scsi_sn=SERIAL7"),
            "--lld iscsi --mode target --op bind --tid 1 --initiator-address ALL".to_owned(),
        ] {
            assert!(self.admin(&order), "{order}");
        }
        true
    }

    pub fn admin(&self, arguments: &str) -> bool {
        let mut command = Command::new("tgtadm");
        command.args(["-C", &self.control]).args(arguments.split(' '));
        let ran = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        ran.is_ok_and(|status| status.success())
    }

    pub fn address(&self) -> String {
        address_over(self.port)
    }

    pub fn disk(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    fn file(&self) -> Vec<u8> {
        fs::read(self.folder.path().join("disk")).unwrap()
    }
}

/// The LUN over a port, which may be that of a proxy.
pub fn address_over(port: u16) -> String {
    format!("iscsi://127.0.0.1:{port}/{TARGET}/1")
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
fn a_lun_is_measured_written_and_verified_by_its_serial_number() {
    let Some(server) = Tgt::start(|_| {}) else { return };
    let (address, folder) = (server.address(), server.folder.path());
    let load = ["-b4K", "-r", "-o32", "-t2", "-d60", "-W0", "-L", "--stop-ios=2000", &address];
    let ran = run(folder, &load).good();
    assert_eq!((ran.sum("read", "ios"), ran.network()["protocol"].as_str()), (2000, Some("iSCSI")));
    assert_eq!(ran.network()["round_trip"]["by"], "a NOP-Out");
    assert!(ran.network()["outstanding_max"].as_u64().is_some_and(|most| most > 0));
    let blocks = format!("--stop-ios={}", DISK_BYTES / 65536);
    let walk = ["-b64K", "-w100", "-o4", "-d60", "-W0", &blocks];
    let refused = run(folder, &[&walk[..], &[&address]].concat());
    assert_eq!(refused.code, Some(2));
    assert!(refused.errors.contains("--allow-write=SERIAL7"), "{}", refused.errors);
    run(folder, &[&walk[..], &["--allow-write=SERIAL7", &address]].concat()).good();
    let counting: Vec<u8> = (0..DISK_BYTES).map(|at| at.to_le_bytes()[0]).collect();
    assert!(server.file() == counting, "the data are not those of the counting pattern");
    let mix = ["-b8K", "-r", "-w50", "-o8", "-d60", "-W0", "--stop-ios=2000", "--verify"];
    let mix = [&mix[..], &["--trim=0", "--allow-write=SERIAL7", &address]].concat();
    run(folder, &mix).good();
}

#[test]
fn a_lun_with_a_file_system_is_not_written() {
    if Command::new("mkfs.ext4").arg("-V").output().is_err() {
        return skip("there is no mkfs.ext4");
    }
    let has_ext4 = |disk: &Path| {
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(disk).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfs.ext4 (e2fsprogs)");
    };
    let Some(server) = Tgt::start(has_ext4) else { return };
    let before = server.file();
    let (address, folder) = (server.address(), server.folder.path());
    let load = ["-b4K", "-w100", "-d1", "-W0", "--allow-write=SERIAL7", &address];
    let ran = run(folder, &load);
    assert_eq!(ran.code, Some(2), "{}", ran.errors);
    assert!(ran.errors.contains("ext4 file system"), "{}", ran.errors);
    assert!(server.file() == before, "nothing was written");
}

#[test]
fn more_outstanding_than_the_servers_window_is_told() {
    let Some(server) = Tgt::start(|_| {}) else { return };
    let address = server.address();
    let load = ["-b4K", "-r", "-o1000", "-d60", "-W0", "--stop-ios=2000", &address];
    let ran = run(server.folder.path(), &load).good();
    let most = ran.network()["outstanding_max"].as_u64().unwrap();
    assert_eq!(ran.warns("server_window"), most < 1000, "{}", ran.result["warnings"]);
    assert_eq!(ran.sum("read", "ios"), 2000);
}
