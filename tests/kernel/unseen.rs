//! Who has a target open, but is not in `/proc`: outside of the PID namespace, in another layer, on the way
//! through a socket.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::bench::{Bench, bytes, skip};
use crate::prepare::support::{Loop, Mount, run};

/// One test at a time has the loop devices of this file.
static TURN: Mutex<()> = Mutex::new(());

pub fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

pub const LOAD: &str = "-w100 -W0 -d30 -b4K --stop-ios=16";

pub fn zeros(path: &Path) {
    fs::write(path, vec![0; 1 << 20]).unwrap();
}

fn open_for_writing(path: &Path) -> File {
    File::options().write(true).open(path).unwrap()
}

/// A command in a namespace of its own, by the options of unshare(1); none if that is not allowed here.
pub fn apart(options: &[&str]) -> Option<Command> {
    let is_allowed = run("unshare", &[options, &["true"]].concat());
    if !is_allowed {
        skip(&format!("`unshare {}` is not allowed here", options.join(" ")));
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(options);
    Some(command)
}

fn in_pid_namespace(args: &str) -> Option<Output> {
    let mut command = apart(&["--pid", "--fork", "--mount-proc"])?;
    command.arg(env!("CARGO_BIN_EXE_diskspd")).args(args.split_whitespace());
    Some(command.output().unwrap())
}

pub fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn is_refused(output: &Output, words: &str, path: &Path, before: &[u8]) {
    let told = told(output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains(words), "{told}");
    assert!(bytes(path) == before, "{} was written", path.display());
}

#[test]
fn break_6_a_writer_outside_of_the_pid_namespace_was_not_seen() {
    let bench = Bench::new();
    let path = bench.path("z.dat");
    zeros(&path);
    let args = format!("--overwrite {}", path.display());
    let (args, strict) = (format!("{LOAD} {args}"), format!("{LOAD} --strict -Rjson {args}"));
    let before = bytes(&path);
    let writing = open_for_writing(&path);
    let Some(output) = in_pid_namespace(&args) else { return };
    is_refused(
        &output,
        "a process that cannot be seen from here has it open for writing",
        &path,
        &before,
    );
    drop(writing);
    // The kernel says that nobody has it open: then nothing is in doubt, and strict or not makes none.
    let output = in_pid_namespace(&strict).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["warnings"].to_string().matches("users_unseen").count(), 0, "{result}");
}

#[test]
fn a_pid_namespace_is_said_for_a_device_and_refused_under_strict() {
    let _turn = turn();
    let Some(device) = Loop::attach("/dev/loop4", 4 << 20) else { return };
    let args = |more: &str| format!("{LOAD} {more} {} {}", device.leave(), device.name());
    let Some(output) = in_pid_namespace(&args("-Rjson")) else { return };
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let said = result["warnings"].as_array().unwrap().iter();
    let said: Vec<_> = said.filter(|one| one["kind"] == "users_unseen").collect();
    assert_eq!(said.len(), 1, "{result}");
    assert!(said[0]["evidence"].as_str().unwrap().contains("PID namespace of its own"));
    let output = in_pid_namespace(&args("--explain -Rjson")).unwrap();
    let explained: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(explained["notes"].to_string().contains("PID namespace of its own"), "{explained}");
    let before = bytes(device.image());
    let output = in_pid_namespace(&args("--strict")).unwrap();
    is_refused(&output, "PID namespace of its own", device.image(), &before);
    assert!(told(&output).contains("leave --strict out"), "{}", told(&output));
}

/// A process that has sent a descriptor to itself, and has closed it; it ends when this is dropped.
struct Sender(Child);

