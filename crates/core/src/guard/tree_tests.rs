//! Set-ups that this machine's kernel may lack, as trees of the files that a kernel shows: device mapper,
//! md, bcache, multipath, and several of them above each other.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use fathom_sys::identity::Identity;

use super::machine::{Machine, Number};
use super::token;
use super::unseen;
use super::uses::Sight;
use super::writers;

/// A machine made of files.
struct Fake {
    root: tempfile::TempDir,
}

/// `sda` of 8:0 with partitions `sda1` and `sda2`, and `sdb` of 8:16; a root on `sda1`.
const SDA: Number = (8, 0);
const SDA1: Number = (8, 1);
const SDA2: Number = (8, 2);
const SDB: Number = (8, 16);

impl Fake {
    fn new() -> Self {
        let fake = Self { root: tempfile::tempdir().expect("a temporary directory") };
        fake.device("sda", SDA);
        fake.device("sda/sda1", SDA1);
        fake.device("sda/sda2", SDA2);
        fake.device("sdb", SDB);
        fake.write("sys/devices/sda/sda1/partition", "1");
        fake.write("sys/devices/sda/sda2/partition", "2");
        fake.write("proc/swaps", "Filename Type Size Used Priority\n");
        fake.mounts("self", &["8:1 / /|ext4 /dev/sda1"]);
        fake
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, text).expect("a file");
    }

    fn link(&self, from: &str, to: &Path) {
        let path = self.path(from);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        symlink(to, path).expect("a link");
    }

    /// A device in its directory, and the links that lead there.
    fn device(&self, place: &str, (major, minor): Number) {
        let name = place.rsplit('/').next().expect("a name");
        self.write(&format!("sys/devices/{place}/dev"), &format!("{major}:{minor}\n"));
        self.write(&format!("sys/devices/{place}/size"), "2048\n");
        let directory = self.path(&format!("sys/devices/{place}"));
        self.link(&format!("sys/dev/block/{major}:{minor}"), &directory);
        self.link(&format!("sys/class/block/{name}"), &directory);
        if !place.contains('/') {
            self.link(&format!("sys/block/{name}"), &directory);
        }
    }

    /// A volume on other devices, by their places.
    fn volume(&self, name: &str, number: Number, members: &[&str]) {
        self.device(name, number);
        for member in members {
            let short = member.rsplit('/').next().expect("a name");
            let (own, other) = (format!("sys/devices/{name}"), format!("sys/devices/{member}"));
            self.link(&format!("{other}/holders/{name}"), &self.path(&own));
            self.link(&format!("{own}/slaves/{short}"), &self.path(&other));
        }
    }

    /// A volume of the device mapper.
    fn mapped(&self, minor: u32, name: &str, uuid: &str, members: &[&str]) {
        let device = format!("dm-{minor}");
        self.volume(&device, (253, minor), members);
        self.write(&format!("sys/devices/{device}/dm/name"), name);
        self.write(&format!("sys/devices/{device}/dm/uuid"), uuid);
    }

    /// A loop device over a file of this machine, from one byte on for some bytes.
    fn loop_over(&self, index: u32, file: &str, offset: u64, limit: u64) {
        let name = format!("loop{index}");
        self.device(&name, (7, index));
        self.write(&format!("sys/devices/{name}/loop/backing_file"), file);
        self.write(&format!("sys/devices/{name}/loop/offset"), &offset.to_string());
        self.write(&format!("sys/devices/{name}/loop/sizelimit"), &limit.to_string());
    }

    /// What a process sees mounted: lines of number, root and place, and type and source.
    fn mounts(&self, process: &str, lines: &[&str]) {
        let whole = lines.iter().map(|line| {
            let (left, right) = line.split_once('|').expect("two parts");
            format!("30 1 {left} rw - {right} rw\n")
        });
        self.write(&format!("proc/{process}/mountinfo"), &whole.collect::<String>());
    }

    fn gravest(&self, target: Number) -> Option<String> {
        self.gravest_of(Identity::Device(target), &[])
    }

    fn gravest_of(&self, target: Identity, protect: &[PathBuf]) -> Option<String> {
        let machine = Machine::below(self.root.path());
        let sight = Sight::of(&machine, &[target], protect);
        sight.gravest(target).map(|how| how.to_string())
    }

    /// What cannot be seen of how devices and files lie over each other.
    fn doubts(&self, targets: &[Identity]) -> String {
        let machine = Machine::below(self.root.path());
        unseen::of_layout(&Sight::of(&machine, targets, &[]), false).join(" ")
    }

    /// What is known of the processes that use a target.
    fn writers(&self, target: Identity) -> writers::Writers {
        let machine = Machine::below(self.root.path());
        writers::find(&machine, &[target].into())
    }

    fn tokens(&self, number: Number) -> Vec<String> {
        let machine = Machine::below(self.root.path());
        let sight = Sight::of(&machine, &[], &[]);
        token::label(&machine, &sight.blocks, number).tokens
    }
}

