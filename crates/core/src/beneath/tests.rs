//! Which layers are found beneath targets of machines made of files.

use std::path::Path;

use super::fake::Fake;
use super::{LayerKind, Layers};
use crate::guard::fixture::{span, target, thread};
use crate::plan::{EngineKind, SpanPlan, TargetKind};

fn of_path(path: &str) -> SpanPlan {
    let mut target = target(Path::new(path), 0);
    if path.starts_with("/dev/") {
        target.kind = TargetKind::BlockDevice;
    }
    let mut span = span(vec![target]);
    span.threads = vec![thread(0, EngineKind::Uring, 0)];
    span
}

/// Names and kinds, the nearest first.
fn names(layers: &Layers) -> Vec<(&str, LayerKind)> {
    let all = layers.beneath(0).into_iter();
    all.map(|index| (layers.all[index].name.as_str(), layers.all[index].kind)).collect()
}

fn check(fake: &Fake, path: &str, expected: &[(&str, LayerKind)]) -> Layers {
    let layers = fake.layers(&of_path(path));
    assert_eq!(names(&layers), expected, "{path}");
    layers
}

use LayerKind::{Disk, FileSystem, Loop, Memory, Nothing, Partition, Unseen, Volume};

#[test]
fn a_file_lies_on_a_file_system_a_partition_and_a_disk() {
    let fake = Fake::new();
    check(&fake, "/x.dat", &[("ext4", FileSystem), ("sda1", Partition), ("sda", Disk)]);
    check(&fake, "/dev/sda1", &[("sda1", Partition), ("sda", Disk)]);
    check(&fake, "/dev/sdb", &[("sdb", Disk)]);
}

#[test]
fn volumes_lie_on_all_of_their_members() {
    let fake = Fake::new();
    fake.device("sdc", (8, 32));
    fake.volume("md0", (9, 0), &["sdb", "sdc"]);
    fake.volume("dm-0", (253, 0), &["md0"]);
    let expected = [("dm-0", Volume), ("md0", Volume), ("sdb", Disk), ("sdc", Disk)];
    check(&fake, "/dev/dm-0", &expected);
}

#[test]
fn a_loop_device_lies_on_its_file_also_if_that_was_deleted() {
    let mut fake = Fake::new();
    fake.write("images/a.img", "x");
    fake.loop_over(3, "/images/a.img", false);
    let expected = [("loop3", Loop), ("ext4", FileSystem), ("sda1", Partition), ("sda", Disk)];
    let layers = check(&fake, "/dev/loop3", &expected);
    assert!(layers.all[0].is_cached && layers.all[0].about.contains("through the page cache"));
    fake.loop_over(4, "/images/gone.img (deleted)", true);
    let layers =
        check(&fake, "/dev/loop4", &[("loop4", Loop), expected[1], expected[2], expected[3]]);
    assert!(!layers.all[0].is_cached && layers.all[0].about.contains("past the page cache"));
    fake.mount("0:40 / /run rw - tmpfs tmpfs rw");
    fake.loop_over(5, "/run/b.img (deleted)", false);
    check(&fake, "/dev/loop5", &[("loop5", Loop), ("tmpfs", Memory)]);
}

#[test]
fn btrfs_lies_on_all_of_its_devices() {
    let mut fake = Fake::new();
    fake.device("sdc", (8, 32));
    for (name, number) in [("sdb", "8:16"), ("sdc", "8:32")] {
        fake.write(&format!("sys/fs/btrfs/5f-aa/devices/{name}/dev"), number);
    }
    fake.mount("0:41 /data /data rw - btrfs /dev/sdb rw,compress=zstd:3");
    check(&fake, "/data/x.dat", &[("btrfs", FileSystem), ("sdb", Disk), ("sdc", Disk)]);
}

#[test]
fn a_file_of_an_overlay_lies_where_its_layer_lies() {
    let mut fake = Fake::new();
    fake.mount("0:42 / /lower rw - tmpfs tmpfs rw");
    let options = "rw,lowerdir=/lower/a\\134:b:/lower/c,upperdir=/upper,workdir=/work";
    fake.mount(&format!("0:43 / /merged rw - overlay overlay {options}"));
    fake.write("lower/c/low.dat", "x");
    fake.write("lower/a:b/both.dat", "x");
    fake.write("upper/both.dat", "x");
    check(&fake, "/merged/low.dat", &[("overlay", FileSystem), ("tmpfs", Memory)]);
    let disk = [("ext4", FileSystem), ("sda1", Partition), ("sda", Disk)];
    check(&fake, "/merged/both.dat", &[("overlay", FileSystem), disk[0], disk[1], disk[2]]);
    // What lies in another mount namespace cannot be seen.
    check(&fake, "/merged/hidden.dat", &[("overlay", Unseen)]);
}

/// A layer that was named from another directory was taken for what has that name in the root.
#[test]
fn layers_of_an_overlay_that_are_named_from_elsewhere_cannot_be_seen() {
    let mut fake = Fake::new();
    fake.mount("0:43 / /merged rw - overlay overlay rw,lowerdir=low,upperdir=up,workdir=work");
    fake.write("low/x.dat", "x");
    check(&fake, "/merged/x.dat", &[("overlay", Unseen)]);
}

