//! File systems and devices whose figures are not a disk's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::{answered_by, evidence, fill, is_told, measure, warnings};
use crate::bench::{Bench, has_ram_disk, ios, skip};
use crate::devices::turn;
use crate::prepare::support::{Loop, Mount, run, wait_until_gone};
use crate::stalling::Stalling;

const MIB: usize = 1 << 20;
const READS: &str = "-b4K -r -o4 -Su";
/// More than is read 16 times over within a second of a debug build.
const FILE_BYTES: usize = 96 * MIB;

/// Whether files of this checkout lie on a disk: only then is there a clean neighbour.
fn is_on_disk(result: &Value) -> bool {
    answered_by(result) == "device"
}

#[test]
fn memory_is_no_device() {
    let Some(mount) = Mount::new(&["-t", "tmpfs", "tmpfs"]) else { return };
    let (bench, file) = (Bench::new(), mount.path().join("t.dat"));
    fill(&file, 8 * MIB);
    for args in ["-b4K -r -o1", "-b64K -o8 -w50 --overwrite", "-b4K -r -o4 -Sb"] {
        let result = measure(&bench, args, &file);
        assert_eq!(answered_by(&result), "memory", "{args}");
        assert!(evidence(&result, "not_the_device").contains("it lies on tmpfs"), "{result}");
    }
}

#[test]
fn ten_clean_loads_on_a_disk_raise_no_doubt() {
    let bench = Bench::new();
    let file = bench.path("clean.dat");
    fill(&file, FILE_BYTES);
    let first = measure(&bench, READS, &file);
    if !is_on_disk(&first) {
        return skip("files of this checkout do not lie on a disk");
    }
    assert_eq!(warnings(&first), [], "{READS}");
    for args in [
        "-b4K -r -o1 -Su",
        "-b64K -o4 -Su",
        "-b4K -r -o8 -t2 -Su -L",
        "-b4K -r -o1 -w100 --overwrite -Zr -Sh",
        "-b4K -r -o4 -w30 --overwrite -Zr -Sh -L",
        "-b4K -r -o2 -g200i -Su -L",
        "-b8K -r -o4 -Su --engine=aio",
        "-b4K -r -o1 -Su --engine=sync -t2",
        "-b512K -o2 -Su -si",
    ] {
        assert_eq!(warnings(&measure(&bench, args, &file)), [], "{args}");
    }
}

/// A loop device over a file that is in the page cache, and the same past it.
#[test]
fn a_loop_device_over_a_cached_file_is_told_by_the_disk_below() {
    let _turn = turn();
    let bench = Bench::new();
    let image = bench.path("image");
    fill(&image, FILE_BYTES);
    let Some(device) = Attached::new("/dev/loop2", &image, "off") else { return };
    let result = measure_apart(&bench, device.path());
    if is_told(&result, "device_unseen") || answered_by(&result) == "memory" {
        return skip("files of this checkout do not lie on a disk");
    }
    is_doubted(&result);
    let asked = result["time_spans"][0]["beneath"]["targets"][0]["asked"]["read_ios"].as_u64();
    assert_eq!(asked, Some(ios(&result)));
    drop(device);
    let Some(device) = Attached::new("/dev/loop2", &image, "on") else { return };
    assert_eq!(warnings(&measure(&bench, READS, device.path())), []);
}

/// Measures again where the disk was read as often as the loop device: other tests read it, and its counters
/// take their reads for those of the load.
fn measure_apart(bench: &Bench, device: &Path) -> Value {
    let mut result = measure(bench, READS, device);
    for _ in 0..4 {
        if is_on_disk(&result) {
            result = measure(bench, READS, device);
        }
    }
    result
}

/// What a loop device reads through the page cache is doubted. Where others keep the disk busy, its counters
/// cannot tell whether it was reached, and that is reported instead.
fn is_doubted(result: &Value) {
    let told = match answered_by(result) {
        "not_counted" => evidence(result, "page_cache"),
        _ => evidence(result, "not_the_device"),
    };
    assert!(told.contains("the loop device loop2, over"), "{told}");
}