const LUKS: &str = "CRYPT-LUKS2-0fa7e1b23c4d4e5f8a6b7c8d9e0f1a2b-safe";
const LVM: &str = "LVM-oneIdentifierOfThirtyTwoLettersAndAnotherOneOfThirtyTwoLetters";

/// Name, words, target, and how it is built.
type Case = (&'static str, &'static str, Number, fn(&Fake));

const CASES: &[Case] = &[
    (
        "LVM physical volume with an active volume",
        "it is part of the volume dm-0 (logical volume home of volume group vg-data)",
        SDB,
        |fake| fake.mapped(0, "vg--data-home", LVM, &["sdb"]),
    ),
    (
        "whole disk whose partition holds a mounted logical volume",
        "the volume dm-0 (logical volume home of volume group vg) is mounted at /home",
        SDA,
        |fake| {
            fake.mapped(0, "vg-home", LVM, &["sda/sda2"]);
            fake.mounts("self", &["8:16 / /|ext4 /dev/sdb", "253:0 / /home|ext4 /dev/dm-0"]);
        },
    ),
    (
        "device under an opened LUKS volume",
        "LUKS volume 0fa7e1b2-3c4d-4e5f-8a6b-7c8d9e0f1a2b, opened as safe",
        SDB,
        |fake| fake.mapped(3, "safe", LUKS, &["sdb"]),
    ),
    (
        "member of a running md array",
        "it is part of the volume md0 (md array, raid1)",
        SDB,
        |fake| {
            fake.volume("md0", (9, 0), &["sdb"]);
            fake.write("sys/devices/md0/md/level", "raid1\n");
        },
    ),
    (
        "partition of a disk that is wholly in an md array",
        "the disk sda that it lies on is part of the volume md0",
        SDA2,
        |fake| fake.volume("md0", (9, 0), &["sda"]),
    ),
    (
        "LUKS on LVM on md, mounted, seen from the disk",
        "(LUKS volume 0fa7e1b2-3c4d-4e5f-8a6b-7c8d9e0f1a2b, opened as safe) is mounted at /safe",
        SDB,
        |fake| {
            fake.volume("md0", (9, 0), &["sdb"]);
            fake.mapped(0, "vg-safe", LVM, &["md0"]);
            fake.mapped(1, "safe", LUKS, &["dm-0"]);
            fake.mounts("self", &["8:1 / /|ext4 /dev/sda1", "253:1 / /safe|xfs /dev/dm-1"]);
        },
    ),
    (
        "one path of a multipath device",
        "it is part of the volume dm-0 (multipath device mpatha)",
        SDB,
        |fake| fake.mapped(0, "mpatha", "mpath-3600508b4000156d700012000000b0000", &["sdb"]),
    ),
    ("device that is registered with bcache", "it is registered with bcache", SDB, |fake| {
        fake.write("sys/devices/sdb/bcache/state", "clean\n");
    }),
    (
        "device of a mounted Btrfs file system that is mounted by another of its devices",
        "it is mounted at /pool",
        SDB,
        |fake| {
            for name in ["sdb", "sda2"] {
                let place = if name == "sda2" { "sda/sda2" } else { name };
                let to = fake.path(&format!("sys/devices/{place}"));
                fake.link(&format!("sys/fs/btrfs/1f2e/devices/{name}"), &to);
            }
            let pool = "0:44 / /pool|btrfs /dev/sda2";
            fake.mounts("self", &["8:1 / /|ext4 /dev/sda1", pool]);
        },
    ),
    (
        "logical volume that is swapped to, seen from its disk",
        "the system swaps to the volume dm-0 (logical volume swap of volume group vg)",
        SDB,
        |fake| {
            fake.mapped(0, "vg-swap", LVM, &["sdb"]);
            fake.write("proc/swaps", "Filename Type Size\n/dev/dm-0 partition 1\n");
        },
    ),
    (
        "device that only a process of another namespace, which hides it, has mounted",
        "it is mounted at /mnt in the mount namespace of process 42 (postgres)",
        SDB,
        |fake| {
            fake.mounts("42", &["8:16 / /mnt|ext4 /dev/sdb"]);
            fake.write("proc/42/comm", "postgres\n");
        },
    ),
    (
        "disk with the root file system on a partition",
        "its partition sda1 holds the root file system",
        SDA,
        |_| {},
    ),
    (
        "partition that holds /boot",
        "it holds what this machine boots from: /boot/efi",
        SDB,
        |fake| {
            fake.mounts("self", &["8:1 / /|ext4 /dev/sda1", "8:16 / /boot/efi|vfat /dev/sdb"]);
        },
    ),
    (
        "disk under a loop device whose partition is mounted",
        "its partition sda1 holds the root file system",
        SDA,
        |fake| fake.loop_over(1, "/dev/sda", 0, 0),
    ),
    (
        "loop device over a disk whose partition is mounted",
        "its partition sda1 holds the root file system",
        (7, 1),
        |fake| fake.loop_over(1, "/dev/sda", 0, 0),
    ),
];

