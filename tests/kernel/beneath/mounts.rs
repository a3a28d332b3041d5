//! Files whose path does not tell what they lie on.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::origins::Attached;
use super::{answered_by, evidence, fill, is_told, measure};
use crate::bench::{Bench, skip};
use crate::devices::turn;
use crate::prepare::support::{Mount, run};

const MIB: usize = 1 << 20;
const READS: &str = "-b4K -r -o4 -Su --stop-ios=2000";

/// What is mounted at a place of the test's own, until it is dropped.
struct At(PathBuf);

impl At {
    fn new(place: PathBuf, arguments: &[&str]) -> Option<Self> {
        let mount = Command::new("mount").args(arguments).arg(&place).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Self(place));
        }
        skip(&format!("`mount {} {}` is not allowed here", arguments.join(" "), place.display()));
        None
    }
}

impl Drop for At {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.0).output());
    }
}

/// The names of the layers beneath the target, the nearest first.
fn names(result: &Value) -> Vec<&str> {
    let layers = result["time_spans"][0]["beneath"]["layers"].as_array().unwrap();
    layers.iter().map(|layer| layer["name"].as_str().unwrap()).collect()
}

/// The nearest layer of a file of the checkout, where that is no memory.
fn disk(bench: &Bench, file: &Path) -> Option<String> {
    let result = measure(bench, READS, file);
    if answered_by(&result) == "device" {
        return Some(names(&result)[0].to_owned());
    }
    skip("files of this checkout do not lie on a disk");
    None
}

/// A tmpfs beneath a bind mount made a disk "memory and swap", and one over a disk was called that disk.
#[test]
fn a_mount_that_another_hides_holds_no_file() {
    let bench = Bench::new();
    for name in ["m/a/b", "m/c", "real/b"] {
        std::fs::create_dir_all(bench.path(name)).unwrap();
    }
    fill(&bench.path("real/b/f.dat"), 8 * MIB);
    let real = bench.path("real");
    let Some(disk) = disk(&bench, &real.join("b/f.dat")) else { return };
    let Some(_hidden) = At::new(bench.path("m/a/b"), &["-t", "tmpfs", "tmpfs"]) else { return };
    let bind = ["--bind", real.to_str().unwrap()];
    let Some(_over) = At::new(bench.path("m/a"), &bind) else { return };
    let result = measure(&bench, READS, &bench.path("m/a/b/f.dat"));
    assert_eq!((answered_by(&result), names(&result)[0]), ("device", disk.as_str()));
    assert!(!is_told(&result, "not_the_device"));
    // The reverse: memory over a disk.
    std::fs::create_dir_all(bench.path("m/c/b")).unwrap();
    let Some(_hidden) = At::new(bench.path("m/c/b"), &bind) else { return };
    let Some(_over) = At::new(bench.path("m/c"), &["-t", "tmpfs", "tmpfs"]) else { return };
    std::fs::create_dir(bench.path("m/c/b")).unwrap();
    fill(&bench.path("m/c/b/f.dat"), 8 * MIB);
    let result = measure(&bench, READS, &bench.path("m/c/b/f.dat"));
    assert_eq!((answered_by(&result), names(&result)), ("memory", vec!["tmpfs"]));
    // And a mount over a single file.
    std::fs::write(bench.path("m/one.dat"), "x").unwrap();
    let file = bench.path("m/c/b/f.dat");
    let bind = ["--bind", file.to_str().unwrap()];
    let Some(_one) = At::new(bench.path("m/one.dat"), &bind) else { return };
    let result = measure(&bench, READS, &bench.path("m/one.dat"));
    assert_eq!(names(&result), ["tmpfs"]);
}

/// Its upper layer in memory, its lower one on the disk, in folders of the test.
struct Merged {
    upper: At,
    _merged: At,
}

