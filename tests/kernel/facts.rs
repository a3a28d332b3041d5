//! What the machine tells of itself; the devices need root and two free loop devices.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use fathom_core::plan::facts::{EngineAvailability, HostFacts, gather};
use fathom_core::plan::resolve::{ErrorClass, ResolveErrors, Resolved, resolve};
use fathom_core::plan::{EngineKind, TargetKind};
use fathom_core::request::{Caching, Profile, RunOptions, Target, TimeSpan, WriteSource};
use fathom_sys::device::{PathKind, disks, look};

use crate::prepare::support::{run, skip};

const MIB: u64 = 1 << 20;
/// One test at a time uses the devices.
static DEVICES: Mutex<()> = Mutex::new(());

fn of_path(path: &Path) -> Target {
    let path = path.to_str().expect("a plain name").to_owned();
    Target { path: path.into(), block_bytes: 4096, ..Target::default() }
}

fn profile(targets: Vec<Target>) -> Profile {
    let span = TimeSpan { targets, ..TimeSpan::default() };
    Profile { time_spans: vec![span], ..Profile::default() }
}

fn facts(profile: &Profile) -> HostFacts {
    let engines = EngineAvailability { uring: Ok(()), aio: Ok(()), uring_discard: Ok(()) };
    gather(profile, engines, &|_| {})
}

fn resolved(targets: Vec<Target>) -> Result<Resolved, ResolveErrors> {
    let profile = profile(targets);
    resolve(&profile, &RunOptions::default(), &facts(&profile))
}

fn only_error(targets: Vec<Target>) -> (ErrorClass, String) {
    let errors = resolved(targets).expect_err("an error");
    let [error] = errors.0.as_slice() else { panic!("one error expected: {errors}") };
    (error.class, error.to_string())
}

/// A loop device over a fresh file; detached when dropped.
struct Loop {
    device: PathBuf,
    _image: tempfile::NamedTempFile,
}

impl Loop {
    fn attach(device: &str, more: &[&str]) -> Option<Self> {
        let image = tempfile::NamedTempFile::new().expect("a temporary file");
        image.as_file().set_len(MIB).expect("a length");
        let file = image.path().to_str().expect("a plain name");
        let arguments: Vec<&str> = more.iter().copied().chain([device, file]).collect();
        if run("losetup", &arguments) {
            return Some(Self { device: device.into(), _image: image });
        }
        skip(&format!("`losetup {}` is not allowed here", arguments.join(" ")));
        None
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        run("losetup", &["-d", self.device.to_str().unwrap_or("")]);
    }
}

#[test]
fn this_host_can_run_a_plain_request_on_a_file() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.as_file().set_len(MIB).expect("a length");
    let link = tempfile::tempdir().expect("a temporary directory");
    let link = link.path().join("link");
    let plain = resolved(vec![of_path(file.path())]).expect("a plan").plan;
    let span = &plain.spans[0];
    assert_eq!((span.targets[0].kind, span.targets[0].size_bytes), (TargetKind::File, MIB));
    assert_eq!(span.threads[0].engine, EngineKind::Uring);
    assert!(span.threads[0].cpu.is_some(), "a CPU that this process may use");
    let error = only_error(vec![of_path(&link)]);
    assert_eq!(error.0, ErrorClass::Target);
    assert!(error.1.contains("does not exist") && error.1.contains("-c"), "{}", error.1);
    assert!(!link.exists(), "nothing is created while looking");
}

#[test]
fn the_host_is_described() {
    let profile = profile(Vec::new());
    let host = facts(&profile).host();
    assert!(host.kernel.starts_with("Linux "));
    assert!(!host.cpu_model.is_empty());
    assert!(!host.cpus.is_empty());
    let is_numbered = |pair: &[fathom_core::result::Cpu]| {
        (pair[0].group, pair[0].index) < (pair[1].group, pair[1].index)
    };
    assert!(host.cpus.windows(2).all(is_numbered));
}