#[test]
fn every_set_up_is_named_rightly() {
    for (name, words, target, build) in CASES {
        let fake = Fake::new();
        build(&fake);
        let found = fake.gravest(*target).unwrap_or_else(|| panic!("{name}: nothing is found"));
        assert!(found.contains(words), "{name}: {found}");
    }
}

#[test]
fn the_table_of_the_docs_is_that_of_these_trees() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/data-safety.md");
    let text = fs::read_to_string(path).expect("the page");
    let section = text.split("## Set-ups that are shown on trees of files\n").nth(1);
    let section = section.expect("the section").split("\n## ").next().unwrap_or_default();
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    let expected: Vec<String> =
        CASES.iter().map(|(name, words, ..)| format!("| {name} | `{words}` |")).collect();
    assert_eq!(rows, expected);
}

#[test]
fn neighbours_of_what_is_in_use_are_free() {
    let fake = Fake::new();
    assert_eq!(fake.gravest(SDA2), None, "beside the mounted partition of the root");
    assert_eq!(fake.gravest(SDB), None);
    fake.mapped(0, "vg-home", LVM, &["sdb"]);
    fake.mapped(1, "vg-scratch", LVM, &["sdb"]);
    fake.mounts("self", &["8:1 / /|ext4 /dev/sda1", "253:0 / /home|ext4 /dev/dm-0"]);
    assert_eq!(fake.gravest((253, 1)), None, "a volume beside the mounted one of its group");
    assert!(fake.gravest((253, 0)).is_some());
}

#[test]
fn loop_devices_over_one_file_reach_each_other_where_they_overlap() {
    let fake = Fake::new();
    fake.write("images/disk.img", "x");
    fake.loop_over(1, "/images/disk.img", 0, 1 << 20);
    fake.loop_over(2, "/images/disk.img", 1 << 20, 0);
    fake.mounts("self", &["8:1 / /|ext4 /dev/sda1", "7:2 / /mnt|ext4 /dev/loop2"]);
    assert_eq!(fake.gravest((7, 1)), None, "they lie side by side");
    fake.loop_over(3, "/images/disk.img", 1 << 19, 0);
    let found = fake.gravest((7, 3)).expect("an overlap");
    assert!(found.contains("the loop device loop2 is mounted at /mnt"), "{found}");
    let file = fathom_sys::identity::of(&fake.path("images/disk.img")).expect("a file");
    let found = fake.gravest_of(file, &[]).expect("in use");
    assert!(found.contains("the loop device loop2 is mounted at /mnt"), "{found}");
}

