//! A mounted device under names that a look at the name alone does not see through.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::place::Place;
use super::{Built, PLAIN, Setup};

pub const SETUPS: &[Setup] = &[
    Setup {
        name: "symbolic link to a mounted device",
        words: &["it is mounted at"],
        build: |place| {
            named(place, |place, device| {
                let link = place.path("link");
                symlink(device, &link).ok()?;
                Some(link)
            })
        },
        ..PLAIN
    },
    Setup {
        name: "chain of symbolic links to a mounted device",
        words: &["it is mounted at"],
        build: |place| named(place, chain),
        ..PLAIN
    },
    Setup {
        name: "relative link as below /dev/disk/by-id, to a mounted device",
        words: &["it is mounted at"],
        build: |place| named(place, by_id),
        ..PLAIN
    },
    Setup {
        name: "device node made elsewhere (mknod) of a mounted device",
        words: &["it is mounted at"],
        build: |place| named(place, node),
        ..PLAIN
    },
    Setup {
        name: "mounted device that is bind-mounted over a plain file",
        words: &["it is mounted at"],
        build: |place| named(place, bound),
        ..PLAIN
    },
    Setup {
        name: "device with another bind mount of its file system",
        words: &["it is mounted at"],
        build: bind_mount,
        ..PLAIN
    },
    Setup {
        name: "device node made elsewhere of a free device",
        words: &["give --allow-write=/dev/loop8:67108864"],
        lifted: super::Lifted::Leave,
        build: |place| {
            let (device, image) = place.disk()?;
            Some(Built::new(node(place, Path::new(&device))?, &image))
        },
        ..PLAIN
    },
];

fn named(place: &mut Place, name: fn(&mut Place, &Path) -> Option<PathBuf>) -> Option<Built> {
    let (device, image) = place.formatted()?;
    let at = place.mount(&device)?;
    let target = name(place, Path::new(&device))?;
    Some(Built::new(target, &image).saying(at.to_str().unwrap()))
}

fn chain(place: &mut Place, device: &Path) -> Option<PathBuf> {
    let links = ["one", "two", "three"].map(|name| place.path(name));
    symlink(device, &links[0]).ok()?;
    symlink(&links[0], &links[1]).ok()?;
    symlink("two", &links[2]).ok()?;
    Some(links[2].clone())
}

fn by_id(place: &mut Place, device: &Path) -> Option<PathBuf> {
    let folder = place.path("dev/disk/by-id");
    std::fs::create_dir_all(&folder).ok()?;
    symlink(device, place.path("dev/disk/device")).ok()?;
    let link = folder.join("scsi-0QEMU_disk_S123");
    symlink("../device", &link).ok()?;
    Some(link)
}

fn node(place: &mut Place, device: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let raw = std::fs::metadata(device).ok()?.rdev();
    let (major, minor) = fathom_sys::holders::device_number(raw);
    let node = place.path("node");
    let numbers = [major.to_string(), minor.to_string()];
    place.tool("mknod", &[node.to_str()?, "b", &numbers[0], &numbers[1]])?;
    Some(node)
}

fn bound(place: &mut Place, device: &Path) -> Option<PathBuf> {
    let file = place.written("plain", b"");
    place.bind(device, &file)?;
    Some(file)
}

fn bind_mount(place: &mut Place) -> Option<Built> {
    let (device, image) = place.formatted()?;
    let at = place.mount(&device)?;
    let second = place.path("second");
    std::fs::create_dir(&second).ok()?;
    place.bind(&at, &second)?;
    // The first place is given up; the second still holds the file system.
    place.tool("umount", &[at.to_str()?])?;
    Some(Built::new(device, &image).saying(second.to_str()?))
}
