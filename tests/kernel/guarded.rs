//! Devices that must not be written, through the binary: mounted ones, whole disks with a mounted
//! partition, and read-only ones. All of them can be read.
//!
//! Only loop devices over the test's own files are ever named here.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::bench::{Bench, ios, skip};
use crate::prepare::support::{Loop, Mount, digest, run};

const MIB: u64 = 1 << 20;
const DEVICE: &str = "/dev/loop3";

/// One test at a time has the device.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What somebody's file on the device holds: blocks that nothing else holds, so that they are found in
/// the file behind the device, wherever the file system put them.
const SOMEBODYS: u8 = 0x5A;

/// Puts somebody's file on a mounted file system.
fn put_file(mount: &Mount, bytes: usize) {
    std::fs::write(mount.path().join("somebody's"), vec![SOMEBODYS; bytes]).unwrap();
}

/// How many blocks of somebody's file the file behind the device holds. The rest is the file system's own,
/// which it may change while it is mounted.
fn somebodys_blocks(image: &Path) -> usize {
    assert!(run("sync", &[]));
    let held = std::fs::read(image).unwrap();
    held.chunks(1024).filter(|block| block.iter().all(|byte| *byte == SOMEBODYS)).count()
}

/// A digest of the file behind a device once everything has been written back.
fn held(image: &Path) -> u64 {
    assert!(run("sync", &[]));
    digest(image)
}

/// Writes are refused with exit code 2, with or without `--overwrite`, in words that name both the device
/// and `word`; somebody's file stays as it is.
fn must_be_refused(device: &str, image: &Path, word: &str) {
    let bench = Bench::new();
    let before = somebodys_blocks(image);
    assert!(before > 0, "{device} holds nothing that could be lost");
    for load in ["-w100", "-w1 -r -Su", "-w100 -t2 -o8 -Sw", "-w100 -Sm"] {
        for overwrite in ["", "--overwrite"] {
            let leave = leave(device);
            let args = format!("-W0 -d1 -b4K {load} {overwrite} {leave} {device}");
            let output = bench.run(&args);
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{args}: {stderr}");
            let refusal = stderr.lines().find(|line| line.starts_with("REFUSED")).unwrap();
            assert!(refusal.contains(device) && refusal.contains(word), "{refusal}");
            assert!(output.stdout.is_empty(), "{args}");
        }
    }
    assert_eq!(somebodys_blocks(image), before, "blocks of {device} changed");
}

/// The option that permits writing to a device or a partition.
fn leave(device: &str) -> String {
    let name = device.trim_start_matches("/dev/");
    let units = std::fs::read_to_string(format!("/sys/class/block/{name}/size")).unwrap();
    format!("--allow-write={device}:{}", units.trim().parse::<u64>().unwrap() * 512)
}

fn must_be_readable(device: &str) {
    for load in ["-r -o4 -Su", "-o1 -t2 -T1M", "-r -Sm"] {
        let result = Bench::new().measure_ios(200, &format!("-b4K {load} {device}"));
        assert!(ios(&result) > 0, "{load}");
    }
}

fn code_and_words(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_mounted_device_is_read_but_never_written() {
    let _turn = turn();
    let Some(device) = Loop::attach(DEVICE, 32 * MIB) else { return };
    // Without a journal the file system writes nothing of its own while nobody uses it.
    if !run("mkfs.ext2", &["-q", device.name()]) {
        return skip("there is no mkfs.ext2");
    }
    let Some(mount) = Mount::new(&[device.name()]) else { return };
    put_file(&mount, 24 << 20);
    must_be_refused(device.name(), device.image(), mount.path().to_str().unwrap());
    must_be_readable(device.name());
    drop(mount);
    // What was refused was the mount and not the device: with leave it may be written now.
    let args = format!("-W0 -d1 -b4K -w100 {} {}", device.leave(), device.name());
    let (code, words) = code_and_words(&Bench::new().run(&args));
    assert!(code == Some(2) && words.contains("ext2"), "{words}");
    let before = held(device.image());
    let args = format!("-b4K -w100 --overwrite {} {}", device.leave(), device.name());
    Bench::new().measure_ios(500, &args);
    assert_ne!(held(device.image()), before);
}

/// One place with a Latin-1 name emptied the table of mounts: the refusal did not say what holds the device.
#[test]
fn a_mounted_device_is_known_beside_a_mount_whose_name_is_no_text() {
    let _turn = turn();
    let Some(device) = Loop::attach(DEVICE, 32 * MIB) else { return };
    if !run("mkfs.ext2", &["-q", device.name()]) {
        return skip("there is no mkfs.ext2");
    }
    let Some(mount) = Mount::new(&[device.name()]) else { return };
    put_file(&mount, 24 << 20);
    let Some(over) = Mount::new(&["-t", "tmpfs", "tmpfs"]) else { return };
    let odd = over.path().join(OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&odd).unwrap();
    // It goes with the one that it stands in.
    let within = Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&odd).status();
    assert!(within.unwrap().success());
    must_be_refused(device.name(), device.image(), mount.path().to_str().unwrap());
}

/// The first sector of a disk with two partitions, of 8 MiB at 1 MiB and of 8 MiB at 16 MiB: the entries of
/// the classic partition table stand at byte 446, each with a type at 4, the first sector at 8 and the
/// number of sectors at 12.
fn partition_table() -> [u8; 512] {
    let mut sector = [0; 512];
    for (entry, first_sector) in [(446, 2_048_u32), (462, 32_768)] {
        sector[entry + 4] = 0x83;
        sector[entry + 8..entry + 12].copy_from_slice(&first_sector.to_le_bytes());
        sector[entry + 12..entry + 16].copy_from_slice(&16_384_u32.to_le_bytes());
    }
    sector[510..].copy_from_slice(&[0x55, 0xAA]);
    sector
}