impl Merged {
    fn new(bench: &Bench, options: &str) -> Option<Self> {
        for name in ["up", "merged", "bound"] {
            std::fs::create_dir_all(bench.path(name)).unwrap();
        }
        let upper = At::new(bench.path("up"), &["-t", "tmpfs", "tmpfs"])?;
        for name in ["u", "w"] {
            std::fs::create_dir(upper.0.join(name)).unwrap();
        }
        let options = format!(
            "lowerdir={},upperdir={},workdir={}{options}",
            bench.path("low").display(),
            upper.0.join("u").display(),
            upper.0.join("w").display(),
        );
        let merged = At::new(bench.path("merged"), &["-t", "overlay", "overlay", "-o", &options])?;
        Some(Self { upper, _merged: merged })
    }
}

/// A copy in the upper layer with nothing but what the file system keeps of the file was taken for the file.
#[test]
fn a_file_of_an_overlay_lies_where_its_data_lie() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("low")).unwrap();
    for name in ["low/f.dat", "low/old.dat", "low/plain.dat"] {
        fill(&bench.path(name), 8 * MIB);
    }
    let Some(disk) = disk(&bench, &bench.path("low/f.dat")) else { return };
    let Some(merged) = Merged::new(&bench, ",metacopy=on,redirect_dir=on") else { return };
    let at = |name: &str| bench.path("merged").join(name).display().to_string();
    assert!(run("chmod", &["600", &at("f.dat")]) && run("mv", &[&at("old.dat"), &at("new.dat")]));
    assert!(merged.upper.0.join("u/f.dat").exists(), "its metadata were copied up");
    for name in ["f.dat", "new.dat", "plain.dat"] {
        let result = measure(&bench, READS, Path::new(&at(name)));
        assert_eq!(names(&result)[..2], ["overlay", disk.as_str()], "{name}");
        assert_eq!(answered_by(&result), "device", "{name}");
    }
    // What is written to is copied up as a whole.
    let result = measure(&bench, "-b4K -o1 -w100 --overwrite", Path::new(&at("f.dat")));
    assert_eq!(names(&result), ["overlay", "tmpfs"]);
}

/// An overlay whose lower layer has a file on a disk, and the name of that disk.
fn over_a_disk(bench: &Bench, name: &str) -> Option<(String, Merged)> {
    let file = bench.path("low").join(name);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    fill(&file, 8 * MIB);
    Some((disk(bench, &file)?, Merged::new(bench, "")?))
}

/// Half of the reads came from the upper layer, and "write the whole range once with random data" was said.
#[test]
fn a_file_that_an_overlay_copies_up_while_it_is_read_is_named() {
    let bench = Bench::new();
    let Some((_disk, _merged)) = over_a_disk(&bench, "f.dat") else { return };
    let file = bench.path("merged/f.dat");
    let other = file.clone();
    let writer = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_secs(1));
        std::fs::File::options().append(true).open(other).unwrap();
    });
    let result = measure(&bench, "-b4K -r -o1 -d3 -W0", &file);
    writer.join().unwrap();
    let evidence = evidence(&result, "target_replaced");
    assert!(evidence.contains("copied it to its upper layer"), "{result}");
    assert!(evidence.ends_with("lies on tmpfs now."), "{evidence}");
}

/// A file of the same name in the folder above was found in the upper layer.
#[test]
fn a_bind_mount_of_a_folder_of_an_overlay_is_followed_to_its_layer() {
    let bench = Bench::new();
    let Some((disk, _merged)) = over_a_disk(&bench, "sub/f.dat") else { return };
    fill(&bench.path("merged/f.dat"), 8 * MIB);
    let folder = bench.path("merged/sub").display().to_string();
    let Some(_bound) = At::new(bench.path("bound"), &["--bind", &folder]) else { return };
    let result = measure(&bench, READS, &bench.path("bound/f.dat"));
    assert_eq!(names(&result)[..2], ["overlay", disk.as_str()]);
    let result = measure(&bench, "-b4K -r -o1 --stop-ios=500", &bench.path("merged/f.dat"));
    assert_eq!(names(&result), ["overlay", "tmpfs"]);
}