impl Sender {
    fn new(path: &Path) -> Option<Self> {
        let code = "import os, socket, sys, time\n\
                    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)\n\
                    fd = os.open(sys.argv[1], os.O_RDWR)\n\
                    socket.send_fds(a, [b'x'], [fd])\nos.close(fd)\n\
                    print('ready', flush=True)\ntime.sleep(1000)";
        let mut command = Command::new("python3");
        let spawned = command.args(["-c", code]).arg(path).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = spawned else {
            skip("there is no python3");
            return None;
        };
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Some(Self(child))
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

#[test]
fn break_6_a_descriptor_on_its_way_through_a_socket_was_not_seen() {
    let bench = Bench::new();
    let path = bench.path("z.dat");
    zeros(&path);
    let before = bytes(&path);
    let Some(sender) = Sender::new(&path) else { return };
    let args = format!("{LOAD} --overwrite z.dat");
    let words = "a process that cannot be seen from here has it open for writing";
    is_refused(&bench.run(&args), words, &path, &before);
    is_refused(&bench.run("-c512K -W0 -d1 -w0 --overwrite z.dat"), words, &path, &before);
    drop(sender);
    let output = bench.run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

#[test]
fn a_descriptor_of_a_device_on_its_way_is_said_and_refused_under_strict() {
    let _turn = turn();
    let Some(device) = Loop::attach("/dev/loop5", 4 << 20) else { return };
    let Some(_sender) = Sender::new(device.path()) else { return };
    let bench = Bench::new();
    let args = |more: &str| format!("{LOAD} {more} {} {}", device.leave(), device.name());
    let output = bench.run(&args("--explain -Rjson"));
    let explained: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(explained["notes"].to_string().contains("UNIX socket of process"), "{explained}");
    let before = bytes(device.image());
    let output = bench.run(&args("--strict"));
    is_refused(&output, "on their way through a UNIX socket", device.image(), &before);
}

/// An overlay over a folder, with a file in the upper layer.
struct Overlay {
    home: tempfile::TempDir,
    mount: Option<Mount>,
}

impl Overlay {
    fn new() -> Option<Self> {
        let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for name in ["lower", "upper", "work"] {
            fs::create_dir(home.path().join(name)).unwrap();
        }
        zeros(&home.path().join("upper/up.dat"));
        zeros(&home.path().join("lower/low.dat"));
        let at = |name: &str| home.path().join(name).display().to_string();
        let mount = Self::mount(&[&at("lower")], Some((&at("upper"), &at("work"))))?;
        Some(Self { home, mount: Some(mount) })
    }

    fn mount(lower: &[&str], upper: Option<(&str, &str)>) -> Option<Mount> {
        let mut options = format!("lowerdir={}", lower.join(":"));
        if let Some((upper, work)) = upper {
            options.push_str(&format!(",upperdir={upper},workdir={work}"));
        }
        Mount::new(&["-t", "overlay", "overlay", "-o", &options])
    }

    fn upper(&self) -> PathBuf {
        self.home.path().join("upper/up.dat")
    }

    fn merged(&self) -> PathBuf {
        self.mount.as_ref().unwrap().path().join("up.dat")
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        self.mount.take();
    }
}

fn try_to_write(target: &Path, more: &str) -> Output {
    Bench::new().run(&format!("{LOAD} --overwrite {more} {}", target.display()))
}

#[test]
fn break_6_a_file_held_through_one_layer_of_an_overlay_was_written_through_another() {
    let Some(overlay) = Overlay::new() else { return };
    let before = bytes(&overlay.upper());
    let pairs = [(overlay.upper(), overlay.merged()), (overlay.merged(), overlay.upper())];
    for (held, target) in &pairs {
        let file = open_for_writing(held);
        is_refused(&try_to_write(target, ""), "open for writing", &overlay.upper(), &before);
        // Also where processes are not seen.
        let args = format!("{LOAD} --overwrite {}", target.display());
        if let Some(output) = in_pid_namespace(&args) {
            is_refused(&output, "open for writing", &overlay.upper(), &before);
        }
        drop(file);
    }
    let Some(bound) = Mount::new(&["--bind", overlay.merged().parent().unwrap().to_str().unwrap()])
    else {
        return;
    };
    let file = open_for_writing(&overlay.upper());
    let target = bound.path().join("up.dat");
    is_refused(&try_to_write(&target, ""), "open for writing", &overlay.upper(), &before);
    drop((file, bound));
    for (_, target) in pairs {
        let output = try_to_write(&target, "--strict");
        assert_eq!(output.status.code(), Some(0), "{}: {}", target.display(), told(&output));
    }
}

#[test]
fn break_6_a_loop_device_over_one_layer_of_an_overlay_was_written_through_another() {
    let _turn = turn();
    let Some(overlay) = Overlay::new() else { return };
    let before = bytes(&overlay.upper());
    for (under, target) in
        [(overlay.upper(), overlay.merged()), (overlay.merged(), overlay.upper())]
    {
        if !run("losetup", &["--read-only", "/dev/loop6", under.to_str().unwrap()]) {
            return skip("/dev/loop6 cannot be attached here, or is taken");
        }
        let output = try_to_write(&target, "");
        run("losetup", &["-d", "/dev/loop6"]);
        is_refused(
            &output,
            "the loop device loop6 lies over the same file at",
            &overlay.upper(),
            &before,
        );
    }
}

#[test]
fn layers_of_overlays_on_overlays_are_looked_through() {
    let Some(inner) = Overlay::new() else { return };
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for name in ["upper", "work"] {
        fs::create_dir(home.path().join(name)).unwrap();
    }
    let at = |name: &str| home.path().join(name).display().to_string();
    let lower = inner.merged().parent().unwrap().display().to_string();
    // The upper layer of an overlay may lie on none: the inner one is the lower layer.
    let Some(outer) = Overlay::mount(&[&lower], Some((&at("upper"), &at("work")))) else { return };
    let before = bytes(&inner.upper());
    let file = open_for_writing(&inner.upper());
    let target = outer.path().join("up.dat");
    is_refused(&try_to_write(&target, ""), "open for writing", &inner.upper(), &before);
    drop(file);
}

#[test]
fn a_network_or_fuse_file_system_is_said_and_refused_under_strict() {
    let bench = Bench::new();
    let (folder, source) = (bench.path("mounted"), bench.path("source"));
    fs::create_dir(&folder).unwrap();
    fs::create_dir(&source).unwrap();
    zeros(&source.join("z.dat"));
    let names = [&source, &folder].map(|path| path.to_str().unwrap());
    if !run("bindfs", &names) {
        return skip("there is no bindfs, or it is not allowed here");
    }
    let args = |more: &str| format!("{LOAD} --overwrite {more} mounted/z.dat");
    let explained = bench.run(&args("--explain -Rjson"));
    let strict = bench.run(&args("--strict"));
    run("umount", &[folder.to_str().unwrap()]);
    let explained: Value = serde_json::from_slice(&explained.stdout).unwrap();
    assert!(explained["notes"].to_string().contains("of type FUSE"), "{explained}");
    assert_eq!(strict.status.code(), Some(2), "{}", told(&strict));
}

/// Points a link to one device and to another by turns until this is to end.
fn swap(link: &Path, devices: [&Path; 2], over: &AtomicBool) -> u32 {
    let next = link.with_extension("next");
    let mut count = 0;
    while !over.load(Ordering::Relaxed) {
        symlink(devices[count as usize % 2], &next).unwrap();
        fs::rename(&next, link).unwrap();
        count += 1;
        std::thread::sleep(std::time::Duration::from_micros(u64::from(count % 7) * 300));
    }
    count
}

#[test]
fn a_link_that_leads_to_another_device_during_a_run_was_followed_twice() {
    let _turn = turn();
    let Some(ours) = Loop::attach("/dev/loop4", 4 << 20) else { return };
    let Some(theirs) = Loop::attach("/dev/loop5", 4 << 20) else { return };
    let bench = Bench::new();
    let link = bench.path("disk");
    symlink(ours.path(), &link).unwrap();
    let before = bytes(theirs.image());
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let swapping = scope.spawn(|| swap(&link, [theirs.path(), ours.path()], &over));
        // A binary that is optimised is through with one round before the link was moved often.
        for load in ["-Sh", "-Su", "-Sm", "--engine=sync -t2"].repeat(4) {
            bench.run(&format!("{LOAD} {load} {} disk", ours.leave()));
        }
        over.store(true, Ordering::Relaxed);
        assert!(swapping.join().unwrap() > 50);
    });
    assert!(bytes(theirs.image()) == before, "the other device was written");
}