#[test]
fn a_loop_device_over_what_cannot_be_found_did_not_exist() {
    let fake = Fake::new();
    fake.write("images/disk.img", "x");
    fake.loop_over(1, "/images/disk.img", 0, 0);
    assert_eq!(fake.doubts(&[]), "", "its file is found");
    fake.loop_over(4, "/images/other.img (deleted)", 0, 0);
    fake.loop_over(5, "/images/gone.img", 0, 0);
    let said = fake.doubts(&[Identity::Device(SDB)]);
    let devices = "loop4 (/images/other.img (deleted)), loop5 (/images/gone.img)";
    assert!(said.contains(&format!("behind the loop devices {devices} cannot be found")), "{said}");
    assert_eq!(fake.gravest((7, 4)), None, "two that are unknown are not the same");
    assert_eq!(fake.gravest(SDB), None);
    // The kernel itself knows the file.
    fake.write("made/under/loop4", "8:1");
    fake.write("made/under/loop5", "8:1");
    assert_eq!(fake.doubts(&[]), "");
}

#[test]
fn a_loop_device_over_a_device_whose_node_is_gone_is_known_by_the_name_of_that() {
    let fake = Fake::new();
    fake.loop_over(1, "/dev/sda", 0, 0);
    let machine = Machine::below(fake.root.path());
    assert_eq!(machine.file_or_device(Path::new("/dev/sda")), Some(Identity::Device(SDA)));
    assert_eq!(machine.file_or_device(Path::new("/dev/sdz")), None);
    let this = Machine::this();
    assert_eq!(this.file_or_device(Path::new("/dev/null")), None, "neither file nor block device");
}

#[test]
fn without_sysfs_no_loop_device_was_there_and_nothing_said_so() {
    let fake = Fake::new();
    assert_eq!(fake.doubts(&[Identity::Device(SDB)]), "");
    for missing in ["sys/block", "sys/dev/block"] {
        let fake = Fake::new();
        fs::rename(fake.path(missing), fake.path("elsewhere")).expect("moved");
        let said = fake.doubts(&[Identity::Device(SDB)]);
        assert!(said.contains("/sys does not show the block devices here"), "{missing}: {said}");
    }
}

#[test]
fn a_file_that_another_process_has_open_for_writing_is_in_use_and_one_that_reads_is_none() {
    let fake = Fake::new();
    fake.write("data/log", "x");
    let file = fathom_sys::identity::of(&fake.path("data/log")).expect("a file");
    fake.write("proc/77/comm", "mysqld\n");
    fake.link("proc/77/fd/3", &fake.path("data/log"));
    fake.write("proc/77/fdinfo/3", "pos:\t0\nflags:\t0100000\n");
    assert_eq!(fake.gravest_of(file, &[]), None);
    fake.write("proc/77/fdinfo/3", "pos:\t0\nflags:\t0102001\n");
    let found = fake.gravest_of(file, &[]).expect("in use");
    assert_eq!(found, "process 77 (mysqld) has it open for writing");
}

#[test]
fn a_device_that_was_mapped_for_writing_and_closed_counted_as_unused() {
    let fake = Fake::new();
    fake.write("proc/77/comm", "mapper\n");
    fake.write("proc/77/maps", "7f00-7f10 r--s 00000000 00:05 99   /dev/sdb\n");
    assert_eq!(fake.gravest(SDB), None, "it is only read");
    fake.write("proc/77/maps", "7f00-7f10 rw-s 00000000 00:05 99   /dev/sdb\n");
    let found = fake.gravest(SDB).expect("in use");
    assert_eq!(found, "process 77 (mapper) has it open for writing");
    assert_eq!(fake.gravest(SDA2), None, "another device");
}

#[test]
fn the_mappings_of_a_process_without_its_first_thread_were_not_read() {
    let fake = Fake::new();
    fake.write("proc/77/maps", "");
    fake.write("proc/77/task/77/maps", "");
    fake.write("proc/77/task/78/maps", "7f00-7f10 rw-s 00000000 00:05 99   /dev/sdb\n");
    assert!(
        fake.gravest(SDB).is_some_and(|how| how.contains("process 77 has it open for writing"))
    );
}

#[test]
fn a_mapping_of_what_cannot_be_found_is_hidden_and_one_of_memory_is_none() {
    let unknown = |line: &str| {
        let fake = Fake::new();
        fake.write("proc/77/maps", line);
        let found = fake.writers(Identity::Device(SDB));
        assert_eq!(found.hidden, 0, "its files can be seen: {line}");
        found.mapping_unknown
    };
    assert_eq!(unknown("7f00-7f10 rw-s 00000000 00:05 99   /dev/gone (deleted)\n"), 1);
    assert_eq!(unknown("7f00-7f10 rw-s 00000000 00:01 99   /memfd:x (deleted)\n"), 0);
    assert_eq!(unknown("7f00-7f10 rw-s 00000000 00:0f 99   /[aio] (deleted)\n"), 0);
    assert_eq!(unknown("7f00-7f10 rw-p 00000000 00:05 99   /dev/gone (deleted)\n"), 0);
}

