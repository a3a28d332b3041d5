//! Devices that somebody uses.

use std::path::{Path, PathBuf};

use super::place::Place;
use super::{Built, Lifted, PLAIN, Setup};
use crate::bench::skip;

pub const SETUPS: &[Setup] = &[
    Setup { name: "mounted device", words: &["it is mounted at"], build: mounted, ..PLAIN },
    Setup {
        name: "device mounted in another mount namespace",
        words: &["it is mounted at", "in the mount namespace of process", "(sleep)"],
        build: mounted_elsewhere,
        ..PLAIN
    },
    Setup {
        name: "device whose mount was detached lazily while a file on it is open",
        words: &["has claimed it", "ext2"],
        build: detached,
        ..PLAIN
    },
    Setup {
        name: "whole disk with a mounted partition",
        words: &["its partition loop8p1 is mounted at"],
        build: |place| partition_mounted(place, |disk, _| disk),
        ..PLAIN
    },
    Setup {
        name: "mounted partition",
        words: &["it is mounted at"],
        build: |place| partition_mounted(place, |_, [first, _]| first),
        ..PLAIN
    },
    Setup {
        name: "partition of a disk that is mounted as a whole",
        words: &["the disk loop8 that it lies on is mounted at"],
        build: disk_mounted,
        ..PLAIN
    },
    Setup {
        name: "partition of a disk that another process has claimed as a whole",
        words: &["has claimed it"],
        build: disk_claimed,
        ..PLAIN
    },
    Setup { name: "swap device", words: &["the system swaps to it"], build: swap_device, ..PLAIN },
    Setup {
        name: "whole disk with a partition that is swapped to",
        words: &["the system swaps to its partition loop8p2"],
        build: swap_partition,
        ..PLAIN
    },
    Setup {
        name: "swap file",
        words: &["the file is in use", "the system swaps to it"],
        build: swap_file,
        ..PLAIN
    },
    Setup {
        name: "file behind a mounted loop device",
        words: &["the file is in use", "the loop device loop8 is mounted at"],
        build: |place| behind_mounted(place, false),
        ..PLAIN
    },
    Setup {
        name: "file behind a loop device that nobody uses",
        words: &["the loop device loop8 lies over it"],
        build: behind_loop,
        ..PLAIN
    },
    Setup {
        name: "loop device over a file that lies behind another, mounted one",
        words: &["the loop device loop8 is mounted at"],
        build: |place| behind_mounted(place, true),
        ..PLAIN
    },
    Setup {
        name: "device under a mounted loop device",
        words: &["the loop device loop9 is mounted at"],
        build: under_loop,
        ..PLAIN
    },
    Setup {
        name: "loop device over a mounted device",
        words: &["loop8, which lies under it, is mounted at"],
        build: over_mounted,
        ..PLAIN
    },
    Setup {
        name: "second device of a mounted Btrfs file system",
        words: &["it is mounted at"],
        build: second_of_btrfs,
        ..PLAIN
    },
    Setup {
        name: "device that another process has claimed (O_EXCL)",
        words: &["the kernel or another program has claimed it"],
        build: claimed,
        ..PLAIN
    },
    Setup {
        name: "device that another process has open for writing",
        words: &["has it open for writing"],
        build: open_for_writing,
        ..PLAIN
    },
    Setup {
        name: "device that takes no writes",
        words: &["takes no writes"],
        is_error: true,
        build: read_only,
        ..PLAIN
    },
    Setup {
        name: "device of the root file system",
        words: &["it is never written to", "holds the root file system"],
        // Reading it is left to the machine's own rules.
        is_readable: false,
        build: root,
        ..PLAIN
    },
    Setup {
        name: "device that holds the store of the results",
        words: &["it is never written to", "holds the protected"],
        build: holds_store,
        ..PLAIN
    },
    Setup {
        name: "free device without leave",
        words: &["give --allow-write=/dev/loop8:67108864"],
        lifted: Lifted::Leave,
        build: |place| place.disk().map(|(device, image)| Built::new(device, &image)),
        ..PLAIN
    },
];

fn mounted(place: &mut Place) -> Option<Built> {
    let (device, image) = place.formatted()?;
    let at = place.mount(&device)?;
    Some(Built::new(device, &image).saying(at.to_str().unwrap()))
}

fn mounted_elsewhere(place: &mut Place) -> Option<Built> {
    let (device, image) = place.formatted()?;
    let at = place.path("elsewhere");
    std::fs::create_dir(&at).unwrap();
    let at = at.to_str().unwrap().to_owned();
    let script = format!("mount -o ro {device} {at} && echo ready && exec sleep 1000");
    let arguments = ["--mount", "--propagation", "private", "sh", "-c", &script];
    let id = place.process("unshare", &arguments)?;
    let list = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!list.contains(&device), "the mount is seen here too");
    Some(Built::new(device, &image).saying(at).saying(format!("process {id}")))
}

fn detached(place: &mut Place) -> Option<Built> {
    let (device, image) = place.formatted()?;
    let at = place.mount(&device)?;
    let script = format!("cd {} && echo ready && exec sleep 1000", at.display());
    place.process("sh", &["-c", &script])?;
    place.tool("umount", &["-l", at.to_str().unwrap()])?;
    Some(Built::new(device, &image))
}

