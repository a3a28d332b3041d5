//! Free devices that hold somebody's data, which only their signatures tell.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use super::place::{Place, tool_told};
use super::{Built, Lifted, PLAIN, Setup, recorded};

const HELD: Setup = Setup { lifted: Lifted::Overwrite, ..PLAIN };

pub const SETUPS: &[Setup] = &[
    Setup {
        name: "ext4",
        words: &["an ext4 file system named holiday, UUID"],
        build: |place| made(place, "mkfs.ext4", &["-q", "-L", "holiday"]),
        ..HELD
    },
    Setup { name: "XFS", words: &["an XFS file system named holiday, UUID"], build: xfs, ..HELD },
    Setup {
        name: "Btrfs",
        words: &["a Btrfs file system named holiday, UUID"],
        build: btrfs,
        ..HELD
    },
    Setup {
        name: "swap area that is not in use",
        words: &["a swap area named holiday, UUID"],
        build: |place| made(place, "mkswap", &["-L", "holiday"]),
        ..HELD
    },
    Setup {
        name: "LVM physical volume",
        words: &["an LVM physical volume, UUID"],
        build: |place| made(place, "pvcreate", &["-y", "-qq"]),
        ..HELD
    },
    Setup {
        name: "LUKS",
        words: &[
            "a LUKS encrypted volume named holiday, UUID 0fa7e1b2-3c4d-4e5f-8a6b-7c8d9e0f1a2b",
        ],
        build: luks,
        ..HELD
    },
    Setup {
        name: "GPT",
        words: &["a GPT partition table, UUID"],
        build: |place| partitioned(place, "label: gpt\n,16M\n"),
        ..HELD
    },
    Setup {
        name: "MBR",
        words: &["an MBR partition table"],
        build: |place| partitioned(place, "label: dos\n,16M\n"),
        ..HELD
    },
    Setup {
        name: "GPT of which only the copy at the end is left",
        words: &["a GPT partition table"],
        build: backup_of_gpt,
        ..HELD
    },
    Setup {
        name: "member of an md array, superblock 1.2 near the start",
        words: &["a member of the software RAID (md) named box:holiday, UUID"],
        build: |place| imprinted(place, recorded::MD_1_2),
        ..HELD
    },
    Setup {
        name: "member of an md array, superblock 1.0 at the end",
        words: &["a member of the software RAID (md) named box:holiday, UUID"],
        build: |place| imprinted(place, recorded::MD_1_0),
        ..HELD
    },
    Setup {
        name: "member of an md array, superblock 0.90 at the end",
        words: &["a member of the software RAID (md)"],
        build: |place| imprinted(place, recorded::MD_0_90),
        ..HELD
    },
    Setup {
        name: "member of a ZFS pool",
        words: &["a member of the ZFS pool"],
        build: |place| imprinted(place, recorded::ZFS),
        ..HELD
    },
    Setup {
        name: "member of a ZFS pool of which only the labels at the end are left",
        words: &["a member of the ZFS pool"],
        build: |place| imprinted(place, recorded::ZFS_END),
        ..HELD
    },
    Setup {
        name: "bcache",
        words: &["a bcache device, UUID"],
        build: |place| imprinted(place, recorded::BCACHE),
        ..HELD
    },
    Setup {
        name: "file system on one partition of a disk without a table",
        words: &["an ext2 file system"],
        build: on_partition,
        ..HELD
    },
];

fn made(place: &mut Place, program: &str, options: &[&str]) -> Option<Built> {
    let (device, image) = place.disk()?;
    let all: Vec<&str> = options.iter().copied().chain([device.as_str()]).collect();
    place.tool(program, &all)?;
    Some(Built::new(device, &image))
}

/// XFS takes no device below 300 MiB.
fn xfs(place: &mut Place) -> Option<Built> {
    let image = place.file("xfs.img", 320);
    let device = place.attach(&image)?;
    place.tool("mkfs.xfs", &["-q", "-L", "holiday", &device])?;
    Some(Built::new(device, &image))
}

fn btrfs(place: &mut Place) -> Option<Built> {
    let image = place.file("btrfs.img", 128);
    let device = place.attach(&image)?;
    place.tool("mkfs.btrfs", &["-q", "-L", "holiday", &device])?;
    Some(Built::new(device, &image))
}

fn luks(place: &mut Place) -> Option<Built> {
    let (device, image) = place.disk()?;
    let options = [
        "luksFormat",
        "--type=luks2",
        "--label=holiday",
        "--uuid=0fa7e1b2-3c4d-4e5f-8a6b-7c8d9e0f1a2b",
        "--pbkdf=pbkdf2",
        "--pbkdf-force-iterations=1000",
        "--batch-mode",
        &device,
        "-",
    ];
    tool_told("cryptsetup", &options, "a pass phrase")?;
    Some(Built::new(device, &image))
}

fn partitioned(place: &mut Place, script: &str) -> Option<Built> {
    let image = place.file("disk.img", 64);
    // On the file, as the kernel may know no partitions of this kind.
    tool_told("sfdisk", &["-q", image.to_str()?], script)?;
    Some(Built::new(place.attach(&image)?, &image))
}

fn backup_of_gpt(place: &mut Place) -> Option<Built> {
    let built = partitioned(place, "label: gpt\n,16M\n")?;
    let disk = OpenOptions::new().write(true).open(&built.target).ok()?;
    disk.write_all_at(&vec![0; 1 << 20], 0).ok()?;
    disk.sync_all().ok()?;
    Some(built)
}

fn imprinted(place: &mut Place, pieces: fn(u64) -> recorded::Pieces) -> Option<Built> {
    let (device, image) = place.disk()?;
    let disk = OpenOptions::new().write(true).open(&device).ok()?;
    for (offset, bytes) in pieces(64 << 20) {
        disk.write_all_at(&bytes, offset).ok()?;
    }
    disk.sync_all().ok()?;
    Some(Built::new(device, &image))
}

fn on_partition(place: &mut Place) -> Option<Built> {
    let (disk, image) = place.disk()?;
    let [_, second] = place.partition(&disk)?;
    place.tool("mkfs.ext2", &["-q", &second])?;
    Some(Built::new(second, &image))
}