#[test]
fn a_ring_whose_descriptor_was_closed_was_not_seen() {
    let fake = Fake::new();
    let ring = "7f00-7f10 rw-s 10000000 00:10 1057   anon_inode:[io_uring]\n";
    fake.write("proc/77/maps", ring);
    let found = fake.writers(Identity::Device(SDB));
    assert!(found.registered.is_some_and(|process| process.contains("77")));
}

#[test]
fn a_thread_of_which_it_is_not_certain_that_it_shares_its_files_was_taken_to_share_them() {
    // No process has such numbers, so that the kernel does not tell.
    let fake = Fake::new();
    let table = "proc/5000001/task/5000002";
    fake.write("data/log", "x");
    fake.link(&format!("{table}/fd/3"), &fake.path("data/log"));
    fake.write(&format!("{table}/fdinfo/3"), "pos:\t0\nflags:\t0102001\n");
    let file = fathom_sys::identity::of(&fake.path("data/log")).expect("a file");
    let found = fake.gravest_of(file, &[]).expect("in use");
    assert_eq!(found, "process 5000001 has it open for writing");
}

#[test]
fn a_device_that_is_registered_in_a_ring_was_not_seen() {
    let ring = |registered: &str| {
        let fake = Fake::new();
        fake.write("data/log", "x");
        fs::create_dir_all(fake.path("proc/77/fd/anon_inode:[io_uring]")).expect("no file");
        fake.link("proc/77/fd/3", Path::new("anon_inode:[io_uring]"));
        fake.write("proc/77/fdinfo/3", &format!("pos:\t0\nflags:\t02000002\n{registered}"));
        fake.writers(Identity::Device(SDB)).registered
    };
    assert_eq!(ring("UserFiles:\t1\n    0: /dev/sdb\n"), Some("process 77".to_owned()));
    assert_eq!(ring("UserFiles:\t1\n    0: /gone (deleted)\n"), Some("process 77".to_owned()));
    assert!(ring("SqMask:\t0x3\n").is_some(), "the kernel does not tell what is registered");
    assert_eq!(ring("UserFiles:\t0\nUserBufs:\t0\n"), None);
    assert_eq!(ring("UserFiles:\t2\n    0: /data/log\n    1: socket:[7]\n"), None);
}

#[test]
fn what_is_mounted_outside_of_a_chroot_was_not_seen_from_within() {
    let fake = Fake::new();
    for (process, root) in [("self", "jail"), ("1", "whole"), ("2", "whole")] {
        fake.link(&format!("proc/{process}/ns/mnt"), Path::new("mnt:[4026531841]"));
        fake.write(&format!("made/root/{process}"), root);
    }
    for process in ["1", "2"] {
        fake.mounts(process, &["8:1 / /|ext4 /dev/sda1", "8:16 / /db|ext4 /dev/sdb"]);
    }
    let found = fake.gravest(SDB).expect("in use");
    assert_eq!(found, "it is mounted at /db in the mount namespace of process 1");
    let machine = Machine::below(fake.root.path());
    let pids: Vec<_> = super::mounts::tables(&machine).iter().map(|table| table.pid).collect();
    assert_eq!(pids, [None, Some(1)], "each root is looked at once");
}

#[test]
fn a_swap_device_that_cannot_be_found_was_none() {
    let fake = Fake::new();
    let swaps = |line: &str| fake.write("proc/swaps", &format!("Filename Type Size\n{line}\n"));
    swaps("/dev/sdb partition 1024");
    assert_eq!(fake.doubts(&[]), "", "it is found");
    swaps("/swap.img file 1024");
    assert_eq!(fake.doubts(&[]), "", "the kernel keeps others from writing to it");
    swaps("/dev/odd\\040name partition 1024");
    let said = fake.doubts(&[]);
    assert!(said.contains("swaps to /dev/odd name, which cannot be found"), "{said}");
}