/// A loop device over a file that the test keeps.
pub(super) struct Attached(PathBuf);

impl Attached {
    pub(super) fn new(device: &str, image: &Path, direct: &str) -> Option<Self> {
        let name = device.trim_start_matches("/dev/");
        wait_until_gone(&PathBuf::from(format!("/sys/block/{name}/loop")), || {});
        let direct = format!("--direct-io={direct}");
        if run("losetup", &[&direct, device, image.to_str().unwrap()]) {
            return Some(Self(device.into()));
        }
        skip(&format!("{device} cannot be attached here, or is taken"));
        None
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        run("losetup", &["-d", self.0.to_str().unwrap()]);
    }
}

#[test]
fn a_file_system_that_a_process_serves_shows_no_device() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let Some(served) = Stalling::mount(folder.path(), u64::MAX, Duration::ZERO) else { return };
    let result = measure(&bench, "-b4K -r -o1 -Su", &served.file());
    assert_eq!(answered_by(&result), "unseen");
    let told = evidence(&result, "device_unseen");
    assert!(told.contains("fuse, served by a process"), "{told}");
    assert!(!is_told(&result, "page_cache"));
}

/// FUSE empties the cache of a file when it is opened: a look that opened it behind the load found nothing,
/// and 6 GiB of reads a second from the cache of 48 MiB passed for those of whoever serves the file.
#[test]
fn a_served_file_is_told_as_cached_although_opening_it_empties_the_cache() {
    let (bench, folder) = (Bench::new(), tempfile::tempdir().unwrap());
    let Some(served) = Stalling::mount_cached(folder.path()) else { return };
    for through in ["-Sb", "-Sm"] {
        let result = measure(&bench, &format!("-b4K -r -o1 {through}"), &served.file());
        assert_eq!(answered_by(&result), "unseen");
        let told = evidence(&result, "page_cache");
        assert!(told.contains("which held"), "{told}");
    }
    let result = measure(&bench, "-b4K -r -o1 -Su", &served.file());
    assert!(!is_told(&result, "page_cache"), "past the cache");
}

#[test]
fn the_null_engine_touches_no_storage() {
    let bench = Bench::new();
    let result = bench.measure("-b4K -r -o8 --engine=null t.dat");
    assert_eq!(answered_by(&result), "nothing");
    assert!(evidence(&result, "not_the_device").contains("No storage was touched"));
}

#[test]
fn a_ram_disk_is_memory() {
    if !has_ram_disk() {
        return;
    }
    let result = Bench::new().measure("-b4K -r -o1 -Su -f64M /dev/zram0");
    assert_eq!(answered_by(&result), "memory");
    assert!(evidence(&result, "not_the_device").contains("zram0, compressed in memory"));
}

/// A file system on a loop device past the page cache, so that a disk is beneath it.
struct OnLoop {
    mount: Option<Mount>,
    _device: Attached,
    _bench: Bench,
}

impl OnLoop {
    fn new(kind: &str, mib: usize, options: &str) -> Option<Self> {
        let bench = Bench::new();
        let image = bench.path("image");
        let made = std::fs::File::create(&image).unwrap();
        made.set_len((mib * MIB) as u64).unwrap();
        let device = Attached::new("/dev/loop2", &image, "on")?;
        let name = device.path().to_str().unwrap();
        let force = if kind == "ext4" { "-F" } else { "-f" };
        if !run(&format!("mkfs.{kind}"), &[force, name]) {
            skip(&format!("there is no mkfs.{kind}"));
            return None;
        }
        let mount = Mount::new(&["-t", kind, "-o", options, name])?;
        Some(Self { mount: Some(mount), _device: device, _bench: bench })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.mount.as_ref().unwrap().path().join(name)
    }
}

impl Drop for OnLoop {
    /// Devices are let go of only after what is mounted on them.
    fn drop(&mut self) {
        let place = self.file("");
        let place = place.to_str().unwrap().trim_end_matches('/');
        let _done = Command::new("umount").arg(place).output();
        self.mount.take();
    }
}