#[test]
fn memory_and_what_others_serve_are_known_by_name() {
    let mut fake = Fake::new();
    for (index, name) in ["tmpfs", "ramfs", "hugetlbfs", "devtmpfs"].iter().enumerate() {
        fake.mount(&format!("0:5{index} / /m{index} rw - {name} {name} rw"));
        check(&fake, &format!("/m{index}/x.dat"), &[(name, Memory)]);
    }
    let served = ["fuse.sshfs", "fuse", "nfs4", "cifs", "9p", "virtiofs", "ceph", "zfs"];
    for (index, name) in served.iter().enumerate() {
        fake.mount(&format!("0:6{index} / /s{index} rw - {name} pool rw"));
        check(&fake, &format!("/s{index}/x.dat"), &[(name, Unseen)]);
    }
    fake.device("zram0", (252, 0));
    fake.device("ram0", (1, 0));
    fake.volume("dm-1", (253, 1), &["zram0"]);
    check(&fake, "/dev/zram0", &[("zram0", Memory)]);
    check(&fake, "/dev/ram0", &[("ram0", Memory)]);
    check(&fake, "/dev/dm-1", &[("dm-1", Volume), ("zram0", Memory)]);
}

#[test]
fn a_device_that_counts_nothing_is_known_as_such() {
    let fake = Fake::new();
    fake.write("sys/devices/sda/queue/iostats", "0\n");
    fake.write("sys/devices/sdb/queue/iostats", "1\n");
    let counted = |path: &str| {
        let layers = fake.layers(&of_path(path));
        layers.all.iter().map(|layer| layer.is_counted).collect::<Vec<_>>()
    };
    assert_eq!(counted("/dev/sda1"), [false, false]);
    assert_eq!(counted("/dev/sdb"), [true]);
}

#[test]
fn nothing_lies_beneath_the_null_engine_and_unknown_paths() {
    let fake = Fake::new();
    let mut null = of_path("/x.dat");
    null.threads[0].engine = EngineKind::Null;
    assert_eq!(names(&fake.layers(&null)), [("null engine", Nothing)]);
    assert!(names(&fake.layers(&of_path("/dev/none"))).is_empty());
}

/// A loop device may lie over a file of a file system that lies on itself.
#[test]
fn layers_that_lie_on_themselves_end() {
    let mut fake = Fake::new();
    fake.loop_over(6, "/self/x.img", false);
    fake.mount("7:6 / /self rw - ext4 /dev/loop6 rw");
    fake.write("self/x.img", "x");
    let layers = fake.layers(&of_path("/dev/loop6"));
    assert_eq!(names(&layers), [("loop6", Loop), ("ext4", FileSystem)]);
}

/// A tmpfs that a bind mount hides made a disk "memory", and one over a disk was called that disk.
#[test]
fn the_kernel_names_the_mount_of_a_file_where_another_hides_it() {
    let mut fake = Fake::new();
    fake.mount_as(40, "0:60 / /m/a/b rw - tmpfs t1 rw");
    fake.mount_as(41, "8:16 /real /m/a rw - xfs /dev/sdb rw");
    let hidden = "/m/a/b/f.dat";
    fake.stands(hidden, "41 8:16");
    check(&fake, hidden, &[("xfs", FileSystem), ("sdb", Disk)]);
    // Kernels before 5.8 tell the number of the file system alone.
    fake.stands(hidden, "- 8:16");
    check(&fake, hidden, &[("xfs", FileSystem), ("sdb", Disk)]);
    fake.stands(hidden, "40 0:60");
    check(&fake, hidden, &[("tmpfs", Memory)]);
    // A subvolume of Btrfs has a number that no mount shows.
    fake.mount_as(42, "0:70 /@home /m/home rw - btrfs /dev/sdb rw");
    fake.stands("/m/home/sub/f.dat", "42 0:71");
    check(&fake, "/m/home/sub/f.dat", &[("btrfs", FileSystem), ("sdb", Disk)]);
}

/// What is reached through `/proc` or from within a changed root has no mount here, and was said to lie on
/// `proc`, or on the root's disk.
#[test]
fn a_file_of_another_mount_namespace_is_followed_there_or_not_at_all() {
    let fake = Fake::new();
    let path = "/proc/9/root/data/f.dat";
    fake.stands(path, "77 0:60");
    let layers = check(&fake, path, &[("file system 0:60", Unseen)]);
    assert_eq!(layers.all[0].about, super::HIDDEN);
    fake.stands(path, "77 8:16");
    check(&fake, path, &[("sdb", Disk)]);
    fake.write("proc/9/mountinfo", "77 1 8:16 / /data rw - xfs /dev/sdb rw\n");
    check(&fake, path, &[("xfs", FileSystem), ("sdb", Disk)]);
    fake.write("proc/9/mountinfo", "78 1 0:60 / /data rw - tmpfs tmpfs rw\n");
    fake.stands(path, "78 0:60");
    check(&fake, path, &[("tmpfs", Memory)]);
}