fn partition_mounted(place: &mut Place, which: fn(String, [String; 2]) -> String) -> Option<Built> {
    let (disk, image) = place.disk()?;
    let parts = place.partition(&disk)?;
    place.tool("mkfs.ext2", &["-q", &parts[0]])?;
    let at = place.mount(&parts[0])?;
    Some(Built::new(which(disk, parts), &image).saying(at.to_str().unwrap()))
}

fn disk_mounted(place: &mut Place) -> Option<Built> {
    let (disk, image) = place.formatted()?;
    let [_, second] = place.partition(&disk)?;
    place.mount(&disk)?;
    Some(Built::new(second, &image))
}

/// Python opens with flags of its choice; the claim lasts as long as the process.
fn claim(place: &mut Place, device: &str) -> Option<u32> {
    let script = format!(
        "import os,time\nos.open('{device}', os.O_RDONLY | os.O_EXCL)\nprint('ready', flush=True)\n\
         time.sleep(1000)"
    );
    place.process("python3", &["-c", &script])
}

fn disk_claimed(place: &mut Place) -> Option<Built> {
    let (disk, image) = place.disk()?;
    let [first, _] = place.partition(&disk)?;
    claim(place, &disk)?;
    Some(Built::new(first, &image))
}

fn claimed(place: &mut Place) -> Option<Built> {
    let (device, image) = place.disk()?;
    claim(place, &device)?;
    Some(Built::new(device, &image))
}

fn open_for_writing(place: &mut Place) -> Option<Built> {
    let (device, image) = place.disk()?;
    let script = format!("exec 3<>{device} && echo ready && exec sleep 1000");
    let id = place.process("sh", &["-c", &script])?;
    Some(Built::new(device, &image).saying(format!("process {id} (sleep)")))
}

fn swap_device(place: &mut Place) -> Option<Built> {
    let (device, image) = place.disk()?;
    place.swap_to(Path::new(&device))?;
    Some(Built::new(device, &image))
}

fn swap_partition(place: &mut Place) -> Option<Built> {
    let (disk, image) = place.disk()?;
    let [_, second] = place.partition(&disk)?;
    place.swap_to(Path::new(&second))?;
    Some(Built::new(disk, &image))
}

fn swap_file(place: &mut Place) -> Option<Built> {
    let path = place.written("swap", &vec![0; 8 << 20]);
    place.tool("chmod", &["600", path.to_str().unwrap()])?;
    place.swap_to(&path)?;
    Some(Built::new(path.clone(), &path))
}

fn behind_mounted(place: &mut Place, over_again: bool) -> Option<Built> {
    let (device, image) = place.formatted()?;
    let at = place.mount(&device)?;
    let target = if over_again { place.attach(&image)?.into() } else { image.clone() };
    Some(Built::new(target, &image).saying(at.to_str().unwrap()))
}

fn behind_loop(place: &mut Place) -> Option<Built> {
    let (_, image) = place.disk()?;
    Some(Built::new(image.clone(), &image))
}

fn under_loop(place: &mut Place) -> Option<Built> {
    let (lower, image) = place.disk()?;
    let upper = place.attach(Path::new(&lower))?;
    place.tool("mkfs.ext2", &["-q", &upper])?;
    place.mount(&upper)?;
    Some(Built::new(lower, &image))
}

fn over_mounted(place: &mut Place) -> Option<Built> {
    let (lower, image) = place.formatted()?;
    let upper = place.attach(Path::new(&lower))?;
    place.mount(&lower)?;
    Some(Built::new(upper, &image))
}

fn second_of_btrfs(place: &mut Place) -> Option<Built> {
    let images = [place.file("one.img", 128), place.file("two.img", 128)];
    let first = place.attach(&images[0])?;
    let second = place.attach(&images[1])?;
    place.tool("mkfs.btrfs", &["-q", "-f", &first, &second])?;
    place.tool("btrfs", &["device", "scan", &first, &second])?;
    let at = place.mount(&first)?;
    Some(Built::new(second, &images[1]).saying(at.to_str().unwrap()))
}

fn read_only(place: &mut Place) -> Option<Built> {
    let image = place.file("disk.img", 16);
    let device = place.attach_with(&image, &["--read-only"])?;
    Some(Built::new(device, &image))
}

/// The device of the root is only ever asked about: the guard refuses it before anything is opened.
fn root(_: &mut Place) -> Option<Built> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let root = mounts.lines().find(|line| line.split(' ').nth(4) == Some("/"))?;
    let source = root.split_once(" - ")?.1.split(' ').nth(1).map(PathBuf::from)?;
    if !source.starts_with("/dev") || !source.exists() {
        skip("the root lies on no block device");
        return None;
    }
    let mut built = Built::new(source, Path::new(""));
    // It changes all the time, and not by us.
    built.watched.clear();
    Some(built)
}

fn holds_store(place: &mut Place) -> Option<Built> {
    let (device, image) = place.formatted()?;
    let at = place.mount_with(&device, "rw,noatime")?;
    let store = at.join("results.sqlite");
    std::fs::write(&store, "results").unwrap();
    place.tool("mount", &["-o", "remount,ro", at.to_str().unwrap()])?;
    let built = Built::new(device, &image).saying(store.to_str().unwrap());
    Some(built.with(format!("--protect={}", store.display())))
}