#[test]
fn a_file_in_memory_is_known_as_such() {
    let Ok(file) = tempfile::NamedTempFile::new_in("/dev/shm") else {
        return skip("there is no /dev/shm here");
    };
    let facts = look(file.path()).expect("facts");
    assert_eq!((facts.kind, facts.file_system.as_str()), (PathKind::File, "tmpfs"));
    assert!(!facts.is_remote && !facts.is_read_only);
    file.as_file().set_len(MIB).expect("a length");
    let mut target = of_path(file.path());
    target.caching = Caching::RemoteUnbuffered;
    let error = only_error(vec![target]);
    assert!(error.1.contains("tmpfs") && error.1.contains("-Sr"), "{}", error.1);
}

#[test]
fn what_is_no_target_is_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let pipe = directory.path().join("pipe");
    assert!(run("mkfifo", &[pipe.to_str().expect("a plain name")]));
    for (path, word) in [
        (directory.path(), "a directory"),
        (Path::new("/dev/null"), "a character device"),
        (&pipe, "a named pipe"),
    ] {
        let error = only_error(vec![of_path(path)]);
        assert_eq!(error.0, ErrorClass::Target);
        assert!(error.1.contains(word), "{}", error.1);
    }
}

#[test]
fn a_file_of_write_data_is_looked_for_without_waiting() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = directory.path().join("data");
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.as_file().set_len(MIB).expect("a length");
    let with_data = || {
        let mut target = of_path(file.path());
        let file = Some(data.to_str().expect("a plain name").to_owned());
        target.write_data.source = WriteSource::Buffer { bytes: 4096, file };
        vec![target]
    };
    assert!(only_error(with_data()).1.contains("cannot be read"));
    // Opening a pipe would wait for a writer forever.
    assert!(run("mkfifo", &[data.to_str().expect("a plain name")]));
    assert!(only_error(with_data()).1.contains("not a regular file"));
    std::fs::remove_file(&data).expect("the pipe");
    std::fs::write(&data, "data").expect("a file");
    assert!(resolved(with_data()).is_ok());
}

#[test]
fn a_disk_of_large_sectors_is_found_by_path_and_number() {
    let _turn = DEVICES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(device) = Loop::attach("/dev/loop6", &["-b", "4096"]) else { return };
    let facts = look(&device.device).expect("facts");
    assert_eq!((facts.kind, facts.size_bytes), (PathKind::BlockDevice, MIB));
    assert_eq!(facts.logical_sector_bytes, 4096);
    assert!(!facts.is_read_only);
    let mut target = of_path(&device.device);
    target.caching = Caching::Unbuffered;
    target.access.align_bytes = 512;
    let error = only_error(vec![target]);
    assert!(error.1.contains("512 bytes") && error.1.contains("4096 bytes"), "{}", error.1);
    // Others may attach loop devices at any time, so one and the same list gives number and path.
    let numbers = (0..64).map(|number| of_path(Path::new(&format!("#{number}")))).collect();
    let facts = self::facts(&profile(numbers));
    let number = facts.disks.iter().position(|disk| disk.path == device.device).expect("a disk");
    let disk = &facts.disks[number];
    assert!(disk.mount_points.is_empty() && disk.holders.is_empty() && !disk.is_swap);
    let request = profile(vec![of_path(Path::new(&format!("#{number}")))]);
    let plan = resolve(&request, &RunOptions::default(), &facts).expect("a plan").plan;
    assert_eq!(plan.spans[0].targets[0].path(), device.device);
    assert_eq!(plan.spans[0].targets[0].kind, TargetKind::BlockDevice);
    let error = only_error(vec![of_path(Path::new("#9999"))]);
    assert!(error.1.contains("no disk #9999") && error.1.contains("/dev/loop6"), "{}", error.1);
}

#[test]
fn a_disk_that_takes_no_writes_is_read_only() {
    let _turn = DEVICES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(device) = Loop::attach("/dev/loop7", &["-r"]) else { return };
    assert!(look(&device.device).expect("facts").is_read_only);
    assert!(resolved(vec![of_path(&device.device)]).is_ok());
    let mut target = of_path(&device.device);
    target.write_percent = 100;
    let error = only_error(vec![target]);
    assert!(error.1.contains("takes no writes"), "{}", error.1);
}

#[test]
fn each_disk_is_listed_once_with_its_device() {
    let all = disks();
    if all.is_empty() {
        return skip("this host has no whole disks");
    }
    let mut names: Vec<_> = all.iter().map(|disk| &disk.name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all.len(), "each disk is listed once");
    assert!(all.iter().all(|disk| disk.path.exists()), "each disk has a device");
}