#[test]
fn what_is_protected_is_graver_than_that_it_is_mounted() {
    let fake = Fake::new();
    let mounts = ["8:1 / /|ext4 /dev/sda1", "8:16 / /lab|ext4 /dev/sdb"];
    fake.mounts("self", &mounts);
    let store = PathBuf::from("/lab/results.sqlite");
    let found = fake.gravest_of(Identity::Device(SDB), &[store]).expect("in use");
    assert_eq!(found, "it is mounted at /lab, which holds the protected /lab/results.sqlite");
}

#[test]
fn a_protected_device_is_protected_with_all_that_shares_its_data() {
    let fake = Fake::new();
    fake.mapped(0, "vg-home", LVM, &["sda/sda2"]);
    fake.mapped(1, "vg-scratch", LVM, &["sda/sda2"]);
    fake.loop_over(1, "/dev/sda2", 0, 0);
    fake.mounts("self", &[]);
    let is_protected = |protect: &str, target: Number| {
        let found = fake.gravest_of(Identity::Device(target), &[protect.into()]);
        found.is_some_and(|how| how.contains("is protected: "))
    };
    let (sda1, home, scratch, over) = ((8, 1), (253, 0), (253, 1), (7, 1));
    for protect in ["/dev/sda", "/dev/sda2", "/dev/loop1"] {
        for target in [SDA, SDA2, home, scratch, over] {
            assert!(is_protected(protect, target), "{protect}, {target:?}");
        }
        assert!(!is_protected(protect, SDB), "{protect}");
    }
    assert!(is_protected("/dev/sda", sda1) && !is_protected("/dev/sda2", sda1));
    assert!(is_protected("/dev/dm-0", SDA) && is_protected("/dev/dm-0", home));
    assert!(!is_protected("/dev/dm-0", scratch), "a volume beside it");
}

#[test]
fn what_is_mounted_below_a_protected_folder_is_protected() {
    let fake = Fake::new();
    fake.mounts("self", &["8:1 / /|ext4 /dev/sda1", "8:16 / /nothing/lab|ext4 /dev/sdb"]);
    let found = fake.gravest_of(Identity::Device(SDB), &["/nothing".into()]).expect("in use");
    assert_eq!(found, "it is mounted at /nothing/lab, which lies below the protected /nothing");
}

#[test]
fn leave_is_given_by_what_is_written_on_a_disk_if_that_is_its_own() {
    let fake = Fake::new();
    assert_eq!(fake.tokens(SDB), ["/dev/sdb:1048576"]);
    fake.write("sys/devices/sda/device/serial", "WD 123  45\n");
    fake.write("sys/devices/sdb/device/wwid", "naa.5000c500a1b2c3d4\n");
    assert_eq!(fake.tokens(SDA), ["WD_123_45"]);
    assert_eq!(fake.tokens(SDA2), ["WD_123_45-part2"]);
    assert_eq!(fake.tokens(SDB), ["naa.5000c500a1b2c3d4"]);
    // Two disks with one serial number: it says nothing about either.
    fake.write("sys/devices/sdb/device/serial", "WD 123  45\n");
    assert_eq!(fake.tokens(SDA), ["/dev/sda:1048576"]);
    assert_eq!(fake.tokens(SDA2), ["/dev/sda2:1048576"]);
    assert_eq!(fake.tokens(SDB), ["naa.5000c500a1b2c3d4"]);
}

#[test]
fn leave_for_one_device_is_none_for_another() {
    let fake = Fake::new();
    fake.write("sys/devices/sda/device/serial", "S1");
    let machine = Machine::below(fake.root.path());
    let sight = Sight::of(&machine, &[], &[]);
    let label = |number| token::label(&machine, &sight.blocks, number);
    let words = ["S1".to_owned()];
    assert!(label(SDA).is_allowed_by(&words));
    assert!(!label(SDA2).is_allowed_by(&words), "a partition has a word of its own");
    assert!(!label(SDB).is_allowed_by(&words));
    assert!(!label(SDB).is_allowed_by(&["/dev/sdb".to_owned()]), "the size belongs to it");
    assert!(!label(SDB).is_allowed_by(&["/dev/sdb:1048577".to_owned()]));
    assert!(label(SDB).is_allowed_by(&["/dev/sdb:1048576".to_owned()]));
}