#[test]
fn btrfs_that_compresses_is_told_by_its_bytes_and_without_it_is_clean() {
    let _turn = turn();
    let Some(there) = OnLoop::new("btrfs", 256, "compress-force=zstd") else { return };
    let bench = Bench::new();
    let (soft, hard) = (there.file("soft.dat"), there.file("hard.dat"));
    // Each block differs and holds little: no rule sees it as constant.
    let text: Vec<u8> =
        (0_u32..).flat_map(|line| format!("{line:0>40}\n").into_bytes()).take(FILE_BYTES).collect();
    std::fs::write(&soft, text).unwrap();
    std::fs::File::open(&soft).unwrap().sync_all().unwrap();
    fill(&hard, 72 * MIB);
    let result = measure(&bench, "-b128K -r -o4 -Su", &soft);
    assert!(["above_device", "partly_device"].contains(&answered_by(&result)), "{result}");
    // What the device saw is known by its own counters, or by those of this process.
    let told = evidence(&result, "not_the_device");
    assert!(told.contains(" came from any device") || told.contains(" reached "), "{told}");
    let result = measure(&bench, "-b128K -r -o4 -Su", &hard);
    assert!(!is_told(&result, "not_the_device"), "{:?}", warnings(&result));
}

/// A file that a run made there was measured through the page cache, and the next run was refused.
#[test]
fn a_file_where_data_are_journalled_is_not_made_to_be_used_past_the_page_cache() {
    let _turn = turn();
    let Some(there) = OnLoop::new("ext4", 192, "data=journal") else { return };
    let (bench, file) = (Bench::new(), there.file("t.dat"));
    let name = file.to_str().unwrap();
    let refused = |args: &str| {
        let output = bench.run(&format!("{args} -b4K -r -d1 -W0 -Su {name}"));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && told.contains("mounted with data=journal"), "{told}");
    };
    refused("-c8M");
    assert!(!file.exists());
    fill(&file, FILE_BYTES);
    refused("");
    let result = measure(&bench, "-b4K -r -w100 -Sw --overwrite --stop-ios=500", &file);
    assert!(!is_told(&result, "page_cache"), "{:?}", warnings(&result));
}

#[test]
fn a_file_on_xfs_is_followed_to_the_disk() {
    let _turn = turn();
    let Some(there) = OnLoop::new("xfs", 320, "noatime") else { return };
    let (bench, file) = (Bench::new(), there.file("t.dat"));
    fill(&file, FILE_BYTES);
    let result = measure(&bench, READS, &file);
    assert_eq!(warnings(&result), []);
    let layers = result["time_spans"][0]["beneath"]["layers"].as_array().unwrap();
    let names: Vec<&str> = layers.iter().map(|layer| layer["name"].as_str().unwrap()).collect();
    assert_eq!(names[..2], ["xfs", "loop2"], "{names:?}");
    assert!(names.len() >= 4, "{names:?}");
    let result = measure(&bench, "-b4K -r -o4 -Sb", &file);
    assert!(is_told(&result, "not_the_device") || is_told(&result, "page_cache"), "{result}");
}

#[test]
fn an_overlay_is_followed_to_the_layer_that_holds_the_file() {
    let bench = Bench::new();
    for name in ["lower", "upper", "work"] {
        std::fs::create_dir(bench.path(name)).unwrap();
    }
    fill(&bench.path("lower/t.dat"), FILE_BYTES);
    let at = |name: &str| bench.path(name).display().to_string();
    let options =
        format!("lowerdir={},upperdir={},workdir={}", at("lower"), at("upper"), at("work"));
    let Some(mount) = Mount::new(&["-t", "overlay", "overlay", "-o", &options]) else { return };
    let result = measure(&bench, READS, &mount.path().join("t.dat"));
    if !is_on_disk(&measure(&bench, READS, &bench.path("lower/t.dat"))) {
        return skip("files of this checkout do not lie on a disk");
    }
    assert_eq!(warnings(&result), []);
    let layers = result["time_spans"][0]["beneath"]["layers"].as_array().unwrap();
    assert_eq!(layers[0]["name"], "overlay");
    // The layer that holds it may be in memory, too.
    let Some(memory) = Mount::new(&["-t", "tmpfs", "tmpfs"]) else { return };
    fill(&memory.path().join("m.dat"), 8 * MIB);
    let options = format!("lowerdir={}:{}", memory.path().display(), at("lower"));
    let Some(mount) = Mount::new(&["-t", "overlay", "overlay", "-o", &options]) else { return };
    let result = measure(&bench, "-b4K -r -o1", &mount.path().join("m.dat"));
    assert_eq!(answered_by(&result), "memory");
    assert!(is_told(&result, "not_the_device"));
}