/// A loop device with two partitions; none if loop devices cannot have any here.
fn with_partitions() -> Option<Loop> {
    use std::os::unix::fs::FileExt;
    let device = Loop::attach(DEVICE, 32 * MIB)?;
    let disk = std::fs::OpenOptions::new().write(true).open(device.path()).unwrap();
    disk.write_all_at(&partition_table(), 0).unwrap();
    disk.sync_all().unwrap();
    drop(disk);
    let found = || Path::new(&format!("{DEVICE}p2")).exists();
    if (run("partx", &["-u", DEVICE]) || run("partx", &["-a", DEVICE])) && found() {
        return Some(device);
    }
    skip("partitions of a loop device cannot be made here");
    None
}

#[test]
fn a_disk_with_a_mounted_partition_is_read_but_never_written() {
    let _turn = turn();
    let Some(device) = with_partitions() else { return };
    let (first, second) = (format!("{DEVICE}p1"), format!("{DEVICE}p2"));
    if !run("mkfs.ext2", &["-q", &first]) {
        return skip("there is no mkfs.ext2");
    }
    let Some(mount) = Mount::new(&[&first]) else { return };
    put_file(&mount, 5 << 20);
    let place = mount.path().to_str().unwrap().to_owned();
    must_be_refused(&first, device.image(), &place);
    must_be_refused(device.name(), device.image(), &place);
    must_be_readable(&first);
    must_be_readable(device.name());
    // Its neighbour is nobody's, and writing there leaves the mounted one alone.
    let before = somebodys_blocks(device.image());
    let leave = leave(&second);
    let result = Bench::new().measure_ios(500, &format!("-b4K -w100 -r -Su {leave} {second}"));
    assert!(ios(&result) > 0);
    assert_eq!(somebodys_blocks(device.image()), before, "the mounted partition changed");
}

#[test]
fn a_read_only_device_is_read_but_not_written() {
    let _turn = turn();
    let Some(device) = Loop::attach(DEVICE, 16 * MIB) else { return };
    if !run("blockdev", &["--setro", device.name()]) {
        return skip("there is no blockdev to make a device read-only");
    }
    let before = held(device.image());
    for overwrite in ["", "--overwrite"] {
        let args = format!("-W0 -d1 -b4K -w100 {overwrite} {}", device.name());
        let (code, words) = code_and_words(&Bench::new().run(&args));
        assert_eq!(code, Some(1), "{words}");
        let told = words.lines().find(|line| line.starts_with("ERROR")).unwrap_or_default();
        assert!(told.contains(device.name()) && told.contains("takes no writes"), "{words}");
    }
    assert_eq!(held(device.image()), before);
    must_be_readable(device.name());
    assert!(run("blockdev", &["--setrw", device.name()]));
}

#[test]
fn a_result_is_never_written_to_a_device() {
    let _turn = turn();
    let Some(device) = Loop::attach(DEVICE, 16 * MIB) else { return };
    let (bench, before) = (Bench::new(), held(device.image()));
    let (leave, name) = (leave(device.name()), device.name());
    for args in [
        format!("-c1M -W0 -d1 --overwrite {leave} --json={name} t.dat"),
        format!("-W0 -d1 -w100 {leave} --json={name} {name}"),
        format!("--doctor --json={name}"),
    ] {
        let (code, words) = code_and_words(&bench.run(&args));
        assert_eq!(code, Some(2), "{args}: {words}");
        assert!(words.contains("REFUSED") && words.contains(name), "{args}: {words}");
    }
    assert_eq!(held(device.image()), before);
}

/// Runs the binary at a terminal of its own (`script` of util-linux), with `typed` on its keyboard.
fn at_a_terminal(args: &str, typed: &str) -> Option<(Option<i32>, String)> {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let line = format!("{} {args}", env!("CARGO_BIN_EXE_diskspd"));
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = started else {
        skip("there is no `script` to make a terminal");
        return None;
    };
    writeln!(child.stdin.as_mut().unwrap(), "{typed}").unwrap();
    let output = child.wait_with_output().unwrap();
    Some((output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned()))
}

#[test]
fn a_terminal_asks_for_what_is_written_on_the_device_and_takes_nothing_else() {
    let _turn = turn();
    let Some(device) = Loop::attach(DEVICE, 16 * MIB) else { return };
    let args = format!("-W0 -d1 -b4K -w100 {}", device.name());
    let before = held(device.image());
    for wrong in ["y", device.name(), ""] {
        let Some((code, said)) = at_a_terminal(&args, wrong) else { return };
        assert_eq!(code, Some(2), "{wrong}: {said}");
        assert!(said.contains(&format!("Type {} to go on", device.token())), "{said}");
    }
    assert_eq!(held(device.image()), before);
    let Some((code, said)) = at_a_terminal(&args, &device.token()) else { return };
    assert_eq!(code, Some(0), "{said}");
    assert_ne!(held(device.image()), before);
    // What holds data, or is in use, is not asked about: it is refused.
    if !run("mkfs.ext2", &["-q", "-F", device.name()]) {
        return skip("there is no mkfs.ext2");
    }
    let Some((code, said)) = at_a_terminal(&args, &device.token()) else { return };
    assert!(code == Some(2) && !said.contains("Type"), "{said}");
}