/// The root holds every path: both were said to lie on the disk of the root, or on `proc`.
#[test]
fn memory_that_is_mounted_nowhere_is_memory() {
    let _turn = turn();
    let bench = Bench::new();
    let memory = fathom_sys::memory_file::sparse(8 << 20).unwrap();
    let path = format!("/proc/{}/fd/{}", std::process::id(), memory.as_raw_fd());
    fill_open(&memory);
    let result = measure(&bench, "-b4K -r -o1 --stop-ios=500", Path::new(&path));
    assert_eq!((answered_by(&result), names(&result)), ("memory", vec!["tmpfs"]));
    let Some(device) = Attached::new("/dev/loop2", Path::new(&path), "off") else { return };
    let result = measure(&bench, READS, device.path());
    assert_eq!((answered_by(&result), names(&result)), ("memory", vec!["loop2", "tmpfs"]));
}

fn fill_open(mut file: &std::fs::File) {
    let mut random = std::fs::File::open("/dev/urandom").unwrap().take(8 << 20);
    std::io::copy(&mut random, &mut file).unwrap();
}

/// What is no longer mounted anywhere was said to lie on the disk of the root, and the remedy was of no use.
#[test]
fn a_loop_device_over_a_file_whose_mount_is_gone_is_unseen() {
    let _turn = turn();
    let bench = Bench::new();
    let Some(mount) = Mount::new(&["-t", "tmpfs", "tmpfs"]) else { return };
    fill(&mount.path().join("i.img"), 8 * MIB);
    let Some(device) = Attached::new("/dev/loop2", &mount.path().join("i.img"), "off") else {
        return;
    };
    drop(mount);
    let result = measure(&bench, READS, device.path());
    assert_eq!(answered_by(&result), "unseen", "{:?}", names(&result));
    let told = evidence(&result, "device_unseen");
    assert!(told.contains("whose mount cannot be seen from here"), "{told}");
}

/// To bypass the page cache was advised, and then refused with "Invalid argument".
#[test]
fn the_page_cache_is_not_to_be_bypassed_where_the_file_system_cannot() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("from")).unwrap();
    std::fs::create_dir_all(bench.path("squash")).unwrap();
    fill(&bench.path("from/f.dat"), 8 * MIB);
    let (from, image) = (bench.path("from"), bench.path("s.img"));
    let (from, image) = (from.to_str().unwrap(), image.to_str().unwrap());
    if !run("mksquashfs", &[from, image, "-quiet", "-no-progress", "-noI", "-noD"]) {
        return skip("there is no mksquashfs");
    }
    let options = ["-t", "squashfs", "-o", "loop,ro", image];
    let Some(_mount) = At::new(bench.path("squash"), &options) else { return };
    let file = bench.path("squash/f.dat");
    let result = measure(&bench, "-b4K -r -o4 --stop-ios=2000", &file);
    for warning in result["warnings"].as_array().unwrap() {
        let remedy = warning["remedy"].as_str().unwrap();
        assert!(!remedy.contains("ypass the page cache (-Su)"), "{warning}");
    }
    let output = bench.run(&format!("-b4K -r -Su -d1 {}", file.display()));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("file system cannot bypass the page cache"), "{told}");
}

/// One place with a Latin-1 name emptied the table of mounts: no device was seen beneath any file, and the
/// guard knew of no mount.
#[test]
fn names_that_are_no_text_hide_nothing() {
    let _turn = turn();
    let bench = Bench::new();
    let odd = bench.path(".").join(OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&odd).unwrap();
    fill(&bench.path("f.dat"), 8 * MIB);
    let Some(disk) = disk(&bench, &bench.path("f.dat")) else { return };
    let Some(_mount) = At::new(odd.clone(), &["-t", "tmpfs", "tmpfs"]) else { return };
    let result = measure(&bench, READS, &bench.path("f.dat"));
    assert_eq!((answered_by(&result), names(&result)[0]), ("device", disk.as_str()));
    // A loop device over a file of such a name, in a folder of such a name.
    let (image, link) = (odd.join(OsStr::from_bytes(b"\xe9 \\101.img")), bench.path("link.img"));
    fill(&image, 8 * MIB);
    std::os::unix::fs::symlink(&image, &link).unwrap();
    let Some(device) = Attached::new("/dev/loop2", &link, "off") else { return };
    let result = measure(&bench, READS, device.path());
    assert_eq!((answered_by(&result), names(&result)), ("memory", vec!["loop2", "tmpfs"]));
}
