//! What the guard may not read, or cannot find, is a doubt: it was taken for nothing.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::bench::{Bench, bytes, skip};
use crate::prepare::support::{Loop, run};
use crate::privileges_table::{DENY, NOBODY};
use crate::unseen::{LOAD, apart, is_refused, told, turn, zeros};

const MIB: u64 = 1 << 20;

/// A process of Python, which has what it was given; it ends when this is dropped.
struct Holder(Child);

impl Holder {
    fn new(code: &str, path: &Path) -> Option<Self> {
        let code =
            format!("import ctypes, mmap, os, sys, threading, time\nname = sys.argv[1]\n{code}");
        let mut command = Command::new("python3");
        let spawned = command.args(["-c", &code]).arg(path).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = spawned else {
            skip("there is no python3");
            return None;
        };
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let held = Self(child);
        if line != "ready\n" {
            skip(&format!("what is to be held cannot be held here: {line}"));
            return None;
        }
        Some(held)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// A run that writes to a device, and has leave for that.
fn args_for(device: &Loop, more: &str) -> String {
    format!("{LOAD} --overwrite {more} {} {}", device.leave(), device.name())
}

/// What `--explain` notes, with its verdicts.
fn explained(output: &Output) -> String {
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    assert!(found.is_object(), "{}", told(output));
    found.to_string()
}

const OPEN: &str = "fd = os.open(name, os.O_RDWR)\nprint('ready', flush=True)\ntime.sleep(1000)";

#[test]
fn root_that_may_not_look_into_processes_saw_no_writer_and_said_nothing() {
    let _turn = turn();
    let Some(device) = Loop::attach("/dev/loop4", 4 * MIB) else { return };
    let Some(_holder) = Holder::new(OPEN, device.path()) else { return };
    let before = bytes(device.image());
    let limited = |more: &str| {
        let options = ["--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"];
        let mut command = Command::new("setpriv");
        command.args(options).arg(env!("CARGO_BIN_EXE_diskspd"));
        command.args(args_for(&device, more).split_whitespace()).output()
    };
    let Ok(output) = limited("--explain -Rjson") else { return skip("there is no setpriv") };
    let said = explained(&output);
    assert!(said.contains("cannot be seen although this is root"), "{said}");
    is_refused(&limited("--strict").unwrap(), "CAP_SYS_PTRACE", device.image(), &before);
    // With all capabilities the writer itself is seen.
    let output = Bench::new().run(&args_for(&device, ""));
    is_refused(&output, "has it open for writing", device.image(), &before);
}

#[test]
fn each_descriptor_of_a_process_that_may_not_be_looked_into_was_tried() {
    let _turn = turn();
    let bench = Bench::new();
    let path = bench.path("z.dat");
    zeros(&path);
    let code = format!("held = [os.open('/dev/null', 0) for _ in range(300)]\n{OPEN}");
    let Some(holder) = Holder::new(&code, &path) else { return };
    let trace = bench.path("trace.txt");
    let options = ["--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace", "strace", "-f", "-o"];
    let traced = Command::new("setpriv")
        .args(options)
        .arg(&trace)
        .args(["-e", "trace=readlink,readlinkat", env!("CARGO_BIN_EXE_diskspd")])
        .args(format!("{LOAD} --overwrite --explain {}", path.display()).split_whitespace())
        .output();
    let Ok(trace) = fs::read_to_string(trace) else {
        return skip(&format!("strace cannot be used here: {traced:?}"));
    };
    let looks = format!("/proc/{}/fd/", holder.0.id());
    let denied = trace.lines().filter(|line| line.contains(&looks) && line.contains("EACCES"));
    // The process is asked for what is open, for what is mapped, and by some facts.
    assert!((1..10).contains(&denied.count()), "{trace}");
}

const MAP: &str = "fd = os.open(name, os.O_RDWR)\nheld = mmap.mmap(fd, 1 << 20)\nos.close(fd)\n";

#[test]
fn a_device_that_is_mapped_for_writing_was_free_once_it_was_closed() {
    let _turn = turn();
    let Some(device) = Loop::attach("/dev/loop4", 4 * MIB) else { return };
    let before = bytes(device.image());
    let waits = "print('ready', flush=True)\ntime.sleep(1000)";
    // The first thread ends: what is mapped is shown by the other one.
    let leaves = "def wait():\n    time.sleep(0.3)\n    print('ready', flush=True)\n    time.sleep(1000)\n\
                  threading.Thread(target=wait).start()\nctypes.CDLL(None).syscall(60, 0)";
    let ends = if cfg!(target_arch = "x86_64") { leaves } else { waits };
    // Python keeps a descriptor of its own for a mapping, unless it is closed behind its back.
    for more in [waits, ends] {
        let close = "[os.close(int(one)) for one in os.listdir('/proc/self/fd') \
                     if os.path.exists('/proc/self/fd/' + one) \
                     and os.path.realpath('/proc/self/fd/' + one) == name]\n";
        let Some(holder) = Holder::new(&format!("{MAP}{close}{more}"), device.path()) else {
            return;
        };
        let output = Bench::new().run(&args_for(&device, ""));
        is_refused(&output, "has it open for writing", device.image(), &before);
        drop(holder);
    }
    let output = Bench::new().run(&args_for(&device, ""));
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

/// A ring with one registered file, which is closed (`io_uring_setup` is 425, `io_uring_register` 427, and
/// `IORING_REGISTER_FILES` 2 on every machine).
const REGISTER: &str = "libc = ctypes.CDLL(None, use_errno=True)\n\
                        ring = libc.syscall(425, 4, ctypes.create_string_buffer(120))\n\
                        fd = os.open(name, os.O_RDWR)\n\
                        one = ctypes.byref(ctypes.c_int(fd))\n\
                        if ring < 0 or libc.syscall(427, ring, 2, one, 1) < 0:\n    \
                        sys.exit('no ring')\n\
                        os.close(fd)\nprint('ready', flush=True)\ntime.sleep(1000)";

#[test]
fn a_device_that_is_registered_in_a_ring_was_free_once_it_was_closed() {
    let _turn = turn();
    let Some(device) = Loop::attach("/dev/loop4", 4 * MIB) else { return };
    let (bench, before) = (Bench::new(), bytes(device.image()));
    let Some(holder) = Holder::new(REGISTER, device.path()) else { return };
    let said = explained(&bench.run(&args_for(&device, "--explain -Rjson")));
    assert!(said.contains("registered in an io_uring of process"), "{said}");
    let output = bench.run(&args_for(&device, "--strict"));
    is_refused(&output, "registered in an io_uring of process", device.image(), &before);
    drop(holder);
    // A ring with another file says nothing of the device.
    let Some(_holder) = Holder::new(REGISTER, &bench.path("t.dat")) else { return };
    let said = explained(&bench.run(&args_for(&device, "--explain -Rjson")));
    assert!(!said.contains("io_uring of process"), "{said}");
    let output = bench.run(&args_for(&device, ""));
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

#[test]
fn a_thread_with_files_of_its_own_was_not_looked_at_where_kcmp_is_denied() {
    let _turn = turn();
    let Some(device) = Loop::attach("/dev/loop4", 4 * MIB) else { return };
    let thread = "def have():\n    if ctypes.CDLL(None).unshare(0x400): sys.exit('no table')\n    \
                  os.open(name, os.O_RDWR)\n    print('ready', flush=True)\n    time.sleep(1000)\n\
                  threading.Thread(target=have).start()";
    let Some(_holder) = Holder::new(thread, device.path()) else { return };
    let before = bytes(device.image());
    let kcmp = if cfg!(target_arch = "x86_64") { "312" } else { "272" };
    let mut denied = Command::new("python3");
    denied.args(["-c", DENY, kcmp, env!("CARGO_BIN_EXE_diskspd")]);
    let output = denied.args(args_for(&device, "").split_whitespace()).output().unwrap();
    is_refused(&output, "has it open for writing", device.image(), &before);
}

#[test]
fn a_file_below_a_loop_device_whose_name_was_removed_was_written_by_its_owner() {
    let _turn = turn();
    let home = tempfile::tempdir().unwrap();
    let place = |name: &str| home.path().join(name).display().to_string();
    let (file, name, program) = (place("f.img"), place("name.img"), place("diskspd"));
    zeros(Path::new(&file));
    fs::hard_link(&file, &name).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_diskspd"), &program).unwrap();
    let is_given = run("chown", &["-R", "65534:65534", &place(".")]);
    if !is_given || !run("losetup", &["--read-only", "/dev/loop4", &name]) {
        return skip("/dev/loop4 cannot be attached here, or is taken");
    }
    let mut words = NOBODY.split_whitespace();
    let (before, mut nobody) = (bytes(Path::new(&file)), Command::new(words.next().unwrap()));
    nobody.args(words).arg(&program).args(LOAD.split_whitespace()).args(["--strict", &file]);
    let found = nobody.output().unwrap();
    fs::remove_file(&name).unwrap();
    let lost = nobody.output().unwrap();
    run("losetup", &["-d", "/dev/loop4"]);
    is_refused(&found, "the loop device loop4 lies over it", Path::new(&file), &before);
    is_refused(&lost, "behind the loop device", Path::new(&file), &before);
    assert!(told(&lost).contains("loop4 ("), "{}", told(&lost));
    let free = nobody.output().unwrap();
    // Others may have loop devices like that on this machine, too.
    assert!(!told(&free).contains("loop4"), "{}", told(&free));
}

/// The device would have the file open for writing, and the kernel says that nobody has.
#[test]
fn a_loop_device_of_others_casts_no_doubt_on_a_file_that_nobody_has_open() {
    let _turn = turn();
    let home = tempfile::tempdir().unwrap();
    let place = |name: &str| home.path().join(name).display().to_string();
    let (file, other, program) = (place("f.dat"), place("other.img"), place("diskspd"));
    zeros(Path::new(&file));
    zeros(Path::new(&other));
    fs::copy(env!("CARGO_BIN_EXE_diskspd"), &program).unwrap();
    let is_given = run("chown", &["-R", "65534:65534", &place(".")]);
    if !is_given || !run("losetup", &["/dev/loop4", &other]) {
        return skip("/dev/loop4 cannot be attached here, or is taken");
    }
    fs::remove_file(&other).unwrap();
    let mut words = NOBODY.split_whitespace();
    let mut nobody = Command::new(words.next().unwrap());
    nobody.args(words).arg(&program).args(LOAD.split_whitespace()).args(["--strict", &file]);
    let output = nobody.output().unwrap();
    run("losetup", &["-d", "/dev/loop4"]);
    assert!(!told(&output).contains("loop4"), "{}", told(&output));
}

#[test]
fn without_sysfs_no_loop_device_was_known_and_a_device_was_called_empty() {
    let _turn = turn();
    let Some(device) = Loop::attach("/dev/loop4", 4 * MIB) else { return };
    let Some(mut bare) = apart(&["--mount", "--propagation", "private"]) else { return };
    let before = bytes(device.image());
    let args = |target: &str| format!("{LOAD} --strict --overwrite {} {target}", device.leave());
    let image = device.image().display().to_string();
    let script = format!(
        "umount -R -l /sys && mount -t tmpfs tmpfs /sys && mkdir -p /sys/block /sys/dev/block || exit 99\n\
         {program} {}\n{program} {}",
        args(&image),
        args(device.name()),
        program = env!("CARGO_BIN_EXE_diskspd"),
    );
    let output = bare.args(["sh", "-c", &script]).output().unwrap();
    let said = told(&output);
    if output.status.code() == Some(99) {
        return skip("/sys cannot be taken away here");
    }
    // The loop device has its file open for writing, which the kernel tells anyway.
    assert!(said.contains("open for writing") || said.contains("/sys does not show"), "{said}");
    assert!(said.contains(&format!("size of '{}' is not known", device.name())), "{said}");
    assert!(bytes(device.image()) == before);
    // With a device that only reads, nothing else tells.
    assert!(run("losetup", &["-d", device.name()]));
    assert!(run("losetup", &["--read-only", device.name(), &image]));
    let mut bare = apart(&["--mount", "--propagation", "private"]).unwrap();
    let program = env!("CARGO_BIN_EXE_diskspd");
    let script = format!("umount -R -l /sys\n{program} {LOAD} --strict --overwrite {image}");
    let output = bare.args(["sh", "-c", &script]).output().unwrap();
    is_refused(&output, "/sys does not show the block devices here", device.image(), &before);
}

/// `/dev/loop5` over `/dev/loop4`; detached when dropped.
struct Over;

impl Over {
    fn attach() -> Option<Self> {
        let is_attached = run("losetup", &["/dev/loop5", "/dev/loop4"]);
        if !is_attached {
            skip("/dev/loop5 cannot be attached here, or is taken");
        }
        is_attached.then_some(Self)
    }

    fn args(more: &str) -> String {
        format!("{LOAD} --overwrite {more} --allow-write=/dev/loop5:{} /dev/loop5", 4 * MIB)
    }
}

impl Drop for Over {
    fn drop(&mut self) {
        run("losetup", &["-d", "/dev/loop5"]);
    }
}

#[test]
fn a_mount_outside_of_the_chroot_that_it_runs_in_was_not_seen() {
    let _turn = turn();
    let Some(device) = Loop::attach("/dev/loop4", 4 * MIB) else { return };
    let Some(_over) = Over::attach() else { return };
    if !run("mkfs.ext2", &["-q", device.name()]) {
        return skip("there is no mkfs.ext2");
    }
    let Some(mut within) = apart(&["--mount", "--propagation", "private"]) else { return };
    let (jail, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // The shell stays outside, and only its mount namespace has the mount.
    let script = format!(
        "mount -o ro {} {} && mount --bind / {root} || exit 99\n\
         for one in proc sys dev; do mount --rbind /$one {root}/$one || exit 99; done\n\
         chroot {root} {} {}\nexit $?",
        device.name(),
        place.path().display(),
        env!("CARGO_BIN_EXE_diskspd"),
        Over::args(""),
        root = jail.path().display(),
    );
    let before = bytes(device.image());
    let output = within.args(["sh", "-c", &script]).output().unwrap();
    if output.status.code() == Some(99) {
        return skip("no other root can be made here");
    }
    is_refused(&output, "loop4, which lies under it, is mounted at", device.image(), &before);
}

/// What the system swaps to; no more when dropped.
struct Swap<'a>(&'a str);

impl<'a> Swap<'a> {
    fn on(device: &'a str) -> Option<Self> {
        let is_on = run("mkswap", &[device]) && run("swapon", &["--priority", "0", device]);
        if !is_on {
            skip("swapping is not allowed here");
        }
        is_on.then_some(Self(device))
    }
}

impl Drop for Swap<'_> {
    fn drop(&mut self) {
        run("swapoff", &[self.0]);
    }
}

#[test]
fn a_swap_device_without_a_node_was_none() {
    let _turn = turn();
    let Some(device) = Loop::attach("/dev/loop4", 4 * MIB) else { return };
    let Some(_over) = Over::attach() else { return };
    let Some(_swap) = Swap::on(device.name()) else { return };
    let Some(mut bare) = apart(&["--mount", "--propagation", "private"]) else { return };
    let script = format!(
        "mkdir -p \"$1\" && cp -a /dev/loop5 \"$1\" && mount -t tmpfs tmpfs /dev || exit 99\n\
         cp -a \"$1\"/loop5 /dev && exec {} {}",
        env!("CARGO_BIN_EXE_diskspd"),
        Over::args(""),
    );
    let kept = tempfile::tempdir().unwrap();
    let output = bare.args(["sh", "-c", &script, "sh"]).arg(kept.path()).output().unwrap();
    if output.status.code() == Some(99) {
        return skip("/dev cannot be taken away here");
    }
    let said = told(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("the system swaps to loop4, which lies under it,"), "{said}");
}
