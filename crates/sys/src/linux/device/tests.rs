//! Mounts and disks that are not at hand, and what is.

use std::fs;
use std::path::{Path, PathBuf};

use super::disks::{disks_in, natural, scsi_serial};
use super::*;

const MOUNTS: &str = "\
21 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw
30 21 0:44 /@home /home rw,relatime - btrfs /dev/sdb1 rw,space_cache
33 21 0:50 / /srv/my\\040files ro,relatime shared:7 master:2 - nfs4 box:/files rw,vers=4.2
34 21 8:17 / /media rw - iso9660 /dev/sdc1 ro
";

fn holder(path: &str) -> mounts::Mount {
    let mounts = mounts::parse(MOUNTS);
    mounts.into_iter().rfind(|mount| mount.holds(Path::new(path))).expect("the root holds all")
}

#[test]
fn the_deepest_mount_holds_a_path() {
    assert_eq!(holder("/var/x").file_system, "ext4");
    assert_eq!(holder("/homeless").file_system, "ext4");
    assert_eq!(holder("/home/a/b").file_system, "btrfs");
    let remote = holder("/srv/my files/x");
    assert!(remote.is_remote() && remote.is_read_only);
    assert_eq!(remote.source, "box:/files");
    assert!(!holder("/home").is_remote() && !holder("/home").is_read_only);
    assert!(holder("/media/x").is_read_only);
}

#[test]
fn names_are_ordered_as_people_count() {
    let mut names = ["sdaa", "sdb", "nvme10n1", "nvme2n1", "sda", "nvme2n10"];
    names.sort_by_cached_key(|name| natural(name));
    assert_eq!(names, ["nvme2n1", "nvme2n10", "nvme10n1", "sda", "sdb", "sdaa"]);
}

#[test]
fn a_serial_page_is_read() {
    assert_eq!(scsi_serial(b"\0\x80\0\x08  S3Z8 \0").as_deref(), Some("S3Z8"));
    assert_eq!(scsi_serial(b"\0\x80\0\0"), None);
    assert_eq!(scsi_serial(b""), None);
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    fs::write(path, format!("{text}\n")).expect("a file");
}

#[test]
fn disks_come_in_order_with_their_use() {
    let sys = tempfile::tempdir().expect("a temporary directory");
    for (path, text) in [
        ("loop0/size", "0"),
        ("loop1/size", "2048"),
        ("loop1/dev", "7:1"),
        ("sda/size", "4096"),
        ("sda/dev", "8:0"),
        ("sda/device/model", "Disk A  "),
        ("sda/sda2/partition", "2"),
        ("sda/sda2/dev", "8:2"),
        ("sdb/size", "8192"),
        ("sdb/dev", "8:16"),
        ("sdb/serial", "B1"),
        ("sdb/device/type", "0"),
        ("sdb/sdb1/partition", "1"),
        ("sdb/sdb1/dev", "8:17"),
        ("sdb/sdb1/holders/dm-0/dev", "253:0"),
        ("nvme0c0n1/size", "1"),
        ("nvme0c0n1/hidden", "1"),
    ] {
        write(sys.path(), path, text);
    }
    let swaps = "Filename Type Size Used Priority\n/dev/sdb1 partition 1 0 -2\n";
    let numbers = |path: &str| (path == "/dev/sdb1").then_some((8, 17));
    let disks = disks_in(sys.path(), &mounts::parse(MOUNTS), swaps, &numbers);
    let names: Vec<_> = disks.iter().map(|disk| disk.name.as_str()).collect();
    assert_eq!(names, ["sda", "sdb", "loop1"]);
    assert_eq!(disks[0].model.as_deref(), Some("Disk A"));
    assert_eq!(disks[0].mount_points, [PathBuf::from("/")]);
    assert_eq!((disks[0].size_bytes, disks[0].is_swap), (2 << 20, false));
    assert_eq!(disks[1].mount_points, [PathBuf::from("/home"), PathBuf::from("/media")]);
    assert_eq!(disks[1].holders, ["dm-0"]);
    assert_eq!((disks[1].serial.as_deref(), disks[1].is_swap), (Some("B1"), true));
    assert_eq!(disks[2].path, Path::new("/dev/loop1"));
}

#[test]
fn links_are_followed_to_the_file() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("file");
    fs::write(&file, [7; 5000]).expect("a file");
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    let facts = look(&link).expect("facts");
    assert_eq!(facts.kind, PathKind::File);
    assert_eq!(facts.path, fs::canonicalize(&file).expect("the file"));
    assert_eq!(facts.size_bytes, 5000);
    assert!(!facts.file_system.is_empty());
    assert!(!facts.is_remote);
}

#[test]
fn each_kind_is_told() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let socket = directory.path().join("socket");
    let _bound = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    let kind = |path: &Path| look(path).expect("facts").kind;
    assert_eq!(kind(directory.path()), PathKind::Directory);
    assert_eq!(kind(&socket), PathKind::Socket);
    assert_eq!(kind(Path::new("/dev/null")), PathKind::CharacterDevice);
    let missing = directory.path().join("none");
    assert_eq!(kind(&missing), PathKind::Missing);
    let facts = look(&missing).expect("facts");
    let real = fs::canonicalize(directory.path()).expect("a path");
    assert_eq!(facts.path, real.join("none"));
    let error = look(&missing.join("file")).expect_err("no directory");
    assert!(error.to_string().contains("none' does not exist"), "{error}");
    assert!(!facts.file_system.is_empty(), "the directory tells the file system");
}

#[test]
fn a_file_is_no_directory() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    assert!(look(&file.path().join("x")).is_err());
}
