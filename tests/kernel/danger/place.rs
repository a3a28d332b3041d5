//! Where a set-up stands: files, loop devices, mounts and processes that go away with it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::bench::skip;
use crate::prepare::support::{run, wait_until_gone};

/// The devices of these tests. Those below are used by others.
const DEVICES: [&str; 3] = ["/dev/loop8", "/dev/loop9", "/dev/loop10"];

/// What a set-up is built in.
pub struct Place {
    folder: tempfile::TempDir,
    devices: Vec<String>,
    mounts: Vec<PathBuf>,
    swaps: Vec<PathBuf>,
    processes: Vec<Child>,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (devices, mounts, swaps, processes) = (vec![], vec![], vec![], vec![]);
        Self { folder, devices, mounts, swaps, processes }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file of zeros.
    pub fn file(&self, name: &str, mebibytes: u64) -> PathBuf {
        let path = self.path(name);
        std::fs::File::create(&path).unwrap().set_len(mebibytes << 20).unwrap();
        path
    }

    /// A file with these bytes.
    pub fn written(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// The next loop device, over a file or another device, with these options.
    pub fn attach_with(&mut self, under: &Path, options: &[&str]) -> Option<String> {
        let device = DEVICES[self.devices.len()];
        let all: Vec<&str> =
            options.iter().copied().chain([device, under.to_str().unwrap()]).collect();
        self.tool("losetup", &all)?;
        self.devices.push(device.to_owned());
        Some(device.to_owned())
    }

    pub fn attach(&mut self, under: &Path) -> Option<String> {
        self.attach_with(under, &[])
    }

    /// A loop device over a new file of 64 MiB, and that file.
    pub fn disk(&mut self) -> Option<(String, PathBuf)> {
        let image = self.file("disk.img", 64);
        Some((self.attach(&image)?, image))
    }

    /// Runs a command of the system; it says so if that is missing or fails.
    #[expect(clippy::unused_self, reason = "a set-up reads as what is done in its place")]
    pub fn tool(&self, program: &str, arguments: &[&str]) -> Option<()> {
        tool_told(program, arguments, "")
    }

    /// A device with ext2, which writes nothing of its own.
    pub fn formatted(&mut self) -> Option<(String, PathBuf)> {
        let (device, image) = self.disk()?;
        self.tool("mkfs.ext2", &["-q", &device])?;
        Some((device, image))
    }

    /// Mounts a device for reading only, so that nothing changes below it.
    pub fn mount(&mut self, device: &str) -> Option<PathBuf> {
        self.mount_with(device, "ro")
    }

    pub fn mount_with(&mut self, device: &str, options: &str) -> Option<PathBuf> {
        let place = self.path(&format!("mount{}", self.mounts.len()));
        std::fs::create_dir(&place).unwrap();
        self.tool("mount", &["-o", options, device, place.to_str().unwrap()])?;
        self.mounts.push(place.clone());
        Some(place)
    }

    /// Shows a file or folder in another place too.
    pub fn bind(&mut self, from: &Path, to: &Path) -> Option<()> {
        self.tool("mount", &["--bind", from.to_str().unwrap(), to.to_str().unwrap()])?;
        self.mounts.push(to.to_owned());
        Some(())
    }

    fn unmount(&self) {
        for mount in self.mounts.iter().rev() {
            run("umount", &[mount.to_str().unwrap()]);
        }
    }

    /// Swaps to a file or a device.
    pub fn swap_to(&mut self, path: &Path) -> Option<()> {
        let name = path.to_str().unwrap();
        self.tool("mkswap", &[name])?;
        self.tool("swapon", &[name])?;
        self.swaps.push(path.to_owned());
        Some(())
    }

    /// Two partitions of 16 MiB, as the system's own tool makes them; none where there cannot be any.
    pub fn partition(&self, device: &str) -> Option<[String; 2]> {
        for (number, start) in [("1", "2048"), ("2", "65536")] {
            self.tool("addpart", &[device, number, start, "32768"])?;
        }
        Some(["p1", "p2"].map(|part| format!("{device}{part}")))
    }

    /// Starts a process that goes on until the set-up ends, and waits until it says that it is ready.
    pub fn process(&mut self, program: &str, arguments: &[&str]) -> Option<u32> {
        use std::io::{BufRead, BufReader};
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        let Ok(mut child) = command.spawn() else {
            skip(&format!("there is no {program}"));
            return None;
        };
        let mut line = String::new();
        let told = BufReader::new(child.stdout.take().unwrap()).read_line(&mut line);
        let id = child.id();
        self.processes.push(child);
        if told.is_ok() && line.trim() == "ready" {
            return Some(id);
        }
        skip(&format!("`{program} {}` fails here", arguments.join(" ")));
        None
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
        for swap in &self.swaps {
            run("swapoff", &[swap.to_str().unwrap()]);
        }
        self.unmount();
        for device in self.devices.iter().rev() {
            remove_partitions(device);
            run("losetup", &["-d", device]);
            let name = device.trim_start_matches("/dev/");
            wait_until_gone(&PathBuf::from(format!("/sys/block/{name}/loop")), || {});
        }
        // `umount` takes the path of a device node that is bound to a file for the device, as long as that
        // is attached.
        self.unmount();
        let left = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let folder = self.folder.path().to_str().unwrap();
        assert!(std::thread::panicking() || !left.contains(folder), "a mount is left: {left}");
    }
}

fn remove_partitions(device: &str) {
    let name = device.trim_start_matches("/dev/");
    for number in ["1", "2"] {
        let part = PathBuf::from(format!("/sys/block/{name}/{name}p{number}"));
        wait_until_gone(&part, || {
            run("delpart", &[device, number]);
        });
    }
}

/// Runs a command of the system with something on its standard input; it says so if that fails.
pub fn tool_told(program: &str, arguments: &[&str], input: &str) -> Option<()> {
    use std::io::Write;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let outcome = command.spawn().and_then(|mut child| {
        child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(input.as_bytes()))?;
        child.wait_with_output()
    });
    let reason = match outcome {
        Ok(output) if output.status.success() => return Some(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    skip(&format!("`{program} {}`: {}", arguments.join(" "), reason.trim()));
    None
}