/// Reads out of the page cache were never said to be, as an overlay caches nothing of its own: the pages are
/// those of the file in its layer.
#[test]
fn the_page_cache_of_a_file_on_an_overlay_is_named_whether_or_not_its_layers_are_seen() {
    let (bench, place) = (Bench::new(), tempfile::tempdir().unwrap());
    for name in ["lower", "upper", "work"] {
        std::fs::create_dir(bench.path(name)).unwrap();
    }
    fill(&bench.path("lower/t.dat"), 8 * MIB);
    let at = |name: &str| bench.path(name).display().to_string();
    let options = |at: &dyn Fn(&str) -> String| {
        format!("lowerdir={},upperdir={},workdir={}", at("lower"), at("upper"), at("work"))
    };
    for (layers, is_seen) in [(options(&at), true), (options(&str::to_owned), false)] {
        let mount = Command::new("mount")
            .args(["-t", "overlay", "overlay", "-o", &layers])
            .arg(place.path())
            .current_dir(bench.path("."))
            .status();
        if !mount.is_ok_and(|status| status.success()) {
            return skip("no overlay can be mounted here");
        }
        // The kernel may take memory back from the cache at any time.
        let is_whole = |result: &Value| result["warnings"].to_string().contains("held 100.0 %");
        let once = || measure(&bench, "-b4K -r -o4 -Sb", &place.path().join("t.dat"));
        let result = (0..4).map(|_| once()).find(is_whole).unwrap_or_else(once);
        let ended = Command::new("umount").arg("-l").arg(place.path()).output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        if super::answered_by(&result) == "memory" {
            return skip("files of this checkout lie in memory");
        }
        assert_eq!(is_told(&result, "device_unseen"), !is_seen, "{}", result["warnings"]);
        let told = evidence(&result, "page_cache");
        assert!(told.contains("which held 100.0 % of the 8 MiB"), "{told}");
    }
}

#[test]
fn the_page_cache_of_a_file_is_no_device() {
    let bench = Bench::new();
    let file = bench.path("cached.dat");
    fill(&file, 32 * MIB);
    let result = measure(&bench, "-b4K -r -o4 -Sb", &file);
    assert_eq!(answered_by(&result), "above_device", "{result}");
    // Where nobody else uses the disk meanwhile, it has seen nothing at all.
    let told = evidence(&result, "not_the_device");
    let is_told = told.contains("came from any device") || told.contains(", 0 (0 bytes) reached ");
    assert!(is_told, "{told}");
}

/// A loop device of a file in memory: what it sees is memory's, however deep.
#[test]
fn a_loop_device_over_a_file_in_memory_is_memory() {
    let _turn = turn();
    let Some(mount) = Mount::new(&["-t", "tmpfs", "tmpfs"]) else { return };
    let image = mount.path().join("image");
    fill(&image, 8 * MIB);
    let Some(device) = Attached::new("/dev/loop2", &image, "off") else { return };
    let result = measure(&Bench::new(), READS, device.path());
    assert_eq!(answered_by(&result), "memory");
    assert!(is_told(&result, "not_the_device"));
}

/// The test's own file behind a device that nobody has written: it is nothing but holes.
#[test]
fn a_loop_device_over_a_file_of_holes_is_no_device() {
    let _turn = turn();
    let Some(device) = Loop::attach("/dev/loop2", 64 << 20) else { return };
    let result = measure_apart(&Bench::new(), device.path());
    assert!(is_told(&result, "all_zero_data"), "{}", result["warnings"]);
    is_doubted(&result);
}