/// The root holds every path: a loop device over a file of memory was said to lie on the root's disk.
#[test]
fn a_loop_device_over_what_is_mounted_nowhere_does_not_lie_on_the_root() {
    let fake = Fake::new();
    for (index, file, expected) in [
        (3, "/memfd:x (deleted)", ("tmpfs", Memory)),
        (4, "/dev/zero (deleted)", ("tmpfs", Memory)),
        (5, "/SYSV00000000 (deleted)", ("tmpfs", Memory)),
        (6, "/i.img", ("file system 0:1", Unseen)),
        (7, "/i.img (deleted)", ("file system 0:1", Unseen)),
    ] {
        fake.loop_over(index, file, false);
        fake.write(&format!("made/under/loop{index}"), "0:1");
        let name = format!("loop{index}");
        check(&fake, &format!("/dev/{name}"), &[(name.as_str(), Loop), expected]);
    }
    // Nobody may ask for the number, and nothing has that path.
    fake.loop_over(8, "/gone.img", false);
    check(&fake, "/dev/loop8", &[("loop8", Loop), ("a file system", Unseen)]);
    fake.loop_over(9, "/memfd:x (deleted)", false);
    check(&fake, "/dev/loop9", &[("loop9", Loop), ("tmpfs", Memory)]);
    // A disk whose file system is no longer mounted is there all the same.
    fake.loop_over(2, "/i.img", false);
    fake.write("made/under/loop2", "8:16");
    check(&fake, "/dev/loop2", &[("loop2", Loop), ("sdb", Disk)]);
}

/// Each subvolume of Btrfs has a number of its own.
#[test]
fn a_loop_device_over_a_deleted_file_of_a_subvolume_lies_on_its_devices() {
    let mut fake = Fake::new();
    fake.mount_as(42, "0:70 / /data rw - btrfs /dev/sdb rw");
    fake.stands("/data/sub", "42 0:71");
    fake.loop_over(3, "/data/sub/i.img (deleted)", false);
    fake.write("made/under/loop3", "0:71");
    check(&fake, "/dev/loop3", &[("loop3", Loop), ("btrfs", FileSystem), ("sdb", Disk)]);
}

/// A bind mount of a folder of an overlay found another file of the same name in the wrong layer.
#[test]
fn a_bind_mount_of_an_overlay_begins_within_its_layers() {
    let mut fake = Fake::new();
    fake.mount("0:42 / /upper rw - tmpfs tmpfs rw");
    let overlay = "overlay overlay rw,lowerdir=/lower,upperdir=/upper,workdir=/work";
    fake.mount(&format!("0:43 / /merged rw - {overlay}"));
    fake.mount(&format!("0:43 /sub /bound rw - {overlay}"));
    fake.mount(&format!("0:43 /sub/f.dat /single.dat rw - {overlay}"));
    fake.write("upper/f.dat", "another");
    fake.write("lower/sub/f.dat", "x");
    let disk = [("ext4", FileSystem), ("sda1", Partition), ("sda", Disk)];
    for path in ["/bound/f.dat", "/single.dat", "/merged/sub/f.dat"] {
        check(&fake, path, &[("overlay", FileSystem), disk[0], disk[1], disk[2]]);
    }
    check(&fake, "/merged/f.dat", &[("overlay", FileSystem), ("tmpfs", Memory)]);
}

/// It was followed to the lower layer, as it is copied up only when the load opens it.
#[test]
fn a_file_of_an_overlay_that_the_load_writes_to_lies_on_the_upper_layer() {
    let mut fake = Fake::new();
    fake.mount("0:42 / /upper rw - tmpfs tmpfs rw");
    fake.mount("0:43 / /merged rw - overlay overlay rw,lowerdir=/lower,upperdir=/upper,workdir=/w");
    fake.write("lower/f.dat", "x");
    let mut span = of_path("/merged/f.dat");
    let expected =
        [("overlay", FileSystem), ("ext4", FileSystem), ("sda1", Partition), ("sda", Disk)];
    assert_eq!(names(&fake.layers(&span)), expected);
    span.targets[0].open.write = true;
    // Within a container, the folder is one of the host, and nothing here has its path.
    assert_eq!(names(&fake.layers(&span)), [("overlay", Unseen)]);
    fake.write("upper/of-another", "x");
    assert_eq!(names(&fake.layers(&span)), [("overlay", FileSystem), ("tmpfs", Memory)]);
}

/// The first layer that had the name was taken, also where a folder of that name was emptied above it.
#[test]
fn a_file_of_a_layer_that_is_not_the_one_shown_does_not_hold_it() {
    let mut fake = Fake::new();
    fake.mount("0:42 / /upper rw - tmpfs tmpfs rw");
    fake.mount("0:43 / /merged rw - overlay overlay rw,lowerdir=/lower,upperdir=/upper,workdir=/w");
    fake.write("upper/f.dat", "another");
    fake.write("merged/f.dat", "shown");
    check(&fake, "/merged/f.dat", &[("overlay", Unseen)]);
}
