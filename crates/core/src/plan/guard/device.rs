//! Who uses a block device: mounts, swap, volumes, and whoever else holds it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use fathom_sys::holders;

/// Major and minor number.
type Number = (u32, u32);

/// How the device at `path` is in use, in words; none if nobody uses it.
///
/// What the system tells about mounts and volumes gives the words. The kernel's own claim on the
/// device, which also covers mounts that this process cannot see, has the last word.
pub(super) fn use_in_words(path: &Path, metadata: &fs::Metadata) -> io::Result<Option<String>> {
    let number = holders::device_number(metadata.rdev());
    let family = family(Path::new("/sys/dev/block"), number);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    if let Some(place) = mounted_at(&mounts, &family, &number_of_path) {
        return Ok(Some(mount_in_words(&place)));
    }
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    if is_swap(&swaps, &family, &number_of_path) {
        return Ok(Some("the system swaps to it".to_owned()));
    }
    if let Some(holder) = first_holder(Path::new("/sys/dev/block"), &family) {
        return Ok(Some(format!("it is part of the volume {holder}")));
    }
    let held = holders::is_held(path)?;
    Ok(held.then(|| "the kernel or another program has claimed it".to_owned()))
}

fn mount_in_words(place: &str) -> String {
    match place {
        "/" => "it holds the root file system".to_owned(),
        _ => format!("it is mounted at {place}"),
    }
}

fn number_of_path(path: &str) -> Option<Number> {
    let metadata = fs::metadata(path).ok()?;
    metadata.file_type().is_block_device().then(|| holders::device_number(metadata.rdev()))
}

/// The device itself, its partitions, and all volumes that are built on any of these.
fn family(sys: &Path, number: Number) -> BTreeSet<Number> {
    let mut known = BTreeSet::new();
    let mut open = vec![number];
    while let Some(next) = open.pop() {
        if known.insert(next) {
            let directory = directory_of(sys, next);
            open.extend(children(&directory, true));
            open.extend(children(&directory.join("holders"), false));
        }
    }
    known
}

fn directory_of(sys: &Path, (major, minor): Number) -> std::path::PathBuf {
    sys.join(format!("{major}:{minor}"))
}

/// The devices that have a directory in `directory`; only partitions, or all.
fn children(directory: &Path, only_partitions: bool) -> Vec<Number> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let fit = entries.filter(|entry| !only_partitions || entry.path().join("partition").exists());
    fit.filter_map(|entry| parse_number(&fs::read_to_string(entry.path().join("dev")).ok()?))
        .collect()
}

fn parse_number(text: &str) -> Option<Number> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Where one of `family` is mounted: the root, or else the first place.
///
/// File systems that span devices show a number of their own, so the source's path counts too.
fn mounted_at(
    mounts: &str,
    family: &BTreeSet<Number>,
    number_of: &dyn Fn(&str) -> Option<Number>,
) -> Option<String> {
    let place_if_used = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let fields: Vec<&str> = left.split(' ').collect();
        let shown = parse_number(fields.get(2)?);
        let source = right.split(' ').nth(1).filter(|source| source.starts_with('/'));
        let numbers = [shown, source.and_then(number_of)];
        let is_used = numbers.into_iter().flatten().any(|number| family.contains(&number));
        is_used.then(|| (*fields.get(4).unwrap_or(&"")).to_owned())
    };
    let mut places: Vec<String> = mounts.lines().filter_map(place_if_used).collect();
    let root = places.iter().position(|place| place == "/").unwrap_or(0);
    (!places.is_empty()).then(|| places.swap_remove(root))
}

fn is_swap(
    swaps: &str,
    family: &BTreeSet<Number>,
    number_of: &dyn Fn(&str) -> Option<Number>,
) -> bool {
    let sources = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    sources.filter_map(number_of).any(|number| family.contains(&number))
}

/// The name of the first volume that is built on one of `family`.
fn first_holder(sys: &Path, family: &BTreeSet<Number>) -> Option<String> {
    family.iter().find_map(|&number| {
        let entry =
            fs::read_dir(directory_of(sys, number).join("holders")).ok()?.flatten().next()?;
        Some(entry.file_name().to_string_lossy().into_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
21 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw
22 21 0:5 / /dev rw - devtmpfs udev rw
30 21 0:44 /@home /home rw,relatime - btrfs /dev/sdb1 rw,space_cache
31 21 253:0 / /srv rw - xfs /dev/mapper/data rw
";

    fn numbers(path: &str) -> Option<Number> {
        match path {
            "/dev/sda2" => Some((8, 2)),
            "/dev/sdb1" => Some((8, 17)),
            "/dev/sdc1" => Some((8, 33)),
            _ => None,
        }
    }

    fn place(number: Number) -> Option<String> {
        mounted_at(MOUNTS, &BTreeSet::from([number]), &numbers)
    }

    #[test]
    fn mounts_are_found_by_number_and_by_source() {
        assert_eq!(place((8, 2)).as_deref(), Some("/"));
        assert_eq!(place((8, 17)).as_deref(), Some("/home"));
        assert_eq!(place((253, 0)).as_deref(), Some("/srv"));
        assert_eq!(place((8, 33)), None);
    }

    #[test]
    fn the_root_is_named_first() {
        let family = BTreeSet::from([(8, 17), (253, 0), (8, 2)]);
        assert_eq!(mounted_at(MOUNTS, &family, &numbers).as_deref(), Some("/"));
        assert!(mount_in_words("/").contains("root file system"));
        assert!(mount_in_words("/srv").contains("/srv"));
    }

    #[test]
    fn swap_is_found() {
        let swaps = "Filename Type Size Used Priority\n/dev/sdc1 partition 1 0 -2\n";
        assert!(is_swap(swaps, &BTreeSet::from([(8, 33)]), &numbers));
        assert!(!is_swap(swaps, &BTreeSet::from([(8, 2)]), &numbers));
        assert!(!is_swap("", &BTreeSet::from([(8, 33)]), &numbers));
    }

    #[test]
    fn a_family_is_partitions_and_the_volumes_on_them() {
        let sys = tempfile::tempdir().expect("a temporary directory");
        let write = |path: &str, text: &str| {
            let path = sys.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            fs::write(path, text).expect("a file");
        };
        write("8:0/dev", "8:0\n");
        write("8:0/sda1/partition", "1\n");
        write("8:0/sda1/dev", "8:1\n");
        write("8:0/queue/dev", "9:9\n");
        write("8:1/holders/dm-0/dev", "253:0\n");
        let family = family(sys.path(), (8, 0));
        assert_eq!(family, BTreeSet::from([(8, 0), (8, 1), (253, 0)]));
        assert_eq!(first_holder(sys.path(), &family).as_deref(), Some("dm-0"));
        assert_eq!(first_holder(sys.path(), &BTreeSet::from([(8, 0)])), None);
    }
}
